"""An optimizer whose requests are all made later does what every optimizer must do."""

import os
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from numpy.random import Generator

from spacelang.contracts import Ask, DiscrepancyTree, LazyRequest, Problem, Request, Search, Structures, Trial, sort_key
from spacelang.optimizers._draws import NoveltyTracker
from spacelang.testing import OptimizerConformance
from spacelang.testing.optimizers import ResumeTests


@dataclass(frozen=True, slots=True)
class Swayed:
    """Pipelines at random, of two of them the one that is more like the best so far."""

    paper: ClassVar[str] = "none"

    def search(self, problem: Problem) -> Search:
        """What is given, then a proposal for every idle worker, until ten in a row are known."""
        tree = DiscrepancyTree(Structures(problem.space))
        if not tree.leaf_count:
            return
        initial, novelty = [*problem.initial], NoveltyTracker([0], 10)
        best: Trial | None = None
        told, out = (yield Ask()), 0
        while True:
            begin: list[Request | LazyRequest] = [Request(each) for each in initial[: told.idle_workers]]
            del initial[: told.idle_workers]
            if novelty.active:
                begin += [LazyRequest(partial(propose, tree, best)) for _ in range(told.idle_workers - len(begin))]
            out += len(begin)
            if not out:
                return
            told = yield Ask(tuple(begin))
            if told.finished is not None:
                out -= 1
                novelty.record(0, told.finished.request)
                if best is None or sort_key(told.finished) < sort_key(best):
                    best = told.finished


def propose(tree: DiscrepancyTree, best: Trial | None, rng: Generator) -> Request:
    """Of two pipelines the one that is more like the best, and how alike it is."""

    def likeness(leaf: object) -> int:
        mine = tree.complete(leaf)  # type: ignore[arg-type]
        return sum(mine.get(key) == value for key, value in best.request.configuration.items()) if best else 0

    chosen = max(tree.random_leaves(2, rng), key=likeness)
    return Request(tree.complete(chosen), memo=(likeness(chosen), float(rng.random())))


class TestSwayed(OptimizerConformance if os.environ.get("SPACELANG_FULL") else ResumeTests):  # type: ignore[misc]
    optimizer = Swayed
    examples = 8
    repeats = True
