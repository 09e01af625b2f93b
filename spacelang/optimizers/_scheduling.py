"""The order of requests: initial trials before a search, one request per idle worker, and speculative trials."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

from numpy.random import Generator

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, LazyRequest, Problem, Search, SearchCoroutine, SearchEvent
from spacelang.ir.trial import Request, Trial


def run_requests(
    requests: Iterator[Request | LazyRequest], note: Callable[[Request | LazyRequest, Trial], None]
) -> Search:
    """Start a request for each idle worker, and pass each finished trial with its request to `note`, to the end."""
    event, out = (yield Ask()), 0
    while True:
        begin = tuple(islice(requests, max(event.idle_workers, not out)))
        out += len(begin)
        if not out:
            return
        event = yield Ask(begin)
        if event.finished is not None and event.request is not None:
            out -= 1
            note(event.request, event.finished)


def make_lazy_request(
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
class SpeculativeExecution:
    """A sequence of committed trials, each with speculative ones that never change the decisions of the search."""

    idle_workers: int  # How many workers are idle while a committed trial runs

    def run_trial(self, request: Request, guide: LookaheadPolicy) -> SearchCoroutine[Trial]:
        """Return the trial of a request; meanwhile idle workers, if any, run what `guide` predicts."""
        begin: tuple[Request, ...] = (request,)
        while True:
            coming = (each for each in guide.upcoming_requests() if each != request) if self.idle_workers else iter(())
            event = yield Ask(begin, tuple(islice(coming, self.idle_workers)))
            if event.finished is not None:
                self.idle_workers = max(event.idle_workers - 1, 0)
                return event.finished
            self.idle_workers = event.idle_workers
            if event.speculative is not None:
                guide.on_speculative_trial(event.speculative)
            begin = ()


def search_after_initial_trials(optimizer: Any, problem: Problem) -> Search:
    """Return the search of an optimizer, preceded by the initial configurations of its problem.

    They are evaluated unchanged, in their order and on all rows. If the search requests the same trials later, it
    receives these results, so nothing is evaluated twice. The search starts as soon as a worker is idle.
    """
    search: Search = optimizer.search(problem)
    return _InitialTrials(problem.initial).run_before(search) if problem.initial else search


class _InitialTrials:
    """The initial trials of a run: requests, results, and the events sent to the search."""

    def __init__(self, configurations: tuple[Configuration, ...]) -> None:
        self._requests = tuple(map(Request, configurations))
        self._running = {id(each) for each in self._requests}
        self._trials: dict[Request, Trial | None] = dict.fromkeys(self._requests)
        """The initial requests that the search has not made, each with its trial once it has finished."""
        self._awaited_requests: dict[Request, Request] = {}
        """The initial requests that the search has made while they run, each with the search's own request object."""
        self._answers: deque[tuple[Request, Trial]] = deque()
        """The finished trials that the search has requested and not received yet."""
        self._sent_speculative: set[Request] = set()
        self._next_requests: tuple[Request | LazyRequest, ...] = self._requests
        self._idle_workers = 0
        self._last_idle_workers: int | None = None
        """The number of idle workers in the last event sent to the search."""
        self._awaited_count = 0

    def run_before(self, search: Search) -> Search:
        with closing(search):
            self._idle_workers = (yield Ask()).idle_workers - len(self._requests)
            while self._idle_workers <= 0:
                yield from self._wait_for_event()
            try:
                ask = next(search)
                while True:
                    self._register_requests(ask)
                    event = self._available_event(ask)
                    while event is None:
                        event = yield from self._wait_for_event(ask.speculative)
                    self._last_idle_workers = event.idle_workers
                    self._awaited_count -= event.finished is not None
                    ask = search.send(event)
            except StopIteration:
                while self._running:
                    yield from self._wait_for_event()

    def _wait_for_event(self, ahead: tuple[Request, ...] = ()) -> SearchCoroutine[SearchEvent | None]:
        """Wait for the next event; return the event for the search, or None if it does not concern the search.

        `ahead` are the speculative requests of the search.
        """
        event = yield Ask(self._next_requests, ahead)
        self._next_requests, self._idle_workers = (), event.idle_workers
        if event.finished is not None and id(event.request) in self._running:
            self._running.remove(id(event.request))
            request = event.finished.request
            if request in self._awaited_requests:
                return _cached_event(event.finished, event.idle_workers, self._awaited_requests.pop(request))
            self._trials[request] = event.finished
            event = SearchEvent(None, event.idle_workers)
        # A search that waits for no trial can do nothing without idle workers.
        return event if event.idle_workers or self._awaited_count else None

    def _register_requests(self, ask: Ask) -> None:
        """Forward new requests of the search; the initial trials answer the others, each once."""
        self._awaited_count += len(ask.requests)
        for wanted in ask.requests:
            if isinstance(wanted, LazyRequest) or wanted not in self._trials:
                self._next_requests += (wanted,)
            elif (trial := self._trials.pop(wanted)) is None:
                self._awaited_requests[wanted] = wanted
            else:
                self._answers.append((wanted, trial))

    def _available_event(self, ask: Ask) -> SearchEvent | None:
        """Return a known trial that the search requested or predicted, else a change in idle workers, else None."""
        answer = self._answers.popleft() if self._answers else None
        # Requests that start next and answers that follow next need workers, too.
        room = max(self._idle_workers - len(self._next_requests) - len(self._answers), 0)
        if answer is not None:
            wanted, trial = answer
            return _cached_event(trial, room, wanted)
        for probable in ask.speculative:
            known = self._trials.get(probable)
            if known is not None and probable not in self._sent_speculative:
                self._sent_speculative.add(probable)
                return SearchEvent(None, room, known)
        return SearchEvent(None, room) if room and not self._awaited_count and room != self._last_idle_workers else None


def _cached_event(trial: Trial, idle_workers: int, asked: Request) -> SearchEvent:
    """Return the event that answers the request `asked` with a trial that was already paid for; its cost is 0."""
    return SearchEvent(replace(trial, request=asked, cost=0.0), idle_workers, request=asked)
