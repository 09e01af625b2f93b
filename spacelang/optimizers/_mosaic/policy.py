"""The tree policy of MOSAIC: the selection of a child, and the condition for adding a new one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final, TypeAlias

import numpy as np

from spacelang.optimizers._mosaic.nodes import Node, SearchTree
from spacelang.sampling.value_codes import Array
from spacelang.targets.mosaic import Prefix

NodePrediction: TypeAlias = Callable[[Sequence[Prefix]], Array]
"""A function that predicts the mean rewards below n prefixes, shape (n,)."""

ROUNDING_ERROR: Final = 1e-9
"""The tolerance for powers of integers that are slightly below the integer they should be."""


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """The tree policy: PUCT with medians as values, and progressive widening.

    `actions` returns the branches that may follow a prefix. `predict` predicts the mean reward below prefixes. `c_ucb`
    is the weight of exploration. A node with n visits has at most n^`pw` children.
    """

    nodes: SearchTree
    actions: Callable[[Prefix], Sequence[str]]
    predict: NodePrediction
    c_ucb: float
    pw: float

    def descend(self) -> Prefix | None:
        """Return the prefix for the next playout; None if the whole tree is exhausted.

        From the root on, the child with the highest score is selected, down to a complete structure or to a node that
        may have another child. Of the missing children, the one with the highest predicted reward is then returned.
        """
        node = self.nodes.root
        if node.is_exhausted:
            return None
        while actions := self.actions(node.prefix):
            if self._can_widen(node, len(actions)):
                new = [(*node.prefix, branch) for branch in actions if branch not in node.children]
                return new[int(self.predict(new).argmax())]
            node = self._best_child(node)
        return node.prefix

    def exhaust(self, prefix: Prefix, reward: float | None) -> None:
        """Exclude a prefix from selection, and every node above it whose children are all exhausted.

        The reward is that of a last visit, for which nothing is evaluated; None for no such visit.
        """
        if self.nodes.exhaust(prefix, reward):
            for node in reversed(self.nodes.path_to(prefix)[:-1]):
                if len(node.children) < len(self.actions(node.prefix)) or not _are_exhausted(node):
                    return
                node.is_exhausted = True

    def _can_widen(self, node: Node, admissible: int) -> bool:
        """Return True if a node gets another child: all its children are exhausted, or too few for its visits."""
        return _are_exhausted(node) or len(node.children) < min(admissible, max_children(node.visits, self.pw))

    def _best_child(self, node: Node) -> Node:
        """Return the child with the highest score that is not exhausted, the first of equal ones."""
        children = [child for child in node.children.values() if not child.is_exhausted]
        quality = np.array([child.median_reward(node.median_reward()) for child in children])
        visits = np.array([child.visits for child in children])
        promise = self.predict([child.prefix for child in children])
        return children[int(puct_scores(quality, promise, visits, node.visits, self.c_ucb).argmax())]


def puct_scores(quality: Array, promise: Array, visits: Array, parent: int, c_ucb: float) -> Array:
    """Return the PUCT scores of n children, shape (n,).

    The predicted rewards in `promise` are turned into probabilities by a softmax. `parent` is the number of visits of
    the parent node.
    """
    shares = np.exp(promise - promise.max())
    return np.asarray(quality + c_ucb * shares / shares.sum() * sqrt(parent) / (1 + visits))


def max_children(visits: int, pw: float) -> int:
    """Return the maximum number of children after some visits: floor(visits^pw)."""
    return int(visits**pw + ROUNDING_ERROR)


def _are_exhausted(node: Node) -> bool:
    return all(child.is_exhausted for child in node.children.values())
