"""`use` declarations: the catalogues that a text can use, among those that the caller allows."""

from collections.abc import Iterable, Sequence
from typing import Final

from spacelang.analysis.context import CheckContext
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.catalog.catalogue import Catalogue
from spacelang.catalog.catalogues import Catalogues
from spacelang.catalog.packages import DEFAULT_CATALOGUE, NotInstalledError, UnreadablePackageError, open_package
from spacelang.catalog.snapshot import BUNDLED, load
from spacelang.diagnostics.catalogues import (
    CatalogueNotAllowed,
    CatalogueNotInstalled,
    UnknownCatalogue,
    UnreadableCatalogue,
    UnusedCatalogue,
)
from spacelang.diagnostics.diagnostic import Related
from spacelang.suggest import nearest_name
from spacelang.syntax import ast
from spacelang.text import Span

SYNONYMS: Final = {"imbalanced": "imblearn", "imbalanced_learn": "imblearn", "lgbm": "lightgbm", "xgb": "xgboost"}
"""Synonyms of known packages."""


def read_catalogues(
    uses: Sequence[ast.CatalogueUse], surroundings: CheckContext, report: DiagnosticCollector
) -> Catalogues:
    """Return the catalogues that the `use` lines of a file and its imports make available. Report problems.

    Every refusal is an error. So the bundled catalogue of a refused package may still serve to check the rest of the
    text.

    No package is imported that the caller has not allowed. An allowed package is imported only if no bundled catalogue
    describes the installed version. A package that is not installed is looked for in the folder of the first file.
    """
    own = load(DEFAULT_CATALOGUE) if surroundings.catalogue is None else surroundings.catalogue
    used: dict[str, Catalogue] = {}
    refused: set[str] = set()
    for name in _distinct_names(uses, report):
        found = _open(name, surroundings.allowed, report)
        if isinstance(found, Catalogue):
            used[name.text] = found
        else:
            refused.update(found)
    refused -= used.keys()
    known = {name: load(name) for name in sorted(refused) if name in BUNDLED}
    return Catalogues(own, used | known, frozenset(refused))


def check_unused(
    uses: Sequence[ast.CatalogueUse], names: Iterable[str], catalogues: Catalogues, report: DiagnosticCollector
) -> None:
    """Report each `use` of a package without an operator among the `names` of the text.

    A `use` that was refused is not checked.
    """
    if not uses:
        return
    meanings = {meaning for name in names for meaning in (name, *catalogues.full_names(name))}
    found = {meaning.partition(".")[0] for meaning in meanings if "." in meaning}
    for use in {use.name.text: use for use in reversed(uses)}.values():
        name = use.name.text
        if name in catalogues.used and name not in found | catalogues.refused:
            report.add(UnusedCatalogue(primary=use.name.span, name=name, reason="none of its operators is used"))


def _distinct_names(uses: Sequence[ast.CatalogueUse], report: DiagnosticCollector) -> list[ast.DottedName]:
    """Return each name once, and report redundant `use` lines.

    Two files may use the same package.
    """
    first: dict[str, Span] = {}
    distinct: list[ast.DottedName] = []
    for use in uses:
        name, span = use.name.text, use.name.span
        earlier = first.setdefault(name, span)
        if name == DEFAULT_CATALOGUE:
            report.add(UnusedCatalogue(primary=span, name=name, reason="the package is always available"))
        elif earlier is span:
            distinct.append(use.name)
        elif earlier.source.name == span.source.name:
            related = (Related(earlier, "the first one"),)
            report.add(
                UnusedCatalogue(primary=span, name=name, reason="the package is already in use", related=related)
            )
    return distinct


def _open(written: ast.DottedName, allowed: frozenset[str], report: DiagnosticCollector) -> Catalogue | tuple[str, ...]:
    """Return the catalogue of a package, or the names of the refused packages that may have been meant.

    A refusal is reported.
    """
    name = written.text
    if name not in allowed:
        return _refuse(written, allowed, report)
    try:
        origin = written.span.source.origin
        return open_package(name, None if origin is None else origin.root)
    except NotInstalledError as error:
        report.add(CatalogueNotInstalled(primary=written.span, name=name, remedy=error.remedy))
    except UnreadablePackageError as error:
        report.add(UnreadableCatalogue(primary=written.span, name=name, reason=error.reason))
    return (name,)


def _refuse(written: ast.DottedName, allowed: frozenset[str], report: DiagnosticCollector) -> tuple[str, ...]:
    """Report that a package is not allowed, or that the name is not a package.

    Return the names of the packages that may have been meant.
    """
    name, first = written.text, written.words[0].text
    known = {*BUNDLED, *allowed} - {DEFAULT_CATALOGUE}
    if name != first:
        near = first if first in known else nearest_name(first, known)
        report.add(UnknownCatalogue(primary=written.span, name=name, reason="a part of a package", near=near))
        return (first, near or first)
    near = None if name in BUNDLED else SYNONYMS.get(name.casefold()) or nearest_name(name, known)
    if near is None:
        report.add(CatalogueNotAllowed(primary=written.span, name=name))
        return (name,)
    report.add(UnknownCatalogue(primary=written.span, name=name, reason="unknown package", near=near))
    return (name, near)
