"""Convert values of other tools: words that spell numbers or constants become numbers or constants."""

import math
import re
from collections.abc import Callable
from typing import Final

from spacelang.ir.value import Value, identity_key

_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_CONSTANTS: Final[dict[str, Value]] = {"True": True, "False": False, "None": None}
_WORDS: Final[dict[str, Value]] = {**_CONSTANTS, "true": True, "false": False, "none": None}
MAX_DIGITS: Final = 300


def convert_words(words: tuple[str, ...]) -> tuple[Value, ...]:
    """Return the values that bare words spell.

    The words stay strings if two of them would become the same value.
    """
    return _convert_if_injective(words, _convert_word)


def convert_values(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return values with strings such as `"True"` and `"None"` converted to Python constants.

    ConfigSpace could not hold these constants for years, so files contain them as strings. All values stay as they are
    if two of them would become the same.
    """
    return _convert_if_injective(
        values, lambda value: _CONSTANTS.get(value, value) if isinstance(value, str) else value
    )


def parse_number(text: str) -> int | float | None:
    """Return the finite number that a text spells; None if it is not one or has too many digits."""
    if len(text) > MAX_DIGITS or not text.isascii() or not _NUMBER.fullmatch(text):
        return None
    if text.lstrip("+-").isdigit():
        return int(text)
    read = float(text)
    return read if math.isfinite(read) else None


def _convert_word(word: Value) -> Value:
    assert isinstance(word, str)
    if word in _WORDS:
        return _WORDS[word]
    read = parse_number(word)
    return word if read is None else read


def _convert_if_injective(values: tuple[Value, ...], reading: Callable[[Value], Value]) -> tuple[Value, ...]:
    """Return the converted values, or the original ones if the conversion is not injective."""
    read = tuple(map(reading, values))
    return read if len(set(map(identity_key, read))) == len(values) else values
