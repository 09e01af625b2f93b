"""Recognise and parse documents that contain a compiled space."""

import json
from collections import Counter
from typing import Any, Final, NoReturn

from spacelang.serialization.json_fields import DefinitionError

REQUIRED_KEYS: Final = ("target", "definition")
"""The keys that identify the document of a compiled space."""


def parse_document(text: str, name: str) -> dict[str, Any] | None:
    """Return the parsed document of a compiled space; None for any other text, such as the text of a space.

    Raises DefinitionError, with `name` as its path, if the document is not valid JSON or an object repeats a key.
    """
    if not text.lstrip().startswith("{") or not all(f'"{mark}"' in text for mark in REQUIRED_KEYS):
        return None
    try:
        document = json.loads(text, object_pairs_hook=_object_without_duplicates, parse_constant=_reject_constant)
    except _DuplicateKeyError as error:
        raise DefinitionError(name, f"gives the key `{error}` twice in one object") from None
    except RecursionError:
        raise DefinitionError(name, "is nested too deeply") from None
    except ValueError as error:
        raise DefinitionError(name, f"is not JSON: {_lowercase_first(str(error))}") from None
    return document if isinstance(document, dict) and all(mark in document for mark in REQUIRED_KEYS) else None


def is_compiled(text: str) -> bool:
    """Return True if a text is the document of a compiled space, valid or broken."""
    try:
        return parse_document(text, "") is not None
    except DefinitionError:
        return True


class _DuplicateKeyError(ValueError):
    """Exception for a JSON object that repeats a key; the argument is the key."""

    pass


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dictionary; raise _TwiceError for a repeated key.

    By default, `json` silently keeps the last value of a repeated key.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _DuplicateKeyError(next(key for key, count in counts.items() if count > 1))
    return found


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"`{constant}` is not a JSON number")


def _lowercase_first(message: str) -> str:
    return message[:1].lower() + message[1:]
