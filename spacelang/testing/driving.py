"""Drive a search with losses from a function or from stored trials instead of real evaluations."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from spacelang.deprecation import make_module_getattr
from spacelang.ir.search_protocol import Ask, LazyRequest, Search, SearchEvent
from spacelang.ir.trial import UNIT_SCALE, LossScale, Request, Status, Trial
from spacelang.runtime.request_queue import LazyRequestRegistry

LossFunction = Callable[[Request], float | None]  # A function from a request to its loss, or None if the trial fails


@dataclass(frozen=True)
class SearchLog:
    """The log of a driven search: its committed trials in order, and True in `returned` if the search ended itself."""

    trials: tuple[Trial, ...]
    returned: bool
    speculative: tuple[Trial, ...] = ()
    idle_count: int = 0

    @property
    def requests(self) -> tuple[Request, ...]:
        """The committed requests, in the order in which they ended."""
        return tuple(trial.request for trial in self.trials)


@dataclass
class SimulatedWorkers:
    """`count` simulated workers: they run committed (not speculative) requests first and finish in starting order."""

    count: int
    proposals: LazyRequestRegistry
    ask: Ask = field(default_factory=Ask)
    waiting: deque[Request] = field(default_factory=deque)
    running: deque[tuple[Request, bool]] = field(default_factory=deque)
    """The running requests, and whether each is committed."""
    finished_requested: deque[Trial] = field(default_factory=deque)
    """Trials that finished as speculative ones and are now requested by the search."""
    finished_speculative: dict[Request, Trial] = field(default_factory=dict)
    """Trials that finished as speculative ones and were not requested since, by request."""
    reported: set[Request] = field(default_factory=set)
    unreported: dict[Request, deque[Request | LazyRequest]] = field(default_factory=dict)
    """Committed requests that were not reported yet, in order, by the request that is evaluated."""

    def accept(self, ask: Ask) -> None:
        """Queue the committed requests of an ask, and start as many requests as there are workers.

        Committed requests start first and replace running speculative ones if no worker is idle. Speculative requests
        start on the workers that remain idle.
        """
        self.ask = ask
        for committed in map(self.proposals.commit, ask.requests):
            request = committed.request
            self.unreported.setdefault(request, deque()).append(committed.asked)
            if request in self.finished_speculative:
                self.finished_requested.append(self.finished_speculative.pop(request))
            elif (request, False) in self.running:
                self.running[self.running.index((request, False))] = request, True
            else:
                self.waiting.append(request)
        while self.waiting and (len(self.running) < self.count or self._drop_speculative()):
            self.running.append((self.waiting.popleft(), True))
        for request in ask.speculative:
            if len(self.running) < self.count and self._is_new(request):
                self.running.append((request, False))

    @property
    def unreported_request_count(self) -> int:
        """The number of committed requests that were not reported yet."""
        return len(self.waiting) + len(self.finished_requested) + sum(is_wanted for _, is_wanted in self.running)

    def _is_new(self, request: Request) -> bool:
        going = [*self.waiting, *(each for each, _ in self.running)]
        going += [each.request for each in self.finished_requested]
        return all(request not in each for each in (self.reported, self.finished_speculative, going))

    def _drop_speculative(self) -> bool:
        """Drop the latest running speculative request, if any, and return True if there was one."""
        unwanted = [place for place, (_, is_wanted) in enumerate(self.running) if not is_wanted]
        if unwanted:
            del self.running[unwanted[-1]]
        return bool(unwanted)


def drive_search(
    search: Search,
    objective: LossFunction,
    limit: int,
    known: Sequence[Trial] = (),
    scale: LossScale = UNIT_SCALE,
    *,
    workers: int = 1,
    seed: int = 0,
) -> SearchLog:
    """Answer a search until it returns or `limit` committed trials were reported.

    The first trials are taken from `known`. The search must request these again, as in a resumed run. Each of the
    `workers` does one trial at a time, and trials end in the order in which they were started. `seed` seeds the lazy
    requests of the search.
    """
    trials: list[Trial] = []
    early: list[Trial] = []
    crew, room, idle = SimulatedWorkers(workers, LazyRequestRegistry(seed)), None, 0

    def answer(request: Request) -> Trial:
        stored = known[len(trials)] if len(trials) < len(known) else None
        assert stored is None or stored.request == request, "a replay requests the same trials"
        return stored or make_trial(request, objective(request), scale)

    try:
        crew.accept(next(search))
        while True:
            ended: Trial | None = None
            probable: Trial | None = None
            asked: Request | LazyRequest | None = None
            if crew.unreported_request_count and len(trials) == limit:
                search.close()
                return SearchLog(tuple(trials), False, tuple(early), idle)
            idle += 0 if crew.finished_requested else workers - len(crew.running)
            if crew.finished_requested:
                ended = crew.finished_requested.popleft()
            elif crew.unreported_request_count:
                request, is_wanted = crew.running.popleft()
                ended, probable = (answer(request), None) if is_wanted else (None, answer(request))
            else:
                assert room != workers, "a search without pending trials requests something"
            if ended is not None:
                trials.append(ended)
                crew.reported.add(ended.request)
                asked = crew.unreported[ended.request].popleft()
            if probable is not None:
                early.append(probable)
                crew.finished_speculative[probable.request] = probable
            room = max(workers - crew.unreported_request_count, 0)
            crew.accept(search.send(SearchEvent(ended, room, probable, asked)))
    except StopIteration:
        assert not crew.unreported_request_count, "a search that returns has no pending trials"
        return SearchLog(tuple(trials), True, tuple(early), idle)


def make_trial(request: Request, loss: float | None, scale: LossScale = UNIT_SCALE) -> Trial:
    """Return the trial of a request with a loss; None makes it a failed trial."""
    return Trial(request, loss, 1.0, Status.ERROR if loss is None else Status.SUCCESS, scale=scale)


def hash_loss(request: Request) -> float:
    """Return a loss in [0, 1) that is a hash of the request."""
    return crc32(f"{request.configuration.identity} {request.fidelity}".encode()) / 2**32


def flaky_loss(request: Request) -> float | None:
    """Return a loss as `hash_loss` does, or None for the third of all requests that fail."""
    loss = hash_loss(request)
    return None if loss < 1 / 3 else loss


def failing_loss(request: Request) -> None:
    """Return None: every request fails."""


__getattr__ = make_module_getattr(__name__, {
    "Driven": "SearchLog", "answered": "make_trial", "arbitrary": "hash_loss", "drive": "drive_search",
    "failing": "failing_loss", "moody": "flaky_loss",
})  # fmt: skip
