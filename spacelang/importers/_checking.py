"""Check a foreign space: consistent names and values, no cycle of conditions, and a valid default configuration."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, assert_never

from spacelang.diagnostics.diagnostic import Diagnostic, Related
from spacelang.diagnostics.foreign import CannotBeSaid, ContradictoryDeclaration, UndeclaredParameter
from spacelang.importers._foreign import (
    ALWAYS,
    NEVER,
    Clause,
    Condition,
    Conditional,
    Every,
    ForeignParameter,
    ForeignRange,
    ForeignSpace,
    ForeignValues,
    Relation,
    Some,
    Test,
    changed,
    tests,
)
from spacelang.importers._names import CHOICE
from spacelang.importers._readings import number
from spacelang.ir.expr import RELATIONS
from spacelang.ir.value import Value, identity, is_number
from spacelang.suggest import nearest
from spacelang.text import Span

_MOST_SUGGESTIONS: Final = 50


@dataclass(frozen=True, slots=True)
class Sound:
    """A foreign space without contradictions.

    Its conditions no longer refer to constants that are always active: their comparisons are already evaluated.
    """

    name: str
    parameters: dict[str, ForeignParameter]
    """The parameters in topological order: parents before the parameters whose conditions refer to them."""

    file_order: tuple[str, ...]
    conditions: dict[str, Condition]
    """The conditions by hyperparameter; a hyperparameter without an entry is always active."""

    spans: dict[str, Span]
    """The spans of the conditions in the source."""

    clauses: tuple[Clause, ...]


class _Checker:
    """A checker that collects the problems of a foreign space."""

    def __init__(self, foreign: ForeignSpace) -> None:
        self.foreign = foreign
        self.problems: list[Diagnostic] = []
        self.parameters: dict[str, ForeignParameter] = {}
        self._suggested = 0

    def declare(self) -> None:
        """Register all parameters; report duplicate names and inconsistent declarations."""
        for parameter in self.foreign.parameters:
            first = self.parameters.get(parameter.name)
            if first is not None:
                problem = f"`{parameter.name}` is declared twice"
                related = (Related(first.span, "first declared here"),)
                wrong = ContradictoryDeclaration(primary=parameter.span, problem=problem, related=related)
                self.problems.append(wrong)
            else:
                self.parameters[parameter.name] = parameter
                self._declaration(parameter)

    def _declaration(self, parameter: ForeignParameter) -> None:
        name, domain = parameter.name, parameter.domain
        match domain:
            case ForeignRange(lower=lower, upper=upper):
                if lower > upper:
                    return self._contradiction(parameter.span, f"the range of `{name}` is empty")
                if domain.log and lower <= 0:
                    return self._contradiction(
                        parameter.span, f"the range of `{name}` is logarithmic but starts at {lower}"
                    )
            case ForeignValues(values=values):
                if len(set(map(identity, values))) < len(values):
                    return self._contradiction(parameter.span, f"`{name}` has a duplicate value")
                unwritable = next((value for value in values if not _is_writable(value)), None)
                if unwritable is not None:
                    what = f"the value `{unwritable}`"
                    self.problems.append(CannotBeSaid(primary=parameter.span, what=what))
                    return None
            case _:
                assert_never(domain)
        if parameter.default not in domain:
            problem = f"the default `{parameter.default}` of `{name}` is outside of its domain"
            self._contradiction(_last(parameter.span, str(parameter.default)), problem)
        return None

    def test(self, test: Test) -> Test:
        """Return a comparison with its values converted to the type of the domain; report values that do not fit."""
        domain = self._domain(test.parameter, test.span)
        if domain is None:
            return test
        if test.operator not in ("in", "!=") and isinstance(domain, ForeignValues) and not _has_order(domain):
            self._contradiction(test.span, f"the values of `{test.parameter}` have no order")
            return test
        values = tuple(_typed(value, domain) for value in test.values)
        ordering = isinstance(domain, ForeignRange) and test.operator not in ("in", "!=")
        for value in values:
            if value not in domain and not (ordering and is_number(value)):
                problem = f"`{value}` is not a value of `{test.parameter}`"
                self._contradiction(_last(test.span, str(value)), problem)
                return test
        return replace(test, values=values)

    def clause(self, clause: Clause) -> Clause:
        """Return a forbidden clause with checked literals."""
        checked: list[Test | Relation] = []
        for literal in clause.literals:
            match literal:
                case Test():
                    checked.append(self.test(literal))
                case Relation(left=left, right=right):
                    sides = [self._domain(name, literal.span) for name in (left, right)]
                    if None not in sides and literal.operator != "==" and not all(map(_is_numeric, sides)):
                        self._contradiction(literal.span, f"the values of `{left}` and `{right}` have no common order")
                    checked.append(literal)
                case _:
                    assert_never(literal)
        return replace(clause, literals=tuple(checked))

    def _domain(self, name: str, span: Span) -> ForeignRange | ForeignValues | None:
        if name in self.parameters:
            return self.parameters[name].domain
        self._suggested += 1
        near = nearest(name, self.parameters) if self._suggested <= _MOST_SUGGESTIONS else None
        self.problems.append(UndeclaredParameter(primary=_first(span, name), name=name, near=near))
        return None

    def child(self, conditional: Conditional) -> None:
        """Report a conditional whose child is not declared."""
        self._domain(conditional.child, conditional.span)

    def _contradiction(self, span: Span, problem: str) -> None:
        self.problems.append(ContradictoryDeclaration(primary=span, problem=problem))


def check(foreign: ForeignSpace) -> tuple[Sound | None, list[Diagnostic]]:
    """Return the consistent space and no problems, or None and all problems."""
    checker = _Checker(foreign)
    checker.declare()
    conditions: dict[str, Condition] = {}
    spans: dict[str, Span] = {}
    for conditional in foreign.conditionals:
        checker.child(conditional)
        conditions[conditional.child] = changed(conditional.condition, checker.test)
        spans[conditional.child] = conditional.span
    clauses = tuple(map(checker.clause, foreign.clauses))
    if checker.problems:
        return None, checker.problems
    parameters = checker.parameters
    parents = {name: {t.parameter for t in tests(conditions.get(name, ALWAYS))} for name in parameters}
    try:
        order = list(_in_order(parameters, parents))
    except CycleError as error:
        circle = [name for name in error.args[1] if name in spans]
        problem = f"the condition of `{circle[0]}` depends on itself"
        return None, [ContradictoryDeclaration(primary=spans[circle[0]], problem=problem)]
    ordered = {name: parameters[name] for name in order}
    decided = _without_constants(ordered, conditions)
    sound = Sound(foreign.name, ordered, tuple(parameters), decided, spans, clauses)
    wrong = _forbidden(sound)
    return (None if wrong else sound), wrong


def _in_order(parameters: dict[str, ForeignParameter], parents: dict[str, set[str]]) -> Iterator[str]:
    """Yield the names of parameters in topological order (parents first), otherwise in the order of the file."""
    places = {name: place for place, name in enumerate(parameters)}
    sorter = TopologicalSorter(parents)
    sorter.prepare()
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=places.__getitem__)
        yield from ready
        sorter.done(*ready)


def _without_constants(
    parameters: dict[str, ForeignParameter], conditions: dict[str, Condition]
) -> dict[str, Condition]:
    """Return the conditions with comparisons of constants that are always active replaced by their truth values."""
    settled = {
        name
        for name, parameter in parameters.items()
        if parameter.is_constant and name not in conditions and not name.endswith(CHOICE)
    }
    return {child: decide(condition, parameters, settled) for child, condition in conditions.items()}


def decide(condition: Condition, parameters: dict[str, ForeignParameter], constants: set[str]) -> Condition:
    """Return the condition with comparisons of these constants replaced by their truth values."""

    def decided(test: Test) -> Condition:
        if test.parameter not in constants:
            return test
        parameter = parameters[test.parameter]
        return ALWAYS if holds(test, parameter, parameter.default) else NEVER

    return changed(condition, decided)


def holds(test: Test, parameter: ForeignParameter, value: Value) -> bool:
    """Return True if a comparison holds for a value of its hyperparameter."""
    if test.operator in ("in", "!="):
        among = any(identity(value) == identity(own) for own in test.values)
        return among == (test.operator == "in")
    left: Any = value
    right: Any = test.values[0]
    if isinstance(parameter.domain, ForeignValues) and parameter.domain.ordered:
        left, right = parameter.domain.place(left), parameter.domain.place(right)
    return RELATIONS[test.operator](left, right)


def _forbidden(space: Sound) -> list[Diagnostic]:
    """Return an error for every clause that forbids the default configuration."""
    values: dict[str, Value] = {}
    for name, parameter in space.parameters.items():
        if _is_true(space.conditions.get(name, ALWAYS), values, space.parameters):
            values[name] = parameter.default
    problem, reason = "the default configuration is forbidden", "by this clause"
    return [
        ContradictoryDeclaration(primary=clause.span, problem=problem, reason=reason)
        for clause in space.clauses
        if all(_applies(literal, values, space.parameters) for literal in clause.literals)
    ]


def _is_true(condition: Condition, values: dict[str, Value], parameters: dict[str, ForeignParameter]) -> bool:
    match condition:
        case Test(parameter=name, operator=sign):
            # As in ConfigSpace 1.2, `!=` holds if the hyperparameter is not active.
            return holds(condition, parameters[name], values[name]) if name in values else sign == "!="
        case Every(terms=terms):
            return all(_is_true(term, values, parameters) for term in terms)
        case Some(terms=terms):
            return any(_is_true(term, values, parameters) for term in terms)
        case _:
            assert_never(condition)


def _applies(literal: Test | Relation, values: dict[str, Value], parameters: dict[str, ForeignParameter]) -> bool:
    if isinstance(literal, Test):
        return literal.parameter in values and _is_true(literal, values, parameters)
    left: Any = values.get(literal.left)
    right: Any = values.get(literal.right)
    is_there = literal.left in values and literal.right in values
    if literal.operator == "==":
        return is_there and identity(left) == identity(right)
    return is_there and RELATIONS[literal.operator](left, right)


def without(space: Sound, name: str, value: Value) -> Sound:
    """Return the space without one value of a set; the value must not occur in any configuration."""
    parameter = space.parameters[name]
    domain = parameter.domain
    assert isinstance(domain, ForeignValues)
    kept = [place for place, own in enumerate(domain.values) if identity(own) != identity(value)]
    smaller = ForeignValues(
        tuple(domain.values[place] for place in kept),
        tuple(domain.readings[place] for place in kept),
        domain.ordered,
        None if domain.weights is None else tuple(domain.weights[place] for place in kept),
    )
    default = parameter.default if parameter.default in smaller else smaller.values[0]
    parameters = {**space.parameters, name: replace(parameter, domain=smaller, default=default)}
    conditions = {child: _unasked(condition, name, value) for child, condition in space.conditions.items()}
    clauses = [less for clause in space.clauses if (less := _allowing(clause, name, value)) is not None]
    return replace(space, parameters=parameters, conditions=conditions, clauses=tuple(clauses))


def _allowing(clause: Clause, name: str, value: Value) -> Clause | None:
    """Return a clause that no longer mentions a value; None if it forbids nothing else."""
    literals: list[Test | Relation] = []
    for literal in clause.literals:
        kept = _unasked(literal, name, value) if isinstance(literal, Test) else literal
        if not isinstance(kept, Test | Relation):
            return None
        literals.append(kept)
    return replace(clause, literals=tuple(literals))


def _unasked(condition: Condition, name: str, value: Value) -> Condition:
    """Return a condition that no longer mentions a value."""

    def less(test: Test) -> Condition:
        if test.parameter != name:
            return test
        kept = tuple(own for own in test.values if identity(own) != identity(value))
        if kept:
            return replace(test, values=kept)
        return NEVER if test.operator == "in" else ALWAYS

    return changed(condition, less)


def _typed(value: Value, domain: ForeignRange | ForeignValues) -> Value:
    """Return a value as the domain represents it: words become numbers for a range."""
    if isinstance(domain, ForeignValues):
        return next((own for own in domain.values if identity(own) == identity(value)), value)
    read = number(value) if isinstance(value, str) else value
    if not is_number(read):
        return value
    assert isinstance(read, int | float)
    return int(read) if domain.kind == "int" and read == int(read) else read


def _first(span: Span, text: str) -> Span:
    """Return the span of the first occurrence of a text in a span; the whole span if there is none."""
    place = span.text.find(text)
    return Span(span.source, span.start + place, span.start + place + len(text)) if place >= 0 and text else span


def _last(span: Span, text: str) -> Span:
    """Return the span of the last occurrence of a text in a span; the whole span if there is none."""
    place = span.text.rfind(text)
    return Span(span.source, span.start + place, span.start + place + len(text)) if place >= 0 and text else span


def _has_order(domain: ForeignValues) -> bool:
    return domain.ordered or all(map(is_number, domain.values))


def _is_numeric(domain: ForeignRange | ForeignValues | None) -> bool:
    return isinstance(domain, ForeignRange) or (domain is not None and all(map(is_number, domain.values)))


def _is_writable(value: Value) -> bool:
    """Return True if a text file can contain a value: it has no NUL characters and no lone surrogates."""
    if isinstance(value, tuple):
        return all(map(_is_writable, value))
    return not isinstance(value, str) or ("\0" not in value and not any("\ud800" <= c <= "\udfff" for c in value))
