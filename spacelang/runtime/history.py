"""The history of a run: its trials, the best of them, and earlier sessions that are to be replayed."""

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
"""The digest of a configuration and the fidelity; None stands for all training rows, however they were requested."""


class Ending(StrEnum):
    """The reason why a run ended."""

    BUDGET = "budget"
    EXHAUSTED = "exhausted"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Record:
    """An evaluated trial with its number, times and worker.

    `index` counts trials from 1 in the order in which they end. `started` and `finished` are seconds since the start of
    the run. `attempts` counts how often the evaluation was started. `workers` is the number of workers when the trial
    was reported to the search. `is_early` is True if the trial was still speculative at that time. `proposal` is the
    number of its lazy request, counted from 1, or None for other requests.
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
    """The start of an earlier session: the number of trials before it, and its number of workers."""

    after: int
    workers: int


@dataclass(frozen=True, slots=True)
class Improvement:
    """A point of the incumbent curve: from `seconds` on, `loss` was the best, found by the trial with this number."""

    seconds: float
    trial: int
    loss: float


@dataclass(frozen=True, slots=True)
class Overhead:
    """The seconds that the optimizer itself took in a session with `trials` new trials (at least one).

    `median` is the median cost of all trials of the run, in seconds.
    """

    seconds: float
    trials: int
    median: float

    @property
    def of_a_trial(self) -> float:
        """The optimizer's seconds per trial."""
        return self.seconds / self.trials

    @property
    def share(self) -> float | None:
        """The optimizer's seconds per trial as a share of the median trial; None if that took no time."""
        return self.of_a_trial / self.median if self.median else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: its trials, the best of them, and how it ended.

    - `incumbent` is the first record with the smallest loss on all training rows.
    - `best_any_fidelity` is the same among the trials of all fidelities.
    - `curve` is the curve of the incumbent, or of `best_any_fidelity` if no evaluation had all training rows.
    - These three consider only trials within the bounds of the task. `least_infeasible` is the first trial with the
      smallest violation among the others.
    - `answered` counts the requests that were answered from memory.
    - `unfinished` counts the trials that were running when the run ended. They were stopped and are not recorded.
    - `unneeded` counts the speculative trials that the search never asked for.
    - `scale` is the loss scale of the normalized losses. None means that it was to be set by the first success, and
      there was none.
    - `remarks` are sentences of the optimizer on the search.
    - `overhead` is None if the session had no new trial.
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
        """The incumbent, else the best trial of any fidelity, else the least infeasible one; None without a success."""
        return self.incumbent or self.best_any_fidelity or self.least_infeasible

    @property
    def failed(self) -> int:
        """The number of trials that failed."""
        return sum(record.trial.status is not Status.SUCCESS for record in self.records)

    @property
    def infeasible(self) -> int:
        """The number of trials that succeeded and violate a bound of the task."""
        return sum(not record.trial.is_feasible for record in self.records)

    @property
    def feasible_share(self) -> float | None:
        """The share of the successful trials that satisfy all bounds, from 0 to 1; None without a success."""
        succeeded = len(self.records) - self.failed
        return 1 - self.infeasible / succeeded if succeeded else None


class Journal(Protocol):
    """A protocol for the storage of a run's trials."""

    @property
    def seconds(self) -> float:
        """The seconds that the earlier sessions took together. The clock of the run continues from there."""

    def records(self) -> Iterable[Record]:
        """Return the trials of the earlier sessions in the order in which they ended."""

    @property
    def begun(self) -> Sequence[Began]:
        """The starts of the earlier sessions, in their order."""

    @property
    def count(self) -> int:
        """The number of trials that are stored durably."""

    @property
    def keeps_predictions(self) -> bool:
        """True if the storage holds predictions, so that they can be dropped from memory after `append`."""

    def begin(self, workers: int) -> None:
        """Record durably that a session starts with this number of workers, after the trials so far."""

    def append(self, record: Record) -> None:
        """Store a trial durably. The optimizer receives it only after this returns."""

    def end(self, ending: str, seconds: float) -> None:
        """Record that the session ended regularly, with the reason and the total seconds of the run."""


class Unkept:
    """A trial storage that stores nothing."""

    seconds = 0.0
    begun: Sequence[Began] = ()
    keeps_predictions = False
    count = 0

    def records(self) -> Iterable[Record]:
        """Return no trials."""
        return ()

    def begin(self, workers: int) -> None:
        """Do nothing."""

    def append(self, record: Record) -> None:
        """Note only the number of the trial."""
        self.count = record.index

    def end(self, ending: str, seconds: float) -> None:
        """Do nothing."""


@dataclass(slots=True)
class History:
    """The state of a run: its trials, the incumbent, and the earlier sessions that remain to be replayed.

    A fidelity of `training_size` rows or more is the same as None. If `scale` is None, the first reported success sets
    it.
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
    """The last trial for each key. A key has several trials only if the earlier ones had too little time."""
    unneeded: set[int] = field(default_factory=set)
    """The numbers of the speculative trials that the search has not committed to so far."""
    told: int = 0
    """The number of committed trials that were reported to the search, each counted once."""
    pending: Record | None = None
    """A trial that is being stored just now."""
    searching: float = 0.0
    """The seconds that the search itself took in this session."""
    replayed: int = field(init=False)
    """The number of trials of earlier sessions."""
    beginning: float = field(init=False)
    earlier: deque[Record] = field(init=False)
    """The trials of earlier sessions that were not replayed yet."""
    sessions: deque[Began] = field(init=False)
    """The earlier sessions that were not replayed yet."""

    def __post_init__(self) -> None:
        """Load the trials and sessions of the storage, to be replayed."""
        self.beginning = self.clock() - self.journal.seconds
        self.earlier, self.sessions = deque(self.journal.records()), deque(self.journal.begun)
        self.replayed = len(self.earlier)

    @property
    def best(self) -> Record | None:
        """The best record so far, chosen as in `Outcome.best`."""
        return self.incumbent or self.best_any_fidelity or self.least_infeasible

    def now(self) -> float:
        """Return the seconds since the run started, earlier sessions included."""
        return self.clock() - self.beginning

    def key(self, request: Request) -> Key:
        """Return the cache key of a request. Two requests with equal keys have the same answer."""
        size, fidelity = self.training_size, request.fidelity
        everything = fidelity is None or (size is not None and fidelity >= size)
        return request.configuration.digest, None if everything else fidelity

    def began(self) -> int | None:
        """Return the number of workers of the earlier session that starts here; None if none does.

        A session starts here if it started after as many trials as there are now. It is removed from the sessions to
        replay.
        """
        if self.sessions and self.sessions[0].after == len(self.records):
            return self.sessions.popleft().workers
        return None

    def knows(self, request: Request) -> bool:
        """Return True if a stored trial answers the request: it had at least as much time as the request allows."""
        record = self.memory.get(self.key(request))
        return record is not None and record.trial.answers(request)

    def proposed(self) -> dict[int, Request]:
        """Return the stored requests that were made from lazy requests, by the numbers of these."""
        kept = ((record.proposal, record.trial.request) for record in self.earlier)
        return {proposal: request for proposal, request in kept if proposal is not None}

    def charge(self, request: Request) -> Trial:
        """Return the trial of a committed request that is reported for the first time.

        It counts in the trial budget. The first success sets the loss scale if there is none yet.
        """
        record = self.memory[self.key(request)]
        self.unneeded.discard(record.index)
        self.told += 1
        loss = record.trial.loss
        if self.scale is None and loss is not None:
            self.scale = Scale.around(loss)
        return self.look(request)

    def look(self, request: Request) -> Trial:
        """Return the trial that answers a request, with this request and the current loss scale."""
        trial, scale = self.memory[self.key(request)].trial, UNIT if self.scale is None else self.scale
        # Most trials are passed on without a copy, to save memory.
        is_held = trial.request is request and trial.scale == scale
        return trial if is_held else replace(trial, request=request, scale=scale)

    def recall(self, request: Request) -> Trial:
        """Return the known trial of a request that has just been committed.

        The first time, a speculative trial is charged as any other. Otherwise this is a repetition that costs 0
        seconds.
        """
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
        """Return the record of a new trial that ends now, with the next number."""
        index = len(self.records) + 1
        return Record(index, trial, started, self.now(), worker, attempts, workers, is_early, proposal)

    def keep(self, record: Record) -> Record:
        """Store a trial, durably first unless it is stored already, and return its record as it is held in memory."""
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
        """Add the trial that was being stored when the user interrupted the run, if the storage has it."""
        if self.pending is not None and self.pending.index == self.journal.count == len(self.records) + 1:
            self._hold(self.pending)

    def outcome(self, ended: Ending, unfinished: int) -> Outcome:
        """Return the outcome of the run, which has ended."""
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
    """Return the sort key of infeasible trials: by their violation, then by their loss."""
    return record.trial.excess, order_of(record.trial)
