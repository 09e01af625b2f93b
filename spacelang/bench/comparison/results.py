"""The results of a comparison: every run, and medians, quartiles, ranks and their intervals over all runs."""

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
    """The models that an incumbent is chosen from."""

    FULL = "full"
    """Only models trained on all training rows."""
    ANY = "any"
    """All trained models, on any number of rows."""


MODELS: Final = {Models.FULL: "models trained on all training rows", Models.ANY: "any trained model"}
"""Labels of the two kinds of incumbents."""


@dataclass(frozen=True, slots=True)
class RunKey:
    """The key of a run in a comparison: its data, the label of its optimizer, its seed."""

    data: str
    optimizer: str
    seed: int

    def __str__(self) -> str:
        return f"{self.data}, {self.optimizer}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class OnTestRows:
    """The score of a run's winner on test rows, and the loss that it `reported` as a trial."""

    score: TestScore
    reported: float


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run: its incumbents over time, and its effort.

    `reason` says why it has no score, and is empty if it has one. `tested` is the score of its winner at the end, if
    there is a winner and there are test rows.
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
    """The runs of all optimizers on all data with all seeds, each exactly once, sampled at the times `seconds`.

    `formulas` has the formula of the loss by data. There is at least one run and one time, and times ascend. Arrays
    have the axes data, optimizer, seed, time, in the order of the fields, except those that are reduced.
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
        """Return the results at logarithmic times, from the first score of any run to `end`."""
        seconds = times((run.curves[Models.ANY] for run in runs), end)
        return Results(space, data, optimizers, seeds, runs, formulas, seconds)

    def at(self, *seconds: float) -> "Results":
        """Return the same runs at other times."""
        return replace(self, seconds=np.array(seconds))

    @property
    def end(self) -> float:
        """The last time."""
        return float(self.seconds[-1])

    @cached_property
    def before(self) -> Array:
        """The loss that counts before the first score, for each data set."""
        by_data = [[curve for run in self._on(name) for curve in run.curves.values()] for name in self.data]
        return np.array([loss_before(curves) for curves in by_data])

    @cached_property
    def losses(self) -> Mapping[Models, Array]:
        """The losses of the incumbents, of shape (data, optimizers, seeds, times)."""
        return {models: self._sampled(models) for models in Models}

    @cached_property
    def quartiles(self) -> Mapping[Models, Array]:
        """The lower quartile, median and upper quartile over seeds, of shape (3, data, optimizers, times)."""
        return {models: np.quantile(losses, QUARTILES, axis=2) for models, losses in self.losses.items()}

    @property
    def resampling(self) -> Resampling | None:
        """The bootstrap behind the intervals, or None if there are too few data sets and seeds."""
        return resampling(len(self.data), len(self.seeds))

    @cached_property
    def ranked(self) -> Mapping[Ranking, Mapping[Models, RankEstimates]]:
        """The average ranks over all data and their differences within `pairs`, with intervals."""
        return {
            ranking: {
                models: ranked(self.losses[models], ranking, self.tolerance, self.resampling) for models in Models
            }
            for ranking in Ranking
        }

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All pairs of optimizers."""
        return tuple(combinations(self.optimizers, 2))

    @property
    def over(self) -> str:
        """A phrase that says what averages are over: `4 data sets and 10 seeds`."""
        return f"{counted(len(self.data), 'data set')} and {counted(len(self.seeds), 'seed')}"

    def ahead(self, models: Models, ranking: Ranking = Ranking.MEAN_LOSSES) -> tuple[Lead, ...]:
        """Return who had the smallest average rank over all data, and when."""
        scored = np.any(self.losses[models] < self.before[:, None, None, None], axis=(0, 1, 2))
        return self._intervals(self.ranked[ranking][models].ranks.value, 0.0, scored)

    def apart(self, pair: tuple[str, str], models: Models) -> tuple[Lead, ...]:
        """Return which of two has the smaller average rank of mean losses, and when; nobody if it is within noise."""
        differences = self.ranked[Ranking.MEAN_LOSSES][models].differences
        row = self.pairs.index(pair)
        first, second = pair
        ahead = [(first,) if value < 0 else (second,) for value in differences.value[row]]
        noise = differences.within_noise[row]
        return intervals(self.seconds, [() if known else names for names, known in zip(ahead, noise, strict=True)])

    def ahead_on(self, data: str, models: Models) -> tuple[Lead, ...]:
        """Return whose median was within the tolerance of the smallest one on a data set, and when."""
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
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
