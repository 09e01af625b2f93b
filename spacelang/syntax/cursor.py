"""A cursor over the lexemes of a text, which also decides on the spaces between lexemes of one line."""

from bisect import bisect_left
from typing import Final

from spacelang.syntax import ast
from spacelang.syntax.layout import Document, Spacing
from spacelang.syntax.lexemes import Comment, Lexeme

_NO_SPACE_BEFORE: Final = frozenset({",", ")", "]", "}", "?", ".", ""})
_NO_SPACE_AFTER: Final = frozenset({"(", "[", "{", "."})
_SYMBOL_OPERATORS: Final = frozenset({"=", ":", "|", "&", "->", "+", "-", "*", "/", "<", ">", "<=", ">=", "==", "!="})
_WORD_OPERATORS: Final = frozenset(
    {"and", "or", "not", "in", "is", "when", "forbid", "require", "minimize", "maximize", "to"}
)
_NOT_TERM_ENDS: Final = _SYMBOL_OPERATORS | _NO_SPACE_AFTER | _WORD_OPERATORS | {",", ""}


class Cursor:
    """A position in a list of lexemes."""

    def __init__(self, all_lexemes: list[Lexeme]) -> None:
        self.lexemes = all_lexemes
        self.place = 0
        self.after_unary_minus = False
        """True if the last lexeme was a unary minus, which no space separates from its term."""

    def peek(self) -> str:
        """Return the text of the next lexeme without moving."""
        return self.lexemes[self.place].text

    def take(self) -> Lexeme:
        """Return the next lexeme and move behind it."""
        self.place += 1
        self.after_unary_minus = False
        return self.lexemes[self.place - 1]

    def skip_comma(self) -> None:
        """Skip the next lexeme if it is a comma. No comments are lost, as commas have none."""
        if self.peek() == ",":
            self.place += 1

    def pass_comments_on(self, dropped: Lexeme | None) -> None:
        """Give the comments of a dropped lexeme to the next lexeme. Do nothing for None."""
        if dropped is not None:
            behind = [Comment(text, blank=False, indented=True) for text in dropped.trailing]
            following = self.lexemes[self.place]
            following.leading = [*dropped.leading, *behind, *following.leading]

    def index_at(self, offset: int) -> int:
        """Return the index of the lexeme that begins at an offset of the text."""
        return bisect_left(self.lexemes, offset, key=lambda lexeme: lexeme.start)

    def sign_before(self, node: ast.Structure, sign: str) -> Lexeme:
        """Return the nearest lexeme before the node whose text is `sign`."""
        place = self.index_at(node.span.start) - 1
        while self.lexemes[place].text != sign:
            place -= 1
        return self.lexemes[place]

    def take_until_offset(self, end: int) -> list[Document]:
        """Take all lexemes before the offset `end`, and return them with the spaces between them."""
        found: list[Document] = []
        while self.lexemes[self.place].start < end:
            before = self.lexemes[self.place - 1].text if self.place else ""
            text = self.peek()
            if not self.after_unary_minus and _needs_space(before, text):
                found.append(Spacing())
            found.append(self.take())
            self.after_unary_minus = text == "-" and not _ends_term(before)
        return found


def _needs_space(before: str, text: str) -> bool:
    """Return True if a space belongs between two lexemes of one line."""
    if text in _NO_SPACE_BEFORE or before in _NO_SPACE_AFTER:
        return False
    if text in ("(", "["):
        return not _ends_term(before)
    return bool(before)


def _ends_term(before: str) -> bool:
    """Return True if a lexeme ends a term.

    Then a call or a binary operator may follow, but no new term.
    """
    return before not in _NOT_TERM_ENDS
