"""The results of a comparison: every run, and medians, quartiles, ranks and their intervals over all runs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from spacelang.bench.comparison.bootstrap import RankEstimates, Resampling, choose_resampling, estimate_ranks
from spacelang.bench.comparison.curves import Array, Curve, logarithmic_times, loss_before_first_score, sample_curves
from spacelang.bench.comparison.ranks import TOLERANCE, LeadInterval, Ranking, lead_intervals, leaders_by_column
from spacelang.ir.trial import TestScore

QUARTILES: Final = (0.25, 0.5, 0.75)
"""The lower quartile, the median and the upper quartile, with linear interpolation."""


class IncumbentCandidates(StrEnum):
    """The models that an incumbent is chosen from."""

    FULL = "full"
    """Only models trained on all training rows."""
    ANY = "any"
    """All trained models, on any number of rows."""


MODEL_LABELS: Final = {
    IncumbentCandidates.FULL: "models trained on all training rows",
    IncumbentCandidates.ANY: "any trained model",
}
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
class WinnerScore:
    """The score of a run's winner on test rows, and the loss that it `reported` as a trial."""

    score: TestScore
    reported: float


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run: its incumbents over time, and its effort.

    `reason` says why it has no score, and is empty if it has one. `winner_score` is the score of its winner at the end,
    if there is a winner and there are test rows.
    """

    key: RunKey
    curves: Mapping[IncumbentCandidates, Curve]
    trials: int
    failed: int
    seconds: float
    ended: str
    reason: str = ""
    winner_score: WinnerScore | None = None


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
    def from_runs(
        space: str,
        data: tuple[str, ...],
        optimizers: tuple[str, ...],
        seeds: tuple[int, ...],
        runs: tuple[RunResult, ...],
        formulas: Mapping[str, str],
        end: float,
    ) -> "Results":
        """Return the results at logarithmic times, from the first score of any run to `end`."""
        seconds = logarithmic_times((run.curves[IncumbentCandidates.ANY] for run in runs), end)
        return Results(space, data, optimizers, seeds, runs, formulas, seconds)

    def at_times(self, *seconds: float) -> "Results":
        """Return the same runs at other times."""
        return replace(self, seconds=np.array(seconds))

    @property
    def end(self) -> float:
        """The last time."""
        return float(self.seconds[-1])

    @cached_property
    def losses_before_first_score(self) -> Array:
        """The loss that counts before the first score, for each data set."""
        by_data = [[curve for run in self._runs_on(name) for curve in run.curves.values()] for name in self.data]
        return np.array([loss_before_first_score(curves) for curves in by_data])

    @cached_property
    def losses(self) -> Mapping[IncumbentCandidates, Array]:
        """The losses of the incumbents, of shape (data, optimizers, seeds, times)."""
        return {models: self._sample_losses(models) for models in IncumbentCandidates}

    @cached_property
    def quartiles(self) -> Mapping[IncumbentCandidates, Array]:
        """The lower quartile, median and upper quartile over seeds, of shape (3, data, optimizers, times)."""
        return {models: np.quantile(losses, QUARTILES, axis=2) for models, losses in self.losses.items()}

    @property
    def resampling(self) -> Resampling | None:
        """The bootstrap behind the intervals, or None if there are too few data sets and seeds."""
        return choose_resampling(len(self.data), len(self.seeds))

    @cached_property
    def rank_estimates(self) -> Mapping[Ranking, Mapping[IncumbentCandidates, RankEstimates]]:
        """The average ranks and pairwise rank differences, by ranking and by kind of incumbent.

        They are averages over all data, with confidence intervals. The differences are in the order of `pairs`.
        """
        return {
            ranking: {
                models: estimate_ranks(self.losses[models], ranking, self.tolerance, self.resampling)
                for models in IncumbentCandidates
            }
            for ranking in Ranking
        }

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All pairs of optimizers."""
        return tuple(combinations(self.optimizers, 2))

    @property
    def averaged_over(self) -> str:
        """A phrase that says what averages are over: `4 data sets and 10 seeds`."""
        return f"{with_count(len(self.data), 'data set')} and {with_count(len(self.seeds), 'seed')}"

    def leaders_by_rank(
        self, models: IncumbentCandidates, ranking: Ranking = Ranking.MEAN_LOSSES
    ) -> tuple[LeadInterval, ...]:
        """Return who had the smallest average rank over all data, and when."""
        scored = np.any(self.losses[models] < self.losses_before_first_score[:, None, None, None], axis=(0, 1, 2))
        return self._lead_intervals(self.rank_estimates[ranking][models].ranks.value, 0.0, scored)

    def leaders_beyond_noise(self, pair: tuple[str, str], models: IncumbentCandidates) -> tuple[LeadInterval, ...]:
        """Return which of two has the smaller average rank of mean losses, and when; nobody if it is within noise."""
        differences = self.rank_estimates[Ranking.MEAN_LOSSES][models].differences
        row = self.pairs.index(pair)
        first, second = pair
        ahead = [(first,) if value < 0 else (second,) for value in differences.value[row]]
        noise = differences.within_noise[row]
        return lead_intervals(self.seconds, [() if known else names for names, known in zip(ahead, noise, strict=True)])

    def leaders_by_median(self, data: str, models: IncumbentCandidates) -> tuple[LeadInterval, ...]:
        """Return whose median was within the tolerance of the smallest one on a data set, and when."""
        place = self.data.index(data)
        medians = self.quartiles[models][1, place]
        return self._lead_intervals(
            medians, self.tolerance, np.any(medians < self.losses_before_first_score[place], axis=0)
        )

    def _runs_on(self, data: str) -> list[RunResult]:
        return [run for run in self.runs if run.key.data == data]

    def _sample_losses(self, models: IncumbentCandidates) -> Array:
        by_key = {run.key: run.curves[models] for run in self.runs}
        found = np.empty((len(self.data), len(self.optimizers), len(self.seeds), len(self.seconds)))
        for place, data in enumerate(self.data):
            for row, optimizer in enumerate(self.optimizers):
                curves = [by_key[RunKey(data, optimizer, seed)] for seed in self.seeds]
                found[place, row] = sample_curves(curves, self.seconds, float(self.losses_before_first_score[place]))
        return found

    def _lead_intervals(
        self, values: Array, tolerance: float, scored: npt.NDArray[np.bool_]
    ) -> tuple[LeadInterval, ...]:
        ahead = leaders_by_column(values, self.optimizers, tolerance)
        return lead_intervals(
            self.seconds, [names if known else () for names, known in zip(ahead, scored, strict=True)]
        )


def with_count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
