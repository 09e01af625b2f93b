"""Orders of T steps as permutation matrices: x[i, k] is 1 if step i is at position k.

Each row and each column sums to 1. For the steps a and b, `PermutationSet(("a", "b"), ("a, b", "b, a")).matrices` are
[[1, 0], [0, 1]] and [[0, 1], [1, 0]].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from spacelang.ir.space import order_name
from spacelang.sampling.value_codes import Array


@dataclass(frozen=True)
class PermutationSet:
    """The allowed orders (`branches`) of labelled steps."""

    labels: tuple[str, ...]
    branches: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of steps, T."""
        return len(self.labels)

    @cached_property
    def matrices(self) -> Array:
        """The permutation matrix of each branch: shape (branches, T, T), entries 0 and 1."""
        by_name = {order_name(labels): labels for labels in permutations(self.labels)}
        return np.stack([self.matrix_of(by_name[name]) for name in self.branches])

    def matrix_of(self, order: Sequence[str]) -> Array:
        """Return the permutation matrix of an order of the steps, shape (T, T)."""
        found = np.zeros((self.size, self.size), np.int8)
        found[[self.labels.index(label) for label in order], np.arange(self.size)] = 1
        return found

    def nearest_order_indices(self, matrices: Array) -> Array:
        """Return for each of n matrices the index of the best allowed order: shape (n,).

        This is the order whose entries in the matrix have the largest sum, the first one in a tie. NaN counts as 0.
        """
        given = np.asarray(matrices, float).reshape(len(matrices), -1)
        sums = np.nan_to_num(given) @ self.matrices.reshape(len(self.branches), -1).T.astype(float)
        return np.asarray(sums.argmax(axis=1))

    @property
    def missing_orders(self) -> tuple[tuple[str, ...], ...]:
        """The orders of the steps that are not allowed."""
        known = set(self.branches)
        return tuple(order for order in permutations(self.labels) if order_name(order) not in known)
