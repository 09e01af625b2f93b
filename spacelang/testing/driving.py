"""Driving an optimizer from a table or a function instead of real evaluations."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from spacelang.ir.asking import Ask, Later, Search, Told
from spacelang.ir.scale import UNIT, Scale
from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.proposals import Proposals

LossFunction = Callable[[Request], float | None]
"""The loss of a request; None where it fails."""


@dataclass(frozen=True)
class Driven:
    """What an optimizer asked for in earnest, with the answers, and whether it returned by itself.

    `early` has what ended before it was wanted, if it ever was, and `idle` how often a worker had nothing to do.
    """

    trials: tuple[Trial, ...]
    ended: bool
    early: tuple[Trial, ...] = ()
    idle: int = 0

    @property
    def requests(self) -> tuple[Request, ...]:
        return tuple(trial.request for trial in self.trials)


@dataclass
class SimulatedWorkers:
    """So many workers, who do first what was asked for in earnest, and end in the order in which they began."""

    count: int
    proposals: Proposals
    ask: Ask = field(default_factory=Ask)
    waiting: deque[Request] = field(default_factory=deque)
    running: deque[tuple[Request, bool]] = field(default_factory=deque)
    """What they are at, and whether it is wanted in earnest."""
    known: deque[Trial] = field(default_factory=deque)
    """What ended early and is wanted now."""
    early: dict[Request, Trial] = field(default_factory=dict)
    """What ended early and was not wanted since."""
    told: set[Request] = field(default_factory=set)
    wishes: dict[Request, deque[Request | Later]] = field(default_factory=dict)
    """What was begun in earnest and not told, those first that were first."""

    def take(self, ask: Ask) -> None:
        self.ask = ask
        for wish in map(self.proposals.wish, ask.begin):
            request = wish.request
            self.wishes.setdefault(request, deque()).append(wish.asked)
            if request in self.early:
                self.known.append(self.early.pop(request))
            elif (request, False) in self.running:
                self.running[self.running.index((request, False))] = request, True
            else:
                self.waiting.append(request)
        while self.waiting and (len(self.running) < self.count or self._give_up()):
            self.running.append((self.waiting.popleft(), True))
        for request in ask.ahead:
            if len(self.running) < self.count and self._is_new(request):
                self.running.append((request, False))

    @property
    def out(self) -> int:
        """How much is wanted in earnest and not told."""
        return len(self.waiting) + len(self.known) + sum(is_wanted for _, is_wanted in self.running)

    def _is_new(self, request: Request) -> bool:
        going = (*self.waiting, *(each for each, _ in self.running), *(each.request for each in self.known))
        return request not in self.told and request not in self.early and request not in going

    def _give_up(self) -> bool:
        unwanted = [place for place, (_, is_wanted) in enumerate(self.running) if not is_wanted]
        if unwanted:
            del self.running[unwanted[-1]]
        return bool(unwanted)


def drive(
    search: Search,
    objective: LossFunction,
    limit: int,
    known: Sequence[Trial] = (),
    scale: Scale = UNIT,
    *,
    workers: int = 1,
    seed: int = 0,
) -> Driven:
    """Answer a search until it returns or was told of `limit` trials, the first ones from what is known.

    Trials end in the order in which they were begun, with `workers` that do one at a time. `seed` is that of what the
    search leaves to be made later.
    """
    trials: list[Trial] = []
    early: list[Trial] = []
    crew, room, idle = SimulatedWorkers(workers, Proposals(seed)), None, 0

    def answer(request: Request) -> Trial:
        stored = known[len(trials)] if len(trials) < len(known) else None
        assert stored is None or stored.request == request, "a replay asks for the same trials"
        return stored or answered(request, objective(request), scale)

    try:
        crew.take(next(search))
        while True:
            ended: Trial | None = None
            asked: Request | Later | None = None
            probable: Trial | None = None
            if crew.out and len(trials) == limit:
                search.close()
                return Driven(tuple(trials), False, tuple(early), idle)
            idle += 0 if crew.known else workers - len(crew.running)
            if crew.known:
                ended = crew.known.popleft()
            elif crew.out:
                request, is_wanted = crew.running.popleft()
                ended, probable = (answer(request), None) if is_wanted else (None, answer(request))
            else:
                assert room != workers, "a search that waits for nothing asks for something"
            if ended is not None:
                trials.append(ended)
                crew.told.add(ended.request)
                asked = crew.wishes[ended.request].popleft()
            if probable is not None:
                early.append(probable)
                crew.early[probable.request] = probable
            room = max(workers - crew.out, 0)
            crew.take(search.send(Told(ended, room, probable, asked)))
    except StopIteration:
        assert not crew.out, "a search that returns waits for nothing"
        return Driven(tuple(trials), True, tuple(early), idle)


def answered(request: Request, loss: float | None, scale: Scale = UNIT) -> Trial:
    return Trial(request, loss, 1.0, Status.ERROR if loss is None else Status.SUCCESS, scale=scale)


def arbitrary(request: Request) -> float:
    """A loss in [0, 1) that depends on nothing but the request."""
    return crc32(f"{request.configuration.identity} {request.fidelity}".encode()) / 2**32


def moody(request: Request) -> float | None:
    """The same, but a third of all requests fail."""
    loss = arbitrary(request)
    return None if loss < 1 / 3 else loss


def failing(request: Request) -> None:
    """Everything fails."""
