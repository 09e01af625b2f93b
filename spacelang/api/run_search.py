"""`search` and `resume`: run an optimizer on a space with data or an objective, and continue a stored run."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Unpack, cast

from spacelang.api.executor_settings import (
    check_store_for_resume,
    choose_number_of_ensemble_votes,
    unenforced_limits_warning,
    worker_settings,
)
from spacelang.api.experiment import (
    EvaluationData,
    Experiment,
    PreparedExperiment,
    experiment_fields_from_options,
    run_time_limit,
)
from spacelang.api.experiment_run import check_success, data_column_notes, leakage_warnings, run_experiment
from spacelang.api.option_checks_and_signatures import (
    PATH,
    accept_options,
    check_argument,
    check_argument_types,
    run_options_by_name,
)
from spacelang.api.result import Result
from spacelang.api.resuming import ResumableRun, open_resumable_run, stored_default_space, uses_loss_table
from spacelang.api.run_options import RunOptions, SearchOptions, SearchResumeOptions
from spacelang.api.search_data import (
    BlackBoxData,
    TabularData,
    choose_default_space,
    default_space_note,
)
from spacelang.api.space import Space, load_or_bind_space
from spacelang.errors import remedy_in_python
from spacelang.ir.validation import group_column, parse_validation
from spacelang.runtime.black_box import ARTIFICIAL_PREFIX
from spacelang.runtime.budget import Budget, parse_duration
from spacelang.runtime.data.read_options import ReadOptions, select_read_options
from spacelang.runtime.objective import positive_class_of
from spacelang.runtime.storage.store_errors import StoreError

if TYPE_CHECKING:
    from spacelang.ir.trial import LossName
    from spacelang.runtime.archives.archive import ArchiveSuggestions
    from spacelang.runtime.listeners import Listener
    from spacelang.runtime.pipelines import PipelineInput
    from spacelang.runtime.scoring.user_functions import Constraint

REFUSED: Final = frozenset(("scores", "rows"))  # The scopes of options that have no meaning for an objective


@accept_options(SearchOptions)
def search(
    space: Space | str | PathLike[str] | None = None,
    features: Any = None,
    target: Any = None,
    **options: Unpack[SearchOptions],
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

    Notes
    -----
    Optimizers that select pipelines (`blds`, `lds`, `mlds`, `cmab`, `daub`) keep hyperparameters at their defaults.
    With the option `hyperparameters="sample"` they draw them once for each pipeline. `Result.hyperparameters` and
    `Result.at_defaults` say what was not searched.

    With an objective there is no `best_pipeline`, and a space that depends on the size of the data must be bound.

    Raises NoSuccessError, which holds the result, if no trial succeeded. Raises SpaceError
    (InitialConfigurationError for `initial`), UnknownPluginError and OptionError. Raises TypeError for an argument
    of a wrong type, and ValueError for an invalid validation, time, limit, norm or number of votes. Raises the
    runtime's InputError for problems with data, metrics, stores, workers and archives.
    """
    started = perf_counter()
    check_argument_types(space="" if space is None else space)
    check_store_for_resume(options["store"], resume=options["resume"])
    objective, constraints, fidelities = options["objective"], options["constraints"], options["fidelities"]
    allow, bind, store = options["allow"], options["bind"], options["store"]
    measured: tuple[Constraint, ...] = ()
    if objective is None:
        measured = _check_constraints(constraints)
        _refuse_arguments({name: options[name] for name in ("fidelities", "scale", "objectives")}, "data")
        read = select_read_options(options)
        if features is not None:
            _check_dropped_columns(features, read.drop_columns, options["test"])
        data: EvaluationData = make_tabular_data(features, target, read, options)
    else:
        given: Mapping[str, object] = options
        refused = {name: given[name] for name, each in run_options_by_name(RunOptions).items() if each.scope in REFUSED}
        others = {
            "features": features,
            "target": target,
            "groups": options["groups"],
            "sample_weight": options["sample_weight"],
        }
        _refuse_arguments({**others, **refused}, "an objective")
        sizes = None if fidelities is None else tuple(fidelities)
        names, limits = tuple(options["objectives"]), _limits_by_name(constraints)
        data = BlackBoxData(objective, sizes, limits, options["scale"], names)
    loaded, chosen = _space_and_reason(space, data, allow, bind, store if options["resume"] else None)
    return search_on_data(loaded, data, options, chosen=chosen, features=features, measured=measured, started=started)


def search_on_data(
    loaded: Space,
    data: EvaluationData,
    options: SearchOptions,
    *,
    chosen: str,
    features: Any,
    measured: "tuple[Constraint, ...]" = (),
    started: float,
) -> Result:
    """Search a space on data with the options of `search`, and return the result.

    `chosen` is the reason for the space if the user named none. The best pipeline takes what `features` are. The call
    began at `started` (`perf_counter`), from which its time counts.
    """
    votes = choose_number_of_ensemble_votes(options["ensemble"], chosen, options["store"], resume=options["resume"])
    seconds, trials, of_search = run_time_limit(loaded, options["time"]), options["trials"], options["search_time"]
    of_search = parse_duration(of_search) if isinstance(of_search, str) else of_search
    budget, workers = Budget(of_search, trials, seconds), worker_settings(loaded, options)
    described = experiment_fields_from_options(options, measured) | {"ensemble": votes}
    experiment = Experiment(
        space=loaded, data=data, budget=budget, workers=workers, chosen=chosen, **described
    ).with_optimizer(options["optimizer"], options["optimizer_options"])
    prepared = experiment.prepare()
    for message in leakage_warnings(prepared):
        warnings.warn(remedy_in_python(message), stacklevel=4)
    first = prepared.initial_configurations(_warn_of_nonmembers)
    if (ignored := unenforced_limits_warning(experiment.workers)) is not None:
        warnings.warn(ignored, stacklevel=4)
    with ExitStack() as stack:
        if (time := prepared.make_run_deadline(started)) is not None:
            stack.enter_context(time)
        crew = stack.enter_context(closing(prepared.make_executor()))
        with _progress_listener(
            options["progress"],
            options["listener"],
            _notes_before_search(chosen, prepared),
            prepared.objective.metric,
        ) as listener:
            found = run_experiment(
                prepared,
                crew,
                initial=first,
                store=options["store"],
                resume=options["resume"],
                listener=listener,
                callbacks=options["callbacks"],
                answer_time=time,
            )
        found = replace(found, form=_input_kind(features, prepared))
        return check_success(found).with_final_fit(crew, time).with_ensemble(crew, time)


@contextmanager
def _progress_listener(
    progress: bool | None, listener: "Listener | None", notes: Iterable[str], metric: "LossName"
) -> "Iterator[Listener | None]":
    """Yield the user's listener; without one, print the notes and yield a progress display.

    The display is shown if `progress` is true, or if it is None and standard error is a terminal or a notebook; else
    None is yielded.
    """
    from rich.console import Console

    from spacelang.report.progress import can_show_bars
    from spacelang.report.progress import progress_listener as shown

    console = Console(stderr=True)
    if listener is not None or progress is False or not (progress or can_show_bars(console)):
        yield listener
        return
    for note in notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    with shown(console, metric) as bar:
        yield bar


def _notes_before_search(chosen: str, prepared: PreparedExperiment) -> "Iterator[str]":
    """Yield notes to print before a search: why the space was `chosen`, columns of the data, what is not searched."""
    if chosen:
        yield default_space_note(chosen)
    if (positive := positive_class_of(prepared.objective)) is not None:
        yield positive.description
    yield from data_column_notes(prepared)
    searched = prepared.search_coverage
    if searched.unsearched_hyperparameters_sentence:
        remedy = remedy_in_python(searched.remedy, "optimizer_options")
        yield (
            f"{searched.unsearched_hyperparameters_sentence}: {remedy}"
            if remedy
            else searched.unsearched_hyperparameters_sentence
        )
    yield from searched.lost
    if prepared.dropped_keys_note:
        yield prepared.dropped_keys_note


def _space_and_reason(
    space: Space | str | PathLike[str] | None,
    data: EvaluationData,
    allow: Iterable[str],
    bind: Mapping[str, int] | None,
    resumed: str | PathLike[str] | None,
) -> tuple[Space, str]:
    if space is not None:
        return load_or_bind_space(space, allow, bind), ""
    if not isinstance(data, TabularData):
        message = "give a space: without data, none can be chosen by default"
        raise ValueError(message)  # noqa: TRY004 - no argument has a wrong type
    allowed = tuple(allow)
    usual = stored_default_space(resumed, allowed) or choose_default_space(data.table, allowed, bind)
    return usual.space, usual.reason


def make_tabular_data(features: Any, target: Any, read: ReadOptions, options: Mapping[str, Any]) -> TabularData:
    """Return features and targets as the data of a search, with the weights, groups and splitter in `options`.

    Raises ValueError without features or target, or if `validate` and `groups` both name groups.
    """
    from spacelang.runtime.data.loading import make_table
    from spacelang.runtime.data.row_relations import attach_groups, with_row_numbers_as_times
    from spacelang.runtime.data.tables import check_weights, without_columns

    if features is None and target is None:
        raise ValueError("nothing to search on: give features and labels, or an `objective`")
    if target is None:
        raise ValueError("the labels are missing: give them after the features")
    if features is None:
        raise ValueError("the features are missing: give them before the labels")
    validate, groups = options["validate"], options["groups"]
    used = without_columns(features, read.drop_columns)
    if read.drop_columns and 0 in getattr(used, "shape", ())[1:]:
        raise ValueError("`drop_columns` names all columns of the features: drop fewer columns")
    table, name = replace(make_table(used, target), reading=read), None
    if (weights := options["sample_weight"]) is not None:
        table = replace(table, weights=check_weights(weights, len(table.target)))
    if groups is not None:
        if isinstance(validate, str) and (column := group_column(parse_validation(validate))) is not None:
            raise ValueError(f"`validate` names the column `{column}` of groups: leave `groups` out")
        table, name = attach_groups(table, groups)
    if validate is None or isinstance(validate, str):
        return TabularData(table, group_name=name)
    return TabularData(with_row_numbers_as_times(table, validate), splitter=validate, group_name=name)


def _check_dropped_columns(features: Any, dropped: tuple[str, ...], test: Any) -> None:
    """Raise ValueError for columns to drop that the features do not have, unless a file of test rows may have them."""
    from spacelang.runtime.data.tables import suggest_column
    from spacelang.runtime.evaluation.unseen_rows import test_share_or_none

    known = [*map(str, getattr(features, "columns", ()))]
    unknown = [name for name in dropped if name not in known]
    if not unknown or (isinstance(test, str | PathLike) and test_share_or_none(test) is None):
        return
    if not known:
        raise ValueError("`drop_columns` needs a DataFrame: the columns of these features have no names")
    remedy = suggest_column(unknown[0], known)
    raise ValueError(f"the features have no column `{unknown[0]}`, which `drop_columns` names: {remedy}")


def _input_kind(features: Any, prepared: PreparedExperiment) -> "PipelineInput | None":
    """Return the kind of input that fitted pipelines take, which is that of the features.

    None for data without rows.
    """
    if not prepared.experiment.data.has_rows:
        return None
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.pipelines.input_conversion import pipeline_input_of

    objective = prepared.objective
    assert isinstance(objective, DataObjective)
    return pipeline_input_of(features, objective.dataset.features, objective.preparation)


def _warn_of_nonmembers(found: "ArchiveSuggestions") -> None:
    if found.non_members:
        warnings.warn(found.non_member_message, stacklevel=5)


def _refuse_arguments(given: Mapping[str, object], other: str) -> None:
    """Raise ValueError for an argument in `given` that is set, because none can be combined with `other`."""
    for name, value in given.items():
        if not (value is None or value is False or (isinstance(value, tuple) and not value)):
            raise ValueError(f"the argument `{name}` cannot be used with {other}: leave it out")


def _check_constraints(given: "Iterable[Constraint] | Mapping[str, float]") -> "tuple[Constraint, ...]":
    if isinstance(given, Mapping):
        message = "limits by name need an `objective`; with data, give `constraints` as a list of `sl.Constraint`"
        raise ValueError(message)  # noqa: TRY004 - like other arguments that do not fit
    from spacelang.runtime.scoring.user_functions import Constraint

    found = tuple(given)
    for constraint in found:
        if not isinstance(constraint, Constraint):
            message = f"`{constraint!r}` is not a constraint of pipelines: give `sl.Constraint(name, function, limit)`"
            raise ValueError(message)  # noqa: TRY004 - as above
    return found


def _limits_by_name(constraints: "Iterable[Constraint] | Mapping[str, float]") -> Mapping[str, float]:
    if isinstance(constraints, Mapping):
        return constraints
    if tuple(constraints):
        raise ValueError('with an objective, give constraints as limits by name: `constraints={"latency": 0.1}`')
    return {}


AGAIN: Final = ("metric", "sample_weight", "groups")  # What a program may give again if the store does not hold it


@accept_options(SearchResumeOptions)
def resume(
    store: str | PathLike[str], features: Any = None, target: Any = None, **options: Unpack[SearchResumeOptions]
) -> Result:
    """Continue a stored run, like `spacelang resume`, and return its result.

    >>> import tempfile
    >>> import spacelang as sl
    >>> from sklearn.datasets import load_iris
    >>> features, labels = load_iris(return_X_y=True)
    >>> store = f"{tempfile.mkdtemp()}/run.db"
    >>> space = sl.parse("stage estimator = GaussianNB | KNeighborsClassifier { n_neighbors : int[1, 9] = 5 }")
    >>> _ = sl.search(space, features, labels, trials=2, workers=0, store=store)
    >>> len(sl.resume(store, features, labels, trials=4).trials)
    4

    Parameters
    ----------
    store
        The file of the run.
    features, target
        The rows of the run, as `search` takes them; only needed if the run was on rows of a program, not of a file.

    Notes
    -----
    The store has the space, the options, the groups, times and weights of rows, the splits of a splitter, and the
    scorer, if it is made of a function that can be imported. Only functions of `sklearn.metrics` are imported because a
    store names them; the packages of others must be allowed, because a store may come from someone else.

    Raises StoreError for what only the program has, such as `objective` functions or a lambda as a scorer, with the
    call that continues the run, and otherwise the errors of `search`.
    """
    started = perf_counter()
    check_argument("store", store, (PATH, "takes the path of a file"))
    found = open_resumable_run(Path(fspath(store)), [name for name in AGAIN if options[name] is not None])
    if found.is_tabulation or uses_loss_table(found.header):
        what = f"the run in `{found.store}` searched a table of losses, which only the command line can resume"
        raise StoreError(what, f"resume the run with `{found.command}`")
    values = cast(
        SearchOptions,
        {name: option.default for name, option in run_options_by_name(SearchOptions).items()}
        | dict(options)
        | found.given_or_stored_options(options),
    )
    space = found.load_space(options["allow"])
    data = found.add_stored_row_information(_data(found, features, target, options, values))
    rows = data.table.features if isinstance(data, TabularData) and features is None else features
    return search_on_data(space, data, values, chosen=found.space_choice_reason, features=rows, started=started)


def _data(
    found: ResumableRun, features: Any, target: Any, options: SearchResumeOptions, values: SearchOptions
) -> EvaluationData:
    """Return the given rows, or else the data that the store names."""
    from spacelang.runtime.data.loading import load_dataset

    if features is not None:
        return make_tabular_data(features, target, select_read_options(values), values)
    reference = found.data_reference(options["data"])
    if reference.startswith(ARTIFICIAL_PREFIX):
        return BlackBoxData(reference)
    return TabularData(load_dataset(reference, found.target_column, select_read_options(values)), reference=reference)
