"""The known idioms around tuples of variable length: other brackets, a single length, and other kinds of indices."""

from typing import Final

from spacelang.syntax.foreign_idiom import make_idiom

_LENGTH: Final = r"[^\s,.()\[\]{}:=|]+"
_WORD: Final = r"[tT]uples?|[lL]ist|[sS]eq(?:uence)?|[vV]ector|[aA]rray"
TUPLE_IDIOMS: Final = (
    make_idiom(
        rf"(?P<at>\b(?:{_WORD})[ \t]*[\[({{][ \t]*(?P<least>{_LENGTH})[ \t]*(?:,|\.\.+|:|\u2013)[ \t]*"
        rf"(?P<greatest>{_LENGTH})[ \t]*[\])}}])(?=[ \t]+of\b)",
        r"write `tuple[\g<least>, \g<greatest>] of …`",
        r"tuple[\g<least>,\g<greatest>]",
    ),
    make_idiom(
        rf"(?P<at>\b(?:{_WORD})[ \t]*[\[({{][ \t]*(?P<length>{_LENGTH})[ \t]*[\])}}])(?=[ \t]+of\b)",
        r"give the least and the greatest length: `tuple[1, \g<length>] of …`, "
        r"or `tuple[\g<length>, \g<length>] of …` for exactly \g<length> elements",
    ),
    make_idiom(rf"\b(?:{_WORD})[ \t]+of[ \t]+\w+", "give the least and the greatest length: `tuple[1, 3] of …`"),
    make_idiom(
        r"(?P<name>\b[a-z]\w*)(?P<at>\[[ \t]*(?:-[ \t]*\d+|[A-Za-z_]\w*)[ \t]*\])",
        r"the index of an element is a number from 1: `\g<name>[1]`",
        behind=r"\b(?:when|forbid|require|and|or|not|let|implies)\b|:=",
    ),
)
