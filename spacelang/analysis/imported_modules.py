"""Modules: the first file and everything that it imports, each read once; what each file declares, by name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from spacelang.analysis.alternatives import check_name
from spacelang.analysis.diagnostic_collector import DiagnosticCollector, FileReader
from spacelang.diagnostics.diagnostic import Diagnostic, RelatedPlace
from spacelang.diagnostics.names import DuplicateName
from spacelang.diagnostics.reading import (
    ImportCycle,
    ImportWithoutValidName,
    MissingSeparator,
    RepeatedTopLevelItem,
    SpaceLineNotFirst,
    TextTooLarge,
)
from spacelang.ir.domain import KEYWORDS
from spacelang.syntax import ast
from spacelang.syntax.parser import ParseResult
from spacelang.syntax.sources import MAX_BYTES, ImportLocation, find_import
from spacelang.text import Source, Span

Declared = TypeVar(
    "Declared", ast.Stage, ast.ParameterGroup, ast.AbstractOperator, ast.NamedMember, ast.Parameter | ast.Let
)


@dataclass(frozen=True, eq=False)
class Module:
    """One file with its imports.

    Parts of the file that could not be parsed may declare the names in `damaged`, or any name if
    `has_unreadable_items`. `words_of_unreadable_lines` are the words of lines that could not be parsed, which may be
    names of members of a body.
    """

    source: Source
    file: ast.File
    header: ast.SpaceName | None = None
    pipeline: ast.Pipeline | None = None
    task: ast.Task | None = None
    uses: tuple[ast.CatalogueUse, ...] = ()
    rules: tuple[ast.ConstraintStatement, ...] = ()
    stages: Mapping[str, ast.Stage] = field(default_factory=dict)
    groups: Mapping[str, ast.ParameterGroup] = field(default_factory=dict)
    abstracts: Mapping[str, ast.AbstractOperator] = field(default_factory=dict)
    values: Mapping[str, ast.Parameter | ast.Let] = field(default_factory=dict)
    """The `var` and `let` lines of the file."""
    imports: Mapping[str, "Module"] = field(default_factory=dict)
    damaged: frozenset[str] = frozenset()
    words_of_unreadable_lines: frozenset[str] = frozenset()
    has_unreadable_items: bool = False

    @property
    def name(self) -> str:
        """The name in the header of the file, or the file name without its ending if there is no header."""
        if self.header is not None:
            return self.header.name.text
        return self.source.name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".space") or "space"

    @property
    def title(self) -> str:
        """The title in the header, or an empty string."""
        return self.header.title.value if self.header is not None and self.header.title is not None else ""

    def is_possibly_declared(self, name: str) -> bool:
        """Return True if a part of the file that could not be parsed may declare this name."""
        return self.has_unreadable_items or name in self.damaged

    def resolve_module_prefix(self, name: ast.DottedName) -> tuple["Module", str]:
        """Return the module in which a dotted name is looked up, and its rest: `trees.knn` is `knn` in `trees`."""
        home, words = self, [word.text for word in name.words]
        while len(words) > 1 and words[0] in home.imports:
            home = home.imports[words.pop(0)]
        return home, ".".join(words)


def name_of_import(item: ast.Import) -> tuple[str, Span]:
    """Return the name (after `as`, or else of the file) of an import in the importing file, and its span."""
    if item.alias is not None:
        return item.alias.text, item.alias.span
    return item.path.value.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".space"), item.path.span


def read_module(
    source: Source,
    parsed: ParseResult,
    report: DiagnosticCollector,
    *,
    torn: bool,
    imports: Mapping[str, Module] = MappingProxyType({}),
) -> Module:
    """Return the module of a parsed file, after reporting duplicate declarations and misplaced items."""
    file = parsed.file
    stages = index_by_name("stage", [item for item in file.items if isinstance(item, ast.Stage)], report)
    repeated = len(stages) < sum(isinstance(item, ast.Stage) for item in file.items)
    groups = index_by_name("group of parameters", [i for i in file.items if isinstance(i, ast.ParameterGroup)], report)
    abstracts = index_by_name("operator", [i for i in file.items if isinstance(i, ast.AbstractOperator)], report)
    values = index_by_name("name", [i for i in file.items if isinstance(i, ast.Parameter | ast.Let)], report)
    _check_names(file, stages, abstracts, groups, values, report)
    return Module(
        source,
        file,
        header=_header(file, report),
        pipeline=_single("pipeline", [item for item in file.items if isinstance(item, ast.Pipeline)], report),
        task=_single("task", [item for item in file.items if isinstance(item, ast.Task)], report),
        uses=tuple(item for item in file.items if isinstance(item, ast.CatalogueUse)),
        rules=tuple(item for item in file.items if isinstance(item, ast.ConstraintStatement)),
        stages=stages,
        groups=groups,
        abstracts=abstracts,
        values=values,
        imports=imports,
        damaged=parsed.damaged,
        words_of_unreadable_lines=parsed.words_of_unreadable_lines,
        has_unreadable_items=torn or repeated,
    )


def _header(file: ast.File, report: DiagnosticCollector) -> ast.SpaceName | None:
    found: ast.SpaceName | None = None
    for place, item in enumerate(file.items):
        if not isinstance(item, ast.SpaceName):
            continue
        if found is not None:
            related = (RelatedPlace(found.span, "the first one"),)
            report.add(RepeatedTopLevelItem(item.span, item="space", related=related))
        elif place:
            report.add(SpaceLineNotFirst(item.span))
        found = found or item
    return found


Single = TypeVar("Single", ast.Pipeline, ast.Task)


def _single(word: str, items: list[Single], report: DiagnosticCollector) -> Single | None:
    for item in items[1:]:
        related = (RelatedPlace(keyword_span(items[0]), "the first one"),)
        report.add(RepeatedTopLevelItem(keyword_span(item), item=word, related=related))
    return items[0] if items else None


def index_by_name(kind: str, items: list[Declared], report: DiagnosticCollector) -> dict[str, Declared]:
    """Return the declarations by their names. A second declaration of a name is reported, and the first one stays."""
    found: dict[str, Declared] = {}
    for item in items:
        first = found.setdefault(item.name.text, item)
        if first is not item:
            related = (RelatedPlace(first.name.span, "first declared here"),)
            report.add(DuplicateName(item.name.span, kind=kind, name=item.name.text, related=related))
    return found


def _check_names(
    file: ast.File,
    stages: Mapping[str, ast.Stage],
    abstracts: Mapping[str, ast.AbstractOperator],
    groups: Mapping[str, ast.ParameterGroup],
    values: Mapping[str, ast.Parameter | ast.Let],
    report: DiagnosticCollector,
) -> None:
    """Report names that are reserved words, and names that stages, operators, values and imports share."""
    aliases = {item.alias.text: item.alias for item in file.items if isinstance(item, ast.Import) and item.alias}
    operators = [item.name for item in abstracts.values()]
    own = [item.name for item in values.values()]
    for name in (*operators, *(item.name for item in groups.values()), *own, *aliases.values()):
        check_name(name, report)
    kinds = (("stage", [item.name for item in stages.values()]), ("operator", operators), ("name", own))
    known = {name.text: name for name in aliases.values()}
    for kind, names in kinds:
        for name in names:
            first, second = sorted((known.setdefault(name.text, name), name), key=lambda word: word.span)
            if first is not second:
                related = (RelatedPlace(first.span, "first declared here"),)
                report.add(DuplicateName(second.span, kind=kind, name=name.text, related=related))


def keyword_span(item: ast.Item) -> Span:
    """Return the span of the keyword of an item, because underlining a long item as a whole would not help."""
    text = item.span.text
    return Span(item.span.source, item.span.start, item.span.start + len(text.split(maxsplit=1)[0]))


MAX_CHAIN: Final = 16  # The maximum length of a chain of imports, without the first file
MAX_FILES: Final = 256
"""The maximum number of files that a space imports. Their total size is limited like that of one file."""
FROM_DISK: Final = FileReader()
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_modules(source: Source, report: DiagnosticCollector, files: FileReader = FROM_DISK) -> Module:
    """Return the module of a text with the modules that it imports; an unreadable file is reported at its `import`."""
    return _ModuleReader(report, files).module(source, ())


class _ModuleReader:
    """A reader of files and their imports. Each file is read once, however often it is imported."""

    def __init__(self, report: DiagnosticCollector, files: FileReader) -> None:
        self._report = report
        self._files = files
        self._modules: dict[Path, Module] = {}
        self._characters = 0

    def module(self, source: Source, chain: tuple[Source, ...]) -> Module:
        """Return the module of a file. `chain` are the files whose imports lead to it, the first one first."""
        parsed = self._files.parse(source)
        self._report.found.extend(parsed.diagnostics)
        torn = any(not isinstance(diagnostic, MissingSeparator) for diagnostic in parsed.diagnostics)
        imports: dict[str, Module] = {}
        spans: dict[str, Span] = {}
        for item in parsed.file.items:
            name = self._name(item, spans) if isinstance(item, ast.Import) else None
            if name is not None:
                assert isinstance(item, ast.Import)
                found = self._load_module(item, (*chain, source))
                if isinstance(found, Diagnostic):
                    # If a file cannot be read, names that it might declare are not reported as unknown.
                    self._report.add(found)
                    found, torn = Module(source, ast.File((), item.span), has_unreadable_items=True), True
                imports[name] = found
        return read_module(source, parsed, self._report, torn=torn, imports=imports)

    def _name(self, item: ast.Import, known: dict[str, Span]) -> str | None:
        """Return the name of an imported file, or None after reporting that it is no identifier or already used."""
        name, span = name_of_import(item)
        if not _NAME.fullmatch(name) or name in KEYWORDS:
            self._report.add(ImportWithoutValidName(span, path=item.path.value, stem=name))
            return None
        first = known.setdefault(name, span)
        if first is not span:
            related = (RelatedPlace(first, "the first one"),)
            remedy = "choose another name after `as`"
            self._report.add(DuplicateName(span, kind="import", name=name, remedy=remedy, related=related))
            return None
        return name

    def _load_module(self, item: ast.Import, chain: tuple[Source, ...]) -> Module | Diagnostic:
        at, path = item.path.span, item.path.value
        place = find_import(path, chain[-1], at)
        if isinstance(place, Diagnostic):
            return place
        known = self._modules.get(place.origin.path)
        if known is not None:
            return known
        cycle = _import_cycle(place, chain)
        if cycle is not None:
            return ImportCycle(at, path=path, cycle=cycle)
        if len(chain) > MAX_CHAIN:
            return TextTooLarge(at, quantity="the chain of files that import each other", limit=f"{MAX_CHAIN} files")
        if len(self._modules) >= MAX_FILES:
            return TextTooLarge(at, quantity="the number of imported files", limit=str(MAX_FILES))
        source = self._files.read_import(place, path, at)
        if isinstance(source, Diagnostic):
            return source
        self._characters += len(source.text)
        if self._characters > MAX_BYTES:
            return TextTooLarge(at, quantity="the total size of all imported files", limit="1 MiB")
        found = self._modules[place.origin.path] = self.module(source, chain)
        return found


def _import_cycle(place: ImportLocation, chain: tuple[Source, ...]) -> str | None:
    paths = [None if source.origin is None else source.origin.path for source in chain]
    if place.origin.path not in paths:
        return None
    names = [source.name for source in chain[paths.index(place.origin.path) :]]
    return " -> ".join((*names, names[0]))
