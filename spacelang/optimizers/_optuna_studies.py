"""Optuna studies: proposals of a sampler after a history, and the sampler state that a request's memo stores."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Memo, Request
from spacelang.optimizers._library_search import TrialLog
from spacelang.optional_imports import import_optional
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import LoweringResult
from spacelang.targets.optuna import Optuna, OptunaFunction, Parameters, silence_optuna

if TYPE_CHECKING:
    from numpy.random import Generator


def lower_for_optuna(structures: Structures) -> LoweringResult[OptunaFunction, Parameters]:
    """Compile a space to the define-by-run function of an Optuna study.

    Raises RefusedError for constraints that no sequence of questions can express, and MissingLibraryError.
    """
    import_optional("optuna")
    return Optuna().lower(structures)


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
