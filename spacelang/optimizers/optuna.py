"""Optuna's samplers over the define-by-run form of the target `optuna`."""

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Final, Literal

from spacelang.ir.asking import Search
from spacelang.ir.domain import Categorical, Real
from spacelang.ir.problem import Problem
from spacelang.optimizers._consulting import TrialLog, consulted
from spacelang.optimizers._settings import check
from spacelang.optimizers._studies import Study, form_of
from spacelang.optional import library
from spacelang.plugins import option
from spacelang.reductions.questions import Questions
from spacelang.reductions.unfolding import Fork, Free, Parts, UnfoldedPart
from spacelang.solver.counting import Structures
from spacelang.targets._lowered import Lowered, Preservation, ReportEntry
from spacelang.targets.optuna import OptunaFunction, Parameters

NEEDS: Final = {"CmaEsSampler": "cmaes", "GPSampler": "torch"}
"""The library that a sampler needs and that optuna does not install."""

STATIC: Final = frozenset({"CmaEsSampler", "GPSampler", "QMCSampler"})
"""Samplers that search only the values asked of every trial; they draw conditional values at random."""

NUMBERS: Final = frozenset({"CmaEsSampler"})
"""Samplers that search only numbers."""


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

    def form(self, structures: Structures) -> Lowered[OptunaFunction, Parameters]:
        """Compile the space for Optuna; the report also says which values the sampler only draws at random.

        Raises RefusedError for constraints that no sequence of questions can express, MissingLibraryError, and
        OptionError for a sampler that finds nothing to search.
        """
        lowered = form_of(structures)
        if self.sampler in NEEDS:
            library(NEEDS[self.sampler])
        return replace(lowered, report=(*lowered.report, *_drawn(self.sampler, lowered.form)))

    def search(self, problem: Problem) -> Search:
        """Request the sampler's suggestions without end; a finite space is exhausted.

        Each proposal is made by a new sampler with its own seed. Its study contains all trials in starting order with
        their losses; running trials are in state RUNNING, failures in state FAIL.
        """
        structures = Structures(problem.space)
        if structures.count:
            form = self.form(structures).form
            yield from consulted(Study(form, self._made), problem, structures, TrialLog())

    def _made(self, seed: int) -> Any:
        """Return a new sampler for a seed."""
        return getattr(library("optuna").samplers, self.sampler)(seed=seed)


# ---- limits of samplers


def _drawn(sampler: str, form: OptunaFunction) -> tuple[ReportEntry, ...]:
    """Return the report entry for the values that a sampler only draws at random, if any.

    Raises OptionError if the sampler would search nothing, or cannot enumerate a continuous range.
    """
    slots = [(free, slot) for free, slot in form.named.slots()]
    if sampler == "BruteForceSampler":
        endless = [free.node.key for free, slot in slots if isinstance(slot.part, Real)]
        help_ = "use `sampler=RandomSampler` to draw from it, or `sampler=TPESampler` to search it"
        check(
            not endless,
            f"`{sampler}` tries every value, but `{endless[0] if endless else ''}` has infinitely many",
            help_,
        )
    if sampler not in STATIC:
        return ()
    names = set(form.named.by_name)
    numbers = {slot.name for _, slot in slots if not isinstance(slot.part, Categorical)}
    always = _always(form.named, form.named.parts)
    searched = always & numbers if sampler in NUMBERS else always
    what = f"only {'numbers' if sampler in NUMBERS else 'values'} that are active in every trial"
    message = f"`{sampler}` searches {what}, and `{form.named.space.name}` has none"
    check(bool(searched) or not names, message, "use `sampler=TPESampler`, which searches the whole space")
    drawn = len(names - searched)
    if not drawn:
        return ()
    message = f"`{sampler}` searches {what}; it draws the other {drawn} of {len(names)} values at random"
    return (ReportEntry("sampler", Preservation.APPROXIMATED, message),)


def _always(named: Questions, several: Parts) -> frozenset[str]:
    """Return the names that every trial is asked for within these parts."""
    return frozenset().union(*(_always_in(named, part) for part in several))


def _always_in(named: Questions, part: UnfoldedPart) -> frozenset[str]:
    """Return the names that every trial is asked for within one part."""
    match part:
        case Fork():
            inside = reduce(frozenset.intersection, (_always(named, case.parts) for case in part.cases))
            return inside | ({named.forks[id(part)]} if id(part) in named.forks else frozenset())
        case Free():
            return frozenset([*named.draws[id(part)].questions][:1])
        case _:
            return frozenset()
