"""The default space of a run: the bundled one for the kind of task that the labels imply."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spacelang.api.space import Space, made_for_data
from spacelang.runtime.errors import DataError
from spacelang.text import Source

if TYPE_CHECKING:
    from spacelang.runtime.data.loading import Table


@dataclass(frozen=True, slots=True)
class Usual:
    """A space chosen by default; `reason` names it and says why it was chosen."""

    space: Space
    reason: str


def told_of(reason: str) -> str:
    """Return the note that reports a default space."""
    return f"no space given: using {reason}"


def usual_space(table: "Table", allow: Iterable[str] = (), bind: Mapping[str, int] | None = None) -> Usual:
    """Return `tabular_classification` or `tabular_regression`, depending on the labels of a table.

    Learners of allowed packages are added. Raises SpaceError if such a package is not installed, and DataError for
    sparse features, which have no column types.
    """
    import pandas as pd

    from spacelang.runtime.data.profile import kind_of
    from spacelang.starting.tabular import name_of, packages_of, tabular_space

    if not isinstance(table.features, pd.DataFrame):
        message = "the default spaces need columns with types, and sparse features have none"
        raise DataError(message, "give a space; `spacelang init` writes one for a file")
    found = kind_of(table)
    name, packages = name_of(found.kind), packages_of(found.kind, allow := (*allow,))
    beside = f" with {' and '.join(f'`{each}`' for each in packages)}" if packages else ""
    space = made_for_data(Source(name, tabular_space(found.kind, packages)), allow, bind)
    return Usual(space, f"`{name}`{beside}, as {found.reason}")
