"""SelectBest: every model once, with its default hyperparameters.

See spacelang/optimizers/README.md, section "BOASF: baselines".
"""

from dataclasses import dataclass
from typing import ClassVar

from spacelang.ir.search_protocol import Problem, Search
from spacelang.ir.trial import Request
from spacelang.optimizers._scheduling import run_requests
from spacelang.plugins import option
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import member_nearest_to_default
from spacelang.targets._lowering import LoweringResult
from spacelang.targets.boasf import ArmSpaces, Boasf, Pull


@dataclass(frozen=True, slots=True)
class SelectBest:
    """SelectBest: tries every alternative of a stage once with everything else at its default, then ends."""

    paper: ClassVar[str] = "Zhu et al., BOASF: A Unified Framework for Speeding up Automatic Machine Learning, 2022"

    stage: str = option("", "the stage whose alternatives are tried; by default the last one")

    hyperparameters: ClassVar[str] = "default"

    def form(self, structures: Structures) -> LoweringResult[ArmSpaces, Pull]:
        """Compile the space to one arm per model; raises OptionError if the stage does not exist."""
        return Boasf(stage=self.stage, cap=2**62).lower(structures)

    def search(self, problem: Problem) -> Search:
        """Evaluate the default configuration of each alternative, or the nearest member, in text order and on all rows.

        Raises OptionError if the stage does not exist.
        """
        structures = Structures(problem.space)
        if not structures.count:
            return
        requests = (Request(member_nearest_to_default(arm.structures)[1]) for arm in self.form(structures).form.arms)
        yield from run_requests(requests, lambda *_: None)
