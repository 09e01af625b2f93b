"""BOASF: a bandit that gives more resource to better parts of a space, each searched by TPE.

See spacelang/optimizers/README.md, section "BOASF: rounds".
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import floor, inf, log2, sqrt
from time import perf_counter
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.random import Generator

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, LazyRequest, Problem, Search, SearchCoroutine, gather
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._draws import NoveltyTracker
from spacelang.optimizers._libraries import HyperoptTpe, TpeSettings, lower_for_hyperopt
from spacelang.optimizers._proposer_search import ProposerPart
from spacelang.plugins import option
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import LoweringResult
from spacelang.targets.boasf import Boasf as Division
from spacelang.targets.hyperopt import HyperoptSpace, Values

DEFAULT_EVALUATIONS: Final = 20
"""The average number of evaluations per arm and round if neither options nor the run set a budget."""


@dataclass(slots=True)
class ArmState:
    """An arm: its proposer, its remaining initial configurations, and its rewards in all rounds."""

    proposer_search: ProposerPart[int]
    initial: deque[Configuration]
    rewards: list[float] = field(default_factory=list)

    @property
    def is_exhausted(self) -> bool:
        """True if the arm has nothing left to try."""
        return not self.initial and self.proposer_search.is_exhausted

    def make_request(self, seconds: float | None) -> Request | LazyRequest:
        """Return the request of the next initial configuration, or of a proposal once all of these were requested.

        `seconds` limits the evaluation.
        """
        if self.initial:
            return self.proposer_search.request_for(self.initial.popleft(), seconds)
        return self.proposer_search.make_lazy_request(seconds)

    def record(self, trial: Trial) -> None:
        """Record a finished trial; a failed trial has no reward."""
        self.proposer_search.record(trial)
        if trial.loss is not None:
            self.rewards.append(1 - trial.normalized_loss)


@dataclass(frozen=True, slots=True)
class Boasf:
    """BOASF: rounds of TPE in parts of a space, models or pieces; bad parts are dropped, good ones get more time."""

    paper: ClassVar[str] = "Zhu et al., BOASF: A Unified Framework for Speeding up Automatic Machine Learning, 2022"

    rounds: int = option(3, "the number of rounds; arms are dropped after each one but the last")
    c: float = option(2.0, "the weight of the spread of an arm's rewards, which is added to their mean")
    arms: Literal["models", "subspaces"] = option(
        "models", "one arm per model, or one per piece of the hyperparameter ranges"
    )
    k: int = option(2, "with `arms=subspaces`, the number of pieces of each hyperparameter without `@split`")
    stage: str = option("", "the stage whose alternatives are the models; by default the last one")
    cap: int = option(1024, "the maximum number of arms")
    resource: Literal["budget", "seconds", "evaluations"] = option(
        "budget",
        "the resource that is divided among the rounds; `budget`: the limit of the run (its time, if it has both)",
    )
    total: float = option(0.0, "the total to divide, in seconds or evaluations; 0: the budget of the run")
    limit: float = option(
        120.0, "seconds per evaluation, after an arm's first also bounded by its remaining share; 0: no limit"
    )
    denom: Literal["sqrt", "log2"] = option(
        "sqrt", "the divisor of the spread: the root of the count as in the paper, or log2 as in its code"
    )
    tie: Literal["keep", "reference"] = option(
        "keep", "which arms stay if all scores are equal: all, or a random choice"
    )
    startup: int = option(20, settings.STARTUP)
    gamma: float = option(0.25, settings.GAMMA)
    candidates: int = option(24, settings.CANDIDATES)

    clock: Callable[[], float] = field(default=perf_counter, compare=False, repr=False)
    """The clock that times proposals, in seconds."""

    def __post_init__(self) -> None:
        settings.check_option(self, "rounds", self.rounds >= 1, "must be at least 1")
        for name, value in (("c", self.c), ("total", self.total), ("limit", self.limit)):
            settings.require(0 <= value < inf, f"`{name}` is {value}", f"`{name}` must be at least 0")
        TpeSettings(self.startup, self.gamma, self.candidates)
        self._arm_target()

    def form(self, structures: Structures) -> LoweringResult[HyperoptSpace, Values]:
        """Compile the space for hyperopt; raises OptionError if it cannot be divided, and RefusedError."""
        self._arm_target().lower(structures)
        return lower_for_hyperopt(structures)

    def search(self, problem: Problem) -> Search:
        """Run rounds in which every remaining arm has its share; the rest of the budget is spent on further rounds.

        In the first round all shares are equal; later they are the softmax of the arms' scores. An arm has at least one
        trial in a round, and several at a time if workers are idle. Arms wait for each other at the end of a round. A
        reward is 1 minus the normalized loss.

        An arm that has nothing new to try is skipped. Its share goes to the others, and it takes no place among the
        arms that stay. The search ends when all remaining arms are exhausted. If seconds are divided, an arm is also
        charged for the time of its proposals, so that rounds end in time even if trials take almost none.

        Without any budget an arm has 20 evaluations a round on average. Raises OptionError if the space cannot be
        divided, and RefusedError for an arm that hyperopt cannot represent.
        """
        structures = Structures(problem.space)
        if structures.count:
            arms = self._create_arms(problem, structures)
            yield from self._run(arms, problem, _Resource.from_problem(self, problem, len(arms)))

    def _run(self, arms: list[ArmState], problem: Problem, resource: "_Resource") -> Search:
        round_, workers = 1, (yield Ask()).idle_workers
        while arms:
            given = self._round_shares(arms, resource, is_first=round_ == 1)
            workers = (yield from self._run_round(arms, given, resource, workers)) or workers
            # An exhausted arm needs no share, and must not take the place of another one.
            arms = [arm for arm in arms if not arm.is_exhausted]
            if arms and round_ < self.rounds:
                arms = [arms[place] for place in draw_surviving_arms(self._scores(arms), self.tie, problem.rng)]
            round_ += 1

    def _round_shares(self, arms: Sequence[ArmState], resource: "_Resource", *, is_first: bool) -> list[float]:
        each = resource.total / self.rounds
        found = [each / len(arms)] * len(arms) if is_first else softmax_shares(self._scores(arms), each)
        return found if resource.in_seconds else [max(1.0, floor(share + 1e-9)) for share in found]

    def _run_round(
        self, arms: Sequence[ArmState], given: Sequence[float], resource: "_Resource", workers: int
    ) -> SearchCoroutine[int]:
        """Pull all arms concurrently, each for its share in `given`; return the number of idle workers at the end."""
        limit, clock = self.limit or inf, self.clock if resource.in_seconds else None
        whole = resource.total / self.rounds
        parts = []
        for place, (arm, left) in enumerate(zip(arms, given, strict=True)):
            room = (workers + len(arms) - 1 - place) // len(arms)
            parts.append(run_arm_until_budget_end(arm, ArmBudget(left, limit, whole, clock), room))
        return max((yield from gather(parts)))

    def _scores(self, arms: Sequence[ArmState]) -> list[float]:
        return [arm_score(arm.rewards, self.c, self.denom) for arm in arms]

    def _create_arms(self, problem: Problem, structures: Structures) -> list[ArmState]:
        form, how = self._arm_target().lower(structures).form, TpeSettings(self.startup, self.gamma, self.candidates)
        novelty = NoveltyTracker(range(len(form.arms)), 1)
        parts = (
            ProposerPart(place, novelty, HyperoptTpe(arm.structures, how), arm.structures, problem.remark)
            for place, arm in enumerate(form.arms)
        )
        arms = [ArmState(part, deque()) for part in parts]
        for configuration in problem.initial:
            arms[form.index_of(configuration)].initial.append(configuration)
        return arms

    def _arm_target(self) -> Division:
        return Division(self.arms, self.k, self.stage, self.cap)


@dataclass(frozen=True, slots=True)
class _Resource:
    """The resource that rounds divide: a total of seconds, or of evaluations."""

    total: float
    in_seconds: bool

    @classmethod
    def from_problem(cls, options: Boasf, problem: Problem, arms: int) -> "_Resource":
        seconds, trials = problem.budget.seconds, problem.budget.trials
        in_seconds = options.resource == "seconds" or (options.resource == "budget" and seconds is not None)
        total = options.total or (seconds if in_seconds else trials)
        if total is None:
            return cls(float(DEFAULT_EVALUATIONS * arms * options.rounds), in_seconds=False)
        return cls(float(total), in_seconds)


Denominator = Literal["sqrt", "log2"]
TieRule = Literal["keep", "reference"]


def arm_score(rewards: Sequence[float], c: float, denom: Denominator = "sqrt") -> float:
    """Return the score of an arm: the mean of its n rewards, plus `c` times their standard deviation over sqrt(n).

    The deviation is that of a population. With `denom="log2"` the divisor is log2(n + 2). Without rewards,
    the score is 0.
    """
    if not rewards:
        return 0.0
    count = len(rewards)
    return float(np.mean(rewards) + c * np.std(rewards) / (sqrt(count) if denom == "sqrt" else log2(count + 2)))


def softmax_shares(scores: Sequence[float], resource: float) -> list[float]:
    """Return the share of a resource that each arm gets, in proportion to the softmax of the scores."""
    powers = np.exp(np.array(scores, float) - max(scores))
    found: list[float] = (resource * powers / powers.sum()).tolist()
    return found


def survival_probabilities(scores: Sequence[float]) -> list[float] | None:
    """Return each arm's probability to survive, linear in its score: 0 for the lowest score and 1 for the highest one.

    None if all scores are equal.
    """
    least, most = min(scores), max(scores)
    return None if least == most else [(each - least) / (most - least) for each in scores]


def draw_surviving_arms(scores: Sequence[float], tie: TieRule, rng: Generator) -> list[int]:
    """Draw the arms that survive, and return their indices in ascending order.

    There is one random draw for each arm; see `survival_probabilities`. A single arm always survives. If all scores are
    equal, every arm survives with `tie="keep"`. With `tie="reference"` each of n arms then survives with probability 1
    / n, and all are drawn again until at least one survives.
    """
    if len(scores) == 1:
        return [0]
    likely = survival_probabilities(scores)
    if likely is not None:
        draws = rng.random(len(scores)).tolist()
        return [place for place, chance in enumerate(likely) if chance == 1 or draws[place] < chance]
    found = [*range(len(scores))] if tie == "keep" else list[int]()
    while not found:
        found = np.flatnonzero(rng.random(len(scores)) < 1 / len(scores)).tolist()
    return found


@dataclass(slots=True)
class ArmBudget:
    """The budget of an arm in one round: seconds of a clock, or a number of evaluations if there is no clock.

    `max_seconds` limits one evaluation, and `round_total` is the budget of all arms together in the round.
    """

    remaining: float
    max_seconds: float
    round_total: float
    clock: Callable[[], float] | None
    running_count: int = 0
    _finished_count: int = 0
    _spent_cost: float = 0.0

    @property
    def can_start(self) -> bool:
        """True if another evaluation may start: at least one in every round, then as long as the budget has a rest.

        Running evaluations count at the mean cost, which is 0 seconds before the first one of the round has finished.
        """
        if not self._finished_count and not self.running_count:
            return True
        return self.remaining - self.running_count * self._mean_cost > 0

    @property
    def is_time_budget(self) -> bool:
        """True if the budget is in seconds."""
        return self.clock is not None

    @property
    def _mean_cost(self) -> float:
        """The mean cost of an evaluation: 1 without a clock, 0 before the first evaluation has finished."""
        if not self.is_time_budget:
            return 1.0
        return self._spent_cost / self._finished_count if self._finished_count else 0.0

    @property
    def allowed_seconds(self) -> float | None:
        """The time limit of the next evaluation in seconds; None for no limit.

        The remaining budget limits it only once an evaluation has finished in this round. Before that, the budget of
        the whole round does. If the share of the arm is shorter than a trial, every trial would otherwise be cut off,
        and nothing would be learned.
        """
        left = self.remaining if self._finished_count else self.round_total
        found = min(self.max_seconds, left) if self.is_time_budget else self.max_seconds
        return None if found == inf else found

    def charge(self, trial: Trial) -> None:
        """Charge a finished trial to the budget, successful or not: its evaluation, and the time to propose it."""
        cost = trial.cost + sum(map(float, trial.request.memo)) if self.is_time_budget else 1.0
        self.running_count -= 1
        self._finished_count += 1
        self._spent_cost += cost
        self.remaining -= cost


def with_proposal_time_as_memo(wish: Request | LazyRequest, clock: Callable[[], float]) -> Request | LazyRequest:
    """Return a request whose `memo` is the seconds that its proposal took; a plain request needed no proposal."""
    if isinstance(wish, Request):
        return wish

    def make(rng: Generator) -> Request:
        began = clock()
        return replace(wish.make(rng), memo=(clock() - began,))

    return LazyRequest(make, wish.on_start)


def run_arm_until_budget_end(arm: ArmState, account: ArmBudget, idle_workers: int) -> SearchCoroutine[int]:
    """Pull an arm to the end of its budget, at first on `idle_workers`, and return how many workers are idle then."""
    idle = 0
    while True:
        requests: list[Request | LazyRequest] = []
        most = max(idle_workers, not account.running_count)
        while len(requests) < most and account.can_start and not arm.is_exhausted:
            request = arm.make_request(account.allowed_seconds)
            requests.append(request if account.clock is None else with_proposal_time_as_memo(request, account.clock))
            account.running_count += 1
        if not account.running_count:
            return idle
        event = yield Ask(tuple(requests))
        idle_workers = idle = event.idle_workers
        if event.finished is not None:
            account.charge(event.finished)
            arm.record(event.finished)
