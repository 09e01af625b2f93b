"""RandomForest&TPE: TPE over only the pipelines of a space whose last stage is a random forest.

See spacelang/optimizers/README.md, section "BOASF: baselines".
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from spacelang.ir.search_protocol import Problem, Search
from spacelang.ir.space import Branch, Operator
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers import _proposer_search
from spacelang.optimizers._libraries import HyperoptTpe, TpeSettings, lower_for_hyperopt
from spacelang.plugins import OptionError, option
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import LoweringResult
from spacelang.targets.boasf import Arm, ArmSpaces, Boasf
from spacelang.targets.hyperopt import HyperoptSpace, Values

FOREST_OPERATORS: Final = frozenset({"RandomForestClassifier", "RandomForestRegressor"})


@dataclass(frozen=True, slots=True)
class RandomForestTpe:
    """TPE over only the pipelines whose last stage is a random forest: BOASF without the other models."""

    paper: ClassVar[str] = "Zhu et al., BOASF: A Unified Framework for Speeding up Automatic Machine Learning, 2022"

    startup: int = option(20, settings.STARTUP)
    gamma: float = option(0.25, settings.GAMMA)
    candidates: int = option(24, settings.CANDIDATES)

    def __post_init__(self) -> None:
        self._settings()

    def form(self, structures: Structures) -> LoweringResult[HyperoptSpace, Values]:
        """Compile the part of the space with the random forest for hyperopt; raises the same errors as `search`."""
        return lower_for_hyperopt(_forest_arm(_model_arms(structures)).structures)

    def search(self, problem: Problem) -> Search:
        """Search like `tpe`, from initial configurations with a random forest; raises OptionError without a forest."""
        structures = Structures(problem.space)
        if not structures.count:
            return
        arms = _model_arms(structures)
        arm = _forest_arm(arms)
        initial = tuple(each for each in problem.initial if arms.arms[arms.index_of(each)] is arm)
        proposer = HyperoptTpe(arm.structures, self._settings())
        yield from _proposer_search.search_with_proposer(
            proposer, replace(problem, space=arm.space, initial=initial), arm.structures
        )

    def _settings(self) -> TpeSettings:
        return TpeSettings(self.startup, self.gamma, self.candidates)


def _model_arms(structures: Structures) -> ArmSpaces:
    return Boasf(cap=2**62).lower(structures).form


def _forest_arm(arms: ArmSpaces) -> Arm:
    operators = {branch.name: _operator_name(branch) for stage in arms.space.stages for branch in stage.branches}
    for arm in arms.arms:
        if operators.get(arm.name) in FOREST_OPERATORS:
            return arm
    listed = ", ".join(f"`{arm.name}`" for arm in arms.arms)
    message = f"the space `{arms.space.name}` has no random forest in its last stage"
    raise OptionError(message, f"the last stage has the models {listed}")


def _operator_name(branch: Branch) -> str:
    return branch.node.name if isinstance(branch.node, Operator) else ""
