"""The profile of a table: the content of its columns and labels, as needed to generate a starter space."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any, Final

import numpy as np
import pandas as pd

from spacelang.ir.task import Kind
from spacelang.ir.validation import excluded_columns
from spacelang.runtime.data import tables
from spacelang.runtime.data.column_suspicions import (
    ColumnSuspicion,
    SuspectedFormat,
    find_suspicion,
    suspicion_messages,
)
from spacelang.runtime.data.labels import (
    MAX_NUMERIC_CLASSES,
    check_and_encode_labels,
    check_no_missing_labels,
    target_columns,
    target_series,
)
from spacelang.runtime.data.loading import Table
from spacelang.runtime.data.read_options import format_drop_columns_option
from spacelang.runtime.data.split_hints import (
    SplitHint,
    find_split_hints_given_dates,
    repeated_row_share,
    repeated_rows_message,
)
from spacelang.runtime.data.tables import ColumnContent, Features
from spacelang.runtime.errors import DataError
from spacelang.text import count_with_noun, format_names

MIN_ROWS: Final = 6
"""With fewer rows, a starter space cannot be used: too few to hold some out and fit nearest neighbours to the rest."""
UNUSABLE: Final = frozenset({ColumnContent.EMPTY, ColumnContent.OTHER})  # Contents that no pipeline can use


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """The profile of a column: its content, its share of missing values, and what is suspicious.

    `distinct` is the number of distinct values of categories, 0 for other content. `missing` is the share of rows
    without a value. `infinite` is the 1-based number of the first row with an infinite number; None if there is none.
    """

    name: str
    content: ColumnContent
    is_text: bool
    distinct: int
    missing: float
    suspected: SuspectedFormat | None = None
    infinite: int | None = None


@dataclass(frozen=True, slots=True)
class TableProfile:
    """The profile of a table, as the generator of starter spaces needs it.

    `classes` pairs each class with its number of rows, most frequent first. `is_sparse` is True if the features are a
    sparse array of numbers. `refused` holds a sentence, with a remedy, for everything that a run would refuse. The
    starter space can be used once these are corrected. `split_hints` are the columns by which the rows should be split,
    and `repeated_row_share` is the share of the rows that the table has more than once, beyond chance. `targets` is the
    number of targets; of several ones, `label` has all names, and there are no classes.
    """

    name: str
    rows: int
    columns: tuple[ColumnProfile, ...]
    label: str
    kind: Kind
    classes: tuple[tuple[str, int], ...] = ()
    is_sparse: bool = False
    refused: tuple[str, ...] = ()
    split_hints: tuple[SplitHint, ...] = ()
    repeated_row_share: float = 0.0
    targets: int = 1

    def columns_with(self, content: ColumnContent) -> tuple[ColumnProfile, ...]:
        """Return the columns with this content; columns of free text do not count as categories."""
        return tuple(column for column in self.columns if column.content is content and not column.is_text)

    @property
    def free_text_columns(self) -> tuple[ColumnProfile, ...]:
        """The columns of free text."""
        return tuple(column for column in self.columns if column.is_text)

    @property
    def warnings(self) -> list[str]:
        """Sentences on columns that may not be what their types suggest and on misleading splits, with remedies."""
        split = [
            hint.starter_space_note if hint is self.split_hint else hint.starter_space_comment_note
            for hint in self.split_hints
        ]
        if self.repeated_row_share:
            split.append(repeated_rows_message(self.repeated_row_share, "the rows occur more than once"))
        return [*_warnings(self.without_split_columns.columns), *split]

    @property
    def split_hint(self) -> SplitHint | None:
        """The hint by which a starter space splits the rows; None for a random split, or if no feature is left."""
        usable = {each.name for each in self.columns if each.content not in UNUSABLE}
        return next((hint for hint in self.split_hints if hint.is_sure and usable - {hint.column}), None)

    @property
    def without_split_columns(self) -> "TableProfile":
        """The profile without the column by which a starter space splits the rows, which is no feature."""
        used = () if self.split_hint is None else excluded_columns(self.split_hint.validation)
        return replace(self, columns=tuple(column for column in self.columns if column.name not in used))

    @property
    def rarest_class_size(self) -> int:
        """The number of rows of the rarest class; all rows for a regression."""
        return min((count for _, count in self.classes), default=self.rows)

    @property
    def is_imbalanced(self) -> bool:
        """True if a class has less than half of the rows that it would have if all classes were equally large."""
        return bool(self.classes) and 2 * self.rarest_class_size * len(self.classes) < self.rows


def profile_table(table: Table) -> TableProfile:
    """Return the profile of a table; raise DataError for missing or equal labels, and without usable columns."""
    check_no_missing_labels(table)
    label, first, targets = ", ".join(target_columns(table.target)), target_series(table.target)[0], 1
    if isinstance(table.target, pd.DataFrame):
        targets, kind = table.target.shape[1], _kind_of_several_targets(table)
        check_and_encode_labels(table, kind)
    else:
        kind = guess_task_kind(table).kind
    counts = first.value_counts() if kind == "classification" and targets == 1 else None
    classes = () if counts is None else tuple((str(each), int(rows)) for each, rows in counts.items())
    if targets == 1 and first.nunique() == 1:
        raise DataError(f"all labels in the column `{label}` are `{first.iloc[0]}`", "choose another label column")
    is_sparse, rows = not isinstance(table.features, pd.DataFrame), len(table.target)
    columns = tuple(_columns(table.features))
    refused = [*_infinite(columns, table.features), *_unusable(columns, table.features)]
    refused += _labels_refused(first, kind) if targets == 1 else ()  # several are checked above
    if rows < MIN_ROWS:
        are = "is" if rows == 1 else "are"
        finding = f"{count_with_noun(rows, 'row')} {are} too few for a run of the new space"
        refused.append(f"{finding}: give at least {MIN_ROWS}")
    hints = () if refused else find_split_hints(table.features, first, kind)
    repeated = repeated_row_share(table.features)
    found = TableProfile(
        table.name, rows, columns, label, kind, classes, is_sparse, tuple(refused), hints, repeated, targets
    )
    if all(column.content in UNUSABLE for column in found.columns):
        raise DataError(f"no column of `{table.name}` holds numbers, categories, text or dates", "add such columns")
    return found


def _kind_of_several_targets(table: Table) -> Kind:
    """Return the kind that the data declares; otherwise classification if all labels are 0 or 1, else regression."""
    is_indicator = all(each.isin((0, 1)).all() for each in target_series(table.target))
    return table.kind or ("classification" if is_indicator else "regression")


@dataclass(frozen=True, slots=True)
class TaskKindGuess:
    """The kind of task that the labels suggest, and the reason."""

    kind: Kind
    reason: str


def guess_task_kind(table: Table) -> TaskKindGuess:
    """Return the kind of task, and the reason for it.

    It is the kind that the data declares. Otherwise it is regression if the labels have fractions or many distinct
    numbers, and else classification.
    """
    if table.kind is not None:
        return TaskKindGuess(table.kind, f"`{table.name}` is a {table.kind} task")
    labels, column = table.target.dropna(), f"`{table.target.name}`"
    distinct = f"{labels.nunique():,} distinct"
    if not tables.holds_numbers(labels):
        return TaskKindGuess("classification", f"{column} holds {distinct} labels that are not numbers")
    if bool((labels % 1 != 0).any()):
        return TaskKindGuess("regression", f"{column} holds numbers with fractions")
    if labels.nunique() > MAX_NUMERIC_CLASSES:
        return TaskKindGuess("regression", f"{column} holds {distinct} numbers")
    return TaskKindGuess("classification", f"{column} holds {distinct} whole numbers")


def column_warnings(features: Features, excluded: Collection[str] = ()) -> list[str]:
    """Return warnings about columns that may not be what their types suggest, except columns in `excluded`."""
    return _warnings(column for column in _columns(features) if column.name not in excluded)


def find_split_hints(features: Features, target: "pd.Series[Any]", kind: Kind) -> tuple[SplitHint, ...]:
    """Return a hint for each column by which the rows of a table should be split instead of at random."""
    columns = _columns(features)
    dates = [
        each.name
        for each in columns
        if each.content is ColumnContent.DATE
        or (each.suspected is not None and each.suspected.suspicion is ColumnSuspicion.DATES)
    ]
    return find_split_hints_given_dates(features, target, kind, dates)


def _warnings(columns: Iterable[ColumnProfile]) -> list[str]:
    return suspicion_messages((column.name, column.suspected) for column in columns if column.suspected is not None)


def _columns(features: Features) -> Iterable[ColumnProfile]:
    if not isinstance(features, pd.DataFrame):
        # Columns of a sparse array have no names.
        return (ColumnProfile(f"x{place}", ColumnContent.NUMBER, False, 2, 0.0) for place in range(features.shape[1]))
    return (_column(features[name]) for name in features.columns)


def _column(values: "pd.Series[Any]") -> ColumnProfile:
    content = ColumnContent.OTHER if tables.holds_large_integers(values) else tables.column_content(values)
    distinct = int(values.nunique()) if content is ColumnContent.CATEGORY else 0
    suspected = find_suspicion(values, content, distinct)
    is_read = suspected is None and tables.is_mostly_different(distinct, len(values))
    infinite = tables.first_infinite_row_number(values) if content is ColumnContent.NUMBER else None
    missing = float(values.isna().mean())
    return ColumnProfile(str(values.name), content, is_read, distinct, missing, suspected, infinite)


def _infinite(columns: Sequence[ColumnProfile], features: Features) -> Iterator[str]:
    if not isinstance(features, pd.DataFrame):
        if np.isinf(features.data).any():
            yield "the features contain infinite values, with which no run can start: replace them"
        return
    found = [column for column in columns if column.infinite is not None]
    if found:
        names = [column.name for column in found]
        where = f"{f'`{names[0]}` ' if names[1:] else ''}first in row {found[0].infinite:,}"
        yield _refusal(names, f"infinite values, {where}", "replace them")


def _unusable(columns: Iterable[ColumnProfile], features: Features) -> Iterator[str]:
    names = [column.name for column in columns if column.content is ColumnContent.OTHER]
    large = [name for name in names if tables.holds_large_integers(features[name])]
    if large:
        yield _refusal(large, tables.LARGE_INTEGERS, "write them with a decimal point")
    if others := [name for name in names if name not in large]:
        yield _refusal(others, "neither numbers nor text nor dates", "convert {it_or_them} to numbers")


def _refusal(names: Sequence[str], content: str, remedy: str) -> str:
    holds, them = ("holds", "it") if len(names) == 1 else ("hold", "them")
    finding, drop = (
        f"{format_names(names)} {holds} {content}",
        f"--drop-columns {quote(format_drop_columns_option(names))}",
    )
    return f"{finding}, with which no run can start: {remedy.format(it_or_them=them)}, or drop {them} with `{drop}`"


def _labels_refused(labels: "pd.Series[Any]", kind: Kind) -> Iterator[str]:
    """Yield a sentence for infinite labels or a class with a single row, which cannot be on both sides of a split."""
    if kind == "regression":
        row = tables.first_infinite_row_number(labels) if pd.api.types.is_numeric_dtype(labels) else None
        if row is not None:
            yield f"some labels are infinite (first in row {row:,}), with which no run can start: drop these rows"
        return
    values = labels.astype(object)
    alone = ~values.duplicated(keep=False)
    if alone.any():
        names, row = [str(each) for each in values[alone]], tables.first_true_row_number(alone.to_numpy())
        what, has, them, where = "the class", "has", "it", f"row {row:,}"
        if len(names) > 1:
            what, has, them, where = "the classes", "have", "them", f"`{names[0]}` in row {row:,}"
        yield (
            f"{what} {format_names(names)} {has} a single row ({where}), but a run needs at least 2 per class: "
            f"merge {them} with another class, drop such rows, or add more of them"
        )
