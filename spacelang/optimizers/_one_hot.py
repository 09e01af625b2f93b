"""Pipelines as one-hot vectors, and which of them promise most.

See spacelang/optimizers/README.md, section "Bayesian optimization of pipelines".
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final

import numpy as np

from spacelang.draws.codes import Array
from spacelang.optimizers._leaves import Leaves
from spacelang.surrogates.growth import Growing
from spacelang.surrogates.improvement import log_improvement
from spacelang.targets.blds import NOT_REACHED, DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator

LISTABLE: Final = 20_000
"""Of a tree with no more leaves every one may be the next."""

DRAWN: Final = 2_000
"""Of a larger one so many are drawn, beside those that differ from the best in one decision."""

CHUNK: Final = 500
"""Of so many leaves at a time it is computed what they promise: memory for all would be too much."""


class OneHot:
    """The leaves of a tree with a coordinate for each alternative of each decision; not reached is 0 in all of them."""

    def __init__(self, tree: DiscrepancyTree) -> None:
        self._tree = tree
        self._starts = (0, *accumulate(len(layer.alternatives) for layer in tree.layers))

    def encode(self, pipelines: Sequence[Pipeline]) -> Array:
        """Their vectors, (n, alternatives of all decisions)."""
        found = np.zeros((len(pipelines), self._starts[-1]))
        places = np.array(pipelines, int).reshape(len(pipelines), len(self._tree.layers))
        rows, columns = np.nonzero(places != NOT_REACHED)
        found[rows, np.array(self._starts)[columns] + places[rows, columns]] = 1.0
        return found


class Promising:
    """Who of the leaves promises most, by a Gaussian process of numbers that are known."""

    def __init__(self, tree: DiscrepancyTree) -> None:
        self._tree = tree
        self._coding = OneHot(tree)
        self._growing = Growing()

    def ranked(
        self, numbers: Mapping[Pipeline, float], pending: Collection[Pipeline], rng: "Generator"
    ) -> Iterator[Pipeline]:
        """Leaves that are neither known nor under way, those first of which most is expected, at last all of them.

        `numbers`, at least one, are in the order in which they came to be known. What is under way is taken to have
        their median.
        """
        values = np.array([*numbers.values()])
        model = self._growing.model(self._coding.encode([*numbers]), values, self._coding.encode([*pending]))
        best = float(model.standardised(values.min()))
        candidates = self._candidates([*numbers][int(values.argmin())], {*numbers, *pending}, rng)
        promises = [
            log_improvement(best, *model.process.posterior(self._coding.encode(candidates[start : start + CHUNK])))
            for start in range(0, len(candidates), CHUNK)
        ]
        for place in np.argsort(-np.concatenate([np.empty(0), *promises]), kind="stable").tolist():
            yield candidates[place]
        if self._tree.leaves > LISTABLE:
            yield from (leaf for leaf in self._tree.leaves_in_order() if leaf not in numbers and leaf not in pending)

    def _candidates(self, best: Pipeline, seen: Collection[Pipeline], rng: "Generator") -> list[Pipeline]:
        if self._tree.leaves <= LISTABLE:
            return [leaf for leaf in self._leaves if leaf not in seen]
        drawn = islice((leaf for leaf in Leaves(self._tree, rng).each_once() if leaf not in seen), DRAWN)
        near = (leaf for leaf in self._tree.walk(best, 1) if leaf not in seen)
        return [*dict.fromkeys((*drawn, *near))]

    @cached_property
    def _leaves(self) -> list[Pipeline]:
        return list(self._tree.leaves_in_order())
