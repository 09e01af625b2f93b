"""What has happened in a run: its trials, the best of them, and what earlier sessions left to be replayed."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from statistics import median
from typing import Protocol, TypeAlias

from spacelang.ir.scale import UNIT, Scale
from spacelang.ir.trial import Order, Request, Status, Trial, order_of

Clock: TypeAlias = Callable[[], float]

Key: TypeAlias = tuple[bytes, int | None]
"""The digest of a configuration, and the fidelity: None for all training rows, however that was asked for."""


class Ending(StrEnum):
    """Why a run ended."""

    BUDGET = "budget"
    EXHAUSTED = "exhausted"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Record:
    """An evaluated trial: its number, counted from 1 in the order in which trials end, and by whom it was evaluated.

    It began and ended so many seconds after the run did; `attempts` counts how often it was begun. `workers` is how
    many there were when the search was told of it; `is_early` says that it was not wanted in earnest by then, and
    `proposal` which of the requests it was that the search left to be made later, counted from 1; None for others.
    """

    index: int
    trial: Trial
    started: float
    finished: float
    worker: str = ""
    attempts: int = 1
    workers: int = 1
    is_early: bool = False
    proposal: int | None = None


@dataclass(frozen=True, slots=True)
class Began:
    """An earlier session of a run: how many trials there were before it, and how many workers it began with."""

    after: int
    workers: int


@dataclass(frozen=True, slots=True)
class Improvement:
    """A point of the incumbent curve: from `seconds` on, `loss` was the best, found by the trial of that number."""

    seconds: float
    trial: int
    loss: float


@dataclass(frozen=True, slots=True)
class Overhead:
    """How many seconds a search took for itself in a session that evaluated so many trials, one at least.

    `median` are the seconds that half of the trials of the run took at most.
    """

    seconds: float
    trials: int
    median: float

    @property
    def of_a_trial(self) -> float:
        """The seconds for each trial."""
        return self.seconds / self.trials

    @property
    def share(self) -> float | None:
        """These as a share of the seconds of the median trial; None where that took no time."""
        return self.of_a_trial / self.median if self.median else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run found, and how it ended.

    `incumbent` is the first record with the smallest loss among evaluations on all training rows,
    `best_any_fidelity` among all evaluations; `curve` is the incumbent's, or that of the other where no evaluation had
    all training rows; `answered` counts the requests that were answered from memory. All three are of trials that keep
    to the bounds of the task; `least_infeasible` is, of the others, the first that breaks them the least. `unfinished`
    counts the trials that were going on when the run ended: they were stopped, and are no trials of it. `unneeded`
    counts those that were asked for ahead, and that nobody asked for again. `scale` is that of the standings which the
    optimizer was told, None where it was to be around the first success and it was told of none. `remarks` are
    sentences that the search has said of how it went. `overhead` is None where the session had no trial.
    """

    records: tuple[Record, ...]
    incumbent: Record | None
    best_any_fidelity: Record | None
    curve: tuple[Improvement, ...]
    ended: Ending
    seconds: float
    answered: int = 0
    least_infeasible: Record | None = None
    unfinished: int = 0
    unneeded: int = 0
    scale: Scale | None = UNIT
    remarks: tuple[str, ...] = ()
    overhead: Overhead | None = field(default=None, compare=False)

    @property
    def best(self) -> Record | None:
        """The incumbent; where nothing was evaluated on all rows, the best of the rest; None without a success.

        Any trial that keeps to the bounds comes before all that do not.
        """
        return self.incumbent or self.best_any_fidelity or self.least_infeasible

    @property
    def failed(self) -> int:
        """The number of trials that failed."""
        return sum(record.trial.status is not Status.SUCCESS for record in self.records)

    @property
    def infeasible(self) -> int:
        """The number of trials that succeeded and break a bound of the task."""
        return sum(not record.trial.is_feasible for record in self.records)

    @property
    def feasible_share(self) -> float | None:
        """The share of the successful trials that keep to all bounds, from 0 to 1; None without a success."""
        succeeded = len(self.records) - self.failed
        return 1 - self.infeasible / succeeded if succeeded else None


class Journal(Protocol):
    """What a run needs of whoever keeps its trials."""

    @property
    def seconds(self) -> float:
        """How long the run took in its earlier sessions; its clock goes on from there."""

    def records(self) -> Iterable[Record]:
        """The trials of the earlier sessions in the order in which they ended."""

    @property
    def begun(self) -> Sequence[Began]:
        """The earlier sessions in their order."""

    @property
    def count(self) -> int:
        """The number of the trials that are safe."""

    @property
    def keeps_predictions(self) -> bool:
        """Whether predictions can be forgotten once a trial was appended."""

    def begin(self, workers: int) -> None:
        """The session goes on from what earlier ones have left, with so many workers; it is safe when this returns."""

    def append(self, record: Record) -> None:
        """Keep a trial; it is safe when this returns, and only then the optimizer is told."""

    def end(self, ending: str, seconds: float) -> None:
        """The session ended in order."""


class Unkept:
    """A journal that keeps nothing."""

    seconds = 0.0
    begun: Sequence[Began] = ()
    keeps_predictions = False
    count = 0

    def records(self) -> Iterable[Record]:
        """There are none."""
        return ()

    def begin(self, workers: int) -> None:
        """Forget it."""

    def append(self, record: Record) -> None:
        """Forget all but its number."""
        self.count = record.index

    def end(self, ending: str, seconds: float) -> None:
        """Forget it."""


@dataclass(slots=True)
class History:
    """What has happened so far; `training_size` rows or more are the same fidelity as None.

    `scale` is None until there is a first success, where it is to be around that.
    """

    clock: Clock
    training_size: int | None
    journal: Journal
    scale: Scale | None = UNIT
    records: list[Record] = field(default_factory=list)
    curve: list[Improvement] = field(default_factory=list)
    curve_any_fidelity: list[Improvement] = field(default_factory=list)
    incumbent: Record | None = None
    best_any_fidelity: Record | None = None
    least_infeasible: Record | None = None
    answered: int = 0
    memory: dict[Key, Record] = field(default_factory=dict)
    """The last trial for each key: there is another one only where the first had too little time."""
    unneeded: set[int] = field(default_factory=set)
    """The numbers of what ended before anybody wanted it in earnest, as nobody has until now."""
    told: int = 0
    """How many trials the search has wanted in earnest and was told of, each once."""
    pending: Record | None = None
    """A trial that is being kept just now."""
    searching: float = 0.0
    """The seconds that the search took for itself in this session."""
    replayed: int = field(init=False)
    """How many trials earlier sessions have left."""
    beginning: float = field(init=False)
    earlier: deque[Record] = field(init=False)
    """What earlier sessions have left and was not replayed yet."""
    sessions: deque[Began] = field(init=False)
    """The earlier sessions that were not replayed yet."""

    def __post_init__(self) -> None:
        """What earlier sessions kept is waiting to be replayed."""
        self.beginning = self.clock() - self.journal.seconds
        self.earlier, self.sessions = deque(self.journal.records()), deque(self.journal.begun)
        self.replayed = len(self.earlier)

    @property
    def best(self) -> Record | None:
        """The best record so far, as in an `Outcome`."""
        return self.incumbent or self.best_any_fidelity or self.least_infeasible

    def now(self) -> float:
        """Seconds since the run began."""
        return self.clock() - self.beginning

    def key(self, request: Request) -> Key:
        """What two requests share that have the same answer."""
        size, fidelity = self.training_size, request.fidelity
        everything = fidelity is None or (size is not None and fidelity >= size)
        return request.configuration.digest, None if everything else fidelity

    def began(self) -> int | None:
        """With how many workers a session began, where one of the earlier ones did after what was replayed so far."""
        if self.sessions and self.sessions[0].after == len(self.records):
            return self.sessions.popleft().workers
        return None

    def knows(self, request: Request) -> bool:
        """Whether a request was answered before, by a trial that had as much time as it may take."""
        record = self.memory.get(self.key(request))
        return record is not None and record.trial.answers(request)

    def proposed(self) -> dict[int, Request]:
        """The requests of earlier sessions that were made later, by their numbers among those."""
        kept = ((record.proposal, record.trial.request) for record in self.earlier)
        return {proposal: request for proposal, request in kept if proposal is not None}

    def charge(self, request: Request) -> Trial:
        """What a request has come to that is wanted in earnest for the first time; a first success fixes the scale."""
        record = self.memory[self.key(request)]
        self.unneeded.discard(record.index)
        self.told += 1
        loss = record.trial.loss
        if self.scale is None and loss is not None:
            self.scale = Scale.around(loss)
        return self.look(request)

    def look(self, request: Request) -> Trial:
        """What a request has come to, whether anybody wants it in earnest or not."""
        trial, scale = self.memory[self.key(request)].trial, UNIT if self.scale is None else self.scale
        # Most trials are told as they are held, so that they are in memory once.
        is_held = trial.request is request and trial.scale == scale
        return trial if is_held else replace(trial, request=request, scale=scale)

    def recall(self, request: Request) -> Trial:
        """What a request has come to that was known when it was wanted; free of charge for the second time."""
        if self.memory[self.key(request)].index in self.unneeded:
            return self.charge(request)
        self.answered += 1
        return replace(self.look(request), cost=0.0)

    def record(
        self,
        trial: Trial,
        started: float,
        worker: str,
        attempts: int,
        workers: int,
        *,
        is_early: bool,
        proposal: int | None = None,
    ) -> Record:
        """A new trial as it is kept: the next one, which ends now."""
        index = len(self.records) + 1
        return Record(index, trial, started, self.now(), worker, attempts, workers, is_early, proposal)

    def keep(self, record: Record) -> Record:
        """Keep a trial, in the journal first unless it is there; as it is held from now on."""
        predictions = None if self.journal.keeps_predictions else record.trial.predictions
        scale = UNIT if self.scale is None else self.scale
        held = replace(record, trial=replace(record.trial, predictions=predictions, scale=scale))
        if record.index > self.journal.count:
            self.pending = held
            self.journal.append(record)
        self._hold(held)
        self.pending = None
        return held

    def interrupted(self) -> None:
        """The user has interrupted the run: a trial that was being kept just then is there if it is safe."""
        if self.pending is not None and self.pending.index == self.journal.count == len(self.records) + 1:
            self._hold(self.pending)

    def outcome(self, ended: Ending, unfinished: int) -> Outcome:
        """All of it, once the run has ended."""
        return Outcome(
            records=tuple(self.records),
            incumbent=self.incumbent,
            best_any_fidelity=self.best_any_fidelity,
            curve=tuple(self.curve_any_fidelity if self.incumbent is None else self.curve),
            ended=ended,
            seconds=self.now(),
            answered=self.answered,
            least_infeasible=self.least_infeasible,
            unfinished=unfinished,
            unneeded=len(self.unneeded),
            scale=self.scale,
            overhead=self._overhead(),
        )

    def _overhead(self) -> Overhead | None:
        trials = len(self.records) - self.replayed
        if trials <= 0:
            return None
        return Overhead(self.searching, trials, median(record.trial.cost for record in self.records))

    def _hold(self, record: Record) -> None:
        trial = record.trial
        self.records.append(record)
        self.memory[self.key(trial.request)] = record
        if record.is_early:
            self.unneeded.add(record.index)
        if trial.loss is not None:
            self._compare(record, trial.loss)

    def _compare(self, record: Record, loss: float) -> None:
        if not record.trial.is_feasible:
            if self.least_infeasible is None or _breach(record) < _breach(self.least_infeasible):
                self.least_infeasible = record
            return
        if _is_better(loss, self.best_any_fidelity):
            self.best_any_fidelity = record
            self.curve_any_fidelity.append(Improvement(record.finished, record.index, loss))
        if self.key(record.trial.request)[1] is None and _is_better(loss, self.incumbent):
            self.incumbent = record
            self.curve.append(Improvement(record.finished, record.index, loss))


def _is_better(loss: float, record: Record | None) -> bool:
    return record is None or record.trial.loss is None or loss < record.trial.loss


def _breach(record: Record) -> tuple[float, Order]:
    """The order of trials that break bounds: by how much, and by their loss where that is equal."""
    return record.trial.excess, order_of(record.trial)
