"""TPE over a whole space, by a library (spacelang/optimizers/README.md, section "TPE")."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from spacelang.errors import import_optional
from spacelang.ir.search_protocol import Problem, Search
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers import _proposer_search
from spacelang.optimizers._libraries import HyperoptTpe, OptunaStudy, TpeSettings, lower_for_hyperopt, lower_for_optuna
from spacelang.optimizers._proposer_search import TrialLog, search_with_library
from spacelang.plugins import option
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import LoweringResult
from spacelang.targets.hyperopt import HyperoptSpace, Values
from spacelang.targets.optuna import OptunaFunction, Parameters


@dataclass(frozen=True, slots=True)
class Tpe:
    """The tree-structured Parzen estimator (TPE): densities of good and of bad trials for each hyperparameter."""

    paper: ClassVar[str] = "Bergstra et al., Algorithms for Hyper-Parameter Optimization, NeurIPS 2011"

    library: Literal["hyperopt", "optuna"] = option("hyperopt", "the library that proposes configurations")
    startup: int = option(20, settings.STARTUP)
    gamma: float = option(0.25, settings.GAMMA)
    candidates: int = option(24, settings.CANDIDATES)

    def __post_init__(self) -> None:
        TpeSettings(self.startup, self.gamma, self.candidates)
        own = self.library == "optuna" and self.gamma != TpeSettings().gamma
        advice = "optuna uses its own rule for good trials: leave `gamma` out"
        settings.require(not own, f"`gamma` is {self.gamma}", advice)

    def form(
        self, structures: Structures
    ) -> LoweringResult[HyperoptSpace, Values] | LoweringResult[OptunaFunction, Parameters]:
        """Compile the space for the library; raises RefusedError if it cannot represent it, and MissingLibraryError."""
        return lower_for_hyperopt(structures) if self.library == "hyperopt" else lower_for_optuna(structures)

    def search(self, problem: Problem) -> Search:
        """Request the library's proposals without end; a finite space is exhausted.

        Each idle worker gets a proposal. With hyperopt, a running trial counts as failed, and a repeated proposal is
        made again up to ten times; then a configuration is drawn. If 100 proposals in a row violate constraints, or no
        draw is new, all remaining configurations are drawn. With optuna, a running trial is in state RUNNING, and a
        repeated proposal is answered from memory; after ten in a row, a configuration is drawn. Raises RefusedError for
        a space that the library cannot represent.
        """
        structures = Structures(problem.space)
        if not structures.count:
            return
        if self.library == "hyperopt":
            proposer = HyperoptTpe(structures, TpeSettings(self.startup, self.gamma, self.candidates))
            yield from _proposer_search.search_with_proposer(proposer, problem, structures)
        else:
            study = OptunaStudy(lower_for_optuna(structures).form, self._create_sampler, forgets=True)
            yield from search_with_library(study, problem, structures, TrialLog())

    def _create_sampler(self, seed: int) -> Any:
        samplers = import_optional("optuna").samplers
        return samplers.TPESampler(n_startup_trials=self.startup, n_ei_candidates=self.candidates, seed=seed)
