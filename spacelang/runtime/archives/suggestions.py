"""Suggest initial configurations from an archive: the best ones on the data sets with the nearest meta-features."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import Exclusion, member_or_exclusion
from spacelang.ir.space import Space
from spacelang.runtime.archives import Norm
from spacelang.runtime.archives.archive import Archive, ArchiveError, ArchiveRow, space_facts
from spacelang.runtime.archives.distance import MetaFeatures, distances
from spacelang.runtime.archives.meta_features import COMPARABLE
from spacelang.runtime.data.loading import DEFAULT_NAME, EXTENSIONS
from spacelang.runtime.storage.header import DataFacts

MAX_SUGGESTIONS: Final = 25
"""The maximum number of suggested configurations."""

SAME_DATA_TOLERANCE: Final = 1e-6
"""The relative tolerance within which all meta-features of the same data set agree."""


@dataclass(frozen=True, slots=True)
class UpcomingRun:
    """The run for which an archive suggests initial configurations.

    `metric` is the formula of the loss. `meta_features` describe the training rows.
    """

    space: Space
    data: DataFacts
    metric: str
    meta_features: MetaFeatures


@dataclass(frozen=True, slots=True)
class ArchiveSuggestions:
    """The configurations that an archive suggests, most promising first and without repetitions.

    `left_out` lists the data sets that seem to be the run's own, each with the reason. `non_members` lists the
    configurations that are not members of the space, with the reasons. `unrelated_rows` counts the rows for another
    space or loss.
    """

    archive: str
    configurations: tuple[Configuration, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    non_members: tuple[Exclusion, ...] = ()
    unrelated_rows: int = 0

    @property
    def messages(self) -> tuple[str, ...]:
        """Messages for users on everything that was left out; empty if nothing was."""
        return tuple(self._messages())

    @property
    def non_member_message(self) -> str:
        """A message with the number of configurations that are not members of the space. There must be at least one."""
        count, first = len(self.non_members), " ".join(self.non_members[0].reason.split())
        what, most = ("1 configuration", "") if count == 1 else (f"{count} configurations", "the first one: ")
        return f"skipped {what} of `{self.archive}`: not in the space for this data ({most}{first})"

    def _messages(self) -> Iterator[str]:
        if self.left_out:
            named = ", ".join(f"`{data}` ({reason})" for data, reason in self.left_out)
            yield f"excluded from `{self.archive}`, as it may be the same data: {named}"
        if self.non_members:
            yield self.non_member_message
        if self.unrelated_rows:
            rows = "1 row" if self.unrelated_rows == 1 else f"{self.unrelated_rows} rows"
            yield f"skipped {rows} of `{self.archive}` for another space or loss"
        if not self.configurations:
            yield f"`{self.archive}` suggests no initial configurations"


def suggest(
    archive: Archive, target: UpcomingRun, norm: Norm = Norm.L1, most: int = MAX_SUGGESTIONS
) -> ArchiveSuggestions:
    """Return the best configurations on the data sets of an archive, nearest data sets first, at most `most`.

    The distance uses only the meta-features in `COMPARABLE`. Ties keep the order of the archive. Rows on the run's own
    data set are left out, as they would leak its result: it is recognized by its content, its name, or equal
    meta-features. Raises ArchiveError if no row is for the space, or none for the loss.
    """
    rows = _relevant_rows(archive, target)
    reasons = [(row, _same_data_reason(row, target)) for row in rows]
    strange = [row for row, reason in reasons if not reason]
    aim = {key: value for key, value in target.meta_features.items() if key in COMPARABLE}
    order = np.argsort(distances(aim, [row.meta_features for row in strange], norm), kind="stable")
    found, strangers = _members(target.space, (strange[place].configuration for place in order), most)
    left_out = tuple((row.data, reason) for row, reason in reasons if reason)
    return ArchiveSuggestions(archive.name, found, left_out, strangers, len(archive.rows) - len(rows))


def _relevant_rows(archive: Archive, target: UpcomingRun) -> list[ArchiveRow]:
    """Return the rows for the space and the loss of a run; raise ArchiveError if there are none."""
    remedy = "create one from runs of this space: `spacelang archive RUNS… -o FILE.json`"
    vocabulary = space_facts(target.space).vocabulary
    same = [row for row in archive.rows if row.space.vocabulary == vocabulary]
    if not archive.rows:
        raise ArchiveError(f"the archive `{archive.name}` has no rows", remedy)
    if not same:
        names = _most_common(row.space.name for row in archive.rows)
        what = f"its configurations are for {names}, whose decisions differ from those of `{target.space.name}`"
        raise ArchiveError(f"`{archive.name}` is an archive for another space: {what}", remedy)
    judged = [row for row in same if row.metric == target.metric]
    if not judged:
        names = _most_common(row.metric for row in same)
        raise ArchiveError(
            f"`{archive.name}` has configurations for {names}, but none for {target.metric}",
            f"minimize a metric of the archive, or create an archive of runs with {target.metric}",
        )
    return judged


def _most_common(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name, _ in Counter(names).most_common(3))


def _members(
    space: Space, configurations: Iterable[Configuration], most: int
) -> tuple[tuple[Configuration, ...], tuple[Exclusion, ...]]:
    """Return the first `most` distinct members of the space, and the exclusions of the configurations before them."""
    found: dict[Configuration, None] = {}
    strangers: dict[Configuration, Exclusion] = {}
    for each in configurations:
        if len(found) == most:
            break
        member = member_or_exclusion(space, each)
        if isinstance(member, Exclusion):
            strangers[each] = member
        else:
            found[member] = None
    return tuple(found), tuple(strangers.values())


# ---- the data set under examination


def _same_data_reason(row: ArchiveRow, target: UpcomingRun) -> str:
    """Return the reason why a row seems to be on the run's own data; empty if it does not."""
    if row.fingerprint and row.fingerprint == target.data.fingerprint:
        return "the same content"
    if DEFAULT_NAME not in (row.data, target.data.name) and _normalized_name(row.data) == _normalized_name(
        target.data.name
    ):
        return "the same name"
    shared = row.meta_features.keys() & target.meta_features.keys()
    pairs = ((row.meta_features[key], target.meta_features[key]) for key in shared)
    if shared and all(abs(one - other) <= SAME_DATA_TOLERANCE * max(1.0, abs(one), abs(other)) for one, other in pairs):
        return "the same meta-features"
    return ""


def _normalized_name(data: str) -> str:
    """Return the lower-case letters and digits of a data set's name, without its folder and file extension."""
    file = PurePath(data.removeprefix("sklearn:")).name.lower()
    ending = next((each for each in sorted(EXTENSIONS, key=len, reverse=True) if file.endswith(each)), "")
    return re.sub(r"[\W_]", "", file.removesuffix(ending)) or data
