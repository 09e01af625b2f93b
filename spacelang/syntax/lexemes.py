"""A lossless lexer: the lexemes of a text in order, each with the comments that belong to it.

The parser drops comments. Here, a comment after a lexeme on the same line belongs to that lexeme, and a comment on a
line of its own belongs to the next lexeme. So the lexemes can be written again in any layout, with every comment in its
place.
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
    """A comment on a line of its own, including its `#`."""

    text: str
    blank: bool
    """True if a blank line precedes it."""

    indented: bool
    """True if it does not begin at the left margin."""


@dataclass(slots=True)
class Lexeme:
    """A word, number, string or punctuation mark, with its comments.

    The last lexeme of a text is empty and has the comments at the end of the text.
    """

    text: str
    start: int
    leading: list[Comment] = field(default_factory=list)
    """The comments on the lines before it."""

    blank: bool = False
    """True if a blank line precedes it, after its leading comments."""

    trailing: tuple[str, ...] = ()
    """The comment after it on its line, and comments directly below in the same column that continue it."""


def normalise_line_ends(text: str) -> str:
    r"""Return the text without a byte order mark and with `\n` for every line end."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def lexemes(text: str) -> list[Lexeme]:
    """Return the lexemes of a normalised text. The comments of commas are moved to their neighbours."""
    found = list(_with_comments(text))
    for before, comma, after in zip(found, found[1:], found[2:], strict=False):
        if comma.text == ",":
            _move_comments(before, comma, after)
    return found


def _with_comments(text: str) -> Iterator[Lexeme]:
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


def _move_comments(before: Lexeme, comma: Lexeme, after: Lexeme) -> None:
    """Move the comments of a comma to its neighbours, in order. The layout may add and remove commas."""
    behind: list[Comment] = []
    if not before.trailing and not comma.leading:
        before.trailing = comma.trailing
    else:
        behind = [Comment(text, blank=False, indented=True) for text in comma.trailing]
    after.leading = [*comma.leading, *behind, *after.leading]
    comma.leading, comma.trailing = [], ()
