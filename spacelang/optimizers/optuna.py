"""Optuna's samplers over the define-by-run form of the target `optuna`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from spacelang.ir.asking import Search
from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Structures
from spacelang.ir.domain import Categorical, Real
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Memo, Request
from spacelang.ir.unfolding import Fork, Free, Part, Parts
from spacelang.optimizers._consulting import History, consulted
from spacelang.optimizers._settings import check
from spacelang.plugins import option
from spacelang.targets import optuna as target
from spacelang.targets._exports.optional import library
from spacelang.targets._exports.unfolded import Slot, Unfolded
from spacelang.targets._lowered import Entry, Lowered
from spacelang.targets._lowered import Status as Kept
from spacelang.targets.optuna import OptunaFunction, Parameters, quiet

if TYPE_CHECKING:
    from numpy.random import Generator

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
        library("optuna")
        if self.sampler in NEEDS:
            library(NEEDS[self.sampler])
        lowered = target.Optuna().lower(structures)
        return replace(lowered, report=(*lowered.report, *_drawn(self.sampler, lowered.form)))

    def search(self, problem: Problem) -> Search:
        """What the sampler suggests, without end; in a finite space until every configuration was evaluated.

        Each proposal is that of a new sampler with a seed of its own, in a study that has all trials in the order in
        which they began, with their losses: those under way are running, and failures have failed.
        """
        structures = Structures(problem.space)
        if structures.count:
            yield from consulted(_Study(self.sampler, self.form(structures).form), problem, structures, History())


class _Study:
    """A study that mirrors a history: a trial that it was asked for is the same as one that is added."""

    def __init__(self, sampler: str, form: OptunaFunction) -> None:
        self._optuna = library("optuna")
        self._sampler, self._form = sampler, form
        self._storage = self._optuna.storages.InMemoryStorage()
        with quiet(self._optuna):
            self._study = self._optuna.create_study(storage=self._storage, study_name=NAME, sampler=self._neutral())
        self._number = self._storage.get_study_id_from_name(NAME)
        self._begun = self._ended = 0
        """How much of the history is there."""
        self._asked: Request | None = None
        """What the study was asked for last."""

    def design(self) -> Sequence[Configuration]:
        """None: samplers that begin with a design draw it by themselves."""
        return ()

    def propose(self, history: History, rng: "Generator") -> Request:
        """What a new sampler suggests after the history; the memo has what it leaves in the study beside that."""
        with quiet(self._optuna):
            self._catch_up(history)
            before = dict(self._left())
            self._study.sampler = getattr(self._optuna.samplers, self._sampler)(seed=int(rng.integers(2**31 - 1)))
            trial = self._study.ask()
            configuration = Configuration(self._form.suggest(trial))
            self._study.sampler = self._neutral()
        made = self._storage.get_trial(
            self._storage.get_trial_id_from_study_id_trial_number(self._number, trial.number)
        )
        left = {key: value for key, value in self._left().items() if before.get(key) != value}
        given = {} if self._form.encode(configuration) == made.params else made.params
        self._asked = Request(configuration, memo=_packed(_Kept(given, made.system_attrs, left)))
        return self._asked

    def _catch_up(self, history: History) -> None:
        """Have all of the history in the study."""
        for request in history.begun[self._begun :]:
            if request is not self._asked:
                self._add(request)
        for place, trial in history.ended[self._ended :]:
            failed = {"state": self._optuna.trial.TrialState.FAIL}
            self._study.tell(place, **(failed if trial.loss is None else {"values": trial.loss}))
        self._begun, self._ended = len(history.begun), len(history.ended)

    def _add(self, request: Request) -> None:
        """Have a trial run that the study was not asked for."""
        kept = _unpacked(request.memo)
        trial = self._optuna.trial.FixedTrial(kept.params or self._form.encode(request.configuration))
        self._form.suggest(trial)
        running = self._optuna.trial.create_trial(
            state=self._optuna.trial.TrialState.RUNNING,
            params=trial.params,
            distributions=trial.distributions,
            system_attrs=kept.trial,
        )
        self._study.add_trial(running)
        for key, value in kept.study.items():
            self._storage.set_study_system_attr(self._number, key, value)

    def _left(self) -> Mapping[str, Any]:
        """What samplers have left in the study, beside its trials."""
        found: Mapping[str, Any] = self._storage.get_study_system_attrs(self._number)
        return found

    def _neutral(self) -> Any:
        """A sampler that does nothing when a trial is told: BruteForceSampler would stop a study that it has run."""
        return self._optuna.samplers.RandomSampler(seed=0)


NAME: Final = "spacelang"
"""What the study is called, which nobody sees."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is to be known of a proposal beside its configuration.

    Its `params` where others stand for the same configuration, and what the sampler left with the `trial` and with the
    `study`.
    """

    params: Mapping[str, Any]
    trial: Mapping[str, Any]
    study: Mapping[str, Any]


def _packed(kept: _Kept) -> Memo:
    found = asdict(kept)
    return (json.dumps(found),) if any(found.values()) else ()


def _unpacked(memo: Memo) -> _Kept:
    return _Kept(**json.loads(str(memo[0]))) if memo else _Kept({}, {}, {})


# ---- what samplers cannot do


def _drawn(sampler: str, form: OptunaFunction) -> tuple[Entry, ...]:
    """What a sampler draws at random, as a line of the report; raises OptionError where that is all, or cannot be."""
    slots = [(free, slot) for free, slot in form.named.slots()]
    if sampler == "BruteForceSampler":
        endless = [free.node.key for free, slot in slots if isinstance(slot.part, Real) and slot.part.step is None]
        help_ = "`sampler=RandomSampler` draws from it, `sampler=TPESampler` searches it"
        check(
            not endless,
            f"`{sampler}` tries every value, and `{endless[0] if endless else ''}` has no end of them",
            help_,
        )
    if sampler not in STATIC:
        return ()
    categories = {*form.named.forks.values(), *(draw.choice for draw in form.named.draws.values() if draw.choice)}
    categories |= {slot.name for _, slot in slots if isinstance(slot.part, Categorical)}
    names = categories | {slot.name for _, slot in slots}
    searched = _always(form.named, form.named.parts) - (categories if sampler in NUMBERS else set())
    what = "numbers that every trial is asked for" if sampler in NUMBERS else "what every trial is asked for"
    message = f"`{sampler}` searches {what}: nothing of `{form.named.space.name}`"
    check(bool(searched) or not names, message, "`sampler=TPESampler` searches all of it")
    drawn = len(names - searched)
    if not drawn:
        return ()
    said = f"`{sampler}` searches {what}, and draws the other {drawn} of {len(names)} values at random"
    return (Entry("sampler", Kept.APPROXIMATED, said),)


def _always(named: Unfolded, several: Parts) -> frozenset[str]:
    """The names that are asked for in parts whatever is answered."""
    return frozenset().union(*(_always_in(named, part) for part in several))


def _always_in(named: Unfolded, part: Part) -> frozenset[str]:
    match part:
        case Fork():
            inside = reduce(frozenset.intersection, (_always(named, case.parts) for case in part.cases))
            return inside | ({named.forks[id(part)]} if id(part) in named.forks else frozenset())
        case Free():
            draw = named.draws[id(part)]
            return frozenset([draw.choice] if draw.choice else [p.name for p in draw.pieces if isinstance(p, Slot)])
        case _:
            return frozenset()
