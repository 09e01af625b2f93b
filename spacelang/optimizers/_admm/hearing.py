"""A cache of trials between the parts of ADMM and the caller that evaluates requests.

A request whose trial is known is answered at once from the cache; all other requests are passed on.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from spacelang.ir.asking import Ask, Asking, Later, Told
from spacelang.ir.trial import Request, Status, Trial

T = TypeVar("T")

NO_MEMBER: Final = ""
"""A key that no member has. A configuration with this key stands for alternatives that no member has."""


def _unnoted(_: Trial) -> None:
    """Do nothing."""


class Hearing:
    """A cache of trials on all training rows, which also tracks the number of idle workers."""

    def __init__(self) -> None:
        self.trials: dict[Request, Trial] = {}
        """The known trials by request, without their predictions, which are large and not needed here."""
        self.news = 0
        """The number of trials so far that provided new information."""
        self.room = 1
        """The number of idle workers, according to the latest event."""

    def of(self, part: Asking[T], note: Callable[[Trial], None] = _unnoted) -> Asking[T]:
        """Run a part of the search, and answer its requests from the cache where possible.

        A request that stands for no member of the space is answered with a failed trial. `note` is called with every
        trial on all rows that was not in the cache. Returns the result of the part.
        """
        owed: deque[tuple[Request, Trial]] = deque()
        requests: tuple[Request | Later, ...] = ()
        try:
            ask = next(part)
            while True:
                requests += tuple(each for each in ask.begin if not self._owes(each, owed))
                if owed:
                    wanted, known = owed.popleft()
                    event = Told(known, max(self.room - len(requests), 0), asked=wanted)
                else:
                    event = yield Ask(requests, tuple(filter(_is_member, ask.ahead)))
                    requests, self.room = (), event.room
                if event.ended is not None:
                    self._hear(event.ended, note)
                ask = part.send(event)
        except StopIteration as end:
            found: T = end.value
            return found

    def _hear(self, trial: Trial, note: Callable[[Trial], None]) -> None:
        if trial.request.fidelity is not None:
            self.news += trial.cost > 0  # a trial from memory has no cost
        elif _is_member(trial.request) and trial.request not in self.trials:
            self.news += 1
            self.trials[trial.request] = kept = _kept(trial)
            note(kept)

    def _owes(self, wanted: Request | Later, owed: deque[tuple[Request, Trial]]) -> bool:
        """Return True if the trial of a request is known; it is then appended to `owed`."""
        if isinstance(wanted, Later):
            return False
        known = self.trials.get(wanted) if _is_member(wanted) else _failed(wanted)
        if known is not None:
            owed.append((wanted, replace(known, request=wanted, cost=0.0)))
        return known is not None


def _is_member(request: Request) -> bool:
    return NO_MEMBER not in request.configuration


def _failed(request: Request) -> Trial:
    reason = "no configuration has these alternatives together with the current hyperparameters"
    return Trial(request, None, status=Status.INVALID, reason=reason)


def _kept(trial: Trial) -> Trial:
    return trial if trial.predictions is None else replace(trial, predictions=None)
