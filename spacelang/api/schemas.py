"""The JSON schemas in the folder `grammars`; `python -m spacelang.api.schemas` regenerates their generated parts.

The parts for the forms of single targets are written by hand.
"""

import json
from collections.abc import Callable
from typing import Final

from spacelang.files import resource_folder
from spacelang.runtime.archives.archive import ARCHIVE_CODEC
from spacelang.serialization.definition import DEFINITION
from spacelang.serialization.json_documents import JsonObject

WIDTH: Final = 120


def compiled_document_schema(written: JsonObject) -> JsonObject:
    """Return `written`, the schema of compiled documents, with its definitions of spaces generated anew."""
    defined: JsonObject = {}
    DEFINITION.schema(defined)
    parts = written["$defs"]
    assert isinstance(parts, dict)
    return {**written, "$defs": {**defined, **{name: part for name, part in parts.items() if name not in defined}}}


def archive_schema(written: JsonObject) -> JsonObject:
    """Return the schema of archives generated anew; only its `$schema` is taken from the file content `written`."""
    defined: JsonObject = {}
    return {"$schema": written["$schema"], **ARCHIVE_CODEC.schema(defined), "$defs": defined}


SCHEMAS: Final[dict[str, Callable[[JsonObject], JsonObject]]] = {
    "compiled.schema.json": compiled_document_schema,
    "archive.schema.json": archive_schema,
}
"""The function that brings each schema file up to date."""


def format_json(value: object, before: int = 0, indent: int = 0) -> str:
    """Return JSON text with short values on one line; `before` characters precede it on its first line."""
    short = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or indent + before + len(short) < WIDTH:
        return short
    keys = [f"{json.dumps(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    each = value.values() if isinstance(value, dict) else value
    lines = [f"{key}{format_json(item, len(key), indent + 2)}" for key, item in zip(keys, each, strict=True)]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f",\n{' ' * (indent + 2)}".join(lines).join((f"{start}\n{' ' * (indent + 2)}", f"\n{' ' * indent}{end}"))


if __name__ == "__main__":
    for name, renewed in SCHEMAS.items():
        path = resource_folder("grammars") / name
        path.write_text(format_json(renewed(json.loads(path.read_text(encoding="utf-8")))) + "\n", encoding="utf-8")
