"""Tracking of repeated proposals, to detect when a part of a search finds nothing new."""

from collections.abc import Hashable, Iterable
from typing import Final, Generic, TypeVar

from spacelang.ir.trial import Request

K = TypeVar("K", bound=Hashable)

BARREN: Final = 1_000
"""After this many repeated proposals in a row a part is exhausted: fewer than 1 in 100 would be new."""


class Novelty(Generic[K]):
    """The parts of a search (arms, nodes, sub-problems) and the requests that they have proposed.

    A part is exhausted after `patience` proposals in a row that were not new. Its share then goes to the other parts.
    The search is exhausted when all parts are. Without this rule a part without hyperparameters would propose the same
    configuration forever.

    A request is new if no part has proposed it before. Requests of different fidelity are different.
    """

    def __init__(self, parts: Iterable[K] = (), patience: int = BARREN) -> None:
        self._patience = patience
        self._barren = dict.fromkeys(parts, 0)
        """For each part, in the order of addition, how many proposals in a row were repeated."""
        self._seen: set[Request] = set()

    @property
    def active(self) -> tuple[K, ...]:
        """The parts that are not exhausted, in the order in which they were added."""
        return tuple(part for part in self._barren if not self.sits_out(part))

    def add(self, part: K) -> None:
        """Add a part, unless it is already there."""
        self._barren.setdefault(part, 0)

    def sits_out(self, part: K) -> bool:
        """Return True if a part is exhausted and proposes no more."""
        return self._barren[part] >= self._patience

    def note(self, part: K, request: Request) -> bool:
        """Record a proposal of a part; return True if it is new."""
        is_new = request not in self._seen
        self._seen.add(request)
        self._barren[part] = 0 if is_new else self._barren[part] + 1
        return is_new
