"""The known idioms around lists of operators: other brackets and signs, and a `?` at another place."""

import re
from typing import Final

from spacelang.syntax.foreign_idiom import make_idiom

_MEMBER: Final = r"[A-Z]\w*(?:[ \t]*\{[^{}\n]*\})?\??"
_WITH_COMMAS: Final = rf"(?P<members>{_MEMBER}(?:[ \t]*,[ \t]*{_MEMBER})*)"
_WITH_AMPERSANDS: Final = rf"(?P<members>{_MEMBER}(?:[ \t]*&[ \t]*{_MEMBER})+)"
_ESTIMATORS: Final = r"(?P<name>\bestimators)[ \t]*[:=][ \t]*"
_MAX_SHOWN_CHARACTERS: Final = 60


def _suggest_list(match: re.Match[str]) -> str:
    """Return a remedy that writes a list of operators with `&`."""
    members = re.sub(r"[ \t]*,[ \t]*(?![^{}]*\})", " & ", match["members"].strip())
    shown = members if len(members) <= _MAX_SHOWN_CHARACTERS else "A? & B?" if "?" in members else "A & B"
    return f"join the operators of a list with `&` in parentheses: `{match['name']} : ({shown})`"


OPERATOR_LIST_IDIOMS: Final = (
    make_idiom(rf"{_ESTIMATORS}(?P<at>[\[({{][ \t]*{_WITH_COMMAS}[ \t]*[\])}}])", _suggest_list),
    make_idiom(
        r"(?P<name>\b[a-z]\w*)[ \t]*[:=][ \t]*"
        r"(?P<at>[\[(][ \t]*(?P<members>[A-Z][\w?]*(?:[ \t]*,[ \t]*[A-Z][\w?]*)*\?)[ \t]*[\])])",
        _suggest_list,
    ),
    make_idiom(rf"(?P<name>\b[a-z]\w*)[ \t]*:[ \t]*(?P<at>{_WITH_AMPERSANDS})", _suggest_list, r"(\g<members>)"),
    make_idiom(rf"{_ESTIMATORS}(?P<at>\([ \t]*{_WITH_AMPERSANDS}[ \t]*\))", _suggest_list),
    make_idiom(
        _ESTIMATORS + r"(?P<at>[\[(][ \t]*\([ \t]*[\"'][^\n\]]*\)[ \t]*[\])])",
        "join the operators of a list with `&` in parentheses: `estimators : (A as first & B as second)`",
    ),
    make_idiom(r"\b[A-Z]\w*(?P<at>\?[ \t]*\{)", "write `?` behind the body: `A { … }?`"),
    make_idiom(
        r"(?P<operator>\b[A-Z]\w*)(?P<at>\?[ \t]+as[ \t]+(?P<name>\w+))",
        r"write `\g<operator> as \g<name>?`",
        r" as \g<name>?",
    ),
)
