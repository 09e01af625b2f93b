"""The spaces of stored runs, built from the definitions that stores hold."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from spacelang.api.experiment import stored_header
from spacelang.api.search_data import DefaultSpace
from spacelang.api.space import Space, parse_for_data
from spacelang.runtime.storage.header import UNNAMED_SPACE, RunHeader
from spacelang.serialization.definition import VERSION
from spacelang.text import Origin, Source


def choose_resumed_space(store: str | PathLike[str] | None, allow: Iterable[str]) -> DefaultSpace | None:
    """Return the space in the store of a run that used a default space; None if there is no such store.

    The default spaces of another version may differ. Raises SpaceError if the space is invalid for this version.
    """
    header = None if store is None else stored_header(Path(store))
    if store is None or header is None or UNNAMED_SPACE not in (header.asked or {}):
        return None
    return DefaultSpace(stored_space(header, Path(store), allow), f"`{header.space}`, as stored in `{store}`")


def stored_space(header: RunHeader, store: Path, allow: Iterable[str]) -> Space:
    """Return the space of a stored run, which is bound to the data of the run. Raises SpaceError."""
    # Built as text, so that an invalid definition is reported like that of any compiled space.
    document = f'{{"version": {VERSION}, "target": "", "definition": {header.definition}}}'
    # The store does not know the folder of the space, where its local packages are; try the current folder.
    here = Path.cwd()
    return parse_for_data(
        Source(f"the space stored in {store.name}", document, Origin(here / store.name, here)), allow, None
    )
