"""A search of a space on data: which optimizer, on what, how long, and what was found."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from spacelang.api.archiving import open_archive
from spacelang.api.boxing import AnyObjective, Boxed
from spacelang.api.executing import trial_limits, unenforced
from spacelang.api.experiment import Data, Experiment, Prepared, Recorded, seconds_of
from spacelang.api.initial import Initial, read_initial
from spacelang.api.keeping import check_predictions
from spacelang.api.kinds import must_be_of_kind, whole, whole_or_none
from spacelang.api.result import Result, positive_class_of, succeeded
from spacelang.api.rows import Rows
from spacelang.api.space import Space, opened
from spacelang.api.usual import told_of, usual_space
from spacelang.carried import in_python
from spacelang.runtime.archives import Norm
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors import Workers

if TYPE_CHECKING:
    from spacelang.ir.task import Validation
    from spacelang.runtime.archives.archive import Archive
    from spacelang.runtime.archives.choosing import Suggested
    from spacelang.runtime.data.reading import Reading
    from spacelang.runtime.judging.constraints import Constraint
    from spacelang.runtime.listening import Listener
    from spacelang.runtime.pipelines.inputs import PipelineInput


def search(  # noqa: PLR0913 - each says one thing about a run
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
    """Search a space on data: n rows of features (a DataFrame or an n x d array) and n labels; or for an objective.

    Without a space it is `tabular_classification` or `tabular_regression`, as the labels are (see `api.usual`), with
    learners of xgboost and lightgbm beside their own where `allow` names these; the result says which, and why.

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
    or the space binds already (see `api.rows`). At least one of `time` (`"60s"` or seconds) and `trials`, or a
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
    Such a file is read by `sep`, `encoding` and `decimal`, `drop_columns` left out (see `runtime.data.reading`).
    `metrics` are scorers that are recorded beside the loss, `training_score` the loss on the training rows,
    `predictions` what was predicted for the held-out rows. `constraints` are functions of a fitted pipeline with their
    limits, beside what the task bounds. With `ensemble` the best pipelines vote as well, with so many votes: who, and
    how often, is chosen by these predictions; they are fitted at the end. See `Result.ensemble`.

    `initial` are configurations to start from, which are evaluated first: `"default"`, the path of a JSON file (one
    configuration or several, or what `spacelang run --json` printed), a mapping, or several. A run that is resumed goes
    on with those that it began with, and takes no others. An `archive` of earlier runs (`spacelang archive`) gives up
    to 25 more: those that were best on the data sets whose meta-features are nearest to those of the training rows, by
    `archive_norm`, `l1` or `l2`. Data that may be the same is left out; what is no member here is told in a warning.

    While it goes on, a terminal or a notebook shows a bar with the best loss and the time left. With `progress` lines
    are printed elsewhere, too, with False nothing ever is; a `listener` of your own is told of every trial instead.

    >>> import spacelang as sl
    >>> from sklearn.datasets import load_iris
    >>> features, labels = load_iris(return_X_y=True)
    >>> space = sl.parse("stage estimator = GaussianNB | KNeighborsClassifier { n_neighbors : int[1, 9] = 5 }")
    >>> result = sl.search(space, features, labels, trials=3, workers=0)
    >>> len(result.trials), bool(result.loss < 0.1), result.best_pipeline.predict(features[:2]).tolist()
    (3, True, [0, 0])

    Raises NoSuccessError, which holds the result, where no trial succeeded; SpaceError (InitialError for `initial`),
    UnknownPluginError, OptionError, TypeError for an option of another kind than it takes, ValueError for a text that
    is no validation, time, limit or norm and for an ensemble of no votes, and the runtime's InputError for data,
    metrics, stores, workers and archives.
    """
    from spacelang.runtime.data.reading import reading

    must_be_of_kind(optimizer=optimizer, optimizer_options=optimizer_options, metric=metric, validate=validate)
    must_be_of_kind(time=time, trials=trials, seed=seed, allow=allow, bind=bind, store=store, workers=workers)
    must_be_of_kind(executor=executor, trial_limit=trial_limit, metrics=metrics, constraints=constraints)
    must_be_of_kind(ensemble=ensemble, scale=scale, fidelities=fidelities, space="" if space is None else space)
    trials, seed, workers, ensemble = whole_or_none(trials), whole(seed), whole(workers), whole_or_none(ensemble)
    if ensemble is not None:
        _check_votes(ensemble, store if resume else None)
    kept = Recorded(tuple(metrics), training_score, predictions)
    by_metric = {"metric": metric, "validate": validate, "test": test, "ensemble": ensemble, "archive": archive}
    if objective is None:
        kept = replace(kept, constraints=_constraints(constraints))
        _refuse({"fidelities": fidelities, "scale": scale}, "data")
        data: Data = _rows(features, target, reading(sep, encoding, decimal, drop_columns))
    else:
        by_metric |= {"features": features, "target": target}
        asked = {each.name: getattr(kept, each.name) for each in fields(kept)}
        _refuse({**by_metric, **asked}, "an objective")
        sizes = None if fidelities is None else tuple(fidelities)
        data = Boxed(objective, sizes, _limits_by_name(constraints), scale)
    loaded, chosen = _space(space, data, allow, bind)
    experiment = Experiment(
        space=loaded,
        data=data,
        budget=Budget(seconds_of(loaded, time), trials),
        seed=seed,
        metric=metric,
        validation=None if validate is None else _validation(validate),
        recorded=kept,
        test=test,
        workers=Workers(workers, executor, trial_limits(loaded, trial_limit), isolate),
        initial=None if initial is None else read_initial(initial),
        archive=None if archive is None else open_archive(archive),
        norm=Norm(archive_norm),
        ensemble=ensemble,
        chosen=chosen,
    )
    prepared = experiment.by(optimizer, optimizer_options).prepared()
    first = prepared.initial(_warn_of_strangers)
    if (ignored := unenforced(experiment.workers)) is not None:
        warnings.warn(ignored, stacklevel=2)
    with closing(prepared.crew()) as crew:
        with _watched(progress, listener, _notes(chosen, prepared)) as told:
            found = prepared.run(crew, initial=first, store=store, resume=resume, listener=told)
        found = replace(found, form=_form(features, prepared))
        return succeeded(found).tested_by(crew).assembled_by(crew)


@contextmanager
def _watched(progress: bool | None, listener: "Listener | None", notes: Iterable[str]) -> "Iterator[Listener | None]":
    """Who is told of trials: the user's own, else a bar where somebody looks at it, behind some notes."""
    from rich.console import Console

    from spacelang.report.progress import is_watched
    from spacelang.report.progress import progress as shown

    console = Console(stderr=True)
    if listener is not None or progress is False or not (progress or is_watched(console)):
        yield listener
        return
    for note in notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    with shown(console) as bar:
        yield bar


def _notes(chosen: str, prepared: Prepared) -> "Iterator[str]":
    """What is to be known before a search begins.

    Why its space was `chosen`, of which class its metric is, what it leaves as it is, and what its form has not.
    """
    if chosen:
        yield told_of(chosen)
    if (positive := positive_class_of(prepared.objective)) is not None:
        yield positive.sentence
    searched = prepared.searched
    if searched.sentence:
        remedy = in_python(searched.remedy, "optimizer_options")
        yield f"{searched.sentence}: {remedy}" if remedy else searched.sentence
    yield from searched.lost


def _space(
    space: Space | str | PathLike[str] | None, data: Data, allow: Iterable[str], bind: Mapping[str, int] | None
) -> tuple[Space, str]:
    """The space of a search, and why it is that one where none is named."""
    if space is not None:
        return opened(space, allow, bind), ""
    if not isinstance(data, Rows):
        message = "without data there is nothing to choose a space by: name one"
        raise ValueError(message)  # noqa: TRY004 - nothing is of a wrong type
    usual = usual_space(data.table, allow, bind)
    return usual.space, usual.reason


def _rows(features: Any, target: Any, read: "Reading") -> Rows:
    from spacelang.runtime.data.loading import make_table

    if features is None or target is None:
        raise ValueError("there is nothing to search on: give features and labels, or an `objective`")
    return Rows(replace(make_table(features, target), reading=read))


def _validation(text: str) -> "Validation":
    from spacelang.runtime.evaluation.split import parse_validation

    return parse_validation(text)


def _form(features: Any, prepared: Prepared) -> "PipelineInput | None":
    """What pipelines are to take: what the search was given; None where nothing is fitted."""
    if not prepared.experiment.data.has_rows:
        return None
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.pipelines.taking import form_of

    objective = prepared.objective
    assert isinstance(objective, DataObjective)
    return form_of(features, objective.dataset.features, objective.preparation)


def _check_votes(ensemble: int, resumed: "str | PathLike[str] | None") -> None:
    """Raise ValueError for an ensemble of no votes, and InputError for a run that is resumed without predictions."""
    if ensemble < 1:
        raise ValueError(f"an ensemble of {ensemble} votes predicts nothing")
    if resumed is not None:
        check_predictions(resumed)


def _warn_of_strangers(found: "Suggested") -> None:
    if found.strangers:
        warnings.warn(found.of_strangers, stacklevel=4)


def _refuse(given: Mapping[str, object], what: str) -> None:
    """Raise ValueError for what is given and cannot be had beside something else."""
    for name, value in given.items():
        if not (value is None or value is False or (isinstance(value, tuple) and not value)):
            raise ValueError(f"`{name}` has no meaning where {what} is searched on: leave it out")


def _constraints(given: "Iterable[Constraint] | Mapping[str, float]") -> "tuple[Constraint, ...]":
    if isinstance(given, Mapping):
        message = "`constraints` by name are those of an `objective`: on data give `Constraint`s"
        raise ValueError(message)  # noqa: TRY004 - of all that means nothing here
    from spacelang.runtime.judging.constraints import Constraint

    found = tuple(given)
    for each in found:
        if not isinstance(each, Constraint):
            message = f"`{each!r}` is no constraint of pipelines: give `sl.Constraint(name, function, limit)`"
            raise ValueError(message)  # noqa: TRY004 - as above
    return found


def _limits_by_name(constraints: "Iterable[Constraint] | Mapping[str, float]") -> Mapping[str, float]:
    if isinstance(constraints, Mapping):
        return constraints
    if tuple(constraints):
        raise ValueError('the constraints of an objective are limits by name: `constraints={"latency": 0.1}`')
    return {}
