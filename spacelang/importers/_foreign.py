"""A search space as another tool's file says it: flat names, conditions and forbidden clauses, with their places."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, assert_never

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.grouping import grouped
from spacelang.ir.value import Value, identity
from spacelang.text import Span


@dataclass(frozen=True, slots=True)
class ForeignRange:
    """The numbers from `lower` to `upper`, both included; spaced by `step` where there is one."""

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
    """These values, each with what a `.space` file calls it; in an order where they are `ordered`."""

    values: tuple[Value, ...]
    readings: tuple[Value, ...]
    ordered: bool = False
    weights: tuple[float, ...] | None = None

    def __contains__(self, value: object) -> bool:
        return any(identity(value) == identity(own) for own in self.values)  # type: ignore[arg-type]

    def place(self, value: Value) -> int:
        """Where a value stands."""
        return [identity(own) for own in self.values].index(identity(value))


Domain: TypeAlias = ForeignRange | ForeignValues


@dataclass(frozen=True, slots=True)
class ForeignParameter:
    """One hyperparameter; `prior` is the mean and deviation of a normal distribution."""

    name: str
    domain: Domain
    default: Value
    span: Span = field(compare=False, repr=False)
    prior: tuple[float, float] | None = None

    @property
    def is_constant(self) -> bool:
        """Whether there is one value only."""
        domain = self.domain
        return len(domain.values) == 1 if isinstance(domain, ForeignValues) else domain.lower == domain.upper


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison of a hyperparameter with values; `==` and `in` are one: the value is among them."""

    parameter: str
    operator: Literal["in", "!=", "<", "<=", ">", ">="]
    values: tuple[Value, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Relation:
    """A comparison of two hyperparameters, in a forbidden clause."""

    left: str
    operator: Literal["==", "<", "<=", ">", ">="]
    right: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Every:
    """All terms hold; without terms it always holds."""

    terms: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one term holds; without terms it never holds."""

    terms: tuple["Condition", ...]


Condition: TypeAlias = Test | Every | Some
ALWAYS = Every(())
NEVER = Some(())


@dataclass(frozen=True, slots=True)
class Conditional:
    """When a hyperparameter is active."""

    child: str
    condition: Condition
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Clause:
    """A combination that is forbidden where all that it names is active."""

    literals: tuple[Test | Relation, ...]
    span: Span = field(compare=False, repr=False)


Declaration: TypeAlias = ForeignParameter | Conditional | Clause


@dataclass(frozen=True, slots=True)
class ForeignSpace:
    """All that a file says; `diagnostics` are what its reader has to say of it."""

    name: str
    parameters: tuple[ForeignParameter, ...]
    conditionals: tuple[Conditional, ...]
    clauses: tuple[Clause, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def tests(condition: Condition) -> Iterator[Test]:
    """Every comparison of a condition."""
    match condition:
        case Test():
            yield condition
        case Every(terms=terms) | Some(terms=terms):
            for term in terms:
                yield from tests(term)


def size_of(declaration: Declaration) -> int:
    """How many values a declaration names."""
    match declaration:
        case ForeignParameter(domain=domain):
            return len(domain.values) if isinstance(domain, ForeignValues) else 1
        case Conditional(condition=condition):
            return sum(len(test.values) for test in tests(condition))
        case Clause(literals=literals):
            return sum(len(literal.values) if isinstance(literal, Test) else 1 for literal in literals)
        case _:
            assert_never(declaration)


def every(terms: list[Condition]) -> Condition:
    """All of the terms, simplified where terms are known to hold or not to."""
    return _joined(Every, NEVER, terms)


def some(terms: list[Condition]) -> Condition:
    """One of the terms, simplified where terms are known to hold or not to."""
    return _joined(Some, ALWAYS, terms)


def _joined(kind: type[Every] | type[Some], deciding: Condition, terms: list[Condition]) -> Condition:
    if deciding in terms:
        return deciding
    flat = [inner for term in terms for inner in (term.terms if isinstance(term, kind) else (term,))]
    unique = tuple(dict.fromkeys(flat))
    return unique[0] if len(unique) == 1 else kind(unique)


def changed(condition: Condition, change: Callable[[Test], Condition]) -> Condition:
    """The condition with every comparison changed, simplified where terms are known to hold or not to."""
    if isinstance(condition, Test):
        return change(condition)
    join = every if isinstance(condition, Every) else some
    return join([changed(term, change) for term in condition.terms])


def conjoined(conditionals: list[Conditional]) -> tuple[Conditional, ...]:
    """One condition a child: several that a file gives for one child must all hold."""
    by_child = grouped((conditional.child, conditional) for conditional in conditionals)
    return tuple(
        Conditional(child, every([one.condition for one in several]), several[0].span)
        for child, several in by_child.items()
    )
