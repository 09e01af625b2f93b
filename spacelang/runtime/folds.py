"""The rows as all trials share them: split, prepared and in the order in which training takes them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np
import pandas as pd

from spacelang.ir.task import CrossValidation, Holdout, Validation
from spacelang.runtime.errors import DataError, suggestion
from spacelang.runtime.labels import Dataset
from spacelang.runtime.preparation import Preparation
from spacelang.runtime.split import (
    Rows,
    plain_folds,
    plain_holdout,
    stratified_folds,
    stratified_holdout,
    stratified_order,
)


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One split: the prepared rows, those for training in the order in which trials take them.

    `groups` has, for each column that forms groups, the places of each group among the held-out rows.
    """

    training: Any
    training_target: Any
    held_out: Any
    held_out_target: Any
    groups: Mapping[str, tuple[Rows, ...]] = field(default_factory=dict)


def make_folds(
    dataset: Dataset, validation: Validation, seed: int, preparation: Preparation, columns: Iterable[str] = ()
) -> tuple[Fold, ...]:
    """One fold for a holdout, k for a cross-validation, the same for the same seed; `columns` form groups.

    Raises DataError for what the rows do not allow, and for a column that is not there or forms no groups.
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
        found.append(Fold(*parts, groups))
    return tuple(found)


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
        case _:
            assert_never(validation)


def _prepared(
    features: pd.DataFrame, preparation: Preparation, training: Rows, held_out: Rows, target: Any
) -> tuple[Any, Any, Any, Any]:
    fitting, judging = features.iloc[training], features.iloc[held_out]
    transformer = preparation.transformer()
    if transformer is not None:
        fitting, judging = transformer.fit_transform(fitting), transformer.transform(judging)
    if not preparation.keeps_table:
        fitting, judging = _array(fitting), _array(judging)
    return fitting, target[training], judging, target[held_out]


def _array(table: Any) -> Any:
    """An array of floats, whose first rows are a view rather than a copy."""
    return (
        table.to_numpy(dtype=np.float64, na_value=np.nan)
        if isinstance(table, pd.DataFrame)
        else table.astype(np.float64)
    )


def _grouping(dataset: Dataset, name: str) -> pd.Series:
    """The column that forms groups, as it is in the data."""
    columns = {str(column): column for column in dataset.features.columns}
    if name not in columns:
        raise DataError(f"the data has no column `{name}` to form groups", suggestion(name, columns))
    values: pd.Series = dataset.features[columns[name]]
    distinct = values.nunique()
    if distinct < 2 or distinct > len(values) / 2:
        held = "a single value" if distinct == 1 else f"{distinct} different values in {len(values)} rows"
        raise DataError(f"the column `{name}` forms no groups: it has {held}", "choose a column of categories")
    return values


def _groups(values: pd.Series) -> tuple[Rows, ...]:
    """The places of the rows of each value; rows without a value are in no group."""
    codes, _ = pd.factorize(values)
    return tuple(np.flatnonzero(codes == code) for code in range(codes.max(initial=-1) + 1))
