"""One arm in one round of BOASF: it proposes configurations until its budget of the round is used up.

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
    """An arm: its proposer, its remaining initial configurations, and its rewards in all rounds."""

    proposing: Proposing[int]
    first: deque[Configuration]
    rewards: list[float] = field(default_factory=list)

    @property
    def is_dry(self) -> bool:
        """True if the arm has nothing left to try."""
        return not self.first and self.proposing.sits_out

    def wish(self, seconds: float | None) -> Request | Later:
        """Return the request of the next configuration to try; `seconds` limits its evaluation."""
        return self.proposing.given(self.first.popleft(), seconds) if self.first else self.proposing.later(seconds)

    def note(self, trial: Trial) -> None:
        """Record a finished trial; a failed trial has no reward."""
        self.proposing.note(trial)
        if trial.loss is not None:
            self.rewards.append(1 - trial.standing)


@dataclass(slots=True)
class Account:
    """The budget of an arm in one round: seconds of a clock, or a number of evaluations if there is no clock.

    `left` is the budget that remains. `limit` is the maximum number of seconds of one evaluation. `round_` is the
    budget of all arms together in the round.
    """

    left: float
    limit: float
    round_: float
    clock: Callable[[], float] | None
    out: int = 0
    """The number of running evaluations."""
    _told: int = 0
    _spent: float = 0.0

    @property
    def allows(self) -> bool:
        """True if another evaluation may start.

        At least one may start in every round. After that, the budget must cover the running evaluations at the mean
        cost and leave something over. Before the first evaluation of the round has finished no cost in seconds is
        known, and running evaluations count as 0 seconds.
        """
        if not self._told and not self.out:
            return True
        return self.left - self.out * self._usual > 0

    @property
    def in_seconds(self) -> bool:
        """True if the budget is in seconds."""
        return self.clock is not None

    @property
    def _usual(self) -> float:
        """The mean cost of an evaluation: 1 without a clock, 0 before the first evaluation has finished."""
        if not self.in_seconds:
            return 1.0
        return self._spent / self._told if self._told else 0.0

    @property
    def seconds(self) -> float | None:
        """The time limit of the next evaluation in seconds; None for no limit.

        The remaining budget limits it only once an evaluation has finished in this round. Before that, the budget of
        the whole round does. If the share of the arm is shorter than a trial, every trial would otherwise be cut off,
        and nothing would be learned.
        """
        found = min(self.limit, self.left if self._told else self.round_) if self.in_seconds else self.limit
        return None if found == inf else found

    def charge(self, trial: Trial) -> None:
        """Charge a finished trial to the budget, successful or not: its evaluation, and the time to propose it."""
        cost = trial.cost + sum(map(float, trial.request.memo)) if self.in_seconds else 1.0
        self.out -= 1
        self._told += 1
        self._spent += cost
        self.left -= cost


def timed(wish: Request | Later, clock: Callable[[], float]) -> Request | Later:
    """Return a request with the seconds that its proposal took as its `memo`.

    A lazy request is timed when it is made. A plain `Request` is returned unchanged, because it needs no proposal.
    """
    if isinstance(wish, Request):
        return wish

    def make(rng: "Generator") -> Request:
        began = clock()
        return replace(wish.make(rng), memo=(clock() - began,))

    return Later(make, wish.begun)


def pull(arm: Pulled, account: Account, room: int) -> Asking[int]:
    """Pull an arm until its budget is used up, or until it has nothing left to try.

    It first uses `room` workers, later those that are idle. Returns the number of idle workers at its last event; 0 if
    it had no trial.
    """
    idle = 0
    while True:
        requests: list[Request | Later] = []
        while len(requests) < max(room, not account.out) and account.allows and not arm.is_dry:
            request = arm.wish(account.seconds)
            requests.append(request if account.clock is None else timed(request, account.clock))
            account.out += 1
        if not account.out:
            return idle
        event = yield Ask(tuple(requests))
        room = idle = event.room
        if event.ended is not None:
            account.charge(event.ended)
            arm.note(event.ended)
