"""Archives of earlier runs: made of stores, and asked for configurations that a search starts from."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from spacelang.api.space import Space, load
from spacelang.runtime.archives import Norm
from spacelang.runtime.objective import Aim, Described

if TYPE_CHECKING:
    from spacelang.runtime.archives.archive import Archive
    from spacelang.runtime.archives.choosing import Suggested
    from spacelang.runtime.archives.making import MadeArchive


def make_archive(places: Iterable[str | PathLike[str]], file: str | PathLike[str]) -> "MadeArchive":
    """Write the archive of stores, of those in folders, and of what auto-sklearn keeps in a folder, to a file.

    Raises the runtime's InputError, ArchiveError and StoreError among it.
    """
    from spacelang.runtime.archives.archive import write_archive
    from spacelang.runtime.archives.making import make_archive as made_of

    made = made_of(map(Path, places), str(file), lambda name: load(name).checked)
    write_archive(made.archive, Path(file))
    return made


def open_archive(file: "str | PathLike[str] | Archive") -> "Archive":
    """The archive in a file, or the one that is given; raises ArchiveError."""
    from spacelang.runtime.archives.archive import Archive, read_archive

    return file if isinstance(file, Archive) else read_archive(Path(file))


def suggested(archive: "Archive", space: Space, objective: "Aim", norm: str = "l1") -> "Suggested":
    """What an archive suggests for the search of a space on data.

    Raises ArchiveError where it is about another space or another loss, ValueError for a norm that there is not.
    """
    from spacelang.runtime.archives.choosing import UpcomingRun, suggest

    assert isinstance(objective, Described), "who has no rows is asked for no archive"
    target = UpcomingRun(space.checked, objective.facts, objective.metric.formula, objective.meta_features)
    return suggest(archive, target, Norm(norm))
