"""Diagnostics as JSON: plain dictionaries with fixed keys, for editors and other programs."""

from collections.abc import Iterable
from typing import TypedDict

from spacelang.diagnostics.diagnostic import Diagnostic, Fix, Related
from spacelang.diagnostics.fixes import find_fixes
from spacelang.text import Span


class PlaceRecord(TypedDict):
    """A half-open range of a file. Lines and columns count from 1, columns in characters."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class RelatedRecord(PlaceRecord):
    """Another place in a file that is related to a problem, with a message."""

    message: str


class FixRecord(PlaceRecord):
    """A text replacement that an editor may offer under its title. It solves the problem by itself.

    The range is given twice: `start` and `end` are the same range as offsets in characters, counted from 0. A range of
    length zero means that the text is inserted.
    """

    title: str
    start: int
    end: int
    text: str


class DiagnosticRecord(PlaceRecord):
    """One diagnostic as a dictionary.

    For a file that could not be read, the range is empty and lies at the beginning of the file.
    """

    code: str
    severity: str
    message: str
    label: str
    help: str | None
    notes: list[str]
    related: list[RelatedRecord]
    fixes: list[FixRecord]


def to_records(diagnostics: Iterable[Diagnostic]) -> list[DiagnosticRecord]:
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
        related=[_to_related_record(related) for related in diagnostic.related],
        fixes=[_to_fix_record(fix) for fix in find_fixes(diagnostic)],
    )


def _to_related_record(related: Related) -> RelatedRecord:
    return RelatedRecord(message=related.message, **_to_place_record(related.span))


def _to_fix_record(fix: Fix) -> FixRecord:
    title = fix.title or f"replace with `{fix.text}`"
    return FixRecord(title=title, **_to_place_record(fix.span), start=fix.span.start, end=fix.span.end, text=fix.text)


def _to_place_record(span: Span) -> PlaceRecord:
    end_line, end_column = span.source.position(span.end)
    return PlaceRecord(
        file=span.source.name, line=span.line, column=span.column, end_line=end_line, end_column=end_column
    )
