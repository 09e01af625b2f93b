"""Archives: which configuration was the best on each of some data sets, and what these are like; as a JSON file.

Anybody makes one of runs of their own (`spacelang archive`); `grammars/archive.schema.json` describes every key.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from spacelang.files import said_by
from spacelang.forms.codec import NAME, REAL, TEXT, VALUE, Defined, Items, Key, KeyedObject, Members, Scalar, Via, made
from spacelang.forms.json_fields import DefinitionError, text, whole
from spacelang.forms.standing import ReadingContext, WritingContext
from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice, Space
from spacelang.runtime.data.files import read_text
from spacelang.runtime.errors import DataError, InputError

KIND: Final = "archive"
VERSION: Final = 1
"""Of the document: another one is another format."""

REMEDY: Final = "make it anew with `spacelang archive`, or see `grammars/archive.schema.json`"


class ArchiveError(InputError):
    """A file is no archive, or one that says nothing about a run."""


@dataclass(frozen=True, slots=True)
class SpaceFacts:
    """A space as an archive knows it: what it is called, and by which words its configurations speak."""

    name: str
    vocabulary: str


@dataclass(frozen=True, slots=True)
class ArchiveRow:
    """The best known configuration on one data set.

    `fingerprint` is that of its content, empty where nobody has taken it. `metric` is the formula of the loss
    (`1 - roc_auc`). `meta_features` are those of training rows that are finite, by their names.
    """

    data: str
    space: SpaceFacts
    metric: str
    loss: float
    configuration: Configuration
    fingerprint: str = ""
    meta_features: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Archive:
    """Rows in the order in which ties are broken, and what the archive is called, as messages call it."""

    name: str
    rows: tuple[ArchiveRow, ...]


def space_facts(space: Space) -> SpaceFacts:
    """A space as archives know it.

    Its vocabulary, 64 hexadecimal digits, is the same for two spaces whose decisions have the same alternatives, and
    whose hyperparameters are called alike and belong to the same of these. Ranges may differ, as they depend on the
    data, and so may constraints: whether a configuration is a member is to be asked of each.
    """
    words = sorted(
        [each.address, sorted(each.node.places) if isinstance(each.node, Choice) else None, list(each.owners)]
        for each in space.variables.values()
    )
    return SpaceFacts(space.name, hashlib.sha256(json.dumps(words).encode()).hexdigest())


# ---- the file


def write_archive(archive: Archive, path: Path) -> None:
    """Write the file, over one that is there; raises ArchiveError where that cannot be."""
    document = ARCHIVE.write(archive, WritingContext())
    try:
        path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise ArchiveError(f"`{path}` cannot be written: {said_by(error)}") from error


def read_archive(path: Path) -> Archive:
    """The archive in a file; raises ArchiveError, which says where it is wrong, for one that holds none."""
    try:
        document = json.loads(read_text(path, str(path)))
    except DataError as error:
        raise ArchiveError(error.message, error.help or REMEDY) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ArchiveError(f"`{path}` is not JSON: {error.msg.lower()} at {place}", REMEDY) from error
    except (ValueError, RecursionError) as error:  # numbers of too many digits, or brackets too deep
        raise ArchiveError(f"`{path}` is beyond what an archive holds", REMEDY) from error
    try:
        return replace(ARCHIVE.read(document, "archive", ReadingContext()), name=str(path))
    except DefinitionError as error:
        raise ArchiveError(f"`{path}` is no archive: {error}", error.remedy or REMEDY) from error


def _kind(value: object, path: str) -> str:
    if text(value, path) != KIND:
        raise DefinitionError(path, f"is `{value}` where `{KIND}` should be")
    return KIND


def _version(value: object, path: str) -> int:
    if whole(value, path, 1) != VERSION:
        raise DefinitionError(path, f"is {value}, and this spacelang reads {VERSION}", "upgrade it")
    return VERSION


_SPACE: Final = KeyedObject(
    "The space of the configuration.",
    (
        Key("name", NAME, "What it is called; for people."),
        Key(
            "vocabulary",
            TEXT,
            "A hash of its decisions, their alternatives and the hyperparameters, without ranges and constraints, "
            "which may depend on the data.",
        ),
    ),
    made(SpaceFacts),
)
_ROW: Final = KeyedObject(
    "The best known configuration on one data set.",
    (
        Key("data", TEXT, "What the data set is called."),
        Key("space", Defined("space", lambda: _SPACE)),
        Key("metric", NAME, "The formula of the loss: `1 - roc_auc`."),
        Key("loss", REAL, "Of the configuration; smaller is better."),
        Key(
            "configuration",
            Via(Members(VALUE, text), lambda pairs: Configuration(dict(pairs)), lambda each: [*each.items()]),
            "As `spacelang sample` prints one: alternatives of decisions, and values of what is active.",
        ),
        Key(
            "fingerprint",
            TEXT,
            "A hash of its content, as stores have it; empty or absent where nobody has taken it.",
            "",
        ),
        Key(
            "meta_features",
            Via(Members(REAL, text), dict, lambda each: [*each.items()]),
            "Those that are finite, of training rows, under the names of auto-sklearn's archive.",
        ),
    ),
    made(ArchiveRow),
)
ARCHIVE: Final = KeyedObject(
    "An archive of earlier runs, as `spacelang archive` writes it and `spacelang run --archive` reads it.",
    (
        Key("kind", Scalar(_kind, {"const": KIND}), "What the document is."),
        Key(
            "version", Scalar(_version, {"const": VERSION}), "Of the format: another one is read by another spacelang."
        ),
        Key(
            "rows",
            Items(Defined("row", lambda: _ROW)),
            "One for each data set, space and loss, in the order in which ties of distances are broken.",
        ),
    ),
    lambda parts, _, __: Archive("", parts["rows"]),
    lambda _: {"kind": KIND, "version": VERSION},
)
