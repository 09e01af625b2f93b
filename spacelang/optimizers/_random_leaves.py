"""Random leaves (pipelines) of a discrepancy tree without repetition."""

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain, count
from typing import TYPE_CHECKING, Final

from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator

MAX_REPEATED_DRAWS: Final = 100
"""After this many repeated draws in a row fewer than 1 % are new, and the rest is enumerated."""
BATCH_SIZE: Final = 128
"""How many leaves or configurations are drawn at a time, and trials started in a round of `daub`."""
MAX_LISTED_LEAVES: Final = 10_000
"""A tree with more leaves is never listed in memory."""


class RandomLeaves:
    """The leaves of a tree in random order after the leaves in `first`; a large tree is never listed in memory."""

    def __init__(self, tree: DiscrepancyTree, rng: "Generator", first: tuple[Pipeline, ...] = ()) -> None:
        self._tree = tree
        self._rng = rng
        self._first = first
        """The leaves that come first and were not drawn yet."""

    def draw(self, number: int) -> list[Pipeline]:
        """Return `number` different leaves, drawn uniformly after those in `first`; all leaves if there are no more."""
        first, self._first = self._first[:number], self._first[number:]
        return [*dict.fromkeys((*first, *self._draw_distinct(number)))][:number]

    def each_once(self) -> Iterator[Pipeline]:
        """Yield every leaf once: random draws while they find new leaves, then the others in text order."""
        first, self._first = dict.fromkeys(self._first), ()
        yield from first
        yield from (leaf for leaf in self._each_once_without_first() if leaf not in first)

    def _draw_distinct(self, number: int) -> list[Pipeline]:
        """Return `number` different leaves, drawn uniformly; fewer if the tree has fewer."""
        wanted = min(number, self._tree.leaf_count)
        if self._tree.leaf_count <= max(MAX_LISTED_LEAVES, 2 * wanted):
            places = self._rng.choice(len(self._listed), size=wanted, replace=False)
            return [self._listed[place] for place in places]
        found: dict[Pipeline, None] = {}
        while len(found) < wanted:
            found.update(dict.fromkeys(self._tree.random_leaves(wanted - len(found), self._rng)))
        return list(found)

    def _each_once_without_first(self) -> Iterator[Pipeline]:
        """Yield every leaf once, without regard to `first`."""
        if self._tree.leaf_count <= MAX_LISTED_LEAVES:
            yield from self._draw_distinct(self._tree.leaf_count)
            return
        found: set[Pipeline] = set()
        repeated = 0
        drawn = chain.from_iterable(self._tree.random_leaves(BATCH_SIZE, self._rng) for _ in count())
        while repeated < MAX_REPEATED_DRAWS:
            leaf = next(drawn)
            repeated = repeated + 1 if leaf in found else 0
            if not repeated:
                found.add(leaf)
                yield leaf
        yield from (leaf for leaf in self._tree.iter_leaves() if leaf not in found)

    @cached_property
    def _listed(self) -> list[Pipeline]:
        """All leaves of the tree in text order."""
        return list(self._tree.iter_leaves())


def unfinished_leaves(tree: DiscrepancyTree, is_finished: Callable[[Pipeline], bool]) -> Iterator[Pipeline]:
    """Yield the first leaf in text order that is not finished, again and again until all are finished.

    A finished leaf must stay finished.
    """
    for leaf in tree.iter_leaves():
        while not is_finished(leaf):
            yield leaf
