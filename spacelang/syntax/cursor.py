"""Walking through the lexemes of a text in step with its tree, and the spaces between lexemes on a line."""

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
    """A place among the lexemes."""

    def __init__(self, all_lexemes: list[Lexeme]) -> None:
        self.lexemes = all_lexemes
        self.place = 0
        self.tight = False
        """Whether the last lexeme was a minus sign that stands right before its term."""

    def peek(self) -> str:
        """The text of the next lexeme."""
        return self.lexemes[self.place].text

    def take(self) -> Lexeme:
        """The next lexeme; the cursor stands behind it."""
        self.place += 1
        self.tight = False
        return self.lexemes[self.place - 1]

    def skip_comma(self) -> None:
        """Leave the next lexeme out where it is a comma; commas have no comments."""
        if self.peek() == ",":
            self.place += 1

    def hand_on(self, dropped: Lexeme | None) -> None:
        """Give the comments of a sign that is left out to what follows it."""
        if dropped is not None:
            behind = [Comment(text, blank=False, indented=True) for text in dropped.trailing]
            following = self.lexemes[self.place]
            following.leading = [*dropped.leading, *behind, *following.leading]

    def index(self, offset: int) -> int:
        """The place of the lexeme that begins at an offset."""
        return bisect_left(self.lexemes, offset, key=lambda lexeme: lexeme.start)

    def sign_before(self, node: ast.Structure, sign: str) -> Lexeme:
        """The nearest sign of a kind before a node."""
        place = self.index(node.span.start) - 1
        while self.lexemes[place].text != sign:
            place -= 1
        return self.lexemes[place]

    def upto(self, end: int) -> list[Document]:
        """The lexemes before an offset, with the spaces between them."""
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
    """Whether a space stands between two lexemes of a line."""
    if text in _SIGNS_BEFORE or before in _SIGNS_BEHIND:
        return False
    if text in ("(", "["):
        return not _is_term(before)
    return bool(before)


def _is_term(before: str) -> bool:
    """Whether a lexeme ends a term: a call or a sign between terms follows, no new term."""
    return before not in _NO_ENDS
