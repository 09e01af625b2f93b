"""Texts as words of a shell command that a user copies from one line of output."""

from shlex import quote
from typing import Final

ESCAPES: Final = {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


def shell_word(text: str) -> str:
    r"""Return a text as one word, in quotes where necessary, without control characters.

    Bash, zsh and ksh read a word with a line break as `$'first\nsecond'`. There is no quote within these quotes, where
    other shells would end the word.
    """
    if text.isprintable():
        return quote(text)
    return f"$'{''.join(ESCAPES.get(each) or _escape(each) for each in text)}'"


def _escape(character: str) -> str:
    if character.isprintable() and character != "'":
        return character
    # Undecodable bytes of file names are represented by these surrogates.
    errors = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in character.encode(errors=errors))
