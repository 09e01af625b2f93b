"""Check a foreign space: consistent names and values, no cycle of conditions, and a valid default configuration."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, assert_never

from spacelang.diagnostics.diagnostic import Diagnostic, RelatedPlace
from spacelang.diagnostics.other_tools import (
    ContradictoryImportedDeclaration,
    ImportNotExpressible,
    UndeclaredImportedHyperparameter,
)
from spacelang.importers import _foreign_space as foreign
from spacelang.ir.expr import COMPARISON_FUNCTIONS
from spacelang.ir.value import Value, identity_key, is_number
from spacelang.spelling_suggestions import nearest_name
from spacelang.text import Span

_MOST_SUGGESTIONS: Final = 50


@dataclass(frozen=True, slots=True)
class ConsistentSpace:
    """A foreign space without contradictions; comparisons of constants that are always active are already evaluated."""

    name: str
    parameters: dict[str, foreign.ForeignParameter]
    """The parameters in topological order: parents before the parameters whose conditions refer to them."""
    file_order: tuple[str, ...]
    conditions: dict[str, foreign.Condition]
    """The conditions by hyperparameter; a hyperparameter without an entry is always active."""
    spans: dict[str, Span]  # The spans of the conditions in the source
    clauses: tuple[foreign.ForbiddenClause, ...]


class _ConsistencyChecker:
    def __init__(self, declared: foreign.ForeignSpace) -> None:
        self.foreign = declared
        self.problems: list[Diagnostic] = []
        self.parameters: dict[str, foreign.ForeignParameter] = {}
        self._suggested = 0

    def check_declarations(self) -> None:
        """Register all parameters; report duplicate names and inconsistent declarations."""
        for parameter in self.foreign.parameters:
            if (first := self.parameters.get(parameter.name)) is not None:
                problem = f"`{parameter.name}` is declared twice"
                related = (RelatedPlace(first.span, "first declared here"),)
                self.problems.append(ContradictoryImportedDeclaration(parameter.span, problem=problem, related=related))
            else:
                self.parameters[parameter.name] = parameter
                self._check_declaration(parameter)

    def _check_declaration(self, parameter: foreign.ForeignParameter) -> None:
        name, domain = parameter.name, parameter.domain
        match domain:
            case foreign.ForeignRange(lower=lower, upper=upper):
                if lower > upper:
                    return self._contradiction(parameter.span, f"the range of `{name}` is empty")
                if domain.log and lower <= 0:
                    return self._contradiction(
                        parameter.span, f"the range of `{name}` is logarithmic but starts at {lower}"
                    )
            case foreign.ForeignValues(values=values):
                if len(set(map(identity_key, values))) < len(values):
                    return self._contradiction(parameter.span, f"`{name}` has a duplicate value")
                if (wrong := next((value for value in values if not _is_writable(value)), None)) is not None:
                    self.problems.append(ImportNotExpressible(parameter.span, construct=f"the value `{wrong}`"))
                    return None
            case _:
                assert_never(domain)
        if parameter.default not in domain:
            problem = f"the default `{parameter.default}` of `{name}` is outside of its domain"
            text = str(parameter.default)
            self._contradiction(_occurrence(parameter.span, text, parameter.span.text.rfind(text)), problem)
        return None

    def check_test(self, test: foreign.ValueTest) -> foreign.ValueTest:
        """Return a comparison with its values converted to the type of the domain; report values that do not fit."""
        domain = self.domain(test.parameter, test.span)
        if domain is None:
            return test
        if test.operator not in ("in", "!=") and _is_unordered(domain):
            self._contradiction(test.span, f"the values of `{test.parameter}` have no order")
            return test
        values = tuple(_convert_to_domain(value, domain) for value in test.values)
        ordering = isinstance(domain, foreign.ForeignRange) and test.operator not in ("in", "!=")
        for value in values:
            if value not in domain and not (ordering and is_number(value)):
                at = _occurrence(test.span, str(value), test.span.text.rfind(str(value)))
                self._contradiction(at, f"`{value}` is not a value of `{test.parameter}`")
                return test
        return replace(test, values=values)

    def check_clause(self, clause: foreign.ForbiddenClause) -> foreign.ForbiddenClause:
        """Return a forbidden clause with checked literals."""
        checked: list[foreign.ValueTest | foreign.ParameterComparison] = []
        for literal in clause.literals:
            match literal:
                case foreign.ValueTest():
                    checked.append(self.check_test(literal))
                case foreign.ParameterComparison(left=left, right=right):
                    sides = [self.domain(name, literal.span) for name in (left, right)]
                    if None not in sides and literal.operator != "==" and not all(map(_is_numeric, sides)):
                        self._contradiction(literal.span, f"the values of `{left}` and `{right}` have no common order")
                    checked.append(literal)
                case _:
                    assert_never(literal)
        return replace(clause, literals=tuple(checked))

    def domain(self, name: str, span: Span) -> foreign.ForeignRange | foreign.ForeignValues | None:
        """Return the domain of a parameter; report one that is not declared."""
        if name in self.parameters:
            return self.parameters[name].domain
        self._suggested += 1
        near = nearest_name(name, self.parameters) if self._suggested <= _MOST_SUGGESTIONS else None
        at = _occurrence(span, name, span.text.find(name))
        self.problems.append(UndeclaredImportedHyperparameter(at, name=name, near=near))
        return None

    def _contradiction(self, span: Span, problem: str) -> None:
        self.problems.append(ContradictoryImportedDeclaration(span, problem=problem))


def check_consistency(declared: foreign.ForeignSpace) -> tuple[ConsistentSpace | None, list[Diagnostic]]:
    """Return the consistent space and no problems, or None and all problems."""
    checker = _ConsistencyChecker(declared)
    checker.check_declarations()
    conditions: dict[str, foreign.Condition] = {}
    spans: dict[str, Span] = {}
    for conditional in declared.conditionals:
        checker.domain(conditional.child, conditional.span)
        conditions[conditional.child] = foreign.replace_value_tests(conditional.condition, checker.check_test)
        spans[conditional.child] = conditional.span
    clauses = tuple(map(checker.check_clause, declared.clauses))
    if checker.problems:
        return None, checker.problems
    parameters = checker.parameters
    parents = {
        n: {t.parameter for t in foreign.value_tests_in_condition(conditions.get(n, foreign.ALWAYS))}
        for n in parameters
    }
    try:
        order = list(_topological_order(parameters, parents))
    except CycleError as error:
        cycle = [name for name in error.args[1] if name in spans]
        problem = f"the condition of `{cycle[0]}` depends on itself"
        return None, [ContradictoryImportedDeclaration(spans[cycle[0]], problem=problem)]
    ordered = {name: parameters[name] for name in order}
    decided = _without_constants(ordered, conditions)
    sound = ConsistentSpace(declared.name, ordered, tuple(parameters), decided, spans, clauses)
    wrong = _errors_of_default(sound)
    return (None if wrong else sound), wrong


def _topological_order(parameters: dict[str, foreign.ForeignParameter], parents: dict[str, set[str]]) -> Iterator[str]:
    """Yield the names of parameters in topological order (parents first), otherwise in the order of the file."""
    places = {name: place for place, name in enumerate(parameters)}
    sorter = TopologicalSorter(parents)
    sorter.prepare()
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=places.__getitem__)
        yield from ready
        sorter.done(*ready)


def _without_constants(
    parameters: dict[str, foreign.ForeignParameter], conditions: dict[str, foreign.Condition]
) -> dict[str, foreign.Condition]:
    """Return the conditions with comparisons of constants that are always active replaced by their truth values."""
    settled = {
        name
        for name, parameter in parameters.items()
        if parameter.is_constant and name not in conditions and not name.endswith(foreign.CHOICE_SUFFIX)
    }

    def decided(test: foreign.ValueTest) -> foreign.Condition:
        if test.parameter not in settled:
            return test
        parameter = parameters[test.parameter]
        return foreign.ALWAYS if is_satisfied(test, parameter, parameter.default) else foreign.NEVER

    return {child: foreign.replace_value_tests(condition, decided) for child, condition in conditions.items()}


def is_satisfied(test: foreign.ValueTest, parameter: foreign.ForeignParameter, value: Value) -> bool:
    """Return True if a comparison holds for a value of its hyperparameter."""
    if test.operator in ("in", "!="):
        return any(identity_key(value) == identity_key(own) for own in test.values) == (test.operator == "in")
    left: Any = value
    right: Any = test.values[0]
    if isinstance(parameter.domain, foreign.ForeignValues) and parameter.domain.ordered:
        left, right = parameter.domain.index(left), parameter.domain.index(right)
    return COMPARISON_FUNCTIONS[test.operator](left, right)


def _errors_of_default(space: ConsistentSpace) -> list[Diagnostic]:
    """Return an error for every clause that forbids the default configuration."""
    values: dict[str, Value] = {}
    for name, parameter in space.parameters.items():
        if _is_true(space.conditions.get(name, foreign.ALWAYS), values, space.parameters):
            values[name] = parameter.default
    problem, reason = "the default configuration is forbidden", "by this clause"
    return [
        ContradictoryImportedDeclaration(clause.span, problem=problem, reason=reason)
        for clause in space.clauses
        if all(_is_literal_true(literal, values, space.parameters) for literal in clause.literals)
    ]


def _is_true(
    condition: foreign.Condition, values: dict[str, Value], parameters: dict[str, foreign.ForeignParameter]
) -> bool:
    match condition:
        case foreign.ValueTest(parameter=name, operator=sign):
            # As in ConfigSpace 1.2, `!=` holds if the hyperparameter is not active.
            return is_satisfied(condition, parameters[name], values[name]) if name in values else sign == "!="
        case foreign.AllOf(terms=terms):
            return all(_is_true(term, values, parameters) for term in terms)
        case foreign.AnyOf(terms=terms):
            return any(_is_true(term, values, parameters) for term in terms)
        case _:
            assert_never(condition)


def _is_literal_true(
    literal: foreign.ValueTest | foreign.ParameterComparison,
    values: dict[str, Value],
    parameters: dict[str, foreign.ForeignParameter],
) -> bool:
    if isinstance(literal, foreign.ValueTest):
        return literal.parameter in values and _is_true(literal, values, parameters)
    left: Any = values.get(literal.left)
    right: Any = values.get(literal.right)
    is_there = literal.left in values and literal.right in values
    if literal.operator == "==":
        return is_there and identity_key(left) == identity_key(right)
    return is_there and COMPARISON_FUNCTIONS[literal.operator](left, right)


def remove_value(space: ConsistentSpace, name: str, value: Value) -> ConsistentSpace:
    """Return the space without one value of a set; the value must not occur in any configuration.

    If the value was the default, the first remaining value becomes the default.
    """
    parameter = space.parameters[name]
    domain = parameter.domain
    assert isinstance(domain, foreign.ForeignValues)
    kept = [place for place, own in enumerate(domain.values) if identity_key(own) != identity_key(value)]
    smaller = foreign.ForeignValues(
        tuple(domain.values[place] for place in kept),
        tuple(domain.space_values[place] for place in kept),
        domain.ordered,
        None if domain.weights is None else tuple(domain.weights[place] for place in kept),
    )
    default = parameter.default if parameter.default in smaller else smaller.values[0]
    parameters = {**space.parameters, name: replace(parameter, domain=smaller, default=default)}
    conditions = {child: _condition_without_value(each, name, value) for child, each in space.conditions.items()}
    clauses = [less for clause in space.clauses if (less := _clause_without_value(clause, name, value)) is not None]
    return replace(space, parameters=parameters, conditions=conditions, clauses=tuple(clauses))


def _clause_without_value(clause: foreign.ForbiddenClause, name: str, value: Value) -> foreign.ForbiddenClause | None:
    """Return a clause whose tests of the hyperparameter `name` no longer mention a value.

    None if a test loses its last value, since the clause then never applies.
    """
    literals: list[foreign.ValueTest | foreign.ParameterComparison] = []
    for literal in clause.literals:
        kept = _condition_without_value(literal, name, value) if isinstance(literal, foreign.ValueTest) else literal
        if not isinstance(kept, foreign.ValueTest | foreign.ParameterComparison):
            return None
        literals.append(kept)
    return replace(clause, literals=tuple(literals))


def _condition_without_value(condition: foreign.Condition, name: str, value: Value) -> foreign.Condition:
    def less(test: foreign.ValueTest) -> foreign.Condition:
        if test.parameter != name:
            return test
        kept = tuple(own for own in test.values if identity_key(own) != identity_key(value))
        if kept:
            return replace(test, values=kept)
        return foreign.NEVER if test.operator == "in" else foreign.ALWAYS

    return foreign.replace_value_tests(condition, less)


def _convert_to_domain(value: Value, domain: foreign.ForeignRange | foreign.ForeignValues) -> Value:
    """Return a value as the domain represents it: a word that spells a number becomes the number for a range.

    A value that does not fit the domain is returned unchanged.
    """
    if isinstance(domain, foreign.ForeignValues):
        return next((own for own in domain.values if identity_key(own) == identity_key(value)), value)
    read = foreign.parse_number(value) if isinstance(value, str) else value
    if not is_number(read):
        return value
    return int(read) if domain.kind == "int" and read == int(read) else read


def _occurrence(span: Span, text: str, place: int) -> Span:
    return Span(span.source, span.start + place, span.start + place + len(text)) if place >= 0 and text else span


def _is_unordered(domain: foreign.ForeignRange | foreign.ForeignValues) -> bool:
    return isinstance(domain, foreign.ForeignValues) and not (domain.ordered or _is_numeric(domain))


def _is_numeric(domain: foreign.ForeignRange | foreign.ForeignValues | None) -> bool:
    return isinstance(domain, foreign.ForeignRange) or (domain is not None and all(map(is_number, domain.values)))


def _is_writable(value: Value) -> bool:
    """Return True if a text file can contain a value: it has no NUL characters and no lone surrogates."""
    if isinstance(value, tuple):
        return all(map(_is_writable, value))
    return not isinstance(value, str) or ("\0" not in value and not any("\ud800" <= c <= "\udfff" for c in value))
