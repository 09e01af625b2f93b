"""Hints that a random split would be misleading: identifiers that repeat, columns of dates, and repeated rows."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from spacelang.ir.task import Kind
from spacelang.ir.validation import (
    CrossValidation,
    DeclaredValidation,
    Holdout,
    TimeSeriesSplits,
    describe_validation,
    group_column,
)
from spacelang.runtime.data import tables
from spacelang.runtime.data.row_relations import rank_times
from spacelang.runtime.data.tables import ColumnContent, Features
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.splits import Rows

ENTITY_NAME: Final = re.compile(
    r"(?!(?i:n|nb|num|number|count|total)[_\W]).*?("
    r"(?i:(^|[_\W])(id|uuid|guid)s?)|[a-z](ID|Id)"
    r"|(?i:(^|[_\W])(subject|patient|participant|respondent|person|customer|client|user|member|employee|student|player"
    r"|speaker|donor|animal|household|family|account|device|sensor|session)s?([_\W]?(id|nr|no|number|key|code))?)"
    r")"
)
"""Matches names of columns that identify what several rows can be about."""
BIRTH_NAME: Final = re.compile(r"birth|born|\bdob\b", re.IGNORECASE)  # Names of dates that do not order the rows
MIN_ENTITIES: Final = 5  # With fewer values, a column is a category rather than an identifier
MIN_REPEATED_SHARE: Final = 0.5  # The least share of rows whose value of an identifier repeats
MIN_SPARE_ROWS: Final = 50  # The fewest rows beyond one per group from which their similarity can be told
SURE_SIMILARITY: Final = 0.5  # The least share of variance between groups by which rows of a group are alike
MAX_COMPARED: Final = 50  # The most columns of a kind in which rows of a group are compared
MIN_TIMES: Final = 10  # With fewer different dates, a column is a category rather than a time
MIN_REPEATED_SHARE_OF_ROWS: Final = 0.02  # The least share of repeated rows that is worth a warning
EXPECTED_FACTOR: Final = 5
"""Rows of few values repeat by chance. A warning is due if they repeat this many times as often as by chance."""
SMALL_ROWS: Final = 1_000  # The most rows for which a cross-validation is suggested instead of a holdout
FOLDS: Final = 5


@dataclass(frozen=True, slots=True)
class SplitHint:
    """A column by which rows should be split rather than at random.

    `is_sure` is True if the values show that a random split is misleading; `reason` says what they show.
    """

    column: str
    validation: DeclaredValidation
    is_sure: bool
    finding: str
    reason: str

    @property
    def validation_text(self) -> str:
        """The suggested validation in the syntax of the language."""
        return describe_validation(self.validation)

    @property
    def is_group(self) -> bool:
        """True if rows with equal values of the column belong together, False if the column orders the rows."""
        return group_column(self.validation) is not None

    @property
    def message(self) -> str:
        """A sentence on the column, with the risk of a random split and the option to use."""
        return f"{self.finding}; {self._risk}: use `--validate {quote(self.validation_text)}` {self._aim}"

    @property
    def starter_space_note(self) -> str:
        """A sentence for a starter space that has the split, because the hint is sure."""
        return f"{self.finding}, and {self.reason}; therefore the new space has `validate {self.validation_text}`"

    @property
    def starter_space_comment_note(self) -> str:
        """A sentence for a starter space that has the split as a comment."""
        line = f"`validate {self.validation_text}`"
        return f"{self.finding}; {self._risk}: {self._aim}, use {line}, which the new space has as a comment"

    @property
    def _risk(self) -> str:
        danger = (
            "puts rows with the same value on both sides" if self.is_group else "trains on later rows than it holds out"
        )
        return f"a random split {danger}"

    @property
    def _aim(self) -> str:
        return "to keep such rows together" if self.is_group else "to hold out the latest rows"


def find_split_hints_given_dates(
    features: Features, target: "pd.Series[Any]", kind: Kind, dates: Collection[str]
) -> tuple[SplitHint, ...]:
    """Return a hint for each column by which the rows of a table should be split; sparse tables have none.

    `dates` are the columns of dates, also as text.
    """
    if not isinstance(features, pd.DataFrame):
        return ()
    return (*_group_hints(features, target, kind), *_time_hints(features, dates))


# ---- identifiers that repeat


def _group_hints(features: pd.DataFrame, target: "pd.Series[Any]", kind: Kind) -> Iterator[SplitHint]:
    for name in features.columns:
        if ENTITY_NAME.fullmatch(str(name)) is None or not _is_identifier(features[name]):
            continue
        codes, distinct = pd.factorize(features[name])
        if codes.min() < 0:
            continue  # a row without a value belongs to no group
        rows, count = len(codes), len(distinct)
        repeated = np.bincount(codes)
        if count < MIN_ENTITIES or 2 * count > rows or repeated[repeated > 1].sum() < MIN_REPEATED_SHARE * rows:
            continue
        yield _group_hint(str(name), codes.astype(np.int64), features, target, kind)


def _is_identifier(values: "pd.Series[Any]") -> bool:
    """Return True if the values could identify something: text, categories or whole numbers."""
    if tables.column_content(values) is ColumnContent.CATEGORY:
        return not pd.api.types.is_bool_dtype(values)
    if not tables.holds_numbers(values):
        return False
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    return bool(np.all(np.isfinite(numbers)) and np.all(numbers == np.floor(numbers)))


def _group_hint(name: str, codes: Rows, features: pd.DataFrame, target: "pd.Series[Any]", kind: Kind) -> SplitHint:
    rows, count = len(codes), int(codes.max()) + 1
    labels = pd.factorize(target)[0] if kind == "classification" else np.zeros(rows, dtype=np.int64)
    rarest = min(len(np.unique(codes[labels == label])) for label in np.unique(labels))
    is_small = rows <= SMALL_ROWS and min(FOLDS, rarest) >= 3
    validation = CrossValidation(min(FOLDS, rarest), name) if is_small else Holdout(0.3, name)
    finding = f"`{name}` looks like an identifier and repeats: {count:,} values in {rows:,} rows"
    if rarest < 2:
        return SplitHint(name, validation, False, finding, f"a class occurs with a single value of `{name}`")
    compared = _compared_columns(features.drop(columns=[name]), target, kind)
    is_sure = rows - count >= MIN_SPARE_ROWS and any(_explained(codes, each) >= SURE_SIMILARITY for each in compared)
    alike = f"rows with equal `{name}` are alike"
    return SplitHint(name, validation, is_sure, finding, alike if is_sure else f"it is not certain that {alike}")


def _compared_columns(
    features: pd.DataFrame, target: "pd.Series[Any]", kind: Kind
) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the labels and the columns as arrays of numbers, by which the rows of a group are compared.

    Classes and categories are columns of 0 and 1.
    """
    if kind == "classification":
        yield from _indicators(target)
    else:
        yield target.to_numpy(dtype=np.float64, na_value=np.nan)
    for content in (ColumnContent.NUMBER, ColumnContent.CATEGORY):
        names = [name for name in features.columns if tables.column_content(features[name]) is content]
        for name in names[:MAX_COMPARED]:
            if content is ColumnContent.NUMBER:
                yield features[name].to_numpy(dtype=np.float64, na_value=np.nan)
            else:
                yield from _indicators(features[name])


def _indicators(values: "pd.Series[Any]") -> Iterator[npt.NDArray[np.float64]]:
    for value in values.value_counts().index[:2]:
        yield (values == value).to_numpy(dtype=np.float64, na_value=0.0)


def _explained(codes: Rows, values: npt.NDArray[np.float64]) -> float:
    """Return the share of the variance of `values` that lies between the groups in `codes`; 0 for a constant.

    It is adjusted for the number of groups, as the adjusted R² is. Rows without a finite value are ignored.
    """
    known = np.isfinite(values)
    _, codes = np.unique(codes[known], return_inverse=True)
    values = values[known]
    rows, groups = len(values), len(np.unique(codes))
    if rows <= groups:
        return 0.0
    values = values - values.mean()
    total = float(values @ values)
    if total <= 0:
        return 0.0
    between = float(np.sum(np.bincount(codes, values) ** 2 / np.bincount(codes)))
    return 1 - (1 - between / total) * (rows - 1) / (rows - groups)


# ---- dates


def _time_hints(features: pd.DataFrame, dates: Collection[str]) -> Iterator[SplitHint]:
    """Yield a hint for the first column of dates.

    It is sure if it is the only one and the rows are in its order, whether ascending or descending.
    """
    found = [(str(name), ranks) for name in dates if (ranks := _date_ranks(features[name])) is not None]
    if not found:
        return
    name, ranks = found[0]
    validation = TimeSeriesSplits(FOLDS, name) if len(features) <= SMALL_ROWS else Holdout(0.3, by=name)
    if len(found) > 1:
        names = ", ".join(f"`{each}`" for each, _ in found)
        yield SplitHint(name, validation, False, f"{names} hold dates", "it is not clear which column orders the rows")
        return
    steps = np.diff(ranks)
    is_ordered = bool((steps >= 0).all() or (steps <= 0).all())
    reason = f"the rows are {'in' if is_ordered else 'not in'} the order of `{name}`"
    yield SplitHint(name, validation, is_ordered, f"`{name}` holds dates", reason)


def _date_ranks(values: "pd.Series[Any]") -> Rows | None:
    """Return the ranks of the dates in a column, or None if it gives no hint.

    That is a column with few different dates, missing ones, an unknown format, or a name like that of a date of birth.
    """
    if BIRTH_NAME.search(str(values.name)) or values.isna().any() or values.nunique() < MIN_TIMES:
        return None
    try:
        return rank_times(values, f"the column `{values.name}`")
    except DataError:  # dates in an unknown or ambiguous format
        return None


# ---- repeated rows


def repeated_rows_message(share: float, finding: str) -> str:
    """Return a sentence on repeated rows: "SHARE of FINDING", then why it matters and what to do."""
    shown = f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"
    return (
        f"{shown} of {finding}, so scores are too good if such rows are on both sides of a split: drop repeated rows, "
        "or name a column that is equal for rows of the same origin, `--validate 'cv(5, group=COLUMN)'`"
    )


def repeated_held_out_share(features: Features, splits: Sequence[tuple[Rows, Rows]]) -> float:
    """Return the share of held-out rows that equal a training row of their split, averaged over the splits.

    Rows are equal if all features are. The share is 0 if it is small, or no larger than expected by chance.
    """

    def share(codes: Rows) -> float:
        return float(np.mean([np.isin(codes[held_out], codes[training]).mean() for training, held_out in splits]))

    return _unexpected_share(features, share)


def repeated_row_share(features: Features) -> float:
    """Return the share of the rows of a table that occur more than once.

    It is 0 if the share is small, or no larger than expected by chance.
    """
    return _unexpected_share(features, lambda codes: float(np.mean(np.bincount(codes)[codes] > 1)))


def _unexpected_share(features: Features, share_of: Callable[[Rows], float]) -> float:
    """Return `share_of` the codes of the rows, a share of repeated rows, or 0 if it is small or to be expected.

    Equal rows are to be expected if the columns have few different values.
    """
    codes = _row_codes(features)
    if codes is None or (share := share_of(codes)) < MIN_REPEATED_SHARE_OF_ROWS:
        return 0.0
    return 0.0 if share < EXPECTED_FACTOR * _expected_equal_rows(features) else share


def _expected_equal_rows(features: Features) -> float:
    """Return the number of other rows that equal a random row, on average, if all columns were independent.

    In a sparse array, all nonzero numbers of a column count as equal.
    """
    expected = features.shape[0] - 1.0
    if not isinstance(features, pd.DataFrame):
        filled = np.bincount(features.indices, minlength=features.shape[1]) / features.shape[0]
        return expected * float(np.prod(filled**2 + (1 - filled) ** 2))
    for name in features.columns:
        shares = features[name].value_counts(normalize=True, dropna=False).to_numpy()
        expected *= float(shares @ shares)
        if expected < MIN_REPEATED_SHARE_OF_ROWS / EXPECTED_FACTOR:
            return 0.0
    return expected


def _row_codes(features: Features) -> Rows | None:
    """Return a number for each row, equal for equal rows; None if the rows cannot be compared."""
    if not isinstance(features, pd.DataFrame):
        ends = zip(features.indptr[:-1], features.indptr[1:], strict=True)
        rows: Iterable[Any] = ((features.indices[a:b].tobytes(), features.data[a:b].tobytes()) for a, b in ends)
        return np.asarray(pd.factorize(pd.Series([*rows], dtype=object))[0], dtype=np.int64)
    try:
        hashes = pd.util.hash_pandas_object(features, index=False, categorize=True)
    except TypeError:  # values that cannot be hashed
        return None
    return np.asarray(pd.factorize(hashes)[0], dtype=np.int64)
