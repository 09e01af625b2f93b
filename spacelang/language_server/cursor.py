"""The syntactic context of the cursor in an unfinished text: accepted terminals, and the bodies around it."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from spacelang.frozen import frozen
from spacelang.syntax.parser_tables import LrDriver, Token, load
from spacelang.syntax.recovery import split_items
from spacelang.text import Source

_STARTED_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_MAX_REPAIRS: Final = 5
_CLOSING: Final = {"RBRACE": "LBRACE", "RPAR": "LPAR", "RSQB": "LSQB"}
_SET_OPENERS: Final = frozenset({"COLON", "VBAR", "IN", "ORDERED"})
"""Terminals before a brace that opens a set of values instead of a body."""


@frozen
class OpenBrace:
    """An open brace before the cursor: the operator (or `params`, `task` …) whose body it opens, or a set of values."""

    owner: str
    members: tuple[str, ...]  # The names of the members that are complete before the cursor
    is_set: bool


@frozen
class CursorContext:
    """The syntactic context of the cursor.

    `word` is the word being typed, which starts at offset `start`; `expected` are the terminals that the grammar
    accepts there; `tokens` are the tokens before the word, and `braces` the braces that are still open.
    """

    start: int
    word: str
    expected: frozenset[str]
    tokens: tuple[Token, ...]
    braces: tuple[OpenBrace, ...]

    @property
    def previous_terminal(self) -> str:
        """The last terminal before the word that is being typed; an empty string at the beginning of an item."""
        return self.tokens[-1].type if self.tokens else ""

    @property
    def path_before_word(self) -> tuple[str, ...]:
        """The words of a path before the one that is being typed: `a` and `b` in `a.b.c`."""
        return _path_before(self.tokens) if self.previous_terminal == "DOT" else ()

    @property
    def terminal_before_path(self) -> str:
        """The terminal before the path of the word that is being typed: `INCLUDE` in `include a.b`; else empty."""
        place = len(self.tokens) - 1
        while place > 0 and self.tokens[place].type == "DOT":
            place -= 2 + (self.tokens[place - 1].type == "INDEX")
        return self.tokens[place].type if place >= 0 else ""

    @property
    def compared_path(self) -> tuple[str, ...]:
        """The words of the path that is compared or tested around the cursor: `a` and `b` in `a.b == 1`; else empty."""
        for place in range(len(self.tokens) - 1, 0, -1):
            kind = self.tokens[place].type
            if kind in ("COMPARE", "IN", "IS"):
                return _path_before((*self.tokens[:place], _DOT))
            if kind not in ("LBRACE", "COMMA", "NAME", "STRING", "NUMBER", "DOT"):
                return ()
        return ()

    @property
    def terminal_before_bracket(self) -> str:
        """The terminal before the innermost open round or square bracket, such as that of `float` or `repeat`."""
        depth = 0
        for place in range(len(self.tokens) - 1, 0, -1):
            kind = self.tokens[place].type
            depth += (kind in _CLOSING) - (kind in _CLOSING.values())
            if depth < 0:
                return "" if kind == "LBRACE" else self.tokens[place - 1].type
        return ""

    @property
    def member_name(self) -> str:
        """The name of the member whose domain or value contains the cursor; an empty string outside of one."""
        name, in_expression = self._member_and_place
        return "" if in_expression else name

    @property
    def enclosing_member_name(self) -> str:
        """The name of the member that contains the cursor, also in its condition or formula; else an empty string."""
        return self._member_and_place[0]

    @property
    def _member_and_place(self) -> tuple[str, bool]:
        """The name of the member that contains the cursor, and whether the cursor is in its condition or formula."""
        depth, in_expression = 0, False
        for place in range(len(self.tokens) - 1, 0, -1):
            kind = self.tokens[place].type
            depth += (kind in _CLOSING) - (kind in _CLOSING.values())
            if depth > 0:
                continue
            if kind in ("FORBID", "REQUIRE"):
                break
            in_expression = in_expression or kind in ("WHEN", "ASSIGN")
            if kind in ("COLON", "EQUAL", "ASSIGN") and self.tokens[place - 1].type in ("NAME", "TICKED"):
                return _without_ticks(self.tokens[place - 1]), in_expression
        return "", False

    @property
    def body_owner(self) -> str:
        """The operator whose body contains the cursor, or a keyword such as `task`; empty outside of bodies."""
        return next((brace.owner for brace in reversed(self.braces) if not brace.is_set), "")


def find_cursor_context(source: Source, offset: int) -> CursorContext:
    """Return the context of the cursor at an offset. Mistakes before the cursor are skipped."""
    started = _STARTED_WORD.search(source.text, 0, offset)
    start = started.start() if started else offset
    begin = next((first for first, end in split_items(source.text, 0) if first <= start <= end and end >= offset), 0)
    text = source.text[begin:start]
    tokens, expected = _tokens_and_expected(text)
    return CursorContext(start, source.text[start:offset], expected, tokens, tuple(_open_braces(tokens)))


def token_at(source: Source, offset: int) -> Token | None:
    """Return the token at an offset, or None between tokens, in comments and behind a mistake in the same item."""
    bounds = next(((first, end) for first, end in split_items(source.text, 0) if first <= offset < end), None)
    if bounds is None:
        return None
    begin, end = bounds
    tokens, _, _ = _driver().read_beginning(source.text[begin:end])
    return next((token for token in tokens if token.start_pos <= offset - begin < token.end_pos), None)


@cache
def _driver() -> LrDriver:
    return LrDriver(load(), _NoBuilder())


def _tokens_and_expected(text: str) -> tuple[tuple[Token, ...], frozenset[str]]:
    """Return the tokens of a text, and the terminals that may follow. Lines with mistakes are skipped."""
    driver = _driver()
    for _ in range(_MAX_REPAIRS):
        tokens, expected, mistake = driver.read_beginning(text)
        if mistake is None:
            return tokens, expected
        line = text.rfind("\n", 0, mistake) + 1
        end = text.find("\n", mistake)
        end = len(text) if end < 0 else end
        if not text[line:end].strip() or not line:
            break
        text = text[:line] + re.sub(r"[^{}()\[\]\n]", " ", text[line:end]) + text[end:]
    return tokens, expected


def _open_braces(tokens: Sequence[Token]) -> Iterator[OpenBrace]:
    stack: list[int] = []
    for place, token in enumerate(tokens):
        if token.type in _CLOSING.values():
            stack.append(place)
        elif token.type in _CLOSING and stack:
            stack.pop()
    for place in (place for place in stack if tokens[place].type == "LBRACE"):
        before = tokens[place - 1].type if place else ""
        yield OpenBrace(_owner(tokens[:place]), tuple(_members(tokens, place)), before in _SET_OPENERS)


def _owner(before: Sequence[Token]) -> str:
    if len(before) > 1 and before[-2].type in ("PARAMS", "TASK", "ABSTRACT"):
        return "" if before[-2].type == "TASK" else str(before[-1])
    if len(before) > 2 and before[-2].type == "AS":
        before = before[:-2]
    return ".".join(_path_before((*before, _DOT)))


def _members(tokens: Sequence[Token], opening: int) -> Iterator[str]:
    depth, is_simplex = 0, False
    for place in range(opening + 1, len(tokens)):
        kind = tokens[place].type
        depth += (kind in _CLOSING.values()) - (kind in _CLOSING)
        is_simplex = kind == "SIMPLEX" or (is_simplex and kind in ("NAME", "TICKED", "SHARE"))
        if is_simplex and kind in ("NAME", "TICKED") and tokens[place - 1].type in ("SIMPLEX", "SHARE"):
            yield _without_ticks(tokens[place])
            continue
        named = depth == 0 and kind in ("COLON", "EQUAL", "ASSIGN") and tokens[place - 1].type in ("NAME", "TICKED")
        if named and not (kind == "EQUAL" and tokens[place - 2].type == "RSQB"):
            yield _without_ticks(tokens[place - 1])


def _path_before(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return the words of the path that ends with a dot at the end of the tokens."""
    words: list[str] = []
    place = len(tokens) - 1
    while place > 0 and tokens[place].type == "DOT":
        index = str(tokens[place - 1]) if tokens[place - 1].type == "INDEX" else ""
        place -= 2 if index else 1
        if place < 0 or tokens[place].type not in ("NAME", "TICKED", "STRING"):
            break
        words.append(_without_ticks(tokens[place]).strip('"') + index)
        place -= 1
    return tuple(reversed(words))


def _without_ticks(token: Token) -> str:
    return str(token).strip("`")


_DOT: Final = Token(".")
_DOT.type, _DOT.start_pos, _DOT.end_pos = "DOT", 0, 0


class _NoBuilder:
    """A builder that builds nothing, for texts of which only the tokens matter."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda _: None
