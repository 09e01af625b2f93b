"""The dispatcher between a search and its workers: it starts requested trials and returns search events one by one."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from spacelang.ir.asking import Ask, IdleSearchError, Told
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.errors import OtherSearchError
from spacelang.runtime.executors import Executor, Finished, Job
from spacelang.runtime.history import History, Key, Record
from spacelang.runtime.listening import Listener
from spacelang.runtime.proposals import Proposals, Wish
from spacelang.runtime.waiting import Waiting


@dataclass(slots=True)
class Dispatcher:
    """The component that answers a search from memory, by replaying earlier sessions, or by evaluating trials.

    A request is *committed* if the search has asked for its trial. It is *speculative* if the search will only probably
    ask for it. Speculative requests run when a worker has nothing else to do, and they can be stopped again.
    """

    executor: Executor
    budget: Budget
    history: History
    listener: Listener
    waiting: Waiting
    proposals: Proposals
    running: "dict[Key, _Running]" = field(default_factory=dict)
    """The jobs that workers are evaluating."""
    _earnest: dict[Key, deque[Wish]] = field(default_factory=dict)
    """The committed requests that were not reported yet, by key. Requests for the same trial are in their order."""
    _ahead: dict[Key, Request] = field(default_factory=dict)
    """The speculative requests, the likeliest first."""
    _known: deque[Wish] = field(default_factory=deque)
    """The committed requests that are reported next, as their trials were known already."""
    _finished: deque[Finished] = field(default_factory=deque)
    """The finished jobs that are reported after that; until then they count as running."""
    _workers: int = 0
    """The number of workers when a trial was last reported, or when the session started."""
    _room_told: int | None = None
    _is_new: bool = False
    """True if a session has started with another number of workers since idle workers were last reported."""
    _is_live: bool = False
    """True if all trials of earlier sessions were replayed."""

    def take(self, ask: Ask) -> None:
        """Accept the requests of an ask: commit to some of them and replace the speculative ones.

        Lazy requests are made here. Requests that are already known are answered from memory by `told`.
        """
        self._want(map(self.proposals.wish, ask.begin))
        self._ahead = dict(self._unknown(ask.ahead))

    def told(self) -> Told | None:
        """Return the next event for the search, or None if the budget ends before there is one.

        Events come in this order: requests answered from memory, a change in the number of idle workers, trials of
        earlier sessions, finished jobs. If none of them is available, this waits for the executor.

        Raises IdleSearchError if there can never be another event, and OtherSearchError if an earlier session was a
        different search.
        """
        while not self._is_over():
            if self._known:
                return self._unless_over(self._say(self._known.popleft(), is_known=True))
            if self._has_news():
                return self._say(None)
            if not self._is_live:
                if not self._begins():
                    return self._unless_over(self._replayed())
            elif self._finished:
                return self._unless_over(self._end(self._finished.popleft()))
            elif not self._goes_on():
                return None
        return None

    def close(self, *, is_interrupted: bool = False) -> None:
        """Store all finished jobs and the remaining trials of earlier sessions, without sending them to the search.

        Raises OtherSearchError if an earlier session has sent further trials to its search. An interrupted run may end
        before they are replayed, so it raises nothing.
        """
        while self._finished:
            self._end(self._finished.popleft())
        while self.history.earlier:
            record = self.history.earlier.popleft()
            if not (record.is_early or is_interrupted):
                raise OtherSearchError(record.index)
            self._keep(record)

    # ---- what earlier sessions have left

    def _begins(self) -> bool:
        """Return True if a session starts at this point, and note its number of workers.

        This is an earlier session if the next one started after the trials replayed so far. It is the present session
        if everything was replayed.
        """
        workers = self.history.began()
        if workers is None:
            if self.history.earlier:
                return False
            self._is_live, workers = True, self._count()
            self.history.journal.begin(workers)
        # A search that knows the number of idle workers must learn of a change in workers.
        self._is_new = self._room_told is not None and workers != self._workers
        self._workers = workers
        return True

    def _replayed(self) -> Told:
        """Return the event that an earlier session sent for the next stored trial.

        Raises OtherSearchError if this search has not asked for that trial.
        """
        record = self.history.earlier.popleft()
        self._workers = record.workers
        wish = self._answered(record.trial)
        if wish is None and record.is_early:
            return self._tell_early(record)
        if wish is None or wish.proposal != record.proposal:
            raise OtherSearchError(record.index)
        self.waiting.remove(self.history.key(wish.request))
        return self._tell(record)

    # ---- what goes on

    def _goes_on(self) -> bool:
        """Start jobs and wait for one to finish; return False if no committed request may run.

        That is so if the budget is used up. Raises IdleSearchError if no committed request is pending.
        """
        if not self._earnest:
            raise IdleSearchError
        self._start()
        if not any(key in self._earnest for key in self.running):
            return False
        self._finished.extend(self.executor.wait(self.budget.seconds_left(self.history.now())))
        return True

    def _start(self) -> None:
        """Give every idle worker a job while time is left.

        If committed requests wait and no worker is idle, the least likely speculative job is stopped.
        """
        while self.budget.seconds_left(self.history.now()) != 0:
            if not (free := self.executor.free):
                if not self.waiting or self._left() == 0 or not self._give_up():
                    return
                continue
            job = self.waiting.take(free[0], self.history.key, self._left()) or self._job_ahead()
            if job is None:
                return
            self.running[self.history.key(job.request)] = _Running(job, free[0], self.history.now())
            self.executor.start(free[0], job)

    def _left(self) -> int | None:
        """Return how many more committed jobs may start within the trial budget, or None without a limit."""
        left = self.budget.trials_left(self.history.told)
        under_way = sum(key in self._earnest for key in self.running)
        return None if left is None else max(left - under_way, 0)

    def _job_ahead(self) -> Job | None:
        """Return a job for the likeliest speculative request that is not running, or None.

        Committed requests come first, so this is None while any of them waits or if the trial budget is used up.
        """
        if self.waiting or self._left() == 0:
            return None
        request = next((each for key, each in self._ahead.items() if key not in self.running), None)
        return None if request is None else self.waiting.job(request)

    def _give_up(self) -> bool:
        """Stop the least likely speculative job; return False if no such job is running."""
        finished = {each.job.number for each in self._finished}
        unwanted = [
            key for key, each in self.running.items() if key not in self._earnest and each.job.number not in finished
        ]
        if not unwanted:
            return False
        places = {key: place for place, key in enumerate(self._ahead)}
        least = max(unwanted, key=lambda key: (places.get(key, len(places)), self.running[key].job.number))
        self.executor.stop((self.running.pop(least).worker,))
        return True

    def _end(self, finished: Finished) -> Told:
        """Record a finished job and return the event for the search.

        The trial is reported as speculative if nobody has committed to it, or if the trial budget is already used up.
        If it was started speculatively with less time than is wanted now, the committed request is queued again.
        """
        key = self.history.key(finished.job.request)
        began = self.running.pop(key).began
        self._workers = self._count()
        trial = replace(finished.trial, request=finished.job.request)
        wish = self._answered(trial)
        # A trial that ends together with the last one of the budget is not reported, even if it is committed.
        is_told = wish is not None and self.budget.trials_left(self.history.told) != 0
        record = self.history.record(
            trial if wish is None else replace(trial, request=wish.request),
            began,
            finished.worker,
            finished.attempts,
            self._workers,
            is_early=not is_told,
            proposal=None if wish is None else wish.proposal,
        )
        if is_told:
            return self._tell(record)
        if wish is None and key in self._earnest:  # it was started speculatively, with less time than is wanted now
            self.waiting.add({key: self._earnest[key][0].request})
        return self._tell_early(record)

    # ---- telling

    def _has_news(self) -> bool:
        """Return True if a change in the number of idle workers must be reported by an event of its own.

        This is so after a session starts with other workers, and if no committed trial is pending that could carry the
        number.
        """
        return self._workers > 0 and self._room != self._room_told and (self._is_new or not self._earnest)

    def _tell(self, record: Record) -> Told:
        """Store a committed trial and return the event for the first request that asked for it.

        Further requests for the same trial are queued again: `_want` answers them from memory, or evaluates those that
        the trial does not answer.
        """
        first, *others = self._earnest.pop(self.history.key(record.trial.request))
        self._keep(replace(record, trial=replace(record.trial, request=first.request)))
        self._want(others)
        return self._say(first)

    def _tell_early(self, record: Record) -> Told:
        """Store a trial that no committed request has asked for yet, and return its speculative event."""
        self._keep(record)
        self._room_told, self._is_new = self._room, False
        return Told(None, self._room, self.history.look(record.trial.request))

    def _keep(self, record: Record) -> None:
        held = self.history.keep(record)
        self.listener.trial(held, self.history.best or held)

    def _say(self, wish: Wish | None, *, is_known: bool = False) -> Told:
        """Return the event for a committed request, or for a change in idle workers if `wish` is None."""
        self._room_told, self._is_new = self._room, False
        if wish is None:
            return Told(None, self._room)
        answer = self.history.recall if is_known else self.history.charge
        return Told(answer(wish.request), self._room, asked=wish.asked)

    @property
    def _room(self) -> int:
        """The number of workers without a committed job, less the events that are still to be sent from memory."""
        return max(self._workers - len(self._earnest) - len(self._known), 0)

    def _count(self) -> int:
        """Return the number of workers. A finished job no longer occupies one, even if it was not reported yet."""
        return len(self.executor.free) + len(self.running) - len(self._finished)

    def _want(self, wishes: Iterable[Wish]) -> None:
        """Register committed requests: answer them from memory, attach them to a running job, or queue them."""
        fresh: dict[Key, Request] = {}
        for wish in wishes:
            key = self.history.key(wish.request)
            if self.history.knows(wish.request):
                self._known.append(wish)
            elif key in self._earnest:
                self._earnest[key].append(wish)
            else:
                self._earnest[key] = deque([wish])
                if key not in self.running:
                    fresh[key] = wish.request
        self.waiting.add(fresh)

    def _answered(self, trial: Trial) -> Wish | None:
        """Return the first committed request that the trial answers; None if there is none."""
        wishes = self._earnest.get(self.history.key(trial.request))
        return wishes[0] if wishes and trial.answers(wishes[0].request) else None

    def _unknown(self, requests: Iterable[Request]) -> "Iterable[tuple[Key, Request]]":
        """Yield the requests, with their keys, that are neither answered in memory nor committed."""
        for request in requests:
            key = self.history.key(request)
            if not self.history.knows(request) and key not in self._earnest:
                yield key, request

    def _unless_over(self, told: Told) -> Told | None:
        return None if self._is_over() else told

    def _is_over(self) -> bool:
        """Return True if the budget is exhausted and every trial that ended within it was reported."""
        if self.budget.trials_left(self.history.told) == 0 and all(each.is_early for each in self.history.earlier):
            return True  # the remaining ones are speculative: they are stored when the run is closed
        if self.history.earlier:
            return False
        return not self._finished and self.budget.is_exhausted(self.history.now(), self.history.told)


@dataclass(frozen=True, slots=True)
class _Running:
    """A job that a worker is evaluating, and its start in seconds since the start of the run."""

    job: Job
    worker: str
    began: float
