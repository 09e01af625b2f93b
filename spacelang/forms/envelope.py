"""The documents that carry a definition: told from other texts, and read as JSON."""

import json
from collections import Counter
from typing import Any, Final, NoReturn

from spacelang.forms.json_fields import DefinitionError

MARKS: Final = ("target", "definition")
"""The keys by which a compiled space is known."""


def opened(text: str, name: str) -> dict[str, Any] | None:
    """The document that a text is; None for what is no compiled space at all, such as the text of a space.

    Raises DefinitionError, with the name of the text as its path, for a compiled space that is broken JSON.
    """
    if not text.lstrip().startswith("{") or not all(f'"{mark}"' in text for mark in MARKS):
        return None
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except _TwiceError as error:
        raise DefinitionError(name, f"gives the key `{error}` twice in one object") from None
    except RecursionError:
        raise DefinitionError(name, "is nested too deeply") from None
    except ValueError as error:
        raise DefinitionError(name, f"is not JSON: {_lowered(str(error))}") from None
    return document if isinstance(document, dict) and all(mark in document for mark in MARKS) else None


def is_compiled(text: str) -> bool:
    """Whether a text is the document of a compiled space, be it a broken one."""
    try:
        return opened(text, "") is not None
    except DefinitionError:
        return True


class _TwiceError(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys are all different: the later of two values would win in silence."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _TwiceError(next(key for key, count in counts.items() if count > 1))
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"`{constant}` is no number")


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]
