"""RandomForest&TPE: TPE over the random forest of a space alone.

See spacelang/optimizers/README.md, section "BOASF: baselines".
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from spacelang.ir.asking import Search
from spacelang.ir.problem import Problem
from spacelang.ir.space import Branch, Operator
from spacelang.optimizers import _proposing
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._hyperopt import HyperoptTpe, TpeSettings, form_of
from spacelang.plugins import OptionError, option
from spacelang.solver.counting import Structures
from spacelang.targets._lowered import Lowered
from spacelang.targets.boasf import Arm, ArmSpaces, Boasf
from spacelang.targets.hyperopt import HyperoptSpace, Values

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
        self._settings()

    def form(self, structures: Structures) -> Lowered[HyperoptSpace, Values]:
        """The random forest as hyperopt searches it; raises as `search` does."""
        return form_of(_forest(_arms(structures)).structures)

    def search(self, problem: Problem) -> Search:
        """What hyperopt's TPE proposes for the random forest and all other stages (see the optimizer `tpe`).

        Of the configurations to begin with it learns from those that have a random forest. Raises OptionError for a
        space without one.
        """
        structures = Structures(problem.space)
        if not structures.count:
            return
        arms = _arms(structures)
        arm = _forest(arms)
        initial = tuple(each for each in problem.initial if arms.arms[arms.index_of(each)] is arm)
        proposer = HyperoptTpe(arm.structures, self._settings())
        yield from _proposing.search(proposer, replace(problem, space=arm.space, initial=initial), arm.structures)

    def _settings(self) -> TpeSettings:
        return TpeSettings(self.startup, self.gamma, self.candidates)


def _arms(structures: Structures) -> ArmSpaces:
    return Boasf(cap=2**62).lower(structures).form


def _forest(arms: ArmSpaces) -> Arm:
    """The first of the models that is a random forest; raises OptionError where none is."""
    operators = {branch.name: _operator(branch) for stage in arms.space.stages for branch in stage.branches}
    for arm in arms.arms:
        if operators.get(arm.name) in FORESTS:
            return arm
    listed = ", ".join(f"`{arm.name}`" for arm in arms.arms)
    raise OptionError(
        f"the space `{arms.space.name}` has no random forest in its last stage", f"its models are {listed}"
    )


def _operator(branch: Branch) -> str:
    return branch.node.name if isinstance(branch.node, Operator) else ""
