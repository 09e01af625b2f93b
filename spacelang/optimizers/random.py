"""Random search without replacement (ALGORITHMS.md 3.1)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Literal

from spacelang.ir.asking import Ask, Search
from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Structures
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Request
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._configurations import Configurations
from spacelang.optimizers._leaves import Leaves
from spacelang.plugins import option
from spacelang.targets.blds import DiscrepancyTree


@dataclass(frozen=True, slots=True)
class Random:
    """Random search: structures uniformly, hyperparameters from their ranges, nothing twice."""

    paper: ClassVar[str] = "Bergstra and Bengio, Random Search for Hyper-Parameter Optimization, JMLR 2012"

    hyperparameters: Literal["sample", "default"] = option("sample", settings.CONFIGURATIONS)

    draws_configurations: ClassVar[bool] = True

    def search(self, problem: Problem) -> Search:
        """Configurations in random order, each once and on all rows; the last ones of a finite space in its order.

        As many are begun as there are idle workers, so that a search that ends is as random as a longer one.
        """
        tree = DiscrepancyTree(Structures(problem.space))
        configurations: Iterator[Configuration]
        if self.hyperparameters == "default" or not problem.space.hyperparameters:
            configurations = map(tree.complete, Leaves(tree, problem.rng).each_once())
        else:
            configurations = Configurations(tree, problem.rng).each_once()
        told = yield Ask()
        out = 0
        while True:
            begin = tuple(map(Request, islice(configurations, told.room)))
            out += len(begin)
            if not out:
                return
            told = yield Ask(begin)
            out -= told.ended is not None
