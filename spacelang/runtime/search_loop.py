"""The search loop, which owns time, workers and memory: it evaluates trials until the budget, space or user ends it."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import wraps
from time import perf_counter
from typing import Final, ParamSpec, TypeAlias, TypeVar

from spacelang.ir.search_protocol import Ask, Search, SearchEvent, StalledSearchError
from spacelang.ir.trial import UNIT_SCALE, LossScale, Request, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.errors import DifferentSearchError
from spacelang.runtime.executors import Executor, FinishedJob, Job, UnreportedResultError
from spacelang.runtime.history import (
    Clock,
    EndReason,
    Key,
    NullTrialStorage,
    Outcome,
    RunHistory,
    TrialRecord,
    TrialStorage,
)
from spacelang.runtime.listeners import CallbackStopError, Listener, SilentListener, accept_old_methods
from spacelang.runtime.request_queue import CommittedRequest, LazyRequestRegistry, PrefixKeyFunction, RequestQueue
from spacelang.runtime.run_deadline import RunDeadline

MAX_ANSWERS_FROM_MEMORY: Final = 10_000
"""After so many answers from memory in a row, ten times those after which a part pauses, a search has ended."""
P = ParamSpec("P")
T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]  # A generator that pauses until it is resumed, and finally returns a result


@dataclass(slots=True)
class TrialDispatcher:
    """The component that answers a search from memory, by replaying earlier sessions, or by evaluating trials.

    A *committed* request has been asked for; a *speculative* one probably will be: it runs on idle workers and can be
    stopped.
    """

    executor: Executor
    budget: Budget
    history: RunHistory
    listener: Listener
    queue: RequestQueue
    lazy_requests: LazyRequestRegistry
    answer_time: RunDeadline | None = None
    running: "dict[Key, _StartedJob]" = field(default_factory=dict)  # The jobs that workers are evaluating
    _committed: dict[Key, deque[CommittedRequest]] = field(default_factory=dict)
    """The committed requests that were not reported yet, by key. Requests for the same trial are in their order."""
    _speculative: dict[Key, Request] = field(default_factory=dict)  # The speculative requests, the likeliest first
    _from_memory: deque[CommittedRequest] = field(default_factory=deque)
    """The committed requests that are reported next, as their trials were known already."""
    _finished_jobs: deque[FinishedJob[Trial]] = field(default_factory=deque)
    """The finished jobs that are reported after that; until then they count as running."""
    _workers: int = 0  # The number of workers when a trial was last reported, or when the session started
    _reported_idle_workers: int | None = None
    _has_worker_change: bool = False
    """True if a session has started with another number of workers since idle workers were last reported."""
    _is_live: bool = False  # True if all trials of earlier sessions were replayed

    def accept(self, ask: Ask) -> None:
        """Commit to the requests of an ask, making lazy ones, and replace the speculative ones."""
        self._commit(map(self.lazy_requests.commit, ask.requests))
        self._speculative = dict(self._new_requests(ask.speculative))

    def next_event(self) -> SearchEvent | None:
        """Return the next event for the search, or None if the budget ends before there is one.

        The order: requests answered from memory, a change in idle workers, trials of earlier sessions, finished jobs;
        else this waits for the executor. Raises StalledSearchError if there can never be another event, and
        DifferentSearchError if an earlier session was a different search.
        """
        while not self._is_over():
            if self._from_memory:
                event = self._make_event(self._from_memory.popleft(), is_known=True)
            elif self._has_capacity_event():
                return self._make_event(None)
            elif not self._is_live:
                if self._starts_session():
                    continue
                event = self._replay_next()
            elif self._finished_jobs:
                event = self._finish_job(self._finished_jobs.popleft())
            elif self._advance():
                continue
            else:
                return None
            return None if self._is_over() else event
        return None

    def store_remaining_trials(self, *, is_interrupted: bool = False) -> None:
        """Store all finished jobs and the remaining trials of earlier sessions, without sending them to the search.

        Raises DifferentSearchError if those were sent to a search, unless the run was interrupted before replaying
        them.
        """
        while self._finished_jobs:
            self._finish_job(self._finished_jobs.popleft())
        while self.history.trials_to_replay:
            record = self.history.trials_to_replay.popleft()
            if not (record.is_speculative or is_interrupted):
                raise DifferentSearchError(record.index)
            self._store(record)

    def _starts_session(self) -> bool:
        """Return True if a session starts here; store its number of workers.

        It is an earlier session that is replayed, or the present one after all stored trials.
        """
        workers = self.history.pop_next_session_workers()
        if workers is None:
            if self.history.trials_to_replay:
                return False
            self._is_live, workers = True, self._worker_count()
            self.history.storage.start_session(workers)
        # A search that knows the number of idle workers must learn of a change in workers.
        self._has_worker_change = self._reported_idle_workers is not None and workers != self._workers
        self._workers = workers
        return True

    def _replay_next(self) -> SearchEvent:
        """Return the event of the next stored trial; raise DifferentSearchError if this search has not asked for it."""
        record = self.history.trials_to_replay.popleft()
        self._workers = record.workers
        first = self._answered_request(record.trial)
        if first is None and record.is_speculative:
            return self._report_speculative(record)
        if first is None or first.proposal != record.proposal:
            raise DifferentSearchError(record.index)
        self.queue.remove(self.history.cache_key(first.request))
        return self._report(record)

    def _advance(self) -> bool:
        """Start jobs and wait for the executor; return False, without waiting, if no committed job may run.

        Raise StalledSearchError if no request is committed.
        """
        if not self._committed:
            raise StalledSearchError
        self._start_jobs()
        if not any(key in self._committed for key in self.running):
            return False
        self._finished_jobs.extend(self.executor.wait(self._seconds_left()))
        return True

    def _start_jobs(self) -> None:
        """Give every idle worker a job; stop the least likely speculative one if committed requests lack a worker."""
        while self._seconds_left() != 0:
            if not (free := self.executor.free):
                if not self.queue or self._trials_left() == 0 or not self._stop_least_likely():
                    return
                continue
            job = self.queue.take_job(free[0], self.history.cache_key, self._trials_left()) or self._speculative_job()
            if job is None:
                return
            self.running[self.history.cache_key(job.work)] = _StartedJob(
                job, free[0], self.history.seconds_since_start()
            )
            self.executor.start(free[0], job)

    def _seconds_left(self) -> float | None:
        reserve = 0.0 if self.answer_time is None else self.answer_time.seconds_unavailable_to_search
        return self.budget.seconds_left(self.history.seconds_since_start(), reserve)

    def _trials_left(self) -> int | None:
        left = self.budget.trials_left(self.history.reported_trials)
        under_way = sum(key in self._committed for key in self.running)
        return None if left is None else max(left - under_way, 0)

    def _speculative_job(self) -> Job[Request] | None:
        """Return a job for the likeliest speculative request that is not running; None if there is none to start.

        None is started while committed requests wait, or without budget.
        """
        if self.queue or self._trials_left() == 0:
            return None
        request = next((each for key, each in self._speculative.items() if key not in self.running), None)
        return None if request is None else self.queue.make_job(request)

    def _stop_least_likely(self) -> bool:
        """Stop the least likely speculative job; return False without one."""
        finished = {each.job.number for each in self._finished_jobs}
        speculative = [(key, each.job.number) for key, each in self.running.items() if key not in self._committed]
        unwanted = [key for key, number in speculative if number not in finished]
        if not unwanted:
            return False
        places = {key: place for place, key in enumerate(self._speculative)}
        least = max(unwanted, key=lambda key: (places.get(key, len(places)), self.running[key].job.number))
        self.executor.stop((self.running.pop(least).worker,))
        return True

    def _finish_job(self, finished: FinishedJob[Trial]) -> SearchEvent:
        """Record a finished job and return its event.

        The trial is reported as speculative if the search has not committed to it, or if the budget of trials is used
        up.
        """
        key = self.history.cache_key(finished.job.work)
        began = self.running.pop(key).began
        self._workers = self._worker_count()
        trial = replace(finished.result, request=finished.job.work)
        first = self._answered_request(trial)
        # A trial that ends together with the last one of the budget is not reported, even if it is committed.
        is_reported = first is not None and self.budget.trials_left(self.history.reported_trials) != 0
        trial, proposal = (trial, None) if first is None else (replace(trial, request=first.request), first.proposal)
        number, now, how = (
            len(self.history.records) + 1,
            self.history.seconds_since_start(),
            (finished.worker, finished.attempts),
        )
        record = TrialRecord(number, trial, began, now, *how, self._workers, not is_reported, proposal)
        if is_reported:
            return self._report(record)
        if first is None and key in self._committed:  # it was started speculatively, with less time than is wanted now
            self.queue.add({key: self._committed[key][0].request})
        return self._report_speculative(record)

    def _has_capacity_event(self) -> bool:
        """Return True if the search must be sent an event only to learn the number of idle workers."""
        is_news = self._workers > 0 and self._idle_workers != self._reported_idle_workers
        return is_news and (self._has_worker_change or not self._committed)

    def _report(self, record: TrialRecord) -> SearchEvent:
        """Store a committed trial, and return the event for the first request that it answers.

        Further requests for the trial are committed again: they are answered from memory, or queued if it does not
        suffice.
        """
        first, *others = self._committed.pop(self.history.cache_key(record.trial.request))
        self._store(replace(record, trial=replace(record.trial, request=first.request)))
        self._commit(others)
        return self._make_event(first)

    def _report_speculative(self, record: TrialRecord) -> SearchEvent:
        self._store(record)
        self._reported_idle_workers, self._has_worker_change = self._idle_workers, False
        return SearchEvent(None, self._idle_workers, self.history.trial_for(record.trial.request))

    def _store(self, record: TrialRecord) -> None:
        held = self.history.store(record)
        if self.answer_time is not None:
            self.answer_time.update_predicted_seconds(held)
        self.listener.on_trial(held, self.history.best or held)

    def _make_event(self, committed: CommittedRequest | None, *, is_known: bool = False) -> SearchEvent:
        self._reported_idle_workers, self._has_worker_change = self._idle_workers, False
        if committed is None:
            return SearchEvent(None, self._idle_workers)
        answer = self.history.answer_from_memory if is_known else self.history.charge_budget_and_get_trial
        return SearchEvent(answer(committed.request), self._idle_workers, request=committed.asked)

    @property
    def _idle_workers(self) -> int:
        """The number of workers without a committed job, less the events that are still to be sent from memory."""
        return max(self._workers - len(self._committed) - len(self._from_memory), 0)

    def _worker_count(self) -> int:
        """Return the number of workers. A finished job no longer occupies one, even if it was not reported yet."""
        return len(self.executor.free) + len(self.running) - len(self._finished_jobs)

    def _commit(self, requests: Iterable[CommittedRequest]) -> None:
        """Register committed requests: answer them from memory, attach them to a running job, or queue them."""
        fresh: dict[Key, Request] = {}
        for committed in requests:
            key = self.history.cache_key(committed.request)
            if self.history.is_known(committed.request):
                self._from_memory.append(committed)
            elif key in self._committed:
                self._committed[key].append(committed)
            else:
                self._committed[key] = deque([committed])
                if key not in self.running:
                    fresh[key] = committed.request
        self.queue.add(fresh)

    def _answered_request(self, trial: Trial) -> CommittedRequest | None:
        requests = self._committed.get(self.history.cache_key(trial.request))
        return requests[0] if requests and trial.is_answer_to(requests[0].request) else None

    def _new_requests(self, requests: Iterable[Request]) -> "Iterable[tuple[Key, Request]]":
        """Yield requests, with keys, that are neither known nor committed."""
        for request in requests:
            key = self.history.cache_key(request)
            if not self.history.is_known(request) and key not in self._committed:
                yield key, request

    def _is_over(self) -> bool:
        """Return True if the budget is exhausted and every trial that ended within it was reported."""
        are_trials_used_up = self.budget.trials_left(self.history.reported_trials) == 0
        if are_trials_used_up and all(each.is_speculative for each in self.history.trials_to_replay):
            return True  # the remaining ones are speculative: they are stored when the run is closed
        if self.history.trials_to_replay:
            return False
        return not self._finished_jobs and self._seconds_left() == 0


@dataclass(frozen=True, slots=True)
class _StartedJob:
    """A running job and its start in seconds of the run."""

    job: Job[Request]
    worker: str
    began: float


def run_to_completion(stepping: Callable[P, Steps[T]]) -> Callable[P, T]:
    """Return a function that runs the generator to its end, for executors whose `wait` blocks until a trial ends."""

    @wraps(stepping)
    def run(*given: P.args, **named: P.kwargs) -> T:
        going = stepping(*given, **named)
        try:
            while True:
                next(going)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    return run


def search_steps(  # noqa: PLR0913 - each is an independent setting of a run
    search: Search,
    executor: Executor,
    budget: Budget,
    *,
    clock: Clock,
    training_size: int | None = None,
    listener: Listener | None = None,
    journal: TrialStorage | None = None,
    prefix_key: PrefixKeyFunction | None = None,
    scale: LossScale | None = UNIT_SCALE,
    seed: int = 0,
    remarks: Iterable[str] = (),
    stopwatch: Clock = perf_counter,
    answer_time: RunDeadline | None = None,
) -> Steps[Outcome]:
    """Evaluate what the search asks for until it returns, the budget is exhausted or the user interrupts.

    The generator yields whenever the executor cannot say what came of any running trial, and continues when it is
    resumed. Closing it there ends the run as if the user had interrupted it. A request whose answer is known is
    answered from memory: it costs nothing and is no new trial. Trials that the budget or the user cuts short may still
    be running when this returns; the owner of the executor closes it.

    `clock` may be simulated, `stopwatch` measures the time of the search itself. A fidelity of `training_size` rows or
    more is the same as None. Replayed trials and seconds of the `journal` count in the budget: the search receives the
    same events as in its sessions, without an evaluation. Requests of one batch whose keys by `prefix_key` share a
    prefix are evaluated after each other by the same worker. A `scale` of None is set by the first reported success.
    Lazy requests are made with generators derived from `seed`, unless the journal has their trials. `remarks` are read
    when the search has ended. With an `answer_time` the search ends early enough for the work after it.

    Raises StalledSearchError if the search waits without a pending trial, DifferentSearchError if the journal is of a
    different search, and errors of the executor, the search, the listener and the journal. A listener may raise
    CallbackStopError; then the run ends as usual, and the error of the callback is raised afterwards, if there is one.
    """
    notified = SilentListener() if listener is None else accept_old_methods(listener)
    kept = NullTrialStorage() if journal is None else journal
    history = RunHistory(clock, training_size, kept, scale)
    proposals = LazyRequestRegistry(seed, history.stored_lazy_requests())
    if answer_time is not None:
        answer_time.record_search_start(kept.seconds, len(executor.free))
    dispatcher = TrialDispatcher(executor, budget, history, notified, RequestQueue(prefix_key), proposals, answer_time)
    failure: Exception | None = None
    notified.on_start(budget)
    try:
        ended = yield from _drive(search, dispatcher, stopwatch)
        dispatcher.store_remaining_trials()
    except (KeyboardInterrupt, GeneratorExit):
        ended = EndReason.INTERRUPTED
        history.recover_trial_being_stored()
        dispatcher.store_remaining_trials(is_interrupted=True)
    except CallbackStopError as stop:
        ended, failure = EndReason.STOPPED, stop.error
        dispatcher.store_remaining_trials(is_interrupted=True)
    finally:
        search.close()
    if answer_time is not None:
        answer_time.end_session(len(history.records) - history.earlier_trials)
    started = [each.began for each in dispatcher.running.values()]
    outcome = replace(history.make_outcome(ended, started), remarks=tuple(remarks))
    kept.end_session(ended.value, outcome.seconds)
    notified.on_finish(outcome)
    if failure is not None:
        raise failure
    return outcome


run = run_to_completion(search_steps)


def _drive(search: Search, dispatcher: TrialDispatcher, stopwatch: Clock) -> Steps[EndReason]:
    known_answers, history = 0, dispatcher.history
    before = stopwatch()
    try:
        ask = next(search)
        while known_answers < MAX_ANSWERS_FROM_MEMORY:
            dispatcher.accept(ask)
            # Replayed trials were counted in an earlier session.
            history.search_seconds += 0.0 if history.trials_to_replay else stopwatch() - before
            answered = history.answered_from_memory
            event = yield from _next_event(dispatcher)
            if event is None:
                return EndReason.BUDGET
            known_answers = known_answers + 1 if history.answered_from_memory > answered else 0
            before = stopwatch()
            ask = search.send(event)
    except StopIteration:
        pass
    return EndReason.EXHAUSTED


def _next_event(dispatcher: TrialDispatcher) -> Steps[SearchEvent | None]:
    while True:
        try:
            return dispatcher.next_event()
        except UnreportedResultError:
            yield
