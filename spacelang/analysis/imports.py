"""The files of a space: read the first file and everything it imports, each once, as modules."""

import re
from pathlib import Path
from typing import Final

from spacelang.analysis import modules
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.modules import Module
from spacelang.diagnostics.diagnostic import Diagnostic, Related
from spacelang.diagnostics.files import ImportCycle, NamelessImport, TooLarge
from spacelang.diagnostics.names import DuplicateName
from spacelang.diagnostics.syntax import MissingSeparator
from spacelang.ir.domain import KEYWORDS
from spacelang.syntax import ast
from spacelang.syntax.parser import parse
from spacelang.syntax.sources import MAX_BYTES, ImportLocation, find_import, read_import
from spacelang.text import Source, Span

MAX_CHAIN: Final = 16
"""The maximum length of a chain of imports, without the first file."""

MAX_FILES: Final = 256
"""The maximum number of files that a space imports. Their total size is limited like that of one file."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_modules(source: Source, report: DiagnosticCollector) -> Module:
    """Return the module of a text, with the modules of all files that it imports.

    Problems with an imported file are reported at its `import`.
    """
    return _FileReader(report).module(source, ())


class _FileReader:
    """A reader of files and their imports. Each file is read once, however often it is imported."""

    def __init__(self, report: DiagnosticCollector) -> None:
        self._report = report
        self._modules: dict[Path, Module] = {}
        self._characters = 0

    def module(self, source: Source, chain: tuple[Source, ...]) -> Module:
        """Return the module of a file.

        `chain` are the files whose imports lead to it, the first file of the space first.
        """
        parsed = parse(source)
        self._report.found.extend(parsed.diagnostics)
        torn = any(not isinstance(diagnostic, MissingSeparator) for diagnostic in parsed.diagnostics)
        imports: dict[str, Module] = {}
        lost = 0
        spans: dict[str, Span] = {}
        for item in parsed.file.items:
            name = self._name(item, spans) if isinstance(item, ast.Import) else None
            if name is not None:
                assert isinstance(item, ast.Import)
                found = self._imported_module(item, (*chain, source))
                lost += found is None
                # If a file cannot be read, names that it might declare are not reported as unknown.
                imports[name] = found or Module(source, ast.File((), item.span), is_torn=True)
        torn |= lost > 0
        return modules.read_module(source, parsed.file, parsed.damaged, self._report, torn=torn, imports=imports)

    def _name(self, item: ast.Import, known: dict[str, Span]) -> str | None:
        """Return the name of an imported file in the importing file.

        The result is None, which is reported, if the name is no valid identifier or is already used.
        """
        name, span = modules.name_of_import(item)
        if not _NAME.fullmatch(name) or name in KEYWORDS:
            self._report.add(NamelessImport(primary=span, path=item.path.value, stem=name))
            return None
        first = known.setdefault(name, span)
        if first is not span:
            related = (Related(first, "the first one"),)
            remedy = "choose another name after `as`"
            self._report.add(DuplicateName(primary=span, kind="import", name=name, remedy=remedy, related=related))
            return None
        return name

    def _imported_module(self, item: ast.Import, chain: tuple[Source, ...]) -> Module | None:
        """Return the module of an imported file, or None after reporting why it cannot be read."""
        found = self._load_module(item, chain)
        if isinstance(found, Module):
            return found
        self._report.add(found)
        return None

    def _load_module(self, item: ast.Import, chain: tuple[Source, ...]) -> Module | Diagnostic:
        at, path = item.path.span, item.path.value
        place = find_import(path, chain[-1], at)
        if isinstance(place, Diagnostic):
            return place
        known = self._modules.get(place.origin.path)
        if known is not None:
            return known
        circle = _import_cycle(place, chain)
        if circle is not None:
            return ImportCycle(primary=at, path=path, circle=circle)
        if len(chain) > MAX_CHAIN:
            return TooLarge(primary=at, what="the chain of imports", limit=f"{MAX_CHAIN} files")
        if len(self._modules) >= MAX_FILES:
            return TooLarge(primary=at, what="the number of imported files", limit=str(MAX_FILES))
        source = read_import(place, path, at)
        if isinstance(source, Diagnostic):
            return source
        self._characters += len(source.text)
        if self._characters > MAX_BYTES:
            return TooLarge(primary=at, what="the text of all imported files", limit="1 MiB")
        found = self._modules[place.origin.path] = self.module(source, chain)
        return found


def _import_cycle(place: ImportLocation, chain: tuple[Source, ...]) -> str | None:
    """Return the names of the files along the import cycle that this import closes, or None if it closes none."""
    paths = [None if source.origin is None else source.origin.path for source in chain]
    if place.origin.path not in paths:
        return None
    names = [source.name for source in chain[paths.index(place.origin.path) :]]
    return " -> ".join((*names, names[0]))
