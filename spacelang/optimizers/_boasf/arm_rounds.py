"""One arm in one round of BOASF: it proposes configurations until its budget of the round is used up.

See spacelang/optimizers/README.md, section "BOASF: rounds".
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, LazyRequest, SearchCoroutine
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._proposer_search import ProposerSearch

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(slots=True)
class ArmState:
    """An arm: its proposer, its remaining initial configurations, and its rewards in all rounds."""

    proposer_search: ProposerSearch[int]
    initial: deque[Configuration]
    rewards: list[float] = field(default_factory=list)

    @property
    def is_exhausted(self) -> bool:
        """True if the arm has nothing left to try."""
        return not self.initial and self.proposer_search.is_exhausted

    def make_request(self, seconds: float | None) -> Request | LazyRequest:
        """Return the request of the next configuration to try; `seconds` limits its evaluation."""
        return (
            self.proposer_search.request_for(self.initial.popleft(), seconds)
            if self.initial
            else self.proposer_search.lazy_request(seconds)
        )

    def record(self, trial: Trial) -> None:
        """Record a finished trial; a failed trial has no reward."""
        self.proposer_search.record(trial)
        if trial.loss is not None:
            self.rewards.append(1 - trial.normalized_loss)


@dataclass(slots=True)
class ArmBudget:
    """The budget of an arm in one round: seconds of a clock, or a number of evaluations if there is no clock.

    `remaining` is the budget that remains. `max_seconds` is the maximum number of seconds of one evaluation.
    `round_total` is the budget of all arms together in the round.
    """

    remaining: float
    max_seconds: float
    round_total: float
    clock: Callable[[], float] | None
    running_count: int = 0
    """The number of running evaluations."""
    _finished_count: int = 0
    _spent_cost: float = 0.0

    @property
    def can_start(self) -> bool:
        """True if another evaluation may start.

        At least one may start in every round. After that, the budget must cover the running evaluations at the mean
        cost and leave something over. Before the first evaluation of the round has finished no cost in seconds is
        known, and running evaluations count as 0 seconds.
        """
        if not self._finished_count and not self.running_count:
            return True
        return self.remaining - self.running_count * self._mean_cost > 0

    @property
    def in_seconds(self) -> bool:
        """True if the budget is in seconds."""
        return self.clock is not None

    @property
    def _mean_cost(self) -> float:
        """The mean cost of an evaluation: 1 without a clock, 0 before the first evaluation has finished."""
        if not self.in_seconds:
            return 1.0
        return self._spent_cost / self._finished_count if self._finished_count else 0.0

    @property
    def allowed_seconds(self) -> float | None:
        """The time limit of the next evaluation in seconds; None for no limit.

        The remaining budget limits it only once an evaluation has finished in this round. Before that, the budget of
        the whole round does. If the share of the arm is shorter than a trial, every trial would otherwise be cut off,
        and nothing would be learned.
        """
        found = (
            min(self.max_seconds, self.remaining if self._finished_count else self.round_total)
            if self.in_seconds
            else self.max_seconds
        )
        return None if found == inf else found

    def charge(self, trial: Trial) -> None:
        """Charge a finished trial to the budget, successful or not: its evaluation, and the time to propose it."""
        cost = trial.cost + sum(map(float, trial.request.memo)) if self.in_seconds else 1.0
        self.running_count -= 1
        self._finished_count += 1
        self._spent_cost += cost
        self.remaining -= cost


def with_proposal_time(wish: Request | LazyRequest, clock: Callable[[], float]) -> Request | LazyRequest:
    """Return a request with the seconds that its proposal took as its `memo`.

    A lazy request is timed when it is made. A plain `Request` is returned unchanged, because it needs no proposal.
    """
    if isinstance(wish, Request):
        return wish

    def make(rng: "Generator") -> Request:
        began = clock()
        return replace(wish.make(rng), memo=(clock() - began,))

    return LazyRequest(make, wish.on_start)


def pull(arm: ArmState, account: ArmBudget, room: int) -> SearchCoroutine[int]:
    """Pull an arm until its budget is used up, or until it has nothing left to try.

    It first uses `room` workers, later those that are idle. Returns the number of idle workers at its last event; 0 if
    it had no trial.
    """
    idle = 0
    while True:
        requests: list[Request | LazyRequest] = []
        while len(requests) < max(room, not account.running_count) and account.can_start and not arm.is_exhausted:
            request = arm.make_request(account.allowed_seconds)
            requests.append(request if account.clock is None else with_proposal_time(request, account.clock))
            account.running_count += 1
        if not account.running_count:
            return idle
        event = yield Ask(tuple(requests))
        room = idle = event.idle_workers
        if event.finished is not None:
            account.charge(event.finished)
            arm.record(event.finished)
