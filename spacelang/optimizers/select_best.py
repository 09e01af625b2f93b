"""SelectBest: every model once, with its default hyperparameters.

See spacelang/optimizers/README.md, section "BOASF: baselines".
"""

from dataclasses import dataclass
from typing import ClassVar

from spacelang.ir.asking import Search
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Request
from spacelang.optimizers._room import as_there_is_room
from spacelang.plugins import option
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import nearest_admissible
from spacelang.targets._lowered import Lowered
from spacelang.targets.boasf import ArmSpaces, Boasf, Pull


@dataclass(frozen=True, slots=True)
class SelectBest:
    """SelectBest: every alternative of a stage once, everything else at its default; then it ends."""

    paper: ClassVar[str] = "Zhu et al., BOASF: A Unified Framework for Speeding up Automatic Machine Learning, 2022"

    stage: str = option("", "the stage whose alternatives are tried; without it the last one")

    hyperparameters: ClassVar[str] = "default"

    def form(self, structures: Structures) -> Lowered[ArmSpaces, Pull]:
        """The models; raises OptionError for no stage."""
        return Boasf(stage=self.stage, cap=2**62).lower(structures)

    def search(self, problem: Problem) -> Search:
        """The default configuration of each alternative, in the order of the text, on all rows; then it ends.

        Where a default breaks a constraint it is the member nearest to it. Raises OptionError for no stage.
        """
        structures = Structures(problem.space)
        if not structures.count:
            return
        arms = self.form(structures).form.arms
        requests = (Request(nearest_admissible(arm.structures)[1]) for arm in arms)
        yield from as_there_is_room(requests, lambda *_: None)
