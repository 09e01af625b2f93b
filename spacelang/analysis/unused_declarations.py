"""Declarations for reuse: check groups, abstract operators and imports by themselves, and warn if they are unused."""

from collections.abc import Iterator

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.drafts import Draft
from spacelang.analysis.groups import GroupReader
from spacelang.analysis.modules import Module, name_of_import
from spacelang.analysis.operator_domains import is_decision
from spacelang.analysis.operators import OperatorReader
from spacelang.analysis.values import TITLES
from spacelang.catalog.catalogues import Catalogues
from spacelang.diagnostics.names import ShadowingOperator, UnusedAbstract, UnusedGroup, UnusedImport
from spacelang.ir import space as ir
from spacelang.syntax import ast
from spacelang.text import Span


def check_reusable_declarations(
    module: Module, catalogue: Catalogues, groups: GroupReader, report: DiagnosticCollector
) -> None:
    """Check the groups, abstract operators and imports of a file, and those of the files that it imports."""
    alone = DiagnosticCollector(report.symbols)
    for each in all_modules(module):
        _check_abstracts(each, catalogue, report)
        operators = OperatorReader(each, catalogue, Draft(ir.SKIPPED_STEP), alone)
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


def _check_abstracts(module: Module, catalogue: Catalogues, report: DiagnosticCollector) -> None:
    for operator in module.abstracts.values():
        name = operator.name
        if name.text in catalogue:
            title = TITLES.get(catalogue.name, catalogue.name)
            report.add(ShadowingOperator(primary=name.span, name=name.text, catalogue=title))


def _check_unused(module: Module, catalogue: Catalogues, report: DiagnosticCollector) -> None:
    """Warn about unused declarations and imports of the first file. Imported files may declare things for others.

    There is no warning if a part of the text could not be parsed, because that part may use them.
    """
    if module.is_torn or not (module.groups or module.abstracts or module.imports):
        return
    included, named = _mentioned_words(module)
    for group in module.groups.values():
        if group.name.text not in included:
            report.add(UnusedGroup(primary=group.name.span, name=group.name.text))
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
            report.add(UnusedAbstract(primary=operator.name.span, name=operator.name.text, word=word))
    for item in module.file.items:
        name, span = name_of_import(item) if isinstance(item, ast.Import) else ("", item.span)
        # Nothing can be used from a file that could not be read.
        is_sound = name in module.imports and not module.imports[name].is_torn
        if is_sound and name not in included | named:
            report.add(UnusedImport(primary=span, name=name))


def _mentioned_words(module: Module) -> tuple[set[str], set[str]]:
    """Return the first words of all names after `include`, and of all other names."""
    included: set[str] = set()
    named: set[str] = set()
    for part in _nodes(module.file.items):
        if isinstance(part, ast.Include):
            included.add(part.name.words[0].text)
        elif isinstance(part, ast.DottedName):
            named.add(part.words[0].text)
    return included, named


def _nodes(items: object) -> Iterator[object]:
    """Yield all nodes of a syntax tree. The name in an `include` is not a node of its own."""
    left = [items]
    while left:
        part = left.pop()
        if isinstance(part, tuple):
            left.extend(part)
        elif isinstance(part, ast.Include):
            yield part
        elif isinstance(part, ast.AbstractOperator):
            left.extend(_named_in(part))
        elif not isinstance(part, Span | ast.Word) and hasattr(part, "__slots__"):
            yield part
            left.extend(getattr(part, name) for name in part.__slots__)


def _named_in(operator: ast.AbstractOperator) -> Iterator[object]:
    """Yield the parts of the body of an abstract operator that may contain names.

    The words in sets of plain values are strings and no names, so these sets are left out.
    """
    plain = {each.name.span for each in _plain_hyperparameters(operator)}
    for member in operator.body.members if operator.body is not None else ():
        if isinstance(member, ast.Parameter) and member.name.span in plain:
            yield from (member.condition, member.annotations)
        else:
            yield member


def _plain_hyperparameters(operator: ast.AbstractOperator) -> tuple[ast.Parameter, ...]:
    """Return the hyperparameters of an abstract operator whose domains consist of plain values."""
    members = [each for each in operator.body.members if isinstance(each, ast.Parameter)] if operator.body else []
    return tuple(each for each in members if not is_decision(each.domain, lambda _: False))
