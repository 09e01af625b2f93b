"""The preparation of a table before the pipelines of a space: imputation, one-hot encoding and dropping of columns.

Missing values that the space does not handle are imputed with the most frequent value, numbers too, and categories that
it does not handle are one-hot encoded. The experiments of the papers do both, and stored runs continue with both.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from math import isnan, nan
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from spacelang.catalog import OperatorRole
from spacelang.ir.configuration import Configuration
from spacelang.ir.data_binding import DataColumn
from spacelang.ir.domain import Categorical, parts
from spacelang.ir.space import Choice, Hyperparameter, Node, Operator, Product, ProductKind, Space, operators
from spacelang.ir.walk import products
from spacelang.runtime.data.tables import (
    LARGE_INTEGERS,
    ColumnContent,
    Features,
    column_content,
    holds_large_integers,
    is_free_text,
)
from spacelang.runtime.errors import DataError
from spacelang.runtime.pipelines.catalogue_access import catalogue_entry
from spacelang.runtime.pipelines.columns import READERS, TableColumn

IMPUTER_MODULE: Final = "sklearn.impute"  # The module whose operators impute missing values
ENCODERS: Final = frozenset({"OneHotEncoder", "OrdinalEncoder", "TargetEncoder"})
"""The operators that encode text as numbers. Predictors that accept categories need the category type of pandas."""
CATEGORIES_OF_MISSING: Final = frozenset({"OneHotEncoder", "TargetEncoder"})
"""The encoders that treat a missing value as a category; `OrdinalEncoder` gives `encoded_missing_value` (NaN)."""
DENSE_HELP: Final = "pass a DataFrame, or use a file of another format"
TEXT_STRATEGIES: Final = frozenset({"most_frequent", "constant"})  # The strategies of `SimpleImputer` that accept text


@dataclass(frozen=True, slots=True)
class Preparation:
    """A plan of which columns are prepared how; columns are given by name, in the order of the table.

    A column can be both `imputed` and `encoded`. Columns in `kept` pass unchanged, and those in `dropped` have only
    missing values. `numbered` are the kept columns whose missing values an `OrdinalEncoder` of the space replaces by
    numbers; earlier versions imputed them nevertheless.

    `table` describes the columns that the pipeline gets if it takes a DataFrame instead of an array. It does if it
    selects columns, or if text reaches it. In it, encoded columns are numbers with their own names.

    `missing` are the numeric columns with missing values that the pipeline gets.
    """

    imputed: tuple[str, ...] = ()
    encoded: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    numbered: tuple[str, ...] = ()
    table: tuple[TableColumn, ...] | None = None
    missing: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[DataColumn, ...] | None:
        """The columns that the pipeline gets, as far as their names are known; None if it takes an array.

        A one-hot encoded column becomes several, whose names depend on the training rows.
        """
        if self.table is None:
            return None
        encoded = {*self.encoded}
        return tuple(DataColumn("numeric") if each.name in encoded else each.as_data_column for each in self.table)

    @property
    def takes_dataframe(self) -> bool:
        """True if the pipeline takes a DataFrame."""
        return self.table is not None

    @property
    def is_empty(self) -> bool:
        """True if the preparation changes nothing."""
        return not (self.imputed or self.encoded or self.dropped)

    @property
    def description_sentence(self) -> str:
        """The preparation in one sentence for users; empty if it changes nothing."""
        done = []
        if self.imputed:
            done.append(f"missing values in {_format_columns(self.imputed)} imputed with the most frequent value")
        if self.encoded:
            done.append(f"categories in {_format_columns(self.encoded)} one-hot encoded")
        if self.dropped:
            done.append(f"{_format_columns(self.dropped)} dropped because all values are missing")
        return f"Before the pipeline: {', '.join(done)}." if done else ""

    @property
    def formerly_imputed_columns_text(self) -> str:
        """A text about the columns in `numbered`, which earlier versions imputed; empty if there are none."""
        # Stored in the headers of runs and compared with them: never change this text.
        return f"numbered by the space in {_format_columns(self.numbered)}" if self.numbered else ""

    def restricted_to(self, columns: Collection[str]) -> "Preparation":
        """Return the plan for a table that has only these columns of the planned table."""
        named = ("imputed", "encoded", "kept", "dropped", "numbered", "missing")
        fewer = {name: tuple(each for each in getattr(self, name) if each in columns) for name in named}
        table = None if self.table is None else tuple(each for each in self.table if each.name in columns)
        return Preparation(**fewer, table=table)

    def make_transformer(self) -> Any:
        """Return an unfitted `ColumnTransformer` with dense output (array or DataFrame), or None if nothing changes."""
        if self.is_empty:
            return None
        encoded = {*self.encoded}
        # In one imputer with categories, numbers would become objects.
        categories = {column.name for column in self.table or () if column.content is ColumnContent.CATEGORY}
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
        if self.takes_dataframe:
            return ColumnTransformer(chosen, verbose_feature_names_out=False).set_output(transform="pandas")
        return ColumnTransformer(chosen)


def plan_preparation(space: Space, features: Features) -> Preparation:
    """Return the preparation that a table needs before any pipeline of the space; sparse features need none.

    Raise DataError for columns that cannot be prepared. These have infinite numbers, dates, mixed types, or free text
    where the space needs numbers. Raise it also if all values are missing. Sparse features are refused if they have
    missing values that the space does not impute, and if the space selects columns.
    """
    if not isinstance(features, pd.DataFrame):
        _refuse_sparse(space, features)
        return Preparation()
    selected = {selector.kind for product in products(space.root) for selector in product.selectors}
    columns = [_describe_column(features[name]) for name in features.columns]
    used = [column for column in columns if column.content is not ColumnContent.EMPTY]
    if not used:
        raise DataError("all values of all feature columns are missing")
    for column in columns:
        # A column that no part selects reaches no operator, so it may hold anything.
        if any(_trace(space.root, _never_accepted, each) is not _Flow.ENDS for each in _as_selected(column, features)):
            _refuse_unusable(features[column.name], column.content, dates="datetime" in selected)
    categories = [column for column in used if column.content is ColumnContent.CATEGORY]
    encoded = {column for column in categories if _trace(space.root, _category_flow, column) is not _Flow.ENDS}
    # A category that is encoded here is imputed here, too: the space never sees it as missing.
    gappy = [column for column in used if column.lacks_values]
    imputed = {
        each for each in gappy if each in encoded or _trace(space.root, _missing_value_flow, each) is _Flow.BREAKS
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
            each
            for each in gappy
            if each not in imputed and _trace(space.root, _missing_value_flow_in_earlier_versions, each) is _Flow.BREAKS
        ),
        table=tuple(_prepared_column(column, encoded, imputed) for column in used) if keeps_table else None,
        missing=_names(each for each in gappy if each not in imputed and each.content is ColumnContent.NUMBER),
    )


def _describe_column(values: pd.Series) -> TableColumn:
    content = column_content(values)
    is_text = content is ColumnContent.CATEGORY and is_free_text(values)
    return TableColumn(str(values.name), content, is_text, bool(values.isna().any()))


def _as_selected(column: TableColumn, features: pd.DataFrame) -> tuple[TableColumn, ...]:
    """Return the column, and for durations also as numbers: `make_column_selector` takes them for both."""
    is_duration = pd.api.types.is_timedelta64_dtype(features[column.name])
    return (column, replace(column, content=ColumnContent.NUMBER)) if is_duration else (column,)


def _names(columns: Iterable[TableColumn]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def _prepared_column(column: TableColumn, encoded: set[TableColumn], imputed: set[TableColumn]) -> TableColumn:
    content = ColumnContent.NUMBER if column in encoded else column.content
    return replace(column, content=content, lacks_values=column.lacks_values and column not in imputed)


def _refuse_sparse(space: Space, features: Any) -> None:
    selectors = (selector for product in products(space.root) for selector in product.selectors)
    if any(selector.kind != "all" for selector in selectors):
        raise DataError("the space selects columns, but sparse features have no column names and types", DENSE_HELP)
    if features.nnz == 0:
        raise DataError("all features are zero")
    if bool(np.isinf(features.data).any()):
        raise DataError("the sparse features contain infinite values", "replace them")
    missing = int(np.isnan(features.data).sum())
    column = TableColumn("", ColumnContent.NUMBER)
    if missing and _trace(space.root, _missing_value_flow, column) is _Flow.BREAKS:
        values = "1 missing value" if missing == 1 else f"{missing} missing values"
        remedy = "start the space with an operator such as `SimpleImputer`"
        raise DataError(f"the sparse features have {values}", remedy)


class _Flow(Enum):
    """The fate of a problematic value, such as a missing one, in a part of a pipeline over all of its alternatives."""

    PASSES = "the value may be in the output"
    """Every alternative accepts the value, and at least one may output it again."""
    ENDS = "the value is accepted, and is never in the output"
    """Every alternative accepts the value, and none outputs it again."""
    BREAKS = "some alternative does not accept the value"  # At least one alternative does not accept the value


def _trace(
    node: Node, judge: Callable[[Operator], _Flow], column: TableColumn, chosen: Configuration | None = None
) -> _Flow:
    """Return the fate of a value of a column in a node; with `chosen`, only in the pipeline of that configuration."""

    def trace(child: Node) -> _Flow:
        return _trace(child, judge, column, chosen)

    match node:
        case Operator():
            return judge(node)
        case Choice():
            taken = node.branches if chosen is None else [node.branches[node.branch_indices[str(chosen[node.key])]]]
            return _combine([trace(branch.node) for branch in taken])
        case Product(kind=ProductKind.SEQUENCE | ProductKind.PERMUTATION):
            return _trace_steps(node, trace, chosen)
        case Product(kind=ProductKind.COLUMNS):
            parts = zip(node.selectors, node.children, strict=True)
            taking = [child for selector, child in parts if column.is_selected_by(selector, node.selectors)]
            return _combine([*map(trace, taking)], nowhere=_Flow.ENDS)
        case Product():
            return _combine([*map(trace, node.children)])
        case Hyperparameter():
            return _Flow.PASSES


def _trace_steps(node: Product, trace: Callable[[Node], _Flow], chosen: Configuration | None) -> _Flow:
    """Return the fate of a value in the steps of a sequence or a permutation, all of which are present."""
    steps, order = node.children, node.children[0] if node.kind is ProductKind.PERMUTATION else None
    if isinstance(order, Choice) and chosen is not None:
        steps = node.steps_in_order(str(chosen[order.key]))
    elif order is not None:  # each step may be the first
        flows = {*map(trace, steps)}
        return next((flow for flow in (_Flow.BREAKS, _Flow.ENDS) if flow in flows), _Flow.PASSES)
    return next((flow for flow in map(trace, steps) if flow is not _Flow.PASSES), _Flow.PASSES)


def used_columns(
    space: Space, configurations: Iterable[Configuration | None], preparation: Preparation
) -> frozenset[str]:
    """Return the names of the columns that an operator gets in the pipeline of at least one configuration.

    None among the configurations stands for all of the space. A column is not used if all its values are missing, or if
    no chosen part of `columns(…)` selects it. A column that the preparation one-hot encodes always counts as used,
    because the names of its parts are not known.
    """
    if preparation.table is None:
        return frozenset((*preparation.kept, *preparation.imputed, *preparation.encoded))
    chosen = [*configurations]
    names = (
        column.name
        for column in preparation.table
        if any(_trace(space.root, _never_accepted, column, each) is not _Flow.ENDS for each in chosen)
    )
    return frozenset((*names, *preparation.encoded))


def _combine(flows: list[_Flow], nowhere: _Flow = _Flow.PASSES) -> _Flow:
    if not flows:
        return nowhere
    if _Flow.BREAKS in flows:
        return _Flow.BREAKS
    return _Flow.PASSES if _Flow.PASSES in flows else _Flow.ENDS


def _never_accepted(operator: Operator) -> _Flow:  # noqa: ARG001 - has the signature of the other functions of operators
    return _Flow.BREAKS


def _missing_value_flow(operator: Operator) -> _Flow:
    if operator.name == "OrdinalEncoder":
        codes = _possible_values(operator, "encoded_missing_value", nan)
        if not any(isinstance(code, float) and isnan(code) for code in codes):
            return _Flow.ENDS
    return _missing_value_flow_in_earlier_versions(operator)


def _missing_value_flow_in_earlier_versions(operator: Operator) -> _Flow:
    """Return the fate of a missing value as earlier versions saw it: every `OrdinalEncoder` passed it on."""
    if catalogue_entry(operator).module in {IMPUTER_MODULE, READERS} or operator.name in CATEGORIES_OF_MISSING:
        return _Flow.ENDS
    # An ensemble accepts missing values if all operators inside it do.
    passes = all(catalogue_entry(inner).accepts_missing for inner in operators(operator))
    return _Flow.PASSES if passes else _Flow.BREAKS


def _category_flow(operator: Operator) -> _Flow:
    known = catalogue_entry(operator)
    if operator.name in ENCODERS or known.module == READERS:
        return _Flow.ENDS
    if operator.name == "SimpleImputer":
        passes = _possible_values(operator, "strategy", "mean") <= TEXT_STRATEGIES
    else:
        passes = known.accepts_categories and OperatorRole.TRANSFORMER in known.roles
    return _Flow.PASSES if passes else _Flow.BREAKS


_ANY_VALUE: Final = object()  # Stands for a value that is not known in advance, such as a computed one


def _possible_values(operator: Operator, parameter: str, default: object) -> set[object]:
    """Return the values that a space may give a parameter: all named ones, and the lower end of each range.

    The `default` is among them if the space may leave it; a computed value is `_ANY_VALUE`.
    """
    fixed = dict(operator.fixed)
    if parameter in fixed:
        return {fixed[parameter]}
    made = {*(each.name for each in operator.computed), *(each.name for each in operator.tuples)}
    if parameter in made:
        return {_ANY_VALUE}
    for child in operator.children:
        if isinstance(child, Hyperparameter) and child.name == parameter and not child.is_var:
            named: set[object] = set()
            for part in parts(child.domain):
                named |= {*part.values} if isinstance(part, Categorical) else {part.lower}
            return named | ({default} if child.condition is not None else set())
    return {default}


def _refuse_unusable(column: pd.Series, kind: ColumnContent, *, dates: bool) -> None:
    """Raise DataError for values that cannot be prepared; `dates` is True if the space selects date columns."""
    name, is_number = f"the column `{column.name}`", kind is ColumnContent.NUMBER
    unusable = (ColumnContent.OTHER,) if dates else (ColumnContent.OTHER, ColumnContent.DATE)
    if kind in unusable or (is_number and pd.api.types.is_complex_dtype(column)):
        raise DataError(f"{name} holds values of the type `{column.dtype}`", "convert the values to numbers")
    if is_number and bool(np.isinf(column.to_numpy(dtype=np.float64, na_value=np.nan)).any()):
        raise DataError(f"{name} holds infinite values", "replace these values or drop the column")
    if kind is not ColumnContent.CATEGORY:
        return
    if holds_large_integers(column):
        raise DataError(f"{name} holds {LARGE_INTEGERS}", "write them with a decimal point, or drop the column")
    if pd.api.types.is_object_dtype(column):
        inferred = pd.api.types.infer_dtype(column, skipna=True)
        if inferred not in {"string", "boolean"}:
            help_text = "make all of its values numbers, or all of them text"
            raise DataError(f"{name} holds values of the type `{inferred}`", help_text)
    elif getattr(column.dtype, "na_value", None) is pd.NA and bool(column.isna().any()):
        what = f"{name} marks missing values by `pd.NA`, which scikit-learn does not support"
        raise DataError(what, "mark missing values by None: `column.astype(object).where(column.notna(), None)`")


def _refuse_unprepared(values: pd.Series, column: TableColumn, *, encoded: bool, imputed: bool) -> None:
    if encoded and column.is_text:
        what = (
            f"the column `{column.name}` contains text where numbers are needed: "
            f"{values.nunique()} different values in {len(values)} rows"
        )
        remedy = "drop the column, or start the space with an operator that encodes it, such as `TargetEncoder`"
        raise DataError(what, remedy)
    if imputed and column.content is ColumnContent.DATE:
        what = f"the column `{column.name}` has missing dates in {values.isna().sum()} of {len(values)} rows"
        remedy = "fill them in, or let the space impute the encoded dates: `datetime: OrdinalEncoder -> SimpleImputer`"
        raise DataError(what, remedy)


def _imputer() -> Any:
    from sklearn.impute import SimpleImputer

    # Columns without values in the training part stay, so that the number of columns does not depend on the split.
    return SimpleImputer(strategy="most_frequent", keep_empty_features=True)


def _encoder() -> Any:
    from sklearn.preprocessing import OneHotEncoder

    return OneHotEncoder(handle_unknown="ignore", sparse_output=False)


def _format_columns(columns: tuple[str, ...]) -> str:
    shown = ", ".join(f"`{column}`" for column in columns[:3])
    return f"column {shown}" if len(columns) == 1 else f"{len(columns)} columns ({shown}{', ...' * (len(columns) > 3)})"
