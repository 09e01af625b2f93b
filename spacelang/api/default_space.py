"""The default space of a run: the bundled one for the kind of task that the labels imply."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spacelang.api.space import Space, parse_for_data
from spacelang.runtime.errors import DataError
from spacelang.text import Source

if TYPE_CHECKING:
    from spacelang.runtime.data.loading import Table


@dataclass(frozen=True, slots=True)
class DefaultSpace:
    """A space chosen by default; `reason` names it and says why it was chosen."""

    space: Space
    reason: str


def default_space_note(reason: str) -> str:
    """Return the note that reports a default space."""
    return f"no space given: using {reason}"


def choose_default_space(
    table: "Table", allow: Iterable[str] = (), bind: Mapping[str, int] | None = None
) -> DefaultSpace:
    """Return `tabular_classification` or `tabular_regression`, depending on the labels of a table.

    Learners of allowed packages are added. Raises SpaceError if such a package is not installed, and DataError for
    sparse features, which have no column types.
    """
    import pandas as pd

    from spacelang.runtime.data.profile import guess_task_kind
    from spacelang.starter_spaces.general_purpose import packages_of, space_name, tabular_space

    if not isinstance(table.features, pd.DataFrame):
        message = "the default spaces need columns with types, and sparse features have none"
        raise DataError(message, "give a space; `spacelang init` writes one for a file")
    found = guess_task_kind(table)
    name, packages = space_name(found.kind), packages_of(found.kind, allow := (*allow,))
    beside = f" with {' and '.join(f'`{each}`' for each in packages)}" if packages else ""
    space = parse_for_data(Source(name, tabular_space(found.kind, packages)), allow, bind)
    return DefaultSpace(space, f"`{name}`{beside}, as {found.reason}")
