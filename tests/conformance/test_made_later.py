"""An optimizer whose requests are all made later does what every optimizer must do."""

import os
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from numpy.random import Generator

from spacelang.contracts import Ask, DiscrepancyTree, Later, Problem, Request, Search, Structures, Trial, order_of
from spacelang.optimizers._novelty import Novelty
from spacelang.testing import OptimizerConformance
from spacelang.testing.resuming import Resumed


@dataclass(frozen=True, slots=True)
class Swayed:
    """Pipelines at random, of two of them the one that is more like the best so far."""

    paper: ClassVar[str] = "none"

    def search(self, problem: Problem) -> Search:
        """What is given, then a proposal for every idle worker, until ten in a row are known."""
        tree = DiscrepancyTree(Structures(problem.space))
        if not tree.leaves:
            return
        initial, novelty = [*problem.initial], Novelty([0], 10)
        best: Trial | None = None
        told, out = (yield Ask()), 0
        while True:
            begin: list[Request | Later] = [Request(each) for each in initial[: told.room]]
            del initial[: told.room]
            if novelty.active:
                begin += [Later(partial(propose, tree, best)) for _ in range(told.room - len(begin))]
            out += len(begin)
            if not out:
                return
            told = yield Ask(tuple(begin))
            if told.ended is not None:
                out -= 1
                novelty.note(0, told.ended.request)
                if best is None or order_of(told.ended) < order_of(best):
                    best = told.ended


def propose(tree: DiscrepancyTree, best: Trial | None, rng: Generator) -> Request:
    """Of two pipelines the one that is more like the best, and how alike it is."""

    def likeness(leaf: object) -> int:
        mine = tree.complete(leaf)  # type: ignore[arg-type]
        return sum(mine.get(key) == value for key, value in best.request.configuration.items()) if best else 0

    chosen = max(tree.random_leaves(2, rng), key=likeness)
    return Request(tree.complete(chosen), memo=(likeness(chosen), float(rng.random())))


class TestSwayed(OptimizerConformance if os.environ.get("SPACELANG_FULL") else Resumed):  # type: ignore[misc]
    optimizer = Swayed
    examples = 8
    repeats = True
