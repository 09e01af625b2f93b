"""The commented stages of a starter space for a data set: what can be tried at each step, and why.

Each function returns the text of a stage or a constraint with a comment above it, or an empty string if the data has no
use for it.
"""

from textwrap import fill
from typing import Final

from spacelang.diagnostics.terminal_cells import make_visible
from spacelang.runtime.data.column_content import ColumnContent
from spacelang.runtime.data.profile import ColumnProfile, Profile
from spacelang.starter_spaces import stage_text
from spacelang.starter_spaces.learners import KERNEL_ROWS, NEIGHBOUR_ROWS, Learner, learners

MANY_COLUMNS: Final = 10
"""The number of numeric columns from which feature selection is worth trying."""
WIDTH: Final = 110
"""The maximum width of comments, in characters."""
MANY_VALUES: Final = 12
"""The number of categories from which target encoding is worth trying."""


def imputer(data: Profile) -> str:
    """Return the stage that fills in missing numbers."""
    lacking = [column for column in data.columns_with(ColumnContent.NUMBER) if column.missing]
    if not lacking:
        return ""
    said = (
        f"Missing numbers: {_missing_shares(lacking)}. Braces list the values to choose from, and the value after `=` "
        "is the default. `add_indicator` adds columns that mark missing values."
    )
    return as_comment(said) + stage_text.IMPUTER


def scaler(data: Profile) -> str:
    """Return the stage that scales numbers."""
    if not data.columns_with(ColumnContent.NUMBER):
        return ""
    said = "A stage is a choice between alternatives; `none` leaves the step out. "
    if data.is_sparse:
        return as_comment(f"{said}Nearly all numbers are 0, and this scaler keeps them 0.") + stage_text.SPARSE_SCALER
    said += "`int[10, 1000] log` is a range from 10 to 1000 on a logarithmic scale; here the bounds depend on the data."
    return as_comment(said) + stage_text.SCALER


def encoder(data: Profile) -> str:
    """Return the stage that encodes categories."""
    categories = data.columns_with(ColumnContent.CATEGORY)
    if not categories:
        return ""
    most = max(categories, key=lambda column: column.distinct)
    said = f"Categories: {_names(categories)}; `{most.name}` has the most values, {most.distinct:,}."
    if most.distinct < MANY_VALUES:
        return as_comment(said) + stage_text.encoder(data.kind)
    joined = f"{said} Rare values are merged into one, so that no column is encoded to thousands of columns."
    return as_comment(joined) + stage_text.encoder(data.kind, min(stage_text.MAX_CATEGORIES, most.distinct))


def text_vectorizer(data: Profile) -> str:
    """Return the stage that converts free text to numbers."""
    if not data.texts:
        return ""
    said = f"Free text: {_names(data.texts)}. `->` joins steps to a sequence, here within an alternative."
    return as_comment(said) + stage_text.TEXT_VECTORIZER


def calendar(data: Profile) -> str:
    """Return the stage that converts dates to numbers."""
    if not (dates := data.columns_with(ColumnContent.DATE)):
        return ""
    return as_comment(f"Date columns: {_names(dates)}. {stage_text.DATES_REMARK}") + stage_text.CALENDAR


def selector(data: Profile) -> str:
    """Return the stage that selects columns."""
    if len(data.columns_with(ColumnContent.NUMBER)) < MANY_COLUMNS:
        return ""
    return as_comment(
        "Fewer columns: keep the best ones, or combine them. `@default` marks the default alternative of a stage; "
        "without it, the default is the first one."
    ) + stage_text.selector(data.kind, is_sparse=data.is_sparse)


def estimator(data: Profile) -> str:
    """Return the stage of the estimators."""
    rows = f"{data.rows:,} rows"
    said = [
        "The body of an estimator has its hyperparameters: `name : values` is searched, and `name = value` is fixed. "
        "`when` says under which condition a hyperparameter is active.",
        *(
            [f"Kernel methods are left out: they are slow with {rows}."]
            if NEIGHBOUR_ROWS >= data.rows > KERNEL_ROWS
            else ()
        ),
        *(
            [f"Neighbours and kernel methods are left out: they are slow with {rows}."]
            if data.rows > NEIGHBOUR_ROWS
            else ()
        ),
        *(
            ["`class_weight = balanced` gives rare classes as much weight as frequent ones."]
            if data.is_imbalanced
            else ()
        ),
        "To try another library, write for example `use lightgbm` below the `space` line, add its operators here, and "
        "run with `--allow lightgbm`.",
    ]
    return as_comment(" ".join(said)) + stage_text.estimator(_learners(data), weighs=data.is_imbalanced)


def constraint(data: Profile) -> str:
    """Return the constraint that excludes useless combinations of scaler and estimator."""
    if not data.columns_with(ColumnContent.NUMBER):
        return ""
    said = "Distances and gradients need columns on the same scale. Forbidden combinations are never tried."
    return as_comment(said) + stage_text.constraint(_learners(data))


def _learners(data: Profile) -> list[Learner]:
    """Return the learners that can fit such data in a reasonable time for a first search."""
    return [
        each
        for each in learners(data.kind)
        if not each.package
        and (each.most_rows is None or data.rows <= each.most_rows)
        and (each.takes_sparse or not data.is_sparse)
    ]


def as_comment(text: str) -> str:
    """Return a text as a comment, wrapped to as many lines as it needs.

    Control characters are replaced, because column names may contain any.
    """
    return fill(make_visible(text), WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False) + "\n"


def _missing_shares(columns: list[ColumnProfile]) -> str:
    several = sorted(columns, key=lambda column: -column.missing)
    shown = [f"{column.name} {column.missing:.1%}" for column in several[:3]]
    return ", ".join(shown) + (f" and {len(several) - 3} more" if len(several) > 3 else "")


def _names(columns: tuple[ColumnProfile, ...]) -> str:
    shown = ", ".join(column.name for column in columns[:4])
    return shown + (f" and {len(columns) - 4} more" if len(columns) > 4 else "")
