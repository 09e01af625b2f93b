"""Optuna's samplers over the define-by-run form of the target `optuna`."""

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Final, Literal

from spacelang.errors import import_optional
from spacelang.ir.domain import Categorical, Real
from spacelang.ir.search_protocol import Problem, Search
from spacelang.optimizers._common_options import require
from spacelang.optimizers._libraries import OptunaStudy, lower_for_optuna
from spacelang.optimizers._proposer_search import TrialLog, search_with_library
from spacelang.plugins import option
from spacelang.reductions.case_splits import (
    CaseSplit,
    IndependentHyperparameter,
    UnfoldedPart,
    UnfoldedParts,
    ValueSwitch,
)
from spacelang.reductions.space_questions import Questions
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import LoweringResult, Preservation, ReportEntry
from spacelang.targets.optuna import OptunaFunction, Parameters

REQUIRED_LIBRARIES: Final = {"CmaEsSampler": "cmaes", "GPSampler": "torch"}
"""The library that a sampler needs and that optuna does not install."""
STATIC_SAMPLERS: Final = frozenset({"CmaEsSampler", "GPSampler", "QMCSampler"})
"""Samplers that search only the values asked of every trial; they draw conditional values at random."""
MODEL_SAMPLERS: Final = frozenset({"GPSampler", "TPESampler"})
"""Samplers that fit a model to all trials for each proposal."""
NUMERIC_SAMPLERS: Final = frozenset({"CmaEsSampler"})
SINGLE_OBJECTIVE_SAMPLERS: Final = frozenset({"CmaEsSampler"})


@dataclass(frozen=True, slots=True)
class Optuna:
    """Any sampler of Optuna; TPE is its default one."""

    paper: ClassVar[str] = "Akiba et al., Optuna: A Next-generation Hyperparameter Optimization Framework, KDD 2019"

    # All samplers of optuna except those that need more than a seed: a grid, or another sampler.
    sampler: Literal[
        "TPESampler",
        "RandomSampler",
        "CmaEsSampler",
        "GPSampler",
        "QMCSampler",
        "NSGAIISampler",
        "NSGAIIISampler",
        "BruteForceSampler",
    ] = option("TPESampler", "the class of `optuna.samplers` that proposes configurations, with its default settings")

    def form(self, structures: Structures) -> LoweringResult[OptunaFunction, Parameters]:
        """Compile the space for Optuna; the report also says which values the sampler only draws at random.

        Raises RefusedError for constraints that no sequence of questions can express, MissingLibraryError, and
        OptionError for a sampler that finds nothing to search.
        """
        lowered = lower_for_optuna(structures)
        if self.sampler in REQUIRED_LIBRARIES:
            import_optional(REQUIRED_LIBRARIES[self.sampler])
        return replace(lowered, report=(*lowered.report, *_random_value_report(self.sampler, lowered.form)))

    def search(self, problem: Problem) -> Search:
        """Request the sampler's suggestions without end; a finite space is exhausted.

        Each proposal is made by a new sampler with its own seed. Its study contains all trials in starting order with
        their losses; running trials are in state RUNNING, failures in state FAIL.
        """
        structures = Structures(problem.space)
        if structures.count:
            form = self.form(structures).form
            # Only trials with a single objective have an order, so only their studies can forget.
            forgets = self.sampler in MODEL_SAMPLERS and problem.objectives == 1
            study = OptunaStudy(form, self._create_sampler, problem.objectives, forgets=forgets)
            yield from search_with_library(study, problem, structures, TrialLog())

    @property
    def takes_several_objectives(self) -> bool:
        """True if the sampler can search for a Pareto front."""
        return self.sampler not in SINGLE_OBJECTIVE_SAMPLERS

    def _create_sampler(self, seed: int) -> Any:
        return getattr(import_optional("optuna").samplers, self.sampler)(seed=seed)


def _random_value_report(sampler: str, form: OptunaFunction) -> tuple[ReportEntry, ...]:
    """Return one entry if a sampler only draws some values at random, else none.

    Raises OptionError if the sampler can search no value at all.
    """
    slots = [*form.questions.drawn_pieces()]
    if sampler == "BruteForceSampler":
        endless = [free.node.key for free, slot in slots if isinstance(slot.part, Real)]
        message = f"`{sampler}` tries every value, but `{endless[0] if endless else ''}` has infinitely many"
        require(not endless, message, "use `sampler=RandomSampler` or `sampler=TPESampler`")
    if sampler not in STATIC_SAMPLERS:
        return ()
    names = set(form.questions.by_name)
    numbers = {slot.name for _, slot in slots if not isinstance(slot.part, Categorical)}
    always = _unconditional_names(form.questions, form.questions.parts)
    searched = always & numbers if sampler in NUMERIC_SAMPLERS else always
    hyperparameters = "numbers" if sampler in NUMERIC_SAMPLERS else "values"
    message = (
        f"`{sampler}` searches only {hyperparameters} that are active in every trial, "
        f"but `{form.questions.space.name}` has none"
    )
    require(bool(searched) or not names, message, "use `sampler=TPESampler`, which searches the whole space")
    drawn = len(names - searched)
    if not drawn:
        return ()
    message = (
        f"`{sampler}` searches only {hyperparameters} that are active in every trial;"
        f" it draws the other {drawn} of {len(names)} values at random"
    )
    return (ReportEntry("sampler", Preservation.APPROXIMATED, message),)


def _unconditional_names(named: Questions, several: UnfoldedParts) -> frozenset[str]:
    return frozenset().union(*(_unconditional_names_in(named, part) for part in several))


def _unconditional_names_in(named: Questions, part: UnfoldedPart) -> frozenset[str]:
    match part:
        case CaseSplit() | ValueSwitch():
            inside = reduce(frozenset.intersection, (_unconditional_names(named, case.parts) for case in part.cases))
            return inside | ({named.forks[id(part)]} if id(part) in named.forks else frozenset())
        case IndependentHyperparameter():
            return frozenset([*named.draws[id(part)].questions][:1])
        case _:
            return frozenset()
