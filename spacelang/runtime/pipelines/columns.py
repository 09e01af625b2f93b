"""Columns of a table by what they hold: the selectors of `columns(…)` as scikit-learn takes them."""

from dataclasses import dataclass
from typing import Any, Final

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from spacelang.ir.space import Selector

TEXT_VALUES: Final = 200
"""A column of strings is free text, no category, if it has more different values than this in most of its rows."""

READERS: Final = "sklearn.feature_extraction.text"
"""The module whose operators read text: one column of it, a missing one like an empty one."""

STRINGS: Final = ("object", "string", "category", "bool")
DTYPES: Final = {"numeric": ("number",), "categorical": STRINGS, "datetime": ("datetime", "datetimetz")}
"""The types, as pandas names them, of the columns that a selector takes."""


@dataclass(frozen=True, slots=True)
class Strings:
    """Selects, when it is fitted, the columns of strings that hold free text, or those that hold categories.

    `known` are the columns of free text where these are known; otherwise the rows that it is fitted on tell.
    """

    text: bool
    known: tuple[Any, ...] | None = None

    def __call__(self, table: Any) -> list[Any]:
        """The names of the columns; `table` is a DataFrame."""
        chosen = make_column_selector(dtype_include=list(STRINGS))(table)
        found = {name for name in chosen if is_text(table[name])} if self.known is None else {*self.known}
        return [name for name in chosen if (name in found) == self.text]


def is_text(column: Any) -> bool:
    """Whether a column of strings holds free text: most of its values are different."""
    distinct = column.nunique()
    return bool(distinct > TEXT_VALUES and 2 * distinct > len(column))


def columns_of(selector: Selector, *, besides_text: bool, texts: tuple[Any, ...] | None) -> Any:
    """What scikit-learn's `ColumnTransformer` takes for a selector; `rest` is its remainder and not asked for here.

    `besides_text` says that columns of free text have a selector of their own: then they are no categories. `texts`
    are these columns where the table is known.
    """
    match selector.kind:
        case "all":
            return slice(None)
        case "pattern":
            return make_column_selector(pattern=selector.pattern)
        case "text":
            return Strings(text=True, known=texts)
        case "categorical" if besides_text:
            return Strings(text=False, known=texts)
        case kind:
            return make_column_selector(dtype_include=list(DTYPES[kind]))


def reads_text(part: Any) -> bool:
    """Whether what takes the columns first takes one column of text alone."""
    while isinstance(part, Pipeline | FeatureUnion):
        part = part.steps[0][1] if isinstance(part, Pipeline) else part.transformer_list[0][1]
    return type(part).__module__ == READERS


class EachColumn(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Gives each column of a table to a transformer of its own, and the features of all side by side.

    What reads text, such as `TfidfVectorizer`, takes one column of it and not a table.
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, table: Any, target: Any = None) -> "EachColumn":
        """Fit one copy of the transformer a column."""
        self.transformers_ = [clone(self.transformer).fit(column, target) for column in _columns(table)]
        return self

    def transform(self, table: Any) -> Any:
        """The features of all columns: a sparse matrix where one of them is, else an array."""
        import numpy as np
        from scipy import sparse

        parts = [fitted.transform(column) for fitted, column in zip(self.transformers_, _columns(table), strict=True)]
        if not parts:
            return np.empty((len(table), 0))
        return sparse.hstack(parts).tocsr() if any(map(sparse.issparse, parts)) else np.hstack(parts)


def _columns(table: Any) -> list[Any]:
    """The columns one by one; a missing text is an empty one."""
    return [table[name].astype(object).where(table[name].notna(), "") for name in table.columns]
