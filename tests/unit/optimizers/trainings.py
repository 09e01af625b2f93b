"""The pipelines that a search trains, with their numbers of rows, and tables of losses that answer it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import numpy as np
from numpy.random import Generator

from spacelang.ir.search_protocol import Problem, Search
from spacelang.ir.space import Space
from spacelang.ir.trial import Request
from spacelang.optimizers._fidelity import Bracket, hyperband_brackets
from spacelang.optimizers.hyperband import Hyperband
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree, Pipeline
from spacelang.testing.driving import drive_search

Training = tuple[Pipeline, int]


class Settings(Protocol):
    def search(self, space: Space, size: int, rng: Generator) -> Search: ...


def trainings(
    settings: Settings,
    space: Space,
    size: int,
    loss: Callable[[Pipeline, int], float | None],
    limit: int,
    seed: int = 0,
    initial: Iterable[Pipeline] = (),
) -> list[Training]:
    """The pipelines that a search trains, with the rows of each training; `initial` are those that it starts from."""
    tree = DiscrepancyTree(Structures(space))
    leaves: dict[str, Pipeline] = {}

    def training(request: Request) -> Training:
        key = request.configuration.identity
        if key not in leaves:
            leaves[key] = tree.encode(request.configuration).pipeline
        return leaves[key], size if request.fidelity is None else request.fidelity

    first = tuple(map(tree.complete, initial))
    search = settings.search(Problem(space, size, np.random.default_rng(seed), first))
    driven = drive_search(search, lambda request: loss(*training(request)), limit)
    return [training(request) for request in driven.requests]


def by_table(losses: Mapping[Pipeline, Mapping[int, float] | float]) -> Callable[[Pipeline, int], float]:
    def loss(pipeline: Pipeline, rows: int) -> float:
        found = losses[pipeline]
        return found if isinstance(found, float) else found[rows]

    return loss


def best_is(best: Pipeline) -> Callable[[Pipeline, int], float]:
    return lambda pipeline, _: 0.0 if pipeline == best else 1.0


def brackets(options: Hyperband, size: int, eta: float) -> list[Bracket]:
    """The brackets of one pass of Hyperband over all rungs."""
    return list(hyperband_brackets(options.rung_sizes(size, eta), eta, options.bracket_rule))
