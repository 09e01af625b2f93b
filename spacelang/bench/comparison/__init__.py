"""Results of comparisons: incumbents over time, ranks and leaders; as tables, text, JSON and plots."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import combinations, product, starmap
from math import inf, nan
from typing import Final

import numpy as np
import numpy.typing as npt

from spacelang.bench.comparison import ranks
from spacelang.ir.trial import TestScore
from spacelang.text import count_with_noun

QUARTILES: Final = (0.25, 0.5, 0.75)  # The lower quartile, the median and the upper quartile, with linear interpolation


@dataclass(frozen=True, slots=True)
class IncumbentCurve:
    """The loss of an incumbent over time: `losses[i]` from `seconds[i]` until the next entry; empty without a score.

    Both tuples have the same length. `seconds` ascend and `losses` descend.
    """

    seconds: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()


class IncumbentKind(StrEnum):
    """A kind of incumbent: the models that it is chosen from."""

    FULL = "full"  # Only models trained on all training rows
    ANY = "any"  # All trained models, on any number of rows


MODEL_LABELS: Final = {
    IncumbentKind.FULL: "models trained on all training rows",
    IncumbentKind.ANY: "all trained models",
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
    """The result of a run: a curve of losses for each kind of incumbent, and what the run cost.

    `reason` says why it has no score, if it has none; `winner_score` is None without a winner or test rows.
    """

    key: RunKey
    curves: Mapping[IncumbentKind, IncumbentCurve]
    trials: int
    failed: int
    seconds: float
    ended: str
    reason: str = ""
    winner_score: WinnerScore | None = None


@dataclass(frozen=True, eq=False)
class ComparisonResults:
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
    seconds: ranks.Array
    tolerance: float = ranks.TOLERANCE

    @staticmethod
    def from_runs(
        space: str,
        data: tuple[str, ...],
        optimizers: tuple[str, ...],
        seeds: tuple[int, ...],
        runs: tuple[RunResult, ...],
        formulas: Mapping[str, str],
        end: float,
    ) -> "ComparisonResults":
        """Return the results at logarithmic times, from the first score of any run to `end`."""
        seconds = logarithmic_times((run.curves[IncumbentKind.ANY] for run in runs), end)
        return ComparisonResults(space, data, optimizers, seeds, runs, formulas, seconds)

    def at_times(self, *seconds: float) -> "ComparisonResults":
        """Return the results of the same runs, sampled at the times `seconds`."""
        return replace(self, seconds=np.array(seconds))

    @property
    def end_seconds(self) -> float:
        """The last time."""
        return float(self.seconds[-1])

    @cached_property
    def losses_before_first_score(self) -> ranks.Array:
        """The loss that each data set assumes for a run before its first score, of shape (data,)."""
        by_data: dict[str, list[IncumbentCurve]] = {name: [] for name in self.data}
        for run in self.runs:
            by_data[run.key.data] += run.curves.values()
        return np.array([loss_before_first_score(curves) for curves in by_data.values()])

    @cached_property
    def losses(self) -> Mapping[IncumbentKind, ranks.Array]:
        """The losses of the incumbents, of shape (data, optimizers, seeds, times)."""
        by_key, befores = {run.key: run.curves for run in self.runs}, self.losses_before_first_score.tolist()
        found = {}
        for models in IncumbentKind:
            sampled = [
                losses_at_times([by_key[RunKey(data, name, seed)][models] for seed in self.seeds], self.seconds, before)
                for data, before in zip(self.data, befores, strict=True)
                for name in self.optimizers
            ]
            found[models] = np.array(sampled).reshape(len(self.data), len(self.optimizers), *sampled[0].shape)
        return found

    @cached_property
    def has_scores(self) -> Mapping[IncumbentKind, npt.NDArray[np.bool_]]:
        """True where at least one run of an optimizer has a score, of shape (data, optimizers, times)."""
        shape = len(self.data), len(self.optimizers), len(self.seconds)
        found = {models: np.zeros(shape, dtype=np.bool_) for models in IncumbentKind}
        for run in self.runs:
            place = self.data.index(run.key.data), self.optimizers.index(run.key.optimizer)
            for models, curve in run.curves.items():
                if curve.seconds:
                    found[models][place] |= self.seconds >= curve.seconds[0]
        return found

    @cached_property
    def quartiles(self) -> Mapping[IncumbentKind, ranks.Array]:
        """Lower quartile, median and upper quartile of the losses over seeds, of shape (3, data, optimizers, times)."""
        return {models: np.quantile(losses, QUARTILES, axis=2) for models, losses in self.losses.items()}

    @property
    def resampling(self) -> ranks.BootstrapScheme | None:
        """The bootstrap behind the intervals, or None if there are too few data sets and seeds."""
        return ranks.choose_bootstrap(len(self.data), len(self.seeds))

    @cached_property
    def rank_estimates(self) -> Mapping[ranks.RankingMethod, Mapping[IncumbentKind, ranks.RankEstimates]]:
        """The average ranks and pairwise rank differences, by ranking and by kind of incumbent.

        They are averages over all data, with confidence intervals. The differences are in the order of `pairs`.
        """
        return {
            ranking: {
                models: ranks.estimate_ranks(self.losses[models], ranking, self.tolerance, self.resampling)
                for models in IncumbentKind
            }
            for ranking in ranks.RankingMethod
        }

    @property
    def optimizer_pairs(self) -> tuple[tuple[str, str], ...]:
        """All pairs of different optimizers, in the order of `itertools.combinations`."""
        return tuple(combinations(self.optimizers, 2))

    @property
    def averaging_phrase(self) -> str:
        """A phrase that says what averages are over: `4 data sets and 10 seeds`."""
        return f"{count_with_noun(len(self.data), 'data set')} and {count_with_noun(len(self.seeds), 'seed')}"

    def leaders_by_rank(
        self, models: IncumbentKind, ranking: ranks.RankingMethod = ranks.RankingMethod.MEAN_LOSSES
    ) -> tuple[ranks.LeadInterval, ...]:
        """Return intervals of time with the optimizers that have the smallest average rank over all data in them."""
        scored = np.any(self.losses[models] < self.losses_before_first_score[:, None, None, None], axis=(0, 1, 2))
        return self._lead_intervals(self.rank_estimates[ranking][models].ranks.value, 0.0, scored)

    def leaders_beyond_noise(self, pair: tuple[str, str], models: IncumbentKind) -> tuple[ranks.LeadInterval, ...]:
        """Return intervals of time with the one of two optimizers that has the smaller average rank of mean losses.

        Neither leads while the difference of their ranks is within noise.
        """
        differences = self.rank_estimates[ranks.RankingMethod.MEAN_LOSSES][models].differences
        row = self.optimizer_pairs.index(pair)
        first, second = pair
        ahead = [(first,) if value < 0 else (second,) for value in differences.value[row]]
        noise = differences.is_within_noise[row]
        return ranks.lead_intervals(
            self.seconds, [() if known else names for names, known in zip(ahead, noise, strict=True)]
        )

    def leaders_by_median(self, data: str, models: IncumbentKind) -> tuple[ranks.LeadInterval, ...]:
        """Return intervals of time with the optimizers that lead on a data set in them.

        These are those whose median loss is within the tolerance of the smallest median.
        """
        place = self.data.index(data)
        medians = self.quartiles[models][1, place]
        scored = np.any(medians < self.losses_before_first_score[place], axis=0)
        return self._lead_intervals(medians, self.tolerance, scored)

    def _lead_intervals(
        self, values: ranks.Array, tolerance: float, scored: npt.NDArray[np.bool_]
    ) -> tuple[ranks.LeadInterval, ...]:
        ahead = zip(ranks.leaders_by_column(values, self.optimizers, tolerance), scored, strict=True)
        return ranks.lead_intervals(self.seconds, [names if known else () for names, known in ahead])


@dataclass(frozen=True, slots=True, eq=False)
class WinnerLosses:
    """The losses of winners on test rows, of shape (data, optimizers), with intervals over seeds.

    `reported` are the losses of the same winners as trials. `optimism` is the loss on test rows minus the reported
    loss. `reported` and `optimism` are means over the runs that have a winner, NaN if none has. `rank_estimates` has a
    single time, the end.
    """

    losses: ranks.IntervalEstimate
    reported: ranks.Array
    optimism: ranks.Array
    rank_estimates: Mapping[ranks.RankingMethod, ranks.RankEstimates]


def winner_losses(results: ComparisonResults) -> WinnerLosses | None:
    """Return the losses of winners on rows that no trial saw, or None if there are no such rows.

    A run without a winner counts with the loss before a first score, or with that of the worst winner if greater.
    """
    if all(run.winner_score is None for run in results.runs):
        return None
    found = _winner_values(results, lambda tested: tested.score.loss)
    reported = _winner_values(results, lambda tested: tested.reported)
    worst = np.fmax(results.losses_before_first_score, np.nanmax(found, axis=(1, 2), initial=-np.inf))
    losses = np.where(np.isnan(found), worst[:, None, None], found)
    return WinnerLosses(
        ranks.mean_over_seeds(losses),
        _mean_ignoring_nan(reported),
        _mean_ignoring_nan(found - reported),
        {
            ranking: ranks.estimate_ranks(losses[..., None], ranking, results.tolerance, results.resampling)
            for ranking in ranks.RankingMethod
        },
    )


def _winner_values(results: ComparisonResults, value_of: Callable[[WinnerScore], float | None]) -> ranks.Array:
    """Return `value_of` the score of every run's winner, of shape (data, optimizers, seeds); NaN without a winner."""
    by_key: dict[RunKey, RunResult] = {run.key: run for run in results.runs}
    keys = starmap(RunKey, product(results.data, results.optimizers, results.seeds))
    tested = (by_key[key].winner_score for key in keys)
    figures = [None if each is None else value_of(each) for each in tested]
    return np.array(figures, dtype=float).reshape(len(results.data), len(results.optimizers), len(results.seeds))


def _mean_ignoring_nan(figures: ranks.Array) -> ranks.Array:
    """Return means over the last axis that ignore NaN; NaN where all values are NaN."""
    known = ~np.isnan(figures)
    count = known.sum(axis=-1)
    total = np.where(known, figures, 0).sum(axis=-1)
    found: ranks.Array = np.divide(total, count, out=np.full(count.shape, nan), where=count > 0)
    return found


TIMESTAMPS: Final = 256  # The number of times at which a comparison is sampled, as in the protocol of the ADMM paper
LOSS_BEFORE_FIRST_SCORE: Final = 1.0  # The loss of a run before its first score, as in the protocol of the ADMM paper
DEFAULT_START_SHARE: Final = 1e-3  # The share of the time at which sampling starts if no score is suitable as its start
LATEST_START_SHARE: Final = 0.9  # The share of the time after which a first score is too late to start sampling there
SMALLEST_TIME: Final = 1e-6
"""The smallest time on a logarithmic axis, in seconds and as a share of the time; less counts as 0."""


def incumbent_curve(scores: Iterable[tuple[float, float]], until: float = inf) -> IncumbentCurve:
    """Return the curve of the smallest loss so far, from pairs (seconds, loss); pairs after `until` are ignored."""
    best, points = inf, []
    for seconds, loss in sorted(scores):
        if loss < best and seconds <= until:
            best = loss
            points.append((seconds, loss))
    return IncumbentCurve(tuple(seconds for seconds, _ in points), tuple(loss for _, loss in points))


def loss_before_first_score(curves: Iterable[IncumbentCurve]) -> float:
    """Return the loss assumed before a first score: 1, or the largest first loss if greater, so no curve rises."""
    return max([LOSS_BEFORE_FIRST_SCORE, *(curve.losses[0] for curve in curves if curve.losses)])


def logarithmic_times(curves: Iterable[IncumbentCurve], end: float) -> ranks.Array:
    """Return `TIMESTAMPS` logarithmically spaced times up to `end`.

    The first one is the time of the first score of any curve. If that is too close to 0 or to `end`, the first time is
    a fixed share of `end`.
    """
    first = min((curve.seconds[0] for curve in curves if curve.seconds), default=0.0)
    last = max(end, SMALLEST_TIME)
    is_usable = last * SMALLEST_TIME <= first <= last * LATEST_START_SHARE
    found: ranks.Array = np.geomspace(first if is_usable else last * DEFAULT_START_SHARE, last, TIMESTAMPS)
    return found


def losses_at_times(curves: Sequence[IncumbentCurve], seconds: ranks.Array, before: float) -> ranks.Array:
    """Return the loss of each curve at each time, shape (curves, times); `before` is used before its first score."""
    found = np.empty((len(curves), len(seconds)))
    for row, curve in zip(found, curves, strict=True):
        steps = np.array([before, *curve.losses])
        row[:] = steps[np.searchsorted(np.array(curve.seconds), seconds, side="right")]
    return found
