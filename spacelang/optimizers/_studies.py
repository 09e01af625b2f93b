"""Optuna studies: proposals of a sampler after a history, and the sampler state that a request's memo stores."""

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
    """Compile a space to the define-by-run function of an Optuna study.

    Raises RefusedError for constraints that no sequence of questions can express, and MissingLibraryError.
    """
    library("optuna")
    return Optuna().lower(structures)


class Study:
    """An Optuna study that mirrors a history; a trial that it suggested is treated like one added from outside."""

    def __init__(self, form: OptunaFunction, sampler: Callable[[int], Any]) -> None:
        """Create an empty study over a compiled space; `sampler` returns a new sampler for a seed."""
        self._optuna = library("optuna")
        self._sampler, self._form = sampler, form
        self._storage = self._optuna.storages.InMemoryStorage()
        with quiet(self._optuna):
            self._study = self._optuna.create_study(storage=self._storage, study_name=NAME, sampler=self._neutral())
        self._number = self._storage.get_study_id_from_name(NAME)
        self._begun = self._ended = 0
        """How many starts and trials of the history the study contains."""
        self._asked: Request | None = None
        """The request of the study's latest suggestion."""

    def design(self) -> Sequence[Configuration]:
        """Return no configurations: Optuna's samplers draw their initial designs themselves."""
        return ()

    def propose(self, history: TrialLog, rng: "Generator") -> Request:
        """Return the suggestion of a new sampler after the history.

        The memo of the request stores the data that the sampler leaves in the trial and in the study.
        """
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
        """Add the requests and trials of the history that are missing in the study."""
        for request in history.begun[self._begun :]:
            if request is not self._asked:
                self._add(request)
        for place, trial in history.ended[self._ended :]:
            failed = {"state": self._optuna.trial.TrialState.FAIL}
            self._study.tell(place, **(failed if trial.loss is None else {"values": trial.loss}))
        self._begun, self._ended = len(history.begun), len(history.ended)

    def _add(self, request: Request) -> None:
        """Add a running trial that the study did not suggest itself."""
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
        """Return the system attributes that samplers have stored in the study."""
        found: Mapping[str, Any] = self._storage.get_study_system_attrs(self._number)
        return found

    def _neutral(self) -> Any:
        """Return a sampler that does nothing when a trial finishes: BruteForceSampler would stop the study."""
        return self._optuna.samplers.RandomSampler(seed=0)


NAME: Final = "spacelang"
"""The name of the study, which is never shown."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The data of a proposal beyond its configuration, which is stored in the memo.

    `params` are the values suggested by Optuna if the configuration alone does not determine them. `trial` and `study`
    are the system attributes that the sampler left in the trial and in the study.
    """

    params: Mapping[str, Any]
    trial: Mapping[str, Any]
    study: Mapping[str, Any]


def _packed(kept: _Kept) -> Memo:
    found = asdict(kept)
    return (json.dumps(found),) if any(found.values()) else ()


def _unpacked(memo: Memo) -> _Kept:
    return _Kept(**json.loads(str(memo[0]))) if memo else _Kept({}, {}, {})
