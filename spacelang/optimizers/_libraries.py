"""External libraries that propose configurations: hyperopt's TPE, and Optuna's samplers."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from typing import Any, Final

from numpy.random import Generator

from spacelang.errors import import_optional
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.trial import Request
from spacelang.optimizers._common_options import check_option
from spacelang.optimizers._proposer_search import ObservedLoss, TrialLog
from spacelang.solver.counting import Structures
from spacelang.surrogates import MAX_DENSITY_POINTS, choose_trials_for_densities
from spacelang.targets._lowering import LoweringResult, RefusedError
from spacelang.targets.hyperopt import Hyperopt, HyperoptSpace, Values
from spacelang.targets.optuna import Optuna, OptunaFunction, Parameters, silence_optuna

MAX_INVALID_PROPOSALS: Final = 100
"""After this many proposals in a row that violate constraints, no proposal is expected any more."""
SEED_LIMIT: Final = 2**31 - 1
STUDY_GROWTH: Final = MAX_DENSITY_POINTS // 2
"""A study that forgets is rebuilt after each `STUDY_GROWTH` requests, with at most as many of its old trials."""


@dataclass(frozen=True, slots=True)
class TpeSettings:
    """The settings of TPE; the defaults are those of hyperopt, which the BOASF paper uses."""

    startup: int = 20
    gamma: float = 0.25
    candidates: int = 24

    def __post_init__(self) -> None:
        check_option(self, "startup", self.startup >= 1, "must be at least 1: a model needs a first trial")
        check_option(self, "gamma", self.gamma > 0, "must be greater than 0")
        check_option(self, "candidates", self.candidates >= 1, "must be at least 1")


class HyperoptTpe:
    """TPE over a space: densities of good and bad trials, nested as a tree if there are conditions.

    The best min(25, ceil(gamma sqrt(n))) of n trials are good. Trials without a loss count among the n and are never
    good. All hyperparameters are modelled independently, each from the trials in which it was active. If the history
    is long, hyperopt gets only some of its trials (see `choose_trials_for_densities`).

    If the constraints of a space are too entangled for nested choices, it is compiled without them. A proposal that
    violates a constraint is then replaced by another proposal.
    """

    def __init__(self, structures: Structures, settings: TpeSettings | None = None) -> None:
        """Compile the structures of a nonempty space; raises RefusedError if hyperopt cannot represent it."""
        self._space = structures.space
        self._settings = TpeSettings() if settings is None else settings
        self._form = lower_for_hyperopt(structures).form
        self._documents: dict[int, tuple[Configuration, dict[str, Any]]] = {}
        """A cache of configurations and their documents by place in the history, because histories grow at the end."""

    @property
    def most_modelled(self) -> int:
        """The number of trials beyond which hyperopt gets only some of them."""
        return MAX_DENSITY_POINTS

    def propose(self, history: Sequence[ObservedLoss], rng: Generator) -> Configuration | None:
        """Return the proposal after a history in starting order; None after 100 in a row that violate a constraint.

        It depends only on the history and the generator. The first `startup` ones are drawn from the space alone.
        """
        suggest = self._suggest(history)
        for _ in range(MAX_INVALID_PROPOSALS):
            proposal = suggest(int(rng.integers(SEED_LIMIT)))
            if first_exclusion(self._space, proposal) is None:
                return proposal
        return None

    def _suggest(self, history: Sequence[ObservedLoss]) -> Callable[[int], Configuration]:
        if not self._form.labels:
            return lambda _: self._form.decode({})
        new = [len(history)]
        if len(history) < self._settings.startup:
            # `tpe.suggest` would give the same result, after fitting a model to nothing.
            rand = import_optional("hyperopt", "hyperopt.rand")
            suggest = partial(rand.suggest, new, self._domain, self._hyperopt_trials(()))
        else:
            tpe, own = import_optional("hyperopt", "hyperopt.tpe"), self._settings
            options = {"n_startup_jobs": own.startup, "n_EI_candidates": own.candidates, "gamma": own.gamma}
            suggest = partial(tpe.suggest, new, self._domain, self._hyperopt_trials(history), **options, verbose=False)
        return lambda seed: self._form.decode(self._form.values_of(suggest(seed=seed)[0]))

    def _hyperopt_trials(self, history: Sequence[ObservedLoss]) -> Any:
        """Convert the trials of the history from which hyperopt estimates the densities."""
        places = choose_trials_for_densities([loss for _, loss in history])
        documents = [self._document(place, *history[place]) for place in places]
        return import_optional("hyperopt", "hyperopt.base").trials_from_docs(documents, validate=False)

    def _document(self, number: int, configuration: Configuration, loss: float | None) -> dict[str, Any]:
        """Return hyperopt's document of a trial; it has failed if `loss` is None.

        `number` is the index of the trial in the history, by which documents are cached.
        """
        known = self._documents.get(number)
        if known is None or known[0] != configuration:
            known = configuration, self._form.trial_document(number, self._form.encode_active(configuration))
            self._documents[number] = known
        document = known[1]
        document["state"] = 2  # done; a running trial counts as failed for hyperopt
        document["result"] = {"status": "fail"} if loss is None else {"status": "ok", "loss": loss}
        return document

    @cached_property
    def _domain(self) -> Any:
        return import_optional("hyperopt", "hyperopt.base").Domain(None, self._form.native)


def lower_for_hyperopt(structures: Structures) -> LoweringResult[HyperoptSpace, Values]:
    """Compile a space for hyperopt, without its constraints if hyperopt cannot represent them.

    Raises RefusedError if that fails, too, and MissingLibraryError. The library is imported here, so that the first
    proposal is not charged for the import.
    """
    import_optional("hyperopt")
    try:
        return Hyperopt().lower(structures)
    except RefusedError:
        if not structures.space.constraints:
            raise
        return Hyperopt().lower(Structures(replace(structures.space, constraints=())))


def lower_for_optuna(structures: Structures) -> LoweringResult[OptunaFunction, Parameters]:
    """Compile a space to Optuna's define-by-run function; raises RefusedError and MissingLibraryError."""
    import_optional("optuna")
    return Optuna().lower(structures)


class OptunaStudy:
    """An Optuna study that mirrors a history. Suggested trials are treated like trials that are added from outside.

    With `forgets`, the study is rebuilt after 3, 4, 5, ... times `STUDY_GROWTH` requests. It then contains the latest
    `STUDY_GROWTH` finished trials, and the best `STUDY_GROWTH` of the earlier ones.
    """

    def __init__(
        self, form: OptunaFunction, sampler: Callable[[int], Any], objectives: int = 1, *, forgets: bool = False
    ) -> None:
        """Create an empty study over a compiled space; `sampler` returns a new sampler for a seed."""
        self._optuna = import_optional("optuna")
        self._sampler, self._form, self._objectives, self._forgets = sampler, form, objectives, forgets
        self._last_request: Request | None = None
        self._generation = 2  # Up to this multiple of `STUDY_GROWTH`, the study has all trials
        self._rebuild()

    def _rebuild(self, forgotten: frozenset[int] = frozenset()) -> None:
        """Replace the study by an empty one.

        Trials of the history with an index in `forgotten` will never be added to it.
        """
        self._storage = self._optuna.storages.InMemoryStorage()
        with silence_optuna(self._optuna):
            self._study = self._optuna.create_study(
                storage=self._storage,
                study_name="spacelang",
                sampler=self._neutral_sampler(),
                directions=["minimize"] * self._objectives,
            )
        self._number = self._storage.get_study_id_from_name("spacelang")
        self._started_count = self._finished_count = 0
        """How many starts and trials of the history the study contains."""
        self._forgotten = forgotten
        self._numbers: dict[int, int] = {}
        """The numbers of the trials in the study by place in the history."""

    @property
    def most_modelled(self) -> int | None:
        """The number of trials beyond which the study has only some of them; None if it does not forget."""
        return 3 * STUDY_GROWTH if self._forgets else None

    def initial_design(self) -> Sequence[Configuration]:
        """Return no configurations: Optuna's samplers draw their initial designs themselves."""
        return ()

    def propose(self, history: TrialLog, rng: Generator) -> Request:
        """Return the suggestion of a new sampler after the history.

        The memo stores the attributes that the sampler sets in the study, which a resumed run restores.
        """
        with silence_optuna(self._optuna):
            self._synchronize(history)
            before = dict(self._storage.get_study_system_attrs(self._number))
            self._study.sampler = self._sampler(int(rng.integers(2**31 - 1)))
            trial = self._study.ask()
            configuration = Configuration(self._form.native(trial))
            self._study.sampler = self._neutral_sampler()
        identifier = self._storage.get_trial_id_from_study_id_trial_number(self._number, trial.number)
        made = self._storage.get_trial(identifier)
        after = self._storage.get_study_system_attrs(self._number)
        left = {key: value for key, value in after.items() if before.get(key) != value}
        given = {} if self._form.encode(configuration) == made.params else made.params
        # What the sampler left in the trial and in the study, and values that the configuration does not determine.
        record = {"params": given, "trial": made.system_attrs, "study": left}
        self._last_request = Request(configuration, memo=(json.dumps(record),) if any(record.values()) else ())
        return self._last_request

    def _synchronize(self, history: TrialLog) -> None:
        generation = len(history.started) // STUDY_GROWTH
        if self._forgets and generation > self._generation:
            self._generation, self._last_request = generation, None
            old = {place: trial.loss for place, trial in history.finished[: (generation - 1) * STUDY_GROWTH]}
            best = sorted(old, key=lambda place: inf if (loss := old[place]) is None else loss)[:STUDY_GROWTH]
            self._rebuild(frozenset(old.keys() - best))
        for place in range(self._started_count, len(history.started)):
            if place not in self._forgotten:
                self._numbers[place] = len(self._numbers)
                if history.started[place] is not self._last_request:
                    self._add_running_trial(history.started[place])
        for place, trial in history.finished[self._finished_count :]:
            if place not in self._forgotten:
                failed = {"state": self._optuna.trial.TrialState.FAIL}
                values = [value for _, value in trial.objectives] or trial.loss
                self._study.tell(self._numbers[place], **(failed if trial.loss is None else {"values": values}))
        self._started_count, self._finished_count = len(history.started), len(history.finished)

    def _add_running_trial(self, request: Request) -> None:
        """Add a running trial that the study did not suggest itself, with the attributes in the memo of the request."""
        kept = json.loads(str(request.memo[0])) if request.memo else {"params": {}, "trial": {}, "study": {}}
        trial = self._optuna.trial.FixedTrial(kept["params"] or self._form.encode(request.configuration))
        try:
            made = self._form.native(trial)
        except ValueError:
            made = {}
        if made != {**request.configuration}:  # an earlier version stored the parameters under other names
            trial = self._optuna.trial.FixedTrial(self._form.encode(request.configuration))
            self._form.native(trial)
        running = {"state": self._optuna.trial.TrialState.RUNNING, "system_attrs": kept["trial"]}
        asked = {"params": trial.params, "distributions": trial.distributions}
        self._study.add_trial(self._optuna.trial.create_trial(**running, **asked))
        for key, value in kept["study"].items():
            self._storage.set_study_system_attr(self._number, key, value)

    def _neutral_sampler(self) -> Any:
        """Return a sampler that does nothing when a trial finishes: BruteForceSampler would stop the study."""
        return self._optuna.samplers.RandomSampler(seed=0)
