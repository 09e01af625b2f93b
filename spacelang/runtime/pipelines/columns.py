"""Columns of a table by what they hold: the selectors of `columns(…)` as scikit-learn takes them."""

import re
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from spacelang.ir.space import ColumnSelector
from spacelang.runtime.data.content import Content, is_text
from spacelang.runtime.pipelines.chain import named_apart

READERS: Final = "sklearn.feature_extraction.text"
"""The module whose operators read text: one column of it, a missing one like an empty one."""

STRINGS: Final = ("object", "string", "category", "bool")
DTYPES: Final = {"numeric": ("number",), "categorical": STRINGS, "datetime": ("datetime", "datetimetz")}
"""The types, as pandas names them, of the columns that a selector takes."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a known table, as the selectors of `columns(…)` see it."""

    name: str
    content: Content
    is_text: bool = False
    lacks_values: bool = False

    def is_taken(self, selector: ColumnSelector, others: tuple[ColumnSelector, ...]) -> bool:
        """Whether a selector, beside the others of the same `columns(…)`, takes the column."""
        match selector.kind:
            case "numeric":
                return self.content is Content.NUMBER
            case "datetime":
                return self.content is Content.DATE
            case "text":
                return self.is_text
            case "categorical":
                has_own = self.is_text and any(other.kind == "text" for other in others)
                return self.content is Content.CATEGORY and not has_own
            case "pattern":
                return re.search(selector.pattern, self.name) is not None
            case "rest":
                return not any(self.is_taken(other, others) for other in others if other != selector)
            case _:
                return True


Entry: TypeAlias = tuple[str, Any, Any]
"""A name, an unfitted transformer and the columns that it takes, as scikit-learn's `ColumnTransformer` has them."""


def entries(
    selector: ColumnSelector, part: Any, others: tuple[ColumnSelector, ...], taken: tuple[TableColumn, ...] | None
) -> list[Entry]:
    """What a `ColumnTransformer` takes for a part of `columns(…)`, whose selectors are `others`; not for its remainder.

    `taken` are the columns that the selector takes, where the table is known. What reads text, such as
    `TfidfVectorizer`, takes one column of it and no table: then there is an entry for each of them.
    """
    if taken is None or not reads_text(part):
        return [(selector.kind, transformer_of(part), _columns_of(selector, others, taken))]
    return [_reader(selector.kind, part, column) for column in taken]


def transformer_of(part: Any) -> Any:
    """What a `ColumnTransformer` takes for a part where no table is known; None passes the columns as they are."""
    if part is None:
        return "passthrough"
    return EachColumn(part) if reads_text(part) else part


def reads_text(part: Any) -> bool:
    """Whether what takes the columns first takes one column of text alone."""
    while isinstance(part, Pipeline | FeatureUnion):
        part = part.steps[0][1] if isinstance(part, Pipeline) else part.transformer_list[0][1]
    return type(part).__module__ == READERS


def _columns_of(
    selector: ColumnSelector, others: tuple[ColumnSelector, ...], taken: tuple[TableColumn, ...] | None
) -> Any:
    match selector.kind:
        case "all":
            return slice(None)
        case "pattern":
            return make_column_selector(pattern=selector.pattern)
        case "text":
            return Strings(text=True) if taken is None else _names(taken)
        case "categorical" if any(other.kind == "text" for other in others):
            return Strings(text=False) if taken is None else _names(taken)
        case kind:
            return make_column_selector(dtype_include=list(DTYPES[kind]))


def _names(columns: tuple[TableColumn, ...]) -> list[str]:
    return [column.name for column in columns]


def _reader(name: str, part: Any, column: TableColumn) -> Entry:
    """The entry of a column of text, which its reader takes without brackets: as a column, and no table of one."""
    if not column.lacks_values:
        return name, clone(part), column.name
    import numpy as np
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import FunctionTransformer

    # Kept also where the training rows have no text at all: the reader says that, and better.
    imputer = SimpleImputer(strategy="constant", fill_value="", keep_empty_features=True)
    steps = clone(part).steps if isinstance(part, Pipeline) else [(type(part).__name__.lower(), clone(part))]
    filled = [("imputer", imputer), ("column", FunctionTransformer(np.ravel)), *steps]
    return name, Pipeline(named_apart(filled)), [column.name]


@dataclass(frozen=True, slots=True)
class Strings:
    """Selects, when it is fitted, the columns of strings that hold free text, or those that hold categories.

    For pipelines that are made before their table is known: the rows that it is fitted on tell.
    """

    text: bool

    def __call__(self, table: Any) -> list[Any]:
        """The names of the columns; `table` is a DataFrame."""
        chosen = make_column_selector(dtype_include=list(STRINGS))(table)
        return [name for name in chosen if is_text(table[name]) == self.text]


class EachColumn(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Gives each column of a table to a transformer of its own, and the features of all side by side.

    For pipelines that are made before their table is known, as `Strings` is.
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, table: Any, target: Any = None) -> "EachColumn":
        """Fit one copy of the transformer a column."""
        self.transformers_ = [clone(self.transformer).fit(column, target) for column in texts_of(table)]
        return self

    def transform(self, table: Any) -> Any:
        """The features of all columns: a sparse matrix where one of them is, else an array."""
        import numpy as np
        from scipy import sparse

        parts = [fitted.transform(column) for fitted, column in zip(self.transformers_, texts_of(table), strict=True)]
        if not parts:
            return np.empty((len(table), 0))
        return sparse.hstack(parts).tocsr() if any(map(sparse.issparse, parts)) else np.hstack(parts)


def texts_of(table: Any) -> list[Any]:
    """The columns of text one by one; a missing text is an empty one."""
    return [table[name].astype(object).where(table[name].notna(), "") for name in table.columns]
