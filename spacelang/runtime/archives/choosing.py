"""The configurations that an archive suggests for a run: the best ones on the data sets that are most alike."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import Exclusion, admit
from spacelang.ir.space import Space
from spacelang.runtime.archives import Norm
from spacelang.runtime.archives.archive import Archive, ArchiveError, ArchiveRow, space_facts
from spacelang.runtime.archives.meta_features import AGREED
from spacelang.runtime.archives.proximity import MetaFeatures, distances
from spacelang.runtime.data.loading import EXTENSIONS, UNNAMED
from spacelang.runtime.storing.header import DataFacts

MOST: Final = 25
"""So many configurations are suggested at most."""

ALIKE: Final = 1e-6
"""Data sets all of whose meta-features agree so closely are taken for the same one."""


@dataclass(frozen=True, slots=True)
class UpcomingRun:
    """What a run is about to search: a space, for data with these meta-features of its training rows, by a loss."""

    space: Space
    data: DataFacts
    metric: str
    meta_features: MetaFeatures


@dataclass(frozen=True, slots=True)
class Suggested:
    """What an archive suggests, the most promising first, none twice, and what of it was passed over.

    `left_out` are the data sets that are taken for the one under examination, each with the reason; `strangers` say of
    each configuration that is no member of the space why it is none. `others` counts rows that are not about the same
    space and loss.
    """

    archive: str
    configurations: tuple[Configuration, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    strangers: tuple[Exclusion, ...] = ()
    others: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was passed over, for people: none where nothing was."""
        return tuple(self._sentences())

    @property
    def of_strangers(self) -> str:
        """How many configurations are no members of the space, where any is none."""
        count, first = len(self.strangers), " ".join(self.strangers[0].reason.split())
        what, most = ("1 configuration", "") if count == 1 else (f"{count} configurations", "the first one: ")
        return f"passed over: {what} of `{self.archive}` that the space does not have for this data ({most}{first})"

    def _sentences(self) -> Iterator[str]:
        if self.left_out:
            named = ", ".join(f"`{data}` ({reason})" for data, reason in self.left_out)
            yield f"left out of `{self.archive}`, as it may be this data: {named}"
        if self.strangers:
            yield self.of_strangers
        if self.others:
            rows = f"row of `{self.archive}` that is" if self.others == 1 else f"rows of `{self.archive}` that are"
            yield f"passed over: {self.others} {rows} about another space or another loss"
        if not self.configurations:
            yield f"`{self.archive}` suggests nothing to start from"


def suggest(archive: Archive, target: UpcomingRun, norm: Norm = Norm.L1, most: int = MOST) -> Suggested:
    """The best configuration on each of the data sets of an archive, those that are nearest first.

    Ties are in the order of the archive. The data set under examination is left out: by its name, by its content, and
    where all meta-features are the same. Distances are by the meta-features in `AGREED` alone. Raises ArchiveError
    where no row is about the space, or none about the loss.
    """
    rows = _about(archive, target)
    reasons = [(row, _sameness(row, target)) for row in rows]
    strange = [row for row, reason in reasons if not reason]
    aim = {key: value for key, value in target.meta_features.items() if key in AGREED}
    order = np.argsort(distances(aim, [row.meta_features for row in strange], norm), kind="stable")
    found, strangers = _members(target.space, (strange[place].configuration for place in order), most)
    left_out = tuple((row.data, reason) for row, reason in reasons if reason)
    return Suggested(archive.name, found, left_out, strangers, len(archive.rows) - len(rows))


def _about(archive: Archive, target: UpcomingRun) -> list[ArchiveRow]:
    """The rows that are about the space and the loss; raises ArchiveError where there are none."""
    remedy = "make one of runs of this space: `spacelang archive RUNS… -o FILE.json`"
    vocabulary = space_facts(target.space).vocabulary
    same = [row for row in archive.rows if row.space.vocabulary == vocabulary]
    if not archive.rows:
        raise ArchiveError(f"`{archive.name}` is an archive without rows", remedy)
    if not same:
        names = _listed(row.space.name for row in archive.rows)
        what = f"the configurations of {names} do not speak of what `{target.space.name}` decides"
        raise ArchiveError(f"`{archive.name}` is an archive for another space: {what}", remedy)
    judged = [row for row in same if row.metric == target.metric]
    if not judged:
        names = _listed(row.metric for row in same)
        raise ArchiveError(
            f"`{archive.name}` knows what is best by {names}, and nothing about {target.metric}",
            "search by that metric, or make an archive of runs that are judged as this one",
        )
    return judged


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name, _ in Counter(names).most_common(3))


def _members(
    space: Space, configurations: Iterable[Configuration], most: int
) -> tuple[tuple[Configuration, ...], tuple[Exclusion, ...]]:
    """The first different members, and why others that come before the last of them are none."""
    found: dict[Configuration, None] = {}
    strangers: dict[Configuration, Exclusion] = {}
    for each in configurations:
        if len(found) == most:
            break
        member = admit(space, each)
        if isinstance(member, Exclusion):
            strangers[each] = member
        else:
            found[member] = None
    return tuple(found), tuple(strangers.values())


# ---- the data set under examination


def _sameness(row: ArchiveRow, target: UpcomingRun) -> str:
    """Why the data of a row is taken for that of the target; nothing where it is not."""
    if row.fingerprint and row.fingerprint == target.data.fingerprint:
        return "the same content"
    if UNNAMED not in (row.data, target.data.name) and _bare(row.data) == _bare(target.data.name):
        return "the same name"
    shared = row.meta_features.keys() & target.meta_features.keys()
    pairs = ((row.meta_features[key], target.meta_features[key]) for key in shared)
    if shared and all(abs(one - other) <= ALIKE * max(1.0, abs(one), abs(other)) for one, other in pairs):
        return "the same meta-features"
    return ""


def _bare(data: str) -> str:
    """The letters and digits of the name of a data set, without its folder and what says its form."""
    file = PurePath(data.removeprefix("sklearn:")).name.lower()
    ending = next((each for each in sorted(EXTENSIONS, key=len, reverse=True) if file.endswith(each)), "")
    return re.sub(r"[\W_]", "", file.removesuffix(ending)) or data
