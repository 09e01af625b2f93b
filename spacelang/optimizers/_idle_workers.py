"""Work for idle workers: one request for each of them, or speculative trials besides committed ones."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from numpy.random import Generator

from spacelang.ir.search_protocol import Ask, LazyRequest, Search, SearchCoroutine
from spacelang.ir.trial import Request, Trial


def run_requests(
    wishes: Iterator[Request | LazyRequest], note: Callable[[Request | LazyRequest, Trial], None]
) -> Search:
    """Start a request for each idle worker, and pass each finished trial with its request to `note`, to the end."""
    told, out = (yield Ask()), 0
    while True:
        begin = tuple(islice(wishes, max(told.idle_workers, not out)))
        out += len(begin)
        if not out:
            return
        told = yield Ask(begin)
        if told.finished is not None and told.request is not None:
            out -= 1
            note(told.request, told.finished)


def lazy_request(
    make: Callable[[Generator], Request], record_start: Callable[[LazyRequest, Request], None]
) -> LazyRequest:
    """Return a lazy request that is passed, with the request made of it, to `record_start` when it starts."""
    later = LazyRequest(make, lambda request: record_start(later, request))
    return later


class LookaheadPolicy(Protocol):
    """A predictor of the requests that a search will make later."""

    def upcoming_requests(self) -> Iterable[Request]:
        """Yield the requests that will probably follow the running trial, the likeliest first."""

    def on_speculative_trial(self, early: Trial) -> None:
        """Take note of a speculative trial that finished; predictions may depend on it."""


@dataclass(slots=True)
class SpeculativeRequests:
    """A sequence of committed trials, each with speculative ones that never change the decisions of the search."""

    idle_workers: int  # How many workers are idle while a committed trial runs

    def run_trial(self, request: Request, guide: LookaheadPolicy) -> SearchCoroutine[Trial]:
        """Return the trial of a request; meanwhile idle workers, if any, run what `guide` predicts."""
        begin: tuple[Request, ...] = (request,)
        while True:
            coming = (each for each in guide.upcoming_requests() if each != request) if self.idle_workers else iter(())
            told = yield Ask(begin, tuple(islice(coming, self.idle_workers)))
            if told.finished is not None:
                self.idle_workers = max(told.idle_workers - 1, 0)
                return told.finished
            self.idle_workers = told.idle_workers
            if told.speculative is not None:
                guide.on_speculative_trial(told.speculative)
            begin = ()
