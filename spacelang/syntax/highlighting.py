"""A text of the language in pieces by what they are, to be shown in colours; it need not be one without mistakes."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from spacelang.syntax.tables import load

KINDS: Final = {
    "COMMENT": "comment",
    "STRING": "string",
    "TICKED": "string",
    "AT": "annotation",
    "QUANTITY": "number",
    "NUMBER": "number",
}
"""What pieces are called that are no keywords, by their terminals."""


def highlighted(text: str) -> Iterator[tuple[str, str]]:
    """The pieces of a text in their order, each behind its kind; together they are the text.

    Kinds are `keyword`, `comment`, `string`, `annotation`, `number`, and for all else the empty text. A name that is
    spelled like a keyword and stands where only a parser knows that it is none counts as a keyword.
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
    """Keywords before names, as the terminals of the grammar say them."""
    tables = load()
    keywords = "|".join(tables.terminals[name] for name in tables.keywords.values())
    kinds = "|".join(f"(?P<{name}>{tables.terminals[name]})" for name in KINDS)
    return re.compile(f"{kinds}|(?P<KEYWORD>{keywords})|(?P<NAME>{tables.terminals['NAME']})")
