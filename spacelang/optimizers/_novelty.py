"""What is new in a search, and which of its parts find nothing new any more."""

from collections.abc import Hashable, Iterable
from typing import Final, Generic, TypeVar

from spacelang.ir.trial import Request

K = TypeVar("K", bound=Hashable)

BARREN: Final = 1_000
"""After so many proposals in a row without anything new a part sits out: fewer than 1 in 100 would be new."""


class Novelty(Generic[K]):
    """The parts of a search (arms, nodes, sub-problems), and what all of them have proposed.

    A part sits out once it has proposed nothing new `patience` times in a row: its share is that of the others from
    then on, and when all sit out the search is exhausted. A part without hyperparameters would else propose the same
    for ever. New is what no part was told of before; requests that differ in their fidelity are different.
    """

    def __init__(self, parts: Iterable[K] = (), patience: int = BARREN) -> None:
        self._patience = patience
        self._barren = dict.fromkeys(parts, 0)
        """How many proposals in a row were not new, of each part in the order in which they came."""
        self._seen: set[Request] = set()

    @property
    def active(self) -> tuple[K, ...]:
        """The parts that do not sit out, in the order in which they came."""
        return tuple(part for part in self._barren if not self.sits_out(part))

    def add(self, part: K) -> None:
        """Have another part propose, unless it does already."""
        self._barren.setdefault(part, 0)

    def sits_out(self, part: K) -> bool:
        """Whether a part proposes no more."""
        return self._barren[part] >= self._patience

    def note(self, part: K, request: Request) -> bool:
        """Whether the proposal of a part that was told just now is new."""
        is_new = request not in self._seen
        self._seen.add(request)
        self._barren[part] = 0 if is_new else self._barren[part] + 1
        return is_new
