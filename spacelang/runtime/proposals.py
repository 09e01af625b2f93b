"""The lazy requests of a run, each made once with a random generator of its own number."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numpy.random import default_rng

from spacelang.ir.asking import Later
from spacelang.ir.trial import Request


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """A committed request.

    `asked` is the object that the search asked for: the request itself or a lazy request. `proposal` is the number of
    the lazy request, None otherwise.
    """

    asked: Request | Later
    request: Request
    proposal: int | None = None


@dataclass(slots=True)
class Proposals:
    """The lazy requests of a run, numbered from 1 in the order in which they start.

    `kept` maps numbers to the requests whose trials are stored by earlier sessions. These are not made again.
    """

    seed: int
    kept: Mapping[int, Request] = field(default_factory=dict)
    count: int = 0

    def wish(self, asked: Request | Later) -> Wish:
        """Commit to a request. Make it if it is a lazy request, and call its `begun` callback.

        Errors of the lazy request are raised.
        """
        if isinstance(asked, Request):
            return Wish(asked, asked)
        self.count += 1
        # Counted from 1, because `seed` and `[seed, 0]` give the same generator.
        request = self.kept.get(self.count) or asked.make(default_rng([self.seed, self.count]))
        if asked.begun is not None:
            asked.begun(request)
        return Wish(asked, request, self.count)
