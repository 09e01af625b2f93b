"""Stored runs and statistics over seeds, shared by the scripts of this folder."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from csv import DictWriter
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from math import inf, isnan, nan
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
from contests import map_in_parallel

import spacelang as sl
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.records import RunState
from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.stored_run import StoredRun

T = TypeVar("T")

VARIANTS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "jopt": ("jopt", {}),
    "AdADMM-F16(BO,Ba)": ("admm", {"preset": "adadmm_f16_bo_ba"}),
    "AdADMM-F16(BO,BO)": ("admm", {"preset": "adadmm_f16_bo_bo"}),
    "ADMM16(BO,Ba)": ("admm", {"preset": "admm16_bo_ba"}),
    "ADMM128(BO,Ba)": ("admm", {"preset": "admm128_bo_ba"}),
    "random": ("random", {}),
}
"""The optimizer and the options of each variant, by the name in the paper. `random` is not in the paper."""

BASE: Final = "jopt"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A requested run: a variant, a seed, a space and the options of `search`; `label` begins the file name."""

    variant: str
    seed: int
    space: str | Path
    label: str = ""
    data: Path | None = None
    rows: tuple[int, int] | None = None
    """The number of rows for the search and for the test set; None if `search` splits the data itself."""
    options: Mapping[str, Any] = field(default_factory=dict)

    def store(self, folder: Path) -> Path:
        """Return the path of the run's store."""
        optimizer, variant_options = VARIANTS[self.variant]
        parts = (self.label, optimizer, variant_options.get("preset", "default"), str(self.seed))
        return folder / f"{'-'.join(filter(None, parts))}.db"

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Return the arguments of `search`: the data, the optimizer and `options`."""
        optimizer, variant_options = VARIANTS[self.variant]
        search_options = {
            "optimizer": optimizer,
            "optimizer_options": variant_options,
            "seed": self.seed,
            **self.options,
        }
        if self.data is None:
            return search_options
        table = pd.read_csv(self.data)
        if self.rows is None:
            return {"features": table.drop(columns="target"), "target": table["target"], **search_options}
        search_rows, test_rows = self.rows
        sample = table.sample(search_rows + test_rows, random_state=self.seed)
        parts = sample.iloc[:search_rows], sample.iloc[search_rows:]
        (features, target), test = ((part.drop(columns="target"), part["target"]) for part in parts)
        return {"features": features, "target": target, "test": test, **search_options}


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run: its incumbents by time, its numbers of trials, and the loss on the test rows."""

    curve: tuple[tuple[float, float], ...]
    trials: int
    failed: int
    iterations: int
    """A lower bound on the complete iterations of ADMM; 0 for other optimizers."""
    test: float = nan
    test_low: float = nan
    test_high: float = nan

    @classmethod
    def from_stored(cls, run: StoredRun) -> "Run":
        """Return the result of a stored run."""
        trials = list(run.records())
        score = None if run.test_score is None else run.test_score.score
        scores = () if score is None else (score.loss, score.low, score.high)
        return cls(
            tuple(trace_incumbents(trials)),
            len(trials),
            sum(each.trial.loss is None for each in trials),
            count_iterations(trials),
            *(nan if each is None else each for each in scores),
        )

    @property
    def loss(self) -> float:
        """Return the best loss, or infinity if no trial succeeded."""
        return self.curve[-1][1] if self.curve else inf

    def seconds_to_reach(self, loss: float) -> float:
        """Return the seconds after which the run had at most this loss, or infinity."""
        return next((seconds for seconds, value in self.curve if value <= loss), inf)

    def loss_at(self, seconds: float) -> float:
        """Return the best loss at that time; 1 before the first loss, as in the paper."""
        return next((loss for until, loss in reversed(self.curve) if until <= seconds), 1.0)


def compute_speedups(own: Sequence[Run], base: Sequence[Run]) -> list[float]:
    """Return how many times as fast each run reaches the best loss of its base run; 0 if it does not."""
    return [
        other.seconds_to_reach(other.loss) / each.seconds_to_reach(other.loss) if other.curve else nan
        for each, other in zip(own, base, strict=True)
    ]


def compute_improvements(own: Sequence[Run], base: Sequence[Run]) -> list[float]:
    """Return by how many per cent the final loss of each run is smaller than that of its base run."""
    return [
        100 * (other.loss - each.loss) / other.loss if 0 < other.loss < inf else nan
        for each, other in zip(own, base, strict=True)
    ]


def trace_incumbents(trials: Iterable[TrialRecord]) -> Iterator[tuple[float, float]]:
    """Yield the time and loss of each incumbent, counting only trials that satisfy all bounds."""
    best = inf
    for each in trials:
        loss = each.trial.loss
        if loss is not None and each.trial.is_feasible and loss < best:
            best = loss
            yield each.finished, best


def count_iterations(trials: Iterable[TrialRecord]) -> int:
    """Return a lower bound on the complete iterations of ADMM.

    It is the number of times that a trial that tunes hyperparameters comes after one that selects a pipeline. The
    memo of a tuning trial is a point of the unit cube, which contains floats; the memo of a selecting trial is a
    pipeline, or empty. Steps that evaluate nothing new leave no trial, so there may be more iterations.
    """
    tunes = (any(isinstance(each, float) for each in record.trial.request.memo) for record in trials)
    return sum(now and not before for before, now in pairwise(tunes))


def make_runs(requests: Sequence[RunRequest], read: Callable[[StoredRun], T], folder: Path, jobs: int) -> list[T]:
    """Return `read(run)` for each requested run, `jobs` at a time; complete runs in the folder are not repeated."""
    folder.mkdir(parents=True, exist_ok=True)
    return map_in_parallel(partial(_make_run, read=read, folder=folder), requests, jobs)


def _make_run(request: RunRequest, read: Callable[[StoredRun], T], folder: Path) -> T:
    store = request.store(folder)
    if not is_complete(store, request.options):
        # A run without a successful trial is stored, too.
        with suppress(sl.NoSuccessError):
            sl.search(request.space, store=store, resume=store.exists(), **request.arguments)
    with Store.read(store) as run:
        return read(run)


def is_complete(store: Path, budget: Mapping[str, Any]) -> bool:
    """Return True if the stored run has used up its `time` or its `trials`."""
    if not store.exists():
        return False
    with Store.read(store) as run:
        limits = budget.get("time") or inf, budget.get("trials") or inf
        return run.state is RunState.FINISHED and (run.seconds >= limits[0] or run.count >= limits[1])


def estimate_median(values: Iterable[float]) -> tuple[float, float, float]:
    """Return the median and its 95 % bootstrap interval; for fewer than six values that is about their range."""
    known = np.array([each for each in values if not isnan(each)])
    if not len(known):
        return nan, nan, nan
    resampled = np.random.default_rng(0).choice(known, (10_000, len(known)))
    low, high = np.quantile(np.median(resampled, axis=1), (0.025, 0.975), method="inverted_cdf")
    return float(np.median(known)), float(low), float(high)


def format_median(values: Iterable[float], digits: int = 4) -> str:
    """Return a text with the median and its interval."""
    middle, low, high = estimate_median(values)
    return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def format_times(values: Sequence[float]) -> str:
    """Return a text with the median of times, which may be infinite, and the number of finite ones."""
    reached = sum(each < inf for each in values)
    middle = median(values)
    return f"{'never' if middle == inf else f'{middle:.1f} s'} ({reached} of {len(values)})"


def add_search_options(options: argparse.ArgumentParser, limit: str) -> None:
    """Add the options of scripts that search on data."""
    options.add_argument("datasets", type=Path, help="folder of the data sets")
    options.add_argument("--trials", type=int, help="maximum number of trials of a run")
    options.add_argument("--trial-limit", default=limit, help="limits on the time and memory of a trial")
    options.add_argument(
        "--workers", type=int, default=1, help="number of workers; 0: trials run in this process, without limits"
    )


def get_search_options(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `search` that the command line sets."""
    limit = chosen.trial_limit if chosen.workers else None
    return {"time": chosen.seconds, "trials": chosen.trials, "trial_limit": limit, "workers": chosen.workers}


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows to a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
