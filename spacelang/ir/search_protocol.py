"""The `Problem` of a search, and the protocol between a search (a coroutine) and whoever evaluates its trials.

A search is a generator. It yields an `Ask` and is sent a `SearchEvent`, again and again. Its behaviour depends only on
its seed and on the events that it receives. The caller reports every started trial exactly once, in the order in which
the trials finish. A slow trial therefore delays only those parts of a search that need its result:

    event = yield Ask(requests=(first, second))  # start two trials, both committed
    event.finished                               # the trial that finished first
    event = yield Ask(requests=(third,))         # the other trial is still running

A request that is expensive to propose is asked for as a `LazyRequest`. A resumed run does not compute it again:

    event = yield Ask(requests=(LazyRequest(propose),))  # `propose` takes a random generator and returns a `Request`
    event.request, event.finished.request                # the `LazyRequest` itself, and the request that it returned
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from spacelang.deprecation import renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.ir.task import AnyBound
from spacelang.ir.trial import Request, Trial

if TYPE_CHECKING:
    from numpy import random


T = TypeVar("T")


@renamed_attributes(begun="on_start")
@dataclass(frozen=True, slots=True, eq=False)
class LazyRequest:
    """A lazy request, computed only when its trial starts, and not computed again once that trial is stored.

    `make` is called with a random generator that is derived from the seed and from the number of the trial in the run.
    Its result may depend on the events that the search has received and on that generator. It must have no side effects
    that later steps depend on, because a resumed run does not call it if the trial is already stored. Information that
    the search needs later belongs into the `memo` of the request. Two lazy requests never compare equal.

    `on_start` is a callback that receives the request when the trial starts, whether `make` was called or the stored
    trial is replayed. Subsequent proposals may therefore depend on which trials are running.
    """

    make: "Callable[[random.Generator], Request]"
    on_start: Callable[[Request], None] | None = None


@renamed_attributes(begin="requests", ahead="speculative")
@dataclass(frozen=True, slots=True)
class Ask:
    """A batch of trials that a search wants to start; `Ask()` starts nothing and waits for the next event.

    The trials in `requests` are committed: they are started in this order, and their results will be used. Those in
    `speculative` are speculative: the search will probably want them. They are listed from the likeliest to the least
    likely and are started only on idle workers. Each `Ask` replaces the speculative requests of the previous one.
    """

    requests: tuple[Request | LazyRequest, ...] = ()
    speculative: tuple[Request, ...] = ()


@renamed_attributes(ended="finished", early="speculative", room="idle_workers", asked="request")
@dataclass(frozen=True, slots=True)
class SearchEvent:
    """An event sent to a search: a finished trial, a trial that finished ahead of time, or a change in idle workers.

    `finished` is a committed trial that has finished. `speculative` is a speculative trial that has finished before the
    search committed to it. A search may use `speculative` only to choose its next speculative requests. If it requests
    the trial later, the same trial is reported again at once as `finished`.

    `idle_workers` is the number of workers without committed work. It is the number of workers minus the committed
    trials that were started but not reported yet, and at least 0.

    `request` is the very object (the request or lazy request) that the finished trial answers, and None if no trial has
    finished. By default it is the trial's request.
    """

    finished: Trial | None
    idle_workers: int
    speculative: Trial | None = None
    request: Request | LazyRequest | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.request is None and self.finished is not None:
            object.__setattr__(self, "request", self.finished.request)


class StalledSearchError(Exception):
    """A search that requests nothing while no trial is running, so it would never receive another event."""


SearchCoroutine: TypeAlias = Generator[Ask, SearchEvent, T]
"""A coroutine that may ask for trials before it returns its result."""
Search: TypeAlias = SearchCoroutine[None]
"""A whole search, as every optimizer makes one; it returns when the space is exhausted."""


def ask_all(
    requests: Iterable[Request | LazyRequest], ahead: Iterable[Request] = ()
) -> SearchCoroutine[tuple[Trial, ...]]:
    """Start all requests, wait for all their trials, and return the trials in the order of the requests.

    The requests in `ahead` are speculative for as long as this round lasts. If `requests` is empty, nothing is yielded.
    """
    wanted, probable = tuple(requests), tuple(ahead)
    answers: dict[int, Trial] = {}
    places: dict[int, deque[int]] = {}
    for place, request in enumerate(wanted):
        places.setdefault(id(request), deque()).append(place)
    begin = wanted
    while len(answers) < len(wanted):
        event = yield Ask(begin, probable)
        begin = ()
        if event.finished is not None:
            answers[places[id(event.request)].popleft()] = event.finished
    return tuple(answers[place] for place in range(len(wanted)))


def gather(parts: Sequence[SearchCoroutine[T]]) -> SearchCoroutine[tuple[T, ...]]:
    """Run several search coroutines concurrently and return their results in the order of `parts`.

    Each part receives the events of its own trials. A speculative trial that finishes is reported to the parts that
    have it among their speculative requests. After every event, each part that waits for no trial receives an event
    with the number of idle workers; earlier parts come first.
    """
    going: _RunningParts[T] = _RunningParts()
    try:
        begin = tuple(request for part in parts for request in going.add(part))
        while going:
            event = yield Ask(begin, going.speculative)
            begin = going.send_event(event)
            for number in going.waiting_for_nothing:
                begin += going.resume(number, SearchEvent(None, max(event.idle_workers - len(begin), 0)))
    finally:
        going.close()
    return tuple(going.results[number] for number in range(len(parts)))


@dataclass(slots=True)
class _RunningParts(Generic[T]):
    results: dict[int, T] = field(default_factory=dict)
    _running: dict[int, SearchCoroutine[T]] = field(default_factory=dict)
    _askers: dict[int, deque[int]] = field(default_factory=dict)
    """The numbers of the parts that wait for each requested object, in the order in which they asked for it.

    Keys are `id(request)`, because equal requests may differ in their time limit and memo. The ids stay valid because
    the caller holds the objects until it has reported their trials.
    """
    _pending: dict[int, int] = field(default_factory=dict)
    """For each running part, the number of trials that it waits for."""
    _speculative: dict[int, tuple[Request, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._running)

    @property
    def waiting_for_nothing(self) -> tuple[int, ...]:
        return tuple(number for number in self._running if not self._pending[number])

    @property
    def speculative(self) -> tuple[Request, ...]:
        """The speculative requests of all parts, interleaved: the first of each part, then the second of each, ..."""
        turns = max(map(len, self._speculative.values()), default=0)
        return tuple(each[turn] for turn in range(turns) for each in self._speculative.values() if turn < len(each))

    def add(self, part: SearchCoroutine[T]) -> tuple[Request | LazyRequest, ...]:
        number = len(self._running) + len(self.results)
        self._running[number], self._pending[number] = part, 0
        return self.resume(number, None)

    def send_event(self, event: SearchEvent) -> tuple[Request | LazyRequest, ...]:
        if event.finished is not None:
            askers = self._askers[id(event.request)]
            number = askers.popleft()
            if not askers:
                del self._askers[id(event.request)]
            self._pending[number] -= 1
            return self.resume(number, event)
        early = None if event.speculative is None else event.speculative.request
        who = [number for number, wishes in self._speculative.items() if early in wishes]
        event = SearchEvent(None, event.idle_workers, event.speculative)
        return tuple(request for number in who for request in self.resume(number, event))

    def resume(self, number: int, event: SearchEvent | None) -> tuple[Request | LazyRequest, ...]:
        """Resume a part with an event, or start it if `event` is None; return the requests that it wants to start."""
        part = self._running[number]
        try:
            ask = next(part) if event is None else part.send(event)
        except StopIteration as end:
            self.results[number] = end.value
            assert not self._pending[number], "a search coroutine must not return while its trials are pending"
            del self._running[number], self._pending[number]
            self._speculative.pop(number, None)
            return ()
        self._pending[number] += len(ask.requests)
        for request in ask.requests:
            self._askers.setdefault(id(request), deque()).append(number)
        self._speculative[number] = ask.speculative
        return ask.requests

    def close(self) -> None:
        for part in self._running.values():
            part.close()


@dataclass(frozen=True, slots=True)
class TotalBudget:
    """The budget of a search (None: unlimited): worker seconds and trials.

    `seconds` is the wall-clock time times the number of workers.
    """

    seconds: float | None = None
    trials: int | None = None


@dataclass(frozen=True, slots=True)
class StartConditions:
    """The conditions under which a run starts; a resumed run keeps those of its first session.

    `initial` holds the initial configurations without duplicates. None means those of the earlier session, or none for
    a new run.
    """

    initial: tuple[Configuration, ...] | None = None
    budget: TotalBudget = TotalBudget()


DEFAULT_START: Final = StartConditions()


def ignore_remark(_: str) -> None:
    """Discard a remark."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A search problem: everything that an optimizer knows before its first request.

    Parameters
    ----------
    space
        The search space.
    size
        The largest fidelity: the number of training rows.
    rng
        The random generator; a search makes all its random draws with it.
    initial
        Configurations of the space, without duplicates, to start from. The caller evaluates them on all rows before
        any trial that the search asks for. A later request for one of them is answered with that result.
    budget
        The budget at the start of the run, so that an optimizer can divide it. The caller enforces it. A run that
        is resumed with a larger budget still sees the original one.
    bounds
        The bounds that successful trials have measurements for, in the same order.
    remark
        A function that receives full sentences about the course of the search, to be shown to the user. The caller
        shows each sentence once. A resumed run must produce the same remarks, so remarks may depend on received
        events only, not on the results of lazy requests.
    fidelities
        The only fidelities that can be evaluated, ascending, with `size` as the last one; empty if every number of
        training rows can be.
    objectives
        The number of objectives. With several, each successful trial has its values in `Trial.objectives`.
    """

    space: Space
    size: int
    rng: "random.Generator"
    initial: tuple[Configuration, ...] = ()
    budget: TotalBudget = TotalBudget()
    bounds: tuple[AnyBound, ...] = ()
    remark: Callable[[str], None] = ignore_remark
    fidelities: tuple[int, ...] = ()
    objectives: int = 1
