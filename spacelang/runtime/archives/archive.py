"""Archives: which configuration was the best on each of some data sets, and what these are like; as a JSON file.

Anybody makes one of runs of their own (`spacelang archive`); `grammars/archive.schema.json` describes every key.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from spacelang.forms.json_fields import DefinitionError, Fields, at_least, items, name, plain, real, text
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
class Row:
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
    rows: tuple[Row, ...]


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
    rows = [asdict(each) | {"configuration": each.configuration.to_dict()} for each in archive.rows]
    document = {"kind": KIND, "version": VERSION, "rows": rows}
    try:
        path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise ArchiveError(f"`{path}` cannot be written: {(error.strerror or str(error)).lower()}") from error


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
        return Archive(str(path), _rows(document))
    except DefinitionError as error:
        raise ArchiveError(f"`{path}` is no archive: {error}", error.remedy or REMEDY) from error


def _rows(document: object) -> tuple[Row, ...]:
    facts = Fields(document, "archive", ("kind", "version", "rows"))
    kind, version = facts.need("kind", text), facts.need("version", at_least(1))
    if kind != KIND:
        raise DefinitionError("archive.kind", f"is `{kind}` where `{KIND}` should be")
    if version != VERSION:
        raise DefinitionError("archive.version", f"is {version}, and this spacelang reads {VERSION}", "upgrade it")
    return facts.need("rows", items(_row))


def _row(value: object, path: str) -> Row:
    facts = Fields(value, path, Row.__slots__)
    return Row(
        facts.need("data", text),
        facts.need("space", _space),
        facts.need("metric", name),
        facts.need("loss", real),
        facts.need("configuration", _configuration),
        facts.get("fingerprint", text, ""),
        facts.need("meta_features", _numbers),
    )


def _space(value: object, path: str) -> SpaceFacts:
    facts = Fields(value, path, SpaceFacts.__slots__)
    return SpaceFacts(facts.need("name", name), facts.need("vocabulary", text))


def _configuration(value: object, path: str) -> Configuration:
    given = Fields(value, path, value if isinstance(value, dict) else ())
    return Configuration({key: given.need(key, plain) for key in given.members})


def _numbers(value: object, path: str) -> dict[str, float]:
    given = Fields(value, path, value if isinstance(value, dict) else ())
    return {key: given.need(key, real) for key in given.members}
