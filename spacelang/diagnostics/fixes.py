"""Quick fixes for editors: text replacements, each of which solves its problem by itself.

They are found in the text around the place of a diagnostic. If that text does not look as expected, there is no fix,
because a wrong fix would be worse than none.
"""

import re
from typing import Final

from spacelang.diagnostics.conditions import AlwaysTrue, NeverTogether, NeverTrue, WrongComparison
from spacelang.diagnostics.diagnostic import Diagnostic, Fix
from spacelang.diagnostics.domains import BadBound
from spacelang.diagnostics.names import DuplicateValue
from spacelang.diagnostics.parameters import (
    DeprecatedOperator,
    DeprecatedParameter,
    MissingParameter,
    RefusedParameter,
    RemovedParameter,
)
from spacelang.diagnostics.syntax import MissingSeparator, SaidElsewhere, UnclosedString, UnexpectedText
from spacelang.diagnostics.tasks import BackwardGoal
from spacelang.text import Span

_RULE: Final = re.compile(r"\b(?:forbid|require)\s+\Z")
_WHEN: Final = re.compile(r"\s*\bwhen\s+\Z")
_GOES_ON: Final = ("|", "=", ":", "@", "->", "&", "?", "when", "and", "or", "log", "step")
"""Beginnings of a line that continues the member of the line before."""


def fixes(diagnostic: Diagnostic) -> tuple[Fix, ...]:
    """Return the replacements that an editor may offer, the most likely first. Most problems have none."""
    if not diagnostic.primary.source.text:
        return ()
    found = [diagnostic.fix, *_further(diagnostic)]
    return tuple(fix for fix in found if fix is not None)


def _further(diagnostic: Diagnostic) -> list[Fix | None]:
    """Return the replacements for this kind of problem, other than a similar name. Entries may be None."""
    place = diagnostic.primary
    match diagnostic:
        case MissingSeparator():
            return [Fix(Span(place.source, place.start, place.start), ", ", "insert a comma")]
        case UnclosedString(what="string"):
            return [Fix(Span(place.source, place.end, place.end), '"', "close the string")]
        case UnexpectedText() | SaidElsewhere() | WrongComparison() | BackwardGoal():
            return _as_written(diagnostic)
        case BadBound(remedy=str() as remedy):
            return [_replaced(place, number) for number in re.findall(r"(?:write|or) (-?\d+)\b", remedy)]
        case (
            DeprecatedParameter(replacement=str(near), note=None) | DeprecatedOperator(replacement=str(near), note=None)
        ):
            return [_replaced(place, near)]
        case RefusedParameter() | RemovedParameter():
            return [_without_member(place)]
        case MissingParameter(parameter=parameter, example=str() as example):
            return [_with_body(place, f"{parameter} = {example}")]
        case _:
            return _without_redundant(diagnostic)


def _without_redundant(diagnostic: Diagnostic) -> list[Fix | None]:
    """Return the replacements that remove a part of the text that has no effect or is redundant."""
    place = diagnostic.primary
    match diagnostic:
        case AlwaysTrue(kind="condition"):
            return [_without_before(place, _WHEN, "remove the condition")]
        case AlwaysTrue(kind="`require`") | NeverTrue(kind="`forbid`") | NeverTogether():
            return [_without_rule(place)]
        case DuplicateValue():
            return [_without_value(place)]
        case _:
            return []


def _as_written(diagnostic: Diagnostic) -> list[Fix | None]:
    """Return the replacements that the help spells out in backticks."""
    if isinstance(diagnostic, SaidElsewhere):
        return [] if diagnostic.instead is None else [_replaced(diagnostic.primary, diagnostic.instead)]
    help_ = diagnostic.help or ""
    if not re.match(r"(?:write|compare with) `", help_) or "…" in help_:
        return []
    if isinstance(diagnostic, UnexpectedText) and diagnostic.primary.text not in help_ and "one `" in help_:
        return []
    return [_replaced(diagnostic.primary, text) for text in re.findall(r"`([^`]+)`", help_)]


def _replaced(place: Span, text: str) -> Fix:
    return Fix(place, text, f"replace with `{text}`")


def _with_body(place: Span, member: str) -> Fix | None:
    """Return a fix that gives an operator a body with one member, or None if it has a body, alias or dot already."""
    if re.match(r"\s*(?:\{|\.|as\b)", place.source.text[place.end :]):
        return None
    return Fix(Span(place.source, place.end, place.end), f" {{ {member} }}", f"set it: `{member}`")


def _without_before(place: Span, before: re.Pattern[str], title: str) -> Fix | None:
    """Return a fix that removes the place and the match of `before` in front of it, or None."""
    found = before.search(place.source.text[: place.start])
    return Fix(Span(place.source, found.start(), place.end), "", title) if found else None


def _without_rule(place: Span) -> Fix | None:
    found = _RULE.search(place.source.text[: place.start])
    if found is None:
        return None
    return _without(Span(place.source, found.start(), place.end), f"remove this `{found[0].strip()}`")


def _without_member(name: Span) -> Fix | None:
    """Return a fix that removes the member of a body that begins with `name`.

    It is None if the member continues on the next line.
    """
    text = name.source.text
    depth = 0
    end = len(text)
    for found in re.finditer(r'#[^\n]*|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`|[\[\](){},\n]', text[name.end :]):
        sign = found[0]
        if depth == 0 and (sign in ("}", ",", "\n") or sign.startswith("#")):
            end = name.end + found.start()
            break
        depth += (sign in ("[", "(", "{")) - (sign in ("]", ")", "}"))
    if text[end:].lstrip().startswith(_GOES_ON):
        return None
    return _without(
        Span(name.source, name.start, name.start + len(text[name.start : end].rstrip())), f"remove `{name.text}`"
    )


def _without(place: Span, title: str) -> Fix:
    """Return a fix that removes a member or an item, with its comma.

    If nothing else stands on its lines, the lines are removed too.
    """
    text = place.source.text
    start, end = place.start, place.end
    behind = re.compile(r"[ \t]*,[ \t]*|[ \t]*").match(text, end)
    end = behind.end() if behind else end
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip() and text[end : end + 1] in ("", "\n", "\r"):
        following = text.find("\n", end)
        return Fix(Span(place.source, line, following + 1 if following >= 0 else len(text)), "", title)
    before = re.search(r"[ \t]*,[ \t]*\Z", text[:start])
    if before is not None and "," not in text[place.end : end]:
        return Fix(Span(place.source, before.start(), place.end), "", title)
    return Fix(Span(place.source, start, end), "", title)


def _without_value(place: Span) -> Fix | None:
    """Return a fix that removes a value from a set of several, with a comma, or None for the only value."""
    text = place.source.text
    before = re.search(r",\s*\Z", text[: place.start])
    if before is not None:
        return Fix(Span(place.source, before.start(), place.end), "", f"remove `{place.text}`")
    behind = re.match(r"\s*,\s*", text[place.end :])
    return (
        Fix(Span(place.source, place.start, place.end + behind.end()), "", f"remove `{place.text}`") if behind else None
    )
