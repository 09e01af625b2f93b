"""Syntax tree to checked space: names, ranges, conditions, constraints and defaults."""

from dataclasses import dataclass

from spacelang.analysis import meaning, modules, roles
from spacelang.analysis.report import Report
from spacelang.analysis.resolution import resolve
from spacelang.analysis.stages import StageReader
from spacelang.analysis.surroundings import ALONE, Surroundings
from spacelang.catalog.catalogue import Catalogue
from spacelang.catalog.snapshot import load
from spacelang.diagnostics.diagnostic import Diagnostic, in_order
from spacelang.diagnostics.parameters import StaleCatalogue
from spacelang.diagnostics.syntax import MissingSeparator
from spacelang.ir.counting import Structures
from spacelang.ir.space import Space
from spacelang.syntax.parser import parse
from spacelang.text import Source, Span

__all__ = ["Checked", "Surroundings", "check"]


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of checking a text: a space exactly where there is no error, and all diagnostics by position."""

    space: Space | None
    structures: Structures | None
    diagnostics: tuple[Diagnostic, ...]


def check(source: Source, surroundings: Surroundings = ALONE) -> Checked:
    """Check a text; every independent mistake is reported in one run, and nothing is raised for any text."""
    catalogue = load() if surroundings.catalogue is None else surroundings.catalogue
    report = Report()
    _check_catalogue(catalogue, source, report)
    parsed = parse(source)
    report.found.extend(parsed.diagnostics)
    torn = any(not isinstance(diagnostic, MissingSeparator) for diagnostic in parsed.diagnostics)
    module = modules.read(source, parsed.file, parsed.damaged, report, torn=torn)
    draft = StageReader(module, catalogue, report).read()
    if draft.is_whole:
        roles.check(draft.root, catalogue, report)
    space = resolve(Space(module.name, draft.root, title=module.title), draft, report)
    structures = None if report.has_errors else meaning.check(space, draft.domains, report)
    sound = not report.has_errors
    return Checked(space if sound else None, structures if sound else None, in_order(report.found))


def _check_catalogue(catalogue: Catalogue, source: Source, report: Report) -> None:
    installed = catalogue.stale
    if installed is not None:
        start = Span(source, 0, 0)
        report.add(
            StaleCatalogue(
                primary=start, catalogue=catalogue.distribution, known=catalogue.version, installed=installed
            )
        )
