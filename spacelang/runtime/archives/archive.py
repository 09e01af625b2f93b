"""Archives: the best configuration and the meta-features of each of some data sets, as a JSON file.

Users create them from their own runs with `spacelang archive`. `grammars/archive.schema.json` describes every key.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from spacelang.files import os_error_text
from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice, Space
from spacelang.runtime.data.csv_files import read_text
from spacelang.runtime.errors import DataError, InputError
from spacelang.serialization.codec import (
    FLOAT,
    NAME,
    TEXT,
    VALUE,
    ArrayCodec,
    ConversionCodec,
    MappingCodec,
    NamedCodec,
    ObjectCodec,
    ObjectKey,
    ScalarCodec,
    from_parts,
)
from spacelang.serialization.document_context import ReadingContext, WritingContext
from spacelang.serialization.json_fields import DefinitionError, expect_integer, expect_string

KIND: Final = "archive"
VERSION: Final = 1
"""The version of the document's format."""

REMEDY: Final = "recreate it with `spacelang archive`, or see `grammars/archive.schema.json`"


class ArchiveError(InputError):
    """A file that is no archive, or an archive without rows for a run."""


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
    """The rows of an archive and its name in messages. Ties of distances are broken by the order of the rows."""

    name: str
    rows: tuple[ArchiveRow, ...]


def space_facts(space: Space) -> SpaceIdentity:
    """Return the name and the vocabulary hash of a space.

    The vocabulary is 64 hexadecimal digits. It is equal for two spaces if their decisions have the same alternatives,
    and their hyperparameters the same names and owners. Ranges and constraints may differ, as they can depend on the
    data. So the membership of each configuration must still be checked.
    """
    words = sorted(
        [each.address, sorted(each.node.branch_indices) if isinstance(each.node, Choice) else None, list(each.owners)]
        for each in space.variables.values()
    )
    return SpaceIdentity(space.name, hashlib.sha256(json.dumps(words).encode()).hexdigest())


# ---- the file


def write_archive(archive: Archive, path: Path) -> None:
    """Write an archive to a file and replace an existing one; raise ArchiveError if this fails."""
    document = ARCHIVE_CODEC.write(archive, WritingContext())
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
        return replace(ARCHIVE_CODEC.read(document, "archive", ReadingContext()), name=str(path))
    except DefinitionError as error:
        raise ArchiveError(f"`{path}` is not an archive: {error}", error.remedy or REMEDY) from error


def _kind(value: object, path: str) -> str:
    if expect_string(value, path) != KIND:
        raise DefinitionError(path, f"is `{value}`, but must be `{KIND}`")
    return KIND


def _version(value: object, path: str) -> int:
    if expect_integer(value, path, 1) != VERSION:
        raise DefinitionError(
            path, f"is {value}, but this version of spacelang reads only version {VERSION}", "upgrade spacelang"
        )
    return VERSION


_SPACE: Final = ObjectCodec(
    "The space of the configuration, by its name and a hash.",
    (
        ObjectKey("name", NAME, "The name of the space, for users."),
        ObjectKey(
            "vocabulary",
            TEXT,
            "A hash of the decisions of the space, their alternatives and the hyperparameters, without ranges and "
            "constraints, which may depend on the data.",
        ),
    ),
    from_parts(SpaceIdentity),
)
_ROW: Final = ObjectCodec(
    "The best known configuration on one data set.",
    (
        ObjectKey("data", TEXT, "The name of the data set."),
        ObjectKey("space", NamedCodec("space", lambda: _SPACE)),
        ObjectKey("metric", NAME, "The formula of the loss, such as `1 - roc_auc`."),
        ObjectKey("loss", FLOAT, "The loss of the configuration; smaller is better."),
        ObjectKey(
            "configuration",
            ConversionCodec(
                MappingCodec(VALUE, expect_string),
                lambda pairs: Configuration(dict(pairs)),
                lambda each: [*each.items()],
            ),
            "As `spacelang sample` prints it: the alternatives of its decisions and its active hyperparameters.",
        ),
        ObjectKey(
            "fingerprint",
            TEXT,
            "A hash of the content of the data, as in stores; empty or absent if it is unknown.",
            "",
        ),
        ObjectKey(
            "meta_features",
            ConversionCodec(MappingCodec(FLOAT, expect_string), dict, lambda each: [*each.items()]),
            "The finite meta-features of the training rows, with the names of auto-sklearn's archive.",
        ),
    ),
    from_parts(ArchiveRow),
)
ARCHIVE_CODEC: Final = ObjectCodec(
    "An archive of earlier runs, as `spacelang archive` writes it and `spacelang run --archive` reads it.",
    (
        ObjectKey("kind", ScalarCodec(_kind, {"const": KIND}), "The kind of the document."),
        ObjectKey(
            "version",
            ScalarCodec(_version, {"const": VERSION}),
            "The version of the format; spacelang reads only its own.",
        ),
        ObjectKey(
            "rows",
            ArrayCodec(NamedCodec("row", lambda: _ROW)),
            "One row for each data set, space and loss. Ties of distances are broken by their order.",
        ),
    ),
    lambda parts, _, __: Archive("", parts["rows"]),
    lambda _: {"kind": KIND, "version": VERSION},
)
