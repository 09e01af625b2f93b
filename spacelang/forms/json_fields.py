"""Reading a stranger's JSON: every key is asked for by name and kind, and what is wrong is told by its path."""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final, TypeVar

from spacelang.ir.value import Value
from spacelang.suggest import suggestion
from spacelang.text import no_parameter, not_in_names

T = TypeVar("T")

LARGEST: Final = 2**1024
"""Numbers are below this: what is beyond every float is no number of the language."""

WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

MOST_LISTED: Final = 12
"""So many keys are listed in a remedy at most."""


class DefinitionError(ValueError):
    """A document does not define a space: `path` says where, `problem` what is wrong there, `remedy` what to do.

    `others` are those that are wrong elsewhere.
    """

    def __init__(self, path: str, problem: str, remedy: str = "") -> None:
        super().__init__(f"`{path}` {problem}")
        self.path = path
        self.problem = problem
        self.remedy = remedy
        self.others: tuple[DefinitionError, ...] = ()


def together(wrong: Sequence[DefinitionError]) -> DefinitionError:
    """The first of several errors, with the others."""
    first, *rest = wrong
    first.others += tuple(each for error in rest for each in (error, *error.others))
    return first


def of_kind(value: object, path: str, kind: type[T], what: str) -> T:
    """A value that JSON has as a kind, which messages call so."""
    if not isinstance(value, kind):
        raise DefinitionError(path, f"is {kind_of(value)} where {what} should be")
    return value


def members(value: object, path: str) -> dict[str, object]:
    """A value that is an object."""
    return of_kind(value, path, dict, "an object")


def check_keys(given: Collection[str], path: str, known: Collection[str]) -> Iterator[DefinitionError]:
    """What is wrong with the keys of an object that are not known."""
    for key in given:
        if key not in known:
            listed = ", ".join(f"`{name}`" for name in [*known][:MOST_LISTED])
            remedy = suggestion(key, known) or f"there are {listed}"
            yield DefinitionError(path, f"has an unknown key `{key}`", remedy)


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
    meant = next(filter(None, (suggestion(key, kinds) for key in value)), "")
    raise DefinitionError(path, f"is not {what}", meant or f"it has one key of {listed}")


def twice(names: Sequence[object]) -> int | None:
    """The place of the first name that stands for the second time."""
    if len({*names}) == len(names):
        return None
    return next(place for place, name in enumerate(names) if name in names[:place])


def text(value: object, path: str) -> str:
    """A string."""
    return of_kind(value, path, str, "a string")


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
    return of_kind(value, path, bool, "`true` or `false`")


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


def whole(value: object, path: str, least: int | None = None) -> int:
    """An integer, perhaps from a least one on; 3.0 is one as well, as JSON does not tell them apart."""
    found = number(value, path)
    if found != int(found):
        raise DefinitionError(path, f"is {found!r} where a whole number should be")
    if least is not None and found < least:
        raise DefinitionError(path, f"is {int(found)} where a whole number from {least} should be")
    return int(found)


def plain(value: object, path: str) -> Value:
    """A value of a hyperparameter: a scalar, or a list for a tuple."""
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return number(value, path)
        case list():
            return tuple([plain(item, f"{path}[{place}]") for place, item in enumerate(value)])
        case _:
            raise DefinitionError(path, f"is {kind_of(value)} where a value should be")


def word(value: object, path: str, known: Sequence[str]) -> str:
    """One of some words."""
    found = text(value, path)
    if found in known:
        return found
    listed = ", ".join(f"`{each}`" for each in known)
    raise DefinitionError(path, f"is `{found}`", suggestion(found, known) or f"it is one of {listed}")


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
