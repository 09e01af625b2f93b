"""What an editor can do about a problem: replacements of text, each of which makes the problem go away by itself.

They are found in the text around the place that a diagnostic points at. Where it does not look as expected there is no
fix: a wrong one would be worse.
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
"""How a line begins that goes on with the member of the line before."""


def fixes(diagnostic: Diagnostic) -> tuple[Fix, ...]:
    """The replacements that an editor may offer, the likeliest first; most problems have none."""
    if not diagnostic.primary.source.text:
        return ()
    found = [diagnostic.fix, *_further(diagnostic)]
    return tuple(fix for fix in found if fix is not None)


def _further(diagnostic: Diagnostic) -> list[Fix | None]:
    """What a kind of problem can be cured by, beside a near name."""
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
    """What can go because it says nothing, or says too much."""
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
    """The replacements that the help spells out."""
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
    """An operator that has no body yet, with one."""
    if re.match(r"\s*(?:\{|\.|as\b)", place.source.text[place.end :]):
        return None
    return Fix(Span(place.source, place.end, place.end), f" {{ {member} }}", f"set it: `{member}`")


def _without_before(place: Span, before: re.Pattern[str], title: str) -> Fix | None:
    """Nothing in place of something and what stands before it."""
    found = before.search(place.source.text[: place.start])
    return Fix(Span(place.source, found.start(), place.end), "", title) if found else None


def _without_rule(place: Span) -> Fix | None:
    found = _RULE.search(place.source.text[: place.start])
    if found is None:
        return None
    return _without(Span(place.source, found.start(), place.end), f"remove this `{found[0].strip()}`")


def _without_member(name: Span) -> Fix | None:
    """Nothing in place of the member of a body that begins with a name."""
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
    """Nothing in place of a member or an item, with its comma, or with its lines where nothing else stands there."""
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
    """Nothing in place of a value of a set that has others."""
    text = place.source.text
    before = re.search(r",\s*\Z", text[: place.start])
    if before is not None:
        return Fix(Span(place.source, before.start(), place.end), "", f"remove `{place.text}`")
    behind = re.match(r"\s*,\s*", text[place.end :])
    return (
        Fix(Span(place.source, place.start, place.end + behind.end()), "", f"remove `{place.text}`") if behind else None
    )
