"""Semantic analysis: turn the syntax tree of a text into a checked search space, or report its mistakes."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from spacelang.analysis import consistency, declarations, imported_modules, step_roles
from spacelang.analysis.diagnostic_collector import (
    DEFAULT_CHECK_SETTINGS,
    CheckSettings,
    DataSymbols,
    DiagnosticCollector,
    FileReader,
)
from spacelang.analysis.draft_resolution import resolve_draft
from spacelang.analysis.space_drafts import NameMention, SpaceDraft
from spacelang.analysis.stages import StageReader
from spacelang.catalog.catalogue import Catalogue, FileCatalogues
from spacelang.catalog.snapshot import load_catalogue
from spacelang.diagnostics.diagnostic import Diagnostic, sort_without_duplicates
from spacelang.diagnostics.parameters import StaleCatalogue
from spacelang.frozen import frozen
from spacelang.ir.data_binding import DataColumn, possible_columns
from spacelang.ir.space import DEFAULT_CATALOGUE, Space, Variable
from spacelang.serialization.json_documents import DefinitionError, parse_compiled_document
from spacelang.solver.counting import Structures
from spacelang.syntax import ast
from spacelang.text import Source, Span

if TYPE_CHECKING:
    from spacelang.ir.task import Task

__all__ = ["CheckResult", "CheckSettings", "FileReader", "NameMention", "TextNameIndex", "check"]


@frozen
class TextNameIndex:
    """The names of a text, for editors: its files and catalogues, its variables, and the names in its expressions.

    `variables` are the decisions and hyperparameters of all readable stages by address. `mentions` are the names in
    expressions, each with its meaning.
    """

    module: imported_modules.Module
    catalogues: FileCatalogues
    variables: Mapping[str, Variable]
    mentions: tuple[NameMention, ...]


@frozen
class CheckResult:
    """The result of checking a text: all diagnostics, and the space if there is no error.

    `diagnostics` are sorted by position. `space` and `structures` are None if one of the diagnostics is an error.

    `symbols` maps each symbol of the data that the text mentions (such as `n_features`) to its number, or to None if it
    is not bound. `permanently_unbound_symbols` stand for arbitrarily large numbers permanently, because the space was
    compiled without numbers for them.

    `provisional` is set if every error may disappear for data of another size. It holds the decisions, the operators
    and the task of the space, without conditions and constraints. Hyperparameters that have no domain without the data
    have a placeholder domain there. `names` are those of the text, also of one with errors; None for a JSON document.
    """

    space: Space | None
    structures: Structures | None
    diagnostics: tuple[Diagnostic, ...]
    symbols: Mapping[str, int | None] = field(default_factory=dict)
    permanently_unbound_symbols: tuple[str, ...] = ()
    provisional: Space | None = None
    names: TextNameIndex | None = field(default=None, compare=False, repr=False)


def check(source: Source, surroundings: CheckSettings = DEFAULT_CHECK_SETTINGS) -> CheckResult:
    """Return every independent mistake of a text (or of the JSON document of a space). Nothing is raised."""
    try:
        document = parse_compiled_document(source.text, source.name)
    except DefinitionError as error:
        return _check_compiled(error, source, surroundings)
    if document is not None:
        return _check_compiled(document, source, surroundings)
    report = DiagnosticCollector(DataSymbols(surroundings.bindings))
    module = imported_modules.read_modules(source, report, surroundings.files)
    used = [use for each in declarations.all_modules(module) for use in each.uses]
    catalogue = declarations.read_catalogues(used, surroundings, report)
    _check_catalogue(catalogue.default, source, report)
    draft = StageReader(module, catalogue, report, _columns_of(surroundings)).read()
    if draft.is_whole:
        step_roles.check_step_roles(draft.root, catalogue, report)
    if not module.has_unreadable_items:
        declarations.check_unused_catalogues(used, declarations.mentioned_names(module), catalogue, report)
    task = None if module.task is None else _task(module.task, draft, catalogue, report)
    bare = Space(module.name, draft.root, title=module.title, task=task)
    space = resolve_draft(bare, draft, report)
    structures = None if report.has_errors else consistency.check_consistency(space, draft, report)
    sound = not report.has_errors
    diagnostics, symbols = sort_without_duplicates(report.found), report.symbols.used_symbols
    counted = structures if sound else None
    provisional = bare if report.has_only_data_dependent_errors else None
    return CheckResult(
        None if counted is None else counted.space,
        counted,
        diagnostics,
        symbols,
        provisional=provisional,
        names=TextNameIndex(module, catalogue, draft.variables, tuple(draft.mentions)),
    )


def _columns_of(surroundings: CheckSettings) -> tuple[DataColumn, ...] | None:
    """Return the columns that pipelines may receive; None for a space that is not bound to data."""
    bindings, known = surroundings.bindings, surroundings.columns
    return (
        None if surroundings.keeps_meaningless_parts or not (bindings or known) else possible_columns(bindings, known)
    )


def _check_compiled(
    document: Mapping[str, Any] | DefinitionError, source: Source, surroundings: CheckSettings
) -> CheckResult:
    # Most files are texts: the reader of compiled documents is imported only if it is needed.
    from spacelang.analysis import compiled_documents

    bare = replace(source, text="")
    if isinstance(document, DefinitionError):
        return CheckResult(None, None, (compiled_documents.to_diagnostic(document, Span(bare, 0, 0)),))
    report = DiagnosticCollector()
    own = load_catalogue(DEFAULT_CATALOGUE) if surroundings.catalogue is None else surroundings.catalogue
    _check_catalogue(own, bare, report)
    structures, found, bound = compiled_documents.check_compiled_document(document, bare, surroundings)
    diagnostics = sort_without_duplicates([*report.found, *found])
    symbols = {name: number for name, number in bound.items() if number is not None}
    vast = tuple(name for name, number in bound.items() if number is None)
    return CheckResult(None if structures is None else structures.space, structures, diagnostics, symbols, vast)


def _task(
    written: ast.Task, draft: SpaceDraft, catalogue: FileCatalogues, report: DiagnosticCollector
) -> "Task | None":
    # Most files have no task: its reader is imported only if it is needed.
    from spacelang.analysis import tasks

    task = tasks.read_task(written, catalogue, report, draft.root if draft.is_whole else None)
    if task is not None and draft.is_whole:
        tasks.check_task(draft.root, task, catalogue, report)
    return task


def _check_catalogue(catalogue: Catalogue, source: Source, report: DiagnosticCollector) -> None:
    installed = catalogue.differing_installed_version
    if installed is not None:
        at = Span(source, 0, 0)
        report.add(StaleCatalogue(at, catalogue=catalogue.distribution, known=catalogue.version, installed=installed))
