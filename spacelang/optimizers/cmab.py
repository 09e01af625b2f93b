"""Combinatorial Thompson sampling, CMAB (spacelang/optimizers/README.md, section "CMAB")."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.random import Generator

from spacelang.ir.search_protocol import Problem, Search, SearchCoroutine
from spacelang.ir.trial import Trial
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._draws import RandomLeaves
from spacelang.optimizers._selection import (
    MemorySelector,
    Selector,
    SelectorCall,
    search_with_selector,
    train_candidates,
)
from spacelang.plugins import option
from spacelang.sampling.value_codes import Array
from spacelang.targets.blds import NOT_REACHED, DiscrepancyTree, Pipeline

PATIENCE: Final = 10  # After this many draws in a row of known or running pipelines a new pipeline is drawn uniformly


@dataclass(frozen=True, slots=True)
class Cmab:
    """A bandit with one arm per alternative of each decision; a pipeline pulls one arm of each decision."""

    paper: ClassVar[str] = "Liu et al., An ADMM Based Framework for AutoML Pipeline Configuration, AAAI 2020"

    f_hat: float = option(
        0.7, "the normalized loss (losses in [0, 1] as they are) from which on the reward is 0; the BLDS paper uses 0.3"
    )
    alpha0: float = option(10.0, "prior number of successes of every arm")
    delta0: float = option(10.0, "prior number of failures of every arm")
    persistent: bool = option(False, "inside another optimizer: keep the counts of the arms from one call to the next")
    hyperparameters: Literal["default", "sample"] = option("default", settings.HYPERPARAMETERS)

    def __post_init__(self) -> None:
        for name, value in (("f_hat", self.f_hat), ("alpha0", self.alpha0), ("delta0", self.delta0)):
            settings.require(0 < value < inf, f"`{name}` is {value}", f"`{name}` must be greater than 0")

    def search(self, problem: Problem) -> Search:
        """Run CMAB: pull pipelines until every leaf was evaluated, on all rows.

        A pipeline may be pulled many times, but is requested once. If a draw hits a pipeline that is being evaluated,
        it is pulled once more when its loss is known. After 10 draws in a row of known or running pipelines, which
        happens once the bandit is sure of the best, a new one is drawn uniformly. Idle workers evaluate further draws
        while others are busy.
        """
        yield from search_with_selector(self.selector(), problem, self.hyperparameters)

    def selector(self) -> Selector:
        """Return a selector whose iterations are pulls; its counts restart in every call unless `persistent`."""
        earlier: Bandit | None = None

        def pull(turn: SelectorCall[Pipeline]) -> SearchCoroutine[None]:
            nonlocal earlier
            bandit = Bandit(self, turn.selection.tree, turn.selection.rng, earlier)
            earlier = bandit if self.persistent else None
            yield from train_candidates(turn, _Pulls(bandit, turn))

        return MemorySelector(pull)


class _Pulls:
    """A source of pipelines that counts pulls: immediate for a known pipeline, else when its trial finishes."""

    def __init__(self, bandit: "Bandit", turn: SelectorCall[Pipeline]) -> None:
        self._bandit, self._turn = bandit, turn
        self._size = turn.selection.size
        self._count = 0
        """How many pulls were made or are pending."""
        self._undrawn_count = turn.selection.tree.leaf_count
        """How many pipelines were never drawn."""
        self._normalized_losses: dict[Pipeline, float] = {}
        self._pending_pulls: dict[Pipeline, int] = {}
        """The pending pulls of each pipeline that is being evaluated."""
        self._first = iter(turn.selection.initial)
        leaves, known = (
            RandomLeaves(turn.selection.tree, turn.selection.rng).each_once_in_random_order(),
            self._normalized_losses,
        )
        self._new_pipelines = (each for each in leaves if each not in known and each not in self._pending_pulls)

    def candidates_to_train(self, count: int) -> Iterator[tuple[Pipeline, int]]:
        while count and (pipeline := self._next_pipeline()) is not None:
            count -= 1
            self._pending_pulls[pipeline] = 1
            yield pipeline, self._size

    def record(self, candidate: Pipeline, rows: int, trial: Trial) -> None:
        assert rows == self._size
        standing = self._normalized_losses[candidate] = self._turn.normalized_penalized_loss(trial)
        for _ in range(self._pending_pulls.pop(candidate)):
            self._bandit.pull(candidate, standing)

    def _next_pipeline(self) -> Pipeline | None:
        """Draw pipelines until one is new, and return it; None if there is none or the selector call ends.

        Count the pipelines drawn on the way, known or still running, as pulls of their arms.
        """
        patience = PATIENCE
        while self._undrawn_count and self._turn.can_continue(self._count):
            self._count += 1
            pipeline = self._draw_pipeline() if patience else next(self._new_pipelines)
            if pipeline in self._pending_pulls:
                self._pending_pulls[pipeline] += 1
            elif not self._pull_if_known(pipeline):
                self._undrawn_count -= 1
                return pipeline
            patience = patience - 1 if patience else PATIENCE
        return None

    def _draw_pipeline(self) -> Pipeline:
        first = next(self._first, None)
        return self._bandit.choose(self._bandit.draw_weights()) if first is None else first

    def _pull_if_known(self, pipeline: Pipeline) -> bool:
        """Pull the pipeline and return True if its trial is known, from this or an earlier selector call."""
        if pipeline not in self._normalized_losses:
            recalled = self._turn.record_known_trials(pipeline, self._size)
            if not recalled:
                return False
            self._undrawn_count -= 1
            self._normalized_losses[pipeline] = self._turn.normalized_penalized_loss(recalled[0])
        self._bandit.pull(pipeline, self._normalized_losses[pipeline])
        return True


class Bandit:
    """The posterior of every arm: counts of successes and failures, continued from an `earlier` bandit if given."""

    def __init__(self, options: Cmab, tree: DiscrepancyTree, rng: Generator, earlier: "Bandit | None" = None) -> None:
        self._options, self._tree, self._rng = options, tree, rng
        ends = (0, *accumulate(len(layer.alternatives) for layer in tree.layers))
        self._slices = [slice(first, end) for first, end in pairwise(ends)]
        fresh = np.full(ends[-1], options.alpha0), np.full(ends[-1], options.delta0)
        self._counts: tuple[Array, Array] = fresh if earlier is None else earlier._counts
        """The parameters of the Beta posteriors: success counts, then failure counts."""

    def posterior_parameters(self, layer: int, place: int) -> tuple[float, float]:
        """Return the parameters of an arm's posterior Beta(alpha0 + successes, delta0 + failures).

        The arm is alternative number `place` of decision number `layer`, both counted from 0.
        """
        at = self._slices[layer].start + place
        alpha, delta = self._counts
        return float(alpha[at]), float(delta[at])

    def draw_weights(self) -> list[list[float]]:
        """Draw a weight for each arm from its posterior; one list per layer."""
        weights = self._rng.beta(*self._counts).tolist()
        return [weights[each] for each in self._slices]

    def choose(self, weights: list[list[float]]) -> Pipeline:
        """Return the first pipeline with the largest weight in each layer; the next best where none is admissible."""
        # Sorting is stable even in reverse: among equal weights the first comes first.
        order = [sorted(range(len(layer)), key=layer.__getitem__, reverse=True) for layer in weights]
        return self._tree.first_leaf(order)

    def pull(self, pipeline: Pipeline, normalized_loss: float) -> None:
        """Pull the arms of a pipeline: all of them succeed together with probability `reward_of_loss`, or all fail."""
        alpha, delta = self._counts
        counts = alpha if self._rng.random() < reward_of_loss(normalized_loss, self._options.f_hat) else delta
        for layer, place in zip(self._slices, pipeline, strict=True):
            if place != NOT_REACHED:
                counts[layer.start + place] += 1


def reward_of_loss(normalized_loss: float, f_hat: float) -> float:
    """Return the reward 1 - normalized_loss / f_hat, clipped to [0, 1]."""
    return 1 - min(max(normalized_loss / f_hat, 0.0), 1.0)
