"""What comes between the parts of ADMM and whoever answers them: what is known is told at once, all else is noted."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from spacelang.ir.asking import Ask, Asking, Later, Told
from spacelang.ir.trial import Request, Status, Trial

T = TypeVar("T")

NO_MEMBER: Final = ""
"""A key that no configuration of a space has: what has it stands for alternatives without a member."""


def _unnoted(_: Trial) -> None:
    """Nobody wants to be told."""


class Hearing:
    """What was told of requests on all rows, and how much room there is."""

    def __init__(self) -> None:
        self.trials: dict[Request, Trial] = {}
        """Without their predictions: nobody compares by them, and they are large."""
        self.news = 0
        """How many trials have told anything new."""
        self.room = 1

    def of(self, part: Asking[T], note: Callable[[Trial], None] = _unnoted) -> Asking[T]:
        """A part, told at once of what is known; what stands for no member has failed.

        `note` is told every trial on all rows that was not known.
        """
        owed: deque[tuple[Request, Trial]] = deque()
        begin: tuple[Request | Later, ...] = ()
        try:
            ask = next(part)
            while True:
                begin += tuple(each for each in ask.begin if not self._owes(each, owed))
                if owed:
                    wanted, known = owed.popleft()
                    told = Told(known, max(self.room - len(begin), 0), asked=wanted)
                else:
                    told = yield Ask(begin, tuple(filter(_is_member, ask.ahead)))
                    begin, self.room = (), told.room
                if told.ended is not None:
                    self._hear(told.ended, note)
                ask = part.send(told)
        except StopIteration as end:
            found: T = end.value
            return found

    def _hear(self, trial: Trial, note: Callable[[Trial], None]) -> None:
        if trial.request.fidelity is not None:
            self.news += trial.cost > 0  # what is told from memory costs nothing
        elif _is_member(trial.request) and trial.request not in self.trials:
            self.news += 1
            self.trials[trial.request] = kept = _kept(trial)
            note(kept)

    def _owes(self, wanted: Request | Later, owed: deque[tuple[Request, Trial]]) -> bool:
        """Whether the answer is known, which is then owed."""
        if isinstance(wanted, Later):
            return False
        known = self.trials.get(wanted) if _is_member(wanted) else _failed(wanted)
        if known is not None:
            owed.append((wanted, replace(known, request=wanted, cost=0.0)))
        return known is not None


def _is_member(request: Request) -> bool:
    return NO_MEMBER not in request.configuration


def _failed(request: Request) -> Trial:
    reason = "the alternatives have no member with the present hyperparameters"
    return Trial(request, None, status=Status.INVALID, reason=reason)


def _kept(trial: Trial) -> Trial:
    return trial if trial.predictions is None else replace(trial, predictions=None)
