"""Studies of Optuna: what one of its samplers suggests after a history, and what is to be remembered of that."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Memo, Request
from spacelang.optimizers._consulting import TrialLog
from spacelang.optional import library
from spacelang.solver.counting import Structures
from spacelang.targets._lowered import Lowered
from spacelang.targets.optuna import Optuna, OptunaFunction, Parameters, quiet

if TYPE_CHECKING:
    from numpy.random import Generator


def form_of(structures: Structures) -> Lowered[OptunaFunction, Parameters]:
    """What a study asks.

    Raises RefusedError for constraints that no sequence of questions says, and MissingLibraryError.
    """
    library("optuna")
    return Optuna().lower(structures)


class Study:
    """A study that mirrors a history: a trial that it was asked for is the same as one that is added."""

    def __init__(self, form: OptunaFunction, sampler: Callable[[int], Any]) -> None:
        """Asks the questions of a form; `sampler` makes one that proposes, by a seed."""
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

    def propose(self, history: TrialLog, rng: "Generator") -> Request:
        """What a new sampler suggests after the history; the memo has what it leaves in the study beside that."""
        with quiet(self._optuna):
            self._catch_up(history)
            before = dict(self._left())
            self._study.sampler = self._sampler(int(rng.integers(2**31 - 1)))
            trial = self._study.ask()
            configuration = Configuration(self._form.native(trial))
            self._study.sampler = self._neutral()
        made = self._storage.get_trial(
            self._storage.get_trial_id_from_study_id_trial_number(self._number, trial.number)
        )
        left = {key: value for key, value in self._left().items() if before.get(key) != value}
        given = {} if self._form.encode(configuration) == made.params else made.params
        self._asked = Request(configuration, memo=_packed(_Kept(given, made.system_attrs, left)))
        return self._asked

    def _catch_up(self, history: TrialLog) -> None:
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
