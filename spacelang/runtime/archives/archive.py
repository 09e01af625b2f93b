"""Archives: the best configuration on each of some data sets, as JSON (`grammars/archive.schema.json`)."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path, PurePath
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from spacelang.files import os_error_text
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import ExclusionReason
from spacelang.ir.space import Choice, Space
from spacelang.runtime.archives import DistanceNorm
from spacelang.runtime.archives.meta_features import COMPARABLE
from spacelang.runtime.data.loading import DEFAULT_NAME, EXTENSIONS
from spacelang.runtime.data.table_files import read_text
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.storage.run_header import DataFacts
from spacelang.serialization import codec, json_documents
from spacelang.serialization.codec import ObjectCodec, ObjectKey
from spacelang.serialization.json_documents import DefinitionError, expect_string
from spacelang.solver.nearest_configuration import dropped_keys_sentence, member_without_dropped_keys

KIND: Final = "archive"
VERSION: Final = 1  # The version of the document's format
REMEDY: Final = "recreate the archive with `spacelang archive`, or see `grammars/archive.schema.json`"
Floats: TypeAlias = npt.NDArray[np.float64]


class ArchiveError(InputError):
    """An error for a file that is not an archive, or for an archive without rows that suit a run."""


@dataclass(frozen=True, slots=True)
class SpaceIdentity:
    """The name of a space and the hash of its decisions and hyperparameters."""

    name: str
    vocabulary: str


@dataclass(frozen=True, slots=True)
class ArchiveRow:
    """The best known configuration on one data set.

    `fingerprint` identifies the content of the data; it is empty if unknown. `metric` is the formula of the loss (`1 -
    roc_auc`). `meta_features` are the finite ones of the training rows, by name.
    """

    data: str
    space: SpaceIdentity
    metric: str
    loss: float
    configuration: Configuration
    fingerprint: str = ""
    meta_features: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive: one row for each data set, and the name of the archive in messages.

    Of data sets at equal distances, the one whose row comes first is used first.
    """

    name: str
    rows: tuple[ArchiveRow, ...]


def identify_space(space: Space) -> SpaceIdentity:
    """Return the name and the vocabulary hash of a space.

    The vocabulary is 64 hexadecimal digits. It is equal for two spaces if their decisions have the same alternatives,
    and their hyperparameters the same names and owners. What a space lost when it was bound to its data counts, too.
    Ranges and constraints may differ, as they can depend on the data. So the membership of each configuration must
    still be checked.
    """
    lost = {each.address: each for each in space.dropped}
    words: list[list[object]] = [
        [each.address, None if each.alternatives is None else sorted(each.alternatives), list(each.owners)]
        for each in space.dropped
        if each.address not in space.variables
    ]
    for address, variable in space.variables.items():
        more = lost[address].alternatives or () if address in lost else ()
        names = sorted((*variable.node.branch_indices, *more)) if isinstance(variable.node, Choice) else None
        words.append([address, names, list(variable.owners)])
    words.sort(key=itemgetter(0))
    return SpaceIdentity(space.name, hashlib.sha256(json.dumps(words).encode()).hexdigest())


def write_archive(archive: Archive, path: Path) -> None:
    """Write an archive to a file and replace an existing one; raise ArchiveError if this fails."""
    document = ARCHIVE_CODEC.write(archive, json_documents.WritingContext())
    try:
        path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise ArchiveError(f"`{path}` cannot be written: {os_error_text(error)}") from error


def read_archive(path: Path) -> Archive:
    """Return the archive in a file; raise ArchiveError, with the position of the fault, if it is invalid."""
    try:
        document = json.loads(read_text(path, str(path)))
    except DataError as error:
        raise ArchiveError(error.message, error.help or REMEDY) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ArchiveError(f"`{path}` is not JSON: {error.msg.lower()} at {place}", REMEDY) from error
    except (ValueError, RecursionError) as error:  # numbers with too many digits, or too deep nesting
        raise ArchiveError(f"`{path}` is nested too deeply, or has a number with too many digits", REMEDY) from error
    try:
        return replace(ARCHIVE_CODEC.read(document, "archive", json_documents.ReadingContext()), name=str(path))
    except DefinitionError as error:
        raise ArchiveError(f"`{path}` is not an archive: {error}", error.remedy or REMEDY) from error


_VOCABULARY: Final = (
    "A hash of the decisions of the space, their alternatives and the hyperparameters, without ranges and constraints, "
    "which may depend on the data."
)
_SPACE: Final = ObjectCodec(
    "The space of the configuration, by its name and a hash.",
    (
        ObjectKey("name", codec.NAME, "The name of the space, for users."),
        ObjectKey("vocabulary", codec.TEXT, _VOCABULARY),
    ),
    codec.call_with_parts(SpaceIdentity),
)
_ROW: Final = ObjectCodec(
    "The best known configuration on one data set.",
    (
        ObjectKey("data", codec.TEXT, "The name of the data set."),
        ObjectKey("space", codec.SchemaDefinitionCodec("space", lambda: _SPACE)),
        ObjectKey("metric", codec.NAME, "The formula of the loss, such as `1 - roc_auc`."),
        ObjectKey("loss", codec.FLOAT, "The loss of the configuration; smaller is better."),
        ObjectKey(
            "configuration",
            codec.CONFIGURATION,
            "The configuration as `spacelang sample` prints it, with its alternatives and active hyperparameters.",
        ),
        ObjectKey(
            "fingerprint",
            codec.TEXT,
            "A hash of the content of the data, as in stores; empty or absent if it is unknown.",
            "",
        ),
        ObjectKey(
            "meta_features",
            codec.ConversionCodec(codec.MappingCodec(codec.FLOAT, expect_string), dict, lambda each: [*each.items()]),
            "The finite meta-features of the training rows, with the names of auto-sklearn's archive.",
        ),
    ),
    codec.call_with_parts(ArchiveRow),
)
ARCHIVE_CODEC: Final = ObjectCodec(
    "An archive of earlier runs, as `spacelang archive` writes it and `spacelang run --archive` reads it.",
    (
        ObjectKey("kind", codec.kind_codec(KIND), "The kind of the document."),
        ObjectKey(
            "version",
            codec.version_codec(VERSION),
            "The version of the format; spacelang reads only its own.",
        ),
        ObjectKey(
            "rows",
            codec.ArrayCodec(codec.SchemaDefinitionCodec("row", lambda: _ROW)),
            "One row for each data set, space and loss. Rows at equal distances are used in this order.",
        ),
    ),
    lambda parts, _, __: Archive("", parts["rows"]),
    lambda _: {"kind": KIND, "version": VERSION},
)
MAX_SUGGESTIONS: Final = 25  # The maximum number of suggested configurations
SAME_DATA_TOLERANCE: Final = 1e-6  # The relative tolerance within which all meta-features of the same data set agree
MetaFeatures: TypeAlias = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class UpcomingRun:
    """The run for which initial configurations are suggested; `meta_features` describe its training rows."""

    space: Space
    data: DataFacts
    metric: str
    meta_features: MetaFeatures


@dataclass(frozen=True, slots=True)
class ArchiveSuggestions:
    """The configurations that an archive suggests, most promising first and without repetitions.

    `left_out` lists the data sets that seem to be the run's own, each with the reason. `non_members` lists the
    configurations that are not members of the space, with the reasons. `unrelated_rows` counts the rows for another
    space or loss. `dropped_keys` are keys of the configurations that have no meaning for the data of the run.
    """

    archive: str
    configurations: tuple[Configuration, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    non_members: tuple[ExclusionReason, ...] = ()
    unrelated_rows: int = 0
    dropped_keys: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[str, ...]:
        """Messages for users on everything that was left out; empty if nothing was."""
        found = []
        if self.left_out:
            named = ", ".join(f"`{data}` ({reason})" for data, reason in self.left_out)
            found.append(f"not used from `{self.archive}`, because it may be the same data: {named}")
        if self.non_members:
            found.append(self.non_member_message)
        if self.unrelated_rows:
            rows = "1 row" if self.unrelated_rows == 1 else f"{self.unrelated_rows} rows"
            found.append(f"not used from `{self.archive}`: {rows} for another space or loss")
        if self.dropped_keys:
            found.append(f"`{self.archive}`: {dropped_keys_sentence(self.dropped_keys)}")
        if not self.configurations:
            found.append(f"`{self.archive}` suggests no initial configurations")
        return tuple(found)

    @property
    def non_member_message(self) -> str:
        """A message with the number of configurations that are not members of the space. There must be at least one."""
        count, first = len(self.non_members), " ".join(self.non_members[0].reason.split())
        configurations, most = ("1 configuration", "") if count == 1 else (f"{count} configurations", "the first one: ")
        return f"skipped {configurations} of `{self.archive}`: not in the space for this data ({most}{first})"


def suggest_from_archive(
    archive: Archive, target: UpcomingRun, norm: DistanceNorm = DistanceNorm.L1, most: int = MAX_SUGGESTIONS
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
    order = np.argsort(meta_feature_distances(aim, [row.meta_features for row in strange], norm), kind="stable")
    found, strangers = _members(target.space, (strange[place].configuration for place in order), most)
    left_out = tuple((row.data, reason) for row, reason in reasons if reason)
    dropped = tuple(sorted({key for keys in found.values() for key in keys}))
    return ArchiveSuggestions(archive.name, tuple(found), left_out, strangers, len(archive.rows) - len(rows), dropped)


def _relevant_rows(archive: Archive, target: UpcomingRun) -> list[ArchiveRow]:
    remedy = "create one from runs of this space: `spacelang archive RUNS… -o FILE.json`"
    vocabulary = identify_space(target.space).vocabulary
    same = [row for row in archive.rows if row.space.vocabulary == vocabulary]
    if not archive.rows:
        raise ArchiveError(f"the archive `{archive.name}` has no rows", remedy)
    if not same:
        names = _most_common(row.space.name for row in archive.rows)
        reason = f"its configurations are for {names}, whose decisions differ from those of `{target.space.name}`"
        raise ArchiveError(f"`{archive.name}` is an archive for another space: {reason}", remedy)
    judged = [row for row in same if row.metric == target.metric]
    if not judged:
        names = _most_common(row.metric for row in same)
        help_text = f"minimize a metric of the archive, or create an archive of runs with {target.metric}"
        raise ArchiveError(
            f"`{archive.name}` has configurations that minimize {names}, but none for {target.metric}", help_text
        )
    return judged


def _most_common(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name, _ in Counter(names).most_common(3))


def _members(
    space: Space, configurations: Iterable[Configuration], most: int
) -> tuple[dict[Configuration, set[str]], tuple[ExclusionReason, ...]]:
    """Return the first `most` distinct members of the space, and the exclusions of the configurations before them.

    Each member comes with the keys of its configurations that have no meaning for the data.
    """
    found: dict[Configuration, set[str]] = {}
    strangers: dict[Configuration, ExclusionReason] = {}
    for each in configurations:
        if len(found) == most:
            break
        adapted = member_without_dropped_keys(space, each)
        if isinstance(adapted, ExclusionReason):
            strangers[each] = adapted
        else:
            found.setdefault(adapted.member, set()).update(adapted.dropped)
    return found, tuple(strangers.values())


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
    file = PurePath(data.removeprefix("sklearn:")).name.lower()
    ending = next((each for each in sorted(EXTENSIONS, key=len, reverse=True) if file.endswith(each)), "")
    return re.sub(r"[\W_]", "", file.removesuffix(ending)) or data


def meta_feature_distances(
    target: MetaFeatures, others: Sequence[MetaFeatures], norm: DistanceNorm = DistanceNorm.L1
) -> Floats:
    """Return the n distances from the data set `target` to `others`: the `norm` of the differences, maybe infinite.

    Each meta-feature is scaled by its range among `others`; one that they lack is ignored, and a missing one is
    replaced by the mean of the others.
    """
    names = sorted(key for key in target if np.isfinite(target[key]))  # so sums do not depend on column order
    known = np.array([[each.get(key, np.nan) for key in names] for each in others], dtype=np.float64)
    known = known.reshape(len(others), len(names))
    known[~np.isfinite(known)] = np.nan
    there = ~np.isnan(known).all(axis=0) if len(others) else np.zeros(len(names), bool)
    known, aim = known[:, there], np.array([target[key] for key in names])[there]
    if not known.size:
        return np.zeros(len(others))
    with np.errstate(all="ignore"):  # an overflow counts as an infinite distance
        known = np.where(np.isnan(known), np.nanmean(known, axis=0), known)
        least, most = known.min(axis=0), known.max(axis=0)
        varied = most > least
        gaps = np.abs(known[:, varied] - aim[varied]) / (most[varied] - least[varied])
        total = gaps.sum(axis=1) if norm is DistanceNorm.L1 else np.sqrt((gaps**2).sum(axis=1))
    return np.where(np.isnan(total), np.inf, total)
