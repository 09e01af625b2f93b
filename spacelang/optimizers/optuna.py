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
"""The library that a sampler stands on and that optuna does not bring."""

STATIC: Final = frozenset({"CmaEsSampler", "GPSampler", "QMCSampler"})
"""Samplers that search what every trial is asked; what depends on other answers they draw at random."""

NUMBERS: Final = frozenset({"CmaEsSampler"})
"""Samplers that search numbers alone."""


@dataclass(frozen=True, slots=True)
class Optuna:
    """Any sampler of Optuna; TPE is its default one."""

    paper: ClassVar[str] = "Akiba et al., Optuna: A Next-generation Hyperparameter Optimization Framework, KDD 2019"

    # All that optuna has but for those that have to be given more than a seed: a grid, or another sampler.
    sampler: Literal[
        "TPESampler",
        "RandomSampler",
        "CmaEsSampler",
        "GPSampler",
        "QMCSampler",
        "NSGAIISampler",
        "NSGAIIISampler",
        "BruteForceSampler",
    ] = option("TPESampler", "the class of `optuna.samplers` that proposes, with its defaults")

    def form(self, structures: Structures) -> Lowered[OptunaFunction, Parameters]:
        """What the sampler is asked; the report says, too, what it draws at random.

        Raises RefusedError for constraints that no sequence of questions says, MissingLibraryError, and OptionError for
        a sampler that finds nothing to search.
        """
        lowered = form_of(structures)
        if self.sampler in NEEDS:
            library(NEEDS[self.sampler])
        return replace(lowered, report=(*lowered.report, *_drawn(self.sampler, lowered.form)))

    def search(self, problem: Problem) -> Search:
        """What the sampler suggests, without end; in a finite space until every configuration was evaluated.

        Each proposal is that of a new sampler with a seed of its own, in a study that has all trials in the order in
        which they began, with their losses: those under way are running, and failures have failed.
        """
        structures = Structures(problem.space)
        if structures.count:
            form = self.form(structures).form
            yield from consulted(Study(form, self._made), problem, structures, TrialLog())

    def _made(self, seed: int) -> Any:
        return getattr(library("optuna").samplers, self.sampler)(seed=seed)


# ---- what samplers cannot do


def _drawn(sampler: str, form: OptunaFunction) -> tuple[ReportEntry, ...]:
    """What a sampler draws at random, as a line of the report; raises OptionError where that is all, or cannot be."""
    slots = [(free, slot) for free, slot in form.named.slots()]
    if sampler == "BruteForceSampler":
        endless = [free.node.key for free, slot in slots if isinstance(slot.part, Real)]
        help_ = "`sampler=RandomSampler` draws from it, `sampler=TPESampler` searches it"
        check(
            not endless,
            f"`{sampler}` tries every value, and `{endless[0] if endless else ''}` has no end of them",
            help_,
        )
    if sampler not in STATIC:
        return ()
    names = set(form.named.by_name)
    numbers = {slot.name for _, slot in slots if not isinstance(slot.part, Categorical)}
    always = _always(form.named, form.named.parts)
    searched = always & numbers if sampler in NUMBERS else always
    what = "numbers that every trial is asked for" if sampler in NUMBERS else "what every trial is asked for"
    message = f"`{sampler}` searches {what}: nothing of `{form.named.space.name}`"
    check(bool(searched) or not names, message, "`sampler=TPESampler` searches all of it")
    drawn = len(names - searched)
    if not drawn:
        return ()
    said = f"`{sampler}` searches {what}, and draws the other {drawn} of {len(names)} values at random"
    return (ReportEntry("sampler", Preservation.APPROXIMATED, said),)


def _always(named: Questions, several: Parts) -> frozenset[str]:
    """The names that are asked for in parts whatever is answered."""
    return frozenset().union(*(_always_in(named, part) for part in several))


def _always_in(named: Questions, part: UnfoldedPart) -> frozenset[str]:
    match part:
        case Fork():
            inside = reduce(frozenset.intersection, (_always(named, case.parts) for case in part.cases))
            return inside | ({named.forks[id(part)]} if id(part) in named.forks else frozenset())
        case Free():
            return frozenset([*named.draws[id(part)].questions][:1])
        case _:
            return frozenset()
