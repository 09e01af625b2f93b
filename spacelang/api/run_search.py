"""`search`: run an optimizer on a space, with data or with an objective."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from spacelang.api.argument_checks import check_argument_types, to_int, to_int_or_none
from spacelang.api.execution import check_stored_predictions, trial_limits, unenforced_limits_warning
from spacelang.api.experiment import EvaluationData, Experiment, ExtraMeasurements, PreparedExperiment, run_time_limit
from spacelang.api.initial_configurations import Initial, open_archive, read_initial
from spacelang.api.result import Result, check_success, positive_class_of
from spacelang.api.search_data import AnyObjective, BlackBoxData, TabularData, choose_default_space, default_space_note
from spacelang.api.space import Space, open_space
from spacelang.errors import remedy_in_python
from spacelang.runtime.archives import Norm
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors import WorkerSettings

if TYPE_CHECKING:
    from spacelang.runtime.archives.archive import Archive, ArchiveSuggestions
    from spacelang.runtime.data.read_options import ReadOptions
    from spacelang.runtime.listeners import Listener
    from spacelang.runtime.pipelines import PipelineInput
    from spacelang.runtime.scoring.constraints import Constraint


def search(  # noqa: PLR0913 - each is one setting of a run
    space: Space | str | PathLike[str] | None = None,
    features: Any = None,
    target: Any = None,
    *,
    objective: AnyObjective | None = None,
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
    sep: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    drop_columns: Iterable[str] = (),
    metrics: Iterable[str] = (),
    training_score: bool = False,
    predictions: bool = False,
    constraints: "Iterable[Constraint] | Mapping[str, float]" = (),
    initial: Initial | None = None,
    archive: "str | PathLike[str] | Archive | None" = None,
    archive_norm: str = Norm.L1,
    ensemble: int | None = None,
    progress: bool | None = None,
    listener: "Listener | None" = None,
) -> Result:
    """Search a space on data, or for a black-box objective, and return the result.

    >>> import spacelang as sl
    >>> from sklearn.datasets import load_iris
    >>> features, labels = load_iris(return_X_y=True)
    >>> space = sl.parse("stage estimator = GaussianNB | KNeighborsClassifier { n_neighbors : int[1, 9] = 5 }")
    >>> result = sl.search(space, features, labels, trials=3, workers=0)
    >>> len(result.trials), bool(result.loss < 0.1), result.best_pipeline.predict(features[:2]).tolist()
    (3, True, [0, 0])

    Parameters
    ----------
    space
        A space, or anything that `load` accepts. Without one, it is `tabular_classification` or `tabular_regression`,
        chosen by the labels (see `api.default_space`). If `allow` names xgboost or lightgbm, their learners are added.
        The result says which space was used, and why.
    features, target
        n rows of features (a DataFrame, an array of shape (n, d) or a sparse matrix) and n labels.
    objective
        A function to minimise instead of data, called with a configuration (a dictionary). It returns the loss,
        or a dictionary with `loss`, `cost` (seconds, instead of the measured time) and `constraints` (the
        values of all bounded quantities by name). If it raises, or returns nothing or a number that is not
        finite, the trial fails. It may also be `"artificial:SEED"`, a formula over any space for experiments
        (ADMM's appendix 15), or an `Objective` of your own (see `spacelang.contracts`).
    fidelities
        For a function: increasing positive integers such as `(1, 3, 9)`, one of which is passed as a second
        argument. Multi-fidelity optimizers start with the smallest.
    scale
        For a function: a loss beyond which differences no longer matter (see `ask_and_tell`).
    optimizer, optimizer_options
        The name of an optimizer and its options. By default `mosaic` for a space with hyperparameters
        (`hyperband` for an objective), else `blds`.
    metric
        The name of a scikit-learn scorer; by default as in the task of the space.
    validate
        `"holdout(0.3)"` or `"cv(5)"`; by default as in the task.
    time, trials
        The limits of the search: `"60s"` or seconds, and the number of trials. Give at least one, unless the
        task has a `limit run` or the space can be exhausted.
    seed
        The seed of all random draws.
    allow
        The packages that the space may use, as for `load`.
    bind
        Numbers for symbols of the space. Other symbols are bound by the data (see `api.search_data`), unless the space
        binds them.
    store
        A file in which every trial is saved as it finishes.
    resume
        Continue the run in `store`; its trials are replayed.
    workers
        The number of trials that run at the same time, each in its own process; 0 means in the current process.
    executor
        `"dask"`, or the address of a dask scheduler, to run the workers there.
    trial_limit
        The limits of one trial, such as `"300s 4GB"`; by default as in the task.
    isolate
        Give every trial a process of its own, so that trials cannot affect each other. They then share no
        fitted steps.
    test
        Test rows that no trial sees: a share such as 0.2, drawn with the seed and including all classes, or
        other rows as a file or as `(X, y)`. At the end the best pipeline, fitted on all other rows, is scored
        on them once: `Result.test`.
    sep, encoding, decimal, drop_columns
        How to read a file of test rows, and the columns to drop (see `runtime.data.read_options`).
    metrics
        Scorers that are recorded in addition to the loss.
    training_score, predictions
        Record the loss on the training rows, and the predictions for the held-out rows.
    constraints
        With data: `Constraint` objects, which are functions of a fitted pipeline with limits, in addition to
        the bounds of the task. With an objective: limits by name.
    initial
        Configurations to evaluate first: `"default"`, the path of a JSON file (configurations, or the output of
        `spacelang run --json`), a mapping or several. A resumed run keeps its own initial configurations.
    archive, archive_norm
        An archive of earlier runs (see `spacelang archive`), which suggests up to 25 more initial
        configurations. They are the best ones on the data sets whose meta-features are nearest to those of the
        training rows, by the norm `l1` or `l2`. Data sets that may be the same as this one are left out. A
        warning reports configurations that are not in the space.
    ensemble
        The number of votes of an ensemble of the best pipelines, selected by their predictions and fitted at
        the end: see `Result.ensemble`.
    progress
        By default a terminal or a notebook shows a bar with the best loss and the time left. True prints lines
        elsewhere, too; False prints nothing.
    listener
        A listener of your own, which is notified of every trial instead of the progress bar.

    Notes
    -----
    Optimizers that select pipelines (`blds`, `lds`, `mlds`, `cmab`, `daub`) keep hyperparameters at their defaults.
    With the option `hyperparameters="sample"` they draw them once for each pipeline. `Result.hyperparameters` and
    `Result.at_defaults` say what was not searched.

    With an objective there is no `best_pipeline`, and a space that depends on the size of the data must be bound.

    Raises NoSuccessError, which holds the result, if no trial succeeded. Raises SpaceError (InitialError for
    `initial`), UnknownPluginError and OptionError. Raises TypeError for an argument of a wrong type, and ValueError for
    an invalid validation, time, limit, norm or number of votes. Raises the runtime's InputError for problems with data,
    metrics, stores, workers and archives.
    """
    from spacelang.runtime.data.read_options import make_read_options
    from spacelang.runtime.evaluation.splits import parse_validation

    check_argument_types(optimizer=optimizer, optimizer_options=optimizer_options, metric=metric, validate=validate)
    check_argument_types(time=time, trials=trials, seed=seed, allow=allow, bind=bind, store=store, workers=workers)
    check_argument_types(executor=executor, trial_limit=trial_limit, metrics=metrics, constraints=constraints)
    check_argument_types(ensemble=ensemble, scale=scale, fidelities=fidelities, space="" if space is None else space)
    trials, seed, workers, ensemble = to_int_or_none(trials), to_int(seed), to_int(workers), to_int_or_none(ensemble)
    if ensemble is not None and ensemble < 1:
        raise ValueError(f"`ensemble` is {ensemble}: give at least 1 vote")
    if ensemble is not None and resume:
        check_stored_predictions(store)
    kept = ExtraMeasurements(tuple(metrics), training_score, predictions)
    by_metric = {"metric": metric, "validate": validate, "test": test, "ensemble": ensemble, "archive": archive}
    if objective is None:
        kept = replace(kept, constraints=_check_constraints(constraints))
        _refuse_arguments({"fidelities": fidelities, "scale": scale}, "data")
        data: EvaluationData = _rows(features, target, make_read_options(sep, encoding, decimal, drop_columns))
    else:
        by_metric |= {"features": features, "target": target}
        asked = {each.name: getattr(kept, each.name) for each in fields(kept)}
        _refuse_arguments({**by_metric, **asked}, "an objective")
        sizes = None if fidelities is None else tuple(fidelities)
        data = BlackBoxData(objective, sizes, _limits_by_name(constraints), scale)
    loaded, chosen = _space_and_reason(space, data, allow, bind)
    experiment = Experiment(
        space=loaded,
        data=data,
        budget=Budget(run_time_limit(loaded, time), trials),
        seed=seed,
        metric=metric,
        validation=None if validate is None else parse_validation(validate),
        recorded=kept,
        test=test,
        workers=WorkerSettings(workers, executor, trial_limits(loaded, trial_limit), isolate),
        initial=None if initial is None else read_initial(initial),
        archive=None if archive is None else open_archive(archive),
        norm=Norm(archive_norm),
        ensemble=ensemble,
        chosen=chosen,
    )
    prepared = experiment.with_optimizer(optimizer, optimizer_options).prepare()
    first = prepared.initial_configurations(_warn_of_nonmembers)
    if (ignored := unenforced_limits_warning(experiment.workers)) is not None:
        warnings.warn(ignored, stacklevel=2)
    with closing(prepared.make_executor()) as crew:
        with _progress_listener(progress, listener, _notes_before_search(chosen, prepared)) as told:
            found = prepared.run(crew, initial=first, store=store, resume=resume, listener=told)
        found = replace(found, form=_input_kind(features, prepared))
        return check_success(found).with_final_fit(crew).with_ensemble(crew)


@contextmanager
def _progress_listener(
    progress: bool | None, listener: "Listener | None", notes: Iterable[str]
) -> "Iterator[Listener | None]":
    """Yield the user's listener, otherwise a progress display, below the notes, if somebody can see it."""
    from rich.console import Console

    from spacelang.report.progress import can_show_bars
    from spacelang.report.progress import progress_listener as shown

    console = Console(stderr=True)
    if listener is not None or progress is False or not (progress or can_show_bars(console)):
        yield listener
        return
    for note in notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    with shown(console) as bar:
        yield bar


def _notes_before_search(chosen: str, prepared: PreparedExperiment) -> "Iterator[str]":
    """Yield notes to print before a search: on the space, the positive class, and what is not searched."""
    if chosen:
        yield default_space_note(chosen)
    if (positive := positive_class_of(prepared.objective)) is not None:
        yield positive.description
    searched = prepared.search_coverage
    if searched.sentence:
        remedy = remedy_in_python(searched.remedy, "optimizer_options")
        yield f"{searched.sentence}: {remedy}" if remedy else searched.sentence
    yield from searched.lost


def _space_and_reason(
    space: Space | str | PathLike[str] | None,
    data: EvaluationData,
    allow: Iterable[str],
    bind: Mapping[str, int] | None,
) -> tuple[Space, str]:
    if space is not None:
        return open_space(space, allow, bind), ""
    if not isinstance(data, TabularData):
        message = "give a space: without data, none can be chosen by default"
        raise ValueError(message)  # noqa: TRY004 - no argument has a wrong type
    usual = choose_default_space(data.table, allow, bind)
    return usual.space, usual.reason


def _rows(features: Any, target: Any, read: "ReadOptions") -> TabularData:
    from spacelang.runtime.data.loading import make_table

    if features is None or target is None:
        raise ValueError("nothing to search on: give features and labels, or an `objective`")
    return TabularData(replace(make_table(features, target), reading=read))


def _input_kind(features: Any, prepared: PreparedExperiment) -> "PipelineInput | None":
    """Return the kind of input that pipelines take, which is that of the features; None without data."""
    if not prepared.experiment.data.has_rows:
        return None
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.pipelines.input_conversion import pipeline_input_of

    objective = prepared.objective
    assert isinstance(objective, DataObjective)
    return pipeline_input_of(features, objective.dataset.features, objective.preparation)


def _warn_of_nonmembers(found: "ArchiveSuggestions") -> None:
    if found.non_members:
        warnings.warn(found.non_member_message, stacklevel=4)


def _refuse_arguments(given: Mapping[str, object], what: str) -> None:
    """Raise ValueError if an argument is given that cannot be combined with `what`."""
    for name, value in given.items():
        if not (value is None or value is False or (isinstance(value, tuple) and not value)):
            raise ValueError(f"`{name}` cannot be used with {what}: leave it out")


def _check_constraints(given: "Iterable[Constraint] | Mapping[str, float]") -> "tuple[Constraint, ...]":
    if isinstance(given, Mapping):
        message = "limits by name need an `objective`; with data, give `constraints` as a list of `sl.Constraint`"
        raise ValueError(message)  # noqa: TRY004 - like other arguments that do not fit
    from spacelang.runtime.scoring.constraints import Constraint

    found = tuple(given)
    for each in found:
        if not isinstance(each, Constraint):
            message = f"`{each!r}` is not a constraint of pipelines: give `sl.Constraint(name, function, limit)`"
            raise ValueError(message)  # noqa: TRY004 - as above
    return found


def _limits_by_name(constraints: "Iterable[Constraint] | Mapping[str, float]") -> Mapping[str, float]:
    if isinstance(constraints, Mapping):
        return constraints
    if tuple(constraints):
        raise ValueError('with an objective, give constraints as limits by name: `constraints={"latency": 0.1}`')
    return {}
