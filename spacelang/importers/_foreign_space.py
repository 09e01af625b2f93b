"""Data classes for a search space of another tool: flat parameters, conditions and forbidden clauses, with spans."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, assert_never

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.grouping import group_by_key
from spacelang.ir.value import Value, identity_key
from spacelang.text import Span


@dataclass(frozen=True, slots=True)
class ForeignRange:
    """The numbers from `lower` to `upper`, including both, in steps of `step` if it is given."""

    kind: Literal["float", "int"]
    lower: float
    upper: float
    log: bool = False
    step: float | None = None

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return self.lower <= value <= self.upper and (self.kind == "float" or value == int(value))


@dataclass(frozen=True, slots=True)
class ForeignValues:
    """A finite set of values; `space_values` are the corresponding values in the `.space` file."""

    values: tuple[Value, ...]
    space_values: tuple[Value, ...]
    ordered: bool = False
    weights: tuple[float, ...] | None = None

    def __contains__(self, value: object) -> bool:
        return any(identity_key(value) == identity_key(own) for own in self.values)  # type: ignore[arg-type]

    def index(self, value: Value) -> int:
        """Return the index of a value; raise ValueError if it is not in the set."""
        return [identity_key(own) for own in self.values].index(identity_key(value))


Domain: TypeAlias = ForeignRange | ForeignValues


@dataclass(frozen=True, slots=True)
class ForeignParameter:
    """A hyperparameter; `prior` is the mean and standard deviation of a normal distribution."""

    name: str
    domain: Domain
    default: Value
    span: Span = field(compare=False, repr=False)
    prior: tuple[float, float] | None = None

    @property
    def is_constant(self) -> bool:
        """True if the domain has exactly one value."""
        domain = self.domain
        return len(domain.values) == 1 if isinstance(domain, ForeignValues) else domain.lower == domain.upper


@dataclass(frozen=True, slots=True)
class ValueTest:
    """A comparison of a hyperparameter with values; both `==` and `in` are represented as `in`."""

    parameter: str
    operator: Literal["in", "!=", "<", "<=", ">", ">="]
    values: tuple[Value, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ParameterComparison:
    """A comparison of two hyperparameters in a forbidden clause."""

    left: str
    operator: Literal["==", "<", "<=", ">", ">="]
    right: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AllOf:
    """A conjunction; without terms it is true."""

    terms: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A disjunction; without terms it is false."""

    terms: tuple["Condition", ...]


Condition: TypeAlias = ValueTest | AllOf | AnyOf
ALWAYS = AllOf(())
NEVER = AnyOf(())


@dataclass(frozen=True, slots=True)
class ForeignCondition:
    """The condition under which a hyperparameter is active."""

    child: str
    condition: Condition
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ForbiddenClause:
    """A combination of literals that is forbidden if all of its hyperparameters are active."""

    literals: tuple[ValueTest | ParameterComparison, ...]
    span: Span = field(compare=False, repr=False)


Declaration: TypeAlias = ForeignParameter | ForeignCondition | ForbiddenClause


@dataclass(frozen=True, slots=True)
class ForeignSpace:
    """The contents of a foreign file, with the diagnostics of its reader."""

    name: str
    parameters: tuple[ForeignParameter, ...]
    conditionals: tuple[ForeignCondition, ...]
    clauses: tuple[ForbiddenClause, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def value_tests(condition: Condition) -> Iterator[ValueTest]:
    """Yield every comparison of a condition."""
    match condition:
        case ValueTest():
            yield condition
        case AllOf(terms=terms) | AnyOf(terms=terms):
            for term in terms:
                yield from value_tests(term)


def count_values(declaration: Declaration) -> int:
    """Return the number of values that a declaration mentions; a range counts as one."""
    match declaration:
        case ForeignParameter(domain=domain):
            return len(domain.values) if isinstance(domain, ForeignValues) else 1
        case ForeignCondition(condition=condition):
            return sum(len(test.values) for test in value_tests(condition))
        case ForbiddenClause(literals=literals):
            return sum(len(literal.values) if isinstance(literal, ValueTest) else 1 for literal in literals)
        case _:
            assert_never(declaration)


def conjunction(terms: list[Condition]) -> Condition:
    """Return the conjunction of terms, simplified if terms are known to be true or false."""
    return _joined(AllOf, NEVER, terms)


def disjunction(terms: list[Condition]) -> Condition:
    """Return the disjunction of terms, simplified if terms are known to be true or false."""
    return _joined(AnyOf, ALWAYS, terms)


def _joined(kind: type[AllOf] | type[AnyOf], deciding: Condition, terms: list[Condition]) -> Condition:
    if deciding in terms:
        return deciding
    flat = [inner for term in terms for inner in (term.terms if isinstance(term, kind) else (term,))]
    unique = tuple(dict.fromkeys(flat))
    return unique[0] if len(unique) == 1 else kind(unique)


def map_tests(condition: Condition, change: Callable[[ValueTest], Condition]) -> Condition:
    """Return the condition with `change` applied to every comparison, simplified where truth values are known."""
    if isinstance(condition, ValueTest):
        return change(condition)
    join = conjunction if isinstance(condition, AllOf) else disjunction
    return join([map_tests(term, change) for term in condition.terms])


def merge_by_child(conditionals: list[ForeignCondition]) -> tuple[ForeignCondition, ...]:
    """Return one condition for each child: several conditions of one child must all hold."""
    by_child = group_by_key((conditional.child, conditional) for conditional in conditionals)
    return tuple(
        ForeignCondition(child, conjunction([one.condition for one in several]), several[0].span)
        for child, several in by_child.items()
    )
