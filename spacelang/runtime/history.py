"""The history of a run: its trials, the best of them, their Pareto front, and earlier sessions to be replayed."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from statistics import median
from typing import Protocol, TypeAlias

from spacelang.ir.trial import UNIT_SCALE, LossScale, Request, SortKey, Status, Trial, sort_key

Clock: TypeAlias = Callable[[], float]
Key: TypeAlias = tuple[bytes, int | None]
"""The digest of a configuration and the fidelity; None stands for all training rows, however they were requested."""


class EndReason(StrEnum):
    """The reason why a run ended."""

    BUDGET = "budget"
    EXHAUSTED = "exhausted"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"  # A callback stopped the run


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """An evaluated trial; `index` counts from 1 as trials end, `started` and `finished` are in seconds of the run.

    `attempts` counts how often the evaluation was started. `workers` is the number of workers when the trial was
    reported to the search. `is_speculative` is True if the search had not committed to the trial at that time.
    `proposal` is the number of its lazy request, counted from 1, or None for other requests.
    """

    index: int
    trial: Trial
    started: float
    finished: float
    worker: str = ""
    attempts: int = 1
    workers: int = 1
    is_speculative: bool = False
    proposal: int | None = None


@dataclass(frozen=True, slots=True)
class SessionStart:
    """The start of an earlier session: its number of workers, and the number of trials stored before it (`after`)."""

    after: int
    workers: int


@dataclass(frozen=True, slots=True)
class Improvement:
    """A point of the incumbent curve: from `seconds` on, `loss` was the best, found by the trial with this number."""

    seconds: float
    trial: int
    loss: float


@dataclass(frozen=True, slots=True)
class OptimizerOverhead:
    """The optimizer's seconds in a session with `trials` >= 1 new trials; `median` is the cost over the whole run."""

    seconds: float
    trials: int
    median: float

    @property
    def seconds_per_trial(self) -> float:
        """The optimizer's seconds per trial."""
        return self.seconds / self.trials

    @property
    def ratio_to_median_trial(self) -> float | None:
        """The optimizer's seconds per trial as a share of the median trial; None if that took no time."""
        return self.seconds_per_trial / self.median if self.median else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: its trials, the best of them, and how it ended.

    `incumbent` is the first record with the smallest loss on all training rows, `best_any_fidelity` the same among the
    trials of all fidelities, and `curve` the curve of the former, or of the latter if no evaluation had all rows. They
    consider only trials within the bounds of the task; `least_infeasible` is the first other trial with the smallest
    violation. `answered_from_memory` counts repeated requests. `unfinished` counts the trials that were running at the
    end, which were stopped and are not recorded, `unfinished_seconds` the seconds that they had taken together, and
    `wasted_speculative` the finished trials that the search never asked for. `scale` is None if the first success was
    to set it, and there was none. `remarks` are sentences of the optimizer on the search.
    `overhead` is None if the session had no new trial.
    """

    records: tuple[TrialRecord, ...]
    incumbent: TrialRecord | None
    best_any_fidelity: TrialRecord | None
    curve: tuple[Improvement, ...]
    ended: EndReason
    seconds: float
    answered_from_memory: int = 0
    least_infeasible: TrialRecord | None = None
    unfinished: int = 0
    unfinished_seconds: float = field(default=0.0, compare=False)
    wasted_speculative: int = 0
    scale: LossScale | None = UNIT_SCALE
    remarks: tuple[str, ...] = ()
    overhead: OptimizerOverhead | None = field(default=None, compare=False)

    @property
    def best(self) -> TrialRecord | None:
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


class TrialStorage(Protocol):
    """A protocol for the storage of a run's trials."""

    @property
    def seconds(self) -> float:
        """The seconds that the earlier sessions took together. The clock of the run continues from there."""

    def records(self) -> Iterable[TrialRecord]:
        """Return the trials of the earlier sessions in the order in which they ended."""

    @property
    def session_starts(self) -> Sequence[SessionStart]:
        """The starts of the earlier sessions, in their order."""

    @property
    def count(self) -> int:
        """The number of trials that are stored durably."""

    @property
    def stores_predictions(self) -> bool:
        """True if the storage holds predictions, so that they can be dropped from memory after `append`."""

    def start_session(self, workers: int) -> None:
        """Record durably that a session starts with this number of workers, after the trials so far."""

    def append(self, record: TrialRecord) -> None:
        """Store a trial durably. The optimizer receives it only after this returns."""

    def end_session(self, ending: str, seconds: float) -> None:
        """Record that the session ended regularly, with the reason and the total seconds of the run."""


class NullTrialStorage:
    """A trial storage that stores nothing."""

    seconds = 0.0
    session_starts: Sequence[SessionStart] = ()
    stores_predictions = False
    count = 0

    def records(self) -> Iterable[TrialRecord]:
        """Return no trials."""
        return ()

    def start_session(self, workers: int) -> None:
        """Do nothing."""

    def append(self, record: TrialRecord) -> None:
        """Do not store the trial; only update `count` to its number."""
        self.count = record.index

    def end_session(self, ending: str, seconds: float) -> None:
        """Do nothing."""


@dataclass(slots=True)
class RunHistory:
    """The state of a run: its trials and what follows from them.

    A fidelity of `training_size` rows or more is the same as all rows. If `scale` is None, the first success sets it.
    """

    clock: Clock
    training_size: int | None
    storage: TrialStorage
    scale: LossScale | None = UNIT_SCALE
    records: list[TrialRecord] = field(default_factory=list)
    curve: list[Improvement] = field(default_factory=list)
    curve_any_fidelity: list[Improvement] = field(default_factory=list)
    incumbent: TrialRecord | None = None
    best_any_fidelity: TrialRecord | None = None
    least_infeasible: TrialRecord | None = None
    answered_from_memory: int = 0
    memory: dict[Key, TrialRecord] = field(default_factory=dict)
    """The last trial for each key. A key has several trials only if the earlier ones had too little time."""
    wasted_speculative: set[int] = field(default_factory=set)
    """The numbers of the speculative trials that the search has not committed to so far."""
    reported_trials: int = 0  # The number of committed trials that were reported to the search, each counted once
    pending: TrialRecord | None = None  # A trial that is being stored just now
    search_seconds: float = 0.0  # The seconds that the search itself took in this session
    earlier_trials: int = field(init=False)  # The number of trials of earlier sessions
    start_time: float = field(init=False)
    trials_to_replay: deque[TrialRecord] = field(init=False)
    """The trials of earlier sessions that were not replayed yet."""
    sessions_to_replay: deque[SessionStart] = field(init=False)  # The earlier sessions that were not replayed yet

    def __post_init__(self) -> None:
        self.start_time = self.clock() - self.storage.seconds
        self.trials_to_replay = deque(self.storage.records())
        self.sessions_to_replay = deque(self.storage.session_starts)
        self.earlier_trials = len(self.trials_to_replay)

    @property
    def best(self) -> TrialRecord | None:
        """The best record so far, chosen as in `Outcome.best`."""
        return self.incumbent or self.best_any_fidelity or self.least_infeasible

    def seconds_since_start(self) -> float:
        """Return the seconds since the run started, earlier sessions included."""
        return self.clock() - self.start_time

    def cache_key(self, request: Request) -> Key:
        """Return the digest of a request's configuration and its fidelity, None for all rows.

        Two requests with equal keys have the same answer.
        """
        size, fidelity = self.training_size, request.fidelity
        everything = fidelity is None or (size is not None and fidelity >= size)
        return request.configuration.digest, None if everything else fidelity

    def pop_next_session_workers(self) -> int | None:
        """Return the number of workers of the next earlier session if it starts after the trials so far, and remove it.

        Return None if no earlier session starts here.
        """
        if self.sessions_to_replay and self.sessions_to_replay[0].after == len(self.records):
            return self.sessions_to_replay.popleft().workers
        return None

    def is_known(self, request: Request) -> bool:
        """Return True if a trial in memory answers the request.

        It must have the same cache key, and must have had at least as much time as the request allows.
        """
        record = self.memory.get(self.cache_key(request))
        return record is not None and record.trial.is_answer_to(request)

    def stored_lazy_requests(self) -> dict[int, Request]:
        """Return the stored requests that were made from lazy requests, by the numbers of these."""
        kept = ((record.proposal, _answered_request(record.trial)) for record in self.trials_to_replay)
        return {proposal: request for proposal, request in kept if proposal is not None}

    def charge_budget_and_get_trial(self, request: Request) -> Trial:
        """Return the trial in memory for a committed request, and count it as one trial of the budget.

        Call this only when the trial is reported for the first time. If the loss scale is not set, a success sets it.
        """
        record = self.memory[self.cache_key(request)]
        self.wasted_speculative.discard(record.index)
        self.reported_trials += 1
        loss = record.trial.loss
        if self.scale is None and loss is not None:
            self.scale = LossScale.centered_on(loss)
        return self.trial_for(request)

    def trial_for(self, request: Request) -> Trial:
        """Return the trial that answers a request, with this request and the current loss scale."""
        trial, scale = self.memory[self.cache_key(request)].trial, UNIT_SCALE if self.scale is None else self.scale
        # Most trials are passed on without a copy, to save memory.
        is_held = trial.request is request and trial.scale == scale
        return trial if is_held else replace(trial, request=request, scale=scale)

    def answer_from_memory(self, request: Request) -> Trial:
        """Return the trial in memory for a request.

        A speculative trial that was not asked for before is charged to the budget. A repeated request costs 0 seconds.
        """
        if self.memory[self.cache_key(request)].index in self.wasted_speculative:
            return self.charge_budget_and_get_trial(request)
        self.answered_from_memory += 1
        return replace(self.trial_for(request), cost=0.0)

    def store(self, record: TrialRecord) -> TrialRecord:
        """Store a trial, durably first unless it is stored already, and return its record as it is held in memory."""
        predictions = None if self.storage.stores_predictions else record.trial.predictions
        scale = UNIT_SCALE if self.scale is None else self.scale
        held = replace(record, trial=replace(record.trial, predictions=predictions, scale=scale))
        if record.index > self.storage.count:
            self.pending = held
            self.storage.append(record)
        self._add(held)
        self.pending = None
        return held

    def recover_trial_being_stored(self) -> None:
        """Add the trial that was being stored when the user interrupted the run, if the storage has it."""
        if self.pending is not None and self.pending.index == self.storage.count == len(self.records) + 1:
            self._add(self.pending)

    def make_outcome(self, ended: EndReason, started: Sequence[float] = ()) -> Outcome:
        """Return the outcome of the run, which has ended.

        `started` are the times at which the trials started that are still running.
        """
        trials, overhead, now = len(self.records) - self.earlier_trials, None, self.seconds_since_start()
        if trials > 0:
            overhead = OptimizerOverhead(
                self.search_seconds, trials, median(record.trial.cost for record in self.records)
            )
        return Outcome(
            records=tuple(self.records),
            incumbent=self.incumbent,
            best_any_fidelity=self.best_any_fidelity,
            curve=tuple(self.curve_any_fidelity if self.incumbent is None else self.curve),
            ended=ended,
            seconds=now,
            answered_from_memory=self.answered_from_memory,
            least_infeasible=self.least_infeasible,
            unfinished=len(started),
            unfinished_seconds=sum(max(now - began, 0.0) for began in started),
            wasted_speculative=len(self.wasted_speculative),
            scale=self.scale,
            overhead=overhead,
        )

    def _add(self, record: TrialRecord) -> None:
        trial = record.trial
        self.records.append(record)
        self.memory[self.cache_key(trial.request)] = record
        if record.is_speculative:
            self.wasted_speculative.add(record.index)
        if trial.loss is not None:
            self._compare(record, trial.loss)

    def _compare(self, record: TrialRecord, loss: float) -> None:
        if not record.trial.is_feasible:
            if self.least_infeasible is None or _violation_key(record) < _violation_key(self.least_infeasible):
                self.least_infeasible = record
            return
        if _is_better(loss, self.best_any_fidelity):
            self.best_any_fidelity = record
            self.curve_any_fidelity.append(Improvement(record.finished, record.index, loss))
        if self.cache_key(record.trial.request)[1] is None and _is_better(loss, self.incumbent):
            self.incumbent = record
            self.curve.append(Improvement(record.finished, record.index, loss))


def _is_better(loss: float, record: TrialRecord | None) -> bool:
    return record is None or record.trial.loss is None or loss < record.trial.loss


def _violation_key(record: TrialRecord) -> tuple[float, SortKey]:
    return record.trial.excess, sort_key(record.trial)


def _answered_request(trial: Trial) -> Request:
    """Return the request of a stored trial, with a limit that the trial exceeds if it ended on some of the folds.

    Stores lack `stop_above`, and without it the trial would not answer its own request.
    """
    if trial.folds is None or trial.loss is None:
        return trial.request
    return replace(trial.request, stop_above=math.nextafter(trial.loss, -math.inf))


Vector: TypeAlias = tuple[float, ...]
"""The values of all objectives of a trial, in their order; each is minimized."""


def objective_values(trial: Trial) -> Vector:
    """Return the values of all objectives of a trial; empty if its run has one objective, or if the trial failed."""
    return tuple(value for _, value in trial.objectives)


def dominates(one: Vector, other: Vector) -> bool:
    """Return True if `one` is at most `other` in all objectives, and less in at least one."""
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


def pareto_front(records: Iterable[TrialRecord], training_size: int | None = None) -> tuple[TrialRecord, ...]:
    """Return the trials that no other trial dominates, by their values in the order of the objectives.

    These are trials on all training rows (`training_size` or more of them) that satisfy all bounds. Of trials with
    equal values all are in the front.
    """
    candidates = [record for record in records if _is_candidate(record.trial, training_size)]
    candidates.sort(key=lambda record: (objective_values(record.trial), record.index))
    front: list[TrialRecord] = []
    for record in candidates:  # a trial is dominated by none that follows it in this order
        values = objective_values(record.trial)
        if not any(dominates(objective_values(each.trial), values) for each in front):
            front.append(record)
    return tuple(front)


def _is_candidate(trial: Trial, training_size: int | None) -> bool:
    fidelity = trial.request.fidelity
    is_on_all_rows = fidelity is None or training_size is None or fidelity >= training_size
    return bool(trial.objectives) and trial.is_feasible and is_on_all_rows and trial.folds is None
