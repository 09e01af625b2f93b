"""Evaluation of the initial configurations of a run before its search starts."""

from collections import deque
from contextlib import closing
from dataclasses import replace
from typing import Any

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, LazyRequest, Problem, Search, SearchCoroutine, SearchEvent
from spacelang.ir.trial import Request, Trial


def with_initial_trials(optimizer: Any, problem: Problem) -> Search:
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
                    told = self._available_event(ask)
                    while told is None:
                        told = yield from self._wait_for_event(ask.speculative)
                    self._last_idle_workers = told.idle_workers
                    self._awaited_count -= told.finished is not None
                    ask = search.send(told)
            except StopIteration:
                while self._running:
                    yield from self._wait_for_event()

    def _wait_for_event(self, ahead: tuple[Request, ...] = ()) -> SearchCoroutine[SearchEvent | None]:
        """Wait for the next event; return the event for the search, or None if it does not concern the search."""
        told = yield Ask(self._next_requests, ahead)
        self._next_requests, self._idle_workers = (), told.idle_workers
        if told.finished is not None and id(told.request) in self._running:
            self._running.remove(id(told.request))
            request = told.finished.request
            if request in self._awaited_requests:
                return _cached_event(told.finished, told.idle_workers, self._awaited_requests.pop(request))
            self._trials[request] = told.finished
            told = SearchEvent(None, told.idle_workers)
        # A search that waits for no trial can do nothing without idle workers.
        return told if told.idle_workers or self._awaited_count else None

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


def _cached_event(trial: Trial, room: int, asked: Request) -> SearchEvent:
    """Return the event for a trial that was already paid for; its cost is 0."""
    return SearchEvent(replace(trial, request=asked, cost=0.0), room, request=asked)
