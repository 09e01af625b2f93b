"""TPE over a space as a whole, by a library (spacelang/optimizers/README.md, section "TPE")."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from spacelang.ir.asking import Search
from spacelang.ir.problem import Problem
from spacelang.optimizers import _proposing, _studies
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._consulting import TrialLog, consulted
from spacelang.optimizers._hyperopt import HyperoptTpe, TpeSettings, form_of
from spacelang.optimizers._settings import check
from spacelang.optional import library
from spacelang.plugins import option
from spacelang.solver.counting import Structures
from spacelang.targets._lowered import Lowered
from spacelang.targets.hyperopt import HyperoptSpace, Values
from spacelang.targets.optuna import OptunaFunction, Parameters


@dataclass(frozen=True, slots=True)
class Tpe:
    """TPE, the tree-structured Parzen estimator: densities of good and of bad trials, by hyperparameter."""

    paper: ClassVar[str] = "Bergstra et al., Algorithms for Hyper-Parameter Optimization, NeurIPS 2011"

    library: Literal["hyperopt", "optuna"] = option("hyperopt", "the library that proposes")
    startup: int = option(20, settings.STARTUP)
    gamma: float = option(0.25, settings.GAMMA)
    candidates: int = option(24, settings.CANDIDATES)

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        TpeSettings(self.startup, self.gamma, self.candidates)
        own = self.library == "optuna" and self.gamma != TpeSettings().gamma
        check(not own, f"`gamma` is {self.gamma}", "optuna has a rule of its own for what is good: leave it out")

    def form(self, structures: Structures) -> Lowered[HyperoptSpace, Values] | Lowered[OptunaFunction, Parameters]:
        """What the library searches; raises RefusedError for a space that it cannot hold, MissingLibraryError."""
        match self.library:
            case "hyperopt":
                return form_of(structures)
            case "optuna":
                return _studies.form_of(structures)

    def search(self, problem: Problem) -> Search:
        """What the library proposes, without end; in a finite space until every configuration was evaluated.

        Idle workers are given proposals, too: what is under way counts for hyperopt as a trial that failed, and is
        running for optuna. What hyperopt proposed before is proposed again, ten times, then one is drawn; what optuna
        did is answered from memory. Where constraints are broken 100 times in a row, or nothing new is drawn, all that
        is left is drawn. Raises RefusedError for a space that the library cannot hold.
        """
        structures = Structures(problem.space)
        if not structures.count:
            return
        match self.library:
            case "hyperopt":
                proposer = HyperoptTpe(structures, TpeSettings(self.startup, self.gamma, self.candidates))
                yield from _proposing.search(proposer, problem, structures)
            case "optuna":
                study = _studies.Study(_studies.form_of(structures).form, self._sampler)
                yield from consulted(study, problem, structures, TrialLog())

    def _sampler(self, seed: int) -> Any:
        samplers = library("optuna").samplers
        return samplers.TPESampler(n_startup_trials=self.startup, n_ei_candidates=self.candidates, seed=seed)
