"""BOASF: a bandit that gives more resource to better parts of a space, each searched by TPE.

See spacelang/optimizers/README.md, section "BOASF: rounds".
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import floor, inf
from time import perf_counter
from typing import ClassVar, Final, Literal

from spacelang.ir.problem import Problem
from spacelang.ir.search_protocol import Ask, Search, SearchCoroutine, gather
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._boasf.arm_rounds import ArmBudget, ArmState, pull
from spacelang.optimizers._boasf.arm_scores import arm_score, softmax_shares, surviving_arms
from spacelang.optimizers._common_options import check
from spacelang.optimizers._hyperopt_tpe import HyperoptTpe, TpeSettings, lower_for_hyperopt
from spacelang.optimizers._novelty import NoveltyTracker
from spacelang.optimizers._proposer_search import ProposerSearch
from spacelang.plugins import option
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import LoweringResult
from spacelang.targets.boasf import Boasf as Division
from spacelang.targets.hyperopt import HyperoptSpace, Values

DEFAULT_EVALUATIONS: Final = 20
"""The average number of evaluations per arm and round if neither options nor the run set a budget."""


@dataclass(frozen=True, slots=True)
class Boasf:
    """BOASF: rounds of TPE in parts of a space, models or pieces; bad parts are dropped, good ones get more time."""

    paper: ClassVar[str] = "Zhu et al., BOASF: A Unified Framework for Speeding up Automatic Machine Learning, 2022"

    rounds: int = option(3, "the number of rounds; arms are dropped after each one but the last")
    c: float = option(2.0, "the weight of the spread of an arm's rewards, added to their mean")
    arms: Literal["models", "subspaces"] = option(
        "models", "one arm per model, or one per piece of the hyperparameter ranges"
    )
    k: int = option(2, "pieces per hyperparameter without `@split`, with `arms=subspaces`")
    stage: str = option("", "the stage whose alternatives are the models; by default the last one")
    cap: int = option(1024, "the maximum number of arms")
    resource: Literal["budget", "seconds", "evaluations"] = option(
        "budget", "what rounds divide: seconds or evaluations; `budget`: what limits the run, time first"
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
        """Raise OptionError for a value out of bounds."""
        check(self.rounds >= 1, f"`rounds` is {self.rounds}", "`rounds` must be at least 1")
        for name, value in (("c", self.c), ("total", self.total), ("limit", self.limit)):
            check(0 <= value < inf, f"`{name}` is {value}", f"`{name}` must be at least 0")
        TpeSettings(self.startup, self.gamma, self.candidates)
        self._arm_target()

    def form(self, structures: Structures) -> LoweringResult[HyperoptSpace, Values]:
        """Compile the space for hyperopt, which searches each of its arms.

        Raises OptionError if the space cannot be divided, and RefusedError if hyperopt cannot represent it.
        """
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
        """Run rounds until no arm is left that has something to try."""
        round_, workers = 1, (yield Ask()).idle_workers
        while arms:
            given = self._round_shares(arms, resource, is_first=round_ == 1)
            workers = (yield from self._run_round(arms, given, resource, workers)) or workers
            # An exhausted arm needs no share, and must not take the place of another one.
            arms = [arm for arm in arms if not arm.is_exhausted]
            if arms and round_ < self.rounds:
                arms = [arms[place] for place in surviving_arms(self._scores(arms), self.tie, problem.rng)]
            round_ += 1

    def _round_shares(self, arms: Sequence[ArmState], resource: "_Resource", *, is_first: bool) -> list[float]:
        """Return the share of each arm in a round, in seconds or evaluations."""
        each = resource.total / self.rounds
        found = [each / len(arms)] * len(arms) if is_first else softmax_shares(self._scores(arms), each)
        return found if resource.in_seconds else [max(1.0, floor(share + 1e-9)) for share in found]

    def _run_round(
        self, arms: Sequence[ArmState], given: Sequence[float], resource: "_Resource", workers: int
    ) -> SearchCoroutine[int]:
        """Pull all arms concurrently, and return the number of idle workers at the end of the round."""
        limit, clock = self.limit or inf, self.clock if resource.in_seconds else None
        whole = resource.total / self.rounds
        parts = []
        for place, (arm, left) in enumerate(zip(arms, given, strict=True)):
            room = (workers + len(arms) - 1 - place) // len(arms)
            parts.append(pull(arm, ArmBudget(left, limit, whole, clock), room))
        return max((yield from gather(parts)))

    def _scores(self, arms: Sequence[ArmState]) -> list[float]:
        """Return the scores of the arms."""
        return [arm_score(arm.rewards, self.c, self.denom) for arm in arms]

    def _create_arms(self, problem: Problem, structures: Structures) -> list[ArmState]:
        """Create the arms of the space, each with the initial configurations that it contains."""
        form, how = self._arm_target().lower(structures).form, TpeSettings(self.startup, self.gamma, self.candidates)
        novelty = NoveltyTracker(range(len(form.arms)), 1)
        arms = [
            ArmState(ProposerSearch(place, novelty, HyperoptTpe(arm.structures, how), arm.structures), deque())
            for place, arm in enumerate(form.arms)
        ]
        for configuration in problem.initial:
            arms[form.index_of(configuration)].initial.append(configuration)
        return arms

    def _arm_target(self) -> Division:
        """Return the target that divides the space into arms; raises OptionError for invalid options."""
        return Division(self.arms, self.k, self.stage, self.cap)


@dataclass(frozen=True, slots=True)
class _Resource:
    """The resource that rounds divide: a total of seconds, or of evaluations."""

    total: float
    in_seconds: bool

    @classmethod
    def from_problem(cls, options: Boasf, problem: Problem, arms: int) -> "_Resource":
        """Return the resource set by the options, else the budget of the run, else a default number of evaluations."""
        seconds, trials = problem.budget.seconds, problem.budget.trials
        in_seconds = options.resource == "seconds" or (options.resource == "budget" and seconds is not None)
        total = options.total or (seconds if in_seconds else trials)
        if total is None:
            return cls(float(DEFAULT_EVALUATIONS * arms * options.rounds), in_seconds=False)
        return cls(float(total), in_seconds)
