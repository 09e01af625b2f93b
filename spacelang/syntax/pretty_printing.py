"""Lexemes with their comments, and pretty-printing of documents.

The parser drops comments. Here, a comment after a lexeme on the same line belongs to that lexeme, and a comment on a
line of its own belongs to the next lexeme. So the lexemes can be written again in any layout. Documents mark where
lines may be broken: a group is written on one line if it fits, together with the text after it. Otherwise it is broken
at all of its breaks (P. Wadler, "A prettier printer", 2003). A comment always ends its line, inside a group or not.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

from spacelang.syntax import ast

WIDTH: Final = 120  # Lines are broken before they exceed this many characters, if there is a place to break them
INDENT: Final = 2
_SPACES_BEFORE_COMMENT: Final = 2
_INDENT_AFTER_COMMENT: Final = 4  # The extra indent of a line that begins only because a comment ended the line before


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a line of its own, including its `#`."""

    text: str
    after_blank_line: bool
    indented: bool


@dataclass(slots=True)
class Lexeme:
    """A word, number, string or punctuation mark, with its comments; the last one of a text is empty."""

    text: str
    start: int
    leading: list[Comment] = field(default_factory=list)  # The comments on the lines before it
    after_blank_line: bool = False
    trailing: tuple[str, ...] = ()
    """The comment after it on its line, and comments directly below in the same column that continue it."""


@dataclass(frozen=True, slots=True)
class SpaceRun:
    """Spaces between lexemes. They are dropped at the beginning and the end of a line."""

    width: int = 1


@dataclass(frozen=True, slots=True)
class LineBreak:
    """A line break if the group around it is broken, and the text `flat` otherwise."""

    flat: str = " "
    keeps_blank: bool = False  # True if a blank line that the author left here is preserved
    fills: bool = False  # True if, in a broken group, only parts that do not fit begin a new line


@dataclass(frozen=True, slots=True)
class LayoutGroup:
    """Parts that are broken at all of their breaks or at none."""

    parts: tuple["Document", ...]
    broken: bool = False
    width: int = WIDTH  # The longest line that the group may be written on


@dataclass(frozen=True, slots=True)
class IndentedParts:
    """Parts of a document in which every new line is indented one level further."""

    parts: tuple["Document", ...]


@dataclass(frozen=True, slots=True)
class FlatOrBroken:
    """Two versions of some parts: one if the group around it is flat, and one if it is broken."""

    flat: tuple["Document", ...]
    broken: tuple["Document", ...]


Document: TypeAlias = Lexeme | SpaceRun | LineBreak | LayoutGroup | IndentedParts | FlatOrBroken


@dataclass(slots=True)
class FormattedLine:
    """A line of output with the comments after its text.

    The second and further comments get lines of their own below.
    """

    indent: int
    text: str = ""
    comments: tuple[str, ...] = ()
    after_blank_line: bool = False

    @property
    def is_comment(self) -> bool:
        """True if the line is a comment alone."""
        return self.text.startswith("#")


def make_group(parts: Iterable[Document], *, broken: bool = False, width: int = WIDTH) -> LayoutGroup:
    """Return a group of parts. It is always broken if a comment stands between its parts."""
    inside = tuple(parts)
    return LayoutGroup(inside, broken or _has_inner_comment(inside), width)


def is_broken(parts: Iterable[Document]) -> bool:
    """Return True if the parts contain, at any depth, a group that is always broken."""
    return any(
        (isinstance(part, LayoutGroup) and (part.broken or is_broken(part.parts)))
        or (isinstance(part, IndentedParts) and is_broken(part.parts))
        for part in parts
    )


def _has_inner_comment(parts: Sequence[Document]) -> bool:
    """Return True if a comment stands between two of the parts. Comments within a part do not count."""
    ends = [end for part in parts for end in _outer_lexemes(part)]
    return any(first.trailing for first, _ in ends[:-1]) or any(second.leading for _, second in ends[1:])


def _outer_lexemes(part: Document) -> Iterator[tuple[Lexeme, Lexeme]]:
    """Yield the pair (last lexeme, first lexeme) of a part, in this order; nothing for spaces and line breaks.

    For an indented part, or one with two versions, yield a pair for each of the parts inside (of the broken version).
    """
    match part:
        case Lexeme():
            yield part, part
        case IndentedParts(parts=parts):
            for inner in parts:
                yield from _outer_lexemes(inner)
        case FlatOrBroken(broken=parts):
            for inner in parts:
                yield from _outer_lexemes(inner)
        case LayoutGroup(parts=parts):
            inside = [end for inner in parts for end in _outer_lexemes(inner)]
            if inside:
                yield inside[-1][0], inside[0][1]
        case SpaceRun() | LineBreak():
            pass
        case _:
            assert_never(part)


# ---- writing

_Pending: TypeAlias = tuple[int, bool, Document]
"""A part that is still to be written: its indent, whether the group around it is flat, and the part."""


@dataclass(slots=True)
class DocumentWriter:
    """A writer of documents. `rows` are the lines that it has written so far."""

    rows: list[FormattedLine] = field(default_factory=lambda: [FormattedLine(0)])
    pending_spaces: str = ""  # Pending spaces, which are written if the line continues
    keeps_blank: bool = True

    def write(self, parts: Iterable[Document]) -> None:
        """Write the parts of a document that begins at the left margin."""
        stack: list[_Pending] = [(0, False, part) for part in (*parts,)[::-1]]
        while stack:
            indent, flat, part = stack.pop()
            match part:
                case Lexeme():
                    self._lexeme(part, indent)
                case SpaceRun(width=width):
                    self.pending_spaces = " " * max(width, len(self.pending_spaces))
                case LineBreak():
                    self._break(part, indent, flat, stack)
                case LayoutGroup(parts=inside):
                    flat = not part.broken and (flat or self._fits([(indent, True, part)], stack, part.width))
                    stack.extend((indent, flat, each) for each in inside[::-1])
                case IndentedParts(parts=inside):
                    stack.extend((indent + INDENT, flat, each) for each in inside[::-1])
                case FlatOrBroken():
                    chosen = part.flat if flat else part.broken
                    stack.extend((indent, flat, each) for each in chosen[::-1])
                case _:
                    assert_never(part)

    def comment(self, comment: Comment, indent: int, *, after_blank_line: bool) -> None:
        """Write a comment on a line of its own."""
        self._new_line(indent)
        self.rows[-1] = FormattedLine(indent, comment.text, after_blank_line=after_blank_line)
        self._new_line(indent)

    def _break(self, part: LineBreak, indent: int, flat: bool, stack: list[_Pending]) -> None:
        ended = bool(self.rows[-1].comments)
        if not ended and (flat or (part.fills and self._fits([], stack, WIDTH, len(part.flat)))):
            self.pending_spaces = max(self.pending_spaces, part.flat, key=len)
        else:
            self._new_line(indent + (_INDENT_AFTER_COMMENT if flat else 0))
            self.keeps_blank = part.keeps_blank

    def _lexeme(self, lexeme: Lexeme, indent: int) -> None:
        row = self.rows[-1]
        if lexeme.text == "," and not lexeme.leading:
            row.text += ","
            self.pending_spaces = ""
            return
        if row.comments or (lexeme.leading and row.text):
            self._new_line(indent + _INDENT_AFTER_COMMENT)
        blank = self.keeps_blank
        for comment in lexeme.leading:
            self.comment(comment, self.rows[-1].indent, after_blank_line=comment.after_blank_line and blank)
            blank = True
        row = self.rows[-1]
        if row.text:
            row.text += self.pending_spaces
        else:
            row.after_blank_line = lexeme.after_blank_line and blank
        row.text += lexeme.text
        row.comments = lexeme.trailing
        self.pending_spaces = ""

    def _new_line(self, indent: int) -> None:
        if self.rows[-1].text:
            self.rows.append(FormattedLine(indent))
        else:
            self.rows[-1] = FormattedLine(indent)
        self.pending_spaces = ""
        self.keeps_blank = False

    def _fits(self, first: list[_Pending], stack: list[_Pending], width: int, gap: int = 0) -> bool:
        room = width - self.rows[-1].indent - len(self.rows[-1].text)
        begun = bool(self.rows[-1].text)
        gap = max(gap, len(self.pending_spaces)) if begun else 0
        todo, below = list(first), len(stack)
        while room >= 0 and (todo or below):
            if todo:
                _, flat, part = todo.pop()
            else:
                below -= 1
                _, flat, part = stack[below]
            match part:
                case Lexeme():
                    if part.leading and begun:
                        return True
                    room -= len(part.text) + (0 if part.text == "," else gap)
                    begun, gap = True, 0
                    if part.trailing and room >= 0:
                        return True
                case SpaceRun(width=wide):
                    gap = max(gap, wide)
                case LineBreak(flat=text):
                    if not flat:
                        return True
                    gap = max(gap, len(text))
                case LayoutGroup() | IndentedParts() | FlatOrBroken():
                    todo.extend(_measured_parts(part, flat=flat))
                case _:
                    assert_never(part)
        return room >= 0


def _measured_parts(part: LayoutGroup | IndentedParts | FlatOrBroken, *, flat: bool) -> Iterator[_Pending]:
    """Yield the inner parts of a part, last one first, each with True if it is flat.

    The parts of a group are flat unless the group is always broken; those of any other part are so if `flat`.
    """
    match part:
        case LayoutGroup(parts=parts, broken=broken):
            flat = not broken
        case IndentedParts(parts=parts):
            pass
        case FlatOrBroken():
            parts = part.flat if flat else part.broken
        case _:
            assert_never(part)
    return ((0, flat, each) for each in parts[::-1])


# ---- rows


def render_lines(rows: Sequence[FormattedLine]) -> str:
    """Return the text of the lines. Comments after lines of one run are aligned in one column."""
    lines: list[str] = []
    runs = list(_runs(rows))
    for run, following in zip(runs, [*runs[1:], []], strict=False):
        column = _comment_column(run)
        for row in run:
            lines.extend([""] if row.after_blank_line and lines else [])
            line = " " * row.indent + row.text
            if not row.comments:
                lines.append(line)
                continue
            place = max(len(line) + _SPACES_BEFORE_COMMENT, column)
            if row is run[-1] and following and following[0].is_comment and following[0].indent == place:
                place += 1  # Otherwise the next comment would look like a continuation of this one.
            lines.append(f"{line:<{place}}{row.comments[0]}")
            lines.extend(" " * place + comment for comment in row.comments[1:])
    return "".join(f"{line}\n" for line in lines)


def _runs(rows: Sequence[FormattedLine]) -> Iterator[list[FormattedLine]]:
    """Yield runs of lines: consecutive lines with the same indent and no blank line or comment line between them."""
    run: list[FormattedLine] = []
    for row in rows:
        if run and (row.after_blank_line or row.indent != run[-1].indent or row.is_comment):
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _comment_column(run: Sequence[FormattedLine]) -> int:
    """Return the column in which the comments of a run begin, or 0 if one column would make lines too long."""
    commented = [
        (row.indent + len(row.text) + _SPACES_BEFORE_COMMENT, max(map(len, row.comments)))
        for row in run
        if row.comments
    ]
    column = max((begin for begin, _ in commented), default=0)
    fits = all(column + length <= WIDTH for begin, length in commented if begin + length <= WIDTH)
    return column if fits else 0


_LEXEME: Final = re.compile(
    r'(?P<comment>#[^\n]*)|"(?:[^"\\\n]|\\[^\n])*"|`[^`\n]*`|@?[A-Za-z_]\w*|\.?\d[\w.]*(?:(?<=[eE])[+-]\w+)?'
    r"|->|\*\*|[:=!<>]=|[^\s]"
)


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
        behind = [Comment(text, after_blank_line=False, indented=True) for text in comma.trailing]
    after.leading = [*comma.leading, *behind, *after.leading]
    comma.leading, comma.trailing = [], ()


_NO_SPACE_BEFORE: Final = frozenset({",", ")", "]", "}", "?", ".", ""})
_NO_SPACE_AFTER: Final = frozenset({"(", "[", "{", "."})
_SYMBOL_OPERATORS: Final = frozenset(
    {"=", ":", "|", "&", "->", "+", "-", "*", "/", "**", ":=", "<", ">", "<=", ">=", "==", "!="}
)
_WORD_OPERATORS: Final = frozenset(
    {"and", "or", "not", "implies", "in", "is", "when", "forbid", "require", "minimize", "maximize", "to"}
)
_NOT_TERM_ENDS: Final = _SYMBOL_OPERATORS | _NO_SPACE_AFTER | _WORD_OPERATORS | {",", ""}


class LexemeCursor:
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

    def keep_comments_of(self, dropped: Lexeme | None) -> None:
        """Move the comments of a dropped lexeme before the next lexeme. Do nothing for None."""
        if dropped is not None:
            behind = [Comment(text, after_blank_line=False, indented=True) for text in dropped.trailing]
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

    def take_until_offset(self, end: int, *, tight: str = "") -> list[Document]:
        """Take all lexemes before the offset `end` and return them with spaces between, but none around `tight`."""
        found: list[Document] = []
        while self.lexemes[self.place].start < end:
            before = self.lexemes[self.place - 1].text if self.place else ""
            text = self.peek()
            if not self.after_unary_minus and _needs_space(before, text) and tight not in (before, text):
                found.append(SpaceRun())
            found.append(self.take())
            self.after_unary_minus = text == "-" and not _ends_term(before)
        return found


def _needs_space(before: str, text: str) -> bool:
    """Return True if a space belongs between two lexemes of one line."""
    if text in _NO_SPACE_BEFORE or before in _NO_SPACE_AFTER:
        return False
    return not _ends_term(before) if text in ("(", "[") else bool(before)


def _ends_term(before: str) -> bool:
    """Return True if a lexeme ends a term (a name, a number, a closing bracket), so that a `-` after it is binary."""
    return before not in _NOT_TERM_ENDS
