"""The JSON schemas in the folder of the grammar; `python -m spacelang.api.schemas` writes them of the forms anew.

What compiled documents have beside the definition of their space is that of each target, and written by hand.
"""

import json
from collections.abc import Callable
from typing import Final

from spacelang.forms.definition import DEFINITION
from spacelang.forms.standing import Object
from spacelang.resources import folder
from spacelang.runtime.archives.archive import ARCHIVE

WIDTH: Final = 120


def compiled(written: Object) -> Object:
    """The schema of compiled documents with those of a definition and its parts as they are now."""
    defined: Object = {}
    DEFINITION.schema(defined)
    parts = written["$defs"]
    assert isinstance(parts, dict)
    return {**written, "$defs": {**defined, **{name: part for name, part in parts.items() if name not in defined}}}


def archive(written: Object) -> Object:
    """The schema of archives as it is now."""
    defined: Object = {}
    return {"$schema": written["$schema"], **ARCHIVE.schema(defined), "$defs": defined}


SCHEMAS: Final[dict[str, Callable[[Object], Object]]] = {
    "compiled.schema.json": compiled,
    "archive.schema.json": archive,
}
"""What makes of each file what it should be."""


def laid_out(value: object, before: int = 0, indent: int = 0) -> str:
    """JSON behind so many characters; what is short stands on one line."""
    short = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or indent + before + len(short) < WIDTH:
        return short
    keys = [f"{json.dumps(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    each = value.values() if isinstance(value, dict) else value
    lines = [f"{key}{laid_out(item, len(key), indent + 2)}" for key, item in zip(keys, each, strict=True)]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f",\n{' ' * (indent + 2)}".join(lines).join((f"{start}\n{' ' * (indent + 2)}", f"\n{' ' * indent}{end}"))


if __name__ == "__main__":
    for name, renewed in SCHEMAS.items():
        path = folder("grammars") / name
        path.write_text(laid_out(renewed(json.loads(path.read_text(encoding="utf-8")))) + "\n", encoding="utf-8")
