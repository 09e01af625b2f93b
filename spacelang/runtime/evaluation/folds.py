"""The rows as all trials share them: split, prepared and in the order in which training takes them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, assert_never

import numpy as np
import pandas as pd

from spacelang.ir.task import CrossValidation, Declared, Given, Holdout, Validation, describe_validation
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.data.sparse import Features
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.split import (
    Rows,
    check_splits,
    plain_folds,
    plain_holdout,
    stratified_folds,
    stratified_holdout,
    stratified_order,
)
from spacelang.runtime.pipelines.preparation import Preparation
from spacelang.suggest import suggestion

COPIES: Final = frozenset({"copy", "copy_X", "copy_x", "copy_X_train"})
"""The parameters by which operators are allowed to write into what they are given."""

WELL_KNOWN: Final = frozenset({"sklearn", "catboost", "imblearn", "lightgbm", "xgboost", "spacelang"})
"""The packages whose operators write into what they are given where such a parameter says so, and nowhere else."""


FEW_ROWS: Final = 1_000
"""So many rows are few.

What a search reports is too good, as it is the best of many: by 0.056 of 1 - AUROC with 300 rows, 0.031 with 600, 0.012
with 1,200 and 0.005 with 4,800, where 50 random pipelines are judged by a holdout of 30 %; by 0.025, 0.016, 0.004 and
0.002 with five folds. They take five times as long: so many rows are few with which ten pipelines on five folds end in
one that is as good as that of fifty on a holdout (better by 0.015 with 300 rows and by 0.002 with 600, worse by 0.004
with 1,200). `tests/benchmarks/selection_bias.py` measures it, here on six data sets.
"""

FEW: Final = CrossValidation(5)
"""How trials are judged where rows are few, unless it is said otherwise."""

MANY: Final = Holdout(0.3)
"""How they are judged where rows are many: the split of the papers that compare optimizers."""

FEWEST_FOLDS: Final = 3
"""With fewer a trial would train on half of the rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One split: the prepared rows, those for training in the order in which trials take them.

    All trials share them: whoever gives them to a pipeline that `writes_in_place` gives it copies. No other could
    overwrite an array, as it is for reading only; sparse ones are not, since some operators would refuse them. `groups`
    has, for each column that forms groups, the places of each group among the held-out rows; `rows` are the numbers of
    those rows in the table, from 0.
    """

    training: Any
    training_target: Any
    held_out: Any
    held_out_target: Any
    groups: Mapping[str, tuple[Rows, ...]] = field(default_factory=dict)
    rows: Rows = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        for rows in (self.training, self.training_target, self.held_out, self.held_out_target):
            if isinstance(rows, np.ndarray):
                rows.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # Made anew in another process: pickled by itself an array could be written there.
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    def training_rows(self, fidelity: int | None, *, own: bool) -> tuple[Any, Any]:
        """The first rows to train on and their labels, all of them where `fidelity` is None; `own` makes copies."""
        rows, target = self.training[:fidelity], self.training_target[:fidelity]
        return (rows.copy(), target.copy()) if own else (rows, target)

    def held_out_rows(self, *, own: bool) -> Any:
        """The rows to judge on; `own` makes a copy, which is good for one prediction."""
        return self.held_out.copy() if own else self.held_out


def writes_in_place(estimator: Any) -> bool:
    """Whether an estimator, or one inside it, may overwrite the rows that it is given, in `fit` or later.

    Operators that users bring may do so at any time. Some microseconds an operator: parameters are read where
    estimators keep them, as asking for them by introspection takes ten times as long.
    """
    if isinstance(estimator, list | tuple):
        return any(map(writes_in_place, estimator))
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        return False
    if type(estimator).__module__.partition(".")[0] not in WELL_KNOWN:
        return True
    held = {name: value for name, value in vars(estimator).items() if not name.endswith("_")}
    return any(held.get(name) is False for name in COPIES) or any(map(writes_in_place, held.values()))


def default_validation(dataset: Dataset) -> Declared:
    """On which rows trials are judged where nobody says it: `cv(5)` where these are few, else `holdout(0.3)`.

    A class of fewer rows than folds would be missing in some of them, and a score undefined there: then there are so
    many folds as it has rows, from three on, and with two rows it is the holdout.
    """
    rows = len(dataset.target)
    rarest = int(np.bincount(dataset.target).min()) if dataset.kind == "classification" else rows
    folds = min(FEW.folds, rarest)
    return CrossValidation(folds) if rows <= FEW_ROWS and folds >= FEWEST_FOLDS else MANY


def make_folds(
    dataset: Dataset, validation: Validation, seed: int, preparation: Preparation, columns: Iterable[str] = ()
) -> tuple[Fold, ...]:
    """One fold for a holdout, k for a cross-validation, those of the data for given splits; `columns` form groups.

    For the same seed they are the same. Raises DataError for what the rows do not allow, and for a column that is not
    there or forms no groups.
    """
    grouping = {column: _grouping(dataset, column) for column in columns}
    rng = np.random.default_rng(seed)
    target = dataset.target.to_numpy()
    is_classification = dataset.kind == "classification"
    found = []
    for training, held_out in _splits(dataset, validation, rng):
        order = training[stratified_order(target[training], rng)] if is_classification else training
        parts = _prepared(dataset.features, preparation, order, held_out, target)
        groups = {column: _groups(values.iloc[held_out]) for column, values in grouping.items()}
        found.append(Fold(*parts, groups, held_out))
    return tuple(found)


def training_rows(dataset: Dataset, validation: Validation, seed: int) -> Rows:
    """The numbers of the rows that the first fold of `make_folds` trains on, in no order."""
    return _splits(dataset, validation, np.random.default_rng(seed))[0][0]


def make_test_fold(dataset: Dataset, tested: Dataset, preparation: Preparation, columns: Iterable[str] = ()) -> Fold:
    """All rows to train on, in their order, and the test rows, which have their columns, as those that are held out."""
    fitting, judging = dataset.features, tested.features
    if isinstance(fitting, pd.DataFrame) and isinstance(judging, pd.DataFrame):
        fitting, judging = _made_ready(fitting, judging, preparation)
    groups = {column: _groups(_column(tested, column)) for column in columns}
    targets = dataset.target.to_numpy(copy=True), tested.target.to_numpy(copy=True)
    return Fold(fitting, targets[0], judging, targets[1], groups, np.arange(len(targets[1])))


def _splits(dataset: Dataset, validation: Validation, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    codes, rows = dataset.target.to_numpy(), len(dataset.target)
    if rows < 4:
        raise DataError(f"`{dataset.name}` has {rows} rows, too few to hold some out")
    match validation:
        case Holdout(share):
            if not 0 < share < 1:
                raise DataError(f"the share of held-out rows must lie between 0 and 1, not be {share:g}")
            if dataset.kind == "classification":
                return [stratified_holdout(codes, share, rng)]
            return [plain_holdout(rows, share, rng)]
        case CrossValidation(folds):
            if not 2 <= folds <= rows:
                raise DataError(f"{rows} rows cannot be split into {folds} folds", f"take from 2 to {rows} of them")
            if dataset.kind == "classification":
                return stratified_folds(codes, folds, rng)
            return plain_folds(rows, folds, rng)
        case Given():
            return _given(dataset, validation, rng)
        case _:
            assert_never(validation)


def _given(dataset: Dataset, validation: Given, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    """The splits of the data, with their training rows in random order, so that the first ones are a fair sample."""
    if validation != dataset.validation:
        raise DataError(f"`{dataset.name}` does not have {describe_validation(validation)}")
    check_splits(dataset.splits, len(dataset.target), dataset.name)
    if dataset.kind == "classification":
        for place, split in enumerate(dataset.splits, start=1):
            if len(np.unique(dataset.target.to_numpy()[split.training])) < 2:
                raise DataError(
                    f"split {place} of {len(dataset.splits)} of `{dataset.name}` has one class to train on",
                    "give splits of your own: `--validate holdout(0.3)`",
                )
    return [(rng.permutation(split.training), split.held_out) for split in dataset.splits]


def _prepared(
    features: Features, preparation: Preparation, training: Rows, held_out: Rows, target: Any
) -> tuple[Any, Any, Any, Any]:
    if not isinstance(features, pd.DataFrame):
        return features[training], target[training], features[held_out], target[held_out]
    fitting, judging = _made_ready(features.iloc[training], features.iloc[held_out], preparation)
    return fitting, target[training], judging, target[held_out]


def _made_ready(fitting: pd.DataFrame, judging: pd.DataFrame, preparation: Preparation) -> tuple[Any, Any]:
    transformer = preparation.transformer()
    if transformer is not None:
        fitting, judging = transformer.fit_transform(fitting), transformer.transform(judging)
    if not preparation.keeps_table:
        fitting, judging = as_floats(fitting), as_floats(judging)
    return fitting, judging


def as_floats(table: Any) -> Any:
    """An array of floats, whose first rows are a view rather than a copy."""
    return (
        table.to_numpy(dtype=np.float64, na_value=np.nan)
        if isinstance(table, pd.DataFrame)
        else table.astype(np.float64)
    )


def _grouping(dataset: Dataset, name: str) -> pd.Series:
    """The column that forms groups, as it is in the data."""
    if not isinstance(dataset.features, pd.DataFrame):
        raise DataError(f"`{dataset.name}` is sparse and has no column `{name}` to form groups", "give it as a table")
    values = _column(dataset, name)
    distinct = values.nunique()
    if distinct < 2 or distinct > len(values) / 2:
        held = "a single value" if distinct == 1 else f"{distinct} different values in {len(values)} rows"
        raise DataError(f"the column `{name}` forms no groups: it has {held}", "choose a column of categories")
    return values


def _column(dataset: Dataset, name: str) -> pd.Series:
    """The column of a table by its name as text; raises DataError where there is none."""
    columns = {str(column): column for column in dataset.features.columns}
    if name not in columns:
        raise DataError(f"the data has no column `{name}` to form groups", suggestion(name, columns))
    values: pd.Series = dataset.features[columns[name]]
    return values


def _groups(values: pd.Series) -> tuple[Rows, ...]:
    """The places of the rows of each value; rows without a value are in no group."""
    codes, _ = pd.factorize(values)
    return tuple(np.flatnonzero(codes == code) for code in range(codes.max(initial=-1) + 1))
