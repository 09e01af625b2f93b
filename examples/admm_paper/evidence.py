"""What the scripts of this folder share: runs that are kept, each in a file of its own, and what is said of several."""

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
from contests import several

import spacelang as sl
from spacelang.runtime.history import Record
from spacelang.runtime.storing.store import Store
from spacelang.runtime.storing.stored import RunState
from spacelang.runtime.storing.stored_run import StoredRun

T = TypeVar("T")

VARIANTS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "jopt": ("jopt", {}),
    "AdADMM-F16(BO,Ba)": ("admm", {"preset": "adadmm_f16_bo_ba"}),
    "AdADMM-F16(BO,BO)": ("admm", {"preset": "adadmm_f16_bo_bo"}),
    "ADMM16(BO,Ba)": ("admm", {"preset": "admm16_bo_ba"}),
    "ADMM128(BO,Ba)": ("admm", {"preset": "admm128_bo_ba"}),
    "random": ("random", {}),
}
"""By the paper's names: an optimizer and its options. `random` is ours."""

BASE: Final = "jopt"


@dataclass(frozen=True, slots=True)
class Wish:
    """A run: a variant with a seed on a space, and all else that `search` is told; `label` begins its file's name."""

    variant: str
    seed: int
    space: str | Path
    label: str = ""
    data: Path | None = None
    rows: tuple[int, int] | None = None
    """Of the data: so many are searched on, and so many others tested on; None where the search sets some apart."""
    options: Mapping[str, Any] = field(default_factory=dict)

    def store(self, folder: Path) -> Path:
        """Where the run is kept."""
        optimizer, given = VARIANTS[self.variant]
        parts = (self.label, optimizer, given.get("preset", "default"), str(self.seed))
        return folder / f"{'-'.join(filter(None, parts))}.db"

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The data, and what `search` is told of the optimizer and by `options`."""
        optimizer, given = VARIANTS[self.variant]
        told = {"optimizer": optimizer, "optimizer_options": given, "seed": self.seed, **self.options}
        if self.data is None:
            return told
        table = pd.read_csv(self.data)
        if self.rows is None:
            return {"features": table.drop(columns="target"), "target": table["target"], **told}
        searched, tested = self.rows
        drawn = table.sample(searched + tested, random_state=self.seed)
        parts = drawn.iloc[:searched], drawn.iloc[searched:]
        (features, target), test = ((part.drop(columns="target"), part["target"]) for part in parts)
        return {"features": features, "target": target, "test": test, **told}


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a run: the best loss after some seconds, how many trials, and the loss on rows that none saw."""

    curve: tuple[tuple[float, float], ...]
    trials: int
    failed: int
    iterations: int
    """At least so many of ADMM were whole; 0 of another optimizer."""
    test: float = nan
    test_low: float = nan
    test_high: float = nan

    @classmethod
    def of(cls, run: StoredRun) -> "Run":
        """What is of interest of a run that is kept."""
        trials = list(run.records())
        score = None if run.test is None else run.test.score
        scores = () if score is None else (score.loss, score.low, score.high)
        return cls(
            tuple(curve(trials)),
            len(trials),
            sum(each.trial.loss is None for each in trials),
            iterations(trials),
            *(nan if each is None else each for each in scores),
        )

    @property
    def loss(self) -> float:
        """The best one; infinity where no trial succeeded."""
        return self.curve[-1][1] if self.curve else inf

    def reaches(self, loss: float) -> float:
        """After how many seconds it was at most that; infinity if never."""
        return next((seconds for seconds, found in self.curve if found <= loss), inf)

    def after(self, seconds: float) -> float:
        """The best loss after some seconds; 1 before there is any, as the paper has it."""
        return next((loss for until, loss in reversed(self.curve) if until <= seconds), 1.0)


def faster(own: Sequence[Run], base: Sequence[Run]) -> list[float]:
    """How many times as fast the best loss of the base is reached, pair by pair; 0 where it is not."""
    return [
        other.reaches(other.loss) / each.reaches(other.loss) if other.curve else nan
        for each, other in zip(own, base, strict=True)
    ]


def better(own: Sequence[Run], base: Sequence[Run]) -> list[float]:
    """By how many per cent losses are smaller in the end, pair by pair."""
    return [
        100 * (other.loss - each.loss) / other.loss if 0 < other.loss < inf else nan
        for each, other in zip(own, base, strict=True)
    ]


def curve(trials: Iterable[Record]) -> Iterator[tuple[float, float]]:
    """After how many seconds which loss was the best of those that keep to all bounds."""
    best = inf
    for each in trials:
        loss = each.trial.loss
        if loss is not None and each.trial.is_feasible and loss < best:
            best = loss
            yield each.finished, best


def iterations(trials: Iterable[Record]) -> int:
    """At least so many iterations of ADMM were whole: how often a trial that tunes comes after one that selects.

    One that tunes remembers a point of the unit cube, which is floats; one that selects a pipeline, or nothing. Turns
    that evaluate nothing new leave no trial, so that there may have been more.
    """
    tunes = (any(isinstance(each, float) for each in record.trial.request.memo) for record in trials)
    return sum(now and not before for before, now in pairwise(tunes))


def made(wishes: Sequence[Wish], read: Callable[[StoredRun], T], folder: Path, jobs: int) -> list[T]:
    """What `read` makes of each run, so many at a time; what is in the folder already is not made again."""
    folder.mkdir(parents=True, exist_ok=True)
    return several(partial(_made, read=read, folder=folder), wishes, jobs)


def _made(wish: Wish, read: Callable[[StoredRun], T], folder: Path) -> T:
    store = wish.store(folder)
    if not is_made(store, wish.options):
        # Where no trial succeeds, that is what became of the run.
        with suppress(sl.NoSuccessError):
            sl.search(wish.space, store=store, resume=store.exists(), **wish.arguments)
    with Store.read(store) as run:
        return read(run)


def is_made(store: Path, budget: Mapping[str, Any]) -> bool:
    """Whether a run is kept that has had its `time` or its `trials`: it is read and not replayed."""
    if not store.exists():
        return False
    with Store.read(store) as run:
        most = budget.get("time") or inf, budget.get("trials") or inf
        return run.state is RunState.FINISHED and (run.seconds >= most[0] or run.count >= most[1])


def interval(values: Iterable[float]) -> tuple[float, float, float]:
    """Their median, and its 95 % interval by bootstrap: of less than six values that is about their range."""
    given = np.array([each for each in values if not isnan(each)])
    if not len(given):
        return nan, nan, nan
    drawn = np.random.default_rng(0).choice(given, (10_000, len(given)))
    low, high = np.quantile(np.median(drawn, axis=1), (0.025, 0.975), method="inverted_cdf")
    return float(np.median(given)), float(low), float(high)


def shown(values: Iterable[float], digits: int = 4) -> str:
    """Their median with its interval."""
    middle, low, high = interval(values)
    return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def seconds_shown(values: Sequence[float]) -> str:
    """The median of times that may be never, and how many are not."""
    reached = sum(each < inf for each in values)
    middle = median(values)
    return f"{'never' if middle == inf else f'{middle:.1f} s'} ({reached} of {len(values)})"


def limited(options: argparse.ArgumentParser, limit: str) -> None:
    """The further options of scripts that search on data."""
    options.add_argument("datasets", type=Path, help="the folder of the data sets")
    options.add_argument("--trials", type=int, help="the most of each run")
    options.add_argument("--trial-limit", default=limit, help="what a trial may take")
    options.add_argument("--workers", type=int, default=1, help="0: trials run where the search does, without a limit")


def budget(chosen: argparse.Namespace) -> dict[str, Any]:
    """What `search` is told of these."""
    limit = chosen.trial_limit if chosen.workers else None
    return {"time": chosen.seconds, "trials": chosen.trials, "trial_limit": limit, "workers": chosen.workers}


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """One row a run, as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
