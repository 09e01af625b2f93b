"""What the values of other tools are in a `.space` file: words that stand for numbers and constants become them."""

import math
import re
from collections.abc import Callable
from typing import Final

from spacelang.ir.value import Value, identity

_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_CONSTANTS: Final[dict[str, Value]] = {"True": True, "False": False, "None": None}
_WORDS: Final[dict[str, Value]] = {**_CONSTANTS, "true": True, "false": False, "none": None}
MAX_DIGITS: Final = 300


def read_words(words: tuple[str, ...]) -> tuple[Value, ...]:
    """What bare words stand for, where no two of them stand for the same; else they are strings."""
    return _injective(words, _of_word)


def read_typed(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """What typed values stand for: strings that spell Python's constants are these, because ConfigSpace could not hold
    the constants themselves for years.
    """
    return _injective(values, lambda value: _CONSTANTS.get(value, value) if isinstance(value, str) else value)


def number(text: str) -> int | float | None:
    """The finite number that a text spells."""
    if len(text) > MAX_DIGITS or not text.isascii() or not _NUMBER.fullmatch(text):
        return None
    if text.lstrip("+-").isdigit():
        return int(text)
    read = float(text)
    return read if math.isfinite(read) else None


def _of_word(word: Value) -> Value:
    assert isinstance(word, str)
    if word in _WORDS:
        return _WORDS[word]
    read = number(word)
    return word if read is None else read


def _injective(values: tuple[Value, ...], reading: Callable[[Value], Value]) -> tuple[Value, ...]:
    read = tuple(map(reading, values))
    return read if len(set(map(identity, read))) == len(values) else values
