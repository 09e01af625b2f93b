"""Decoding for users: `decode` functions that explain what they expect when they get something else."""

from collections.abc import Callable
from typing import Any, Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import member_nearest_to_default

MAX_SHOWN_CHARACTERS: Final = 240  # The most characters of a value in a message


class DecodingError(ValueError):
    """An error for a value that is not an encoding of a member; the message shows an example of an encoding."""


def checked_decoder(
    encode: Callable[[Configuration], Any], decode: Callable[[Any], Configuration], structures: Structures
) -> Callable[[Any], Configuration]:
    """Return a function like `decode` that raises DecodingError for a value that does not encode a member.

    `encode` makes the example in the message.
    """

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
    """Return the repr of a value on one line, shortened to `MAX_SHOWN_CHARACTERS`."""
    text = " ".join(repr(value).split())
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…"
