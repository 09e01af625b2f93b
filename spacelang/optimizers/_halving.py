"""Successive halving: many pipelines on few rows, ever fewer on ever more (ALGORITHMS.md 3.7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import floor

from spacelang.ir.trial import Order, Request, Search, order_of
from spacelang.optimizers._arms import Asking
from spacelang.optimizers._completion import Completion
from spacelang.optimizers._fidelity import fidelity
from spacelang.optimizers._leaves import ROUND, TRIES
from spacelang.targets.blds import DiscrepancyTree, Pipeline


@dataclass(frozen=True, slots=True)
class Bracket:
    """So many pipelines at the beginning, and the rows of each rung."""

    pipelines: int
    sizes: tuple[int, ...]

    def kept(self, eta: float) -> tuple[int, ...]:
        """How many pipelines of each rung go on: floor(n_i / eta) with n_i = floor(n eta^-i), and at least one.

        None go on from the last rung.
        """
        # A quotient that is a whole number on paper may fall short of it by a few units in the last place.
        counts = [floor(self.pipelines * eta**-rung * (1 + 1e-12)) for rung in range(len(self.sizes) - 1)]
        return (*(max(1, floor(count / eta * (1 + 1e-12))) for count in counts), 0)


class Losses:
    """The losses of pipelines by their rows, shared by all brackets: what is known is not asked for again."""

    def __init__(self, tree: DiscrepancyTree, completion: Completion, size: int) -> None:
        self._tree = tree
        self._completion = completion
        self._size = size
        self._known: dict[tuple[Pipeline, int], Order] = {}
        self._finished = 0
        self._repeated = 0
        """So many pipelines in a row were to be trained on all rows and had been before."""

    @property
    def are_complete(self) -> bool:
        """Whether every pipeline was trained on all rows."""
        return self._finished == self._tree.leaves

    @property
    def are_nearly_complete(self) -> bool:
        """Whether so few pipelines are left to be trained on all rows that draws do not find them."""
        return self._repeated >= TRIES

    def is_finished(self, pipeline: Pipeline) -> bool:
        """Whether the pipeline was trained on all rows."""
        return (pipeline, self._size) in self._known

    def of(self, pipelines: Sequence[Pipeline], rows: int) -> Asking[list[Order]]:
        """The losses of different pipelines on some rows: those that are not known are asked for in one round."""
        asked = [pipeline for pipeline in pipelines if (pipeline, rows) not in self._known]
        if asked:
            fewer = fidelity(rows, self._size)
            answers = yield [Request(self._completion.of(pipeline), fewer) for pipeline in asked]
            self._known.update(((each, rows), order_of(trial)) for each, trial in zip(asked, answers, strict=True))
        if rows == self._size:
            self._finished += len(asked)
            self._repeated = 0 if asked else self._repeated + len(pipelines)
        return [self._known[pipeline, rows] for pipeline in pipelines]

    def rest(self) -> Search:
        """Every pipeline that was not trained on all rows: those that came furthest first, the better of equals."""
        reached: dict[Pipeline, tuple[int, Order]] = {}
        for (pipeline, rows), order in self._known.items():
            reached[pipeline] = min(reached.get(pipeline, (0, order)), (-rows, order))
        everything = chain(sorted(reached, key=reached.__getitem__), self._tree.leaves_in_order())
        left = (pipeline for pipeline in everything if not self.is_finished(pipeline))
        while round_ := list(dict.fromkeys(islice(left, ROUND))):
            yield from self.of(round_, self._size)


def halve(pipelines: Sequence[Pipeline], bracket: Bracket, eta: float, losses: Losses) -> Asking[None]:
    """One bracket: each rung is a round, and the best of it go on to the next; the first drawn of equals."""
    survivors = list(pipelines)
    for rows, kept in zip(bracket.sizes, bracket.kept(eta), strict=True):
        found = yield from losses.of(survivors, rows)
        best = sorted(range(len(survivors)), key=found.__getitem__)[:kept]
        survivors = [survivors[place] for place in best]
