"""The lazy requests of a run, each made once with a random generator of its own number."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numpy.random import default_rng

from spacelang.ir.search_protocol import LazyRequest
from spacelang.ir.trial import Request


@dataclass(frozen=True, slots=True, eq=False)
class CommittedRequest:
    """A committed request.

    `asked` is the object that the search asked for: the request itself or a lazy request. `proposal` is the number of
    the lazy request, None otherwise.
    """

    asked: Request | LazyRequest
    request: Request
    proposal: int | None = None


@dataclass(slots=True)
class LazyRequestRegistry:
    """The lazy requests of a run, numbered from 1 in the order in which they start.

    `stored` maps numbers to the requests whose trials are stored by earlier sessions. These are not made again.
    """

    seed: int
    stored: Mapping[int, Request] = field(default_factory=dict)
    count: int = 0

    def commit(self, asked: Request | LazyRequest) -> CommittedRequest:
        """Commit to a request. Make it if it is a lazy request, and call its `on_start` callback.

        Errors of the lazy request are raised.
        """
        if isinstance(asked, Request):
            return CommittedRequest(asked, asked)
        self.count += 1
        # Counted from 1, because `seed` and `[seed, 0]` give the same generator.
        request = self.stored.get(self.count) or asked.make(default_rng([self.seed, self.count]))
        if asked.on_start is not None:
            asked.on_start(request)
        return CommittedRequest(asked, request, self.count)
