"""Declarations: find the catalogues of `use` lines, check groups and abstract operators, and report unused ones."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from spacelang.analysis.alternatives import is_choice_of_operators
from spacelang.analysis.diagnostic_collector import CheckSettings, DiagnosticCollector
from spacelang.analysis.imported_modules import Module, name_of_import
from spacelang.analysis.literal_values import TITLES
from spacelang.analysis.operators import OperatorReader
from spacelang.analysis.parameter_groups import ParameterGroupExpander
from spacelang.analysis.space_drafts import SpaceDraft
from spacelang.catalog.catalogue import Catalogue, FileCatalogues
from spacelang.catalog.packages import PackageNotInstalledError, UnreadablePackageError, open_package_catalogue
from spacelang.catalog.snapshot import BUNDLED, load_catalogue
from spacelang.diagnostics import parameters as problems
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.names import (
    AbstractOperatorShadowsCatalogue,
    UnusedAbstractOperator,
    UnusedImport,
    UnusedParameterGroup,
)
from spacelang.ir import space as ir
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast
from spacelang.text import Span


def check_reusable_declarations(
    module: Module, catalogue: FileCatalogues, groups: ParameterGroupExpander, report: DiagnosticCollector
) -> None:
    """Check the groups, abstract operators and imports of a file, and of the files that it imports."""
    alone = DiagnosticCollector(report.symbols)
    for each in all_modules(module):
        for name in (operator.name for operator in each.abstracts.values() if operator.name.text in catalogue):
            title = TITLES.get(catalogue.default_name, catalogue.default_name)
            report.add(AbstractOperatorShadowsCatalogue(name.span, name=name.text, catalogue=title))
        operators = OperatorReader(each, catalogue, SpaceDraft(ir.SKIPPED_STEP), alone)
        for group in each.groups.values():
            operators.check_group_members(groups.group_members(group, each))
        for operator in each.abstracts.values():
            operators.check_group_members(groups.declared_members(operator, each))
    # Diagnostics that were already reported where the group is used are left out.
    known = {(problem.code, problem.primary) for problem in report.found}
    report.found.extend(problem for problem in alone.found if (problem.code, problem.primary) not in known)
    _check_unused(module, catalogue, report)


def mentioned_names(module: Module) -> Iterator[str]:
    """Yield all dotted names in a file and in the files that it imports."""
    for each in all_modules(module):
        for part in _nodes(each.file.items):
            if isinstance(part, ast.DottedName):
                yield part.text


def all_modules(first: Module) -> list[Module]:
    """Return a module and all modules that it imports, directly or indirectly."""
    found = {id(first): first}
    left = [first]
    while left:
        for module in left.pop().imports.values():
            if id(module) not in found:
                found[id(module)] = module
                left.append(module)
    return [*found.values()]


def _check_unused(module: Module, catalogue: FileCatalogues, report: DiagnosticCollector) -> None:
    """Warn about unused declarations and imports of the first file, unless a part that was not parsed may use them."""
    if module.has_unreadable_items or not (module.groups or module.abstracts or module.imports):
        return
    included, named = _mentioned_words(module)
    for group in module.groups.values():
        if group.name.text not in included:
            report.add(UnusedParameterGroup(group.name.span, name=group.name.text))
    for operator in module.abstracts.values():
        # An operator that cannot be declared is reported already.
        if operator.name.text not in named and operator.name.text not in catalogue:
            operators = module.abstracts.values()
            words = {
                part.text
                for part in _nodes((*map(_plain_hyperparameters, operators),))
                if isinstance(part, ast.DottedName)
            }
            word = operator.name.text if operator.name.text in words else None
            report.add(UnusedAbstractOperator(operator.name.span, name=operator.name.text, word=word))
    for item in module.file.items:
        name, span = name_of_import(item) if isinstance(item, ast.Import) else ("", item.span)
        # Nothing can be used from a file that could not be read.
        is_sound = name in module.imports and not module.imports[name].has_unreadable_items
        if is_sound and name not in included | named:
            report.add(UnusedImport(span, name=name))


def _mentioned_words(module: Module) -> tuple[set[str], set[str]]:
    """Return the first words of all names after `include`, and of all other names."""
    included: set[str] = set()
    named: set[str] = set()
    for part in _nodes(module.file.items):
        if isinstance(part, ast.ParameterGroupInclusion):
            included.add(part.name.words[0].text)
        elif isinstance(part, ast.DottedName):
            named.add(part.words[0].text)
    return included, named


def _nodes(items: object) -> Iterator[object]:
    left = [items]
    while left:
        part = left.pop()
        if isinstance(part, tuple):
            left.extend(part)
        elif isinstance(part, ast.ParameterGroupInclusion):
            yield part
        elif isinstance(part, ast.AbstractOperator):
            left.extend(_named_in(part))
        elif not isinstance(part, Span | ast.Word) and hasattr(part, "__slots__"):
            yield part
            left.extend(getattr(part, name) for name in part.__slots__)


def _named_in(operator: ast.AbstractOperator) -> Iterator[object]:
    """Yield the parts of the body of an abstract operator that may contain names: no sets of plain values."""
    plain = {each.name.span for each in _plain_hyperparameters(operator)}
    for member in operator.body.members if operator.body is not None else ():
        if isinstance(member, ast.Parameter) and member.name.span in plain:
            yield from (member.condition, member.annotations)
        else:
            yield member


def _plain_hyperparameters(operator: ast.AbstractOperator) -> tuple[ast.Parameter, ...]:
    members = [each for each in operator.body.members if isinstance(each, ast.Parameter)] if operator.body else []
    return tuple(each for each in members if not is_choice_of_operators(each.domain, lambda _: False))


SYNONYMS: Final = {"imbalanced": "imblearn", "imbalanced_learn": "imblearn", "lgbm": "lightgbm", "xgb": "xgboost"}


def read_catalogues(
    uses: Sequence[ast.CatalogueUse], surroundings: CheckSettings, report: DiagnosticCollector
) -> FileCatalogues:
    """Return the catalogues that the `use` lines of a file and its imports make available. Report problems.

    Every refusal is an error. So the bundled catalogue of a refused package may still serve to check the rest of the
    text.

    No package is imported that the caller has not allowed. An allowed package is imported only if no bundled catalogue
    describes the installed version. A package that is not installed is looked for in the folder of the first file.
    """
    own = load_catalogue(ir.DEFAULT_CATALOGUE) if surroundings.catalogue is None else surroundings.catalogue
    used: dict[str, Catalogue] = {}
    refused: set[str] = set()
    for name in _distinct_names(uses, report):
        found = _open_catalogue(name, surroundings.allowed, report)
        if isinstance(found, Catalogue):
            used[name.text] = found
        else:
            refused.update(found)
    refused -= used.keys()
    known = {name: load_catalogue(name) for name in sorted(refused) if name in BUNDLED}
    return FileCatalogues(own, used | known, frozenset(refused))


def check_unused_catalogues(
    uses: Sequence[ast.CatalogueUse], names: Iterable[str], catalogues: FileCatalogues, report: DiagnosticCollector
) -> None:
    """Report each accepted `use` of a package without an operator among the `names` of the text."""
    if not uses:
        return
    meanings = {meaning for name in names for meaning in (name, *catalogues.full_names(name))}
    found = {meaning.partition(".")[0] for meaning in meanings if "." in meaning}
    for use in {use.name.text: use for use in reversed(uses)}.values():
        name = use.name.text
        if name in catalogues.used and name not in found | catalogues.refused:
            report.add(
                problems.UnusedCatalogue(
                    use.name.span, name=name, reason="the space uses none of the package's operators"
                )
            )


def _distinct_names(uses: Sequence[ast.CatalogueUse], report: DiagnosticCollector) -> list[ast.DottedName]:
    """Return each name once, and report redundant `use` lines. Two files may use the same package."""
    first: dict[str, Span] = {}
    distinct: list[ast.DottedName] = []
    for use in uses:
        name, span = use.name.text, use.name.span
        earlier = first.setdefault(name, span)
        if name == ir.DEFAULT_CATALOGUE:
            report.add(problems.UnusedCatalogue(span, name=name, reason="the package is always available"))
        elif earlier is span:
            distinct.append(use.name)
        elif earlier.source.name == span.source.name:
            related = (RelatedPlace(earlier, "the first one"),)
            report.add(
                problems.UnusedCatalogue(span, name=name, reason="the package is already in use", related=related)
            )
    return distinct


def _open_catalogue(
    written: ast.DottedName, allowed: frozenset[str], report: DiagnosticCollector
) -> Catalogue | tuple[str, ...]:
    """Return the catalogue of a package.

    If it is not allowed, not installed or unreadable, report that, and return the names of the packages that may have
    been meant.
    """
    name = written.text
    if name not in allowed:
        return _refuse(written, allowed, report)
    try:
        origin = written.span.source.origin
        return open_package_catalogue(name, None if origin is None else origin.root)
    except PackageNotInstalledError as error:
        report.add(problems.CatalogueNotInstalled(written.span, name=name, remedy=error.remedy))
    except UnreadablePackageError as error:
        report.add(problems.UnreadableCatalogue(written.span, name=name, reason=error.reason))
    return (name,)


def _refuse(written: ast.DottedName, allowed: frozenset[str], report: DiagnosticCollector) -> tuple[str, ...]:
    """Report that a package is refused or the name is no package. Return the packages that may have been meant."""
    name, first = written.text, written.words[0].text
    known = {*BUNDLED, *allowed} - {ir.DEFAULT_CATALOGUE}
    if name != first:
        near = first if first in known else nearest_name(first, known)
        report.add(problems.UnknownCatalogue(written.span, name=name, reason="a module inside a package", near=near))
        return (first, near or first)
    near = None if name in BUNDLED else SYNONYMS.get(name.casefold()) or nearest_name(name, known)
    if near is None:
        report.add(problems.CatalogueNotAllowed(written.span, name=name))
        return (name,)
    report.add(problems.UnknownCatalogue(written.span, name=name, reason="unknown package", near=near))
    return (name, near)
