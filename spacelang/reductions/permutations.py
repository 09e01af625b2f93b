"""An order of T steps as T x T variables of 0 and 1: x[i, k] is 1 where step i stands at position k.

Each row and each column sums to 1. Of the steps a and b, `Permutation(("a", "b"), ("a, b", "b, a")).matrices` are
[[1, 0], [0, 1]] and [[0, 1], [1, 0]].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from spacelang.draws.codes import Array
from spacelang.ir.space import order_name


@dataclass(frozen=True)
class Permutation:
    """The orders that there are, `branches`, of steps with labels."""

    labels: tuple[str, ...]
    branches: tuple[str, ...]

    @property
    def size(self) -> int:
        """T."""
        return len(self.labels)

    @cached_property
    def matrices(self) -> Array:
        """The matrix of each branch: shape (branches, T, T), 0 and 1."""
        by_name = {order_name(labels): labels for labels in permutations(self.labels)}
        return np.stack([self.matrix_of(by_name[name]) for name in self.branches])

    def matrix_of(self, order: Sequence[str]) -> Array:
        """The matrix of an order of the steps."""
        found = np.zeros((self.size, self.size), np.int8)
        found[[self.labels.index(label) for label in order], np.arange(self.size)] = 1
        return found

    def places(self, matrices: Array) -> Array:
        """The place of the branch with the largest sum in each of n matrices, the first of several: shape (n,)."""
        given = np.asarray(matrices, float).reshape(len(matrices), -1)
        sums = np.nan_to_num(given) @ self.matrices.reshape(len(self.branches), -1).T.astype(float)
        return np.asarray(sums.argmax(axis=1))

    @property
    def removed(self) -> tuple[tuple[str, ...], ...]:
        """The orders of the steps that are no branch."""
        known = set(self.branches)
        return tuple(order for order in permutations(self.labels) if order_name(order) not in known)
