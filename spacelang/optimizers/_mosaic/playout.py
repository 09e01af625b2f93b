"""Playouts: the candidates to evaluate below a node, and the record of a playout in the memo of its request."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.random import default_rng

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Memo, Request
from spacelang.optimizers._mosaic.surrogate import Surrogate, draw_below
from spacelang.sampling.batch import Batch
from spacelang.sampling.value_codes import Array
from spacelang.targets.mosaic import Prefix, StructuralTree

MAX_ATTEMPTS: Final = 3
"""The maximum number of candidates that a playout tries; if all of them fail, its reward is 0."""

ExhaustedNode: TypeAlias = tuple[Prefix, float | None]
"""A selected prefix that had nothing new below it, and the best reward known below it; None without one."""


@dataclass(frozen=True, slots=True)
class Playout:
    """A playout below a prefix: the seed of its candidates, and the number of this candidate, counted from 1.

    `exhausted_nodes` are the prefixes that were selected before it and turned out to be exhausted, in their order. An
    evaluation outside a playout has no seed and is not retried.
    """

    prefix: Prefix
    seed: int | None = None
    attempt: int = MAX_ATTEMPTS
    exhausted_nodes: tuple[ExhaustedNode, ...] = ()

    @property
    def is_first(self) -> bool:
        """True for the first candidate of the playout."""
        return self.seed is None or self.attempt == 1

    @property
    def is_last_attempt(self) -> bool:
        """True if no other candidate is tried when this one fails."""
        return self.attempt >= MAX_ATTEMPTS

    def next_attempt(self, *, is_last: bool) -> "Playout":
        """Return the next attempt; `is_last` makes it the final one."""
        return replace(self, attempt=MAX_ATTEMPTS if is_last else self.attempt + 1, exhausted_nodes=())

    @property
    def memo(self) -> Memo:
        """The memo to store with the request, from which `from_request` restores the playout."""
        assert self.seed is not None, "an evaluation outside a playout has no memo"
        return (self.seed, self.attempt, json.dumps(self.prefix), *map(json.dumps, self.exhausted_nodes))

    @classmethod
    def from_request(cls, request: Request, tree: StructuralTree) -> "Playout":
        """Return the playout of a request.

        A request without a memo is an evaluation outside a playout; its prefix is its first decision.
        """
        if not request.memo:
            return cls(tree.prefix_of(request.configuration)[:1])
        seed, attempt, *texts = request.memo
        prefix, *dry = (json.loads(str(text)) for text in texts)
        return cls(tuple(prefix), int(seed), int(attempt), tuple((tuple(each), reward) for each, reward in dry))


@dataclass(frozen=True, slots=True)
class PlayoutCandidates:
    """The candidates of a playout below a node: `count` random draws, and the neighbours of the best configuration."""

    tree: StructuralTree
    surrogate: Surrogate
    count: int

    def ranked_candidates(self, prefix: Prefix, best: Configuration | None, seed: int) -> Iterator[Configuration]:
        """Return the candidates below a prefix, the most promising first.

        They are random draws and the neighbours of `best`, the best known configuration below the prefix. If `best` is
        None, the neighbours are those of the default completion.
        """
        rng = default_rng(seed)
        draws = draw_below(self.tree, prefix, self.count, rng)
        centre = self.tree.default_completion(prefix) if best is None else best
        neighbours = self.tree.neighbours(centre, prefix, rng)
        features = [self.tree.features(each) for each in (draws, neighbours)]
        order = order_by_improvement(self.surrogate.best, *self.surrogate.posterior(np.vstack(features)))
        found = [*(draws.configurations() if isinstance(draws, Batch) else draws), *neighbours]
        return (found[place] for place in order)


def order_by_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """Return the indices of m candidates by expected improvement over `best`, the largest first; shape (m,).

    `mean` and `deviation` are those of the rewards, shape (m,) each. If two improvements are equal, the larger mean
    comes first.
    """
    from spacelang.surrogates.improvement import expected_improvement

    # The function assumes minimization, so rewards are negated.
    return np.lexsort((-mean, -expected_improvement(-best, -mean, deviation)))
