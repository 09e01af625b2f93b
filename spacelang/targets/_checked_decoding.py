"""Decoding for users: anything that is no encoding of the form is refused with a description of what is expected."""

from collections.abc import Callable
from typing import Any, Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import member_nearest_to_default

MAX_SHOWN_CHARACTERS: Final = 240  # The most characters of a value in a message


class DecodingError(ValueError):
    """A value is not an encoding of a form; the message shows one."""


def checked_decoder(
    encode: Callable[[Configuration], Any], decode: Callable[[Any], Configuration], structures: Structures
) -> Callable[[Any], Configuration]:
    """Return `decode` with a check: it raises DecodingError for a value that is no encoding of a member."""

    def checked(encoding: Any) -> Configuration:
        try:
            found = decode(encoding)
            excluded = first_exclusion(structures.space, found)
        except Exception as error:
            # Only a ValueError is about the value; other errors show how the form reads it.
            reason = str(error).strip().partition("\n")[0] if isinstance(error, ValueError) else ""
            raise _decoding_error(encoding, reason) from error
        if excluded is not None:
            raise _decoding_error(encoding, excluded.reason)
        return found

    def _decoding_error(given: Any, reason: str) -> DecodingError:
        example = one_line_repr(encode(member_nearest_to_default(structures)[1]))
        why = f": {reason}" if reason else ""
        return DecodingError(
            f"`decode` takes what `encode` returns, such as {example}, not {one_line_repr(given)}{why}"
        )

    return checked


def one_line_repr(value: Any) -> str:
    """Return a value on one line, cut after `MAX_SHOWN_CHARACTERS`."""
    text = " ".join(repr(value).split())
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…"
