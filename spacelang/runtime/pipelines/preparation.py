"""The preparation: what must be done to a table before the pipelines of a space can take it.

Where the space does not handle them itself, missing values are imputed with the most common value and categories are
one-hot encoded, as in the BLDS paper's experiments. What is done is said in one sentence, for the output.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce
from math import isnan, nan
from typing import Any, Final

import numpy as np
import pandas as pd

from spacelang.catalog import Role
from spacelang.ir.domain import Categorical, Simple, parts
from spacelang.ir.space import Choice, Hyperparameter, Kind, Node, Operator, Product, Space, operators, products
from spacelang.runtime.data.content import Content, content_of, is_text
from spacelang.runtime.data.sparse import Features
from spacelang.runtime.errors import DataError
from spacelang.runtime.pipelines.columns import READERS, TableColumn
from spacelang.runtime.pipelines.library import entry

IMPUTERS: Final = "sklearn.impute"
"""The module whose operators fill in missing values."""

ENCODERS: Final = frozenset({"OneHotEncoder", "OrdinalEncoder", "TargetEncoder"})
"""The operators that turn text into numbers. Predictors that take categories take only pandas' category type."""

CATEGORIES_OF_MISSING: Final = frozenset({"OneHotEncoder", "TargetEncoder"})
"""The operators to which a missing value is a category like any other, so that none comes out of them.

`OrdinalEncoder` gives it a number of its own, where `encoded_missing_value` is one: by default it is NaN.
"""

DENSE: Final = "give them as a table: a DataFrame, or a file of another format"

TEXT_STRATEGIES: Final = frozenset({"most_frequent", "constant"})
"""The strategies with which a `SimpleImputer` takes text."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """What is done to which columns, by name and in the order of the table.

    A column may be `imputed` and `encoded` both; `kept` ones pass as they are, `dropped` ones hold no value at all.
    `numbered` are those of the kept ones whose missing values are numbers by an `OrdinalEncoder` of the space: earlier
    versions imputed them all the same.
    `table` are the columns that the pipeline takes, where it takes a DataFrame rather than an array: it selects
    columns, or text reaches it. Those that are encoded are numbers in it, under names of their own.
    """

    imputed: tuple[str, ...] = ()
    encoded: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    numbered: tuple[str, ...] = ()
    table: tuple[TableColumn, ...] | None = None

    @property
    def keeps_table(self) -> bool:
        """Whether the pipeline takes a DataFrame."""
        return self.table is not None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is done."""
        return not (self.imputed or self.encoded or self.dropped)

    @property
    def sentence(self) -> str:
        """What is done, as one sentence for people; empty where nothing is."""
        done = []
        if self.imputed:
            done.append(f"missing values in {_columns(self.imputed)} imputed with the most common value")
        if self.encoded:
            done.append(f"{_columns(self.encoded)} of categories one-hot encoded")
        if self.dropped:
            done.append(f"{_columns(self.dropped)} without any value left out")
        return f"Before the pipeline: {', '.join(done)}." if done else ""

    @property
    def formerly_imputed(self) -> str:
        """What becomes of missing values that earlier versions imputed, in words; empty where they did the same."""
        return f"numbered by the space in {_columns(self.numbered)}" if self.numbered else ""

    def transformer(self) -> Any:
        """An unfitted `ColumnTransformer` that takes the table as a DataFrame; None where nothing is done.

        Its output is dense: an array of floats, or a DataFrame where categories are kept.
        """
        if self.is_empty:
            return None
        from sklearn.compose import ColumnTransformer
        from sklearn.pipeline import Pipeline

        encoded = {*self.encoded}
        # Beside categories numbers would be imputed as objects, and be no numbers any more.
        categories = {column.name for column in self.table or () if column.content is Content.CATEGORY}
        imputed = [column for column in self.imputed if column not in encoded]
        parts = [
            ("kept", "passthrough", list(self.kept)),
            ("imputed", _imputer(), [column for column in imputed if column not in categories]),
            ("imputed_categories", _imputer(), [column for column in imputed if column in categories]),
            ("encoded", _encoder(), [column for column in self.encoded if column not in self.imputed]),
            (
                "imputed_encoded",
                Pipeline([("imputer", _imputer()), ("encoder", _encoder())]),
                [column for column in self.encoded if column in self.imputed],
            ),
        ]
        chosen = [part for part in parts if part[2]]
        if self.keeps_table:
            return ColumnTransformer(chosen, verbose_feature_names_out=False).set_output(transform="pandas")
        return ColumnTransformer(chosen)


def plan(space: Space, features: Features) -> Preparation:
    """The preparation that every pipeline of the space needs for this table; sparse features are taken as they are.

    Raises DataError for columns that no preparation makes usable: infinite numbers, dates, mixed types, free text
    where the space needs numbers, or no column with a value at all; and for sparse features that lack values where the
    space does not fill them in, or of which it selects columns.
    """
    if not isinstance(features, pd.DataFrame):
        _refuse_sparse(space, features)
        return Preparation()
    selected = {selector.kind for product in products(space.root) for selector in product.selectors}
    columns = [_column(features[name]) for name in features.columns]
    used = [column for column in columns if column.content is not Content.EMPTY]
    if not used:
        raise DataError("no column of the features holds any value")
    for column in columns:
        # Of what no part selects no pipeline is given anything.
        if _flow(space.root, _whatever, column) is not _Flow.ENDS:
            _refuse_unusable(features[column.name], column.content, dates="datetime" in selected)
    categories = [column for column in used if column.content is Content.CATEGORY]
    encoded = {column for column in categories if _flow(space.root, _categories, column) is not _Flow.ENDS}
    # A missing category that is encoded here never reaches the space, so the space cannot be the one to handle it.
    imputed = {
        column
        for column in used
        if column.lacks_values and (column in encoded or _flow(space.root, _missing, column) is _Flow.BREAKS)
    }
    for column in used:
        _refuse_unprepared(features[column.name], column, encoded=column in encoded, imputed=column in imputed)
    keeps_table = bool(selected) or len(encoded) < len(categories)
    return Preparation(
        imputed=_names(column for column in used if column in imputed),
        encoded=_names(column for column in used if column in encoded),
        kept=_names(column for column in used if column not in imputed | encoded),
        dropped=_names(column for column in columns if column not in used),
        numbered=_names(
            column
            for column in used
            if column.lacks_values
            and column not in imputed
            and _flow(space.root, _missing_formerly, column) is _Flow.BREAKS
        ),
        table=tuple(_prepared(column, encoded, imputed) for column in used) if keeps_table else None,
    )


def _column(values: pd.Series) -> TableColumn:
    content = content_of(values)
    lacks_values = bool(values.isna().any())
    return TableColumn(str(values.name), content, content is Content.CATEGORY and is_text(values), lacks_values)


def _names(columns: Iterable[TableColumn]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def _prepared(column: TableColumn, encoded: set[TableColumn], imputed: set[TableColumn]) -> TableColumn:
    """A column as the pipeline sees it."""
    content = Content.NUMBER if column in encoded else column.content
    return replace(column, content=content, lacks_values=column.lacks_values and column not in imputed)


def _refuse_sparse(space: Space, features: Any) -> None:
    """Raise DataError for sparse features that would have to be prepared."""
    selectors = (selector for product in products(space.root) for selector in product.selectors)
    if any(selector.kind != "all" for selector in selectors):
        raise DataError("the space selects columns, and sparse features have no names and types", DENSE)
    if features.nnz == 0:
        raise DataError("the features are zero everywhere")
    if bool(np.isinf(features.data).any()):
        raise DataError("the sparse features hold infinite values", "replace them")
    missing = int(np.isnan(features.data).sum())
    if missing and _flow(space.root, _missing, TableColumn("", Content.NUMBER, False)) is _Flow.BREAKS:
        values = "1 value" if missing == 1 else f"{missing} values"
        raise DataError(
            f"the sparse features lack {values}", "begin the space with an operator such as `SimpleImputer`"
        )


class _Flow(Enum):
    """What becomes of a troublesome value in a part of a pipeline, whatever is chosen there."""

    PASSES = "it may come out again"
    ENDS = "it is taken, and never comes out"
    BREAKS = "some alternative does not take it"


def _flow(node: Node, judge: Callable[[Operator], _Flow], column: TableColumn) -> _Flow:
    match node:
        case Operator():
            return judge(node)
        case Choice():
            return _alternatives([_flow(branch.node, judge, column) for branch in node.branches])
        case Product(kind=Kind.SEQUENCE):
            flows = [_flow(child, judge, column) for child in node.children]
            return reduce(lambda so_far, flow: flow if so_far is _Flow.PASSES else so_far, flows, _Flow.PASSES)
        case Product(kind=Kind.COLUMNS):
            parts = zip(node.selectors, node.children, strict=True)
            taking = [child for selector, child in parts if column.is_taken(selector, node.selectors)]
            return _alternatives([_flow(child, judge, column) for child in taking], nowhere=_Flow.ENDS)
        case Product(kind=Kind.PERMUTATION):
            # Every step is there, and each may come first.
            flows = [_flow(child, judge, column) for child in node.children]
            return next((flow for flow in (_Flow.BREAKS, _Flow.ENDS) if flow in flows), _Flow.PASSES)
        case Product():
            return _alternatives([_flow(child, judge, column) for child in node.children])
        case Hyperparameter():
            return _Flow.PASSES


def _alternatives(flows: list[_Flow], nowhere: _Flow = _Flow.PASSES) -> _Flow:
    if not flows:
        return nowhere
    if _Flow.BREAKS in flows:
        return _Flow.BREAKS
    return _Flow.PASSES if _Flow.PASSES in flows else _Flow.ENDS


def _whatever(operator: Operator) -> _Flow:  # noqa: ARG001 - a judge of operators like the others
    return _Flow.BREAKS


def _missing(operator: Operator) -> _Flow:
    if operator.name == "OrdinalEncoder" and not any(map(_is_missing, _values(operator, "encoded_missing_value", nan))):
        return _Flow.ENDS
    return _missing_formerly(operator)


def _missing_formerly(operator: Operator) -> _Flow:
    """What earlier versions saw: a missing value passed every `OrdinalEncoder`."""
    if entry(operator).module in {IMPUTERS, READERS} or operator.name in CATEGORIES_OF_MISSING:
        return _Flow.ENDS
    # An ensemble takes what the operators inside it take.
    return _Flow.PASSES if all(entry(inner).accepts_missing for inner in operators(operator)) else _Flow.BREAKS


def _categories(operator: Operator) -> _Flow:
    known = entry(operator)
    if operator.name in ENCODERS or known.module == READERS:
        return _Flow.ENDS
    if operator.name == "SimpleImputer":
        return _Flow.PASSES if _values(operator, "strategy", "mean") <= TEXT_STRATEGIES else _Flow.BREAKS
    passes = known.accepts_categories and Role.TRANSFORMER in known.roles
    return _Flow.PASSES if passes else _Flow.BREAKS


def _values(operator: Operator, parameter: str, default: object) -> set[object]:
    """Values that a parameter may have in a space: all that are named, and an end of each range of numbers."""
    fixed = dict(operator.fixed)
    if parameter in fixed:
        return {fixed[parameter]}
    for child in operator.children:
        if isinstance(child, Hyperparameter) and child.name == parameter:
            named: set[object] = {value for part in parts(child.domain) for value in _named(part)}
            return named | ({default} if child.condition is not None else set())
    return {default}


def _named(part: Simple) -> tuple[object, ...]:
    return part.values if isinstance(part, Categorical) else (part.lower,)


def _is_missing(value: object) -> bool:
    return isinstance(value, float) and isnan(value)


def _refuse_unusable(column: pd.Series, kind: Content, *, dates: bool) -> None:
    """Raise DataError for values that no preparation makes usable; dates are usable where the space selects `dates`."""
    match kind:
        case Content.OTHER | Content.DATE if kind is Content.OTHER or not dates:
            _refuse_type(column)
        case Content.NUMBER if pd.api.types.is_complex_dtype(column):
            _refuse_type(column)
        case Content.NUMBER if bool(np.isinf(column.to_numpy(dtype=np.float64, na_value=np.nan)).any()):
            raise DataError(f"the column `{column.name}` holds infinite values", "replace them or leave the column out")
        case Content.CATEGORY:
            _refuse_mixture(column)
        case _:
            return


def _refuse_type(column: pd.Series) -> None:
    raise DataError(f"the column `{column.name}` holds values of the type `{column.dtype}`", "turn them into numbers")


def _refuse_mixture(column: pd.Series) -> None:
    if pd.api.types.is_object_dtype(column):
        inferred = pd.api.types.infer_dtype(column, skipna=True)
        if inferred not in {"string", "boolean"}:
            raise DataError(
                f"the column `{column.name}` holds values of the type `{inferred}`",
                "make all of its values numbers or all text",
            )
    elif getattr(column.dtype, "na_value", None) is pd.NA and bool(column.isna().any()):
        raise DataError(
            f"the column `{column.name}` marks missing values by `pd.NA`, which scikit-learn does not take",
            "mark them by None: `column.astype(object).where(column.notna(), None)`",
        )


def _refuse_unprepared(values: pd.Series, column: TableColumn, *, encoded: bool, imputed: bool) -> None:
    """Raise DataError for text that would have to be encoded, and for dates that would have to be imputed."""
    if encoded and column.is_text:
        raise DataError(
            f"the column `{column.name}` holds text where numbers are needed: {values.nunique()} different values "
            f"in {len(values)} rows",
            "leave the column out, or begin the space with an operator that encodes it, such as `TargetEncoder`",
        )
    if imputed and column.content is Content.DATE:
        raise DataError(
            f"the column `{column.name}` lacks dates in {int(values.isna().sum())} of {len(values)} rows",
            "fill them in, or impute what the space makes of dates: `datetime: OrdinalEncoder -> SimpleImputer`",
        )


def _imputer() -> Any:
    from sklearn.impute import SimpleImputer

    # A column without a value in the training part is kept, so that the width does not depend on the split.
    return SimpleImputer(strategy="most_frequent", keep_empty_features=True)


def _encoder() -> Any:
    from sklearn.preprocessing import OneHotEncoder

    return OneHotEncoder(handle_unknown="ignore", sparse_output=False)


def _columns(columns: tuple[str, ...]) -> str:
    shown = ", ".join(f"`{column}`" for column in columns[:3])
    return f"column {shown}" if len(columns) == 1 else f"{len(columns)} columns ({shown}{', ...' * (len(columns) > 3)})"
