"""The words and signs of a text in their order, each with the comments that belong to it.

The parser forgets comments. Here a comment behind a lexeme on its line is that lexeme's, a comment on a line of its own
the next lexeme's, so that whoever writes the lexemes again, in whatever layout, has every comment at its place.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_LEXEME: Final = re.compile(
    r'(?P<comment>#[^\n]*)|"(?:[^"\\\n]|\\[^\n])*"|`[^`\n]*`|@?[A-Za-z_]\w*|\.?\d[\w.]*(?:(?<=[eE])[+-]\w+)?'
    r"|->|[=!<>]=|[^\s]"
)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a line of its own, with its `#`."""

    text: str
    blank: bool
    """Whether an empty line stands before it."""

    indented: bool


@dataclass(slots=True)
class Lexeme:
    """A word, a number, a string or a sign; the last one of a text is empty and has the comments at its end."""

    text: str
    start: int
    leading: list[Comment] = field(default_factory=list)
    """The comments on the lines before it."""

    blank: bool = False
    """Whether an empty line stands before it, behind its leading comments."""

    trailing: tuple[str, ...] = ()
    """The comment behind it on its line, with those that go on right below it."""


def normalised(text: str) -> str:
    """The text without a byte order mark and with `\\n` for every line end."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def lexemes(text: str) -> list[Lexeme]:
    """The lexemes of a normalised text; commas have no comments."""
    found = list(_attached(text))
    for before, comma, after in zip(found, found[1:], found[2:], strict=False):
        if comma.text == ",":
            _pass_on(before, comma, after)
    return found


def _attached(text: str) -> Iterator[Lexeme]:
    last = Lexeme("", 0)
    leading: list[Comment] = []
    end = beneath = 0
    for match in _LEXEME.finditer(text):
        breaks, begin = text.count("\n", end, match.start()), match.start()
        column = begin - text.rfind("\n", 0, begin) - 1
        blank = breaks > 1 and end > 0
        end = match.end()
        if match["comment"] is None:
            last = Lexeme(match[0], begin, leading, blank)
            leading = []
            yield last
        elif last.text and not leading and breaks == (1 if last.trailing else 0) and column == (beneath or column):
            last.trailing = (*last.trailing, match[0].rstrip())
            beneath = column
            continue
        else:
            leading.append(Comment(match[0].rstrip(), blank, column > 0))
        beneath = 0
    yield Lexeme("", len(text), leading)


def _pass_on(before: Lexeme, comma: Lexeme, after: Lexeme) -> None:
    """Give a comma's comments to its neighbours, in their order: commas come and go with the layout."""
    behind: list[Comment] = []
    if not before.trailing and not comma.leading:
        before.trailing = comma.trailing
    else:
        behind = [Comment(text, blank=False, indented=True) for text in comma.trailing]
    after.leading = [*comma.leading, *behind, *after.leading]
    comma.leading, comma.trailing = [], ()
