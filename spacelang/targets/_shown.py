"""What all targets show alike: words side by side, and graphs in the DOT language."""

import textwrap
from collections.abc import Iterable
from typing import Final

WIDTH: Final = 110
"""Where lines of words are broken."""


def wrapped(words: Iterable[str], start: str, indent: str) -> list[str]:
    """Words side by side behind a start, and in further lines behind an indent; none is broken."""
    text = "  ".join(word.replace(" ", "\0") for word in words)
    wide = max(WIDTH, len(start) + 40)
    lines = textwrap.wrap(
        text, wide, initial_indent=start, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]


def quoted(text: str) -> str:
    """A text as the DOT language has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def digraph(name: str, title: str, lines: Iterable[str]) -> str:
    """A graph of rounded boxes below a title."""
    head = (f"label={quoted(title)}", "node [shape=box, style=rounded]")
    return "\n".join([f"digraph {quoted(name)} {{", *(f"  {line};" for line in (*head, *lines)), "}"])
