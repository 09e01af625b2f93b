"""Diagnostics, as `spacelang check` reports them, and quick fixes."""

from collections.abc import Iterator, Sequence

from lsprotocol import types

from spacelang.diagnostics.diagnostic import Diagnostic, Severity
from spacelang.diagnostics.json_output import possible_replacements
from spacelang.language_server.documents import Document, PositionEncoding, source_uri
from spacelang.text import Span

_SEVERITIES = {Severity.ERROR: types.DiagnosticSeverity.Error, Severity.WARNING: types.DiagnosticSeverity.Warning}


def diagnostics(document: Document, encoding: PositionEncoding) -> list[types.Diagnostic]:
    """Return the mistakes of a document; those of an imported file are shown at its `import` line."""
    return [_to_protocol(problem, document, encoding) for problem in document.check_result.diagnostics]


def quick_fixes(document: Document, chosen: types.Range, encoding: PositionEncoding) -> list[types.CodeAction]:
    """Return the replacements for each problem that touches the chosen range, the most likely one of a problem first.

    Problems of imported files have none.
    """
    start, end = (encoding.to_offset(document.source, place) for place in (chosen.start, chosen.end))
    return [
        types.CodeAction(
            title=fix.title or f"replace with `{fix.text}`",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[_to_protocol(problem, document, encoding)],
            is_preferred=place == 0,
            edit=types.WorkspaceEdit(changes={document.uri: [types.TextEdit(encoding.to_range(fix.span), fix.text)]}),
        )
        for problem in document.check_result.diagnostics
        if _is_own(problem.primary, document) and problem.primary.start <= end and start <= problem.primary.end
        for place, fix in enumerate(possible_replacements(problem))
    ]


def _is_own(span: Span, document: Document) -> bool:
    return span.source is document.source


def _to_protocol(problem: Diagnostic, document: Document, encoding: PositionEncoding) -> types.Diagnostic:
    place = problem.primary if _is_own(problem.primary, document) else _import_of(problem.primary, document)
    return types.Diagnostic(
        range=encoding.to_range(place),
        severity=_SEVERITIES[problem.severity],
        code=problem.code,
        source="spacelang",
        message=_message(problem, document),
        related_information=[*_related(problem, document, encoding)] or None,
        tags=[types.DiagnosticTag.Unnecessary] if type(problem).__name__.startswith("Unused") else None,
    )


def _message(problem: Diagnostic, document: Document) -> str:
    where = "" if _is_own(problem.primary, document) or not problem.primary.source.text else _shown_place(problem)
    lines = [f"{where}{problem.message}", problem.label, *problem.notes]
    helps = [] if problem.help is None else [f"help: {problem.help}"]
    return "\n".join([*dict.fromkeys(line for line in lines if line), *helps])


def _shown_place(problem: Diagnostic) -> str:
    return f"in {problem.primary.source.name}, line {problem.primary.line}: "


def _import_of(span: Span, document: Document) -> Span:
    """Return the `import` line of a document for the file of a span; the start of the document for any other file."""
    names = document.names
    for item in names.module.file.items if names is not None else ():
        path = getattr(item, "path", None)
        if path is not None and span.source.name.endswith(path.value):
            found: Span = path.span
            return found
    return Span(document.source, 0, 0)


def _related(
    problem: Diagnostic, document: Document, encoding: PositionEncoding
) -> Iterator[types.DiagnosticRelatedInformation]:
    places: Sequence[tuple[Span, str]] = [(each.span, each.message) for each in problem.related]
    if not _is_own(problem.primary, document):
        places = [(problem.primary, problem.message), *places]
    for span, message in places:
        uri = document.uri if _is_own(span, document) else source_uri(span.source)
        if uri is not None:
            yield types.DiagnosticRelatedInformation(types.Location(uri, encoding.to_range(span)), message)
