"""The description of a run, shared by the command line, the Python functions, stores and comparisons.

>>> experiment = Experiment(space=load("credit.space"), data=TabularData(table), budget=Budget(seconds=60))
>>> prepared = experiment.with_optimizer("blds").prepare()  # fixes the space for the data, the objective, the optimizer
>>> with closing(prepared.make_executor()) as executor:
...     result = run_experiment(prepared, executor, store="run.db")
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from spacelang.api.executor_settings import make_executor
from spacelang.api.initial_configurations import (
    InitialItem,
    keys_without_meaning,
    open_archive,
    read_initial_configurations,
    suggest_configurations,
    validate_initial_configurations,
)
from spacelang.api.option_checks_and_signatures import run_options_by_name
from spacelang.api.run_options import RunOptions, to_command_line_options
from spacelang.api.space import Space, SpaceError
from spacelang.deprecation import renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import StartConditions
from spacelang.ir.task import FidelitySchedule
from spacelang.ir.validation import Validation, parse_validation
from spacelang.optimizers import OPTIMIZERS, default_optimizer, reproducibility_sentence
from spacelang.optimizers._fidelity import rungs
from spacelang.plugins import NestedPlugin, fields_at_default, non_default_settings, plugin_identity
from spacelang.runtime.archives import DistanceNorm
from spacelang.runtime.budget import UNLIMITED_BUDGET, Budget, parse_duration
from spacelang.runtime.executors import ONE_WORKER, WorkerSettings
from spacelang.runtime.final_fit import MAX_ATTEMPTS
from spacelang.runtime.objective import (
    Evaluator,
    FixedFidelitySetObjective,
    HasMetaFeatures,
    ModelStoringObjective,
    PartiallyDefinedObjective,
    identifying_settings,
    learner_key_of,
    objective_names,
)
from spacelang.runtime.run_deadline import RunDeadline
from spacelang.runtime.storage.run_header import UNNAMED_SPACE, RunHeader, make_run_header, space_hash
from spacelang.runtime.trial_models import BestTrialModels
from spacelang.solver.nearest_configuration import dropped_keys_sentence

if TYPE_CHECKING:
    from spacelang.report.run_facts import SearchCoverage
    from spacelang.runtime.archives.archive import Archive, ArchiveSuggestions
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.objective import ObjectiveInfo
    from spacelang.runtime.scoring.user_functions import Constraint, Scorer


@dataclass(frozen=True, slots=True)
class ExtraMeasurementSettings:
    """The choice of what is measured in every trial in addition to its loss.

    They are scorers by name, the loss on the training rows, predictions, and constraints that are functions of the
    user.
    """

    metrics: tuple[str, ...] = ()
    training_score: bool = False
    predictions: bool = False
    constraints: "tuple[Constraint, ...]" = ()


class EvaluationData(Protocol):
    """The data of a search: rows, a table of known losses, a black box, or one that the calling program evaluates."""

    has_rows: bool = False

    @property
    def has_only_default_hyperparameters(self) -> bool:
        """True if the data is a loss table that has losses only of pipelines with default hyperparameters."""
        return False

    def bind_space(self, experiment: "Experiment") -> "tuple[Space, ObjectiveInfo]":
        """Return the space bound for this data, and the objective; raises SpaceError for its errors, and InputError."""

    def options_to_store(self, experiment: "Experiment", objective: "ObjectiveInfo") -> Mapping[str, str]:  # noqa: ARG002 - only files have some
        """Return the options with which the data was read, so that a store can describe how to read it again."""
        return {}

    def fidelity_grid(self, space: Space, objective: "ObjectiveInfo") -> FidelitySchedule | None:  # noqa: ARG002 - few objectives decide it
        """Return the first fidelity and the growth factor: of the data if it has any, else of the task or None."""
        return None if space.task is None else space.task.fidelity

    def make_executor(self, objective: "ObjectiveInfo", workers: WorkerSettings, *, forks: bool = False) -> "Executor":
        """Create the executor of the trials and return it when it is ready; raises as `make_executor` does."""
        assert isinstance(objective, Evaluator), "data whose objective is no `Evaluator` must override `make_executor`"
        return make_executor(objective, workers, forks=forks)


@renamed_attributes(
    asked="command_line_options",
    command_options="command_line_options",
    by="with_optimizer",
    prepared="prepare",
    on="prepare_for",
    prepared_for="prepare_for",
)
@dataclass(frozen=True, eq=False, kw_only=True)
class Experiment:
    """A run: an optimizer searches a space on data within a budget; all random draws derive from `seed`.

    Parameters
    ----------
    space, data
        What to search, and on which data.
    optimizer
        The optimizer with its options; None is the default one.
    budget
        The time and the number of trials.
    metric, validation
        How trials are scored. None means as in the task, otherwise as the data suggests. The metric is the name of a
        scorer, or a scorer.
    recorded
        Further measurements of every trial.
    test
        Test rows that no trial sees.
    workers
        The number and kind of workers, and the limits of a trial.
    initial
        Configurations to evaluate first.
    archive, norm
        An archive that suggests more initial configurations, and the norm of its distances.
    ensemble
        The number of votes of the ensemble that is fitted at the end; None for no ensemble.
    chosen
        Why the space was chosen, if the user did not give one.
    options
        The values of `RunOptions` by name, as given.
    resumed
        The store of a run that is continued; None for a new run.

    Notes
    -----
    Raises ValueError for a negative seed.
    """

    space: Space
    data: EvaluationData
    optimizer: NestedPlugin | None = None
    budget: Budget = UNLIMITED_BUDGET
    seed: int = 0
    metric: "str | Scorer | None" = None
    validation: Validation | None = None
    recorded: ExtraMeasurementSettings = ExtraMeasurementSettings()
    test: Any = None
    workers: WorkerSettings = ONE_WORKER
    initial: tuple[InitialItem, ...] | None = None
    archive: "Archive | None" = None
    norm: DistanceNorm = DistanceNorm.L1
    ensemble: int | None = None
    chosen: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    resumed: Path | None = None

    def __post_init__(self) -> None:
        """Check the seed."""
        if self.seed < 0:
            raise ValueError(f"`seed` takes a whole number of at least 0, not `{self.seed}`")

    @property
    def has_default_ensemble(self) -> bool:
        """True if the ensemble is the default of runs without a named space, so that a run may end without it."""
        return self.ensemble is not None and self.options.get("ensemble") is None

    @property
    def command_line_options(self) -> dict[str, tuple[str, ...]]:
        """The command-line options that reproduce the run, as stored in the header of a store."""
        given = self.space.surroundings
        effective = {
            "optimizer_options": () if self.optimizer is None else non_default_settings(self.optimizer.plugin),
            "allow": tuple(sorted(given.allowed)),
            "bind": given.bindings,
        }
        return to_command_line_options({**self.options, **effective}) | ({UNNAMED_SPACE: ()} if self.chosen else {})

    def with_optimizer(self, name: str | None, options: Mapping[str, object] | None = None) -> "Experiment":
        """Return the experiment with an optimizer (None: the default). Raises UnknownPluginError and OptionError."""
        usual = (
            default_optimizer(has_defaults_only=self.data.has_only_default_hyperparameters) if name is None else name
        )
        return replace(self, optimizer=OPTIMIZERS.create(usual, options or {}))

    def prepare(self) -> "PreparedExperiment":
        """Return the experiment prepared for its data; raises SpaceError if the space does not fit, and InputError."""
        if self.optimizer is None:
            return self.with_optimizer(None).prepare()
        bound = self.data.bind_space(self)
        if self.resumed is not None and self.resumed.is_file():
            bound = self._bound_as_stored(self.resumed, *bound)
        return self.prepare_for(*bound)

    def _bound_as_stored(self, path: Path, space: Space, objective: "ObjectiveInfo") -> "tuple[Space, ObjectiveInfo]":
        """Return the given space and objective, or those of spacelang 0.2 if they are what the stored run has.

        spacelang 0.2 dropped nothing from a space when it bound it to data. Any other difference between the space and
        the store is not resolved here; the check of the store reports it.
        """
        stored = stored_header(path)
        if stored is None or space_hash(space.checked) == stored.identity:
            return space, objective
        try:
            earlier = self.data.bind_space(replace(self, space=self.space.with_dropped_parts))
        except SpaceError:
            return space, objective
        return earlier if space_hash(earlier[0].checked) == stored.identity else (space, objective)

    def prepare_for(self, space: Space, objective: "ObjectiveInfo") -> "PreparedExperiment":
        """Return the experiment prepared for a given space and objective; its optimizer must be set."""
        assert self.optimizer is not None
        chosen = with_fidelity_options(self.optimizer, self.data.fidelity_grid(space, objective))
        return PreparedExperiment(replace(self, optimizer=chosen), space, objective, chosen)


@dataclass(frozen=True, eq=False)
class PreparedExperiment:
    """An experiment that is ready to run: the space bound for its data, the objective, and the optimizer for both."""

    experiment: Experiment
    space: Space
    objective: "ObjectiveInfo" = field(repr=False)
    optimizer: NestedPlugin

    @cached_property
    def search_coverage(self) -> "SearchCoverage":
        """The treatment of hyperparameters; raises InputError if the optimizer cannot search the space."""
        from spacelang.report.run_facts import make_search_coverage

        has_defaults_only = self.experiment.data.has_only_default_hyperparameters
        return make_search_coverage(self.optimizer.plugin, self.space.checked, has_defaults_only=has_defaults_only)

    @property
    def dropped_keys_note(self) -> str:
        """A note that names keys of the initial configurations that have no meaning for the data; empty without."""
        keys = keys_without_meaning(self.space, self.experiment.initial or ())
        return dropped_keys_sentence(keys) if keys else ""

    def initial_configurations(
        self, tell: "Callable[[ArchiveSuggestions], object]" = lambda _: None
    ) -> tuple[Configuration, ...] | None:
        """Return the initial configurations, first those given, then those of the archive, without duplicates.

        Returns None if neither initial configurations nor an archive were given.

        `tell` is called with the suggestions of the archive. Raises InitialConfigurationError and ArchiveError.
        """
        experiment, objective = self.experiment, self.objective
        lacks = objective.missing_reason if isinstance(objective, PartiallyDefinedObjective) else lambda _: ""
        given = (
            None
            if (initial := experiment.initial) is None
            else validate_initial_configurations(self.space, initial, lacks)
        )
        if experiment.archive is None:
            return given
        found = suggest_configurations(experiment.archive, self.space, objective, experiment.norm)
        tell(found)
        return tuple(dict.fromkeys((*(given or ()), *found.configurations)))

    def make_executor(self, *, forks: bool = False) -> "Executor":
        """Create the executor of the trials and return it when it is ready, to be closed; raises as `make_executor`."""
        return self.experiment.data.make_executor(self.objective, self.experiment.workers, forks=forks)

    def make_run_deadline(self, started: float) -> RunDeadline | None:
        """Return the deadline of a run for its search and final fits; None without a time limit, or without final fits.

        The caller closes it at the end. `started` is the reading of `perf_counter` when the run was started. Call this
        before `make_executor`: trials save their models from now on.
        """
        from spacelang.runtime.ensembles.construction import LIBRARY_SIZE

        experiment, objective = self.experiment, self.objective
        seconds = experiment.budget.answer_seconds
        if seconds is None or not isinstance(objective, ModelStoringObjective) or objective_names(objective):
            return None
        candidates = MAX_ATTEMPTS if experiment.ensemble is None else LIBRARY_SIZE
        learner_key = "" if experiment.ensemble is None else learner_key_of(objective)
        models = None
        with suppress(OSError):  # without a temporary folder no models are kept
            models = BestTrialModels(objective.training_size, candidates, learner_key=learner_key)
        objective.store_models_in(None if models is None else models.folder)
        return RunDeadline(
            seconds,
            started=started,
            clock=perf_counter,
            sizes=objective.work_sizes,
            candidates=candidates,
            votes=experiment.ensemble,
            models=models,
            learner_key=learner_key,
        )

    def make_run_header(self, terms: StartConditions) -> "RunHeader":
        """Return the header that identifies the run in a store, made of its settings and its starting conditions."""
        objective = self.objective
        names = [each.formula for each in objective_names(objective)]
        return make_run_header(
            self.space.checked,
            objective.facts,
            metric=objective.metric.formula,
            validation=objective.validation,
            bounds=objective.bounds,
            scale=objective.scale,
            training_size=objective.training_size,
            seed=self.experiment.seed,
            optimizer=self.optimizer.name,
            options=plugin_identity(self.optimizer.plugin),
            at_defaults=fields_at_default(self.optimizer.plugin),
            settings=identifying_settings(objective),
            terms=terms,
            meta_features=objective.meta_features if isinstance(objective, HasMetaFeatures) else None,
            data_options=self.experiment.data.options_to_store(self.experiment, objective),
            asked=self.experiment.command_line_options,
            equal_seeds=reproducibility_sentence(self.optimizer.plugin, names),
        )


def stored_header(path: Path) -> RunHeader | None:
    """Return the header of the run in a store; None for a missing, empty or invalid file, which is reported later."""
    from spacelang.runtime.storage.store import Store, StoreError, is_missing_or_empty

    try:
        if is_missing_or_empty(path):
            return None
        with Store.read(path) as run:
            return run.header
    except StoreError:
        return None


def check_rungs_available(prepared: PreparedExperiment) -> None:
    """Raise InputError if an optimizer will request fidelities that the objective does not have.

    The rungs are those of the grid of `b` and `eta`, or those that the method `rungs` of the optimizer returns. Other
    optimizers are not checked in advance, such as those that take the fidelities from the problem.
    """
    optimizer, objective = prepared.optimizer.plugin, prepared.objective
    if not isinstance(objective, FixedFidelitySetObjective) or getattr(optimizer, "takes_fidelities", False):
        return
    size, names = objective.training_size, {option.name for option in OPTIMIZERS.options(type(optimizer))}
    if hasattr(optimizer, "rungs"):
        objective.check_fidelities(optimizer.rungs(size))
    elif {"b", "eta"} <= names and getattr(optimizer, "rung_rule", "grid") == "grid":
        objective.check_fidelities(rungs(size, optimizer.b, optimizer.eta))


def experiment_fields_from_options(
    options: Mapping[str, Any], constraints: "tuple[Constraint, ...]" = ()
) -> dict[str, Any]:
    """Return the fields of `Experiment` that follow from the options of a run and the constraint functions alone.

    Raises InitialConfigurationError, ArchiveError, and ValueError for an invalid validation or norm.
    """
    given = {name: each.default for name, each in run_options_by_name(RunOptions).items()} | dict(options)
    validate, initial, archive = given["validate"], given["initial"], given["archive"]
    recorded = ExtraMeasurementSettings(
        tuple(given["metrics"]), given["training_score"], given["predictions"], constraints
    )
    return {name: given[name] for name in ("seed", "metric", "test", "ensemble")} | {
        "validation": parse_validation(validate) if isinstance(validate, str) else None,
        "recorded": recorded,
        "initial": None if initial is None else read_initial_configurations(initial),
        "archive": None if archive is None else open_archive(archive),
        "norm": DistanceNorm(given["archive_norm"]),
        "options": {name: given[name] for name in run_options_by_name(RunOptions)},
        "resumed": Path(given["store"]) if given["resume"] and given["store"] is not None else None,
    }


def run_time_limit(space: Space, given: str | float | None) -> float | None:
    """Return the seconds of a run: the given ones, else the task's. Raises ValueError for an invalid duration."""
    if given is None:
        return None if space.task is None else space.task.limits.run_seconds
    return parse_duration(given) if isinstance(given, str) else given


def make_budget(
    space: Space, given: str | float | None, trials: int | None, search_time: str | float | None = None
) -> Budget:
    """Return the budget of a run: the time until its answer, the number of trials, and the time of the search alone.

    The time is the `given` one, else that of the task, else 60 seconds if nothing else limits the run. Raises
    ValueError for an empty budget and an invalid duration.
    """
    seconds = run_time_limit(space, given)
    of_search = parse_duration(search_time) if isinstance(search_time, str) else search_time
    is_unlimited = seconds is None and of_search is None and trials is None
    return Budget(of_search, trials, 60.0 if is_unlimited else seconds)


def with_fidelity_options(optimizer: NestedPlugin, fidelity: FidelitySchedule | None) -> NestedPlugin:
    """Return the optimizer with the options `b` and `eta` set from a fidelity.

    Options that were given explicitly, and optimizers without these options, are unchanged. Nested plug-ins are treated
    alike.
    """
    if fidelity is None:
        return optimizer
    parameters: dict[str, object] = {"b": fidelity.first, "eta": fidelity.factor}
    plugin = optimizer.plugin
    own = {option.name: getattr(plugin, option.name) for option in OPTIMIZERS.options(type(plugin))}
    inner = {
        name: with_fidelity_options(value, fidelity) for name, value in own.items() if isinstance(value, NestedPlugin)
    }
    grown = {name: parameters[name] for name in parameters.keys() & own.keys() - optimizer.given}
    return replace(optimizer, plugin=replace(plugin, **inner, **grown))
