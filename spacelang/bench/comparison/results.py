"""What a comparison found: every run, the medians, quartiles and ranks over all of them, and what may be chance."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from spacelang.bench.comparison.curves import Array, Curve, loss_before, sampled, times
from spacelang.bench.comparison.noise import RankEstimates, Resampling, ranked, resampling
from spacelang.bench.comparison.ranks import TOLERANCE, Lead, Ranking, ahead_by, intervals
from spacelang.ir.trial import TestScore

QUARTILES: Final = (0.25, 0.5, 0.75)
"""The lower quartile, the median and the upper quartile, with linear interpolation."""


class Models(StrEnum):
    """From which models an incumbent is chosen."""

    FULL = "full"
    """Those trained on all training rows."""
    ANY = "any"
    """Any trained model, on however few rows."""


MODELS: Final = {Models.FULL: "models trained on all training rows", Models.ANY: "any trained model"}
"""What the two kinds of incumbents are called."""


@dataclass(frozen=True, slots=True)
class RunKey:
    """Which run of a comparison it is: its data, the label of its optimizer, its seed."""

    data: str
    optimizer: str
    seed: int

    def __str__(self) -> str:
        return f"{self.data}, {self.optimizer}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class OnTestRows:
    """The winner of a run on rows that no trial saw, and the loss that it `reported` as a trial."""

    score: TestScore
    reported: float


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run: its incumbent over time by the models that count, and the effort.

    `reason` says why it has no score at all; it is empty where it has one. `tested` is its winner at the end, where
    there is one and rows were kept for it.
    """

    key: RunKey
    curves: Mapping[Models, Curve]
    trials: int
    failed: int
    seconds: float
    ended: str
    reason: str = ""
    tested: OnTestRows | None = None


@dataclass(frozen=True, eq=False)
class Results:
    """The runs of all optimizers on all data with all seeds, each exactly once, told at the times `seconds`.

    `formulas` say by data what the loss is. There is at least one run and one time, and times ascend. The axes of
    arrays are data, optimizer, seed and time, as far as they are not reduced, in the orders of the fields.
    """

    space: str
    data: tuple[str, ...]
    optimizers: tuple[str, ...]
    seeds: tuple[int, ...]
    runs: tuple[RunResult, ...]
    formulas: Mapping[str, str]
    seconds: Array
    tolerance: float = TOLERANCE

    @staticmethod
    def over_time(
        space: str,
        data: tuple[str, ...],
        optimizers: tuple[str, ...],
        seeds: tuple[int, ...],
        runs: tuple[RunResult, ...],
        formulas: Mapping[str, str],
        end: float,
    ) -> "Results":
        """Told at logarithmic times from the first score of any run to `end`."""
        seconds = times((run.curves[Models.ANY] for run in runs), end)
        return Results(space, data, optimizers, seeds, runs, formulas, seconds)

    def at(self, *seconds: float) -> "Results":
        """The same runs, told at these times."""
        return replace(self, seconds=np.array(seconds))

    @property
    def end(self) -> float:
        """The last time at which the comparison is told."""
        return float(self.seconds[-1])

    @cached_property
    def before(self) -> Array:
        """The loss that counts before the first score, for each data set."""
        by_data = [[curve for run in self._on(name) for curve in run.curves.values()] for name in self.data]
        return np.array([loss_before(curves) for curves in by_data])

    @cached_property
    def losses(self) -> Mapping[Models, Array]:
        """The losses of the incumbents: data x optimizers x seeds x times."""
        return {models: self._sampled(models) for models in Models}

    @cached_property
    def quartiles(self) -> Mapping[Models, Array]:
        """The lower quartile, the median and the upper quartile over the seeds: 3 x data x optimizers x times."""
        return {models: np.quantile(losses, QUARTILES, axis=2) for models, losses in self.losses.items()}

    @property
    def resampling(self) -> Resampling | None:
        """Over what intervals are; None where none can be had."""
        return resampling(len(self.data), len(self.seeds))

    @cached_property
    def ranked(self) -> Mapping[Ranking, Mapping[Models, RankEstimates]]:
        """The average ranks over all data, and their differences within `pairs`, both with their intervals."""
        return {
            ranking: {
                models: ranked(self.losses[models], ranking, self.tolerance, self.resampling) for models in Models
            }
            for ranking in Ranking
        }

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Every two optimizers, once."""
        return tuple(combinations(self.optimizers, 2))

    @property
    def over(self) -> str:
        """Over what averages are: `4 data sets and 10 seeds`."""
        return f"{counted(len(self.data), 'data set')} and {counted(len(self.seeds), 'seed')}"

    def ahead(self, models: Models, ranking: Ranking = Ranking.MEAN_LOSSES) -> tuple[Lead, ...]:
        """Who had the smallest average rank over all data, and when."""
        scored = np.any(self.losses[models] < self.before[:, None, None, None], axis=(0, 1, 2))
        return self._intervals(self.ranked[ranking][models].ranks.value, 0.0, scored)

    def apart(self, pair: tuple[str, str], models: Models) -> tuple[Lead, ...]:
        """Which of two has the smaller average rank of mean losses, and when: nobody where that is within noise."""
        differences = self.ranked[Ranking.MEAN_LOSSES][models].differences
        row = self.pairs.index(pair)
        first, second = pair
        ahead = [(first,) if value < 0 else (second,) for value in differences.value[row]]
        noise = differences.within_noise[row]
        return intervals(self.seconds, [() if known else names for names, known in zip(ahead, noise, strict=True)])

    def ahead_on(self, data: str, models: Models) -> tuple[Lead, ...]:
        """Whose median was the smallest on some data, and when; who is within the tolerance of it is ahead, too."""
        place = self.data.index(data)
        medians = self.quartiles[models][1, place]
        return self._intervals(medians, self.tolerance, np.any(medians < self.before[place], axis=0))

    def _on(self, data: str) -> list[RunResult]:
        return [run for run in self.runs if run.key.data == data]

    def _sampled(self, models: Models) -> Array:
        by_key = {run.key: run.curves[models] for run in self.runs}
        found = np.empty((len(self.data), len(self.optimizers), len(self.seeds), len(self.seconds)))
        for place, data in enumerate(self.data):
            for row, optimizer in enumerate(self.optimizers):
                curves = [by_key[RunKey(data, optimizer, seed)] for seed in self.seeds]
                found[place, row] = sampled(curves, self.seconds, float(self.before[place]))
        return found

    def _intervals(self, values: Array, tolerance: float, scored: npt.NDArray[np.bool_]) -> tuple[Lead, ...]:
        ahead = ahead_by(values, self.optimizers, tolerance)
        return intervals(self.seconds, [names if known else () for names, known in zip(ahead, scored, strict=True)])


def counted(number: int, noun: str) -> str:
    """So many of something, in words."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
