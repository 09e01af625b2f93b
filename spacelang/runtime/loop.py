"""The loop: drives an optimizer with evaluations until the budget, the space or the user ends it.

It owns time, workers and memory; an optimizer owns none of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from spacelang.ir.scale import UNIT, Scale
from spacelang.ir.trial import Request, Search, Trial
from spacelang.runtime.agenda import Agenda, Route
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors import Executor, Finished, Job
from spacelang.runtime.history import Clock, Ending, History, Journal, Key, Outcome, Record, Unkept

KNOWN_ROUNDS: Final = 10_000
"""So many rounds in a row without anything new to evaluate mean that an optimizer has nothing left to ask for."""

RouteOf: TypeAlias = Callable[[Request], Route]
"""What a request can share with others: those whose routes begin alike are evaluated one after the other."""


class Listener(Protocol):
    """Who is told how a run goes on; what it raises ends the run."""

    def started(self, budget: Budget) -> None:
        """The run begins."""

    def trial(self, record: Record, best: Record) -> None:
        """A trial was evaluated; `best` is the best record so far, this one where none has succeeded."""

    def finished(self, outcome: Outcome) -> None:
        """The run has ended, by itself or by the user."""


class Silence:
    """A listener that ignores everything."""

    def started(self, budget: Budget) -> None:
        """Ignore it."""

    def trial(self, record: Record, best: Record) -> None:
        """Ignore it."""

    def finished(self, outcome: Outcome) -> None:
        """Ignore it."""


def run(
    search: Search,
    executor: Executor,
    budget: Budget,
    *,
    clock: Clock,
    training_size: int | None = None,
    listener: Listener | None = None,
    journal: Journal | None = None,
    route: RouteOf | None = None,
    scale: Scale | None = UNIT,
) -> Outcome:
    """Evaluate what the search asks for until it returns, the budget is exhausted or the user interrupts.

    A request that was answered before is answered from memory at no cost and is no new trial; a fidelity of
    `training_size` rows or more is the same as None. What the journal has of earlier sessions is replayed: it is told
    as it was told then, without an evaluation, and it counts in the budget. The requests of a round are evaluated by
    all workers, those that share work by their `route` one after the other; the search is answered in its own order,
    and told `scale`; None is that around the first success in this order.

    When this returns, trials may still go on that the end of the budget or the user cut short: whoever made the
    executor closes it. Raises only what the executor, the search, the listener or the journal raise.
    """
    told = Silence() if listener is None else listener
    kept = Unkept() if journal is None else journal
    history = History(clock, training_size, kept, scale)
    crew = _Crew(executor, budget, history, told, _nowhere if route is None else route)
    told.started(budget)
    try:
        ended = _drive(search, crew)
    except KeyboardInterrupt:
        ended = Ending.INTERRUPTED
    finally:
        search.close()
    outcome = history.outcome(ended, len(crew.begun))
    kept.end(ended.value, outcome.seconds)
    told.finished(outcome)
    return outcome


def _drive(search: Search, crew: "_Crew") -> Ending:
    history, known_rounds = crew.history, 0
    try:
        requests = next(search)
        while known_rounds < KNOWN_ROUNDS:
            before = len(history.records)
            answers = crew.answers(requests)
            if answers is None or (not history.unasked and crew.is_out_of_budget()):
                return Ending.BUDGET
            known_rounds = known_rounds + 1 if len(history.records) == before else 0
            requests = search.send(answers)
    except StopIteration:
        pass
    return Ending.EXHAUSTED


def _nowhere(_: Request) -> Route:
    return ()


@dataclass(slots=True)
class _Crew:
    """Those who answer requests: from memory, from earlier sessions, and at last by evaluating them."""

    executor: Executor
    budget: Budget
    history: History
    listener: Listener
    route: RouteOf
    begun: dict[int, float] = field(default_factory=dict)
    """When the jobs began that have not ended yet."""
    jobs: int = 0
    last: dict[str, Route] = field(default_factory=dict)
    """What each worker did last, with which it goes on in the next round."""

    def is_out_of_budget(self) -> bool:
        """Whether no further evaluation may start."""
        return self.budget.is_exhausted(self.history.now(), len(self.history.records))

    def answers(self, requests: Sequence[Request]) -> list[Trial] | None:
        """One trial a request; None where the budget ended before all of them were known."""
        fresh = self._unknown(requests)
        replayed = self.history.replay(fresh.values())
        for record in replayed:
            self._tell(record)
        told = {self.history.key(record.trial.request) for record in replayed}
        wanted = [request for key, request in fresh.items() if key not in told]
        if not self._evaluate(wanted):
            return None
        self.history.settle(requests)
        return [self._answer(request, fresh) for request in requests]

    def _unknown(self, requests: Sequence[Request]) -> dict[Key, Request]:
        """The requests that nobody has asked for in this session, each once."""
        fresh: dict[Key, Request] = {}
        for request in requests:
            key = self.history.key(request)
            if key not in self.history.memory:
                fresh.setdefault(key, request)
        return fresh

    def _answer(self, request: Request, fresh: dict[Key, Request]) -> Trial:
        """What the request has come to; whoever asked for it first is charged."""
        if fresh.pop(self.history.key(request), None) is None:
            return self.history.recall(request)
        return self.history.charge(request)

    def _evaluate(self, requests: Sequence[Request]) -> bool:
        """Whether all of these, which are all different, could be evaluated within the budget."""
        # In the order in which they were asked for, so that what a budget of trials cuts off depends on no worker.
        affordable = requests[: self.budget.trials_left(self.history.count)]
        agenda = Agenda([self._job(request) for request in affordable], self.route, self.last)
        while agenda or self.begun:
            self._start(agenda)
            if not self.begun:
                return False
            finished = self.executor.wait(self.budget.seconds_left(self.history.now()))
            for each in finished:
                self._keep(each)
            if not finished and self.is_out_of_budget():
                return False
        return len(affordable) == len(requests)

    def _job(self, request: Request) -> Job:
        self.jobs += 1
        return Job(self.jobs, request)

    def _start(self, agenda: Agenda) -> None:
        """Give everyone something to do who has nothing, as long as there is time."""
        while agenda and (free := self.executor.free):
            now = self.history.now()
            if self.budget.seconds_left(now) == 0:
                return
            job = agenda.take(free[0])
            self.begun[job.number] = now
            self.executor.start(free[0], job)

    def _keep(self, finished: Finished) -> None:
        started = self.begun.pop(finished.job.number)
        self._tell(self.history.add(finished.trial, started, finished.worker, finished.attempts))

    def _tell(self, record: Record) -> None:
        self.listener.trial(record, self.history.best or record)
