"""A search of a space on data: which optimizer, on what, how long, and what was found."""

import time as _time
import warnings
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spacelang.api.archiving import begun_by, open_archive, suggested
from spacelang.api.boxing import Box, box_over, checked_fidelities, fidelities_of, grid_of
from spacelang.api.executing import make_executor, trial_limits, unenforced
from spacelang.api.initial import Initial, initial_configurations
from spacelang.api.keeping import begun_with, check_predictions, check_rungs, keeping, terms_of
from spacelang.api.result import Crew, Result, succeeded
from spacelang.api.space import Space, load_for_data
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import NO_TERMS, Problem, Terms
from spacelang.ir.task import CrossValidation, Fidelity, Goal, Task, Validation
from spacelang.optimizers import OPTIMIZERS, default_optimizer
from spacelang.optimizers._opening import begun
from spacelang.plugins import Part
from spacelang.runtime.archives import Norm
from spacelang.runtime.stepping import Steps, to_the_end

if TYPE_CHECKING:
    from spacelang.runtime.archives.archive import Archive
    from spacelang.runtime.ensembles.assembling import BestPredictions
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.history import Clock, Outcome
    from spacelang.runtime.judging.constraints import Constraint
    from spacelang.runtime.loop import Listener
    from spacelang.runtime.objective import Aim, Objective
    from spacelang.runtime.pipelines.forms import Form
    from spacelang.runtime.storing.store import Store


def search(  # noqa: PLR0913 - each says one thing about a run
    space: Space | str | PathLike[str],
    features: Any = None,
    target: Any = None,
    *,
    objective: Box | None = None,
    fidelities: Iterable[int] | None = None,
    scale: float | None = None,
    optimizer: str | None = None,
    optimizer_options: Mapping[str, Any] | None = None,
    metric: str | None = None,
    validate: str | None = None,
    time: str | float | None = None,
    trials: int | None = None,
    seed: int = 0,
    allow: Iterable[str] = (),
    bind: Mapping[str, int] | None = None,
    store: str | PathLike[str] | None = None,
    resume: bool = False,
    workers: int = 1,
    executor: str | None = None,
    trial_limit: str | None = None,
    isolate: bool = False,
    test: "float | str | PathLike[str] | tuple[Any, Any] | None" = None,
    metrics: Iterable[str] = (),
    training_score: bool = False,
    predictions: bool = False,
    constraints: "Iterable[Constraint] | Mapping[str, float]" = (),
    initial: Initial | None = None,
    archive: "str | PathLike[str] | Archive | None" = None,
    archive_norm: str = Norm.L1,
    ensemble: int | None = None,
    listener: "Listener | None" = None,
) -> Result:
    """Search a space on data: n rows of features (a DataFrame or an n x d array) and n labels; or for an objective.

    An `objective` is a function, which is called with a configuration, a dictionary, and gives its loss; or a
    dictionary of `loss`, `cost` (in seconds, instead of those that it takes) and `constraints` (the value of all that
    is bounded, by its name). Where it raises, or gives nothing or no finite number, the trial fails. With `fidelities`,
    as in `(1, 3, 9)`, it is called with one of them, too, and optimizers that train on few rows first begin with the
    least; `scale` is a loss that is as bad as losses need be told apart (see `ask_and_tell`). `constraints` are limits
    by name then. The objective `artificial:SEED` is a formula over any space, for trying out (ADMM's appendix 15), and
    an `Objective` of your own (see `spacelang.contracts`) says all of this by itself. None has data: there is no
    `best_pipeline`, and a space that needs to know how large data is has to be bound.

    `metric` names a scikit-learn scorer, `validate` is `holdout(0.3)` or `cv(5)`. What is not given is as the task of
    the space says. `allow` is as for `load`. The symbols of the space are bound by the data, except those that `bind`
    or the space binds already (see `bound_by`). At least one of `time` (`"60s"` or seconds) and `trials`, or a
    `limit run` of the task, limits the search unless the space is exhausted first. With `store` every trial is kept in
    that file as it ends; with `resume` the run that it holds goes on, its trials replayed.

    The optimizer is `mosaic` where the space has hyperparameters (`hyperband` for an `objective`), and `blds` else,
    unless it is named. Those that select pipelines (`blds`, `lds`, `mlds`, `cmab`, `daub`) keep hyperparameters at
    their defaults, or draw them once for each pipeline with the option `hyperparameters="sample"`:
    `Result.hyperparameters` and `Result.at_defaults` say what was not searched.

    Trials are evaluated by `workers` processes, one each at a time, or by those of `executor` (`dask`, or the address
    of a scheduler); with 0 workers by this process. `trial_limit` is what each may take (`300s 4GB`), else as the task
    says. With `isolate` each has a process of its own, so that none can touch another, and none shares its fitted
    steps. `test` are rows that no trial sees: a share of them (0.2), drawn by the seed with all classes, or other ones,
    a file or `(X, y)`. The best pipeline, fitted on all other rows, is scored on them once, at the end: `Result.test`.
    `metrics` are scorers that are recorded beside the loss, `training_score` the loss on the training rows,
    `predictions` what was predicted for the held-out rows. `constraints` are functions of a fitted pipeline with their
    limits, beside what the task bounds. With `ensemble` the best pipelines vote as well, with so many votes: who, and
    how often, is chosen by these predictions; they are fitted at the end. See `Result.ensemble`.

    `initial` are configurations to start from, which are evaluated first: `"default"`, the path of a JSON file (one
    configuration or several, or what `spacelang run --json` printed), a mapping, or several. A run that is resumed goes
    on with those that it began with, and takes no others. An `archive` of earlier runs (`spacelang archive`) gives up
    to 25 more: those that were best on the data sets whose meta-features are nearest to those of the training rows, by
    `archive_norm`, `l1` or `l2`. Data that may be the same is left out; what is no member here is told in a warning.

    Raises NoSuccessError, which holds the result, where no trial succeeded; SpaceError (InitialError for `initial`),
    UnknownPluginError, OptionError, ValueError for a text that is no validation, time, limit or norm and for an
    ensemble of no votes, and the runtime's InputError for data, metrics, stores, workers and archives.
    """
    from spacelang.report.searched import searched_by
    from spacelang.runtime.ensembles.assembling import BestPredictions

    if ensemble is not None:
        _check_votes(ensemble, store if resume else None)
    loaded = _bound(space, bind) if isinstance(space, Space) else load_for_data(space, allow=allow, bind=bind)
    name = default_optimizer(loaded.checked, has_data=objective is None) if optimizer is None else optimizer
    options = optimizer_options or {}
    chosen = configure_optimizer(name, options)
    limits = trial_limits(loaded, trial_limit)
    aim: Objective
    fidelities = None if fidelities is None else tuple(fidelities)
    if objective is None:
        if isinstance(constraints, Mapping):
            raise ValueError("`constraints` by name are those of an `objective`: on data give `Constraint`s")
        _refuse({"fidelities": fidelities, "scale": scale}, "data")
        chosen = with_fidelity(chosen, loaded, options)
        training_score = training_score or needs_training_loss(chosen)
        recorded = Recorded(tuple(metrics), training_score, predictions or ensemble is not None, tuple(constraints))
        loaded, aim, form = _on_data(loaded, (features, target), (metric, validate), seed, recorded, test)
    else:
        given = {"features": features, "target": target, "metric": metric, "validate": validate, "test": test}
        asked = {"metrics": tuple(metrics), "training_score": training_score, "predictions": predictions}
        asked["archive"] = archive
        _refuse({**given, **asked, "ensemble": ensemble}, "an objective")
        limited = _limits_by_name(constraints)
        loaded, aim = box_over(loaded, objective, fidelities=fidelities, constraints=limited, scale=scale)
        chosen, form = with_fidelity(chosen, loaded, options, fidelities or fidelities_of(aim)), None
    first = None if initial is None else initial_configurations(loaded, initial)
    if archive is not None:
        first = _with_suggested(first, archive, archive_norm, loaded, aim)
    if workers == 0 and executor is None and (ignored := unenforced(limits)) is not None:
        warnings.warn(ignored, stacklevel=2)
    seconds = loaded.task.limits.run_seconds if time is None and loaded.task is not None else time
    facts = None if form is None else Crew(workers, executor, limits, form)
    with closing(make_executor(aim, workers=workers, executor=executor, limits=limits, isolate=isolate)) as crew:
        terms = terms_of(seconds, trials, len(crew.free), first)
        best = BestPredictions(aim.training_size, terms)
        with keeping(store, loaded, (name, chosen), aim, seed=seed, resume=resume, terms=terms) as journal:
            # Where nothing is kept and only an ensemble needs predictions, those of its candidates are enough.
            kept = best if journal is None and not predictions else journal
            outcome = run(
                loaded,
                chosen,
                aim,
                crew,
                time=seconds,
                trials=trials,
                seed=seed,
                listener=listener,
                journal=kept,
                terms=terms,
            )
        searched = searched_by(chosen, loaded.checked, initial=begun_with(terms, journal))
        place = None if store is None else Path(store)
        found = Result(outcome, aim, place, facts, searched=searched, kept=best.predictions, votes=ensemble)
        return succeeded(found).tested_by(crew).assembled_by(crew)


def _on_data(
    space: Space,
    data: tuple[Any, Any],
    judged: tuple[str | None, str | None],
    seed: int,
    recorded: "Recorded",
    test: Any,
) -> "tuple[Space, DataObjective, Form]":
    """The space for some data, the objective that this is, and what its pipelines shall take.

    It is judged by a metric on a split, as they are written. Raises ValueError for what is no split.
    """
    from spacelang.runtime.data.loading import make_table
    from spacelang.runtime.evaluation.split import parse_validation
    from spacelang.runtime.pipelines.taking import form_of

    if data[0] is None or data[1] is None:
        raise ValueError("there is nothing to search on: give features and labels, or an `objective`")
    metric, validate = judged
    validation = None if validate is None else parse_validation(validate)
    objective = make_objective(
        space,
        make_table(*data),
        metric=metric,
        validation=validation,
        seed=seed,
        recorded=recorded,
        test=test,
    )
    space, objective = bound_by(objective, space)
    return space, objective, form_of(data[0], objective.dataset.features, objective.preparation)


def _check_votes(ensemble: int, resumed: "str | PathLike[str] | None") -> None:
    """Raise ValueError for an ensemble of no votes, and InputError for a run that is resumed without predictions."""
    if ensemble < 1:
        raise ValueError(f"an ensemble of {ensemble} votes predicts nothing")
    if resumed is not None:
        check_predictions(resumed)


def _with_suggested(
    initial: tuple[Configuration, ...] | None,
    archive: "str | PathLike[str] | Archive",
    norm: str,
    space: Space,
    objective: "Objective",
) -> tuple[Configuration, ...]:
    """What a search starts from, with what an archive suggests behind it; warns of what is no member of the space."""
    from spacelang.runtime.evaluation.objective import DataObjective

    assert isinstance(objective, DataObjective)
    found = suggested(open_archive(archive), space, objective, norm)
    if found.strangers:
        warnings.warn(found.of_strangers, stacklevel=3)
    return begun_by(initial, found)


def _refuse(given: Mapping[str, object], what: str) -> None:
    """Raise ValueError for what is given and cannot be had beside something else."""
    for name, value in given.items():
        if not (value is None or value is False or (isinstance(value, tuple) and not value)):
            raise ValueError(f"`{name}` has no meaning where {what} is searched on: leave it out")


def _limits_by_name(constraints: "Iterable[Constraint] | Mapping[str, float]") -> Mapping[str, float]:
    if isinstance(constraints, Mapping):
        return constraints
    if tuple(constraints):
        raise ValueError('the constraints of an objective are limits by name: `constraints={"latency": 0.1}`')
    return {}


def _bound(space: Space, bind: Mapping[str, int] | None) -> Space:
    return space.bind(**bind) if bind else space


def configure_optimizer(name: str, options: Mapping[str, Any] | None = None) -> Any:
    """The optimizer of a name with its options; raises UnknownPluginError and OptionError."""
    return OPTIMIZERS.configure(OPTIMIZERS.load(name), {key: str(value) for key, value in (options or {}).items()})


def with_fidelity(
    optimizer: Any, space: Space, given: Iterable[str] = (), fidelities: Iterable[int] | None = None
) -> Any:
    """The optimizer with `b` and `eta` as `fidelities` or the task say, where it has them and they are not `given`.

    So do its parts.
    """
    said = None if space.task is None else space.task.fidelity
    fidelity = said if fidelities is None else grid_of(checked_fidelities(fidelities))
    return optimizer if fidelity is None else _growing(optimizer, fidelity, given)


def _growing(optimizer: Any, fidelity: Fidelity, given: Iterable[str]) -> Any:
    told = {"b": fidelity.first, "eta": fidelity.factor}
    values = {option.name: getattr(optimizer, option.name) for option in OPTIMIZERS.options(type(optimizer))}
    parts = {
        name: replace(part, plugin=_growing(part.plugin, fidelity, part.given))
        for name, part in values.items()
        if isinstance(part, Part)
    }
    return replace(optimizer, **parts, **{name: told[name] for name in told.keys() & values.keys() - set(given)})


def needs_training_loss(optimizer: Any) -> bool:
    """Whether an optimizer reckons with the loss on the training rows, which has to be recorded then."""
    return bool(getattr(optimizer, "needs_training_loss", False))


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is asked of every trial beside its loss.

    Scorers by name, the loss on the training rows, predictions, and what the user's own functions bound.
    """

    metrics: tuple[str, ...] = ()
    training_score: bool = False
    predictions: bool = False
    constraints: "tuple[Constraint, ...]" = ()


NOTHING_MORE: Final = Recorded()


def make_objective(
    space: Space,
    table: Any,
    *,
    metric: str | None,
    seed: int,
    validation: Validation | None = None,
    recorded: Recorded = NOTHING_MORE,
    test: Any = None,
) -> "DataObjective":
    """What a search over the space minimises on a table of data; raises the runtime's InputError.

    Rows for testing (`read_test`), some of the table's or others, are set apart before anything else. A metric and a
    validation that are given come before those of the task, and so do the splits that the table comes with; without any
    they are chosen by the data.
    """
    from spacelang.runtime.data.labels import check_labels
    from spacelang.runtime.evaluation.folds import default_validation
    from spacelang.runtime.evaluation.objective import DataObjective, Settings
    from spacelang.runtime.evaluation.testing import made_alike, read_test, set_apart
    from spacelang.runtime.pipelines.library import check_buildable, task_kind

    check_buildable(space.checked.root)
    kind = task_kind(space.checked.root)
    task = space.task or Task(kind)
    table, others = set_apart(table, read_test(test, str(table.target.name)), kind, seed)
    goal = task.goal if metric is None else Goal("maximize", metric)
    said = validation or table.validation or task.validation
    dataset = check_labels(table, kind, folds=said.folds if isinstance(said, CrossValidation) else 2)
    chosen = said or default_validation(dataset)
    beside = {each.name: getattr(recorded, each.name) for each in fields(recorded)}
    tested = None if others is None else made_alike(others, table, dataset)
    return DataObjective(space.checked, dataset, Settings(goal, chosen, task.bounds, seed, **beside), tested=tested)


def bound_by(objective: "DataObjective", space: Space) -> tuple[Space, "DataObjective"]:
    """The space for the data of an objective, and the objective over it.

    `n_samples` is the number of rows that a trial at full fidelity trains on, `n_features` the number of columns that
    its pipeline is given, `n_classes` the number of classes. What is bound already stays. Raises SpaceError where the
    space has errors for this data.
    """
    unbound = [name for name, number in space.symbols.items() if number is None]
    if not unbound:
        return space, objective
    bound = space.bind(**{name: objective.symbols[name] for name in unbound if name in objective.symbols})
    return bound, objective.over(bound.checked)


def steps(  # noqa: PLR0913 - each says one thing about a run
    space: Space,
    optimizer: Any,
    objective: "Aim",
    executor: "Executor",
    *,
    time: str | float | None,
    trials: int | None,
    seed: int,
    listener: "Listener | None" = None,
    journal: "Store | BestPredictions | None" = None,
    terms: Terms = NO_TERMS,
    clock: "Clock" = _time.perf_counter,
) -> "Steps[Outcome]":
    """Run a configured optimizer, its trials on an executor, on the terms of the journal where there is one.

    It stops where the executor leaves it to the caller to say what comes of trials: `run` is the same for all others.
    Raises ValueError for a budget that allows nothing, and InputError as `keeping` does where nothing is kept.
    """
    from numpy.random import default_rng

    from spacelang.runtime.budget import Budget, parse_duration
    from spacelang.runtime.loop import steps as driven

    check_rungs(optimizer, objective)
    seconds = parse_duration(time) if isinstance(time, str) else time
    told = terms if journal is None else journal.terms
    rng = default_rng(seed)
    size, remarks = objective.training_size, dict[str, None]()
    problem = Problem(space.checked, size, rng, told.initial or (), told.budget, objective.bounds, remarks.setdefault)
    return driven(
        begun(optimizer, problem),
        executor,
        Budget(seconds, trials),
        clock=clock,
        training_size=objective.training_size,
        listener=listener,
        journal=journal,
        route=objective.route,
        scale=objective.scale,
        seed=seed,
        remarks=remarks,
    )


run = to_the_end(steps)
