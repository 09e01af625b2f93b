"""Combinatorial Thompson sampling, CMAB (spacelang/optimizers/README.md, section "CMAB")."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

from spacelang.ir.asking import Asking, Search
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Trial
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._leaves import Leaves
from spacelang.optimizers._selection import Selector, search
from spacelang.optimizers._settings import check
from spacelang.optimizers._turn import Remembering, Turn, fill
from spacelang.plugins import option
from spacelang.targets.blds import NOT_REACHED, DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

Counts: TypeAlias = "NDArray[float64]"
"""A number for each arm."""

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
    persistent: bool = option(False, "as a part of another optimizer: whether arms keep what they have earned before")
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
        yield from search(self.selector(), problem, self.hyperparameters)

    def selector(self) -> Selector:
        """One that pulls as often as there are iterations; its arms begin anew in every turn unless `persistent`."""
        return Remembering(_Pulling(self))


class _Pulling:
    """Pulls with a bandit of its own in every turn, or the same in all."""

    def __init__(self, options: Cmab) -> None:
        self._options = options
        self._earlier: Bandit | None = None

    def __call__(self, turn: Turn[Pipeline]) -> Asking[None]:
        bandit = Bandit(self._options, turn.selection.tree, turn.selection.rng, self._earlier)
        if self._options.persistent:
            self._earlier = bandit
        yield from fill(turn, _Pulls(bandit, turn))


class _Pulls:
    """Which pipelines are pulled, and how often each: at once where it is known, else once it is."""

    def __init__(self, bandit: "Bandit", turn: Turn[Pipeline]) -> None:
        self._bandit = bandit
        self._turn = turn
        self._size = turn.selection.size
        self._count = 0
        """How many pipelines were pulled or are to be."""
        self._left = turn.selection.tree.leaves
        """How many pipelines were never drawn."""
        self._standings: dict[Pipeline, float] = {}
        self._owed: dict[Pipeline, int] = {}
        """Of what is being evaluated, how often it is to be pulled."""
        self._first = iter(turn.selection.initial)
        leaves = Leaves(turn.selection.tree, turn.selection.rng).each_once()
        self._new = (each for each in leaves if each not in self._standings and each not in self._owed)

    def draw(self, count: int) -> Iterator[tuple[Pipeline, int]]:
        """So many new pipelines, or all that are left."""
        while count and (pipeline := self._next()) is not None:
            count -= 1
            self._owed[pipeline] = 1
            yield pipeline, self._size

    def note(self, candidate: Pipeline, rows: int, trial: Trial) -> None:
        """Pull a pipeline that was evaluated as often as it was drawn."""
        assert rows == self._size
        standing = self._standings[candidate] = self._turn.standing(trial)
        for _ in range(self._owed.pop(candidate)):
            self._bandit.pull(candidate, standing)

    def _next(self) -> Pipeline | None:
        """The next pipeline that is neither known nor being evaluated; those drawn before it are pulled."""
        patience = PATIENCE
        while self._left and self._turn.goes_on(self._count):
            self._count += 1
            pipeline = self._drawn() if patience else next(self._new)
            if pipeline in self._owed:
                self._owed[pipeline] += 1
            elif not self._pulls_known(pipeline):
                self._left -= 1
                return pipeline
            patience = patience - 1 if patience else PATIENCE
        return None

    def _drawn(self) -> Pipeline:
        """Those to begin with, then draws from the posterior."""
        first = next(self._first, None)
        return self._bandit.choose(self._bandit.draw()) if first is None else first

    def _pulls_known(self, pipeline: Pipeline) -> bool:
        """Pull a pipeline that is known, from this turn or those before; whether it is."""
        if pipeline not in self._standings:
            recalled = self._turn.recall(pipeline, self._size)
            if not recalled:
                return False
            self._left -= 1
            self._standings[pipeline] = self._turn.standing(recalled[0])
        self._bandit.pull(pipeline, self._standings[pipeline])
        return True


class Bandit:
    """The pulls and the successes of every arm, those of an `earlier` bandit included."""

    def __init__(self, options: Cmab, tree: DiscrepancyTree, rng: "Generator", earlier: "Bandit | None" = None) -> None:
        import numpy as np

        self._options = options
        self._tree = tree
        self._rng = rng
        ends = (0, *accumulate(len(layer.alternatives) for layer in tree.layers))
        self._slices = [slice(first, end) for first, end in pairwise(ends)]
        fresh = np.full(ends[-1], options.alpha0), np.full(ends[-1], options.delta0)
        self._counts: tuple[Counts, Counts] = fresh if earlier is None else earlier._counts
        """The parameters of the posteriors: those that count successes, and those that count failures."""

    def arm(self, layer: int, place: int) -> tuple[float, float]:
        """The posterior of an arm: Beta(alpha0 + successes, delta0 + failures)."""
        at = self._slices[layer].start + place
        alpha, delta = self._counts
        return float(alpha[at]), float(delta[at])

    def draw(self) -> list[list[float]]:
        """A weight for each arm, drawn from its posterior, layer by layer."""
        weights = self._rng.beta(*self._counts).tolist()
        return [weights[each] for each in self._slices]

    def choose(self, weights: list[list[float]]) -> Pipeline:
        """The arm with the largest weight in each layer, the first where several have it.

        Where an alternative leads to no admissible pipeline with those of the layers before, it is the next best.
        """
        return self._tree.first_leaf([_best_first(layer) for layer in weights])

    def pull(self, pipeline: Pipeline, standing: float) -> None:
        """Pull the arms of a pipeline: all of them succeed together, as probably as the reward is large, or fail."""
        alpha, delta = self._counts
        counts = alpha if self._rng.random() < reward(standing, self._options.f_hat) else delta
        for layer, place in zip(self._slices, pipeline, strict=True):
            if place != NOT_REACHED:
                counts[layer.start + place] += 1


def reward(standing: float, f_hat: float) -> float:
    """The reward of a standing: 1 for 0, 0 from `f_hat` on, in between as far below it as the standing is."""
    return 1 - min(max(standing / f_hat, 0.0), 1.0)


def _best_first(weights: list[float]) -> list[int]:
    # Sorting is stable, backwards as well: of equal weights the first comes first.
    return sorted(range(len(weights)), key=weights.__getitem__, reverse=True)
