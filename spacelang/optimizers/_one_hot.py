"""One-hot encoding of pipelines, and a ranking of pipelines by expected improvement.

See spacelang/optimizers/README.md, section "Bayesian optimization of pipelines".
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final

import numpy as np

from spacelang.optimizers._random_leaves import RandomLeaves
from spacelang.sampling.value_codes import Array
from spacelang.surrogates.improvement import log_expected_improvement
from spacelang.surrogates.incremental_process import IncrementalGaussianProcess
from spacelang.targets.blds import NOT_REACHED, DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator

MAX_RANKED_LEAVES: Final = 20_000
"""All leaves are ranked in a tree with at most this many."""

SAMPLE_SIZE: Final = 2_000
"""How many leaves of a larger tree are drawn and ranked, with those that differ from the best in one decision."""

CHUNK: Final = 500
"""How many leaves are ranked at a time, to limit memory."""


class OneHot:
    """A one-hot encoder of the leaves of a tree: one coordinate per alternative of each decision.

    A decision that a leaf does not reach has 0 in all its coordinates.
    """

    def __init__(self, tree: DiscrepancyTree) -> None:
        self._tree = tree
        self._starts = (0, *accumulate(len(layer.alternatives) for layer in tree.layers))

    def encode(self, pipelines: Sequence[Pipeline]) -> Array:
        """Encode n pipelines as an array of shape (n, number of alternatives of all decisions)."""
        found = np.zeros((len(pipelines), self._starts[-1]))
        places = np.array(pipelines, int).reshape(len(pipelines), len(self._tree.layers))
        rows, columns = np.nonzero(places != NOT_REACHED)
        found[rows, np.array(self._starts)[columns] + places[rows, columns]] = 1.0
        return found


class PromisingPipelines:
    """A ranking of the leaves of a tree by expected improvement under a Gaussian process."""

    def __init__(self, tree: DiscrepancyTree) -> None:
        self._tree = tree
        self._coding = OneHot(tree)
        self._growing = IncrementalGaussianProcess()

    def ranked(
        self, numbers: Mapping[Pipeline, float], pending: Collection[Pipeline], rng: "Generator"
    ) -> Iterator[Pipeline]:
        """Yield the leaves that are neither known nor running, by decreasing expected improvement.

        Of a large tree only a sample and the neighbours of the best leaf are ranked; the other leaves follow in text
        order. `numbers` maps known pipelines, at least one, to the values to be minimized, in the order in which they
        became known. The running pipelines `pending` are assumed to have the median value.
        """
        values = np.array([*numbers.values()])
        model = self._growing.model(self._coding.encode([*numbers]), values, self._coding.encode([*pending]))
        best = float(model.standardise(values.min()))
        candidates = self._candidates([*numbers][int(values.argmin())], {*numbers, *pending}, rng)
        promises = [
            log_expected_improvement(
                best, *model.process.posterior(self._coding.encode(candidates[start : start + CHUNK]))
            )
            for start in range(0, len(candidates), CHUNK)
        ]
        for place in np.argsort(-np.concatenate([np.empty(0), *promises]), kind="stable").tolist():
            yield candidates[place]
        if self._tree.leaf_count > MAX_RANKED_LEAVES:
            yield from (leaf for leaf in self._tree.iter_leaves() if leaf not in numbers and leaf not in pending)

    def _candidates(self, best: Pipeline, seen: Collection[Pipeline], rng: "Generator") -> list[Pipeline]:
        """Return the new leaves to be ranked.

        These are all leaves of a small tree, or a random sample and the neighbours of `best` in a large one.
        """
        if self._tree.leaf_count <= MAX_RANKED_LEAVES:
            return [leaf for leaf in self._leaves if leaf not in seen]
        drawn = islice((leaf for leaf in RandomLeaves(self._tree, rng).each_once() if leaf not in seen), SAMPLE_SIZE)
        near = (leaf for leaf in self._tree.walk(best, 1) if leaf not in seen)
        return [*dict.fromkeys((*drawn, *near))]

    @cached_property
    def _leaves(self) -> list[Pipeline]:
        """All leaves of the tree in text order."""
        return list(self._tree.iter_leaves())
