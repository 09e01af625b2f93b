"""Optuna's samplers over the define-by-run form of the target `optuna`, and the studies that they propose in."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Real
from spacelang.ir.problem import Problem
from spacelang.ir.search_protocol import Search
from spacelang.ir.trial import Memo, Request
from spacelang.optimizers._common_options import check
from spacelang.optimizers._proposer_search import TrialLog, search_with_library
from spacelang.optional_imports import import_optional
from spacelang.plugins import option
from spacelang.reductions.questions import Questions
from spacelang.reductions.unfolding import Fork, FreeHyperparameter, Parts, UnfoldedPart
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import LoweringResult, Preservation, ReportEntry
from spacelang.targets.optuna import Optuna as Target
from spacelang.targets.optuna import OptunaFunction, Parameters, silence_optuna

if TYPE_CHECKING:
    from numpy.random import Generator


REQUIRED_LIBRARIES: Final = {"CmaEsSampler": "cmaes", "GPSampler": "torch"}
"""The library that a sampler needs and that optuna does not install."""
STATIC_SAMPLERS: Final = frozenset({"CmaEsSampler", "GPSampler", "QMCSampler"})
"""Samplers that search only the values asked of every trial; they draw conditional values at random."""
NUMERIC_SAMPLERS: Final = frozenset({"CmaEsSampler"})
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
            yield from search_with_library(Study(form, self._create_sampler), problem, structures, TrialLog())

    def _create_sampler(self, seed: int) -> Any:
        """Return a new sampler for a seed."""
        return getattr(import_optional("optuna").samplers, self.sampler)(seed=seed)


# ---- limits of samplers


def _random_value_report(sampler: str, form: OptunaFunction) -> tuple[ReportEntry, ...]:
    """Return the report entry for the values that a sampler only draws at random, if any.

    Raises OptionError if the sampler would search nothing, or cannot enumerate a continuous range.
    """
    slots = [(free, slot) for free, slot in form.questions.drawn_pieces()]
    if sampler == "BruteForceSampler":
        endless = [free.node.key for free, slot in slots if isinstance(slot.part, Real)]
        help_ = "use `sampler=RandomSampler` to draw from it, or `sampler=TPESampler` to search it"
        check(
            not endless,
            f"`{sampler}` tries every value, but `{endless[0] if endless else ''}` has infinitely many",
            help_,
        )
    if sampler not in STATIC_SAMPLERS:
        return ()
    names = set(form.questions.by_name)
    numbers = {slot.name for _, slot in slots if not isinstance(slot.part, Categorical)}
    always = _unconditional_names(form.questions, form.questions.parts)
    searched = always & numbers if sampler in NUMERIC_SAMPLERS else always
    what = "numbers" if sampler in NUMERIC_SAMPLERS else "values"
    message = (
        f"`{sampler}` searches only {what} that are active in every trial, and `{form.questions.space.name}` has none"
    )
    check(bool(searched) or not names, message, "use `sampler=TPESampler`, which searches the whole space")
    drawn = len(names - searched)
    if not drawn:
        return ()
    message = (
        f"`{sampler}` searches only {what} that are active in every trial;"
        f" it draws the other {drawn} of {len(names)} values at random"
    )
    return (ReportEntry("sampler", Preservation.APPROXIMATED, message),)


def _unconditional_names(named: Questions, several: Parts) -> frozenset[str]:
    """Return the names that every trial is asked for within these parts."""
    return frozenset().union(*(_unconditional_names_in(named, part) for part in several))


def _unconditional_names_in(named: Questions, part: UnfoldedPart) -> frozenset[str]:
    """Return the names that every trial is asked for within one part."""
    match part:
        case Fork():
            inside = reduce(frozenset.intersection, (_unconditional_names(named, case.parts) for case in part.cases))
            return inside | ({named.forks[id(part)]} if id(part) in named.forks else frozenset())
        case FreeHyperparameter():
            return frozenset([*named.draws[id(part)].questions][:1])
        case _:
            return frozenset()


def lower_for_optuna(structures: Structures) -> LoweringResult[OptunaFunction, Parameters]:
    """Compile a space to the define-by-run function of an Optuna study.

    Raises RefusedError for constraints that no sequence of questions can express, and MissingLibraryError.
    """
    import_optional("optuna")
    return Target().lower(structures)


class Study:
    """An Optuna study that mirrors a history; a trial that it suggested is treated like one added from outside."""

    def __init__(self, form: OptunaFunction, sampler: Callable[[int], Any]) -> None:
        """Create an empty study over a compiled space; `sampler` returns a new sampler for a seed."""
        self._optuna = import_optional("optuna")
        self._sampler, self._form = sampler, form
        self._storage = self._optuna.storages.InMemoryStorage()
        with silence_optuna(self._optuna):
            self._study = self._optuna.create_study(
                storage=self._storage, study_name=STUDY_NAME, sampler=self._neutral_sampler()
            )
        self._number = self._storage.get_study_id_from_name(STUDY_NAME)
        self._started_count = self._finished_count = 0
        """How many starts and trials of the history the study contains."""
        self._last_request: Request | None = None
        """The request of the study's latest suggestion."""

    def initial_design(self) -> Sequence[Configuration]:
        """Return no configurations: Optuna's samplers draw their initial designs themselves."""
        return ()

    def propose(self, history: TrialLog, rng: "Generator") -> Request:
        """Return the suggestion of a new sampler after the history.

        The memo of the request stores the data that the sampler leaves in the trial and in the study.
        """
        with silence_optuna(self._optuna):
            self._synchronize(history)
            before = dict(self._system_attributes())
            self._study.sampler = self._sampler(int(rng.integers(2**31 - 1)))
            trial = self._study.ask()
            configuration = Configuration(self._form.native(trial))
            self._study.sampler = self._neutral_sampler()
        made = self._storage.get_trial(
            self._storage.get_trial_id_from_study_id_trial_number(self._number, trial.number)
        )
        left = {key: value for key, value in self._system_attributes().items() if before.get(key) != value}
        given = {} if self._form.encode(configuration) == made.params else made.params
        self._last_request = Request(configuration, memo=_to_memo(_ProposalRecord(given, made.system_attrs, left)))
        return self._last_request

    def _synchronize(self, history: TrialLog) -> None:
        """Add the requests and trials of the history that are missing in the study."""
        for request in history.started[self._started_count :]:
            if request is not self._last_request:
                self._add_running_trial(request)
        for place, trial in history.finished[self._finished_count :]:
            failed = {"state": self._optuna.trial.TrialState.FAIL}
            self._study.tell(place, **(failed if trial.loss is None else {"values": trial.loss}))
        self._started_count, self._finished_count = len(history.started), len(history.finished)

    def _add_running_trial(self, request: Request) -> None:
        """Add a running trial that the study did not suggest itself."""
        kept = _from_memo(request.memo)
        trial = self._optuna.trial.FixedTrial(kept.params or self._form.encode(request.configuration))
        self._form.native(trial)
        running = self._optuna.trial.create_trial(
            state=self._optuna.trial.TrialState.RUNNING,
            params=trial.params,
            distributions=trial.distributions,
            system_attrs=kept.trial,
        )
        self._study.add_trial(running)
        for key, value in kept.study.items():
            self._storage.set_study_system_attr(self._number, key, value)

    def _system_attributes(self) -> Mapping[str, Any]:
        """Return the system attributes that samplers have stored in the study."""
        found: Mapping[str, Any] = self._storage.get_study_system_attrs(self._number)
        return found

    def _neutral_sampler(self) -> Any:
        """Return a sampler that does nothing when a trial finishes: BruteForceSampler would stop the study."""
        return self._optuna.samplers.RandomSampler(seed=0)


STUDY_NAME: Final = "spacelang"
"""The name of the study, which is never shown."""


@dataclass(frozen=True, slots=True)
class _ProposalRecord:
    """The data of a proposal beyond its configuration, which is stored in the memo.

    `params` are the values suggested by Optuna if the configuration alone does not determine them. `trial` and `study`
    are the system attributes that the sampler left in the trial and in the study.
    """

    params: Mapping[str, Any]
    trial: Mapping[str, Any]
    study: Mapping[str, Any]


def _to_memo(kept: _ProposalRecord) -> Memo:
    found = asdict(kept)
    return (json.dumps(found),) if any(found.values()) else ()


def _from_memo(memo: Memo) -> _ProposalRecord:
    return _ProposalRecord(**json.loads(str(memo[0]))) if memo else _ProposalRecord({}, {}, {})
