"""Check and convert fields of untrusted JSON documents; errors state the path of the invalid field."""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NoReturn, TypeVar

from spacelang.ir.value import Value
from spacelang.suggest import suggestion
from spacelang.text import forbidden_character, parameter_name_problem

T = TypeVar("T")
NUMBER_LIMIT: Final = 2**1024
"""The absolute value of a number must be below this limit, as for a float."""
WORD_PATTERN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_LISTED: Final = 12
"""The maximal number of keys that a remedy lists."""


class DefinitionError(ValueError):
    """Exception for the invalid place `path` of a document, with its problem, a remedy, and errors at `others`."""

    def __init__(self, path: str, problem: str, remedy: str = "") -> None:
        super().__init__(f"`{path}` {problem}")
        self.path, self.problem, self.remedy = path, problem, remedy
        self.others: tuple[DefinitionError, ...] = ()


def combine_errors(wrong: Sequence[DefinitionError]) -> DefinitionError:
    """Return the first of several errors, with the others attached to it."""
    first, *rest = wrong
    first.others += tuple(each for error in rest for each in (error, *error.others))
    return first


def expect_type(value: object, path: str, kind: type[T], what: str) -> T:
    """Return the value if it is a `kind`, else raise DefinitionError; `what` describes the expected value."""
    if not isinstance(value, kind):
        raise DefinitionError(path, f"is {describe_json_value(value)}, expected {what}")
    return value


def expect_object(value: object, path: str) -> dict[str, object]:
    """Return a value that must be a JSON object."""
    return expect_type(value, path, dict, "an object")


def check_keys(given: Collection[str], path: str, known: Collection[str]) -> Iterator[DefinitionError]:
    """Yield an error for every unknown key of an object, with a suggestion or the list of known keys."""
    for key in given:
        if key not in known:
            listed = ", ".join(f"`{name}`" for name in [*known][:MAX_LISTED])
            remedy = suggestion(key, known) or f"known keys: {listed}"
            yield DefinitionError(path, f"has an unknown key `{key}`", remedy)


def find_tag(value: object, path: str, kinds: Collection[str], what: str) -> str:
    """Return the only one of the keys `kinds` that an object has, which states its kind; else raise DefinitionError."""
    if not isinstance(value, dict):
        raise DefinitionError(path, f"is {describe_json_value(value)}, expected {what}")
    found = [kind for kind in kinds if kind in value]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"`{kind}`" for kind in kinds)
    if found:
        raise DefinitionError(path, f"has both `{found[0]}` and `{found[1]}`", "give only one of them")
    meant = next(filter(None, (suggestion(key, kinds) for key in value)), "")
    raise DefinitionError(path, f"is not {what}", meant or f"give one of the keys {listed}")


def first_duplicate(names: Sequence[object]) -> int | None:
    """Return the index of the first name that repeats an earlier one; None if all names are distinct."""
    if len({*names}) == len(names):
        return None
    return next(place for place, name in enumerate(names) if name in names[:place])


def expect_string(value: object, path: str) -> str:
    """Return a value that must be a string."""
    return expect_type(value, path, str, "a string")


def expect_name(value: object, path: str) -> str:
    """Return a value that must be a nonempty string of visible characters."""
    found = expect_string(value, path)
    if not found:
        raise DefinitionError(path, "is empty, expected a name")
    if (character := forbidden_character(found)) is not None:
        raise DefinitionError(path, f"contains the character {character}, which is not allowed in names")
    return found


def expect_plain_word(value: object, path: str) -> str:
    """Return a value that must be a plain word: a name of a decision, hyperparameter or operator."""
    found = expect_name(value, path)
    if not WORD_PATTERN.fullmatch(found):
        raise DefinitionError(path, f"is `{found}`, expected a word", "use letters from A to Z, digits and `_`")
    return found


def expect_parameter_name(value: object, path: str) -> str:
    """Return a value that must be a name of a parameter, as the language allows it in backticks."""
    found = expect_string(value, path)
    if (reason := parameter_name_problem(found)) is not None:
        raise DefinitionError(path, f"is `{found}`, which {reason}" if found else f"{reason}, expected a name")
    return found


def expect_boolean(value: object, path: str) -> bool:
    """Return a value that must be `true` or `false`."""
    return expect_type(value, path, bool, "`true` or `false`")


def expect_number(value: object, path: str) -> int | float:
    """Return a value that must be a finite number; booleans are not numbers here."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DefinitionError(path, f"is {describe_json_value(value)}, expected a number")
    if not math.isfinite(value) if isinstance(value, float) else abs(value) >= NUMBER_LIMIT:
        raise DefinitionError(path, "is not a finite number")
    return value


def expect_float(value: object, path: str) -> float:
    """Return a finite number as a float."""
    found = expect_number(value, path)
    try:
        return float(found)
    except OverflowError:
        raise DefinitionError(path, "is too large for a float") from None


def expect_positive_number(value: object, path: str) -> int | float:
    """Return a value that must be a finite number above 0."""
    found = expect_number(value, path)
    if found <= 0:
        raise DefinitionError(path, f"is {found!r}, expected a number above 0")
    return found


def expect_positive_float(value: object, path: str) -> float:
    """Return a finite number above 0 as a float."""
    return expect_float(expect_positive_number(value, path), path)


def expect_integer(value: object, path: str, least: int | None = None) -> int:
    """Return a value that must be an integer (of at least `least`). JSON does not distinguish the float 3.0 from 3."""
    found = expect_number(value, path)
    if found != int(found):
        raise DefinitionError(path, f"is {found!r}, expected a whole number")
    if least is not None and found < least:
        raise DefinitionError(path, f"is {int(found)}, expected a whole number of at least {least}")
    return int(found)


def expect_value(value: object, path: str) -> Value:
    """Return the value of a hyperparameter: a scalar, or a tuple for a JSON array."""
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return expect_number(value, path)
        case list():
            return tuple([expect_value(item, f"{path}[{place}]") for place, item in enumerate(value)])
        case _:
            raise DefinitionError(path, f"is {describe_json_value(value)}, expected a value")


def expect_one_of(value: object, path: str, known: Sequence[str]) -> str:
    """Return a value that must be one of the strings `known`."""
    found = expect_string(value, path)
    if found in known:
        return found
    listed = ", ".join(f"`{each}`" for each in known)
    raise DefinitionError(path, f"is `{found}`", suggestion(found, known) or f"expected one of {listed}")


def describe_json_value(value: object) -> str:
    """Return a description of a JSON value for messages, such as "a number"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    names = {type(None): "null", int: "a number", float: "a number", str: "a string"}
    return names.get(type(value), "an object")


REQUIRED_KEYS: Final = ("target", "definition")
"""The keys that identify the document of a compiled space."""


def parse_document(text: str, name: str) -> dict[str, Any] | None:
    """Return the parsed document of a compiled space; None for other text. Raises DefinitionError if damaged."""
    if not text.lstrip().startswith("{") or not all(f'"{mark}"' in text for mark in REQUIRED_KEYS):
        return None
    try:
        document = json.loads(text, object_pairs_hook=_object_without_duplicates, parse_constant=_reject_constant)
    except _DuplicateKeyError as error:
        raise DefinitionError(name, f"gives the key `{error}` twice in one object") from None
    except RecursionError:
        raise DefinitionError(name, "is nested too deeply") from None
    except ValueError as error:
        message = str(error)
        raise DefinitionError(name, f"is not JSON: {message[:1].lower()}{message[1:]}") from None
    return document if isinstance(document, dict) and all(mark in document for mark in REQUIRED_KEYS) else None


def is_compiled(text: str) -> bool:
    """Return True if a text is the document of a compiled space, valid or broken."""
    try:
        return parse_document(text, "") is not None
    except DefinitionError:
        return True


class _DuplicateKeyError(ValueError):
    """Exception for a JSON object that repeats a key; the argument is the key."""


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dictionary; raise _DuplicateKeyError for a repeated key, which `json` would drop."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _DuplicateKeyError(next(key for key, count in counts.items() if count > 1))
    return found


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"`{constant}` is not a JSON number")


def decision_keys(definition: str) -> tuple[str, ...]:
    """Return the keys of all decisions of a space in JSON, in the order of the text; empty if it is not JSON."""
    try:
        document = json.loads(definition)
    except (ValueError, RecursionError):
        return ()
    keys: dict[str, None] = {}
    waiting: list[Any] = [document.get("root")] if isinstance(document, dict) else []
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            # A decision that is mentioned in a condition has no `address` key.
            if "decision" in each and "address" in each:
                keys[str(each.get("key", each["address"]))] = None
            waiting += reversed(each.values())
        elif isinstance(each, list):
            waiting += reversed(each)
    return tuple(keys)
