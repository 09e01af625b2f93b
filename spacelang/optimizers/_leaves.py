"""Random leaves (pipelines) of a discrepancy tree without repetition."""

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain, count
from typing import TYPE_CHECKING, Final

from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator

TRIES: Final = 100
"""After this many repeated draws in a row fewer than 1 % are new, and the rest is enumerated."""
ROUND: Final = 128
"""How many leaves or configurations are drawn at a time, and trials started in a round of `daub`."""
LISTABLE: Final = 10_000
"""A tree with more leaves is never listed in memory."""


class Leaves:
    """The leaves of a tree in random order after the leaves in `first`; a large tree is never listed in memory."""

    def __init__(self, tree: DiscrepancyTree, rng: "Generator", first: tuple[Pipeline, ...] = ()) -> None:
        self._tree = tree
        self._rng = rng
        self._first = first
        """The leaves that come first and were not drawn yet."""

    def draw(self, number: int) -> list[Pipeline]:
        """Return `number` different leaves, drawn uniformly after those in `first`; all leaves if there are no more."""
        first, self._first = self._first[:number], self._first[number:]
        return [*dict.fromkeys((*first, *self._drawn(number)))][:number]

    def each_once(self) -> Iterator[Pipeline]:
        """Yield every leaf once: random draws while they find new leaves, then the others in text order."""
        first, self._first = dict.fromkeys(self._first), ()
        yield from first
        yield from (leaf for leaf in self._each() if leaf not in first)

    def _drawn(self, number: int) -> list[Pipeline]:
        """Return `number` different leaves, drawn uniformly; fewer if the tree has fewer."""
        wanted = min(number, self._tree.leaves)
        if self._tree.leaves <= max(LISTABLE, 2 * wanted):
            places = self._rng.choice(len(self._listed), size=wanted, replace=False)
            return [self._listed[place] for place in places]
        found: dict[Pipeline, None] = {}
        while len(found) < wanted:
            found.update(dict.fromkeys(self._tree.random_leaves(wanted - len(found), self._rng)))
        return list(found)

    def _each(self) -> Iterator[Pipeline]:
        """Yield every leaf once, without regard to `first`."""
        if self._tree.leaves <= LISTABLE:
            yield from self._drawn(self._tree.leaves)
            return
        found: set[Pipeline] = set()
        repeated = 0
        drawn = chain.from_iterable(self._tree.random_leaves(ROUND, self._rng) for _ in count())
        while repeated < TRIES:
            leaf = next(drawn)
            repeated = repeated + 1 if leaf in found else 0
            if not repeated:
                found.add(leaf)
                yield leaf
        yield from (leaf for leaf in self._tree.leaves_in_order() if leaf not in found)

    @cached_property
    def _listed(self) -> list[Pipeline]:
        """All leaves of the tree in text order."""
        return list(self._tree.leaves_in_order())


def unfinished(tree: DiscrepancyTree, is_finished: Callable[[Pipeline], bool]) -> Iterator[Pipeline]:
    """Yield the first leaf in text order that is not finished, again and again until all are finished.

    A finished leaf must stay finished.
    """
    for leaf in tree.leaves_in_order():
        while not is_finished(leaf):
            yield leaf
