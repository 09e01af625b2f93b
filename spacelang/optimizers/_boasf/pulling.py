"""An arm in a round: it proposes and is charged until what it was given is used up.

See spacelang/optimizers/README.md, section "BOASF: rounds".
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING

from spacelang.ir.asking import Ask, Asking, Later
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._proposing import Proposing

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(slots=True)
class Pulled:
    """An arm: what proposes in it, what it is to begin with, and the rewards of all rounds."""

    proposing: Proposing[int]
    first: deque[Configuration]
    rewards: list[float] = field(default_factory=list)

    @property
    def is_dry(self) -> bool:
        """Whether it has nothing left to try."""
        return not self.first and self.proposing.sits_out

    def wish(self, seconds: float | None) -> Request | Later:
        """What it tries next, which may take so many seconds."""
        return self.proposing.given(self.first.popleft(), seconds) if self.first else self.proposing.later(seconds)

    def note(self, trial: Trial) -> None:
        """What came of a trial; a failure has no reward."""
        self.proposing.note(trial)
        if trial.loss is not None:
            self.rewards.append(1 - trial.standing)


@dataclass(slots=True)
class Account:
    """What an arm has in a round, of seconds by a clock or, without one, of evaluations.

    `limit` is how many seconds an evaluation may take at most, `round_` what all arms have in the round.
    """

    left: float
    limit: float
    round_: float
    clock: Callable[[], float] | None
    out: int = 0
    """How many evaluations are under way."""
    _told: int = 0
    _spent: float = 0.0

    @property
    def allows(self) -> bool:
        """Whether another evaluation may begin: at least one may, and no more than those under way leave something for.

        Before the first has ended nobody knows what one costs: then those under way are taken to cost nothing.
        """
        if not self._told and not self.out:
            return True
        return self.left - self.out * self._usual > 0

    @property
    def in_seconds(self) -> bool:
        """Whether it is of seconds."""
        return self.clock is not None

    @property
    def _usual(self) -> float:
        """What an evaluation costs."""
        if not self.in_seconds:
            return 1.0
        return self._spent / self._told if self._told else 0.0

    @property
    def seconds(self) -> float | None:
        """What the next evaluation may take; None where nothing bounds it.

        What is left bounds it only after an evaluation was told, and before that what all arms have in the round: a
        share that is less than a trial takes would end every trial, and nothing would be learnt from any.
        """
        found = min(self.limit, self.left if self._told else self.round_) if self.in_seconds else self.limit
        return None if found == inf else found

    def charge(self, trial: Trial) -> None:
        """Charge what was under way, whatever came of it: the evaluation, and before it the proposal."""
        cost = trial.cost + sum(map(float, trial.request.memo)) if self.in_seconds else 1.0
        self.out -= 1
        self._told += 1
        self._spent += cost
        self.left -= cost


def timed(wish: Request | Later, clock: Callable[[], float]) -> Request | Later:
    """The same, its memo the seconds that it took to make."""
    if isinstance(wish, Request):
        return wish

    def make(rng: "Generator") -> Request:
        began = clock()
        return replace(wish.make(rng), memo=(clock() - began,))

    return Later(make, wish.begun)


def pull(arm: Pulled, account: Account, room: int) -> Asking[int]:
    """Pull an arm until its account is used up; at first by so many workers, then by those that have nothing to do.

    The number of workers without work when the last of its trials was told; 0 where it had none.
    """
    idle = 0
    while True:
        begin: list[Request | Later] = []
        while len(begin) < max(room, not account.out) and account.allows and not arm.is_dry:
            wish = arm.wish(account.seconds)
            begin.append(wish if account.clock is None else timed(wish, account.clock))
            account.out += 1
        if not account.out:
            return idle
        told = yield Ask(tuple(begin))
        room = idle = told.room
        if told.ended is not None:
            account.charge(told.ended)
            arm.note(told.ended)
