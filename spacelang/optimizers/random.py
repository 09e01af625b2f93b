"""Random search without replacement (ALGORITHMS.md 3.1)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Literal

from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Structures
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Search
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._configurations import Configurations
from spacelang.optimizers._leaves import ROUND, Leaves
from spacelang.plugins import option
from spacelang.targets.blds import DiscrepancyTree

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True, slots=True)
class Random:
    """Random search: structures uniformly, hyperparameters from their ranges, nothing twice."""

    paper: ClassVar[str] = "Bergstra and Bengio, Random Search for Hyper-Parameter Optimization, JMLR 2012"

    hyperparameters: Literal["sample", "default"] = option("sample", settings.CONFIGURATIONS)

    draws_configurations: ClassVar[bool] = True

    in_turn: ClassVar[bool] = True
    """A round that ends early shall be as random as a whole one: its requests are begun in their own order."""

    def search(self, space: Space, size: int, rng: "Generator") -> Search:  # noqa: ARG002
        """Configurations in random order, each once and on all rows; the last ones of a finite space in its order.

        They come in rounds, so that several workers have something to do.
        """
        tree = DiscrepancyTree(Structures(space))
        configurations: Iterator[Configuration]
        if self.hyperparameters == "default" or not space.hyperparameters:
            configurations = map(tree.complete, Leaves(tree, rng).each_once())
        else:
            configurations = Configurations(tree, rng).each_once()
        while round_ := [Request(configuration) for configuration in islice(configurations, ROUND)]:
            yield round_
