"""The settings of an evaluation, and the folds that all trials share: split, prepared and in a fixed order of rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, assert_never

import numpy as np
import pandas as pd

from spacelang.ir import task
from spacelang.ir.data_binding import KINDS_BY_SIZE_NAME
from spacelang.ir.validation import (
    CrossValidation,
    DeclaredValidation,
    Holdout,
    PredefinedSplits,
    TimeSeriesSplits,
    Validation,
    describe_validation,
    group_column,
    time_column,
)
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation import splits
from spacelang.runtime.evaluation.splits import (
    OTHER_VALIDATION_HELP,
    Rows,
    check_groups,
    grouped_folds,
    grouped_holdout,
    order_by_groups_or_times,
    smallest_sufficient_length,
    time_folds,
    time_holdout,
)
from spacelang.runtime.pipelines.preparation import Preparation
from spacelang.runtime.scoring.user_functions import Constraint
from spacelang.spelling_suggestions import format_suggestion

COPY_PARAMETERS: Final = frozenset({"copy", "copy_X", "copy_x", "copy_X_train"})
"""Parameters of operators that allow them, when false, to overwrite their input."""
KNOWN_PACKAGES: Final = frozenset({"sklearn", "catboost", "imblearn", "lightgbm", "xgboost", "spacelang"})
"""Packages whose operators overwrite their input only if one of the parameters `COPY_PARAMETERS` is false."""
SMALL_DATA_ROWS: Final = 1_000
"""The largest number of rows for which five-fold cross-validation is the default instead of a holdout.

The loss that a search reports is optimistic, because it is the smallest of many. `tests/benchmarks/selection_bias.py`
measures this bias of 1 - AUROC for 50 random pipelines on six data sets: on a holdout of 30 % it is 0.056 with 300
rows, 0.031 with 600 and 0.012 with 1,200, on five folds 0.025, 0.016 and 0.004. In the same time, the best of 10
pipelines on five folds is better than the best of 50 on a holdout with 300 rows (by 0.015) and with 600 (by 0.002), and
worse with 1,200 (by 0.004).
"""
SMALL_DATA_VALIDATION: Final = CrossValidation(5)  # The default validation for at most `SMALL_DATA_ROWS` rows
LARGE_DATA_VALIDATION: Final = Holdout(0.3)
"""The default validation for more rows: the split used in the papers that compare optimizers."""
MIN_FOLDS: Final = 3
"""The fewest folds of a default cross-validation: with two, a trial would train on half of the rows."""
CACHE_BYTES: Final = 2.0**29  # The default size limit of the prefix cache of each process: half a gibibyte


@dataclass(frozen=True, slots=True, eq=False)
class PreparedFold:
    """One split of the prepared rows; the training rows are in the order in which trials use them.

    `prefix_lengths` are the numbers of first training rows that a trial may use, ascending, if these must be whole
    groups or have two classes in the order of time; None allows all numbers.

    All trials share the rows. Dense arrays are read-only. Sparse matrices are not, because some operators would refuse
    them. A pipeline for which `may_overwrite_input` is True therefore gets copies.

    `groups` maps each grouping column to the positions of each group among the held-out rows. `rows` are the numbers of
    the held-out rows in the table, from 0. `transformer` has prepared the rows and was fitted on the training rows; it
    is None if they needed no preparation. `training_weights` are the sample weights of the training rows, or None.
    """

    training: Any
    training_target: Any
    held_out: Any
    held_out_target: Any
    groups: Mapping[str, tuple[Rows, ...]] = field(default_factory=dict)
    rows: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    transformer: Any = None
    prefix_lengths: Rows | None = None
    training_weights: Any = None

    def __post_init__(self) -> None:
        for rows in (self.training, self.training_target, self.held_out, self.held_out_target):
            if isinstance(rows, np.ndarray):
                rows.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickling calls the constructor, which makes the arrays read-only; a pickled array would be writable.
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    def training_size(self, fidelity: int | None) -> int:
        """Return the number of training rows at a fidelity: all for None, more than asked for if groups are whole."""
        size = len(self.training_target)
        if fidelity is None or fidelity >= size:
            return size
        return fidelity if self.prefix_lengths is None else smallest_sufficient_length(self.prefix_lengths, fidelity)

    def training_rows(self, fidelity: int | None, *, own: bool) -> tuple[Any, Any]:
        """Return the training rows at a fidelity, the first ones, and their labels, as copies if `own`."""
        size = self.training_size(fidelity)
        rows, target = self.training[:size], self.training_target[:size]
        return (rows.copy(), target.copy()) if own else (rows, target)

    def weights(self, fidelity: int | None) -> Any:
        """Return the sample weights of the rows that `training_rows` returns, or None."""
        return None if self.training_weights is None else self.training_weights[: self.training_size(fidelity)]

    def held_out_rows(self, *, own: bool) -> Any:
        """Return the held-out rows; with `own` a copy, for one call of a pipeline that overwrites its input."""
        return self.held_out.copy() if own else self.held_out


def may_overwrite_input(estimator: Any) -> bool:
    """Return True if an estimator, or one inside it, may overwrite its input, as all of unknown packages may."""
    if isinstance(estimator, list | tuple):
        return any(map(may_overwrite_input, estimator))
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        return False
    if type(estimator).__module__.partition(".")[0] not in KNOWN_PACKAGES:
        return True
    # Ten times as fast as `get_params`.
    held = {name: value for name, value in vars(estimator).items() if not name.endswith("_")}
    return any(held.get(name) is False for name in COPY_PARAMETERS) or any(map(may_overwrite_input, held.values()))


def default_validation(dataset: Dataset, group: str | None = None) -> DeclaredValidation:
    """Return cross-validation for small data, usually `cv(5)`, and `holdout(0.3)` for other data.

    Data is small if it has at most `SMALL_DATA_ROWS` rows, and at least `MIN_FOLDS` of every class. If the rarest class
    has fewer than 5 rows, there are as many folds as it has rows. `group` is the name of the groups, if the rows have
    any; the groups of a class then count instead of its rows.
    """
    rows, groups = len(dataset.target), dataset.relations.groups
    units = np.arange(rows) if groups is None else groups
    codes = dataset.target.to_numpy() if dataset.is_stratified else np.zeros(rows, dtype=np.int64)
    rarest = min(len(np.unique(units[codes == code])) for code in np.unique(codes))
    folds = min(SMALL_DATA_VALIDATION.folds, rarest)
    is_small = rows <= SMALL_DATA_ROWS and folds >= MIN_FOLDS
    return CrossValidation(folds, group) if is_small else replace(LARGE_DATA_VALIDATION, group=group)


def make_folds(
    dataset: Dataset, validation: Validation, seed: int, preparation: Preparation, columns: Iterable[str] = ()
) -> tuple[PreparedFold, ...]:
    """Split and prepare a data set by the seed; `columns` form groups. Raise DataError if that is impossible."""
    grouping = {column: _grouping_column(dataset, column) for column in columns}
    rng = np.random.default_rng(seed)
    target = dataset.target.to_numpy()
    found = []
    for training, held_out in _split_rows(dataset, validation, rng):
        order, lengths = _training_order(dataset, training, rng)
        features, transformer = dataset.features, None
        if isinstance(features, pd.DataFrame):
            fitting, judging, transformer = _prepare(features.iloc[order], features.iloc[held_out], preparation)
        else:
            fitting, judging = features[order], features[held_out]
        groups = {column: _group_positions(values.iloc[held_out]) for column, values in grouping.items()}
        rows = (fitting, target[order], judging, target[held_out], groups, held_out, transformer, lengths)
        weights = None if dataset.weights is None else dataset.weights[order]
        found.append(PreparedFold(*rows, training_weights=weights))
    return tuple(found)


def _training_order(dataset: Dataset, training: Rows, rng: np.random.Generator) -> tuple[Rows, Rows | None]:
    """Return training rows in the order in which trials use them, and the possible prefix lengths (None: all)."""
    codes = dataset.target.to_numpy()[training] if dataset.is_stratified else None
    if dataset.relations:
        places, lengths = order_by_groups_or_times(dataset.relations.select_rows(training), codes, rng)
        return training[places], lengths
    return (training if codes is None else training[splits.stratified_order(codes, rng)]), None


def split_rows(dataset: Dataset, validation: Validation, seed: int) -> list[tuple[Rows, Rows]]:
    """Return the numbers of the training and the held-out rows of each fold, in the order of `make_folds`.

    The order of the rows within a fold is not the one in which trials use them.
    """
    return _split_rows(dataset, validation, np.random.default_rng(seed))


def make_test_fold(
    dataset: Dataset, tested: Dataset, preparation: Preparation, columns: Iterable[str] = ()
) -> PreparedFold:
    """Return a fold that trains on all rows, in order, and holds out the test rows, which have the same columns."""
    fitting, judging = dataset.features, tested.features
    if isinstance(fitting, pd.DataFrame) and isinstance(judging, pd.DataFrame):
        fitting, judging, _ = _prepare(fitting, judging, preparation)
    groups = {column: _group_positions(_find_column(tested, column)) for column in columns}
    targets = dataset.target.to_numpy(copy=True), tested.target.to_numpy(copy=True)
    rows = np.arange(len(targets[1]))
    return PreparedFold(fitting, targets[0], judging, targets[1], groups, rows, training_weights=dataset.weights)


def _split_rows(dataset: Dataset, validation: Validation, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    codes, rows = dataset.target.to_numpy(), len(dataset.target)
    if rows < 4:
        raise DataError(f"`{dataset.name}` has {rows} rows; a validation needs at least 4")
    if dataset.relations and not isinstance(validation, PredefinedSplits):
        return _related_splits(dataset, validation, rng)
    match validation:
        case Holdout(share):
            _check_share(share)
            if dataset.is_stratified:
                return [splits.stratified_holdout(codes, share, rng)]
            return [splits.plain_holdout(rows, share, rng)]
        case CrossValidation(folds):
            _check_folds(folds, rows)
            if dataset.is_stratified:
                return splits.stratified_folds(codes, folds, rng)
            return splits.plain_folds(rows, folds, rng)
        case TimeSeriesSplits():
            raise DataError(f"`{dataset.name}` has no times to split by", OTHER_VALIDATION_HELP)
        case PredefinedSplits():
            return _predefined_splits(dataset, validation, rng)
        case _:
            assert_never(validation)


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise DataError(f"the share of held-out rows must be between 0 and 1, not {share:g}")


def _check_folds(folds: int, rows: int) -> None:
    if not 2 <= folds <= rows:
        raise DataError(f"{rows} rows cannot be split into {folds} folds", f"choose from 2 to {rows} folds")


def _related_splits(
    dataset: Dataset, validation: DeclaredValidation, rng: np.random.Generator
) -> list[tuple[Rows, Rows]]:
    """Return the splits of rows with groups or times; raise DataError if there are too few of them."""
    relations, rows = dataset.relations, len(dataset.target)
    codes = dataset.target.to_numpy() if dataset.is_stratified else np.zeros(rows, dtype=np.int64)
    column = time_column(validation) or group_column(validation)
    what = f"the column `{column}`" if column is not None else "`groups`"
    if relations.times is None:
        needed = validation.folds if isinstance(validation, CrossValidation) else 2
        check_groups(relations, codes, dataset.classes, needed, what)
    match validation:
        case Holdout(share):
            _check_share(share)
            if relations.times is not None:
                found = [time_holdout(relations.times, share, what)]
            else:
                assert relations.groups is not None
                found = [grouped_holdout(codes, relations.groups, share, rng)]
        case TimeSeriesSplits(folds):
            assert relations.times is not None
            found = time_folds(relations.times, folds, what)
        case CrossValidation(folds):
            _check_folds(folds, rows)
            assert relations.groups is not None
            found = grouped_folds(codes, relations.groups, folds, rng)
        case _:
            assert_never(validation)
    _check_split_classes(dataset, found, f"by {what}")
    return found


def _check_split_classes(dataset: Dataset, found: Sequence[tuple[Rows, Rows]], source: str) -> None:
    """Raise DataError for a classification of which a split trains on a single class."""
    if not dataset.is_stratified:
        return
    for place, (training, _) in enumerate(found, start=1):
        if len(np.unique(dataset.target.to_numpy()[training])) < 2:
            what = f"split {place} of {len(found)} {source} trains on a single class"
            raise DataError(what, OTHER_VALIDATION_HELP)


def _predefined_splits(
    dataset: Dataset, validation: PredefinedSplits, rng: np.random.Generator
) -> list[tuple[Rows, Rows]]:
    """Return the predefined splits, training rows in random order; raise DataError if invalid or of a single class."""
    if validation != dataset.validation:
        raise DataError(f"the data `{dataset.name}` does not define {describe_validation(validation)}")
    source = dataset.split_source or dataset.name
    splits.check_splits(dataset.splits, len(dataset.target), source)
    _check_split_classes(dataset, [(split.training, split.held_out) for split in dataset.splits], f"of `{source}`")
    return [(rng.permutation(split.training), split.held_out) for split in dataset.splits]


def _prepare(fitting: pd.DataFrame, judging: pd.DataFrame, preparation: Preparation) -> tuple[Any, Any, Any]:
    """Return training and held-out rows as trials get them, and the fitted transformer, None without any."""
    transformer = preparation.make_transformer()
    if transformer is not None:
        fitting, judging = transformer.fit_transform(fitting), transformer.transform(judging)
    if not preparation.takes_dataframe:
        fitting, judging = convert_to_floats(fitting), convert_to_floats(judging)
    return fitting, judging, transformer


def convert_to_floats(table: Any) -> Any:
    """Return the numbers of a DataFrame or a matrix as float64, with NaN for missing ones."""
    is_table = isinstance(table, pd.DataFrame)
    return table.to_numpy(dtype=np.float64, na_value=np.nan) if is_table else table.astype(np.float64)


def _grouping_column(dataset: Dataset, name: str) -> pd.Series:
    """Return the unprepared column that forms groups.

    Raise DataError if the features are sparse, if the column is missing, or if it does not have from 2 to n / 2
    distinct values in its n rows.
    """
    if not isinstance(dataset.features, pd.DataFrame):
        raise DataError(f"`{dataset.name}` is sparse and has no column `{name}` to group rows by", "pass a DataFrame")
    values = _find_column(dataset, name)
    distinct = values.nunique()
    if distinct < 2 or distinct > len(values) / 2:
        what = f"the column `{name}` cannot group rows: it has {distinct} different values in {len(values)} rows"
        if distinct == 1:
            what = f"the column `{name}` cannot group rows: it has a single value"
        raise DataError(what, "choose a categorical column")
    return values


def _find_column(dataset: Dataset, name: str) -> pd.Series:
    columns = {str(column): column for column in dataset.features.columns}
    if name not in columns:
        raise DataError(f"the data has no column `{name}` to group rows by", format_suggestion(name, columns))
    values: pd.Series = dataset.features[columns[name]]
    return values


def _group_positions(values: pd.Series) -> tuple[Rows, ...]:
    """Return the positions of each distinct value; rows without a value are in no group."""
    codes, _ = pd.factorize(values)
    return tuple(np.flatnonzero(codes == code) for code in range(codes.max(initial=-1) + 1))


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """The settings of an evaluation: the goal (None: the default metric of the data), the validation and more."""

    goal: task.ScorerGoal | None = None
    validation: Validation = LARGE_DATA_VALIDATION
    bounds: tuple[task.Bound, ...] = ()
    seed: int = 0
    metrics: tuple[str, ...] = ()  # Names of scikit-learn scorers that are recorded besides the loss
    training_score: bool = False  # True to record the loss on the training rows
    predictions: bool = False  # True to store the predictions for the held-out rows
    constraints: tuple[Constraint, ...] = ()  # Constraints by functions of the user, besides the bounds of the task
    cache_bytes: float = CACHE_BYTES
    """The largest size of the prefix cache of each process, in bytes; 0 turns the cache off."""
    scorer: Any = None  # A scorer of the program, which takes the place of the goal
    further_goals: tuple[task.PipelineGoal, ...] = ()  # The objectives of a task with several, without the first one


DEFAULT_SETTINGS: Final = EvaluationSettings()  # The default settings


def size_symbols(folds: Sequence[PreparedFold], dataset: Dataset, preparation: Preparation) -> dict[str, int]:
    """Return the values of the symbols of the data, such as `n_features` (see `DataObjective.size_symbols`)."""
    rows = min(len(fold.training_target) for fold in folds)
    columns = min(int(fold.training.shape[1]) for fold in folds)
    classes, features = len(dataset.classes), dataset.features
    sizes = {"n_samples": rows, "n_features": columns, **({"n_classes": classes} if classes else {})}
    kinds = Counter(column.kind for column in preparation.columns or ())
    others = kinds.total() - kinds["numeric"]
    counted = {name: kinds[kind] for name, kind in KINDS_BY_SIZE_NAME.items()}
    has_names = isinstance(features, pd.DataFrame)
    missing = preparation.missing if has_names else np.unique(features.indices[np.isnan(features.data)])
    # One-hot encoding makes several numeric columns of one.
    return {**sizes, **counted, "n_numeric": columns - others, "n_missing": len(missing)}
