"""The models of a space: the alternatives of a stage, each with everything else inside."""

from spacelang.ir.counting import Structures
from spacelang.ir.space import Branch, Operator
from spacelang.plugins import OptionError
from spacelang.targets.boasf import Arm, Arms, Boasf


def models_of(structures: Structures, stage: str = "") -> Arms:
    """An arm for each alternative of a stage, by its key, without it the last one; raises OptionError for no stage.

    The space must not be empty.
    """
    return Boasf(arms="models", stage=stage, cap=2**62).lower(structures).form


def model_named(arms: Arms, operators: frozenset[str], what: str) -> Arm:
    """The first of the arms of models that is one of some operators; raises OptionError where none is."""
    operated = {branch.name: _operator(branch) for stage in arms.space.stages for branch in stage.branches}
    for arm in arms.arms:
        if arm.name in operators or operated.get(arm.name) in operators:
            return arm
    listed = ", ".join(f"`{arm.name}`" for arm in arms.arms)
    raise OptionError(f"the space `{arms.space.name}` has no {what}", f"its models are {listed}")


def _operator(branch: Branch) -> str:
    return branch.node.name if isinstance(branch.node, Operator) else ""
