"""Combinatorial Thompson sampling, CMAB (ALGORITHMS.md 3.5)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from spacelang.ir.asking import Ask, Search
from spacelang.ir.counting import Structures
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Request
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._completion import Completion
from spacelang.optimizers._leaves import Leaves
from spacelang.optimizers._settings import check
from spacelang.plugins import option
from spacelang.targets.blds import NOT_REACHED, DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator

PATIENCE: Final = 10
"""After so many draws in a row of pipelines that were drawn before a new one is taken."""


@dataclass(frozen=True, slots=True)
class Cmab:
    """A bandit with an arm for each alternative of each decision; a pipeline pulls one arm of each."""

    paper: ClassVar[str] = "Liu et al., An ADMM Based Framework for AutoML Pipeline Configuration, AAAI 2020"

    f_hat: float = option(
        0.7,
        "the standing, of losses in [0, 1] the loss, from which on a pipeline earns nothing; the BLDS paper takes 0.3",
    )
    alpha0: float = option(10.0, "successes that every arm is credited with at first")
    delta0: float = option(10.0, "failures that every arm is charged with at first")
    hyperparameters: Literal["default", "sample"] = option("default", settings.HYPERPARAMETERS)

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        for name, value in (("f_hat", self.f_hat), ("alpha0", self.alpha0), ("delta0", self.delta0)):
            check(0 < value < inf, f"`{name}` is {value}", "it is greater than 0")

    def search(self, problem: Problem) -> Search:
        """CMAB: pulls until every leaf was evaluated, on all rows.

        A pipeline may be pulled again and again; it is asked for once. Whoever draws one that is being evaluated pulls
        it once more when its loss is known. After 10 such draws in a row, and draws of known pipelines, when the bandit
        is sure of the best, it pulls one that is neither, uniformly drawn. Idle workers draw while others are busy.
        """
        rng = problem.rng
        tree = DiscrepancyTree(Structures(problem.space))
        if not tree.leaves:
            return
        completion = Completion(tree, self.hyperparameters, rng)
        bandit = Bandit(self, tree, rng)
        pulls = _Pulls(bandit, tree, Leaves(tree, rng).each_once())
        pipelines: dict[Request, Pipeline] = {}
        told = yield Ask()
        while True:
            begin = {Request(completion.of(each)): each for each in pulls.draw(told.room)}
            pipelines |= begin
            if not pipelines:
                return
            told = yield Ask(tuple(begin))
            if told.ended is not None:
                pulls.answer(pipelines.pop(told.ended.request), told.ended.standing)


class _Pulls:
    """Which pipelines are pulled, and how often each: at once where it is known, else once it is."""

    def __init__(self, bandit: "Bandit", tree: DiscrepancyTree, leaves: Iterator[Pipeline]) -> None:
        self._bandit = bandit
        self._left = tree.leaves
        """How many pipelines were never drawn."""
        self._standings: dict[Pipeline, float] = {}
        self._owed: dict[Pipeline, int] = {}
        """Of what is being evaluated, how often it is to be pulled."""
        self._new = (each for each in leaves if each not in self._standings and each not in self._owed)

    def draw(self, count: int) -> Iterator[Pipeline]:
        """So many new pipelines, or all that are left."""
        for _ in range(min(count, self._left)):
            self._left -= 1
            pipeline = self._next()
            self._owed[pipeline] = 1
            yield pipeline

    def answer(self, pipeline: Pipeline, standing: float) -> None:
        """Pull a pipeline that was evaluated as often as it was drawn."""
        self._standings[pipeline] = standing
        for _ in range(self._owed.pop(pipeline)):
            self._bandit.pull(pipeline, standing)

    def _next(self) -> Pipeline:
        for _ in range(PATIENCE):
            pipeline = self._bandit.choose(self._bandit.draw())
            if pipeline in self._standings:
                self._bandit.pull(pipeline, self._standings[pipeline])
            elif pipeline in self._owed:
                self._owed[pipeline] += 1
            else:
                return pipeline
        return next(self._new)


class Bandit:
    """The pulls and the successes of every arm."""

    def __init__(self, options: Cmab, tree: DiscrepancyTree, rng: "Generator") -> None:
        import numpy as np

        self._options = options
        self._tree = tree
        self._rng = rng
        ends = (0, *accumulate(len(layer.alternatives) for layer in tree.layers))
        self._slices = [slice(first, end) for first, end in pairwise(ends)]
        self._alpha = np.full(ends[-1], options.alpha0)
        self._delta = np.full(ends[-1], options.delta0)

    def arm(self, layer: int, place: int) -> tuple[float, float]:
        """The posterior of an arm: Beta(alpha0 + successes, delta0 + failures)."""
        at = self._slices[layer].start + place
        return float(self._alpha[at]), float(self._delta[at])

    def draw(self) -> list[list[float]]:
        """A weight for each arm, drawn from its posterior, layer by layer."""
        weights = self._rng.beta(self._alpha, self._delta).tolist()
        return [weights[each] for each in self._slices]

    def choose(self, weights: list[list[float]]) -> Pipeline:
        """The arm with the largest weight in each layer, the first where several have it.

        Where an alternative leads to no admissible pipeline with those of the layers before, it is the next best.
        """
        return self._tree.first_leaf([_best_first(layer) for layer in weights])

    def pull(self, pipeline: Pipeline, standing: float) -> None:
        """Pull the arms of a pipeline: all of them succeed together, as probably as the reward is large, or fail."""
        counts = self._alpha if self._rng.random() < reward(standing, self._options.f_hat) else self._delta
        for layer, place in zip(self._slices, pipeline, strict=True):
            if place != NOT_REACHED:
                counts[layer.start + place] += 1


def reward(standing: float, f_hat: float) -> float:
    """The reward of a standing: 1 for 0, 0 from `f_hat` on, in between as far below it as the standing is."""
    return 1 - min(max(standing / f_hat, 0.0), 1.0)


def _best_first(weights: list[float]) -> list[int]:
    # Sorting is stable, backwards as well: of equal weights the first comes first.
    return sorted(range(len(weights)), key=weights.__getitem__, reverse=True)
