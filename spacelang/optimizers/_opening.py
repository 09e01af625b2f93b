"""The opening of a run: the configurations that it starts from are evaluated before a search begins."""

from collections import deque
from contextlib import closing
from dataclasses import replace
from typing import Any

from spacelang.ir.asking import Ask, Asking, Later, Search, Told
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Request, Trial


def begun(optimizer: Any, problem: Problem) -> Search:
    """The search of an optimizer, the initial configurations of its problem first.

    They are evaluated as they are given, in their order and on all rows, and answer the search where it asks for the
    same: nothing is evaluated twice. The search begins as soon as there is room.
    """
    search: Search = optimizer.search(problem)
    return _Opening(problem.initial).before(search) if problem.initial else search


class _Opening:
    """What was asked for before a search, what came of it, and whether the search was told."""

    def __init__(self, configurations: tuple[Configuration, ...]) -> None:
        self._requests = tuple(map(Request, configurations))
        self._out = {id(each) for each in self._requests}
        """What has not ended."""
        self._trials: dict[Request, Trial | None] = dict.fromkeys(self._requests)
        """What the search has not asked for, with what came of it once that is known."""
        self._owed: dict[Request, Request] = {}
        """What the search has asked for that has not ended, and the very object that it has."""
        self._answers: deque[tuple[Request, Trial]] = deque()
        """What the search has asked for that was known."""
        self._heard: set[Request] = set()
        """What the search was told before it has asked for it."""
        self._begin: tuple[Request | Later, ...] = self._requests
        """What is begun next."""
        self._room = 0
        self._room_told: int | None = None
        """How much room there was when the search was told last."""
        self._waits_for = 0
        """For how many trials the search waits."""

    def before(self, search: Search) -> Search:
        """Have all of it evaluated, and the search go on where there is room beside it."""
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
        """Wait for anything; what the search is told of it, None where that does not concern it."""
        told = yield Ask(self._begin, ahead)
        self._begin, self._room = (), told.room
        if told.ended is not None and id(told.asked) in self._out:
            self._out.remove(id(told.asked))
            request = told.ended.request
            if request in self._owed:
                return _repeated(told.ended, told.room, self._owed.pop(request))
            self._trials[request] = told.ended
            told = Told(None, told.room)
        # A search that waits for nothing could do nothing without room.
        return told if told.room or self._waits_for else None

    def _take(self, ask: Ask) -> None:
        """Note what a search wants: what nobody has begun is begun, and it is told of the rest, each once."""
        self._waits_for += len(ask.begin)
        for wanted in ask.begin:
            if isinstance(wanted, Later) or wanted not in self._trials:
                self._begin += (wanted,)
            elif (trial := self._trials.pop(wanted)) is None:
                self._owed[wanted] = wanted
            else:
                self._answers.append((wanted, trial))

    def _known(self, ask: Ask) -> Told | None:
        """What a search is told that is known: what it has asked for, what it will probably want, how much room is."""
        answer = self._answers.popleft() if self._answers else None
        # What is begun next takes room, and so does what is told next.
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
    """What is told of a trial that was paid for before."""
    return Told(replace(trial, request=asked, cost=0.0), room, asked=asked)
