"""The optimizers, data sets and tables of a comparison, and the criteria by which runs on them are judged."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from spacelang.api.experiment import Experiment, PreparedExperiment, check_rungs_available
from spacelang.api.experiment_run import run_experiment
from spacelang.api.result import Result
from spacelang.api.search_data import TabularData, needs_training_loss
from spacelang.api.several_objectives import refuse_several_objectives
from spacelang.api.space import Space
from spacelang.bench.table_search import load_evaluation_data
from spacelang.errors import UserError
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import describe_bound
from spacelang.ir.trial import TestScore
from spacelang.ir.validation import describe_validation, time_column
from spacelang.optimizers import OPTIMIZERS
from spacelang.plugins import NestedPlugin, OptionError, UnknownPluginError, split_outside_brackets
from spacelang.runtime.data.read_options import ReadOptions
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.executors import Executor
from spacelang.runtime.final_fit import fit_best_pipeline
from spacelang.runtime.history import EndReason, Outcome
from spacelang.runtime.listeners import Listener
from spacelang.runtime.objective import ObjectiveInfo, RefittableObjective, positive_class_of
from spacelang.runtime.storage.optional_tables import StoredUnseenScore, save_unseen_score
from spacelang.runtime.storage.run_header import DataFacts, space_hash
from spacelang.runtime.storage.stored_run import TABLE_PREFIX

RunOutcome: TypeAlias = tuple[Outcome, StoredUnseenScore | None]
"""The outcome of a run, and the score of its winner on rows that no trial saw, if there are such rows."""


@dataclass(frozen=True, slots=True)
class ConfiguredOptimizer:
    """A configured optimizer, with its `label` in the comparison."""

    label: str
    optimizer: NestedPlugin


@dataclass(frozen=True, slots=True)
class EvaluationCriteria:
    """The criteria by which all runs on a data set are judged, such as the metric, the validation and the test rows.

    `facts` identify the data set. `training_size` is the number of training rows, and `remarks` are notes for the user.
    Texts that do not apply are empty.
    """

    facts: DataFacts
    formula: str
    validation: str
    bounds: tuple[str, ...]
    training_size: int
    test: str = ""  # The test rows, which no trial sees, in words; empty if there are none
    initial: tuple[Configuration, ...] = ()  # The configurations that every run starts with
    remarks: tuple[str, ...] = ()
    """Notes for the user: the positive class of a metric, and suggestions of an archive that were skipped."""
    space: str = ""
    """The identity of the space for this data, if the space of the comparison depends on the data; else empty."""


@dataclass(frozen=True, eq=False)
class ComparisonDataset:
    """A data set or table of a comparison, with the settings that its runs share.

    Runs on it differ only in optimizer and seed. For data with rows, the seed decides the split, the draws of pipelines
    and the search. For a table it decides only the search.
    """

    label: str
    experiment: Experiment

    def check_and_make_criteria(self, seed: int, contestants: Iterable[ConfiguredOptimizer]) -> EvaluationCriteria:
        """Return the criteria of the runs, as the first seed gives them.

        Raises InputError or SpaceError for a mistake that would make every run fail.
        """
        entered = sorted((each.optimizer for each in contestants), key=needs_training_loss, reverse=True)
        prepared, remarks = self._prepare(entered[0], seed), list[str]()
        space, objective = prepared.space, prepared.objective
        refuse_several_objectives(objective, "a comparison")
        if (positive := positive_class_of(objective)) is not None:
            remarks.append(positive.description)
        for each in entered:
            check_rungs_available(replace(prepared.experiment, optimizer=each).prepare_for(space, objective))
        return EvaluationCriteria(
            objective.facts,
            objective.metric.formula,
            "none" if objective.validation is None else describe_validation(objective.validation),
            tuple(map(describe_bound, objective.bounds)),
            objective.training_size,
            self._describe_test_rows(objective),
            prepared.initial_configurations(lambda found: remarks.extend(found.messages)) or (),
            tuple(remarks),
            space_hash(space.checked) if self.experiment.space.is_provisional else "",
        )

    def data_facts_for_seed(self, seed: int, judged: EvaluationCriteria) -> DataFacts:
        """Return the facts that identify the rows that trials of a seed see.

        These are `judged.facts`, unless test rows are drawn by the seed.
        """
        from spacelang.runtime.data.labels import check_and_encode_labels
        from spacelang.runtime.data.tables import make_data_facts
        from spacelang.runtime.evaluation.unseen_rows import split_off_test_rows
        from spacelang.runtime.pipelines.catalogue_access import task_kind

        data, test = self.experiment.data, self.experiment.test
        if not (isinstance(data, TabularData) and isinstance(test, float)):
            return judged.facts
        kind = task_kind(self.experiment.space.checked.root)
        table, validation = data.table_with_row_relations(self.experiment)
        seen, _ = split_off_test_rows(table, test, kind, seed, time_column(validation))
        dataset = check_and_encode_labels(seen, kind)
        return make_data_facts(self.label, dataset.features, dataset.original_labels)

    def execute_run(
        self, contestant: ConfiguredOptimizer, seed: int, store: Path | None, listener: Listener
    ) -> RunOutcome:
        """Execute the run of one optimizer with one seed on this data; resume it if the file `store` already has it.

        Return its outcome, and the score of its winner on the test rows.

        The run is stored in the file `store`; None stores nothing. The run has its own workers and caches, because what
        another optimizer has fitted must not help it. Raises InputError (StoreError is one).
        """
        prepared = self._prepare(contestant.optimizer, seed)
        with closing(prepared.make_executor()) as executor:
            initial = prepared.initial_configurations() or ()
            found = run_experiment(prepared, executor, initial=initial, store=store, resume=True, listener=listener)
            return found.outcome, fit_and_score_winner(found, executor)

    def _prepare(self, optimizer: NestedPlugin, seed: int) -> PreparedExperiment:
        experiment = replace(self.experiment, optimizer=optimizer, seed=seed)
        return experiment.prepare() if experiment.data.has_rows else experiment.prepare_for(*self._space_and_objective)

    @cached_property
    def _space_and_objective(self) -> tuple[Space, ObjectiveInfo]:
        return self.experiment.data.bind_space(self.experiment)

    def _describe_test_rows(self, objective: ObjectiveInfo) -> str:
        """Describe the test rows, or return an empty text; each seed draws another share of the rows."""
        from spacelang.runtime.data.tables import make_data_facts

        tested, test = getattr(objective, "tested", None), self.experiment.test
        if tested is None:
            return ""
        if isinstance(test, float):
            return f"{test:g} of the rows"
        facts = make_data_facts(self.label, tested.features, tested.original_labels)
        return f"{facts.rows} rows, {facts.fingerprint}"


class _SeveralMistakesError(ValueError):
    """An error for several mistakes at once."""

    def __init__(self, mistakes: Iterable[UserError]) -> None:
        self.mistakes = tuple(mistakes)
        texts = (f"{each.message}: {each.help}" if each.help else each.message for each in self.mistakes)
        super().__init__("\n".join(texts))


class ComparisonDataError(_SeveralMistakesError):
    """An error for data that cannot be used. `mistakes` has one error for each data set."""


def read_comparison_data(
    make_experiment: Callable[..., Experiment],
    data: Mapping[str, Any],
    target_column: str | tuple[str, ...] | None = None,
    reading: ReadOptions | None = None,
) -> tuple[ComparisonDataset, ...]:
    """Return a `ComparisonDataset` for each data set, in the order of `data`.

    A data set is a reference as `--data` takes it, or a pair of features and labels. Files are read as `reading` says.
    `make_experiment` makes the settings of a run from its `data`. Raises ComparisonDataError with all mistakes.
    """
    found: list[ComparisonDataset] = []
    mistakes: list[InputError] = []
    for label, source in data.items():
        try:
            experiment = _make_experiment(make_experiment, label, source, target_column, reading)
            found.append(ComparisonDataset(label, experiment))
        except InputError as error:
            mistakes.append(error)
    if len(data) > 1 and any(not isinstance(each.experiment.test, float | None) for each in found):
        what = f"the same test rows cannot be used for {len(data)} data sets"
        mistakes.append(DataError(what, "reserve a share of the rows of each data set instead, such as 0.2"))
    if not data:
        mistakes.append(
            DataError("no data is given to compare optimizers on", "give a file, `sklearn:NAME` or a table")
        )
    if mistakes:
        raise ComparisonDataError(mistakes)
    return tuple(found)


def data_references_by_label(references: Iterable[str]) -> dict[str, str]:
    """Return the references by a label: the file name, or the whole reference if several have the same file name.

    Raises ComparisonDataError for a reference that is given twice.
    """
    given = tuple(references)
    short = [_short_label(reference) for reference in given]
    found: dict[str, str] = {}
    mistakes = []
    for reference, name in zip(given, short, strict=True):
        label = name if short.count(name) == 1 else reference
        if label in found:
            mistakes.append(DataError(f"the data `{reference}` is given twice", "give it once"))
        found[label] = reference
    if mistakes:
        raise ComparisonDataError(mistakes)
    return found


def _make_experiment(
    make_experiment: Callable[..., Experiment],
    label: str,
    source: Any,
    target_column: str | tuple[str, ...] | None,
    reading: ReadOptions | None,
) -> Experiment:
    from spacelang.runtime.data.loading import make_table
    from spacelang.runtime.evaluation.unseen_rows import read_test_rows

    if isinstance(source, PathLike):
        source = fspath(source)
    if isinstance(source, str):
        experiment = make_experiment(data=load_evaluation_data(source, target_column, reading))
    else:
        try:
            features, target = source
        except (TypeError, ValueError):
            message = f"the data `{label}` is neither a string nor a pair of features and labels"
            raise DataError(message, 'give `"FILE"` or `(X, y)`') from None
        experiment = make_experiment(data=TabularData(make_table(features, target, label)))
    if isinstance(experiment.data, TabularData):
        return replace(experiment, test=read_test_rows(experiment.test, experiment.data.table))
    _refuse_unused_options(source, experiment, target_column, reading)
    return experiment


def _refuse_unused_options(
    source: str, setting: Experiment, target_column: str | tuple[str, ...] | None, reading: ReadOptions | None
) -> None:
    """Raise InputError if a run on a table or an artificial objective (`source`) has an option that needs rows."""
    is_table = source.startswith(TABLE_PREFIX)
    named_source = f"the table `{source.removeprefix(TABLE_PREFIX)}`" if is_table else f"`{source}`"
    asked = {"a metric": setting.metric, "a validation": setting.validation, "a target column": target_column}
    for setting_name, given in {**asked, "an option for reading files": reading}.items():
        if given is not None:
            help_text = "make another table with `spacelang tabulate`" if is_table else "leave the option out"
            raise InputError(f"{setting_name} has no effect on {named_source}", help_text)
    effect = (
        "an archive cannot find similar data sets" if setting.archive is not None else "no test rows can be reserved"
    )
    if setting.archive is not None or setting.test is not None:
        instead = "give the data set from which the table was made, instead of the table"
        help_text = instead if is_table else "leave the option out"
        raise InputError(f"{named_source} has no rows, so {effect}", help_text)


def _short_label(reference: str) -> str:
    """Return a short label for a reference: `credit` for `a/credit.csv.gz` and `table:credit.npz`."""
    from spacelang.runtime.data.loading import EXTENSIONS

    path = reference.removeprefix(TABLE_PREFIX)
    name = Path(path).name
    suffix = next((each for each in (*EXTENSIONS, ".npz") if name.lower().endswith(each)), "")
    return name.removesuffix(suffix) if suffix and len(name) > len(suffix) else path


def fit_and_score_winner(result: Result, executor: Executor) -> StoredUnseenScore | None:
    """Fit the winner of a run on all rows that trials saw, and return its score on the test rows.

    Returns None if there are no test rows or no winner, and after an interruption. If the best pipeline cannot be
    fitted, the next best is scored. If none can be fitted, the score has no loss but a reason. The score is stored if
    the run has a store. Raises InputError (StoreError is one).
    """
    outcome, objective = result.outcome, result.objective
    if not isinstance(objective, RefittableObjective) or not objective.test_rows:
        return None
    if outcome.best is None or outcome.ended is EndReason.INTERRUPTED:
        return None
    finale = fit_best_pipeline(outcome, objective, executor, limits=result.experiment.workers.limits)
    if finale.record is not None and finale.test is not None:
        found = StoredUnseenScore(finale.record.index, finale.test)
    else:
        reason = finale.skipped[0].reason if finale.skipped else ""
        found = StoredUnseenScore(outcome.best.index, TestScore(None, None, None, objective.test_rows, reason))
    if result.store is not None:
        save_unseen_score(result.store, found)
    return found


class ConfiguredOptimizersError(_SeveralMistakesError):
    """An error for optimizers or options that do not exist. `mistakes` has all of them, each with its help."""


def parse_optimizers(texts: Iterable[str]) -> tuple[ConfiguredOptimizer, ...]:
    """Parse texts of the form `NAME` or `NAME:OPTION=VALUE:OPTION=VALUE`.

    The labels have the form `NAME OPTION=VALUE OPTION=VALUE`. Empty texts are skipped. Raises ConfiguredOptimizersError
    with all mistakes, which include duplicates and an empty list.
    """
    found: list[ConfiguredOptimizer] = []
    mistakes: list[UnknownPluginError | OptionError] = []
    for text in filter(None, map(str.strip, texts)):
        read = _parse_optimizer(text)
        if isinstance(read, ConfiguredOptimizer):
            mistakes += _duplicate_errors(read, found)
            found.append(read)
        else:
            mistakes += read
    if not found and not mistakes:
        known = ", ".join(f"`{name}`" for name in OPTIMIZERS.names())
        mistakes.append(OptionError("no optimizer is given", f"choose from {known}"))
    if mistakes:
        raise ConfiguredOptimizersError(mistakes)
    return tuple(found)


def _parse_optimizer(text: str) -> ConfiguredOptimizer | list[UnknownPluginError | OptionError]:
    name, *pairs = (part.strip() for part in split_outside_brackets(text, ":"))
    try:
        plugin = OPTIMIZERS.load(name)
    except UnknownPluginError as error:
        return [error]
    given: dict[str, str] = {}
    mistakes: list[UnknownPluginError | OptionError] = []
    for pair in pairs:
        option, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not option:
            mistakes.append(OptionError(f"`{pair}` in `{text}` is not an option", f"write `{name}:OPTION=VALUE`"))
        elif option in given:
            mistakes.append(OptionError(f"the option `{option}` of `{name}` is set twice"))
        else:
            given[option] = value
            mistakes += _option_errors(plugin, {option: value})
    # Values that are valid one by one may be invalid together.
    mistakes = mistakes or [*_option_errors(plugin, given)]
    if mistakes:
        return mistakes
    label = " ".join([name, *(f"{option}={value}" for option, value in given.items())])
    return ConfiguredOptimizer(label, OPTIMIZERS.create(name, given))


def _option_errors(plugin: type[Any], options: Mapping[str, str]) -> Iterator[OptionError]:
    try:
        OPTIMIZERS.configure(plugin, options)
    except OptionError as error:
        yield error


def _duplicate_errors(contestant: ConfiguredOptimizer, others: Iterable[ConfiguredOptimizer]) -> Iterator[OptionError]:
    for other in others:
        if other.optimizer == contestant.optimizer:
            same = "is given twice" if other.label == contestant.label else f"has the same options as `{other.label}`"
            yield OptionError(
                f"`{contestant.label}` {same}", "change an option of one of the two optimizers, or leave one out"
            )
