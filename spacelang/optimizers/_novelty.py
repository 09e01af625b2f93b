"""Tracking of repeated proposals, to detect when a part of a search finds nothing new."""

from collections.abc import Hashable, Iterable
from typing import Final, Generic, TypeVar

from spacelang.deprecation import renamed_attributes
from spacelang.ir.trial import Request

K = TypeVar("K", bound=Hashable)

DEFAULT_PATIENCE: Final = 1_000
"""After this many repeated proposals in a row a part is exhausted: fewer than 1 in 100 would be new."""


@renamed_attributes(sits_out="is_exhausted", note="record")
class NoveltyTracker(Generic[K]):
    """The parts of a search (arms, nodes, sub-problems) and the requests that they have proposed.

    A part is exhausted after `patience` proposals in a row that were not new. Its share then goes to the other parts.
    The search is exhausted when all parts are. Without this rule a part without hyperparameters would propose the same
    configuration forever.

    A request is new if no part has proposed it before. Requests of different fidelity are different.
    """

    def __init__(self, parts: Iterable[K] = (), patience: int = DEFAULT_PATIENCE) -> None:
        self._patience = patience
        self._repeated_counts = dict.fromkeys(parts, 0)
        """For each part, in the order of addition, how many proposals in a row were repeated."""
        self._seen: set[Request] = set()

    @property
    def active(self) -> tuple[K, ...]:
        """The parts that are not exhausted, in the order in which they were added."""
        return tuple(part for part in self._repeated_counts if not self.is_exhausted(part))

    def add(self, part: K) -> None:
        """Add a part, unless it is already there."""
        self._repeated_counts.setdefault(part, 0)

    def is_exhausted(self, part: K) -> bool:
        """Return True if a part is exhausted and proposes no more."""
        return self._repeated_counts[part] >= self._patience

    def record(self, part: K, request: Request) -> bool:
        """Record a proposal of a part; return True if it is new."""
        is_new = request not in self._seen
        self._seen.add(request)
        self._repeated_counts[part] = 0 if is_new else self._repeated_counts[part] + 1
        return is_new
