"""The model of `auto`: candidates ranked by expected improvement per second, over structure and hyperparameters.

See spacelang/optimizers/README.md, section "AUTO: model".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.random import Generator, default_rng

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Trial
from spacelang.sampling.sampler import SamplingFailedError
from spacelang.sampling.value_codes import Array
from spacelang.surrogates.forest import Forest
from spacelang.surrogates.limits import one_thread
from spacelang.targets.mosaic import INACTIVE, StructuralTree

if TYPE_CHECKING:
    from spacelang.sampling.batch_builder import Batch
    from spacelang.surrogates.gaussian_process import StandardisedGaussianProcess

ModelKind: TypeAlias = Literal["chosen", "forest", "gp", "none"]
MAX_GAUSSIAN_COLUMNS: Final = 30  # With more columns, `chosen` is a forest, otherwise a Gaussian process
DRAWS: Final = 1_000  # The number of random candidates of a model
INCUMBENTS: Final = 5  # The number of best configurations around which candidates are searched
STEPS: Final = 6  # The maximum number of steps of a local search
FIRST_DEVIATION: Final = 0.2
"""The standard deviation of the first step of a local search on the unit interval; each further one has half of it."""
REFIT_DIVISOR: Final = 20  # A model is made anew when the trials have grown by one part in `REFIT_DIVISOR`
TREES: Final = 50
FEATURES: Final = 0.7
MIN_COST_SHARE: Final = 0.1  # A cost below this share of the median cost counts as this share of it
LOSS_MARGIN: Final = 0.05
"""Losses are logarithms of their distance from the best one, plus this share of the distance of the median."""


class Posterior(Protocol):
    """A fitted model of numbers."""

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """Return the mean and the standard deviation at m points, shape (m,) each."""


@dataclass(slots=True)
class ImprovementPerSecond:
    """A model of losses and one of costs, fitted to the trials on all rungs; it proposes configurations.

    Proposals are a function of the seed and of the trials that the model is fitted to, so that a resumed search makes
    the same ones.
    """

    tree: StructuralTree
    seed: int
    kind: ModelKind
    has_time: bool = True
    """True if costs matter; otherwise candidates are ranked by expected improvement alone."""
    _features: list[Array] = field(default_factory=list)
    _losses: list[float | None] = field(default_factory=list)
    _costs: list[float] = field(default_factory=list)
    _shares: list[float] = field(default_factory=list)
    """The logarithms of the shares of all rows, 0 for all of them."""
    _configurations: list[Configuration] = field(default_factory=list)
    _ranked: tuple[int, list[Configuration]] | None = None

    def record(self, trial: Trial, share: float) -> None:
        """Add a finished trial on a share of all rows."""
        configuration = trial.request.configuration
        self._configurations.append(configuration)
        self._features.append(self.tree.features([configuration])[0])
        self._losses.append(trial.loss)
        self._costs.append(max(trial.unshared_seconds, 1e-6))
        self._shares.append(float(np.log(share)))

    @property
    def is_ready(self) -> bool:
        """True if there are enough successful trials for a model."""
        return self.kind != "none" and sum(loss is not None for loss in self._losses) >= MIN_SUCCESSES

    def ranked_configurations(self, first_share: float) -> list[Configuration]:
        """Return candidates, the largest expected improvement per second first.

        The improvement is that on all rows, and the seconds are those of a training on `first_share` of them.
        """
        from spacelang.surrogates.gaussian_process import size_at_last_fit

        size = size_at_last_fit(len(self._losses), REFIT_DIVISOR)
        if self._ranked is None or self._ranked[0] != size:
            with one_thread():
                self._ranked = size, self._rank(size, float(np.log(first_share)))
        return self._ranked[1]

    def _rank(self, size: int, share: float) -> list[Configuration]:
        rng = default_rng([self.seed, size])
        values = transform_losses(self._losses[:size])
        points = np.column_stack([np.array(self._features[:size]), self._shares[:size]])
        losses = self._fit(points, values, rng)
        costs = Forest(TREES // 2, FEATURES).fit(points, np.log(self._costs[:size]), rng) if self.has_time else None
        least = float(np.log(MIN_COST_SHARE * np.median(self._costs[:size])))
        known = {each: row for row, each in enumerate(self._configurations[:size])}
        rows = np.fromiter(known.values(), int)
        at_all, _ = losses.posterior(_with_share(points[rows, :-1], 0.0))
        best = float(at_all.min())
        scoring = _Scoring(losses, costs, best, least, share)
        distinct = [*known]
        found = self._draws(rng)
        features = self.tree.features(found)
        scores = scoring(features)
        order = np.argsort(-scores, kind="stable")
        drawn = found if isinstance(found, list) else found.configurations()
        ranked = {drawn[place]: float(scores[place]) for place in order.tolist()}
        starts = [distinct[place] for place in np.argsort(at_all, kind="stable")[:INCUMBENTS].tolist()]
        starts += [drawn[place] for place in order[:INCUMBENTS].tolist()]
        ranked |= self._local_search(starts, scoring, rng)
        return sorted((each for each in ranked if each not in known), key=lambda each: -ranked[each])

    def _local_search(
        self, starts: Sequence[Configuration], scoring: "_Scoring", rng: Generator
    ) -> dict[Configuration, float]:
        """Return the neighbours on the paths from some configurations to better ones, with their scores."""
        found: dict[Configuration, float] = {}
        scores = scoring(self.tree.features(starts))
        paths = [*zip(starts, scores.tolist(), strict=True)]
        for step in range(STEPS):
            deviation = FIRST_DEVIATION / 2**step
            around = [self.tree.neighbours(centre, (), rng, deviation) for centre, _ in paths]
            flat = [each for some in around for each in some]
            if not flat:
                break
            values = scoring(self.tree.features(flat)).tolist()
            found |= dict(zip(flat, values, strict=True))
            moved, start = [], 0
            for (centre, score), some in zip(paths, around, strict=True):
                own = values[start : start + len(some)]
                start += len(some)
                top = max(range(len(own)), key=own.__getitem__, default=None)
                is_better = top is not None and own[top] > score
                moved.append((some[top], own[top]) if is_better and top is not None else (centre, score))
            paths = [*dict(moved).items()]
        return found

    def _fit(self, points: Array, values: Array, rng: Generator) -> Posterior:
        is_small = len(self.tree.feature_names) <= MAX_GAUSSIAN_COLUMNS
        if self.kind == "forest" or (self.kind == "chosen" and not is_small):
            return Forest(TREES, FEATURES).fit(points, values, rng)
        from spacelang.surrogates.gaussian_process import IncrementalGaussianProcess

        columns = [len(choice.branches) for choice in self.tree.decisions]
        encode = partial(encode_for_distances, columns)
        coded = encode(points)
        model = IncrementalGaussianProcess().model(coded, values, np.empty((0, coded.shape[1])))
        return _GaussianPosterior(encode, model)

    def _draws(self, rng: Generator) -> "Batch | list[Configuration]":
        try:
            return self.tree.sample((), DRAWS, rng)
        except SamplingFailedError:
            return [self.tree.default_completion(())]


MIN_SUCCESSES: Final = 4


def transform_losses(losses: Sequence[float | None]) -> Array:
    """Return the logarithms of the distances of losses from a bound below the best one; a failure is the worst loss."""
    known = np.array([loss for loss in losses if loss is not None])
    best, middle = known.min(), np.median(known)
    margin = LOSS_MARGIN * (middle - best) or abs(best) * 1e-9 or 1e-12
    worst = known.max()
    filled = np.array([worst if loss is None else loss for loss in losses])
    return np.asarray(np.log(filled - best + margin))


@dataclass(frozen=True, slots=True)
class _Scoring:
    losses: Posterior
    costs: Posterior | None
    best: float
    least: float
    share: float

    def __call__(self, features: Array) -> Array:
        from spacelang.surrogates.improvement import log_expected_improvement

        mean, deviation = self.losses.posterior(_with_share(features, 0.0))
        improvement = log_expected_improvement(self.best, mean, deviation)
        if self.costs is None:
            return improvement
        cost, _ = self.costs.posterior(_with_share(features, self.share))
        return np.asarray(improvement - np.maximum(cost, self.least))


def _with_share(features: Array, share: float) -> Array:
    return np.column_stack([features, np.full(len(features), share)])


def encode_for_distances(branches: Sequence[int], points: Array) -> Array:
    """Return rows for a model of distances: decisions as 0 or 1 for each branch, and inactive values in the middle."""
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
