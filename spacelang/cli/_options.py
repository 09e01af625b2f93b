"""Arguments and options that several commands share, single and in groups, and what they stand for."""

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spacelang.cli._output import exit_with_error, print_diagnostics, print_note
from spacelang.cli._process import BAD_INPUT
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.files import os_error_text

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.text import Source

STANDARD_INPUT: Final = "-"
MAX_DIGITS = 20  # The most digits of a number in `--bind`; longer ones are too large anyway


def complete_spaces(incomplete: str) -> list[str]:
    """Return the bundled spaces and `.space` files that complete a word, for the shell."""
    from spacelang.syntax.sources import bundled_names

    folder, slash, _ = incomplete.rpartition("/")
    files = sorted(Path(folder + slash).glob("*.space"))
    known = (*bundled_names(), *(f"{folder}{slash}{each.name}" for each in files))
    return [name for name in known if name.startswith(incomplete)]


def complete_targets(incomplete: str) -> list[str]:
    """Return the targets that complete a word, for the shell."""
    from spacelang.targets import TARGETS

    return [name for name in TARGETS.names() if name.startswith(incomplete)]


# ---- single options

SpaceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SPACE",
        autocompletion=complete_spaces,
        help="A `.space` file, a compiled one (JSON), or the name of a bundled space (see `spacelang spaces`).",
    ),
]
TargetOption = Annotated[
    str, typer.Option("--target", "-t", autocompletion=complete_targets, help="The target; see `spacelang targets`.")
]
SpaceInputArgument = Annotated[
    str,
    typer.Argument(
        metavar="SPACE",
        autocompletion=complete_spaces,
        help="A `.space` file, a compiled one (JSON), or the name of a bundled space; `-` reads the standard input.",
    ),
]
SpacesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SPACE...",
        autocompletion=complete_spaces,
        help="`.space` files or names of bundled spaces; `-` reads the standard input.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else on standard output.")
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN.db", help="The store of a run.")]
CodeOption = Annotated[bool, typer.Option("--code", help="Also print the best pipeline as scikit-learn code.")]

# ---- groups of options


@dataclass(frozen=True)
class SpaceOptions:
    """The options for reading a space: the packages that it may use, and the size of its data."""

    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow", metavar="PACKAGE", help="A package that the space may `use`, and that you trust to be imported."
        ),
    ] = None
    bind: Annotated[
        list[str] | None,
        typer.Option(
            "--bind",
            metavar="NAME=NUMBER",
            help="A size of the data, such as `n_features=30` or `n_text=0` (the symbols of REFERENCE.md).",
        ),
    ] = None


def parse_bindings(pairs: list[str] | None) -> dict[str, int]:
    """Return the numbers of `--bind` by name; ends the program for another form, and raises BindingError."""
    from spacelang.analysis.diagnostic_collector import check_bindings

    found: dict[str, int] = {}
    for pair in pairs or ():
        name, equals, number = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            exit_with_error(
                f"`--bind {pair}` is not of the form NAME=NUMBER", "write for example `--bind n_features=30`"
            )
        if name in found:
            exit_with_error(f"`--bind` gives `{name}` twice")
        is_whole = number.isascii() and number.isdigit() and len(number) <= MAX_DIGITS
        found |= check_bindings({name: int(number) if is_whole else number})
    return found


@dataclass(frozen=True)
class StoredPipelineOptions:
    """The choice of a pipeline, or of the ensemble, of a stored run."""

    rank: Annotated[
        int | None, typer.Option(min=1, help="The rank of the pipeline in the list of `spacelang show`; by default 1.")
    ] = None
    ensemble: Annotated[
        bool,
        typer.Option("--ensemble", help="Take the ensemble of the run, which must have one, instead of one pipeline."),
    ] = False
    votes: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="The number of votes of the ensemble; by default that of the run."),
    ] = None


def load_checked_space(reference: str, options: SpaceOptions) -> "Space":
    """Read and check a space, print its warnings to standard error, and return it; raises SpaceError for errors."""
    space = load_without_size_note(reference, options)
    print_unbound_sizes(space)
    return space


def load_without_size_note(reference: str, options: SpaceOptions) -> "Space":
    """Load a space like `load_checked_space`, but print no note on sizes of the data that are not bound."""
    from spacelang.api.space import SpaceError, load_source

    source = read_space_source(reference)
    if isinstance(source, Diagnostic):
        raise SpaceError((source,))
    space = load_source(source, options.allow or (), parse_bindings(options.bind))
    print_diagnostics(space.warnings)
    return space


def print_unbound_sizes(*spaces: "Space") -> None:
    """Print one note on the sizes of data that the user has not bound in any of the spaces."""
    sizes = (name for space in spaces for name, number in space.symbols.items() if number is None)
    if unbound := [*dict.fromkeys(sizes)]:
        names = ", ".join(f"`{name}`" for name in unbound)
        print_note(f"{names} may be arbitrarily large; give a number with `--bind {unbound[0]}=…`")


def read_space_source(reference: str) -> "Source | Diagnostic":
    """Read the source of a space: a path, the name of a bundled space, or `-` for standard input.

    Returns a diagnostic if it cannot be read.
    """
    from spacelang.syntax.sources import read_source

    return standard_input_source(read_standard_input()) if reference == STANDARD_INPUT else read_source(reference)


def standard_input_source(content: bytes) -> "Source | Diagnostic":
    """Return the source of the bytes of standard input; its imports are relative to the current folder."""
    from spacelang.syntax.sources import source_from_bytes

    return source_from_bytes(display_name_of_space(STANDARD_INPUT), content, Path())


def display_name_of_space(reference: str) -> str:
    """Return the name under which a space is shown: the reference itself, or `<stdin>` for `-`."""
    return "<stdin>" if reference == STANDARD_INPUT else reference


def read_standard_input() -> bytes:
    """Return standard input, up to one byte more than a space may have; end the program if it is closed."""
    from spacelang.syntax.sources import MAX_JSON_BYTES

    if sys.stdin is None:
        exit_with_error("the standard input is closed", "pipe a space in, or give the path of a file")
    try:
        return sys.stdin.buffer.read(MAX_JSON_BYTES + 1)
    except OSError as error:
        exit_with_error(f"cannot read the standard input: {os_error_text(error)}", status=BAD_INPUT)


def refuse_repeated_standard_input(*references: str) -> None:
    """End the program if two arguments are the standard input, which can be read only once."""
    if references.count(STANDARD_INPUT) > 1:
        exit_with_error(
            "`-` is given twice, but the standard input can be read only once", "write one of the two to a file"
        )


HELP: Final = "write one JSON object, as `spacelang sample` prints it"
ConfigurationArgument = Annotated[
    str,
    typer.Argument(
        metavar="CONFIG.json", help="A file with one JSON object, or the object itself; `-` reads standard input."
    ),
]


def read_configuration(path: str) -> dict[str, object]:
    """Return the configuration in a file, on standard input (`-`) or in a text; ends the program if there is none."""
    from spacelang.ir.configuration import Configuration

    is_text = path.lstrip().startswith("{")
    shown = "the standard input" if path == "-" else f"`{path}`"
    if path != "-" and not is_text and _is_special_file(Path(path)):
        remedy = "pipe the file into the command: the path `-` stands for the standard input"
        exit_with_error(f"cannot read {shown}: it is not a regular file", remedy, status=BAD_INPUT)
    try:
        content = sys.stdin.read if path == "-" else partial(Path(path).read_text, encoding="utf-8-sig")
        text = path if is_text else content()
        return dict(Configuration.from_json(text))
    except UnicodeDecodeError as error:
        exit_with_error(f"{shown} is not text in UTF-8 (byte {error.start + 1})", status=BAD_INPUT)
    except OSError as error:
        exit_with_error(f"cannot read {shown}: {os_error_text(error)}", status=BAD_INPUT)
    except RecursionError:
        exit_with_error(f"{shown} is not a configuration: it is nested too deeply", HELP, status=BAD_INPUT)
    except (ValueError, TypeError) as error:
        message = str(error)
        exit_with_error(f"{shown} is not a configuration: {message[:1].lower()}{message[1:]}", HELP, status=BAD_INPUT)


def _is_special_file(path: Path) -> bool:
    """Return True if the path is a device or a pipe, which must not be opened because reading it may never end."""
    try:
        return path.exists() and not (path.is_file() or path.is_dir())
    except (OSError, ValueError):
        return False  # reading the file reports the error
