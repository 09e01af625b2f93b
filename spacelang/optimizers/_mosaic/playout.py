"""Playouts: what is evaluated below a node, and what a search remembers with it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.random import default_rng

from spacelang.draws.batch import Batch
from spacelang.draws.codes import Array
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Memo, Request
from spacelang.optimizers._mosaic.surrogate import Surrogate, drawn
from spacelang.targets.mosaic import Prefix, StructuralTree

ATTEMPTS: Final = 3
"""So many candidates of a playout may fail before its reward is 0."""


Dry: TypeAlias = tuple[Prefix, float | None]
"""A prefix that was selected and had nothing new below it, and the best reward that was known there."""


@dataclass(frozen=True, slots=True)
class Playout:
    """A playout below a prefix: the seed of its candidates, and which of them this is, counted from 1.

    `dry` are the prefixes that were selected before it and are exhausted, in their order. What was evaluated without a
    playout has no seed and is not tried again.
    """

    prefix: Prefix
    seed: int | None = None
    attempt: int = ATTEMPTS
    dry: tuple[Dry, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether this is its first candidate."""
        return self.seed is None or self.attempt == 1

    @property
    def is_last(self) -> bool:
        """Whether no other candidate follows where this one fails."""
        return self.attempt >= ATTEMPTS

    def again(self, *, is_last: bool) -> "Playout":
        """The next attempt."""
        return replace(self, attempt=ATTEMPTS if is_last else self.attempt + 1, dry=())

    @property
    def memo(self) -> Memo:
        """What is remembered with the request."""
        assert self.seed is not None, "what is no playout needs no memo"
        return (self.seed, self.attempt, json.dumps(self.prefix), *map(json.dumps, self.dry))

    @classmethod
    def of(cls, request: Request, tree: StructuralTree) -> "Playout":
        """The playout of a request; without a memo it is an evaluation that belongs to its first decision."""
        if not request.memo:
            return cls(tree.prefix_of(request.configuration)[:1])
        seed, attempt, *texts = request.memo
        prefix, *dry = (json.loads(str(text)) for text in texts)
        return cls(tuple(prefix), int(seed), int(attempt), tuple((tuple(each), reward) for each, reward in dry))


@dataclass(frozen=True, slots=True)
class Acquisition:
    """Whoever may be evaluated below a node: `count` draws, and the neighbours of its best."""

    tree: StructuralTree
    surrogate: Surrogate
    count: int

    def ranked(self, prefix: Prefix, best: Configuration | None, seed: int) -> Iterator[Configuration]:
        """The candidates below a prefix, the most promising first: draws, and the neighbours of the best below it.

        Where none is the best, they are those of its default completion.
        """
        rng = default_rng(seed)
        draws = drawn(self.tree, prefix, self.count, rng)
        centre = self.tree.default_completion(prefix) if best is None else best
        neighbours = self.tree.neighbours(centre, prefix, rng)
        features = [self.tree.features(each) for each in (draws, neighbours)]
        order = by_improvement(self.surrogate.best, *self.surrogate.posterior(np.vstack(features)))
        found = [*(draws.configurations() if isinstance(draws, Batch) else draws), *neighbours]
        return (found[place] for place in order)


def by_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """The places of m rewards by how much better than `best` they are expected to be, the most first: shape (m,).

    Where that is equal, the one with the larger mean is first.
    """
    from spacelang.surrogates.improvement import expected_improvement

    # The improvement is that of numbers which are to be small.
    return np.lexsort((-mean, -expected_improvement(-best, -mean, deviation)))
