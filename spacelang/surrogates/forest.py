"""Random forests with a variance: how far their trees are apart (spacelang/optimizers/README.md, section "Forest").

scikit-learn's forest, which is imported when one is fitted. It is asked tree by tree: what it predicts as a whole has
no deviation.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spacelang.draws.codes import Array

if TYPE_CHECKING:
    from numpy.random import Generator

INACTIVE: Final = -1.0
"""What stands for a coordinate that is not active: less than all that are."""


@dataclass(frozen=True, slots=True)
class Forest:
    """How many trees there are, and which share of the coordinates each split looks at."""

    trees: int = 100
    features: float = 1.0

    def fitted(self, points: Array, numbers: Array, rng: "Generator", groups: Array | None = None) -> "Trees":
        """Trees for n > 0 points and their finite numbers, shapes (n, d) and (n,), each for a draw of them.

        A coordinate that is no number is `INACTIVE`. With `groups`, of shape (n,), all points of a group together
        count as much as those of any other one.
        """
        from sklearn.ensemble import RandomForestRegressor

        weights = None if groups is None else balanced(groups)
        forest = RandomForestRegressor(
            self.trees, max_features=self.features, random_state=int(rng.integers(2**31)), n_jobs=1
        )
        forest.fit(_encoded(points), numbers, weights)
        return Trees(tuple(tree.tree_ for tree in forest.estimators_))


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """Fitted trees."""

    trees: tuple[Any, ...]

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """The mean and the standard deviation of what the trees predict at m points, of shape (m,) each."""
        encoded = _encoded(points)
        predicted = np.array([tree.predict(encoded)[:, 0] for tree in self.trees])
        return predicted.mean(axis=0), predicted.std(axis=0)


def balanced(groups: Array) -> Array:
    """Weights, of shape (n,), that sum to 1 in each group."""
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(1 / sizes[group])


def _encoded(points: Array) -> Array:
    # Trees compare floats of single precision, and ask for such.
    return np.nan_to_num(points, nan=INACTIVE).astype(np.float32)
