"""BOASF: a bandit that gives more of the time to better parts of a space, each searched by TPE.

See spacelang/optimizers/README.md, section "BOASF: rounds".
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import floor, inf
from time import perf_counter
from typing import ClassVar, Final, Literal

from spacelang.ir.asking import Ask, Asking, Search, side_by_side
from spacelang.ir.problem import Problem
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._boasf.pulling import Account, Pulled, pull
from spacelang.optimizers._boasf.scores import score, shares, staying
from spacelang.optimizers._hyperopt import HyperoptTpe, TpeSettings, form_of
from spacelang.optimizers._novelty import Novelty
from spacelang.optimizers._proposing import Proposing
from spacelang.optimizers._settings import check
from spacelang.plugins import option
from spacelang.solver.counting import Structures
from spacelang.targets._lowered import Lowered
from spacelang.targets.boasf import Boasf as Division
from spacelang.targets.hyperopt import HyperoptSpace, Values

USUAL: Final = 20
"""So many evaluations an arm has in a round, on average, where nothing says how much there is."""


@dataclass(frozen=True, slots=True)
class Boasf:
    """BOASF: rounds of TPE in parts of a space, models or pieces; bad parts are dropped, good ones get more time."""

    paper: ClassVar[str] = "Zhu et al., BOASF: A Unified Framework for Speeding up Automatic Machine Learning, 2022"

    rounds: int = option(3, "rounds, after each of which but the last arms are dropped")
    c: float = option(2.0, "how much the spread of an arm's rewards counts beside their mean")
    arms: Literal["models", "subspaces"] = option("models", "an arm a model, or a piece of the hyperparameters")
    k: int = option(2, "pieces a hyperparameter without `@split`, for `arms=subspaces`")
    stage: str = option("", "the stage whose alternatives are the models; without it the last one")
    cap: int = option(1024, "the most arms")
    resource: Literal["budget", "seconds", "evaluations"] = option(
        "budget", "what rounds divide: seconds or evaluations; as the run has a time, or else a number of trials"
    )
    total: float = option(0.0, "how much of it there is; 0 is all that the run has")
    limit: float = option(120.0, "seconds of an evaluation, and after an arm's first what it has left; 0 is no limit")
    denom: Literal["sqrt", "log2"] = option("sqrt", "what the spread is divided by: as the paper, or its code, has it")
    tie: Literal["keep", "reference"] = option("keep", "which arms stay where all are alike: all, or some by chance")
    startup: int = option(20, settings.STARTUP)
    gamma: float = option(0.25, settings.GAMMA)
    candidates: int = option(24, settings.CANDIDATES)

    clock: Callable[[], float] = field(default=perf_counter, compare=False, repr=False)
    """The seconds by which proposals are timed."""

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        check(self.rounds >= 1, f"`rounds` is {self.rounds}", "there is at least 1")
        for name, value in (("c", self.c), ("total", self.total), ("limit", self.limit)):
            check(0 <= value < inf, f"`{name}` is {value}", "it is 0 or more")
        TpeSettings(self.startup, self.gamma, self.candidates)
        self._division()

    def form(self, structures: Structures) -> Lowered[HyperoptSpace, Values]:
        """The space as hyperopt searches each of its arms.

        Raises OptionError where it cannot be divided, and RefusedError where hyperopt cannot hold it.
        """
        self._division().lower(structures)
        return form_of(structures)

    def search(self, problem: Problem) -> Search:
        """Rounds in which every arm that is left has its share; what the run has left afterwards is another round.

        In the first round shares are equal, then as the softmax of scores has them. An arm has at least one trial in a
        round, and several at a time where workers have nothing to do; at the end of a round they wait for each other.
        An arm that has nothing new to try sits out, its share is that of the others, and it stays in nobody's place;
        the search ends when all that are left do. A reward is 1 minus the standing. Where seconds are divided an arm is
        charged for its proposals as well, so that rounds end in time where trials take next to none.

        Without any budget an arm has 20 evaluations a round on average. Raises OptionError where the space cannot be
        divided, and RefusedError for an arm that hyperopt cannot hold.
        """
        structures = Structures(problem.space)
        if structures.count:
            arms = self._pulled(problem, structures)
            yield from self._run(arms, problem, _Resource.of(self, problem, len(arms)))

    def _run(self, arms: list[Pulled], problem: Problem, resource: "_Resource") -> Search:
        round_, workers = 1, (yield Ask()).room
        while arms:
            given = self._given(arms, resource, is_first=round_ == 1)
            workers = (yield from self._round(arms, given, resource, workers)) or workers
            # What has nothing left to try needs no share, and stays in nobody's place.
            arms = [arm for arm in arms if not arm.is_dry]
            if arms and round_ < self.rounds:
                arms = [arms[place] for place in staying(self._scores(arms), self.tie, problem.rng)]
            round_ += 1

    def _given(self, arms: Sequence[Pulled], resource: "_Resource", *, is_first: bool) -> list[float]:
        """What each arm has in a round."""
        each = resource.total / self.rounds
        found = [each / len(arms)] * len(arms) if is_first else shares(self._scores(arms), each)
        return found if resource.in_seconds else [max(1.0, floor(share + 1e-9)) for share in found]

    def _round(
        self, arms: Sequence[Pulled], given: Sequence[float], resource: "_Resource", workers: int
    ) -> Asking[int]:
        """Pull all arms side by side; the workers there are at its end."""
        limit, clock = self.limit or inf, self.clock if resource.in_seconds else None
        whole = resource.total / self.rounds
        parts = []
        for place, (arm, left) in enumerate(zip(arms, given, strict=True)):
            room = (workers + len(arms) - 1 - place) // len(arms)
            parts.append(pull(arm, Account(left, limit, whole, clock), room))
        return max((yield from side_by_side(parts)))

    def _scores(self, arms: Sequence[Pulled]) -> list[float]:
        return [score(arm.rewards, self.c, self.denom) for arm in arms]

    def _pulled(self, problem: Problem, structures: Structures) -> list[Pulled]:
        """The arms of the space, each with the configurations in it that the run begins with."""
        form, how = self._division().lower(structures).form, TpeSettings(self.startup, self.gamma, self.candidates)
        novelty = Novelty(range(len(form.arms)), 1)
        arms = [
            Pulled(Proposing(place, novelty, HyperoptTpe(arm.structures, how), arm.structures), deque())
            for place, arm in enumerate(form.arms)
        ]
        for configuration in problem.initial:
            arms[form.index_of(configuration)].first.append(configuration)
        return arms

    def _division(self) -> Division:
        return Division(self.arms, self.k, self.stage, self.cap)


@dataclass(frozen=True, slots=True)
class _Resource:
    """What rounds divide: so many seconds, or so many evaluations."""

    total: float
    in_seconds: bool

    @classmethod
    def of(cls, options: Boasf, problem: Problem, arms: int) -> "_Resource":
        """What the options say, else what the run has; where it has no such thing a usual number of evaluations."""
        seconds, trials = problem.budget.seconds, problem.budget.trials
        in_seconds = options.resource == "seconds" or (options.resource == "budget" and seconds is not None)
        total = options.total or (seconds if in_seconds else trials)
        if total is None:
            return cls(float(USUAL * arms * options.rounds), in_seconds=False)
        return cls(float(total), in_seconds)
