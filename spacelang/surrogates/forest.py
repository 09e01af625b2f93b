"""A random-forest surrogate whose uncertainty is the standard deviation over its trees.

See spacelang/optimizers/README.md, section "Forest". It uses scikit-learn's forest, which is imported when one is
fitted. The trees are evaluated one by one, because the prediction of the whole forest has no standard deviation.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.random import Generator

from spacelang.sampling.value_codes import Array

INACTIVE_VALUE: Final = -1.0  # The value of an inactive coordinate, less than that of any active one


@dataclass(frozen=True, slots=True)
class Forest:
    """The settings of a random forest: its number of trees, and the share of the coordinates that a split considers."""

    trees: int = 100
    features: float = 1.0

    def fit(self, points: Array, numbers: Array, rng: Generator, groups: Array | None = None) -> "FittedForest":
        """Return a forest fitted to n > 0 points, shape (n, d), and their finite numbers, shape (n,).

        Each tree is fitted to a bootstrap sample. NaN coordinates are replaced by `INACTIVE_VALUE`. With `groups`,
        shape (n,), the points are weighted such that all groups have the same total weight.
        """
        from sklearn.ensemble import RandomForestRegressor

        weights = None if groups is None else balanced_weights(groups)
        seed = int(rng.integers(2**31))
        forest = RandomForestRegressor(self.trees, max_features=self.features, random_state=seed, n_jobs=1)
        forest.fit(_replace_inactive(points), numbers, weights)
        return FittedForest(tuple(tree.tree_ for tree in forest.estimators_))


@dataclass(frozen=True, slots=True, eq=False)
class FittedForest:
    """The trees of a fitted forest."""

    trees: tuple[Any, ...]

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """Return the mean and the standard deviation over the trees at m points, shape (m,) each."""
        encoded = _replace_inactive(points)
        predicted = np.array([tree.predict(encoded)[:, 0] for tree in self.trees])
        return predicted.mean(axis=0), predicted.std(axis=0)


def balanced_weights(groups: Array) -> Array:
    """Return a weight for each point, shape (n,), such that the weights of each group sum to 1."""
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(1 / sizes[group])


def _replace_inactive(points: Array) -> Array:
    # scikit-learn trees require single-precision floats.
    return np.nan_to_num(points, nan=INACTIVE_VALUE).astype(np.float32)
