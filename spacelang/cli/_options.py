"""Arguments and options that several commands share, single and in groups, and what they stand for."""

import sys
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spacelang.cli._output import fail, print_diagnostics
from spacelang.cli._process import BAD_INPUT
from spacelang.files import os_error_text
from spacelang.runtime.archives import Norm

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.runtime.data.read_options import ReadOptions

MAX_DIGITS = 20
"""The most digits of a number in `--bind`; longer ones are too large anyway."""


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


def complete_optimizers(incomplete: str) -> list[str]:
    """Return completions of the last optimizer in a comma-separated list, for the shell."""
    from spacelang.optimizers import OPTIMIZERS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in OPTIMIZERS.names() if name.startswith(last)]


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
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else on standard output.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option of it; may be given several times.")
]
AllowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow", metavar="PACKAGE", help="A package that the space may `use`, and that you trust to be imported."
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, help="Equal seeds give equal results.")]
DataOption = Annotated[
    str,
    typer.Option(
        "--data",
        "-d",
        help="A `.csv`, `.csv.gz`, `.parquet` or `.arff` file, `sklearn:NAME`, `openml:ID` or `openml-task:ID`.",
    ),
]
TargetColumnOption = Annotated[
    str | None, typer.Option(help="The column of labels; by default the one named `target`, or else the last.")
]
MetricOption = Annotated[
    str | None,
    typer.Option(help="A scikit-learn scorer; by default the task's, or AUROC, balanced accuracy or R² by the labels."),
]
ValidateOption = Annotated[
    str | None,
    typer.Option(
        metavar="SPLIT",
        help="`holdout(0.3)` or `cv(5)`; by default the data's or the task's, or `cv(5)` up to 1,000 rows.",
    ),
]
TestOption = Annotated[
    str | None,
    typer.Option(
        "--test", metavar="SHARE|FILE", help="Rows that no trial sees, to score the best pipeline: `0.2`, or a file."
    ),
]
WorkersOption = Annotated[
    int,
    typer.Option(
        min=0, help="Number of trials at the same time, each in its own process; 0: in this process, without limits."
    ),
]
IsolateOption = Annotated[
    bool, typer.Option("--isolate", help="Run every trial in a fresh process: none affects another, none shares work.")
]

# ---- groups of options


@dataclass(frozen=True)
class SpaceOptions:
    """The packages that a space may use, and the size of the data that it is for."""

    allow: AllowOption = None
    bind: Annotated[
        list[str] | None,
        typer.Option(
            "--bind",
            metavar="NAME=NUMBER",
            help="A size of the data, such as `n_features=30`; also `n_samples`, `n_classes`.",
        ),
    ] = None

    @property
    def allowed(self) -> list[str]:
        """The packages that the space may use."""
        return self.allow or []

    @property
    def bindings(self) -> dict[str, int]:
        """The numbers of `--bind` by name; ends the program for another form, raises BindingError for a wrong one."""
        from spacelang.analysis.context import check_bindings

        found: dict[str, int] = {}
        for pair in self.bind or ():
            name, equals, number = (part.strip() for part in pair.partition("="))
            if not equals or not name:
                fail(f"`--bind {pair}` is not of the form NAME=NUMBER", "write for example `--bind n_features=30`")
            if name in found:
                fail(f"`{name}` is given twice")
            is_whole = number.isascii() and number.isdigit() and len(number) <= MAX_DIGITS
            found |= check_bindings({name: int(number) if is_whole else number})
        return found


@dataclass(frozen=True)
class ReadingOptions:
    """Options that say how a data file is read."""

    sep: Annotated[
        str | None,
        typer.Option(metavar="CHARACTER", help=r"The separator of a `.csv` file; by default a comma. `\t` is a tab."),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The encoding of a text file, such as `cp1252`; by default UTF-8."),
    ] = None
    decimal: Annotated[
        str | None, typer.Option(metavar="SIGN", help="The decimal sign of a `.csv` file: `,` for numbers like `1,5`.")
    ] = None
    drop_columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…", help='Columns to drop, such as identifiers; quote a name with a comma: `"a,b",c`.'
        ),
    ] = None

    @property
    def reading(self) -> "ReadOptions":
        """The read options. Raises ReadOptionsError if an option is invalid."""
        import csv

        from spacelang.runtime.data.read_options import make_read_options

        listed = self.drop_columns
        named = [] if listed is None else next(csv.reader([listed], skipinitialspace=True), [])
        return make_read_options(
            self.sep, self.encoding, self.decimal, [name.strip() for name in named if name.strip()]
        )

    @property
    def reading_if_given(self) -> "ReadOptions | None":
        """The read options, or None if no option is given."""
        return self.reading if any(each is not None for each in astuple(self)) else None


@dataclass(frozen=True)
class InitialOptions:
    """The configurations that a run evaluates first."""

    initial: Annotated[
        str | None,
        typer.Option(
            metavar="default|FILE.json",
            help="Configurations to evaluate first: `default`, or those of a JSON file "
            "(such as the output of `run --json`).",
        ),
    ] = None
    archive: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="Start from the best configurations of the most similar data sets in an archive (see `archive`).",
        ),
    ] = None
    archive_norm: Annotated[
        Norm,
        typer.Option(help="The norm by which the distance of two data sets is measured, from their meta-features."),
    ] = Norm.L1


@dataclass(frozen=True)
class StoreOptions:
    """The file in which a run is stored."""

    store: Annotated[
        Path | None,
        typer.Option(metavar="RUN.db", help="Store every trial in this file; by default in a new file in `runs/`."),
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the store.")] = False


@dataclass(frozen=True)
class WorkerOptions:
    """The workers that evaluate trials, and the limits of a trial."""

    workers: WorkersOption = 1
    executor: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="`dask` starts a local cluster, `tcp://HOST:PORT` uses a running one."),
    ] = None
    trial_limit: Annotated[
        str | None,
        typer.Option(metavar="LIMIT", help="The limit of a trial: `300s`, `4GB` or both; by default the task's."),
    ] = None
    isolate: IsolateOption = False


@dataclass(frozen=True)
class StoredPipelineOptions:
    """The choice of a pipeline, or of the ensemble, of a stored run."""

    rank: Annotated[
        int | None, typer.Option(min=1, help="The rank of the pipeline in the list of `spacelang show`; by default 1.")
    ] = None
    ensemble: Annotated[
        bool, typer.Option("--ensemble", help="Take the ensemble of a run with `--ensemble` instead of one pipeline.")
    ] = False
    votes: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="The number of votes of the ensemble; by default that of the run."),
    ] = None


def load(reference: str, options: SpaceOptions) -> "Space":
    """Return the space, with its warnings printed to standard error. Raises SpaceError if the space has errors."""
    from spacelang.api import load as load_space

    space = load_space(reference, allow=options.allowed, bind=options.bindings)
    print_diagnostics(space.warnings)
    if unbound := [name for name, number in space.symbols.items() if number is None]:
        names = ", ".join(f"`{name}`" for name in unbound)
        print(f"note: {names} may be arbitrarily large; give a number with `--bind {unbound[0]}=…`", file=sys.stderr)
    return space


HELP: Final = "write one JSON object, as `sample` prints it"
ConfigurationArgument = Annotated[
    str, typer.Argument(metavar="CONFIG.json", help="A file with one JSON object; `-` reads standard input.")
]


def read_configuration(path: str) -> dict[str, object]:
    """Return the configuration in a file, or on standard input for `-`; ends the program if there is none."""
    from spacelang.ir.configuration import Configuration

    shown = "the standard input" if path == "-" else f"`{path}`"
    if path != "-" and _is_special_file(Path(path)):
        remedy = "pipe it in: `-` reads the standard input"
        fail(f"cannot read {shown}: it is not a regular file", remedy, status=BAD_INPUT)
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig")
        return dict(Configuration.from_json(text))
    except UnicodeDecodeError as error:
        fail(f"{shown} is not text in UTF-8 (byte {error.start + 1})", status=BAD_INPUT)
    except OSError as error:
        fail(f"cannot read {shown}: {os_error_text(error)}", status=BAD_INPUT)
    except RecursionError:
        fail(f"{shown} is not a configuration: it is nested too deeply", HELP, status=BAD_INPUT)
    except (ValueError, TypeError) as error:
        message = str(error)
        fail(f"{shown} is not a configuration: {message[:1].lower()}{message[1:]}", HELP, status=BAD_INPUT)


def _is_special_file(path: Path) -> bool:
    """Return True if the path is a device or a pipe, which must not be opened because reading it may never end."""
    try:
        return path.exists() and not (path.is_file() or path.is_dir())
    except (OSError, ValueError):
        return False  # reading the file reports the error
