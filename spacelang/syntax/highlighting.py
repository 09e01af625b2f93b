"""Syntax highlighting: cuts a text into pieces by their kind. The text may have syntax errors."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from spacelang.syntax.parser_tables import load

KINDS: Final = {
    "COMMENT": "comment",
    "STRING": "string",
    "TICKED": "string",
    "AT": "annotation",
    "QUANTITY": "number",
    "NUMBER": "number",
}
"""The kinds of pieces that are not keywords, by terminal."""


def highlight(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a text in order, as pairs of kind and text. Joined, they are the whole text.

    Kinds are `keyword`, `comment`, `string`, `annotation`, `number`, and an empty string for everything else. A name
    that is spelled like a keyword counts as a keyword, as only a parser could tell the two apart.
    """
    place = 0
    for match in _pattern().finditer(text):
        if match.start() > place:
            yield "", text[place : match.start()]
        yield KINDS.get(match.lastgroup or "", "keyword" if match.lastgroup == "KEYWORD" else ""), match[0]
        place = match.end()
    if place < len(text):
        yield "", text[place:]


@cache
def _pattern() -> re.Pattern[str]:
    """Compile a pattern from the terminals of the grammar, with keywords before names."""
    tables = load()
    keywords = "|".join(tables.terminals[name] for name in tables.keywords.values())
    kinds = "|".join(f"(?P<{name}>{tables.terminals[name]})" for name in KINDS)
    return re.compile(f"{kinds}|(?P<KEYWORD>{keywords})|(?P<NAME>{tables.terminals['NAME']})")
