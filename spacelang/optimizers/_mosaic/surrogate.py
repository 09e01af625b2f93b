"""The surrogate of MOSAIC: a random forest that predicts rewards, also for the nodes of the search tree."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.sampling.batch import Batch
from spacelang.sampling.sampler import SamplingFailedError
from spacelang.sampling.value_codes import Array
from spacelang.targets.mosaic import Prefix, StructuralTree

if TYPE_CHECKING:
    from numpy.random import Generator

    from spacelang.surrogates.forest import FittedForest

REFIT_DIVISOR: Final = 20
"""The forest is refitted when the data have grown by one part in `REFIT_DIVISOR`, that is by 5 %."""

MAX_CACHED_NODES: Final = 512
"""The maximum number of nodes whose draws are cached; the draws of other nodes are repeated identically."""

FOREST_STREAM, NODE_STREAM = 0, 1
"""Seed words that separate the random streams of forests and of nodes."""


@dataclass(frozen=True, slots=True)
class SurrogateSettings:
    """The sizes of the surrogate: its number of trees, the share of features per split, and the draws per node."""

    trees: int
    features: float
    draws: int


class Surrogate:
    """A random-forest surrogate of the reward, fitted to all successful trials.

    The forest and the draws of a node depend only on the data and the seed, so an interrupted search resumes with the
    same ones. Trials with the same first two decisions form a group, and all groups have the same weight.
    """

    def __init__(self, tree: StructuralTree, sizes: SurrogateSettings, seed: int) -> None:
        self._tree, self._sizes, self._seed = tree, sizes, seed
        self._features: list[Array] = []
        self._rewards: list[float] = []
        self._groups: list[int] = []
        self._group_numbers: dict[Prefix, int] = {}
        """The number of each group, in the order of first occurrence."""
        self._fitted: tuple[int, FittedForest] | None = None
        self._predictions: dict[Prefix, float] = {}
        """The cached predictions of the current forest."""
        self._cached_features = lru_cache(maxsize=MAX_CACHED_NODES)(self._draw_features)

    @property
    def best(self) -> float:
        """The best known reward; 0 if there is none."""
        return max(self._rewards, default=0.0)

    def record(self, configuration: Configuration, reward: float) -> None:
        """Add the reward of a successful trial."""
        group = self._tree.prefix_of(configuration)[:2]
        self._features.append(self._tree.features([configuration])[0].astype(np.float32))
        self._rewards.append(reward)
        self._groups.append(self._group_numbers.setdefault(group, len(self._group_numbers)))

    def posterior(self, features: Array) -> tuple[Array, Array]:
        """Return the mean and the standard deviation over the trees at m points, shape (m,) each; 0 without data."""
        trees = self._current_forest()
        return (np.zeros(len(features)), np.zeros(len(features))) if trees is None else trees.posterior(features)

    def predict_nodes(self, prefixes: Sequence[Prefix]) -> Array:
        """Return the predicted mean reward below each of n prefixes, shape (n,); 0 without data.

        It is the mean of the forest's prediction over the random draws of the prefix.
        """
        trees = self._current_forest()
        if trees is None:
            return np.zeros(len(prefixes))
        new = [prefix for prefix in prefixes if prefix not in self._predictions]
        if new:
            mean, _ = trees.posterior(np.vstack([self._cached_features(prefix).to_array() for prefix in new]))
            self._predictions.update(zip(new, mean.reshape(len(new), -1).mean(axis=1).tolist(), strict=True))
        return np.array([self._predictions[prefix] for prefix in prefixes])

    def _current_forest(self) -> "FittedForest | None":
        """Return the forest, which is refitted when the data have grown enough; None without data."""
        from spacelang.surrogates.forest import Forest
        from spacelang.surrogates.incremental_process import size_at_last_fit

        if not self._rewards:
            return None
        size = size_at_last_fit(len(self._rewards), REFIT_DIVISOR)
        if self._fitted is None or self._fitted[0] != size:
            forest, rng = Forest(self._sizes.trees, self._sizes.features), self._generator(FOREST_STREAM, size)
            rewards, groups = np.array(self._rewards[:size]), np.array(self._groups[:size])
            self._fitted = size, forest.fit(np.array(self._features[:size]), rewards, rng, groups)
            self._predictions.clear()
        return self._fitted[1]

    def _draw_features(self, prefix: Prefix) -> "_CompressedRows":
        rng = self._generator(NODE_STREAM, *json.dumps(prefix).encode())
        found = self._tree.features(draw_below(self._tree, prefix, self._sizes.draws, rng))
        return _CompressedRows.compress(np.resize(found, (self._sizes.draws, found.shape[1])).astype(np.float32))

    def _generator(self, *words: int) -> "Generator":
        from numpy.random import default_rng

        return default_rng([self._seed, *words])


def draw_below(tree: StructuralTree, prefix: Prefix, count: int, rng: "Generator") -> "Batch | list[Configuration]":
    """Draw `count` configurations below a prefix.

    Returns the default completion alone if values that satisfy the constraints are too rare to be drawn.
    """
    try:
        return tree.sample(prefix, count, rng)
    except SamplingFailedError:
        return [tree.default_completion(prefix)]


@dataclass(frozen=True, slots=True, eq=False)
class _CompressedRows:
    """A compressed feature matrix that stores only the columns that vary; most columns are inactive in a node."""

    first: Array
    columns: Array
    values: Array

    @classmethod
    def compress(cls, rows: Array) -> "_CompressedRows":
        columns = np.flatnonzero((rows != rows[0]).any(axis=0))
        return cls(rows[0].copy(), columns, rows[:, columns])

    def to_array(self) -> Array:
        found: Array = np.tile(self.first, (len(self.values), 1))
        found[:, self.columns] = self.values
        return found
