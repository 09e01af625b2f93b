"""A cursor over the lexemes of a text, which also decides on the spaces between lexemes of one line."""

from bisect import bisect_left
from typing import Final

from spacelang.syntax import ast
from spacelang.syntax.layout import Document, Gap
from spacelang.syntax.lexemes import Comment, Lexeme

_SIGNS_BEFORE: Final = frozenset({",", ")", "]", "}", "?", ".", ""})
_SIGNS_BEHIND: Final = frozenset({"(", "[", "{", "."})
_OPERATIONS: Final = frozenset({"=", ":", "|", "&", "->", "+", "-", "*", "/", "<", ">", "<=", ">=", "==", "!="})
_NO_TERMS: Final = frozenset(
    {"and", "or", "not", "in", "is", "when", "forbid", "require", "minimize", "maximize", "to"}
)
_NO_ENDS: Final = _OPERATIONS | _SIGNS_BEHIND | _NO_TERMS | {",", ""}


class Cursor:
    """A position in a list of lexemes."""

    def __init__(self, all_lexemes: list[Lexeme]) -> None:
        self.lexemes = all_lexemes
        self.place = 0
        self.tight = False
        """True if the last lexeme was a unary minus, which no space separates from its term."""

    def peek(self) -> str:
        """Return the text of the next lexeme without moving."""
        return self.lexemes[self.place].text

    def take(self) -> Lexeme:
        """Return the next lexeme and move behind it."""
        self.place += 1
        self.tight = False
        return self.lexemes[self.place - 1]

    def skip_comma(self) -> None:
        """Skip the next lexeme if it is a comma. No comments are lost, as commas have none."""
        if self.peek() == ",":
            self.place += 1

    def hand_on(self, dropped: Lexeme | None) -> None:
        """Give the comments of a dropped lexeme to the next lexeme. Do nothing for None."""
        if dropped is not None:
            behind = [Comment(text, blank=False, indented=True) for text in dropped.trailing]
            following = self.lexemes[self.place]
            following.leading = [*dropped.leading, *behind, *following.leading]

    def index(self, offset: int) -> int:
        """Return the index of the lexeme that begins at an offset of the text."""
        return bisect_left(self.lexemes, offset, key=lambda lexeme: lexeme.start)

    def sign_before(self, node: ast.Structure, sign: str) -> Lexeme:
        """Return the nearest lexeme before the node whose text is `sign`."""
        place = self.index(node.span.start) - 1
        while self.lexemes[place].text != sign:
            place -= 1
        return self.lexemes[place]

    def upto(self, end: int) -> list[Document]:
        """Take all lexemes before the offset `end`, and return them with the spaces between them."""
        found: list[Document] = []
        while self.lexemes[self.place].start < end:
            before = self.lexemes[self.place - 1].text if self.place else ""
            text = self.peek()
            if not self.tight and _spaced(before, text):
                found.append(Gap())
            found.append(self.take())
            self.tight = text == "-" and not _is_term(before)
        return found


def _spaced(before: str, text: str) -> bool:
    """Return True if a space belongs between two lexemes of one line."""
    if text in _SIGNS_BEFORE or before in _SIGNS_BEHIND:
        return False
    if text in ("(", "["):
        return not _is_term(before)
    return bool(before)


def _is_term(before: str) -> bool:
    """Return True if a lexeme ends a term.

    Then a call or a binary operator may follow, but no new term.
    """
    return before not in _NO_ENDS
