"""Successive halving over and over with new pipelines (ALGORITHMS.md 3.7)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from spacelang.ir.counting import Structures
from spacelang.ir.space import Space
from spacelang.ir.trial import Search
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._completion import Completion
from spacelang.optimizers._fidelity import rungs
from spacelang.optimizers._halving import Bracket, Losses, halve
from spacelang.optimizers._leaves import Leaves
from spacelang.optimizers._settings import check
from spacelang.plugins import option
from spacelang.targets.blds import DiscrepancyTree

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True, slots=True)
class SuccessiveHalving:
    """Many pipelines on little data, the better part of them on more, and so on up to all of it."""

    paper: ClassVar[str] = (
        "Jamieson and Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization, AISTATS 2016"
    )

    b: int = option(100, settings.B)
    eta: float = option(2.0, settings.ETA)
    n: int = option(128, "pipelines on the first rung; at least one of them reaches the last")
    hyperparameters: Literal["default", "sample"] = option("default", settings.HYPERPARAMETERS)

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        settings.check_grid(self.b, self.eta)
        check(self.n >= 1, f"`n` is {self.n}", "at least 1 pipeline is trained")

    def search(self, space: Space, size: int, rng: "Generator") -> Search:
        """Successive halving of `n` new pipelines, again and again until every pipeline was trained on all rows.

        A rung is a round; what was trained before is not asked for again. The pipelines are different ones, uniformly
        drawn. Once 100 pipelines in a row that reach all rows have been there before, the rest follows,
        those that came furthest first.
        """
        tree = DiscrepancyTree(Structures(space))
        leaves = Leaves(tree, rng)
        losses = Losses(tree, Completion(tree, self.hyperparameters, rng), size)
        bracket = Bracket(self.n, rungs(size, self.b, self.eta))
        while not losses.are_complete:
            if losses.are_nearly_complete:
                yield from losses.rest()
            else:
                yield from halve(leaves.draw(bracket.pipelines), bracket, self.eta, losses)
