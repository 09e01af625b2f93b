"""The space of a run that names none: the bundled one for the kind of task that the labels are for."""

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
    """A space that nobody has named; `reason` says which one it is, and why."""

    space: Space
    reason: str


def told_of(reason: str) -> str:
    """The reason as a line of its own."""
    return f"no space is named: it is {reason}"


def usual_space(table: "Table", allow: Iterable[str] = (), bind: Mapping[str, int] | None = None) -> Usual:
    """`tabular_classification` or `tabular_regression`, as the labels of a table are.

    Learners of packages that are allowed stand beside its own. Raises SpaceError where such a package is not there, and
    DataError for sparse features, which have no columns of different types.
    """
    import pandas as pd

    from spacelang.runtime.data.profile import kind_of
    from spacelang.starting.tabular import name_of, packages_of, tabular_space

    if not isinstance(table.features, pd.DataFrame):
        message = "without a space one is taken that goes by the types of columns, and sparse features have none"
        raise DataError(message, "name a space; `spacelang init` makes one for a file")
    found = kind_of(table)
    name, packages = name_of(found.kind), packages_of(found.kind, allow := (*allow,))
    beside = f" with {' and '.join(f'`{each}`' for each in packages)}" if packages else ""
    space = made_for_data(Source(name, tabular_space(found.kind, packages)), allow, bind)
    return Usual(space, f"`{name}`{beside}, as {found.reason}")
