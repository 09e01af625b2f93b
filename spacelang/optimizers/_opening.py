"""Evaluation of the initial configurations of a run before its search starts."""

from collections import deque
from contextlib import closing
from dataclasses import replace
from typing import Any

from spacelang.ir.asking import Ask, Asking, Later, Search, Told
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Request, Trial


def begun(optimizer: Any, problem: Problem) -> Search:
    """Return the search of an optimizer, preceded by the initial configurations of its problem.

    They are evaluated unchanged, in their order and on all rows. If the search requests the same trials later, it
    receives these results, so nothing is evaluated twice. The search starts as soon as a worker is idle.
    """
    search: Search = optimizer.search(problem)
    return _Opening(problem.initial).before(search) if problem.initial else search


class _Opening:
    """The initial trials of a run: requests, results, and the events sent to the search."""

    def __init__(self, configurations: tuple[Configuration, ...]) -> None:
        self._requests = tuple(map(Request, configurations))
        self._out = {id(each) for each in self._requests}
        """The ids of the initial requests that are still running."""
        self._trials: dict[Request, Trial | None] = dict.fromkeys(self._requests)
        """The initial requests that the search has not made, each with its trial once it has finished."""
        self._owed: dict[Request, Request] = {}
        """The initial requests that the search has made while they run, each with the search's own request object."""
        self._answers: deque[tuple[Request, Trial]] = deque()
        """The finished trials that the search has requested and not received yet."""
        self._heard: set[Request] = set()
        """The requests whose trials were sent to the search as speculative ones."""
        self._begin: tuple[Request | Later, ...] = self._requests
        """The requests to start next."""
        self._room = 0
        self._room_told: int | None = None
        """The number of idle workers in the last event sent to the search."""
        self._waits_for = 0
        """How many trials the search waits for."""

    def before(self, search: Search) -> Search:
        """Evaluate the initial configurations, and run the search on the workers that they leave idle."""
        with closing(search):
            self._room = (yield Ask()).room - len(self._requests)
            while self._room <= 0:
                yield from self._wait()
            try:
                ask = next(search)
                while True:
                    self._take(ask)
                    told = self._known(ask)
                    while told is None:
                        told = yield from self._wait(ask.ahead)
                    self._room_told = told.room
                    self._waits_for -= told.ended is not None
                    ask = search.send(told)
            except StopIteration:
                while self._out:
                    yield from self._wait()

    def _wait(self, ahead: tuple[Request, ...] = ()) -> Asking[Told | None]:
        """Wait for the next event; return the event for the search, or None if it does not concern the search."""
        told = yield Ask(self._begin, ahead)
        self._begin, self._room = (), told.room
        if told.ended is not None and id(told.asked) in self._out:
            self._out.remove(id(told.asked))
            request = told.ended.request
            if request in self._owed:
                return _repeated(told.ended, told.room, self._owed.pop(request))
            self._trials[request] = told.ended
            told = Told(None, told.room)
        # A search that waits for no trial can do nothing without idle workers.
        return told if told.room or self._waits_for else None

    def _take(self, ask: Ask) -> None:
        """Register the requests of the search.

        New ones are forwarded. The others are answered by the initial trials, each once.
        """
        self._waits_for += len(ask.begin)
        for wanted in ask.begin:
            if isinstance(wanted, Later) or wanted not in self._trials:
                self._begin += (wanted,)
            elif (trial := self._trials.pop(wanted)) is None:
                self._owed[wanted] = wanted
            else:
                self._answers.append((wanted, trial))

    def _known(self, ask: Ask) -> Told | None:
        """Return an event that the search can receive at once, or None.

        The event is the trial of a requested or a speculative request that is already known, or a change in the number
        of idle workers.
        """
        answer = self._answers.popleft() if self._answers else None
        # Requests that start next and answers that follow next need workers, too.
        room = max(self._room - len(self._begin) - len(self._answers), 0)
        if answer is not None:
            wanted, trial = answer
            return _repeated(trial, room, wanted)
        for probable in ask.ahead:
            known = self._trials.get(probable)
            if known is not None and probable not in self._heard:
                self._heard.add(probable)
                return Told(None, room, known)
        return Told(None, room) if room and not self._waits_for and room != self._room_told else None


def _repeated(trial: Trial, room: int, asked: Request) -> Told:
    """Return the event for a trial that was already paid for; its cost is 0."""
    return Told(replace(trial, request=asked, cost=0.0), room, asked=asked)
