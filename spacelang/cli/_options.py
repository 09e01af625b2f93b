"""The options that several commands have: one by one, and in groups, which a command names as one argument."""

from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spacelang.cli._shared import fail
from spacelang.runtime.archives import Norm

if TYPE_CHECKING:
    from spacelang.runtime.data.reading import Reading

LONGEST_NUMBER = 20
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


# ---- one by one

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
    str | None, typer.Option(help="The column of labels; else the one named `target`, else the last.")
]
MetricOption = Annotated[
    str | None,
    typer.Option(help="A scikit-learn scorer; else as the task says, or AUROC, balanced accuracy or R² by the data."),
]
ValidateOption = Annotated[
    str | None,
    typer.Option(
        metavar="SPLIT",
        help="`holdout(0.3)` or `cv(5)`; else as data or task say, or the second up to 1,000 rows, the first beyond.",
    ),
]
TestOption = Annotated[
    str | None,
    typer.Option("--test", metavar="SHARE|FILE", help="Rows that no trial sees, to score the best pipeline on: `0.2`."),
]
WorkersOption = Annotated[
    int, typer.Option(min=0, help="Trials at a time, each in a process of its own; 0: in this process, unbounded.")
]
IsolateOption = Annotated[
    bool, typer.Option("--isolate", help="A fresh process for every trial: none can touch another, none shares work.")
]


# ---- in groups


@dataclass(frozen=True)
class SpaceOptions:
    """What a space may use, and how large the data is that it is for."""

    allow: AllowOption = None
    bind: Annotated[
        list[str] | None,
        typer.Option(
            "--bind", metavar="NAME=NUMBER", help="How large the data is: `n_features=30`, `n_samples`, `n_classes`."
        ),
    ] = None

    @property
    def allowed(self) -> list[str]:
        """The packages."""
        return self.allow or []

    @property
    def bindings(self) -> dict[str, int]:
        """The numbers by name; ends the program for what binds nothing, raises BindingError for what nothing binds."""
        from spacelang.analysis.surroundings import check_bindings

        found: dict[str, int] = {}
        for pair in self.bind or ():
            name, equals, number = (part.strip() for part in pair.partition("="))
            if not equals or not name:
                fail(f"`--bind {pair}` binds nothing", "write `--bind NAME=NUMBER`")
            if name in found:
                fail(f"`{name}` is bound twice")
            is_whole = number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER
            found.update(check_bindings({name: int(number) if is_whole else number}))
        return found


@dataclass(frozen=True)
class ReadingOptions:
    """How a file of data is read."""

    sep: Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER", help=r"What separates the fields of a `.csv` file; else a comma. `\t` is a tab."
        ),
    ] = None
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="The encoding of a text file, such as `cp1252`; else UTF-8.")
    ] = None
    decimal: Annotated[
        str | None, typer.Option(metavar="SIGN", help="`,` where the numbers of a `.csv` file are written `1,5`.")
    ] = None
    drop_columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…", help='Columns to leave out, such as identifiers; `"a,b",c` has one with a comma.'
        ),
    ] = None

    @property
    def reading(self) -> "Reading":
        """What they say; raises ReadingError where no file can be read so."""
        import csv

        from spacelang.runtime.data.reading import reading

        listed = self.drop_columns
        named = [] if listed is None else next(csv.reader([listed], skipinitialspace=True), [])
        return reading(self.sep, self.encoding, self.decimal, [name.strip() for name in named if name.strip()])

    @property
    def given(self) -> "Reading | None":
        """The same; None where nothing is said."""
        return self.reading if any(each is not None for each in astuple(self)) else None


@dataclass(frozen=True)
class InitialOptions:
    """What a run evaluates first."""

    initial: Annotated[
        str | None,
        typer.Option(
            metavar="default|FILE.json",
            help="Configurations to start from, evaluated first: the default one, or those of a file "
            "(as of `run --json`).",
        ),
    ] = None
    archive: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="Start from what was best on the data sets that are most alike, of an archive (`spacelang archive`).",
        ),
    ] = None
    archive_norm: Annotated[
        Norm, typer.Option(help="How differences of meta-features add up to the distance of two data sets.")
    ] = Norm.L1


@dataclass(frozen=True)
class StoreOptions:
    """Where a run is kept."""

    store: Annotated[
        Path | None,
        typer.Option(metavar="RUN.db", help="Keep every trial in this file as it ends; else in a new one in `runs/`."),
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that the store holds.")] = False


@dataclass(frozen=True)
class WorkerOptions:
    """Who evaluates trials, and what these may take."""

    workers: WorkersOption = 1
    executor: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="`dask` starts a local cluster, `tcp://HOST:PORT` uses a running one."),
    ] = None
    trial_limit: Annotated[
        str | None,
        typer.Option(metavar="LIMIT", help="What a trial may take: `300s`, `4GB` or both; else as the task says."),
    ] = None
    isolate: IsolateOption = False


@dataclass(frozen=True)
class FoundOptions:
    """Which pipeline of a stored run."""

    rank: Annotated[
        int | None,
        typer.Option(min=1, help="Which of the best pipelines, as `spacelang show` lists them; else the first."),
    ] = None
    ensemble: Annotated[
        bool, typer.Option("--ensemble", help="The best pipelines that vote together, of a run with `--ensemble`.")
    ] = False
    votes: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many votes the ensemble has; else as many as its run asked for."),
    ] = None
