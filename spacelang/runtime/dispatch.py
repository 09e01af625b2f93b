"""The dispatcher: between a search and the workers; it begins what is wanted, and tells what has ended, one by one."""

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
    """Answers a search: from memory, with what earlier sessions have left, and at last by evaluating what it wants."""

    executor: Executor
    budget: Budget
    history: History
    listener: Listener
    waiting: Waiting
    proposals: Proposals
    running: "dict[Key, _Running]" = field(default_factory=dict)
    """What workers are at."""
    _earnest: dict[Key, deque[Wish]] = field(default_factory=dict)
    """What was begun in earnest and not told yet: who wants it, those first who were first."""
    _ahead: dict[Key, Request] = field(default_factory=dict)
    """What the search will probably want, the likeliest first."""
    _known: deque[Wish] = field(default_factory=deque)
    """What is told next, as its answer was known when it was asked for."""
    _finished: deque[Finished] = field(default_factory=deque)
    """What has ended and is told after that; until then it counts as running."""
    _workers: int = 0
    """How many there were when a trial was told last, or when the session began."""
    _room_told: int | None = None
    _is_new: bool = False
    """Whether a session has begun with other workers since the room was told."""
    _is_live: bool = False
    """Whether all that earlier sessions have left was told."""

    def take(self, ask: Ask) -> None:
        """Note what a search wants; what is to be made later is made now."""
        self._want(map(self.proposals.wish, ask.begin))
        self._ahead = dict(self._unknown(ask.ahead))

    def told(self) -> Told | None:
        """What the search is told next; None where the budget has ended before there is anything.

        Raises IdleSearchError where there never will be, and OtherSearchError where an earlier session told another
        search.
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
        """Nothing more is told; what has ended is kept, and what earlier sessions have left.

        Raises OtherSearchError where these had told more of the search, unless it was interrupted before it was told.
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
        """Whether a session begins here: the present one, where all that is left of earlier ones was told."""
        workers = self.history.began()
        if workers is None:
            if self.history.earlier:
                return False
            self._is_live, workers = True, self._count()
            self.history.journal.begin(workers)
        # A search that knows how much room there was is told where there are more or fewer workers now.
        self._is_new = self._room_told is not None and workers != self._workers
        self._workers = workers
        return True

    def _replayed(self) -> Told:
        """What was told of the next trial of an earlier session."""
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
        """Begin what can be begun and wait for something to end; false where the budget allows nothing of it."""
        if not self._earnest:
            raise IdleSearchError
        self._start()
        if not any(key in self._earnest for key in self.running):
            return False
        self._finished.extend(self.executor.wait(self.budget.seconds_left(self.history.now())))
        return True

    def _start(self) -> None:
        """Give everyone something to do who has nothing, as long as there is time."""
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
        """How many trials may still be begun in earnest; None where nothing limits them."""
        left = self.budget.trials_left(self.history.told)
        under_way = sum(key in self._earnest for key in self.running)
        return None if left is None else max(left - under_way, 0)

    def _job_ahead(self) -> Job | None:
        """A job that will probably be wanted, as long as anything may be."""
        if self.waiting or self._left() == 0:
            return None
        request = next((each for key, each in self._ahead.items() if key not in self.running), None)
        return None if request is None else self.waiting.job(request)

    def _give_up(self) -> bool:
        """Stop the least probable of what nobody wants in earnest; whether there is anything."""
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
        """What is told of a trial that has ended."""
        key = self.history.key(finished.job.request)
        began = self.running.pop(key).began
        self._workers = self._count()
        trial = replace(finished.trial, request=finished.job.request)
        wish = self._answered(trial)
        # What ends together with the last trial of a budget is not told in this session, even where it was wanted.
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
        if wish is None and key in self._earnest:  # it was begun ahead, with less time than is wanted now
            self.waiting.add({key: self._earnest[key][0].request})
        return self._tell_early(record)

    # ---- telling

    def _has_news(self) -> bool:
        """Whether the room is told by itself: where a session begins, and where nothing else will be told."""
        return self._workers > 0 and self._room != self._room_told and (self._is_new or not self._earnest)

    def _tell(self, record: Record) -> Told:
        """Keep a trial that was wanted in earnest, and tell who wanted it first; the others are told next.

        Those whom it does not answer wait for another one.
        """
        first, *others = self._earnest.pop(self.history.key(record.trial.request))
        self._keep(replace(record, trial=replace(record.trial, request=first.request)))
        self._want(others)
        return self._say(first)

    def _tell_early(self, record: Record) -> Told:
        """Keep a trial that nobody wants in earnest yet, and tell of it."""
        self._keep(record)
        self._room_told, self._is_new = self._room, False
        return Told(None, self._room, self.history.look(record.trial.request))

    def _keep(self, record: Record) -> None:
        held = self.history.keep(record)
        self.listener.trial(held, self.history.best or held)

    def _say(self, wish: Wish | None, *, is_known: bool = False) -> Told:
        self._room_told, self._is_new = self._room, False
        if wish is None:
            return Told(None, self._room)
        answer = self.history.recall if is_known else self.history.charge
        return Told(answer(wish.request), self._room, asked=wish.asked)

    @property
    def _room(self) -> int:
        """How many workers have nothing to do in earnest, and nothing is told next that they may be needed for."""
        return max(self._workers - len(self._earnest) - len(self._known), 0)

    def _count(self) -> int:
        """How many workers there are: what has ended holds none, whether it was told or not."""
        return len(self.executor.free) + len(self.running) - len(self._finished)

    def _want(self, wishes: Iterable[Wish]) -> None:
        """Have wishes answered: from memory, by what is under way, or in their turn."""
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
        """Who wanted first, in earnest, what has ended; None where nobody did, or none whom it answers."""
        wishes = self._earnest.get(self.history.key(trial.request))
        return wishes[0] if wishes and trial.answers(wishes[0].request) else None

    def _unknown(self, requests: Iterable[Request]) -> "Iterable[tuple[Key, Request]]":
        """Those of the requests that nobody knows the answer to, and nobody wants in earnest."""
        for request in requests:
            key = self.history.key(request)
            if not self.history.knows(request) and key not in self._earnest:
                yield key, request

    def _unless_over(self, told: Told) -> Told | None:
        return None if self._is_over() else told

    def _is_over(self) -> bool:
        """Whether the budget is, and all was told that ended within it."""
        if self.budget.trials_left(self.history.told) == 0 and all(each.is_early for each in self.history.earlier):
            return True  # what has ended beyond these was begun ahead: it is kept when the run is closed
        if self.history.earlier:
            return False
        return not self._finished and self.budget.is_exhausted(self.history.now(), self.history.told)


@dataclass(frozen=True, slots=True)
class _Running:
    """A job that a worker is at, and when it began."""

    job: Job
    worker: str
    began: float
