"""Proposals: the requests that a search leaves to be made later, each made once, from the generator of its number."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numpy.random import default_rng

from spacelang.ir.asking import Later
from spacelang.ir.trial import Request


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """What was begun in earnest: the very object, and the request that it is, or that it has made under a number."""

    asked: Request | Later
    request: Request
    proposal: int | None = None


@dataclass(slots=True)
class Proposals:
    """The proposals of a run, numbered from 1 in the order in which they are begun.

    `kept` has the requests of those whose trials earlier sessions have kept: they are not made again.
    """

    seed: int
    kept: Mapping[int, Request] = field(default_factory=dict)
    count: int = 0

    def wish(self, asked: Request | Later) -> Wish:
        """What is begun now; raises what making it raises."""
        if isinstance(asked, Request):
            return Wish(asked, asked)
        self.count += 1
        # Counted from 1, as the generators of `seed` and of `[seed, 0]` are the same.
        request = self.kept.get(self.count) or asked.make(default_rng([self.seed, self.count]))
        if asked.begun is not None:
            asked.begun(request)
        return Wish(asked, request, self.count)
