"""Trial storage in memory, and a log of the events of a search."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from spacelang.deprecation import make_module_getattr, renamed_attributes
from spacelang.ir.search_protocol import Ask, LazyRequest, Search, SearchEvent
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.history import SessionStart, TrialRecord


@dataclass
class MemoryTrialStorage:
    """A trial storage in memory."""

    earlier: Sequence[TrialRecord] = ()
    seconds: float = 0.0
    appended: list[TrialRecord] = field(default_factory=list)
    end_reason: str = ""
    stores_predictions: bool = False
    session_starts: Sequence[SessionStart] = ()
    workers: int | None = None  # The number of workers with which the present session started, or None before its start

    @property
    def count(self) -> int:
        """The number of the last stored trial."""
        return max((each.index for each in (*self.earlier, *self.appended)), default=0)

    def records(self) -> Sequence[TrialRecord]:
        return self.earlier

    def start_session(self, workers: int) -> None:
        self.workers = workers

    def append(self, record: TrialRecord) -> None:
        self.appended.append(record)

    def end_session(self, ending: str, _: float) -> None:
        self.end_reason = ending

    def next_session(self) -> "MemoryTrialStorage":
        """Return a storage for a session that resumes this run: its earlier trials are all trials stored here."""
        return self.killed_after(len(self.earlier) + len(self.appended))

    def killed_after(self, count: int) -> "MemoryTrialStorage":
        """Return the storage as the next session finds it if this one was killed after `count` trials."""
        began = () if self.workers is None else (SessionStart(len(self.earlier), self.workers),)
        known = (*self.earlier, *self.appended)[:count]
        return MemoryTrialStorage(known, 100.0, session_starts=(*self.session_starts, *began))


@renamed_attributes(seconds_and_memos="allowed_seconds_and_memos")
@dataclass
class EventLog:
    """A log of what a search asks for and of the events that it receives, in order."""

    asks: list[Ask] = field(default_factory=list)
    events: list[SearchEvent] = field(default_factory=list)

    def log_search(self, search: Search) -> Search:
        """Return a search that behaves like `search` and appends its asks and events to this log."""
        try:
            ask = next(search)
            while True:
                self.asks.append(ask)
                event = yield ask
                self.events.append(event)
                ask = search.send(event)
        except StopIteration:
            return

    @property
    def committed_requests(self) -> list[Request | LazyRequest]:
        """The committed requests, in order."""
        return [request for ask in self.asks for request in ask.requests]

    @property
    def finished_trials(self) -> list[Trial]:
        """The trials of committed requests that the search was notified of."""
        return [event.finished for event in self.events if event.finished is not None]

    @property
    def allowed_seconds_and_memos(self) -> list[tuple[float | None, str] | None]:
        """The allowed seconds and the `repr` of the memo (for exact floats) of each event's trial, None without one."""
        requests = [None if event.finished is None else event.finished.request for event in self.events]
        return [None if each is None else (each.seconds, repr(each.memo)) for each in requests]

    def events_of_first_trials(self, count: int) -> list[SearchEvent]:
        """Return the events before the first event of trial number `count` + 1."""
        return events_of_first_trials(self.events, count)


def events_of_first_trials(events: Sequence[SearchEvent], count: int) -> list[SearchEvent]:
    """Return the events before the first event of trial number `count` + 1.

    A trial is recognized by its request and its cost. So trials of cost 0 are not counted, and a repeated trial with
    more time must have another cost.
    """
    seen: set[tuple[Request, float]] = set()
    for place, event in enumerate(events):
        trial = event.finished or event.speculative
        if trial is None or not trial.cost or (trial.request, trial.cost) in seen:
            continue
        if len(seen) == count:
            return [*events[:place]]
        seen.add((trial.request, trial.cost))
    return [*events]


__getattr__ = make_module_getattr(
    __name__, {"Heard": "EventLog", "MemoryJournal": "MemoryTrialStorage", "until": "events_of_first_trials"}
)
