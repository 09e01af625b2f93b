"""The stages of a starting space: what there is to try at each step, and why, for data of this kind.

Each function gives the text of a stage with a comment above it, or of two, or nothing where the data has no use for it.
"""

from textwrap import fill
from typing import Final

from spacelang.diagnostics.cells import visible
from spacelang.runtime.data.content import Content
from spacelang.runtime.data.profile import ColumnProfile, Profile
from spacelang.starting import parts
from spacelang.starting.learners import NEIGHBOUR_ROWS, SLOW_ROWS, Learner, learners

MANY_COLUMNS: Final = 10
"""From so many columns of numbers on it may be worth to have fewer."""
WIDTH: Final = 110
"""Of comments."""
MANY_VALUES: Final = 12
"""From so many categories on a column is worth to be encoded by the labels."""


def imputer(data: Profile) -> str:
    """How missing numbers are filled in."""
    lacking = [column for column in data.of(Content.NUMBER) if column.missing]
    if not lacking:
        return ""
    said = (
        f"Missing numbers: {_shares(lacking)}. A set in braces is a choice of values; what stands behind the `=` is "
        "the default. `add_indicator` adds a column that says where something was missing."
    )
    return remark(said) + parts.IMPUTER


def scaler(data: Profile) -> str:
    """To which scale numbers are brought."""
    if not data.of(Content.NUMBER):
        return ""
    said = "A stage is a decision among alternatives, and `none` leaves its step out. "
    if data.is_sparse:
        return remark(f"{said}Nearly all numbers are 0, and stay it.") + parts.SPARSE_SCALER
    said += "`int[10, 1000] log` would be searched by its logarithm from 10 to 1000; here the bounds know the data."
    return remark(said) + parts.SCALER


def encoder(data: Profile) -> str:
    """What becomes of categories."""
    categories = data.of(Content.CATEGORY)
    if not categories:
        return ""
    most = max(categories, key=lambda column: column.distinct)
    said = f"Categories: {_names(categories)}; `{most.name}` has the most values, {most.distinct:,}."
    if most.distinct < MANY_VALUES:
        return remark(said) + parts.encoder(data.kind)
    joined = f"{said} Rare ones are joined to one, such that no column becomes a thousand."
    return remark(joined) + parts.encoder(data.kind, min(parts.CATEGORIES, most.distinct))


def reader(data: Profile) -> str:
    """What becomes of free text."""
    if not data.texts:
        return ""
    said = (
        f"Free text: {_names(data.texts)}. `->` puts one step behind the other, in an alternative as in the pipeline."
    )
    return remark(said) + parts.READER


def calendar(data: Profile) -> str:
    """What becomes of dates."""
    if not (dates := data.of(Content.DATE)):
        return ""
    said = (
        f"Dates: {_names(dates)}. They become numbers from 0 to 1 in their order; a missing one is before all others."
    )
    return remark(said) + parts.CALENDAR


def selector(data: Profile) -> str:
    """Which columns are left."""
    if len(data.of(Content.NUMBER)) < MANY_COLUMNS:
        return ""
    return remark(
        "Fewer columns: the best by themselves, or combinations of them. `@default` marks the default of a stage, "
        "which is its first alternative else."
    ) + parts.selector(data.kind, is_sparse=data.is_sparse)


def estimator(data: Profile) -> str:
    """Who learns."""
    said = [
        "Hyperparameters are searched in the body of their estimator; what stands there with a plain `=` is fixed. "
        "`when` says in which cases one is active.",
        *([f"With {data.rows:,} rows kernels are left out."] if NEIGHBOUR_ROWS >= data.rows > SLOW_ROWS else ()),
        *([f"With {data.rows:,} rows neighbours and kernels are left out."] if data.rows > NEIGHBOUR_ROWS else ()),
        *(["`class_weight` counts a rare class as much as a frequent one."] if data.is_imbalanced else ()),
        "Other libraries are alternatives too: `use lightgbm` below the first line, and `run` with `--allow lightgbm`.",
    ]
    return remark(" ".join(said)) + parts.estimator(_learners(data), weighs=data.is_imbalanced)


def constraint(data: Profile) -> str:
    """What is known to be of no use."""
    if not data.of(Content.NUMBER):
        return ""
    said = "Distances and gradients want columns of one size: what is forbidden is never tried."
    return remark(said) + parts.constraint(_learners(data))


def _learners(data: Profile) -> list[Learner]:
    """Who can learn of such data, and in a time that it is worth at first."""
    return [
        each
        for each in learners(data.kind)
        if not each.package
        and (each.most_rows is None or data.rows <= each.most_rows)
        and (each.takes_sparse or not data.is_sparse)
    ]


def remark(text: str) -> str:
    """A comment of as many lines as it needs; columns are called as whoever made the data liked."""
    return fill(visible(text), WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False) + "\n"


def _shares(columns: list[ColumnProfile]) -> str:
    several = sorted(columns, key=lambda column: -column.missing)
    shown = [f"{column.name} {column.missing:.1%}" for column in several[:3]]
    return ", ".join(shown) + (f" and {len(several) - 3} more" if len(several) > 3 else "")


def _names(columns: tuple[ColumnProfile, ...]) -> str:
    shown = ", ".join(column.name for column in columns[:4])
    return shown + (f" and {len(columns) - 4} more" if len(columns) > 4 else "")
