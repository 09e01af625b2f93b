"""Archives of earlier runs: create them from stores, read them, and get initial configurations from them."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from spacelang.api.space import Space, load
from spacelang.runtime.archives import Norm
from spacelang.runtime.objective import HasMetaFeatures, ObjectiveInfo

if TYPE_CHECKING:
    from spacelang.runtime.archives.archive import Archive
    from spacelang.runtime.archives.creation import NewArchive
    from spacelang.runtime.archives.suggestions import ArchiveSuggestions


def make_run_archive(places: Iterable[str | PathLike[str]], file: str | PathLike[str]) -> "NewArchive":
    """Write an archive file from stores, from folders of stores, and from folders of auto-sklearn results.

    Returns the archive and what was left out of it. Raises the runtime's InputError, including ArchiveError and
    StoreError.
    """
    from spacelang.runtime.archives.archive import write_archive
    from spacelang.runtime.archives.creation import make_archive

    made = make_archive(map(Path, places), str(file), lambda name: load(name).checked)
    write_archive(made.archive, Path(file))
    return made


def open_archive(file: "str | PathLike[str] | Archive") -> "Archive":
    """Return the archive in a file, or the archive itself if one is given; raises ArchiveError."""
    from spacelang.runtime.archives.archive import Archive, read_archive

    return file if isinstance(file, Archive) else read_archive(Path(file))


def suggest_configurations(
    archive: "Archive", space: Space, objective: "ObjectiveInfo", norm: str = "l1"
) -> "ArchiveSuggestions":
    """Return the configurations that an archive suggests for a search of a space on the data of an objective.

    `norm` is the distance between meta-features: `l1` or `l2`. Raises ArchiveError if the archive is about another
    space or another loss, and ValueError for an unknown norm.
    """
    from spacelang.runtime.archives.suggestions import UpcomingRun, suggest

    assert isinstance(objective, HasMetaFeatures), "an archive needs data with rows"
    target = UpcomingRun(space.checked, objective.facts, objective.metric.formula, objective.meta_features)
    return suggest(archive, target, Norm(norm))
