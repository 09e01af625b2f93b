"""Compare the optimizers of spacelang, with ensembles, and other tools on tables: one CSV row for each run.

    python examples/default/benchmark.py DATASETS --results RESULTS.csv [--environments ENVIRONMENTS]
        [--portfolios PORTFOLIOS] [--seconds 60] [--seeds 2] [--contender NAME ...] [--table NAME ...] [--part K/N]

DATASETS contains the files `NAME.csv.gz`, with labels in the column `target`. A fifth of the rows, drawn with the seed,
is the test set. A run has one core. The same command continues an interrupted benchmark, because runs with a row in
RESULTS are not repeated. Two processes share the work with `--part 0/2` and `--part 1/2`, each on a core of its own.
README.md in this folder has the details, and `analysis.py` prints the comparison.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

from default.results import RunKey, RunRow, append_row, finished_runs
from default.single_run import ANSWER_FILE, TARGET, THREAD_VARIABLES, Answer, RunTask, write_rows
from default.tables import TABLES

from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.data.loading import load_dataset
from spacelang.runtime.data.profile import guess_task_kind

Kind = Literal["classification", "regression"]

FOLDER: Final = Path(__file__).parent
VOTES: Final = 32  # The number of votes of the ensembles
PACKAGES: Final = ("lightgbm", "xgboost")  # The packages whose learners join the default spaces
TEST_SHARE: Final = 0.2
LEAST_PER_CLASS: Final = 10  # Rows of rarer classes are left out: several tools refuse them
HANG_FACTOR: Final = 3  # A run that takes this many times its seconds is ended
START_SECONDS: Final = 60.0  # The time for the start of an interpreter, reading the rows and the predictions
REGRESSION, TWO_CLASSES, MORE_CLASSES = "r2", "roc_auc", "balanced_accuracy"
"""The metrics, as the scorers of scikit-learn: those that `spacelang run` uses by default."""


@dataclass(frozen=True, slots=True)
class Contender:
    """An optimizer of spacelang, or another tool with an environment of its own.

    `options` are those of `search`, or of the other tool.
    """

    name: str
    environment: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def command(self, environments: Path | None) -> list[str]:
        """Return the command of a run, without the folder of its task."""
        if not self.environment:
            return [sys.executable, str(FOLDER / "candidates.py")]
        return [str(_interpreter(environments, self.environment)), str(FOLDER / "peers.py")]

    def missing_reason(self, environments: Path | None) -> str:
        """Return the reason why the contender cannot run here, or an empty string."""
        if not self.environment:
            known = self.options["optimizer"] in OPTIMIZERS.names()
            return "" if known else f"this version of spacelang has no optimizer `{self.name}`"
        if environments is None:
            return "give the folder of its environment with --environments"
        python = _interpreter(environments, self.environment)
        if not python.exists():
            return f"{python} does not exist; README.md says how to make the environment"
        command = [*self.command(environments), "--version", self.name]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        return "" if found.returncode == 0 else found.stderr.strip().rpartition("\n")[2]


def _interpreter(environments: Path | None, name: str) -> Path:
    return (environments or Path()).absolute() / name / "bin" / "python"


def _candidate(name: str) -> Contender:
    return Contender(name, options={"optimizer": name, "ensemble": VOTES, "allow": PACKAGES})


CONTENDERS: Final[Mapping[str, Contender]] = {
    each.name: each
    for each in (
        *map(_candidate, ("auto", "random", "mosaic", "jopt", "tpe", "optuna", "bohb", "hyperband")),
        Contender("flaml", "flaml"),
        Contender("autogluon_medium", "autogluon", {"presets": "medium_quality"}),
        Contender("autogluon_best", "autogluon", {"presets": "best_quality", "dynamic_stacking": False}),
        Contender("tpot", "tpot"),
        Contender("auto_sklearn2", "auto_sklearn2"),
        Contender("lightgbm", "lightgbm"),
    )
}
"""All contenders by name: the candidates for the default optimizer, and the peers."""


@dataclass(frozen=True, slots=True)
class Split:
    """A table with its kind of task and its metric, split into training and test rows; labels of classes are texts."""

    kind: Kind
    metric: str
    classes: tuple[str, ...]
    training: pd.DataFrame
    test: pd.DataFrame

    @property
    def constant_loss(self) -> float:
        """Return the loss of the best constant prediction: the most frequent class, or the mean."""
        labels = self.training[TARGET]
        if self.metric == TWO_CLASSES:
            return self.loss(np.zeros(len(self.test)))
        constant = labels.mean() if self.kind == "regression" else labels.mode()[0]
        return self.loss(np.full(len(self.test), constant, dtype=object if self.classes else float))

    @property
    def floor(self) -> float:
        """Return the smallest loss that is told apart from 0: half of one test row's share.

        For a regression the share is that of the loss of the constant prediction.
        """
        return 0.5 / len(self.test) * (self.constant_loss if self.kind == "regression" else 1.0)

    def loss(self, predictions: npt.NDArray[Any]) -> float:
        """Return the loss of predictions for the test rows: 1 minus the metric."""
        from sklearn.metrics import balanced_accuracy_score, r2_score, roc_auc_score

        labels = self.test[TARGET]
        match self.metric:
            case "roc_auc":
                return 1 - float(roc_auc_score(labels == self.classes[-1], predictions))
            case "balanced_accuracy":
                return 1 - float(balanced_accuracy_score(labels, predictions.astype(str)))
            case _:
                return 1 - float(r2_score(labels, predictions))


@cache
def split_table(path: Path, seed: int) -> Split:
    """Read a table and split it with the seed: stratified by classes; rows of very rare classes are left out."""
    from sklearn.model_selection import train_test_split

    table = load_dataset(str(path), TARGET)
    kind = guess_task_kind(table).kind
    labels = table.target.astype(str).astype(object) if kind == "classification" else table.target.astype(float)
    rows = pd.DataFrame(table.features).assign(**{TARGET: labels.to_numpy()})
    if kind == "classification":
        counts = rows[TARGET].value_counts()
        rows = rows[rows[TARGET].isin(counts.index[counts >= LEAST_PER_CLASS])].reset_index(drop=True)
    classes = tuple(sorted(rows[TARGET].unique())) if kind == "classification" else ()
    metric = REGRESSION if not classes else TWO_CLASSES if len(classes) == 2 else MORE_CLASSES
    stratify = rows[TARGET] if classes else None
    training, test = train_test_split(rows, test_size=TEST_SHARE, random_state=seed, stratify=stratify)
    return Split(kind, metric, classes, training, test)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that all runs of a benchmark share.

    `trials` limits the trials of the candidates. `core` is the number of the core that runs use, if it is fixed.
    """

    datasets: Path
    results: Path
    environments: Path | None = None
    portfolios: Path | None = None
    trials: int | None = None
    core: int | None = None

    def options(self, contender: Contender, table: str) -> Mapping[str, Any]:
        """Return the options of a contender on a table."""
        options = dict(contender.options)
        if contender.environment:
            return options
        if self.trials is not None:
            options["trials"] = self.trials
        if contender.name == "auto" and self.portfolios is not None:
            path = portfolio_path(self.portfolios, table)
            options["optimizer_options"] = {"portfolio": str(path) if path.exists() else "none"}
        return options


def portfolio_path(portfolios: Path, table: str) -> Path:
    """Return the path of the portfolio that was made without a table and its siblings."""
    return portfolios.absolute() / f"{table}.json"


def make_run(key: RunKey, settings: Settings) -> RunRow:
    """Make a run in a process of its own, and return its row."""
    split = split_table(settings.datasets / f"{key.table}.csv.gz", key.seed)
    contender = CONTENDERS[key.contender]
    task = RunTask(
        key.contender,
        split.metric,
        split.classes,
        len(split.training),
        key.limit,
        key.seed,
        settings.core,
        settings.options(contender, key.table),
    )
    with TemporaryDirectory(prefix="benchmark-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        task.write(folder)
        write_rows(folder, split.training, split.test)
        start = time.perf_counter()
        failure = run_process([*contender.command(settings.environments), name], folder, key.limit)
        process_seconds = time.perf_counter() - start
        answer = None if failure else Answer.read(folder)
    losses: dict[str, float] = {}
    if answer is not None:
        losses = {each: split.loss(np.array(found)) for each, found in answer.predictions.items()}
        failure = "" if np.isfinite([*losses.values()]).all() else "some predictions are not finite"
    return RunRow(
        *key,
        metric=split.metric,
        training_rows=len(split.training),
        test_rows=len(split.test),
        loss=split.constant_loss if failure else next(iter(losses.values())),
        best_loss=losses.get("best"),
        ensemble_loss=losses.get("ensemble"),
        constant_loss=split.constant_loss,
        floor=split.floor,
        trials=None if answer is None else answer.trials,
        seconds=None if answer is None else round(answer.seconds, 3),
        process_seconds=round(process_seconds, 3),
        failure=failure,
        note="" if answer is None else answer.note,
        version="" if answer is None else answer.version,
    )


def run_process(command: Sequence[str], folder: Path, seconds: float) -> str:
    """Run a command with one thread per library until it has answered; return why it failed, or an empty string.

    The output and temporary files go to the folder. All processes that the command started in its group are ended.
    """
    threads = dict.fromkeys(THREAD_VARIABLES, "1")
    environment = {**os.environ, **threads, "PYTHONWARNINGS": "ignore", "TMPDIR": str(folder)}
    limit = HANG_FACTOR * seconds + START_SECONDS
    log = folder / "output.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            return f"no answer after {limit:g} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if (folder / ANSWER_FILE).exists():
        return ""
    return find_failure(log.read_text(encoding="utf-8", errors="replace")) or f"exit status {process.returncode}"


def find_failure(output: str) -> str:
    """Return the message below the last traceback of an output, or its last lines, as one line."""
    message = [*takewhile(lambda line: not line.startswith(" "), reversed(output.strip().splitlines()))][:3]
    return " ".join(reversed(message))[:300]


def make_runs(keys: Iterable[RunKey], settings: Settings) -> None:
    """Make the runs without a row in the results file, and append a row for each."""
    for key in keys:
        # Another process may have made it in the meantime.
        if key not in finished_runs(settings.results):
            row = make_run(key, settings)
            append_row(settings.results, row)
            duration = "" if row.seconds is None else f" {row.seconds:.1f} s"
            print(f"{row.table} {row.contender} seed {row.seed}: {row.loss:.5f}{duration} {row.failure}", flush=True)


def select_contenders(names: Iterable[str], environments: Path | None) -> list[Contender]:
    """Return the contenders that can run here; print why the others cannot."""
    selected = []
    for name in names:
        contender = CONTENDERS[name]
        if reason := contender.missing_reason(environments):
            print(f"skipped {name}: {reason}")
        else:
            selected.append(contender)
    return selected


def list_runs(
    tables: Sequence[str], contenders: Iterable[Contender], seconds: float, seeds: int, part: tuple[int, int]
) -> list[RunKey]:
    """Return the keys of the runs of a part: every N-th table from number K on, for all contenders, seed by seed."""
    number, count = part
    entered = [each.name for each in contenders]
    return [
        RunKey(table, name, seconds, seed)
        for seed in range(seeds)
        for table in tables[number::count]
        for name in entered
    ]


def check_files(tables: Sequence[str], contenders: Iterable[Contender], settings: Settings) -> None:
    """Exit with a message if a table does not exist, or if there is no portfolio for `auto`."""
    missing = [str(path) for name in tables if not (path := settings.datasets / f"{name}.csv.gz").exists()]
    if missing:
        sys.exit(f"these files do not exist: {', '.join(missing)}")
    if not any(each.name == "auto" for each in contenders):
        return
    if settings.portfolios is None:
        sys.exit(
            "`auto` needs --portfolios: its own portfolio was made with the tables of this benchmark; give a folder of "
            "portfolios that were made without a table and its siblings"
        )
    without = [name for name in tables if not portfolio_path(settings.portfolios, name).exists()]
    if len(without) == len(tables):
        sys.exit(f"{settings.portfolios} has no portfolio for these tables: {', '.join(without)}")
    if without:
        print(f"`auto` starts with the defaults, without a portfolio, on {', '.join(without)}")


def _read_part(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and int(number) < int(count)):
        raise argparse.ArgumentTypeError(f"`{text}` is not a part: give `K/N` with K from 0 to N - 1, such as `0/2`")
    return int(number), int(count)


def _choose_core(part: tuple[int, int]) -> int | None:
    """Return the core for the runs of a part, another one for each part as far as there are enough."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    cores = sorted(os.sched_getaffinity(0))
    return cores[part[0] % len(cores)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("datasets", type=Path, help="folder of tables `NAME.csv.gz`")
    options.add_argument("--results", type=Path, required=True, help="CSV file of results")
    options.add_argument("--environments", type=Path, help="folder of the peers' environments")
    options.add_argument("--portfolios", type=Path, help="folder of portfolios `TABLE.json` for `auto`")
    options.add_argument("--seconds", type=float, default=60, help="time of a run")
    options.add_argument("--seeds", type=int, default=2, help="number of seeds")
    options.add_argument(
        "--contender", action="append", choices=CONTENDERS, help="repeat the option for several; by default all"
    )
    options.add_argument("--table", action="append", help="name of a table; repeat the option for several")
    options.add_argument("--part", type=_read_part, default=(0, 1), help="K/N: every N-th table, from number K on")
    options.add_argument("--trials", type=int, help="maximum number of trials of a candidate, for a quick try")
    chosen = options.parse_args(arguments)
    settings = Settings(
        chosen.datasets.absolute(),
        chosen.results,
        chosen.environments,
        chosen.portfolios,
        chosen.trials,
        _choose_core(chosen.part),
    )
    tables = chosen.table or TABLES
    contenders = select_contenders(chosen.contender or CONTENDERS, chosen.environments)
    check_files(tables, contenders, settings)
    make_runs(list_runs(tables, contenders, chosen.seconds, chosen.seeds, chosen.part), settings)


if __name__ == "__main__":
    main()
