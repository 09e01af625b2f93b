"""The model of `auto`: candidates ranked by expected improvement per second, over structure and hyperparameters.

See spacelang/optimizers/README.md, section "AUTO: model".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.random import Generator, default_rng

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Trial
from spacelang.sampling.batch_builder import ConfigurationBatch
from spacelang.sampling.sampler import SamplingFailedError
from spacelang.sampling.value_codes import Array
from spacelang.surrogates import limit_to_one_thread
from spacelang.surrogates.forest import Forest
from spacelang.targets.mosaic import INACTIVE, StructuralTree

if TYPE_CHECKING:
    from spacelang.surrogates.gaussian_process import StandardisedGaussianProcess

ModelKind: TypeAlias = Literal["chosen", "forest", "gp", "none"]
MAX_GAUSSIAN_COLUMNS: Final = 30  # With more columns, `chosen` is a forest, otherwise a Gaussian process
DRAWS: Final = 1_000  # The number of random candidates of a model
KEPT_DRAWS: Final = 100  # So many of the best random candidates can be proposed
INCUMBENTS: Final = 3  # The number of best configurations, and of best draws, at which local searches start
STEPS: Final = 4  # The maximum number of steps of a local search
FIRST_DEVIATION: Final = 0.2
"""The standard deviation of the first step of a local search on the unit interval; each further one has half of it."""
TREES: Final = 50
FEATURES: Final = 0.7
MIN_SUCCESSES: Final = 4  # The minimum number of successful trials of a model
MODEL_SHARE: Final = 0.02  # The share of the seconds of trials that models may take
SECONDS: Final = 0.2  # The usual seconds of a new model with its candidates
SECONDS_PER_TRIAL: Final = 0.0006  # The usual growth of these seconds with each trial
GROWTH_DIVISOR: Final = 10  # Without times, a model is made anew after one trial more in `GROWTH_DIVISOR`
MIN_SECONDS: Final = 1e-6  # Fewer seconds of a trial count as these
LOSS_MARGIN: Final = 0.05
"""A forest predicts logarithms of distances from the best loss, plus this share of the distance of the median."""
MAX_DISTANCE: Final = 2.0
"""A Gaussian process predicts losses, at most so many distances of the median from the best loss above the median."""


class PosteriorModel(Protocol):
    """A fitted model of numbers."""

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """Return the mean and the standard deviation at m points, shape (m,) each."""


@dataclass(slots=True)
class ImprovementPerSecondModel:
    """A model of losses and one of costs, fitted to the trials on all rungs; it proposes configurations.

    Proposals are a function of the seed and of the recorded trials, so that a resumed search makes the same ones.
    """

    tree: StructuralTree
    seed: int
    kind: ModelKind
    has_time: bool = True
    """True if costs matter; otherwise candidates are ranked by expected improvement alone."""
    _features: list[Array] = field(default_factory=list)
    """The rows of the first configurations; those that no model has used yet are encoded together for the next one."""
    _losses: list[float | None] = field(default_factory=list)
    """The losses of all trials; None for one that failed or violates a bound."""
    _costs: list[float] = field(default_factory=list)
    _shares: list[float] = field(default_factory=list)
    """The logarithms of the shares of all rows, 0 for all of them."""
    _configurations: list[Configuration] = field(default_factory=list)
    _fitted: "_FittedTrials | None" = None
    _unused_seconds: float = 0.0
    """The seconds of the trials since the model was made anew."""
    _ranked: list[Configuration] | None = None
    """The candidates of the current model; None if they are not known yet."""

    def record(self, trial: Trial, row_share: float, first_row_share: float) -> None:
        """Add a finished trial on a share of all rows; new configurations will be trained on `first_row_share`."""
        self._configurations.append(trial.request.configuration)
        self._losses.append(trial.loss if trial.is_feasible else None)
        self._costs.append(max(trial.seconds_without_sharing, MIN_SECONDS))
        self._shares.append(float(np.log(row_share)))
        self._unused_seconds += trial.seconds_without_sharing
        if self._is_model_due():
            self._fitted = _FittedTrials(len(self._losses), float(np.log(first_row_share)))
            self._unused_seconds, self._ranked = 0.0, None

    @property
    def fitted_trial_count(self) -> int:
        """The number of trials to which the current model is fitted; 0 as long as there is no model."""
        return 0 if self._fitted is None else self._fitted.count

    def ranked_configurations(self) -> list[Configuration]:
        """Return candidates, the largest expected improvement per second first.

        The improvement is that on all rows, and the seconds are those on the share of rows of a first training.
        """
        if self._fitted is None:
            raise ValueError("there are not enough successful trials for a model")
        if self._ranked is None:
            with limit_to_one_thread():
                self._ranked = self._rank(self._fitted)
        return self._ranked

    def _is_model_due(self) -> bool:
        """Return True if a new model is to be fitted to the recorded trials.

        It needs `MIN_SUCCESSES` successes; the first model is then due at once. A later one is due if the share
        `MODEL_SHARE` of the unused seconds pays for it, or if there are twice as many trials as for the last one. A
        search without times (`has_time`) fits it after one more `GROWTH_DIVISOR`-th of these trials.
        """
        size = len(self._losses)
        if self.kind == "none" or sum(loss is not None for loss in self._losses) < MIN_SUCCESSES:
            return False
        if self._fitted is None:
            return True
        if not self.has_time:
            return size >= self._fitted.count + max(self._fitted.count // GROWTH_DIVISOR, 1)
        is_paid = self._unused_seconds * MODEL_SHARE >= SECONDS + SECONDS_PER_TRIAL * size
        return is_paid or size >= 2 * self._fitted.count

    def _rank(self, fitted: "_FittedTrials") -> list[Configuration]:
        size = fitted.count
        rng = default_rng([self.seed, size])
        self._features.extend(self.tree.surrogate_features(self._configurations[len(self._features) : size]))
        points = np.column_stack([np.array(self._features[:size]), self._shares[:size]])
        losses = self._fit(points, self._losses[:size], rng)
        costs = Forest(TREES // 2, FEATURES).fit(points, np.log(self._costs[:size]), rng) if self.has_time else None
        mean_cost = float(np.log(np.mean(self._costs[:size])))
        known = {each: row for row, each in enumerate(self._configurations[:size])}
        rows = np.fromiter(known.values(), int)
        at_all, _ = losses.posterior(_with_share(points[rows, :-1], 0.0))
        scoring = _Scoring(losses, costs, float(at_all.min()), mean_cost, fitted.first_share)
        distinct, draws = [*known], self._draws(rng)
        scores = scoring(self.tree.surrogate_features(draws))
        order = np.argsort(-scores, kind="stable").tolist()
        drawn = draws if isinstance(draws, list) else draws.configurations()
        new = ((drawn[place], float(scores[place])) for place in order if drawn[place] not in known)
        ranked: dict[Configuration, float] = {}
        while len(ranked) < KEPT_DRAWS and (following := next(new, None)) is not None:
            ranked.setdefault(*following)
        starts = [distinct[place] for place in np.argsort(at_all, kind="stable")[:INCUMBENTS].tolist()]
        ranked |= self._local_search([*starts, *islice(ranked, INCUMBENTS)], scoring, rng)
        return sorted((each for each in ranked if each not in known), key=lambda each: -ranked[each])

    def _local_search(
        self, starts: Sequence[Configuration], scoring: "_Scoring", rng: Generator
    ) -> dict[Configuration, float]:
        """Return the scores of the `starts` and of the points of a hill climb from each of them."""
        scores = scoring(self.tree.surrogate_features(starts))
        paths = [*zip(starts, scores.tolist(), strict=True)]
        found = dict(paths)
        for step in range(STEPS):
            deviation = FIRST_DEVIATION / 2**step
            around = [self.tree.neighbours(centre, (), rng, deviation) for centre, _ in paths]
            flat = [each for some in around for each in some]
            if not flat:
                break
            values = scoring(self.tree.surrogate_features(flat)).tolist()
            moved, start = [], 0
            for path, some in zip(paths, around, strict=True):
                own = values[start : start + len(some)]
                start += len(some)
                moved.append(max([path, *zip(some, own, strict=True)], key=lambda each: each[1]))
            found |= dict(moved)
            paths = [*dict(moved).items()]
        return found

    def _fit(self, points: Array, losses: Sequence[float | None], rng: Generator) -> PosteriorModel:
        is_small = len(self.tree.feature_names) <= MAX_GAUSSIAN_COLUMNS
        if self.kind == "forest" or (self.kind == "chosen" and not is_small):
            return Forest(TREES, FEATURES).fit(points, log_transform_losses(losses), rng)
        from spacelang.surrogates.gaussian_process import IncrementalGaussianProcess

        columns = [len(choice.branches) for choice in self.tree.decisions]
        encode = partial(encode_for_distances, columns)
        coded = encode(points)
        model = IncrementalGaussianProcess().fit(coded, clip_losses(losses), np.empty((0, coded.shape[1])))
        return _GaussianPosterior(encode, model)

    def _draws(self, rng: Generator) -> "ConfigurationBatch | list[Configuration]":
        try:
            return self.tree.sample((), DRAWS, rng)
        except SamplingFailedError:
            return [self.tree.default_completion(())]


@dataclass(frozen=True, slots=True)
class _FittedTrials:
    """The data of a fitted model: the number of trials, and the logarithm of the share of rows of a first training."""

    count: int
    first_share: float


def log_transform_losses(losses: Sequence[float | None]) -> Array:
    """Return log(loss - best + margin) for each loss; a failure (None) counts as the worst loss.

    The margin is `LOSS_MARGIN` times the distance of the median from the best loss.
    """
    filled, best, median = _fill_failures(losses)
    margin = LOSS_MARGIN * (median - best) or abs(best) * 1e-9 or 1e-12
    return np.asarray(np.log(filled - best + margin))


def clip_losses(losses: Sequence[float | None]) -> Array:
    """Return losses, at most median + `MAX_DISTANCE` * (median - best); a failure (None) counts as the worst loss.

    The logarithm of `log_transform_losses` is not used for a Gaussian process: near the best loss, it would make noise
    larger than the differences that the process has to learn.
    """
    filled, best, median = _fill_failures(losses)
    return np.minimum(filled, median + MAX_DISTANCE * (median - best)) if median > best else filled


def _fill_failures(losses: Sequence[float | None]) -> tuple[Array, float, float]:
    """Return three results: the losses, with the worst one for failures, then the best loss, then their median.

    The median is that of the successes alone.
    """
    known = np.array([loss for loss in losses if loss is not None])
    filled = np.array([known.max() if loss is None else loss for loss in losses])
    return filled, float(known.min()), float(np.median(known))


@dataclass(frozen=True, slots=True)
class _Scoring:
    losses: PosteriorModel
    costs: PosteriorModel | None
    best: float
    mean_cost: float
    """The logarithm of the mean cost of a trial; smaller costs count as it, so that being cheap is no merit."""
    share: float

    def __call__(self, features: Array) -> Array:
        from spacelang.surrogates.gaussian_process import log_expected_improvement

        mean, deviation = self.losses.posterior(_with_share(features, 0.0))
        improvement = log_expected_improvement(self.best, mean, deviation)
        if self.costs is None:
            return improvement
        cost, _ = self.costs.posterior(_with_share(features, self.share))
        return np.asarray(improvement - np.maximum(cost, self.mean_cost))


def _with_share(features: Array, share: float) -> Array:
    return np.column_stack([features, np.full(len(features), share)])


def encode_for_distances(branches: Sequence[int], points: Array) -> Array:
    """Return points for a model of distances: a column of 0 or 1 per branch, and inactive values replaced by 1/2.

    `branches` has the number of branches of each decision; the decisions are the first columns of `points`.
    """
    hot = [(points[:, [column]] == np.arange(count)).astype(float) for column, count in enumerate(branches)]
    values = points[:, len(branches) :]
    return np.column_stack([*hot, np.where(values == INACTIVE, 0.5, values)])


@dataclass(frozen=True, slots=True)
class _GaussianPosterior:
    encode: Callable[[Array], Array]
    model: "StandardisedGaussianProcess"

    def posterior(self, points: Array) -> tuple[Array, Array]:
        mean, deviation = self.model.process.posterior(self.encode(points))
        return mean * self.model.deviation + self.model.mean, deviation * self.model.deviation
