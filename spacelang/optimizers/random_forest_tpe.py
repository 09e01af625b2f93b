"""RandomForest&TPE: TPE over the random forest of a space alone (ALGORITHMS.md 7)."""

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from spacelang.ir.asking import Search
from spacelang.ir.counting import Structures
from spacelang.ir.problem import Problem
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._models import model_named, models_of
from spacelang.optimizers.tpe import Tpe
from spacelang.plugins import option

FORESTS: Final = frozenset({"RandomForestClassifier", "RandomForestRegressor"})


@dataclass(frozen=True, slots=True)
class RandomForestTpe:
    """TPE over the part of a space whose last stage is a random forest: what BOASF is without other models."""

    paper: ClassVar[str] = "Zhu et al., BOASF: A Unified Framework for Speeding up Automatic Machine Learning, 2022"

    startup: int = option(20, settings.STARTUP)
    gamma: float = option(0.25, settings.GAMMA)
    candidates: int = option(24, settings.CANDIDATES)

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        self._tpe()

    def search(self, problem: Problem) -> Search:
        """What hyperopt's TPE proposes for the random forest and all other stages (see `Tpe.search`).

        Of the configurations to begin with it learns from those that have a random forest. Raises OptionError for a
        space without one.
        """
        structures = Structures(problem.space)
        if not structures.count:
            return
        arms = models_of(structures)
        arm = model_named(arms, FORESTS, "random forest in its last stage")
        initial = tuple(each for each in problem.initial if arms.arms[arms.index_of(each)] is arm)
        yield from self._tpe().search(replace(problem, space=arm.space, initial=initial))

    def _tpe(self) -> Tpe:
        return Tpe(startup=self.startup, gamma=self.gamma, candidates=self.candidates)
