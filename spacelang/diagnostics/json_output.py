"""Diagnostics as JSON: plain dictionaries with fixed keys, for editors and other programs."""

import re
from collections.abc import Iterable
from typing import Final, TypedDict

from spacelang.diagnostics import parameters as problems
from spacelang.diagnostics.conditions import (
    ConditionAlwaysTrue,
    ConditionNeverTrue,
    ConstraintNeverApplies,
    InvalidComparison,
)
from spacelang.diagnostics.diagnostic import Diagnostic, TextReplacement
from spacelang.diagnostics.domains import InvalidRangeBound
from spacelang.diagnostics.names import DuplicateValueInDomain
from spacelang.diagnostics.reading import ForeignSyntax, MissingSeparator, UnclosedString, UnexpectedText
from spacelang.diagnostics.tasks import GoalInWrongDirection
from spacelang.text import Span


class FileRangeRecord(TypedDict):
    """A half-open range of a file. Lines and columns count from 1, columns in characters."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class RelatedPlaceRecord(FileRangeRecord):
    """Another place in a file that is related to a problem, with a message."""

    message: str


class TextReplacementRecord(FileRangeRecord):
    """A text replacement that solves a problem by itself, under its title; an empty range inserts.

    `start` and `end` are the same range again, as offsets in characters from 0.
    """

    title: str
    start: int
    end: int
    text: str


class DiagnosticRecord(FileRangeRecord):
    """A diagnostic as a dictionary; for a file that could not be read, its range is empty at the beginning."""

    code: str
    severity: str
    message: str
    label: str
    help: str | None
    notes: list[str]
    related: list[RelatedPlaceRecord]
    fixes: list[TextReplacementRecord]


def diagnostics_to_json_records(diagnostics: Iterable[Diagnostic]) -> list[DiagnosticRecord]:
    """Return one record for each diagnostic, in the same order."""
    return [_to_record(diagnostic) for diagnostic in diagnostics]


def _to_record(diagnostic: Diagnostic) -> DiagnosticRecord:
    return DiagnosticRecord(
        code=diagnostic.code,
        severity=str(diagnostic.severity),
        message=diagnostic.message,
        **_to_place_record(diagnostic.primary),
        label=diagnostic.label,
        help=diagnostic.help,
        notes=list(diagnostic.notes),
        related=[
            RelatedPlaceRecord(message=each.message, **_to_place_record(each.span)) for each in diagnostic.related
        ],
        fixes=[_to_fix_record(fix) for fix in possible_replacements(diagnostic)],
    )


def _to_fix_record(fix: TextReplacement) -> TextReplacementRecord:
    title = fix.title or f"replace with `{fix.text}`"
    return TextReplacementRecord(
        title=title, **_to_place_record(fix.span), start=fix.span.start, end=fix.span.end, text=fix.text
    )


def _to_place_record(span: Span) -> FileRangeRecord:
    end_line, end_column = span.source.line_and_column(span.end)
    return FileRangeRecord(
        file=span.source.name, line=span.line, column=span.column, end_line=end_line, end_column=end_column
    )


_CONSTRAINT_KEYWORD: Final = re.compile(r"\b(?:forbid|require)\s+\Z")
_WHEN_KEYWORD: Final = re.compile(r"\s*\bwhen\s+\Z")
_CONTINUATIONS: Final = ("|", "=", ":", "@", "->", "&", "?", "when", "and", "or", "log", "step")
"""Beginnings of a line that continues the member of the line before."""


def possible_replacements(diagnostic: Diagnostic) -> tuple[TextReplacement, ...]:
    """Return the replacements that an editor may offer, the most likely first. Most problems have none."""
    if not diagnostic.primary.source.text:
        return ()
    found = [diagnostic.fix, *_fixes_by_kind(diagnostic)]
    return tuple(fix for fix in found if fix is not None)


def _fixes_by_kind(diagnostic: Diagnostic) -> list[TextReplacement | None]:
    """Return the replacements for this kind of problem, other than a similar name. Entries may be None."""
    place = diagnostic.primary
    match diagnostic:
        case MissingSeparator():
            return [TextReplacement(Span(place.source, place.start, place.start), ", ", "insert a comma")]
        case UnclosedString(construct="string"):
            return [TextReplacement(Span(place.source, place.end, place.end), '"', "close the string")]
        case UnexpectedText() | ForeignSyntax() | InvalidComparison() | GoalInWrongDirection():
            return _fixes_in_help(diagnostic)
        case InvalidRangeBound(remedy=str() as remedy):
            return [_replace(place, number) for number in re.findall(r"(?:write|or) (-?\d+)\b", remedy)]
        case (
            problems.DeprecatedParameter(replacement=str(near), note=None)
            | problems.DeprecatedOperator(replacement=str(near), note=None)
        ):
            return [_replace(place, near)]
        case problems.ParameterForbiddenInSpaces() | problems.RemovedParameter():
            return [_remove_member(place)]
        case problems.MissingParameter(parameter=parameter, example=str() as example):
            return [_add_body(place, f"{parameter} = {example}")]
        case _:
            return _removals_of_redundant(diagnostic)


def _removals_of_redundant(diagnostic: Diagnostic) -> list[TextReplacement | None]:
    """Return the replacements that remove a part of the text that has no effect or is redundant."""
    place = diagnostic.primary
    match diagnostic:
        case ConditionAlwaysTrue(kind="condition"):
            return [_remove_with_prefix(place, _WHEN_KEYWORD, "remove the condition")]
        case ConditionAlwaysTrue(kind="`require`") | ConditionNeverTrue(kind="`forbid`") | ConstraintNeverApplies():
            return [_remove_constraint(place)]
        case DuplicateValueInDomain():
            return [_remove_value(place)]
        case _:
            return []


def _fixes_in_help(diagnostic: Diagnostic) -> list[TextReplacement | None]:
    """Return the replacements in backticks of a help text that begins with "write" or "compare with".

    For syntax of another language, it is the known replacement of that idiom.
    """
    if isinstance(diagnostic, ForeignSyntax):
        return [] if diagnostic.instead is None else [_replace(diagnostic.primary, diagnostic.instead)]
    help_ = diagnostic.help or ""
    if not re.match(r"(?:write|compare with) `", help_) or "…" in help_:
        return []
    if isinstance(diagnostic, UnexpectedText) and diagnostic.primary.text not in help_ and "one `" in help_:
        return []
    return [_replace(diagnostic.primary, text) for text in re.findall(r"`([^`]+)`", help_)]


def _replace(place: Span, text: str) -> TextReplacement:
    return TextReplacement(place, text, f"replace with `{text}`")


def _add_body(place: Span, member: str) -> TextReplacement | None:
    """Return a fix that gives an operator a body with one member, or None if it has a body, alias or dot already."""
    if re.match(r"\s*(?:\{|\.|as\b)", place.source.text[place.end :]):
        return None
    return TextReplacement(Span(place.source, place.end, place.end), f" {{ {member} }}", f"set it: `{member}`")


def _remove_with_prefix(place: Span, before: re.Pattern[str], title: str) -> TextReplacement | None:
    """Return a fix that removes the place and the match of `before` in the text before it; None without a match."""
    found = before.search(place.source.text[: place.start])
    return TextReplacement(Span(place.source, found.start(), place.end), "", title) if found else None


def _remove_constraint(place: Span) -> TextReplacement | None:
    found = _CONSTRAINT_KEYWORD.search(place.source.text[: place.start])
    if found is None:
        return None
    return _remove_item(Span(place.source, found.start(), place.end), f"remove this `{found[0].strip()}`")


def _remove_member(name: Span) -> TextReplacement | None:
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
    if text[end:].lstrip().startswith(_CONTINUATIONS):
        return None
    return _remove_item(
        Span(name.source, name.start, name.start + len(text[name.start : end].rstrip())), f"remove `{name.text}`"
    )


def _remove_item(place: Span, title: str) -> TextReplacement:
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
        return TextReplacement(Span(place.source, line, following + 1 if following >= 0 else len(text)), "", title)
    before = re.search(r"[ \t]*,[ \t]*\Z", text[:start])
    if before is not None and "," not in text[place.end : end]:
        return TextReplacement(Span(place.source, before.start(), place.end), "", title)
    return TextReplacement(Span(place.source, start, end), "", title)


def _remove_value(place: Span) -> TextReplacement | None:
    """Return a fix that removes a value from a set of several, with a comma, or None for the only value."""
    title = f"remove `{place.text}`"
    if (found := _remove_with_prefix(place, re.compile(r",\s*\Z"), title)) is not None:
        return found
    behind = re.match(r"\s*,\s*", place.source.text[place.end :])
    return TextReplacement(Span(place.source, place.start, place.end + behind.end()), "", title) if behind else None
