"""Text layout shared by all targets: wrapped lists of words, and graphs in the DOT language."""

import textwrap
from collections.abc import Iterable
from typing import Final

LINE_WIDTH: Final = 110  # The column at which lines of words are wrapped
DEFAULT_MARK, OTHER_MARK = "●", "○"  # The marks of default branches and of all others


def wrap_words(words: Iterable[str], start: str, indent: str) -> list[str]:
    """Return lines of whole words; the first line begins with `start`, the others with `indent`."""
    text = "  ".join(word.replace(" ", "\0") for word in words)
    wide = max(LINE_WIDTH, len(start) + 40)
    lines = textwrap.wrap(
        text, wide, initial_indent=start, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]


def quote_dot(text: str) -> str:
    """Return a text as a quoted string of the DOT language."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def digraph(name: str, title: str, lines: Iterable[str]) -> str:
    """Return a directed graph of rounded boxes with a title in the DOT language."""
    head = (f"label={quote_dot(title)}", "node [shape=box, style=rounded]")
    return "\n".join([f"digraph {quote_dot(name)} {{", *(f"  {line};" for line in (*head, *lines)), "}"])
