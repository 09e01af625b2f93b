"""The policy of the tree: which child is selected, and when a node is given another one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final, TypeAlias

import numpy as np

from spacelang.draws.codes import Array
from spacelang.optimizers._mosaic.nodes import Node, Nodes
from spacelang.targets.mosaic import Prefix

Promise: TypeAlias = Callable[[Sequence[Prefix]], Array]
"""What the surrogate promises of some nodes, of shape (n,)."""

ROUNDED: Final = 1e-9
"""By so much a power of whole numbers may be below the whole number that it is."""


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """Descends the nodes that were visited: PUCT with medians, and progressive widening.

    `actions` are the branches that may follow a prefix, `promise` what a surrogate promises of prefixes; `c_ucb` is
    the weight of exploration, `pw` the power of the visits by which children become more.
    """

    nodes: Nodes
    actions: Callable[[Prefix], Sequence[str]]
    promise: Promise
    c_ucb: float
    pw: float

    def descend(self) -> Prefix | None:
        """The prefix that is played out next; None where the whole tree is exhausted.

        From the root on it is the child with the highest score, down to a node that is a whole structure or to one
        that is given another child: of those that it has not the one that the surrogate promises most of.
        """
        node = self.nodes.root
        if node.is_exhausted:
            return None
        while actions := self.actions(node.prefix):
            if self._widens(node, len(actions)):
                new = [(*node.prefix, branch) for branch in actions if branch not in node.children]
                return new[int(self.promise(new).argmax())]
            node = self._selected(node)
        return node.prefix

    def exhaust(self, prefix: Prefix, reward: float | None) -> None:
        """Never select a prefix again, nor any above it all of whose children are exhausted.

        The reward is that of a last visit, which evaluates nothing.
        """
        if self.nodes.exhaust(prefix, reward):
            for node in reversed(self.nodes.path(prefix)[:-1]):
                if len(node.children) < len(self.actions(node.prefix)) or not _are_exhausted(node):
                    return
                node.is_exhausted = True

    def _widens(self, node: Node, admissible: int) -> bool:
        """Whether a node is given another child: it has none that could be selected, or too few for its visits."""
        return _are_exhausted(node) or len(node.children) < min(admissible, widest(node.visits, self.pw))

    def _selected(self, node: Node) -> Node:
        """The child with the highest score, the first of equals."""
        children = [child for child in node.children.values() if not child.is_exhausted]
        quality = np.array([child.quality(node.quality()) for child in children])
        visits = np.array([child.visits for child in children])
        promise = self.promise([child.prefix for child in children])
        return children[int(scores(quality, promise, visits, node.visits, self.c_ucb).argmax())]


def scores(quality: Array, promise: Array, visits: Array, parent: int, c_ucb: float) -> Array:
    """PUCT's score of each of n children, of shape (n,): `parent` is how often the node above was visited.

    What the surrogate promises of them is made into shares that sum to 1.
    """
    shares = np.exp(promise - promise.max())
    return np.asarray(quality + c_ucb * shares / shares.sum() * sqrt(parent) / (1 + visits))


def widest(visits: int, pw: float) -> int:
    """How many children a node may have after so many visits: the visits to the power of `pw`, without fractions."""
    return int(visits**pw + ROUNDED)


def _are_exhausted(node: Node) -> bool:
    return all(child.is_exhausted for child in node.children.values())
