"""Contests: optimizers on data sets with several seeds, and stored runs.

The scripts of the papers use this module. `spacelang compare` compares only the best pipelines, and makes one run at a
time. A contest also scores the incumbent at each tenth of the time on the test rows, includes ensembles, makes several
runs in parallel, and can exclude runs that are too short. `contest_reports.py` reports the runs of a contest.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from math import nan
from pathlib import Path
from typing import Any, Final, TypeVar

import pandas as pd

import spacelang as sl
from spacelang.api.executor_settings import make_executor
from spacelang.optimizers import OPTIMIZERS
from spacelang.plugins import OptionError, UnknownPluginError
from spacelang.runtime.errors import InputError
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.final_fit import fit_best_pipeline

W = TypeVar("W")
T = TypeVar("T")

TEST_SHARE: Final = 0.2
"""The share of the rows that are the test set of a run; the seed draws them."""

TENTHS: Final = 10
"""The number of times at which the incumbent of a run is scored."""

ENSEMBLE: Final = " + ensemble"
"""The suffix of a candidate's name whose final pipeline is replaced by an ensemble."""

Counts = Callable[[sl.Result], Mapping[str, float]]
"""A function that returns further numbers of a run, by name."""


def no_counts(_: sl.Result) -> Mapping[str, float]:
    """Return no numbers."""
    return {}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An optimizer with its options, and a name for tables and files.

    With `ensemble_size`, an ensemble of the best pipelines is built at the end. `search_options` are passed to
    `search` for this candidate only. `extra` is the optional package that the candidate needs; the extra of
    spacelang has the same name.
    """

    name: str
    optimizer: str
    options: Mapping[str, str] = field(default_factory=dict)
    ensemble_size: int | None = None
    search_options: Mapping[str, Any] = field(default_factory=dict)
    extra: str = ""
    counts: Counts = no_counts

    @property
    def missing_reason(self) -> str:
        """Return the reason why the candidate cannot run here, or an empty string."""
        try:
            OPTIMIZERS.create(self.optimizer, self.options)
        except (UnknownPluginError, OptionError, InputError) as error:
            return f"{error.message}: {error.help}"
        is_installed = not self.extra or find_spec(self.extra) is not None
        return "" if is_installed else f"`{self.extra}` is not installed: `pip install 'spacelang[{self.extra}]'`"


@dataclass(frozen=True, slots=True)
class Contest:
    """A set of runs: every candidate on every data set with every seed.

    `search_options` are passed to `search` for all candidates. A fifth of the rows, drawn with the seed, is the
    test set. `results` is a CSV file with one run per row: runs in this file are not repeated, and new runs are
    added to it.
    """

    space: str
    candidates: tuple[Candidate, ...]
    data: tuple[Path, ...]
    seeds: range
    seconds: float
    search_options: Mapping[str, Any] = field(default_factory=dict)
    results: Path | None = None

    def run_requests(self) -> "list[RunRequest]":
        """Return all run requests, seed by seed."""
        return [
            RunRequest(self, each, data, seed) for seed in self.seeds for data in self.data for each in self.candidates
        ]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A requested run of a contest."""

    contest: Contest
    candidate: Candidate
    data: Path
    seed: int

    @property
    def label(self) -> str:
        """Return the name of the data set."""
        return self.data.name.partition(".")[0]

    @property
    def key(self) -> tuple[str, str, int]:
        """Return the key of the run: data set, candidate and seed."""
        return self.label, self.candidate.name, self.seed

    def store_path(self, folder: Path) -> Path:
        """Return the path of the run's store; runs with another space or time limit have another path."""
        names = (Path(self.contest.space).stem, self.label, self.candidate.name)
        words = (*names, f"{self.contest.seconds:g}s", str(self.seed))
        return folder / f"{'@'.join(word.replace(' ', '_') for word in words)}.db"

    def summary_path(self, folder: Path) -> Path:
        """Return the path of the file that has the result of the run once it is complete."""
        return self.store_path(folder).with_suffix(".json")


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run.

    `curve` has one point per incumbent: seconds, loss in the search, and loss on the test rows. The incumbent is
    the best pipeline that was trained on all training rows, or on fewer if the run has none on all. The loss on
    test rows is None if the pipeline could not be fitted, and for an incumbent that was replaced before the next
    tenth of the time. `ensemble` is the loss of the ensemble on the test rows. `reason` says why the run has no loss.
    """

    data: str
    candidate: str
    seed: int
    curve: tuple[tuple[float, float, float | None], ...]
    trials: int
    failed: int
    counts: Mapping[str, float] = field(default_factory=dict)
    ensemble: float | None = None
    reason: str = ""

    @classmethod
    def read(cls, path: Path) -> "Run":
        """Read a run from a JSON file."""
        values = json.loads(path.read_text(encoding="utf-8"))
        return cls(**values | {"curve": tuple(map(tuple, values["curve"]))})

    def write(self, path: Path) -> None:
        """Write the run to a JSON file, atomically."""
        new = path.with_suffix(".new")
        new.write_text(json.dumps(asdict(self)), encoding="utf-8")
        new.replace(path)

    @property
    def key(self) -> tuple[str, str, int]:
        """Return the key of the run: data set, candidate and seed."""
        return self.data, self.candidate, self.seed

    @property
    def row(self) -> Mapping[str, object]:
        """Return the run as a row of a CSV file."""
        _, loss, test = self.curve[-1] if self.curve else (nan, nan, None)
        key = {"data": self.data, "optimizer": self.candidate, "seed": self.seed}
        values = {"trials": self.trials, "failed": self.failed, "loss": loss, "test": test, "ensemble": self.ensemble}
        return {**key, **values, **self.counts, "reason": self.reason, "curve": json.dumps(self.curve)}

    @classmethod
    def from_row(cls, row: Mapping[Any, Any], seconds: float) -> "Run":
        """Return the run of a row; without a curve, the row has only the final incumbent, after `seconds`."""
        known = {name: value for name, value in row.items() if not pd.isna(value)}
        key = (known.pop("data"), known.pop("optimizer"), known.pop("seed"))
        trials, failed, ensemble, reason = (
            known.pop(each, None) for each in ("trials", "failed", "ensemble", "reason")
        )
        loss, test = (known.pop(each, None) for each in ("loss", "test"))
        curve = json.loads(known.pop("curve")) if "curve" in known else [] if loss is None else [(seconds, loss, test)]
        return cls(*key, tuple(map(tuple, curve)), trials, failed, known, ensemble, reason or "")

    def with_ensemble(self) -> "Run":
        """Return a copy of the run with the ensemble as its final incumbent, if it has an incumbent."""
        final = tuple((seconds, loss, self.ensemble) for seconds, loss, _ in self.curve[-1:])
        return replace(self, candidate=self.candidate + ENSEMBLE, curve=(*self.curve[:-1], *final))

    def losses_at(self, seconds: float) -> tuple[float, float]:
        """Return the best loss at a tenth of the time or later, and its test loss; NaN before the first loss."""
        known = [each for each in self.curve if each[0] <= seconds]
        return (known[-1][1], nan if known[-1][2] is None else known[-1][2]) if known else (nan, nan)


# ---- making runs


def make_runs(contest: Contest, folder: Path, jobs: int) -> list[Run]:
    """Return all runs of a contest, `jobs` at a time; runs in the folder or in the results file are not repeated."""
    folder.mkdir(parents=True, exist_ok=True)
    known = {run.key for run in read_runs(contest, folder)}
    missing = [each for each in contest.run_requests() if each.key not in known]
    map_in_parallel(partial(_make_run, folder=folder), missing, jobs)
    return read_runs(contest, folder)


def read_runs(contest: Contest, folder: Path) -> list[Run]:
    """Return the complete runs of a contest, from its results file and the folder; add the latter to the file."""
    known = {} if contest.results is None else {run.key: run for run in read_rows(contest.results, contest.seconds)}
    requests = contest.run_requests()
    paths = [each.summary_path(folder) for each in requests if each.key not in known]
    new = [Run.read(path) for path in paths if path.exists()]
    known |= {run.key: run for run in new}
    if contest.results is not None and new:
        contest.results.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame([known[key].row for key in sorted(known)]).to_csv(contest.results, index=False)
    return [known[each.key] for each in requests if each.key in known]


def read_rows(path: Path, seconds: float) -> list[Run]:
    """Return the runs in a results file, or an empty list if the file does not exist."""
    table = pd.read_csv(path) if path.exists() else pd.DataFrame()
    return [Run.from_row(row, seconds) for row in table.to_dict("records")]


def map_in_parallel(function: Callable[[W], T], items: Iterable[W], jobs: int) -> list[T]:
    """Return `[function(item) for item in items]`, computed by `jobs` processes."""
    if jobs == 1:
        return list(map(function, items))
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(function, items))


def _make_run(request: RunRequest, folder: Path) -> None:
    _search(request, request.store_path(folder)).write(request.summary_path(folder))


def _search(request: RunRequest, store: Path) -> Run:
    """Make a run, resuming it if its store exists, and score its incumbents on the test rows."""
    table = pd.read_csv(request.data)
    options: dict[str, Any] = {"workers": 1, "test": TEST_SHARE, "time": request.contest.seconds}
    options |= {**request.contest.search_options, **request.candidate.search_options}
    try:
        result = sl.search(
            request.contest.space,
            table.drop(columns="target"),
            table["target"],
            optimizer=request.candidate.optimizer,
            optimizer_options=request.candidate.options,
            seed=request.seed,
            ensemble=request.candidate.ensemble_size,
            store=store,
            resume=store.exists(),
            **options,
        )
    except sl.NoSuccessError as error:
        result = error.result
        return _summarize(request, result, (), reason=str(error))
    ensemble = None if request.candidate.ensemble_size is None else result.ensemble_test
    curve = _score_incumbents(result, request.contest.seconds)
    return _summarize(request, result, curve, ensemble=None if ensemble is None else ensemble.loss)


def _summarize(
    request: RunRequest, result: sl.Result, curve: tuple[tuple[float, float, float | None], ...], **more: Any
) -> Run:
    outcome = result.outcome
    counts = request.candidate.counts(result)
    return Run(
        request.label, request.candidate.name, request.seed, curve, len(outcome.records), outcome.failed, counts, **more
    )


def _score_incumbents(result: sl.Result, seconds: float) -> tuple[tuple[float, float, float | None], ...]:
    """Return all incumbents; those at the tenths of the time are fitted on all other rows, and scored once each."""
    ends = [seconds * (tenth + 1) / TENTHS for tenth in range(TENTHS)]
    incumbents = [point for point in result.outcome.curve if point.seconds <= seconds]
    known = ([point.trial for point in incumbents if point.seconds <= end] for end in ends)
    at_tenths = dict.fromkeys(trials[-1] for trials in known if trials)
    records = {record.index: record for record in result.outcome.records}
    objective = result.objective
    assert isinstance(objective, DataObjective)
    workers = replace(result.experiment.workers, count=min(result.experiment.workers.count, 1), isolate=False)
    losses: dict[int, float | None] = {}
    with closing(make_executor(objective, workers)) as executor:
        for trial in at_tenths:
            outcome = replace(result.outcome, records=(records[trial],), incumbent=records[trial])
            score = fit_best_pipeline(outcome, objective, executor, limits=workers.limits, has_interval=False).test
            losses[trial] = None if score is None else score.loss
    return tuple((point.seconds, point.loss, losses.get(point.trial)) for point in incumbents)


# ---- scripts


def make_parser(text: str | None, *, seconds: float, parts: Iterable[str] = ()) -> argparse.ArgumentParser:
    """Return a parser with the options of scripts that compare optimizers on data sets, in several `parts` if any."""
    options = make_base_parser(text, seconds=seconds, seeds=None)
    options.add_argument(
        "datasets", type=Path, help="folder of data sets `NAME.csv.gz` with labels in the column `target`"
    )
    options.add_argument(
        "--data", action="append", default=[], help="name of a data set; repeat the option for several"
    )
    if parts:
        options.add_argument(
            "--part",
            action="append",
            choices=[*parts],
            default=[],
            help="part of the comparison; repeat the option for several (default: all)",
        )
    options.add_argument("--trials", type=int, help="maximum number of trials of a run")
    options.add_argument("--trial-limit", default="60s 4GB", help="limits on the time and memory of a trial")
    options.add_argument("--results", type=Path, help="folder of results files; runs in these files are not repeated")
    options.add_argument(
        "--report", action="store_true", help="make no runs; report the data sets all of whose runs are stored"
    )
    return options


def make_base_parser(text: str | None, *, seconds: float, seeds: int | None) -> argparse.ArgumentParser:
    """Return a parser with the options of all scripts that store runs; `seeds` is None if parts have their own."""
    lines = (text or "").splitlines()
    options = argparse.ArgumentParser(description=lines[0] if lines else None)
    options.add_argument("--output", type=Path, required=True, help="folder in which runs are stored")
    options.add_argument("--seconds", type=float, default=seconds, help="time limit of a run")
    options.add_argument("--seeds", type=int, default=seeds, help="number of seeds (by default as many as described)")
    options.add_argument("--jobs", type=int, default=2, help="number of runs in parallel")
    return options


def get_search_options(chosen: argparse.Namespace) -> Mapping[str, Any]:
    """Return the options of `search` that the command line sets for all runs."""
    return {"trials": chosen.trials, "trial_limit": chosen.trial_limit}


def get_results_path(folder: Path | None, *words: str, seconds: float) -> Path | None:
    """Return the path of a results file; its name consists of `words` and the seconds of a run."""
    return None if folder is None else folder / f"{'_'.join([*words, f'{seconds:g}s'])}.csv"


def find_data_sets(folder: Path, names: Iterable[str]) -> tuple[Path, ...]:
    """Return the paths of data sets; exit if one does not exist."""
    files = tuple(folder / f"{name}.csv.gz" for name in names)
    missing = [str(path) for path in files if not path.exists()]
    if missing:
        sys.exit(f"these files do not exist: {', '.join(missing)}")
    return files


def choose_small_data_sets(folder: Path, count: int = 6, rows: int = 1_500) -> tuple[str, ...]:
    """Return the largest data sets of at most `rows` rows, according to the manifest of a folder."""
    path = folder / "MANIFEST.csv"
    if not path.exists():
        sys.exit(f"the file {path} does not exist; name data sets with --data")
    manifest = pd.read_csv(path)
    candidates = manifest[manifest["rows"] <= rows].sort_values(["rows", "name"], ascending=[False, True])
    return tuple(candidates["name"].head(count))


def select_available(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates that can run here; print why the others cannot."""
    available = []
    for each in candidates:
        if each.missing_reason:
            print(f"skipped {each.name}: {each.missing_reason}")
        else:
            available.append(each)
    return tuple(available)
