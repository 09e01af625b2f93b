"""Column selectors of `columns(…)` as entries of scikit-learn's `ColumnTransformer`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from spacelang.deprecation import make_module_getattr
from spacelang.ir.data_binding import DataColumn, is_selected
from spacelang.ir.space import ColumnSelector
from spacelang.runtime.data.tables import ColumnContent, is_free_text

READERS: Final = "sklearn.feature_extraction.text"
"""The module whose operators take one column of text; a missing text counts as an empty one."""
STRINGS: Final = ("object", "string", "category", "bool")
DTYPES: Final = {"numeric": ("number",), "categorical": STRINGS, "datetime": ("datetime", "datetimetz")}
"""The pandas data types of the columns that each selector takes."""
KINDS: Final = {ColumnContent.NUMBER: "numeric", ColumnContent.CATEGORY: "categorical", ColumnContent.DATE: "datetime"}
"""The word of selectors for the content of a column; text is marked by `TableColumn.is_text`."""
Entry: TypeAlias = tuple[str, Any, Any]
"""A name, an unfitted transformer and its columns: an entry of scikit-learn's `ColumnTransformer`."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a known table, with the properties that column selectors depend on."""

    name: str
    content: ColumnContent
    is_text: bool = False
    lacks_values: bool = False

    def is_selected_by(self, selector: ColumnSelector, all_selectors: tuple[ColumnSelector, ...]) -> bool:
        """Return True if a selector takes the column; `all_selectors` are all selectors of the same `columns(…)`."""
        return bool(is_selected(self.as_data_column, selector, all_selectors))

    @property
    def as_data_column(self) -> DataColumn:
        """The kind of the column, in the words of selectors, and its name."""
        is_text = self.is_text and self.content is ColumnContent.CATEGORY
        return DataColumn("text" if is_text else KINDS.get(self.content, self.content.value), self.name)


def transformer_entries(
    selector: ColumnSelector,
    part: Any,
    all_selectors: tuple[ColumnSelector, ...],
    matched_columns: tuple[TableColumn, ...] | None,
) -> list[Entry]:
    """Return the entries of a `ColumnTransformer` for a part of `columns(…)`, except for its remainder.

    `all_selectors` are all selectors of `columns(…)`. `matched_columns` are the columns that match the selector, or
    None if the table is not known. An operator that reads text, such as `TfidfVectorizer`, takes a single column
    instead of a table, so each column gets its own entry.
    """
    if matched_columns is None or not reads_text_column(part):
        return [(selector.kind, transformer_of(part), _columns_of(selector, all_selectors, matched_columns))]
    return [_text_entry(selector.kind, part, column) for column in matched_columns]


def transformer_of(part: Any) -> Any:
    """Return the transformer for a part if the table is not known: `passthrough` if the part is None.

    A part that reads text is fitted on each column separately.
    """
    if part is None:
        return "passthrough"
    return EachColumn(part) if reads_text_column(part) else part


def reads_text_column(part: Any) -> bool:
    """Return True if the first operator of a part takes a single column of text."""
    while isinstance(part, Pipeline | FeatureUnion):
        part = part.steps[0][1] if isinstance(part, Pipeline) else part.transformer_list[0][1]
    return type(part).__module__ == READERS


def _columns_of(
    selector: ColumnSelector, all_selectors: tuple[ColumnSelector, ...], matched_columns: tuple[TableColumn, ...] | None
) -> Any:
    match selector.kind:
        case "all":
            return slice(None)
        case "pattern":
            return make_column_selector(pattern=selector.pattern)
        case "text":
            return StringColumnSelector(text=True) if matched_columns is None else _names(matched_columns)
        case "categorical" if any(other.kind == "text" for other in all_selectors):
            return StringColumnSelector(text=False) if matched_columns is None else _names(matched_columns)
        case kind:
            return make_column_selector(dtype_include=list(DTYPES[kind]))


def _names(columns: tuple[TableColumn, ...]) -> list[str]:
    return [column.name for column in columns]


def _text_entry(name: str, part: Any, column: TableColumn) -> Entry:
    """Return the entry of a text column, passed as a column; if values are missing, empty text replaces them first."""
    if not column.lacks_values:
        return name, clone(part), column.name
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import FunctionTransformer

    # The column stays even if the training rows have no text: the operator that reads it has the better error message.
    imputer = SimpleImputer(strategy="constant", fill_value="", keep_empty_features=True)
    steps = clone(part).steps if isinstance(part, Pipeline) else [(type(part).__name__.lower(), clone(part))]
    filled = [("imputer", imputer), ("column", FunctionTransformer(np.ravel)), *steps]
    return name, Pipeline(with_distinct_names(filled)), [column.name]


@dataclass(frozen=True, slots=True)
class StringColumnSelector:
    """A column selector for string columns, either those with free text or those with categories.

    It is for pipelines that are built before their table is known: it looks at the table in `fit`.
    """

    text: bool

    def __call__(self, table: Any) -> list[Any]:
        """Return the names of the string columns that hold free text if `text`, otherwise of those with categories."""
        chosen = make_column_selector(dtype_include=list(STRINGS))(table)
        return [name for name in chosen if is_free_text(table[name]) == self.text]


class EachColumn(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer that fits a copy of another transformer on each column, and joins their features.

    It is for pipelines that are built before their table is known, like `StringColumnSelector`.
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, table: Any, target: Any = None) -> "EachColumn":
        """Fit one copy of the transformer per column."""
        self.transformers_ = [
            clone(self.transformer).fit(column, target) for column in columns_with_missing_as_empty_text(table)
        ]
        return self

    def transform(self, table: Any) -> Any:
        """Return the features of all columns: a sparse matrix if one of them is sparse, else an array."""
        import numpy as np  # The source of this class is copied into generated modules
        from scipy import sparse

        parts = [
            fitted.transform(column)
            for fitted, column in zip(self.transformers_, columns_with_missing_as_empty_text(table), strict=True)
        ]
        if not parts:
            return np.empty((len(table), 0))
        return sparse.hstack(parts).tocsr() if any(map(sparse.issparse, parts)) else np.hstack(parts)


def columns_with_missing_as_empty_text(table: Any) -> list[Any]:
    """Return the columns one by one, with missing values replaced by empty text."""
    return [table[name].astype(object).where(table[name].notna(), "") for name in table.columns]


__getattr__ = make_module_getattr(__name__, {"Strings": "StringColumnSelector"})
Step: TypeAlias = tuple[str, Any]  # A name and an unfitted estimator, as scikit-learn's `Pipeline` takes them
TAKEN: Final = frozenset({"steps", "memory", "verbose", "transform_input", "transformer_list", "n_jobs"})
"""Names that a step cannot have because they are parameters of the pipeline itself."""


def pipeline_class(steps: Iterable[Step]) -> Any:
    """Return the pipeline class for these steps: imbalanced-learn's if one of them resamples rows."""
    if not any(resamples_rows(part) for _, part in steps):
        return Pipeline
    from imblearn.pipeline import Pipeline as ResamplingPipeline

    return ResamplingPipeline


def flatten_for_resampling(steps: Sequence[Step]) -> list[Step]:
    """Return the steps in the form that their pipeline class accepts.

    If one of them resamples rows, pipelines before the last step are replaced by their steps; names may then occur
    twice. Otherwise nothing changes.
    """
    if not any(resamples_rows(part) for _, part in steps):
        return [*steps]
    return [*expand_nested_pipelines(steps[:-1]), steps[-1]]


def with_distinct_names(steps: Iterable[Step]) -> list[Step]:
    """Return the steps with distinct names that scikit-learn allows."""
    result: dict[str, Any] = {}
    for wanted, part in steps:
        name = wanted.replace("__", "_")
        base = f"{name}_" if name in TAKEN else name
        name, number = base, 1
        while name in result:
            number += 1
            name = f"{base}_{number}"
        result[name] = part
    return list(result.items())


def expand_nested_pipelines(steps: Sequence[Step]) -> list[Step]:
    """Return the steps with every pipeline replaced by its own steps."""
    result: list[Step] = []
    for name, part in steps:
        result += expand_nested_pipelines(part.steps) if isinstance(part, Pipeline) else [(name, part)]
    return result


def resamples_rows(part: Any) -> bool:
    """Return True if a part changes which rows the next steps are fitted on."""
    if isinstance(part, Pipeline):
        return any(resamples_rows(inner) for _, inner in part.steps)
    return hasattr(part, "fit_resample")
