"""Contests: optimizers on data sets with several seeds, each run kept in a file of its own, and tables of their ranks.

What the scripts of `default`, `mosaic_paper` and `boasf_paper` share, and in part those of `admm_paper`. `spacelang
compare` judges runs by their winners and makes one after the other; here the incumbent at each tenth of the time is
scored on rows that no trial saw, ensembles take part, several runs go on at a time, and a run may have to have
something to count. Ranks and their intervals are those of `compare`.
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
from spacelang.api.executing import make_executor
from spacelang.bench.comparison.noise import RankEstimates, ranked, resampling
from spacelang.bench.comparison.ranks import TOLERANCE, Ranking
from spacelang.optimizers import OPTIMIZERS
from spacelang.plugins import OptionError, UnknownPluginError
from spacelang.runtime.errors import InputError
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.final import finish

W = TypeVar("W")
T = TypeVar("T")

TENTHS: Final = 10
"""So often in a run its incumbent is looked at."""

ENSEMBLE: Final = " + ensemble"
"""What is added to the name of a candidate whose best pipelines vote at the end."""

Counts = Callable[[sl.Result], Mapping[str, int]]
"""What is to be known of a run beside its losses, by its name."""


def nothing(_: sl.Result) -> Mapping[str, int]:
    """Nothing more."""
    return {}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An optimizer with its options, by the name that it has in tables and in files.

    With `votes` so many of its best pipelines vote at the end. `told` is what `search` is told for it alone. `extra` is
    the package that it needs beside the core, which is an extra of the same name.
    """

    name: str
    optimizer: str
    options: Mapping[str, str] = field(default_factory=dict)
    votes: int | None = None
    told: Mapping[str, Any] = field(default_factory=dict)
    extra: str = ""
    counts: Counts = nothing

    @property
    def lacks(self) -> str:
        """Why it cannot take part here, empty where it can."""
        try:
            OPTIMIZERS.made(self.optimizer, self.options)
        except (UnknownPluginError, OptionError, InputError) as error:
            return f"{error.message}: {error.help}"
        is_there = not self.extra or find_spec(self.extra) is not None
        return "" if is_there else f"`{self.extra}` is not installed: `pip install 'spacelang[{self.extra}]'`"


@dataclass(frozen=True, slots=True)
class Contest:
    """Every candidate on every data set with every seed; `told` is what `search` is told for all.

    A fifth of the rows, drawn by the seed, is seen by no trial. `rows` is a file of runs, one a row: those that it has
    are not made again, and those that are made are added.
    """

    space: str
    candidates: tuple[Candidate, ...]
    data: tuple[Path, ...]
    seeds: range
    seconds: float
    told: Mapping[str, Any] = field(default_factory=dict)
    rows: Path | None = None

    def wishes(self) -> "list[Wish]":
        """All runs, seed after seed."""
        return [Wish(self, each, data, seed) for seed in self.seeds for data in self.data for each in self.candidates]


@dataclass(frozen=True, slots=True)
class Wish:
    """A run of a contest."""

    contest: Contest
    candidate: Candidate
    data: Path
    seed: int

    @property
    def label(self) -> str:
        """What the data is called."""
        return self.data.name.partition(".")[0]

    @property
    def key(self) -> tuple[str, str, int]:
        """Which run of the contest it is."""
        return self.label, self.candidate.name, self.seed

    def place(self, folder: Path) -> Path:
        """The store of the run; runs of another length, or on another space, are others."""
        of = (Path(self.contest.space).stem, self.label, self.candidate.name)
        words = (*of, f"{self.contest.seconds:g}s", str(self.seed))
        return folder / f"{'@'.join(word.replace(' ', '_') for word in words)}.db"


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a run: after some seconds its best loss was so small, and that of the same on test rows.

    Best is who was trained on all training rows, or on fewer in a run that has trained nobody on all. A loss on test
    rows is None where the pipeline could not be fitted. `reason` says why there is none at all. `ensemble` is the loss
    of the ensemble on the test rows.
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
        """A run as it was written."""
        found = json.loads(path.read_text(encoding="utf-8"))
        return cls(**found | {"curve": tuple(map(tuple, found["curve"]))})

    def write(self, path: Path) -> None:
        """Keep it: whole, or not at all."""
        new = path.with_suffix(".new")
        new.write_text(json.dumps(asdict(self)), encoding="utf-8")
        new.replace(path)

    @property
    def key(self) -> tuple[str, str, int]:
        """Which run of a contest it is."""
        return self.data, self.candidate, self.seed

    @property
    def row(self) -> Mapping[str, object]:
        """All of it as a row of a file: who, how many trials, the losses at the end, and the rest."""
        _, loss, test = self.curve[-1] if self.curve else (nan, nan, None)
        who = {"data": self.data, "optimizer": self.candidate, "seed": self.seed}
        came = {"trials": self.trials, "failed": self.failed, "loss": loss, "test": test, "ensemble": self.ensemble}
        return {**who, **came, **self.counts, "reason": self.reason, "curve": json.dumps(self.curve)}

    @classmethod
    def of_row(cls, row: Mapping[Any, Any], seconds: float) -> "Run":
        """A run from its row; without a curve its incumbent is known at the end alone, after so many seconds."""
        said = {name: value for name, value in row.items() if not pd.isna(value)}
        who = (said.pop("data"), said.pop("optimizer"), said.pop("seed"))
        trials, failed, ensemble, reason = (said.pop(each, None) for each in ("trials", "failed", "ensemble", "reason"))
        loss, test = (said.pop(each, None) for each in ("loss", "test"))
        curve = json.loads(said.pop("curve")) if "curve" in said else [] if loss is None else [(seconds, loss, test)]
        counts = {name: int(value) for name, value in said.items()}
        return cls(*who, tuple(map(tuple, curve)), trials, failed, counts, ensemble, reason or "")

    def voting(self) -> "Run":
        """The same where the ensemble is judged at the end in the place of the winner."""
        *earlier, (seconds, loss, _) = self.curve
        return replace(self, candidate=self.candidate + ENSEMBLE, curve=(*earlier, (seconds, loss, self.ensemble)))

    def after(self, seconds: float) -> tuple[float, float]:
        """The best loss, and that on test rows, at that time; NaN before there is one."""
        known = [each for each in self.curve if each[0] <= seconds]
        return (known[-1][1], nan if known[-1][2] is None else known[-1][2]) if known else (nan, nan)


# ---- making runs


def made(contest: Contest, folder: Path, jobs: int) -> list[Run]:
    """All runs of a contest, so many at a time; what the folder or the file of its rows has is not made again."""
    folder.mkdir(parents=True, exist_ok=True)
    known = {} if contest.rows is None else {run.key: run for run in read_rows(contest.rows, contest.seconds)}
    wishes = contest.wishes()
    runs = several(partial(_made, folder=folder), [each for each in wishes if each.key not in known], jobs)
    known |= {run.key: run for run in runs}
    if contest.rows is not None and runs:
        pd.DataFrame([known[key].row for key in sorted(known)]).to_csv(contest.rows, index=False)
    return [known[each.key] for each in wishes]


def read_rows(path: Path, seconds: float) -> list[Run]:
    """The runs of so many seconds that a file has, one a row; none where there is no file."""
    table = pd.read_csv(path) if path.exists() else pd.DataFrame()
    return [Run.of_row(row, seconds) for row in table.to_dict("records")]


def several(make: Callable[[W], T], wishes: Iterable[W], jobs: int) -> list[T]:
    """What is made of each wish, so many at a time; one at a time here."""
    if jobs == 1:
        return list(map(make, wishes))
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(make, wishes))


def _made(wish: Wish, folder: Path) -> Run:
    store = wish.place(folder)
    summary = store.with_suffix(".json")
    if not summary.exists():
        _searched(wish, store).write(summary)
    return Run.read(summary)


def _searched(wish: Wish, store: Path) -> Run:
    """A run, which goes on with what its store has, and the losses of its incumbents on the test rows."""
    table = pd.read_csv(wish.data)
    told: dict[str, Any] = {"workers": 1, "test": 0.2, "time": wish.contest.seconds}
    told |= {**wish.contest.told, **wish.candidate.told}
    try:
        result = sl.search(
            wish.contest.space,
            table.drop(columns="target"),
            table["target"],
            optimizer=wish.candidate.optimizer,
            optimizer_options=wish.candidate.options,
            seed=wish.seed,
            ensemble=wish.candidate.votes,
            store=store,
            resume=store.exists(),
            **told,
        )
    except sl.NoSuccessError as error:
        result = error.result
        return _run(wish, result, (), reason=str(error))
    ensemble = None if wish.candidate.votes is None else result.ensemble_test
    curve = _tested(result, wish.contest.seconds)
    return _run(wish, result, curve, ensemble=None if ensemble is None else ensemble.loss)


def _run(wish: Wish, result: sl.Result, curve: tuple[tuple[float, float, float | None], ...], **more: Any) -> Run:
    outcome = result.outcome
    counts = wish.candidate.counts(result)
    return Run(wish.label, wish.candidate.name, wish.seed, curve, len(outcome.records), outcome.failed, counts, **more)


def _tested(result: sl.Result, seconds: float) -> tuple[tuple[float, float, float | None], ...]:
    """The incumbents that there were at the tenths of the time, each fitted on all other rows and scored once."""
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
            then = replace(result.outcome, records=(records[trial],), incumbent=records[trial])
            score = finish(then, objective, executor, limits=workers.limits, has_interval=False).test
            losses[trial] = None if score is None else score.loss
    return tuple((point.seconds, point.loss, losses[trial]) for trial, point in points.items())


# ---- telling


def report(contest: Contest, runs: Iterable[Run], base: str) -> Mapping[str, RankEstimates]:
    """Print what came of a contest; returns the ranks of mean losses in the search and on test rows, by these words."""
    runs = list(runs)
    entered = [each for run in runs for each in ((run, run.voting()) if run.ensemble is not None else (run,))]
    names = tuple(dict.fromkeys(run.candidate for run in entered))
    data, seeds = tuple(dict.fromkeys(run.data for run in entered)), len(contest.seeds)
    over = resampling(len(data), seeds)
    said = "too few for intervals" if over is None else f"intervals are over {over.number} {over.drawn.value}s"
    print(f"\n{contest.space}: {len(data)} data sets, {seeds} seeds, {contest.seconds:g} s each; {said}")
    for name in names:
        print_effort(name, [run for run in entered if run.candidate == name])
    late = sum(bool(run.curve) and run.curve[0][0] == contest.seconds for run in runs)
    if late:
        print(f"  {late} {'run is' if late == 1 else 'runs are'} known at the end alone: there are no ranks before it")
    found = {}
    for place, what in enumerate(("in the search", "on test rows")):
        losses = _losses(contest, entered, (data, names), place)
        print_losses(what, losses[..., -1], data, names)
        found[what] = ranked(losses, Ranking.MEAN_LOSSES, TOLERANCE, over)
        print_ranks(what, found[what], names, contest.seconds, base, first=TENTHS - 1 if late else 0)
    return found


def _losses(
    contest: Contest, runs: Sequence[Run], names: tuple[Sequence[str], Sequence[str]], place: int
) -> np.ndarray:
    """Data sets x candidates x seeds x tenths.

    What has no loss is as bad as the worst that any run has on that data set, and 1 at least.
    """
    by_key = {run.key: run for run in runs}
    ends = [contest.seconds * (tenth + 1) / TENTHS for tenth in range(TENTHS)]
    losses = np.array(
        [
            [
                [[by_key[data, name, seed].after(end)[place] for end in ends] for seed in contest.seeds]
                for name in names[1]
            ]
            for data in names[0]
        ]
    )
    worst = np.fmax(np.nanmax(losses, axis=(1, 2, 3), initial=-inf), 1.0)
    return np.where(np.isnan(losses), worst[:, None, None, None], losses)


def print_effort(name: str, runs: Sequence[Run]) -> None:
    """How many trials a candidate made, and what else is to be known of its runs: the least and the most."""
    counts: dict[str, list[int]] = {"trials": [run.trials for run in runs], "failed": [run.failed for run in runs]}
    for run in runs:
        for word, number in run.counts.items():
            counts.setdefault(word, []).append(number)
    print(f"  {name:<26}" + "; ".join(f"{word} {min(each)} to {max(each)}" for word, each in counts.items()))
    for run in runs:
        if run.reason:
            print(f"    {run.data}, seed {run.seed}: {run.reason}")


def print_losses(what: str, losses: np.ndarray, data: Sequence[str], names: Sequence[str]) -> None:
    """The mean loss of each candidate on each data set at the end."""
    print(f"\nmean loss {what} at the end")
    print(f"  {'':<26}" + "".join(f"{name[:14]:>16}" for name in data))
    for row, name in enumerate(names):
        print(f"  {name:<26}" + "".join(f"{loss:>16.4f}" for loss in losses[:, row].mean(axis=-1)))


def print_ranks(
    what: str, found: RankEstimates, names: Sequence[str], seconds: float, base: str, *, first: int = 0
) -> None:
    """Mean ranks at the tenths of the time from the first on; at the end with intervals, and differences to a base."""
    print(f"\nmean rank {what} after so many seconds; at the end [95 % by bootstrap], and how it differs from {base}'s")
    print(f"  {'':<26}" + "".join(f"{seconds * (tenth + 1) / TENTHS:>7g}" for tenth in range(first, TENTHS)))
    for row, name in enumerate(names):
        ranks = "".join(f"{rank:>7.2f}" for rank in found.ranks.value[row, first:])
        low, high = found.ranks.low[row, -1], found.ranks.high[row, -1]
        bounds = "" if isnan(low) else f"[{low:.2f}, {high:.2f}]"
        told = "" if name == base or base not in names else f"  {against(found, names, name, base)}"
        print(f"  {name:<26}{ranks} {bounds:>14}{told}")


def against(found: RankEstimates, names: Sequence[str], name: str, base: str) -> str:
    """By how much the rank of one is above that of the base at the end, and whether that may be chance."""
    value, low, high = difference(found, names, name, base)
    if isnan(low):
        return f"{value:+.2f}, within noise"
    beyond = "beyond noise" if low > 0 or high < 0 else "within noise"
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}], {beyond}"


def difference(found: RankEstimates, names: Sequence[str], name: str, other: str) -> tuple[float, float, float]:
    """By how much the rank of one is above that of another one at the end, with the bounds of its interval."""
    one, two = names.index(name), names.index(other)
    first, second = min(one, two), max(one, two)
    pairs = [(a, b) for a in range(len(names)) for b in range(a + 1, len(names))]
    row = pairs.index((first, second))
    each = found.differences
    value, low, high = (float(part[row, -1]) for part in (each.value, each.low, each.high))
    return (value, low, high) if one < two else (-value, -high, -low)


# ---- scripts


def parser(text: str | None, *, seconds: float, seeds: int) -> argparse.ArgumentParser:
    """The options of scripts that have optimizers compete on data sets."""
    options = keeping(text, seconds=seconds, seeds=seeds)
    options.add_argument(
        "datasets", type=Path, help="the folder of the data sets, NAME.csv.gz with the column `target`"
    )
    options.add_argument(
        "--data", action="append", default=[], help="a data set, again for each; else as it says above"
    )
    options.add_argument("--trials", type=int, help="the most of each run")
    options.add_argument("--trial-limit", default="60s 4GB", help="what a trial may take")
    options.add_argument(
        "--results", type=Path, help="a folder of files with one row a run: none of these is made again"
    )
    return options


def keeping(text: str | None, *, seconds: float, seeds: int) -> argparse.ArgumentParser:
    """The options of all scripts that keep runs."""
    lines = (text or "").splitlines()
    options = argparse.ArgumentParser(description=lines[0] if lines else None)
    options.add_argument("--output", type=Path, required=True, help="the folder in which runs are kept")
    options.add_argument("--seconds", type=float, default=seconds, help="of each run")
    options.add_argument("--seeds", type=int, default=seeds)
    options.add_argument("--jobs", type=int, default=2, help="runs at a time")
    return options


def report_those_that_count(
    contest: Contest, runs: Sequence[Run], base: str, lacks: Callable[[Run], str], rule: str
) -> None:
    """Report the data sets on which every run counts, and say which run lacks what on the others."""
    few = [(run, said) for run in runs if (said := lacks(run))]
    print(f"\n{contest.space}: {rule}; {len(few)} of {len(runs)} runs do not count")
    for run, said in few:
        print(f"  {run.data}, {run.candidate}, seed {run.seed}: {said}")
    left_out = {run.data for run, _ in few}
    counting = [run for run in runs if run.data not in left_out]
    if left_out:
        print(f"  left out: {', '.join(sorted(left_out))}")
    if counting:
        report(contest, counting, base)


def told_all(chosen: argparse.Namespace) -> Mapping[str, Any]:
    """What every run is told by these options."""
    return {"trials": chosen.trials, "trial_limit": chosen.trial_limit}


def rows(folder: Path | None, *words: str, seconds: float) -> Path | None:
    """The file of the runs of a contest, which is called by words and by how long its runs are."""
    return None if folder is None else folder / f"{'_'.join([*words, f'{seconds:g}s'])}.csv"


def paths(folder: Path, names: Iterable[str]) -> tuple[Path, ...]:
    """The files of data sets; ends the program where one is not there."""
    found = tuple(folder / f"{name}.csv.gz" for name in names)
    lacking = [str(path) for path in found if not path.exists()]
    if lacking:
        sys.exit(f"there is no {', no '.join(lacking)}")
    return found


def small(folder: Path, count: int = 6, rows: int = 1_500) -> tuple[str, ...]:
    """By the manifest of a folder, the largest data sets of at most so many rows."""
    path = folder / "MANIFEST.csv"
    if not path.exists():
        sys.exit(f"there is no {path}: name data sets by --data")
    manifest = pd.read_csv(path)
    few = manifest[manifest["rows"] <= rows].sort_values(["rows", "name"], ascending=[False, True])
    return tuple(few["name"].head(count))


def able(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Those that can take part; who cannot, and why, is printed."""
    found = []
    for each in candidates:
        if each.lacks:
            print(f"left out: {each.name}: {each.lacks}")
        else:
            found.append(each)
    return tuple(found)
