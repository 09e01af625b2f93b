"""Reading a stranger's JSON: every key is asked for by name and kind, and what is wrong is told by its path."""

import math
import re
from collections.abc import Callable, Collection
from typing import Final, TypeVar

from spacelang.ir.value import Value
from spacelang.suggest import nearest
from spacelang.text import no_parameter, not_in_names

T = TypeVar("T")
D = TypeVar("D")

LARGEST: Final = 2**1024
"""Numbers are below this: what is beyond every float is no number of the language."""

WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

MOST_LISTED: Final = 12
"""So many keys are listed in a remedy at most."""


class DefinitionError(ValueError):
    """A document does not define a space: `path` says where, `problem` what is wrong there, `remedy` what to do."""

    def __init__(self, path: str, problem: str, remedy: str = "") -> None:
        super().__init__(f"`{path}` {problem}")
        self.path = path
        self.problem = problem
        self.remedy = remedy


class Fields:
    """A JSON object of which only known keys are allowed."""

    def __init__(self, value: object, path: str, known: Collection[str]) -> None:
        """Raises DefinitionError for what is no object, and for an unknown key."""
        if not isinstance(value, dict):
            raise DefinitionError(path, f"is {kind_of(value)} where an object should be")
        self.members = value
        self.path = path
        for key in value:
            if key not in known:
                near = nearest(key, known)
                listed = ", ".join(f"`{name}`" for name in [*known][:MOST_LISTED])
                raise DefinitionError(
                    path, f"has an unknown key `{key}`", f"did you mean `{near}`?" if near else f"there are {listed}"
                )

    def __contains__(self, key: str) -> bool:
        return key in self.members

    def need(self, key: str, read: Callable[[object, str], T]) -> T:
        """What a reader makes of a member that must be there."""
        if key not in self.members:
            raise DefinitionError(self.path, f"has no `{key}`")
        return read(self.members[key], f"{self.path}.{key}")

    def get(self, key: str, read: Callable[[object, str], T], default: D) -> T | D:
        """What a reader makes of a member, the default where there is none."""
        return self.need(key, read) if key in self.members else default


def one_of(value: object, path: str, kinds: Collection[str], what: str) -> str:
    """The one key of an object that says what it is."""
    if not isinstance(value, dict):
        raise DefinitionError(path, f"is {kind_of(value)} where {what} should be")
    found = [kind for kind in kinds if kind in value]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"`{kind}`" for kind in kinds)
    if found:
        raise DefinitionError(path, f"has both `{found[0]}` and `{found[1]}`", "give one of them")
    near = next((near for near in (nearest(key, kinds) for key in value) if near), None)
    raise DefinitionError(path, f"is not {what}", f"did you mean `{near}`?" if near else f"it has one key of {listed}")


def items(read: Callable[[object, str], T]) -> Callable[[object, str], tuple[T, ...]]:
    """The reader of a list of what another reader reads."""

    def read_all(value: object, path: str) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise DefinitionError(path, f"is {kind_of(value)} where a list should be")
        return tuple([read(item, f"{path}[{place}]") for place, item in enumerate(value)])

    return read_all


def text(value: object, path: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise DefinitionError(path, f"is {kind_of(value)} where a string should be")
    return value


def name(value: object, path: str) -> str:
    """A string that is not empty, of characters that can be seen."""
    found = text(value, path)
    if not found:
        raise DefinitionError(path, "is empty where a name should be")
    character = not_in_names(found)
    if character is not None:
        raise DefinitionError(path, f"holds the character {character}, which is in no name")
    return found


def term(value: object, path: str) -> str:
    """A word, as the language has it for the names of decisions, hyperparameters and operators."""
    found = name(value, path)
    if not WORD.fullmatch(found):
        raise DefinitionError(path, f"is `{found}` where a word should be", "take letters from A to Z, digits and `_`")
    return found


def parameter(value: object, path: str) -> str:
    """The name of a parameter, as it may stand in backticks."""
    found = text(value, path)
    reason = no_parameter(found)
    if reason is not None:
        raise DefinitionError(path, f"is `{found}`, which {reason}" if found else f"{reason} where a name should be")
    return found


def flag(value: object, path: str) -> bool:
    """`true` or `false`."""
    if not isinstance(value, bool):
        raise DefinitionError(path, f"is {kind_of(value)} where `true` or `false` should be")
    return value


def number(value: object, path: str) -> int | float:
    """A number that is no boolean and finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DefinitionError(path, f"is {kind_of(value)} where a number should be")
    if not math.isfinite(value) if isinstance(value, float) else abs(value) >= LARGEST:
        raise DefinitionError(path, "is a number that is not finite")
    return value


def real(value: object, path: str) -> float:
    """A finite number as a float."""
    found = number(value, path)
    try:
        return float(found)
    except OverflowError:
        raise DefinitionError(path, "is beyond every float") from None


def above_zero(value: object, path: str) -> int | float:
    """A finite number above 0."""
    found = number(value, path)
    if found <= 0:
        raise DefinitionError(path, f"is {found!r} where a number above 0 should be")
    return found


def positive(value: object, path: str) -> float:
    """A finite number above 0 as a float."""
    return real(above_zero(value, path), path)


def whole(value: object, path: str) -> int:
    """An integer; 3.0 is one as well, as JSON does not tell them apart."""
    found = number(value, path)
    if found != int(found):
        raise DefinitionError(path, f"is {found!r} where a whole number should be")
    return int(found)


def at_least(least: int) -> Callable[[object, str], int]:
    """The reader of integers from a least one on."""

    def read(value: object, path: str) -> int:
        found = whole(value, path)
        if found < least:
            raise DefinitionError(path, f"is {found} where a whole number from {least} should be")
        return found

    return read


def plain(value: object, path: str) -> Value:
    """A value of a hyperparameter: a scalar, or a list for a tuple."""
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return number(value, path)
        case list():
            return items(plain)(value, path)
        case _:
            raise DefinitionError(path, f"is {kind_of(value)} where a value should be")


def word(*known: str) -> Callable[[object, str], str]:
    """The reader of one of some words."""

    def read(value: object, path: str) -> str:
        found = text(value, path)
        if found in known:
            return found
        near = nearest(found, known)
        listed = ", ".join(f"`{each}`" for each in known)
        raise DefinitionError(path, f"is `{found}`", f"did you mean `{near}`?" if near else f"it is one of {listed}")

    return read


def kind_of(value: object) -> str:
    """What a JSON value is, for messages."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list" if value else "an empty list"
        case _:
            return "an object"
