"""Diagnostics for terminals: the source line with the place underlined, as rustc and ruff show it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spacelang.diagnostics.diagnostic import Diagnostic, Severity
from spacelang.diagnostics.terminal_cells import ELLIPSIS, MAX_CELLS, cell_width, make_line_excerpt, replace_unprintable
from spacelang.text import Source, Span

MAX_LINE_DISTANCE: Final = 3  # Places that are at most this many lines apart are shown in one snippet
LABEL_EDGE: Final = 115
"""Labels end before this cell, so that few lines are longer than 120 characters with the line numbers."""
MAX_MESSAGE_LENGTH: Final = 400
"""Messages are cut to this many characters, as their quotations may be as long as the whole source."""
SHORT_LABEL_CELLS: Final = 24  # Labels of at most this many cells always stand to the right of their underline


def render_diagnostics(diagnostics: Iterable[Diagnostic], *, color: bool) -> str:
    """Return all diagnostics and their count, without a last newline; empty without diagnostics."""
    shown = tuple(diagnostics)
    if not shown:
        return ""
    paint = COLOURED if color else PLAIN
    return "\n\n".join((*("\n".join(_diagnostic_lines(diagnostic, paint)) for diagnostic in shown), _summary(shown)))


@dataclass(frozen=True, slots=True)
class AnsiStyles:
    """The ANSI escape sequences that begin each style, and the one that ends all styles."""

    error: str = ""
    warning: str = ""
    gutter: str = ""
    related: str = ""
    strong: str = ""
    end: str = ""

    def severity_style(self, severity: Severity) -> str:
        """Return the escape sequence that begins the style of a severity; notes have the style of the gutter."""
        match severity:
            case Severity.ERROR:
                return self.error
            case Severity.WARNING:
                return self.warning
            case Severity.NOTE:
                return self.gutter

    def __call__(self, style: str, text: str) -> str:
        """Return the text between the escape sequence `style` and the one that ends it; empty text stays empty."""
        return f"{style}{text}{self.end}" if text else ""


PLAIN: Final = AnsiStyles()
COLOURED: Final = AnsiStyles("\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m", "\x1b[36m", "\x1b[1m", "\x1b[0m")


@dataclass(frozen=True, slots=True)
class _Mark:
    """An underlined place on one line with its label: the characters `[start, end)`, counted from 0."""

    source: Source
    line: int
    start: int
    end: int
    sign: str
    style: str
    label: str

    @property
    def head(self) -> str:
        return f"{replace_unprintable(self.source.name)}:{self.line}:{self.start + 1}"


def _diagnostic_lines(diagnostic: Diagnostic, paint: AnsiStyles) -> Iterator[str]:
    style = paint.severity_style(diagnostic.severity)
    title = paint(style, f"{diagnostic.severity}[{diagnostic.code}]")
    yield title + paint(paint.strong, f": {_shortened(diagnostic.message)}")
    snippets = _snippets(diagnostic, paint) if diagnostic.primary.source.text else []
    margin = max((len(str(mark.line)) for marks in snippets for mark in marks), default=1)
    if not snippets and diagnostic.primary.source.name:
        yield f"{' ' * margin}{paint(paint.gutter, '-->')} {replace_unprintable(diagnostic.primary.source.name)}"
    for number, marks in enumerate(snippets):
        yield from _snippet_lines(marks, margin, paint, first=number == 0)
    if diagnostic.help:
        yield from _footer_lines("help", diagnostic.help, margin, paint)
    for note in diagnostic.notes:
        yield from _footer_lines("note", note, margin, paint)


def _snippets(diagnostic: Diagnostic, paint: AnsiStyles) -> list[list[_Mark]]:
    """Return the marks of each snippet: places that are near each other are shown in one snippet.

    The primary mark is the first mark of the first snippet.
    """
    primary = _make_mark(diagnostic.primary, "^", paint.severity_style(diagnostic.severity), diagnostic.label)
    snippets = [[primary]]
    for related in diagnostic.related:
        mark = _make_mark(related.span, "-", paint.related, related.message)
        home = next((marks for marks in snippets if _is_near(mark, marks)), None)
        if home is None:
            snippets.append([mark])
        else:
            home.append(mark)
    return snippets


def _make_mark(span: Span, sign: str, style: str, label: str) -> _Mark:
    offset = min(span.start, len(span.source.text))
    line, column = span.source.line_and_column(offset)
    text = span.source.line_text(line)
    start = min(column - 1, len(text))
    covered = text[start : max(start, column - 1 + span.end - offset)]
    return _Mark(span.source, line, start, start + len(covered.rstrip(" \t\r")), sign, style, _shortened(label))


def _is_near(mark: _Mark, marks: Sequence[_Mark]) -> bool:
    """Return True if one snippet can show all marks: at most `MAX_LINE_DISTANCE` lines or part of a line apart."""
    if all(mark.source != other.source or abs(mark.line - other.line) > MAX_LINE_DISTANCE for other in marks):
        return False
    together = [mark, *(other for other in marks if other.line == mark.line)]
    first, last = min(other.start for other in together), max(other.end for other in together)
    return len(together) == 1 or last - first <= MAX_CELLS // 2


def _snippet_lines(marks: Sequence[_Mark], margin: int, paint: AnsiStyles, *, first: bool) -> Iterator[str]:
    yield f"{' ' * margin}{paint(paint.gutter, '-->' if first else ':::')} {marks[0].head}"
    source = marks[0].source
    lines = [mark.line for mark in marks]
    blank = paint(paint.gutter, f"{' ' * margin} |")
    for number in range(min(lines), max(lines) + 1):
        here = sorted((mark for mark in marks if mark.line == number), key=lambda mark: (mark.start, mark.end))
        start, end = min((mark.start for mark in here), default=0), max((mark.end for mark in here), default=0)
        shown = make_line_excerpt(source.line_text(number), start, end)
        yield f"{paint(paint.gutter, f'{number:>{margin}} |')} {shown.text}".rstrip()
        for mark in here:
            begin, cells = shown.underline_cells(mark.start, mark.end)
            # A terminal would wrap a long label after a long underline, so the label gets a line of its own.
            width = cell_width(mark.label)
            apart = width > SHORT_LABEL_CELLS and begin + cells + 1 + width > LABEL_EDGE
            beside, below = ("", mark.label) if apart else (mark.label, "")
            yield f"{blank} {' ' * begin}{paint(mark.style, f'{mark.sign * cells} {beside}'.rstrip())}"
            if below:
                yield f"{blank} {' ' * min(begin, max(0, LABEL_EDGE - cell_width(below)))}{paint(mark.style, below)}"


def _footer_lines(kind: str, text: str, margin: int, paint: AnsiStyles) -> Iterator[str]:
    first, *rest = map(_shortened, text.split("\n"))
    yield f"{' ' * margin} {paint(paint.gutter, '=')} {paint(paint.strong, kind)}: {first}"
    for line in rest:
        yield f"{' ' * (margin + len(kind) + 5)}{line}"


def _shortened(text: str) -> str:
    half = MAX_MESSAGE_LENGTH // 2
    return replace_unprintable(text if len(text) <= MAX_MESSAGE_LENGTH else text[:half] + ELLIPSIS + text[-half:])


def _summary(diagnostics: Sequence[Diagnostic]) -> str:
    severities = [diagnostic.severity for diagnostic in diagnostics]
    counts = [(severities.count(severity), str(severity)) for severity in Severity]
    problems = ", ".join(_count(number, word) for number, word in counts if number)
    files = len({diagnostic.primary.source.name for diagnostic in diagnostics})
    return f"{problems} in {_count(files, 'file')}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
