"""The loop: drives an optimizer with evaluations until the budget, the space or the user ends it.

It owns time, limits and memory; an optimizer owns none of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Protocol, TypeAlias

from spacelang.ir.trial import Request, Search, Status, Trial, loss_of
from spacelang.runtime.budget import Budget

Evaluate: TypeAlias = Callable[[Request], Trial]
Clock: TypeAlias = Callable[[], float]

KNOWN_ROUNDS: Final = 10_000
"""So many rounds in a row without anything new to evaluate mean that an optimizer has nothing left to ask for."""


class Ending(StrEnum):
    """Why a run ended."""

    BUDGET = "budget"
    EXHAUSTED = "exhausted"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Record:
    """An evaluated trial: its number, counted from 1, and when it began and ended, in seconds since the run did."""

    index: int
    trial: Trial
    started: float
    finished: float


@dataclass(frozen=True, slots=True)
class Improvement:
    """A point of the incumbent curve: from `seconds` on, `loss` was the best, found by the trial of that number."""

    seconds: float
    trial: int
    loss: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run found, and how it ended.

    `incumbent` is the first record with the smallest loss among evaluations on all training rows,
    `best_any_fidelity` among all evaluations; `curve` is the incumbent's, or that of the other where no evaluation had
    all training rows; `answered` counts the requests that were answered from memory. All three are of trials that keep
    to the bounds of the task; `least_infeasible` is, of the others, the first that breaks them the least.
    """

    records: tuple[Record, ...]
    incumbent: Record | None
    best_any_fidelity: Record | None
    curve: tuple[Improvement, ...]
    ended: Ending
    seconds: float
    answered: int = 0
    least_infeasible: Record | None = None

    @property
    def best(self) -> Record | None:
        """The incumbent; where nothing was evaluated on all rows, the best of the rest; None without a success.

        Any trial that keeps to the bounds comes before all that do not.
        """
        return self.incumbent or self.best_any_fidelity or self.least_infeasible

    @property
    def failed(self) -> int:
        """The number of trials that failed."""
        return sum(record.trial.status is Status.FAILED for record in self.records)

    @property
    def infeasible(self) -> int:
        """The number of trials that succeeded and break a bound of the task."""
        return sum(not record.trial.is_feasible for record in self.records)


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


class Journal(Protocol):
    """What the loop needs of whoever keeps the trials of a run."""

    @property
    def seconds(self) -> float:
        """How long the run took in its earlier sessions; its clock goes on from there."""
        ...

    @property
    def records(self) -> Sequence[Record]:
        """The trials of the earlier sessions in the order in which they ended."""
        ...

    def append(self, record: Record) -> None:
        """Keep a trial; it is safe when this returns, and only then the optimizer is told."""
        ...

    def end(self, ending: str, seconds: float) -> None:
        """The session ended in order."""
        ...


class Unkept:
    """A journal that keeps nothing."""

    seconds = 0.0
    records: Sequence[Record] = ()

    def append(self, record: Record) -> None:
        """Forget it."""

    def end(self, ending: str, seconds: float) -> None:
        """Forget it."""


def run(
    search: Search,
    evaluate: Evaluate,
    budget: Budget,
    *,
    clock: Clock,
    training_size: int | None = None,
    listener: Listener | None = None,
    journal: Journal | None = None,
) -> Outcome:
    """Evaluate what the search asks for until it returns, the budget is exhausted or the user interrupts.

    A request that was answered before is answered from memory at no cost and is no new trial; a fidelity of
    `training_size` rows or more is the same as None. What the journal has of earlier sessions is replayed: it is told
    as it was told then, without an evaluation, and it counts in the budget. Raises only what `evaluate`, the search,
    the listener or the journal raise.
    """
    told = Silence() if listener is None else listener
    kept = Unkept() if journal is None else journal
    history = _History(clock, training_size, kept)
    told.started(budget)
    try:
        ended = _drive(search, evaluate, budget, history, told)
    except KeyboardInterrupt:
        ended = Ending.INTERRUPTED
    finally:
        search.close()
    outcome = history.outcome(ended)
    kept.end(ended.value, outcome.seconds)
    told.finished(outcome)
    return outcome


def _drive(search: Search, evaluate: Evaluate, budget: Budget, history: "_History", listener: Listener) -> Ending:
    known_rounds = 0
    try:
        requests = next(search)
        while known_rounds < KNOWN_ROUNDS:
            before = len(history.records)
            answers = _answers(requests, evaluate, budget, history, listener)
            if answers is None or (not history.unasked and budget.is_exhausted(history.now(), len(history.records))):
                return Ending.BUDGET
            known_rounds = known_rounds + 1 if len(history.records) == before else 0
            requests = search.send(answers)
    except StopIteration:
        pass
    return Ending.EXHAUSTED


def _answers(
    requests: Sequence[Request], evaluate: Evaluate, budget: Budget, history: "_History", listener: Listener
) -> list[Trial] | None:
    """One trial a request; None where the budget ended before all of them were known."""
    answers = []
    for request in requests:
        known = history.recall(request)
        if known is not None:
            answers.append(known)
            continue
        earlier = history.replay(request)
        if earlier is not None:
            listener.trial(earlier, history.best or earlier)
            answers.append(replace(earlier.trial, request=request))
            continue
        started = history.now()
        if budget.is_exhausted(started, len(history.records)):
            return None
        trial = evaluate(request)
        record = history.add(trial, started)
        listener.trial(record, history.best or record)
        answers.append(trial)
    return answers


@dataclass(slots=True)
class _History:
    """What has happened so far."""

    clock: Clock
    training_size: int | None
    journal: Journal
    records: list[Record] = field(default_factory=list)
    curve: list[Improvement] = field(default_factory=list)
    curve_any_fidelity: list[Improvement] = field(default_factory=list)
    incumbent: Record | None = None
    best_any_fidelity: Record | None = None
    least_infeasible: Record | None = None
    answered: int = 0
    memory: dict[tuple[str, int | None], Trial] = field(default_factory=dict)
    unasked: dict[tuple[str, int | None], Record] = field(default_factory=dict)
    """What earlier sessions evaluated and this one has not asked for yet."""
    beginning: float = field(init=False)
    last: int = field(init=False)

    def __post_init__(self) -> None:
        self.beginning = self.clock() - self.journal.seconds
        earlier = self.journal.records
        self.unasked.update((self._key(record.trial.request), record) for record in earlier)
        self.last = max((record.index for record in earlier), default=0)

    @property
    def best(self) -> Record | None:
        return self.incumbent or self.best_any_fidelity or self.least_infeasible

    def now(self) -> float:
        """Seconds since the run began."""
        return self.clock() - self.beginning

    def recall(self, request: Request) -> Trial | None:
        """The answer that the request had before, now free of charge."""
        trial = self.memory.get(self._key(request))
        if trial is None:
            return None
        self.answered += 1
        return replace(trial, request=request, cost=0.0)

    def replay(self, request: Request) -> Record | None:
        """The trial of an earlier session that answers a request; None where it has to be evaluated."""
        record = self.unasked.pop(self._key(request), None)
        if record is not None:
            self._keep(record)
        return record

    def add(self, trial: Trial, started: float) -> Record:
        """Keep a new trial, in the journal first."""
        self.last += 1
        record = Record(self.last, trial, started, self.now())
        self.journal.append(record)
        self._keep(record)
        return record

    def _keep(self, record: Record) -> None:
        trial = record.trial
        self.records.append(record)
        self.memory[self._key(trial.request)] = trial
        if trial.loss is not None:
            self._compare(record, trial.loss)

    def outcome(self, ended: Ending) -> Outcome:
        return Outcome(
            records=tuple(self.records),
            incumbent=self.incumbent,
            best_any_fidelity=self.best_any_fidelity,
            curve=tuple(self.curve_any_fidelity if self.incumbent is None else self.curve),
            ended=ended,
            seconds=self.now(),
            answered=self.answered,
            least_infeasible=self.least_infeasible,
        )

    def _compare(self, record: Record, loss: float) -> None:
        if not record.trial.is_feasible:
            if self.least_infeasible is None or _breach(record) < _breach(self.least_infeasible):
                self.least_infeasible = record
            return
        if _is_better(loss, self.best_any_fidelity):
            self.best_any_fidelity = record
            self.curve_any_fidelity.append(Improvement(record.finished, record.index, loss))
        if self._key(record.trial.request)[1] is None and _is_better(loss, self.incumbent):
            self.incumbent = record
            self.curve.append(Improvement(record.finished, record.index, loss))

    def _key(self, request: Request) -> tuple[str, int | None]:
        """The configuration's identity and the fidelity, None for all training rows however that was asked for."""
        size, fidelity = self.training_size, request.fidelity
        everything = fidelity is None or (size is not None and fidelity >= size)
        return request.configuration.identity, None if everything else fidelity


def _is_better(loss: float, record: Record | None) -> bool:
    return record is None or record.trial.loss is None or loss < record.trial.loss


def _breach(record: Record) -> tuple[float, float]:
    """The order of trials that break bounds: by how much, and by their loss where that is equal."""
    return record.trial.excess, loss_of(record.trial)
