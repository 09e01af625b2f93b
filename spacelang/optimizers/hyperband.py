"""Hyperband: successive halving with every balance of many pipelines and many rows (ALGORITHMS.md 3.7)."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor, log
from typing import TYPE_CHECKING, ClassVar, Literal

from spacelang.ir.counting import Structures
from spacelang.ir.space import Space
from spacelang.ir.trial import Search
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._completion import Completion
from spacelang.optimizers._fidelity import rungs
from spacelang.optimizers._halving import Bracket, Losses, halve
from spacelang.optimizers._leaves import Leaves
from spacelang.plugins import option
from spacelang.targets.blds import DiscrepancyTree

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True, slots=True)
class Hyperband:
    """Brackets of successive halving, from many pipelines on little data to few on all of it."""

    paper: ClassVar[str] = (
        "Li et al., Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization, JMLR 2018"
    )

    b: int = option(100, settings.B)
    eta: float = option(2.0, settings.ETA)
    rung_rule: Literal["grid", "exact"] = option(
        "grid", "rungs of the grid that all methods share, or those of the paper, divided downwards from all rows"
    )
    bracket_rule: Literal["ceil", "floor"] = option(
        "ceil", "pipelines of a bracket by the algorithm in the paper, or by its table of examples"
    )
    hyperparameters: Literal["default", "sample"] = option("default", settings.HYPERPARAMETERS)

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        settings.check_grid(self.b, self.eta)

    def search(self, space: Space, size: int, rng: "Generator") -> Search:
        """Hyperband: iteration after iteration of all brackets until every pipeline was trained on all rows.

        A rung is a round; what was trained before is not asked for again. A bracket begins with different pipelines,
        uniformly drawn. Once 100 pipelines in a row that reach all rows have been there before, the rest
        follows, those that came furthest first.
        """
        tree = DiscrepancyTree(Structures(space))
        leaves = Leaves(tree, rng)
        losses = Losses(tree, Completion(tree, self.hyperparameters, rng), size)
        # A factor beyond the number of rows leads to the same rungs as that number does, and to far more pipelines.
        eta = min(self.eta, max(size, 2))
        while not losses.are_complete:
            for bracket in brackets(self, size, eta):
                if losses.are_nearly_complete:
                    yield from losses.rest()
                if not losses.are_complete:
                    yield from halve(leaves.draw(bracket.pipelines), bracket, eta, losses)


def brackets(options: Hyperband, size: int, eta: float) -> Iterator[Bracket]:
    """The brackets s = s_max, ..., 0 of one iteration; bracket s has s + 1 rungs, the last with all rows."""
    b, grid = min(options.b, size), rungs(size, options.b, eta)
    largest = len(grid) - 1
    if options.rung_rule == "exact":
        largest = min(floor(log(size / b) / log(eta) + 1e-9), size - b)
    for s in range(largest, -1, -1):
        sizes = grid[largest - s :]
        if options.rung_rule == "exact":
            sizes = tuple(max(b, round(size * eta ** (i - s))) for i in range(s + 1))
        yield Bracket(pipelines_of(s, largest, eta, options.bracket_rule), sizes)


def pipelines_of(s: int, largest: int, eta: float, rule: Literal["ceil", "floor"]) -> int:
    """With how many pipelines bracket s begins: ceil((s_max + 1) eta^s / (s + 1)), or the other rule (A10)."""
    # A quotient that is a whole number on paper may miss it by a few units in the last place.
    if rule == "ceil":
        return ceil((largest + 1) * eta**s / (s + 1) * (1 - 1e-12))
    return floor((largest + 1) // (s + 1) * eta**s * (1 + 1e-12))
