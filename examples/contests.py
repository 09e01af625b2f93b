"""Contests: optimizers on data sets with several seeds, stored runs, and tables of ranks.

The scripts of `mosaic_paper` and `boasf_paper` use this module, and those of `admm_paper` use parts of it.
`spacelang compare` compares only the best pipelines, and makes one run at a time. A contest also scores the incumbent
at each tenth of the time on the test rows, includes ensembles, makes several runs in parallel, and can exclude runs
that are too short. Ranks and their intervals are those of `compare`.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from math import inf, isnan, nan
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd

import spacelang as sl
from spacelang.api.executor_settings import make_executor
from spacelang.bench.comparison.ranks import TOLERANCE, RankEstimates, RankingMethod, choose_bootstrap, estimate_ranks
from spacelang.optimizers import OPTIMIZERS
from spacelang.plugins import OptionError, UnknownPluginError
from spacelang.runtime.errors import InputError
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.final_fit import fit_best_pipeline

W = TypeVar("W")
T = TypeVar("T")

TENTHS: Final = 10
"""The number of times at which the incumbent of a run is scored."""

ENSEMBLE: Final = " + ensemble"
"""The suffix of a candidate's name whose final pipeline is replaced by an ensemble."""

Counts = Callable[[sl.Result], Mapping[str, int]]
"""A function that returns further counts of a run, by name."""


def no_counts(_: sl.Result) -> Mapping[str, int]:
    """Return no counts."""
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


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run.

    `curve` has one point per incumbent: seconds, loss in the search, and loss on the test rows. The incumbent is
    the best pipeline that was trained on all training rows, or on fewer if the run has none on all. The loss on
    test rows is None if the pipeline could not be fitted. `ensemble` is the loss of the ensemble on the test rows.
    `reason` says why the run has no loss.
    """

    data: str
    candidate: str
    seed: int
    curve: tuple[tuple[float, float, float | None], ...]
    trials: int
    failed: int
    counts: Mapping[str, int] = field(default_factory=dict)
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
        counts = {name: int(value) for name, value in known.items()}
        return cls(*key, tuple(map(tuple, curve)), trials, failed, counts, ensemble, reason or "")

    def with_ensemble(self) -> "Run":
        """Return a copy of the run with the ensemble as its final incumbent."""
        *earlier, (seconds, loss, _) = self.curve
        return replace(self, candidate=self.candidate + ENSEMBLE, curve=(*earlier, (seconds, loss, self.ensemble)))

    def losses_at(self, seconds: float) -> tuple[float, float]:
        """Return the best loss at that time, and its loss on the test rows; NaN before the first loss."""
        known = [each for each in self.curve if each[0] <= seconds]
        return (known[-1][1], nan if known[-1][2] is None else known[-1][2]) if known else (nan, nan)


# ---- making runs


def make_runs(contest: Contest, folder: Path, jobs: int) -> list[Run]:
    """Return all runs of a contest, `jobs` at a time; runs in the folder or in the results file are not repeated."""
    folder.mkdir(parents=True, exist_ok=True)
    known = {} if contest.results is None else {run.key: run for run in read_rows(contest.results, contest.seconds)}
    run_requests = contest.run_requests()
    runs = map_in_parallel(
        partial(_make_run, folder=folder), [each for each in run_requests if each.key not in known], jobs
    )
    known |= {run.key: run for run in runs}
    if contest.results is not None and runs:
        pd.DataFrame([known[key].row for key in sorted(known)]).to_csv(contest.results, index=False)
    return [known[each.key] for each in run_requests]


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


def _make_run(request: RunRequest, folder: Path) -> Run:
    store = request.store_path(folder)
    summary = store.with_suffix(".json")
    if not summary.exists():
        _search(request, store).write(summary)
    return Run.read(summary)


def _search(request: RunRequest, store: Path) -> Run:
    """Make a run, resuming it if its store exists, and score its incumbents on the test rows."""
    table = pd.read_csv(request.data)
    options: dict[str, Any] = {"workers": 1, "test": 0.2, "time": request.contest.seconds}
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
    """Return the incumbents at the tenths of the time, each fitted on all other rows and scored once."""
    ends = [seconds * (tenth + 1) / TENTHS for tenth in range(TENTHS)]
    known = ([point for point in result.outcome.curve if point.seconds <= end] for end in ends)
    points = {points[-1].trial: points[-1] for points in known if points}
    records = {record.index: record for record in result.outcome.records}
    objective = result.objective
    assert isinstance(objective, DataObjective)
    workers = replace(result.experiment.workers, count=min(result.experiment.workers.count, 1), isolate=False)
    losses: dict[int, float | None] = {}
    with closing(make_executor(objective, workers)) as executor:
        for trial in points:
            outcome = replace(result.outcome, records=(records[trial],), incumbent=records[trial])
            score = fit_best_pipeline(outcome, objective, executor, limits=workers.limits, has_interval=False).test
            losses[trial] = None if score is None else score.loss
    return tuple((point.seconds, point.loss, losses[trial]) for trial, point in points.items())


# ---- reporting


def report(contest: Contest, runs: Iterable[Run], base: str) -> Mapping[str, RankEstimates]:
    """Print the results of a contest; return the ranks of mean losses `in the search` and `on test rows`."""
    runs = list(runs)
    entered = [each for run in runs for each in ((run, run.with_ensemble()) if run.ensemble is not None else (run,))]
    names = tuple(dict.fromkeys(run.candidate for run in entered))
    data, seeds = tuple(dict.fromkeys(run.data for run in entered)), len(contest.seeds)
    resampling = choose_bootstrap(len(data), seeds)
    resampled = (
        "too few for intervals"
        if resampling is None
        else f"intervals over {resampling.number} {resampling.unit.value}s"
    )
    print(f"\n{contest.space}: {len(data)} data sets, {seeds} seeds, {contest.seconds:g} s each; {resampled}")
    for name in names:
        print_counts(name, [run for run in entered if run.candidate == name])
    without_curve = sum(bool(run.curve) and run.curve[0][0] == contest.seconds for run in runs)
    if without_curve:
        noun = "run has" if without_curve == 1 else "runs have"
        print(f"  {without_curve} {noun} only a final loss: ranks before the end are omitted")
    estimates = {}
    for place, what in enumerate(("in the search", "on test rows")):
        losses = _collect_losses(contest, entered, (data, names), place)
        print_losses(what, losses[..., -1], data, names)
        estimates[what] = estimate_ranks(losses, RankingMethod.MEAN_LOSSES, TOLERANCE, resampling)
        print_ranks(what, estimates[what], names, contest.seconds, base, first=TENTHS - 1 if without_curve else 0)
    return estimates


def _collect_losses(
    contest: Contest, runs: Sequence[Run], names: tuple[Sequence[str], Sequence[str]], place: int
) -> np.ndarray:
    """Return an array of losses: data sets x candidates x seeds x tenths.

    A missing loss is replaced by the largest loss of any run on that data set, and at least by 1.
    """
    by_key = {run.key: run for run in runs}
    ends = [contest.seconds * (tenth + 1) / TENTHS for tenth in range(TENTHS)]
    losses = np.array(
        [
            [
                [[by_key[data, name, seed].losses_at(end)[place] for end in ends] for seed in contest.seeds]
                for name in names[1]
            ]
            for data in names[0]
        ]
    )
    worst = np.fmax(np.nanmax(losses, axis=(1, 2, 3), initial=-inf), 1.0)
    return np.where(np.isnan(losses), worst[:, None, None, None], losses)


def print_counts(name: str, runs: Sequence[Run]) -> None:
    """Print the smallest and largest number of trials, and of the other counts, of a candidate's runs."""
    counts: dict[str, list[int]] = {"trials": [run.trials for run in runs], "failed": [run.failed for run in runs]}
    for run in runs:
        for word, number in run.counts.items():
            counts.setdefault(word, []).append(number)
    print(f"  {name:<26}" + "; ".join(f"{word} {min(each)} to {max(each)}" for word, each in counts.items()))
    for run in runs:
        if run.reason:
            print(f"    {run.data}, seed {run.seed}: {run.reason}")


def print_losses(what: str, losses: np.ndarray, data: Sequence[str], names: Sequence[str]) -> None:
    """Print the mean final loss of each candidate on each data set."""
    print(f"\nmean final loss {what}")
    print(f"  {'':<26}" + "".join(f"{name[:14]:>16}" for name in data))
    for row, name in enumerate(names):
        print(f"  {name:<26}" + "".join(f"{loss:>16.4f}" for loss in losses[:, row].mean(axis=-1)))


def print_ranks(
    what: str, estimates: RankEstimates, names: Sequence[str], seconds: float, base: str, *, first: int = 0
) -> None:
    """Print mean ranks from the tenth `first` on; at the end with intervals, and differences from the base."""
    print(f"\nmean rank {what} by seconds; at the end [95 % bootstrap interval], and difference from {base}")
    print(f"  {'':<26}" + "".join(f"{seconds * (tenth + 1) / TENTHS:>7g}" for tenth in range(first, TENTHS)))
    for row, name in enumerate(names):
        ranks = "".join(f"{rank:>7.2f}" for rank in estimates.ranks.value[row, first:])
        low, high = estimates.ranks.low[row, -1], estimates.ranks.high[row, -1]
        bounds = "" if isnan(low) else f"[{low:.2f}, {high:.2f}]"
        compared = "" if name == base or base not in names else f"  {describe_difference(estimates, names, name, base)}"
        print(f"  {name:<26}{ranks} {bounds:>14}{compared}")


def describe_difference(estimates: RankEstimates, names: Sequence[str], name: str, base: str) -> str:
    """Return a text: the difference of a candidate's final rank from that of the base, and if it is beyond noise."""
    value, low, high = get_rank_difference(estimates, names, name, base)
    if isnan(low):
        return f"{value:+.2f}, within noise"
    beyond = "beyond noise" if low > 0 or high < 0 else "within noise"
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}], {beyond}"


def get_rank_difference(
    estimates: RankEstimates, names: Sequence[str], name: str, other: str
) -> tuple[float, float, float]:
    """Return the final rank of `name` minus that of `other`, with the bounds of the interval."""
    one, two = names.index(name), names.index(other)
    first, second = min(one, two), max(one, two)
    pairs = [(a, b) for a in range(len(names)) for b in range(a + 1, len(names))]
    row = pairs.index((first, second))
    each = estimates.differences
    value, low, high = (float(part[row, -1]) for part in (each.value, each.low, each.high))
    return (value, low, high) if one < two else (-value, -high, -low)


# ---- scripts


def make_parser(text: str | None, *, seconds: float, seeds: int) -> argparse.ArgumentParser:
    """Return a parser with the options of scripts that compare optimizers on data sets."""
    options = make_base_parser(text, seconds=seconds, seeds=seeds)
    options.add_argument(
        "datasets", type=Path, help="folder of data sets `NAME.csv.gz` with labels in the column `target`"
    )
    options.add_argument(
        "--data", action="append", default=[], help="name of a data set; repeat the option for several"
    )
    options.add_argument("--trials", type=int, help="maximum number of trials of a run")
    options.add_argument("--trial-limit", default="60s 4GB", help="limits on the time and memory of a trial")
    options.add_argument("--results", type=Path, help="folder of results files; runs in these files are not repeated")
    return options


def make_base_parser(text: str | None, *, seconds: float, seeds: int) -> argparse.ArgumentParser:
    """Return a parser with the options of all scripts that store runs."""
    lines = (text or "").splitlines()
    options = argparse.ArgumentParser(description=lines[0] if lines else None)
    options.add_argument("--output", type=Path, required=True, help="folder in which runs are stored")
    options.add_argument("--seconds", type=float, default=seconds, help="time limit of a run")
    options.add_argument("--seeds", type=int, default=seeds, help="number of seeds")
    options.add_argument("--jobs", type=int, default=2, help="number of runs in parallel")
    return options


def report_included_runs(
    contest: Contest, runs: Sequence[Run], base: str, find_shortfall: Callable[[Run], str], rule: str
) -> None:
    """Report the data sets without any excluded run, and print why runs are excluded."""
    excluded = [(run, reason) for run in runs if (reason := find_shortfall(run))]
    print(f"\n{contest.space}: {rule}; {len(excluded)} of {len(runs)} runs are excluded")
    for run, reason in excluded:
        print(f"  {run.data}, {run.candidate}, seed {run.seed}: {reason}")
    excluded_data = {run.data for run, _ in excluded}
    included = [run for run in runs if run.data not in excluded_data]
    if excluded_data:
        print(f"  excluded data sets: {', '.join(sorted(excluded_data))}")
    if included:
        report(contest, included, base)


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
