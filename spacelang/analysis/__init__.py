"""Syntax tree to checked space: names, ranges, conditions, constraints and defaults."""

from dataclasses import dataclass

from spacelang.analysis import meaning, roles
from spacelang.analysis.report import Report
from spacelang.analysis.resolution import resolve
from spacelang.analysis.stages import StageReader
from spacelang.catalog.catalogue import Catalogue
from spacelang.catalog.snapshot import load
from spacelang.diagnostics.diagnostic import Diagnostic, in_order
from spacelang.diagnostics.parameters import StaleCatalogue
from spacelang.diagnostics.syntax import MissingSeparator
from spacelang.ir.counting import Structures
from spacelang.ir.space import Space
from spacelang.syntax.parser import parse
from spacelang.text import Source, Span

__all__ = ["Checked", "check"]


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of checking a text: a space exactly where there is no error, and all diagnostics by position."""

    space: Space | None
    structures: Structures | None
    diagnostics: tuple[Diagnostic, ...]


def check(source: Source, catalogue: Catalogue | None = None) -> Checked:
    """Check a text; every independent mistake is reported in one run, and nothing is raised for any text."""
    catalogue = load() if catalogue is None else catalogue
    report = Report()
    parsed = parse(source)
    report.found.extend(parsed.diagnostics)
    _check_catalogue(catalogue, source, report)
    torn = any(not isinstance(diagnostic, MissingSeparator) for diagnostic in parsed.diagnostics)
    reader = StageReader(catalogue, report, parsed.damaged, torn=torn)
    draft = reader.read(parsed.file)
    if draft.is_whole:
        roles.check(draft.root, catalogue, report)
    header = reader.header
    name = header.name.text if header is not None else _name_of(source)
    title = header.title.value if header is not None and header.title is not None else ""
    space = resolve(Space(name, draft.root, title=title), draft, report)
    structures = None if report.has_errors else meaning.check(space, draft.domains, report)
    sound = not report.has_errors
    return Checked(space if sound else None, structures if sound else None, in_order(report.found))


def _name_of(source: Source) -> str:
    """A file without a header is called by its own name."""
    return source.name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".space") or "space"


def _check_catalogue(catalogue: Catalogue, source: Source, report: Report) -> None:
    installed = catalogue.stale
    if installed is not None:
        start = Span(source, 0, 0)
        report.add(
            StaleCatalogue(
                primary=start, catalogue=catalogue.distribution, known=catalogue.version, installed=installed
            )
        )
