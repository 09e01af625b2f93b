"""Reading of compiled spaces: as they may be untrusted or outdated, the catalogues check them like a text."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final

from spacelang.analysis import computed_checks, declarations, operator_lists, parameter_checks, step_roles, tasks
from spacelang.analysis.diagnostic_collector import MAX_NUMBER, CheckSettings, DiagnosticCollector
from spacelang.analysis.domains import value_in_both_domains
from spacelang.analysis.goals import ScorerReader
from spacelang.analysis.literal_values import OperatorFinder
from spacelang.analysis.parameter_checks import ParameterChecker
from spacelang.catalog.catalogue import CatalogueEntry, FileCatalogues
from spacelang.diagnostics import reading as problems
from spacelang.diagnostics.diagnostic import Diagnostic, sort_without_duplicates
from spacelang.diagnostics.parameters import ParameterRangeNotAccepted
from spacelang.ir.data_binding import DATA_SIZE_NAMES, minimum_data_size
from spacelang.ir.domain import BOOLEANS, Categorical, Grid, NotFound, Real, SimpleDomain, describe, literal, parts
from spacelang.ir.membership import is_violated
from spacelang.ir.space import (
    ABSTRACT_CATALOGUE,
    DEFAULT_CATALOGUE,
    CatalogueObject,
    Choice,
    Hyperparameter,
    Operator,
    Space,
    TupleParameter,
    operators,
)
from spacelang.ir.task import ScorerGoal
from spacelang.ir.tuple_parameters import describe_tuple
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment, default_structure
from spacelang.serialization.definition import VERSION, space_from_json
from spacelang.serialization.json_documents import DefinitionError, expect_integer
from spacelang.solver.constraint_network import TooManyConnectedVariablesError
from spacelang.solver.counting import Structures
from spacelang.syntax import ast
from spacelang.text import NO_SPAN, Source, Span

MAX_PAIRS: Final = 1_000_000
"""The maximum number of pairs of union parts that are compared. Real spaces have less than a thousandth of it."""


def check_compiled_document(
    document: Mapping[str, Any], source: Source, surroundings: CheckSettings
) -> tuple[Structures | None, tuple[Diagnostic, ...], dict[str, int | None]]:
    """Return the structures of the space in a document (None if there is an error), all diagnostics, and its bindings.

    The text of `source` is empty. Bindings map the mentioned symbols of the data to numbers or None. Nothing is raised.
    """
    report = DiagnosticCollector()
    start = Span(source, 0, 0)
    structures, bound = None, dict[str, int | None]()
    try:
        bound = _read_bindings(document, start, surroundings, report)
        if _has_known_version(document, start, report):
            structures = _structures(space_from_json(document["definition"]), start, surroundings, report)
    except DefinitionError as error:
        for each in (error, *error.others):
            report.add(to_diagnostic(each, start))
    free = [symbol for symbol, number in bound.items() if number is None]
    if free and not report.has_errors:
        report.add(
            problems.CompiledWithoutDataSize(start, symbols=" and ".join(f"`{each}`" for each in free), symbol=free[0])
        )
    return (
        None if report.has_errors else structures,
        sort_without_duplicates([*_with_positions(report.found, start)]),
        bound,
    )


def to_diagnostic(error: DefinitionError, start: Span) -> problems.InvalidCompiledDocument:
    """Return the diagnostic for a mistake in a compiled document."""
    return problems.InvalidCompiledDocument(start, path=error.path, problem=error.problem, remedy=error.remedy)


def _with_positions(found: list[Diagnostic], start: Span) -> Iterator[Diagnostic]:
    """Yield diagnostics with positions that can be shown.

    Those in an original source file get a note that names the document.
    """
    for problem in found:
        if problem.primary.source is NO_SPAN.source:
            yield type(problem)(**{**problem.__dict__, "primary": start})
        elif problem.primary.source.name != start.source.name:
            note = f"found in the compiled space `{start.source.name}`"
            yield type(problem)(**{**problem.__dict__, "notes": (*problem.notes, note)})
        else:
            yield problem


# ---- the document around the definition


def _has_known_version(document: Mapping[str, Any], start: Span, report: DiagnosticCollector) -> bool:
    if "version" not in document:
        raise DefinitionError(
            "version", "is missing", f"write `version` {VERSION}, the format that this version of spacelang reads"
        )
    version = expect_integer(document["version"], "version", 1)
    if version != VERSION:
        report.add(problems.UnsupportedFormatVersion(start, version=version, known=VERSION))
    return version == VERSION


def _read_bindings(
    document: Mapping[str, Any], start: Span, surroundings: CheckSettings, report: DiagnosticCollector
) -> dict[str, int | None]:
    written = document.get("bound", {})
    if not isinstance(written, dict):
        raise DefinitionError("bound", "is not a JSON object")
    bound: dict[str, int | None] = {}
    for symbol, number in written.items():
        if symbol not in DATA_SIZE_NAMES:
            listed = ", ".join(f"`{each}`" for each in DATA_SIZE_NAMES)
            raise DefinitionError(
                "bound", f"has `{symbol}`, which is not a symbol for a size of the data", f"the symbols are {listed}"
            )
        least = minimum_data_size(symbol)
        bound[symbol] = None if number is None else expect_integer(number, f"bound.{symbol}", least)
        if number is not None and number > MAX_NUMBER:
            raise DefinitionError(f"bound.{symbol}", f"is above {MAX_NUMBER}")
    for symbol, wanted in surroundings.bindings.items():
        if symbol in bound and bound[symbol] != wanted:
            known = bound[symbol]
            binding = f"without a number for `{symbol}`" if known is None else f"for `{symbol}` = {known}"
            reason = f"the space was compiled {binding}"
            report.add(problems.CompiledForOtherDataSize(start, symbol=symbol, number=wanted, reason=reason))
    return bound


# ---- the space


def _structures(
    space: Space, start: Span, surroundings: CheckSettings, report: DiagnosticCollector
) -> Structures | None:
    catalogue = _catalogues(space, start, surroundings, report)
    if report.has_errors:
        return None
    _CatalogueChecker(catalogue, report).check(space)
    if report.has_errors:
        return None
    return _counted_structures(space, report)


def _catalogues(space: Space, start: Span, surroundings: CheckSettings, report: DiagnosticCollector) -> FileCatalogues:
    names = dict.fromkeys(operator.catalogue for operator in operators(space.root))
    own = (DEFAULT_CATALOGUE, ABSTRACT_CATALOGUE)
    used = [ast.CatalogueUse(_dotted(name, start), start) for name in names if name not in own]
    return declarations.read_catalogues(used, surroundings, report)


def _counted_structures(space: Space, report: DiagnosticCollector) -> Structures:
    """Return the structures of the space, after reporting lists of operators that may be empty.

    Raise `DefinitionError` if the constraints cannot be decided, leave no configuration, or exclude the default.
    """
    path = "definition.constraints"
    try:
        structures = Structures(space)
        count = structures.count
        operator_lists.check_possibly_empty_lists(space, report)
    except TooManyConnectedVariablesError:
        raise DefinitionError(path, "has constraints that relate too many decisions to be decided exactly") from None
    if not count:
        raise DefinitionError(path, "leaves no configuration")
    assignment = Assignment(space, default_structure(space), lambda node: node.default)
    for place, constraint in enumerate(space.constraints):
        if is_violated(constraint, assignment):
            raise DefinitionError(f"{path}[{place}]", "excludes the default configuration", "change the defaults")
    return structures


class _CatalogueChecker:
    def __init__(self, catalogue: FileCatalogues, report: DiagnosticCollector) -> None:
        self._catalogue = catalogue
        self._report = report
        self._finder = OperatorFinder(catalogue, report)
        self._computed: dict[str, tuple[ParameterChecker, Span]] = {}

    def check(self, space: Space) -> None:
        for operator in operators(space.root):
            self._operator(operator)
        computed_checks.check_computed_parameters(space, self._computed, self._report)
        _check_disjoint(space.hyperparameters)
        step_roles.check_step_roles(space.root, self._catalogue, self._report)
        if space.task is not None:
            tasks.check_task(space.root, space.task, self._catalogue, self._report)
            scorers = ScorerReader(self._catalogue, space.task.kind, self._report)
            goals = [(goal.scorer, goal.span) for goal in space.task.goals if isinstance(goal, ScorerGoal)]
            for scorer, span in (*goals, *((each.scorer, each.span) for each in space.task.bounds if each.scorer)):
                scorers.read(_dotted(scorer, span))

    def _operator(self, operator: Operator) -> None:
        if operator.catalogue == ABSTRACT_CATALOGUE:
            return
        entry = self._entry(operator)
        if entry is None:
            full = operator.name if operator.catalogue == DEFAULT_CATALOGUE else f"{operator.catalogue}.{operator.name}"
            if self._finder.find(_dotted(full, operator.span)) is not None:
                raise DefinitionError("definition", f"names the wrong library for the operator `{operator.name}`")
            return
        called = _dotted(operator.name, operator.span)
        parameter_checks.check_operator_deprecation(called, entry, self._report)
        spans = {name: getattr(value, "span", operator.span) for name, value in operator.fixed}
        given = {name: ast.Word(name, span) for name, span in spans.items()}
        children = [child for child in operator.children if isinstance(child, Choice) or not child.is_var]
        others = (*children, *operator.computed, *operator.tuples)
        given |= {child.name: ast.Word(child.name, child.span) for child in others}
        judges = {
            name: ParameterChecker(self._report, entry, parameter_checks.find_parameter(word, entry, self._report))
            for name, word in given.items()
        }
        for name, value in operator.fixed:
            self._fixed(value, given[name].span, entry, judges[name])
        for computed in operator.computed:
            self._computed[computed.address] = judges[computed.name], computed.span
        for child in children:
            if isinstance(child, Hyperparameter):
                self._hyperparameter(child, entry, judges[child.name])
            else:
                self._decision(child, entry, judges[child.name])
        for parameter in operator.tuples:
            self._tuple(parameter, operator, judges[parameter.name])
        parameter_checks.check_tuple_and_elements(entry, given, self._report)
        parameter_checks.check_required_parameters_given(called, entry, given, self._catalogue, self._report)

    def _entry(self, operator: Operator) -> CatalogueEntry | None:
        return self._catalogue.entry_in_catalogue(operator.catalogue, operator.name)

    def _fixed(
        self, value: Value | CatalogueObject | Operator, span: Span, entry: CatalogueEntry, checker: ParameterChecker
    ) -> None:
        match value:
            case Operator():
                checker.check_operator(self._entry(value), span)
            case CatalogueObject(name):
                _check_named((name,), entry, checker)
            case _:
                checker.check_value(value, span)

    def _decision(self, choice: Choice, entry: CatalogueEntry, checker: ParameterChecker) -> None:
        checker.check_branches(choice.branches, self._entry)
        for branch in choice.branches:
            if isinstance(branch.node, Hyperparameter):
                self._hyperparameter(branch.node, entry, checker)

    def _hyperparameter(self, node: Hyperparameter, entry: CatalogueEntry, checker: ParameterChecker) -> None:
        _check_named(node.named, entry, checker)
        for part in parts(node.domain):
            self._domain(part, node.span, checker)

    def _domain(self, part: SimpleDomain, span: Span, checker: ParameterChecker) -> None:
        match part:
            case Categorical():
                for value in (True,) if part == BOOLEANS else part.values:
                    checker.check_value(value, span)
            case Grid() | Real():
                self._range(part, span, checker)

    def _tuple(self, parameter: TupleParameter, operator: Operator, checker: ParameterChecker) -> None:
        nodes = {child.address: child for child in operator.children if isinstance(child, Hyperparameter)}
        found = describe_tuple(parameter, nodes)
        if found.lengths is not None:
            checker.check_tuple(*found.lengths, parameter.span)
        for part in found.others:
            self._domain(part, parameter.span, checker)
        for element in dict.fromkeys(found.elements):
            self._domain(element, parameter.span, checker.element_checker)

    def _range(self, part: Grid | Real, span: Span, checker: ParameterChecker) -> None:
        refusal = checker.range_rejection(part)
        if refusal is not None:
            operator, parameter, expected = refusal[0].name, refusal[1].name, refusal[2]
            said = describe(part)
            self._report.add(
                ParameterRangeNotAccepted(span, operator=operator, parameter=parameter, domain=said, expected=expected)
            )


def _check_named(names: tuple[str, ...], entry: CatalogueEntry, checker: ParameterChecker) -> None:
    for name in names:
        if checker.parameter is not None and name not in checker.parameter.named:
            problem = f"names the object `{name}`, which is no value of `{checker.parameter.name}` of `{entry.name}`"
            raise DefinitionError("definition", problem)


def _check_disjoint(hyperparameters: Iterable[Hyperparameter]) -> None:
    """Raise `DefinitionError` if two parts of a union have a value in common."""
    left = MAX_PAIRS
    for node in hyperparameters:
        found = parts(node.domain)
        left -= len(found) * (len(found) - 1) // 2
        if left < 0:
            problem = f"has unions with too many parts, such as the domain of `{node.address}`"
            raise DefinitionError("definition", problem)
        for one, other in combinations(found, 2):
            shared = value_in_both_domains(one, other)
            if not isinstance(shared, NotFound):
                problem = f"has the value `{literal(shared)}` in two parts of the domain of `{node.address}`"
                raise DefinitionError("definition", problem)


def _dotted(name: str, span: Span) -> ast.DottedName:
    return ast.DottedName(tuple(ast.Word(word, span) for word in name.split(".")), span)
