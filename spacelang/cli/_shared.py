"""What commands share: arguments, reading a space, and how problems are shown."""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TextIO

import typer

from spacelang.cli import BAD_INPUT, WRONG_USAGE
from spacelang.diagnostics.cells import visible
from spacelang.diagnostics.diagnostic import Diagnostic

if TYPE_CHECKING:
    from spacelang.api import Space

LONGEST_NUMBER: Final = 20
"""Digits of a number that is bound; what has more is too large anyway."""


def spaces_like(incomplete: str) -> list[str]:
    """The bundled spaces and the `.space` files that a text may become, for a shell."""
    from spacelang.syntax.sources import bundled

    folder, slash, _ = incomplete.rpartition("/")
    files = sorted(Path(folder + slash).glob("*.space"))
    known = (*bundled(), *(f"{folder}{slash}{each.name}" for each in files))
    return [name for name in known if name.startswith(incomplete)]


def targets_like(incomplete: str) -> list[str]:
    """The targets that a text may become, for a shell."""
    from spacelang.targets import TARGETS

    return [name for name in TARGETS.names() if name.startswith(incomplete)]


def optimizers_like(incomplete: str) -> list[str]:
    """The optimizers that the last of some with commas between them may become, for a shell."""
    from spacelang.optimizers import OPTIMIZERS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in OPTIMIZERS.names() if name.startswith(last)]


SpaceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SPACE",
        autocompletion=spaces_like,
        help="A `.space` file, a compiled one (JSON), or the name of a bundled space (see `spacelang spaces`).",
    ),
]
TargetOption = Annotated[
    str,
    typer.Option("--target", "-t", autocompletion=targets_like, help="The target; see `spacelang targets`."),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else on standard output.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option; give it as often as needed.")
]
AllowOption = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="PACKAGE", help="A package that the space may `use`, trusted to be imported."),
]
BindOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bind", metavar="NAME=NUMBER", help="How large the data is: `n_features=30`, `n_samples`, `n_classes`."
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, help="Equal seeds give equal results.")]


def load(
    reference: str, *, as_json: bool = False, allow: list[str] | None = None, bind: list[str] | None = None
) -> "Space":
    """The space, its warnings printed to standard error; ends the program where it has errors."""
    from spacelang.api import SpaceError
    from spacelang.api import load as load_space

    try:
        space = load_space(reference, allow=allow or (), bind=bindings(bind))
    except SpaceError as error:
        end(error.diagnostics, as_json=as_json)
    show(space.warnings)
    _tell_unbound(space)
    return space


def end(diagnostics: tuple[Diagnostic, ...], *, as_json: bool) -> NoReturn:
    """End the program because of a space with errors."""
    if as_json:
        from spacelang.diagnostics.as_json import records

        print_json({"diagnostics": records(diagnostics)})
    show(diagnostics)
    raise typer.Exit(BAD_INPUT)


def _tell_unbound(space: "Space") -> None:
    unbound = [name for name, number in space.symbols.items() if number is None]
    if unbound:
        names = ", ".join(f"`{name}`" for name in unbound)
        print(f"note: for arbitrarily large {names}; `--bind {unbound[0]}=…` gives a number", file=sys.stderr)


def show(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics to standard error, in colours on a terminal."""
    found = tuple(diagnostics)
    if found:
        from spacelang.diagnostics.terminal import render

        print(render(found, color=colours(sys.stderr)), file=sys.stderr)


def colours(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shall show colours (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(document: object) -> None:
    """Print one JSON document, in characters that the standard output can write; those that do not show are escapes."""
    # The surrogates that stand for the bytes of a file name are written as escapes, which JSON knows.
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(document, ensure_ascii=not is_unicode, allow_nan=False)
    print(text if text.isprintable() else "".join(each if each.isprintable() else _escape(each) for each in text))


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1]


def fail(
    message: str,
    help: str | None = None,  # noqa: A002
    *,
    status: int = WRONG_USAGE,
    notes: Iterable[str] = (),
) -> NoReturn:
    """End the program with a message and what to do about it."""
    report(message, help, notes)
    raise typer.Exit(status)


def report(message: str, help: str | None = None, notes: Iterable[str] = ()) -> None:  # noqa: A002
    """Print an error that has no place in a space to standard error, like a diagnostic."""
    title = "\x1b[1;31merror\x1b[0m" if colours(sys.stderr) else "error"
    print(f"{title}: {visible(message)}", file=sys.stderr)
    if help:
        print(f"  = help: {visible(help)}", file=sys.stderr)
    for note in notes:
        print(f"  = note: {visible(note)}", file=sys.stderr)


def must_be_free(output: Path) -> None:
    """End the program where something is in the place of a file that is to be written, or nothing can be."""
    if output.exists():
        fail(f"`{output}` is there already", "give `-o` another file, or remove that one")
    if not output.parent.is_dir():
        fail(f"cannot write `{output}`: there is no folder `{output.parent}`")


def write_new(output: Path, content: str | bytes) -> None:
    """Write a file that was not there; ends the program where it is by now, or cannot be written."""
    try:
        # Created, never written over, even if somebody else was faster.
        with output.open("xb") as file:
            # A table may hold what is no text: bytes of a name in another encoding.
            file.write(content if isinstance(content, bytes) else content.encode(errors="backslashreplace"))
    except OSError as error:
        fail(f"cannot write `{output}`: {(error.strerror or str(error)).lower()}")


def note(message: str, help: str = "") -> None:  # noqa: A002
    """Print what a user should know to standard error, like a diagnostic."""
    title = "\x1b[1;36mnote\x1b[0m" if colours(sys.stderr) else "note"
    print(f"{title}: {visible(message)}", file=sys.stderr)
    if help:
        print(f"  = help: {visible(help)}", file=sys.stderr)


def settings(pairs: list[str] | None) -> dict[str, str]:
    """The options of `--set NAME=VALUE …`; ends the program for what is no pair or is given twice."""
    found: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            fail(f"`--set {pair}` is not an option", "write `--set NAME=VALUE`")
        if name.strip() in found:
            fail(f"the option `{name.strip()}` is set twice")
        found[name.strip()] = value.strip()
    return found


def bindings(pairs: list[str] | None) -> dict[str, int]:
    """The numbers of `--bind NAME=NUMBER …`; ends the program for names and numbers that nothing can be bound to."""
    found: dict[str, int] = {}
    for pair in pairs or ():
        name, equals, number = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            fail(f"`--bind {pair}` binds nothing", "write `--bind NAME=NUMBER`")
        if name in found:
            fail(f"`{name}` is bound twice")
        found.update(_bound(name, number))
    return found


def _bound(name: str, number: str) -> dict[str, int]:
    from spacelang.analysis.surroundings import BindingError, check_bindings

    is_whole = number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER
    try:
        return check_bindings({name: int(number) if is_whole else number})
    except BindingError as error:
        fail(error.message, error.help)


def plugin(plugins: Any, name: str, pairs: list[str] | None) -> Any:
    """The configured target or optimizer; ends the program where it or an option of it does not exist."""
    from spacelang.plugins import OptionError, UnknownPluginError

    try:
        return plugins.configure(plugins.load(name), settings(pairs))
    except (UnknownPluginError, OptionError) as error:
        fail(error.message, error.help)
