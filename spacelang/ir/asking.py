"""Asking: how a search says which trials it wants, and how it is told what came of them, one by one.

A search is a generator. It yields an `Ask` and is sent a `Told`, again and again; what it does depends on nothing but
its seed and what it was told. Whoever answers tells every trial that was begun exactly once, in the order in which they
end, so that one slow trial holds up nobody but those who need it:

    told = yield Ask(begin=(first, second))   # both are wanted in earnest
    told.ended                                # the one of them that has ended first
    told = yield Ask(begin=(third,))          # the other one goes on meanwhile

What takes time to propose is begun as a `Later`, which a resumed run does not make again:

    told = yield Ask(begin=(Later(propose),))  # `propose` draws a request from the generator that it is given
    told.asked, told.ended.request             # that `Later`, and what it has made
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from spacelang.ir.trial import Request, Trial

if TYPE_CHECKING:
    from numpy import random

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Later:
    """A request that takes time to make: it is made where it is begun, and never again once its trial is kept.

    `make` may depend on what the search was told and on the generator that it is given, which is that of its number in
    the run and of the seed. What it leaves behind must not matter to anything that comes after it, as a resumed run
    does not call it where the trial is known; what the search wants to know of it goes into the `memo` of the request.
    Two of them are never equal.

    `begun` is told the request as soon as it is begun, whether it was made now or its trial is kept: what the search
    makes next may depend on what is under way.
    """

    make: "Callable[[random.Generator], Request]"
    begun: Callable[[Request], None] | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """What a search wants: nothing new is an `Ask()`, after which it is told of what it has asked for before.

    The trials of `begin` are wanted in earnest and are begun in this order. Those of `ahead` will probably be wanted,
    the likeliest first; they are begun where a worker has nothing else to do. They take the place of what was said to
    be probable before.
    """

    begin: tuple[Request | Later, ...] = ()
    ahead: tuple[Request, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """What a search is told: of a trial that has `ended`, of one that has `early`, or only that the room has changed.

    A trial that ends early was probable and is not wanted in earnest yet: what came of it may guide what is probable
    next, and nothing else. It is told once more, at once, when it is wanted. `room` is how many workers have nothing to
    do in earnest: their number less the trials that were begun in earnest and were not told yet, and at least 0.

    `asked` is the very object that was begun and that the trial which has ended is told for; None where none has ended.
    Where it is not said, that is the request of the trial.
    """

    ended: Trial | None
    room: int
    early: Trial | None = None
    asked: Request | Later | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """What was asked for is the request that has ended, unless it was something else."""
        if self.asked is None and self.ended is not None:
            object.__setattr__(self, "asked", self.ended.request)


class IdleSearchError(Exception):
    """A search that asks for nothing and waits for nothing: it would never be told anything."""


Asking: TypeAlias = Generator[Ask, Told, T]
"""A part of a search that may ask for trials before it has its result."""

Search: TypeAlias = Asking[None]
"""What every optimizer is; it returns when it has nothing left to ask for: the space is exhausted."""


def together(requests: Iterable[Request | Later], ahead: Iterable[Request] = ()) -> Asking[tuple[Trial, ...]]:
    """Begin all requests, wait for all of them, and give what came of them in their order: a round.

    Nothing is asked where there are no requests.
    """
    wanted, probable = tuple(requests), tuple(ahead)
    answers: dict[int, Trial] = {}
    places: dict[int, deque[int]] = {}
    for place, request in enumerate(wanted):
        places.setdefault(id(request), deque()).append(place)
    begin = wanted
    while len(answers) < len(wanted):
        told = yield Ask(begin, probable)
        begin = ()
        if told.ended is not None:
            answers[places[id(told.asked)].popleft()] = told.ended
    return tuple(answers[place] for place in range(len(wanted)))


def side_by_side(parts: Sequence[Asking[T]]) -> Asking[tuple[T, ...]]:
    """All parts at once, each told of its own trials; their results, in their order.

    What ended early is told to those who have said that they will
    probably want it. A part that waits for no trial, and has not returned, is told how much room there is whenever
    anything is told, those first that stand first.
    """
    going: _Parts[T] = _Parts()
    try:
        begin = tuple(request for part in parts for request in going.add(part))
        while going:
            told = yield Ask(begin, going.ahead)
            begin = going.tell(told)
            for number in going.idle:
                begin += going.advance(number, Told(None, max(told.room - len(begin), 0)))
    finally:
        going.close()
    return tuple(going.results[number] for number in range(len(parts)))


@dataclass(slots=True)
class _Parts(Generic[T]):
    """The parts that go on, by their numbers from 0, and the results of those that have returned."""

    results: dict[int, T] = field(default_factory=dict)
    _going: dict[int, Asking[T]] = field(default_factory=dict)
    _asked: dict[int, deque[int]] = field(default_factory=dict)
    """Who has asked for which object and was not told yet, those first who asked first.

    Equal requests may differ in what they may take and in what is to be remembered, and whoever answers holds the
    objects until they are told: so they are known by their places in memory.
    """
    _out: dict[int, int] = field(default_factory=dict)
    """Of each part that goes on, for how many trials it waits."""
    _ahead: dict[int, tuple[Request, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._going)

    @property
    def idle(self) -> tuple[int, ...]:
        """Those that wait for no trial."""
        return tuple(number for number in self._going if not self._out[number])

    @property
    def ahead(self) -> tuple[Request, ...]:
        """What the parts will probably want, theirs in turn."""
        turns = max(map(len, self._ahead.values()), default=0)
        return tuple(wishes[turn] for turn in range(turns) for wishes in self._ahead.values() if turn < len(wishes))

    def add(self, part: Asking[T]) -> tuple[Request | Later, ...]:
        """Begin another part; what it wants to begin."""
        number = len(self._going) + len(self.results)
        self._going[number], self._out[number] = part, 0
        return self.advance(number, None)

    def tell(self, told: Told) -> tuple[Request | Later, ...]:
        """Tell whom it concerns of a trial; what they want to begin now."""
        if told.ended is not None:
            askers = self._asked[id(told.asked)]
            number = askers.popleft()
            if not askers:
                del self._asked[id(told.asked)]
            self._out[number] -= 1
            return self.advance(number, told)
        early = None if told.early is None else told.early.request
        who = [number for number, wishes in self._ahead.items() if early in wishes]
        return tuple(request for number in who for request in self.advance(number, Told(None, told.room, told.early)))

    def advance(self, number: int, told: Told | None) -> tuple[Request | Later, ...]:
        """Tell a part, which begins where it is told nothing; what it wants to begin now."""
        part = self._going[number]
        try:
            ask = next(part) if told is None else part.send(told)
        except StopIteration as end:
            self.results[number] = end.value
            assert not self._out[number], "a part that returns waits for nothing"
            del self._going[number], self._out[number]
            self._ahead.pop(number, None)
            return ()
        self._out[number] += len(ask.begin)
        for request in ask.begin:
            self._asked.setdefault(id(request), deque()).append(number)
        self._ahead[number] = ask.ahead
        return ask.begin

    def close(self) -> None:
        """End all parts that go on."""
        for part in self._going.values():
            part.close()
