"""Expressions: what `when`, `forbid` and `require` say, with every name resolved to an address of the space.

An atom over an inactive hyperparameter is false (grammars/REFERENCE.md, "Conditions and constraints"), and so is one
that arithmetic leaves undefined: a division by zero, or an order between a number and `none`.
"""

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, assert_never

from spacelang.ir.value import Value, identity, is_number, same
from spacelang.text import NOWHERE, Span


class Inactive:
    """What an expression is worth where it is not defined: over an inactive hyperparameter, or by arithmetic."""

    def __repr__(self) -> str:
        return "INACTIVE"


INACTIVE: Final = Inactive()
Worth: TypeAlias = Value | Inactive
Lookup: TypeAlias = Callable[[str], Worth]
"""The value at an address: the branch's name for a decision, INACTIVE for what is not active."""

Comparison: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]
Operation: TypeAlias = Literal["+", "-", "*", "/"]
Function: TypeAlias = Literal["min", "max", "ceil", "floor", "sqrt", "log2"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal value."""

    value: Value
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        """Whether the values are the same to a user: `true` is not 1."""
        return isinstance(other, Constant) and same(self.value, other.value)

    def __hash__(self) -> int:
        return hash(identity(self.value))


@dataclass(frozen=True, slots=True)
class Reference:
    """The value of the hyperparameter at an address."""

    address: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Is:
    """Whether the decision at an address takes one of the branches; false where the decision is not reached."""

    address: str
    branches: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Active:
    """Whether the hyperparameter at an address is active; no author writes it, analyses ask it."""

    address: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Compare:
    """An order or equality of two values."""

    relation: Comparison
    left: "Expr"
    right: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class In:
    """Whether a value is one of several."""

    item: "Expr"
    values: tuple[Value, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        """Whether the items are equal and the values the same to a user: `true` is not 1."""
        return isinstance(other, In) and self.item == other.item and same(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.item, identity(self.values)))


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    term: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class And:
    """All of the terms."""

    terms: tuple["Expr", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of the terms."""

    terms: tuple["Expr", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two numbers combined."""

    operation: Operation
    left: "Expr"
    right: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of numbers."""

    function: Function
    arguments: tuple["Expr", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Expr: TypeAlias = Constant | Reference | Is | Active | Compare | In | Not | And | Or | Arithmetic | Call

_RELATIONS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPERATIONS: Final[dict[str, Callable[[float, float], float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_FUNCTIONS: Final[dict[str, Callable[..., float]]] = {
    "min": min,
    "max": max,
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "log2": math.log2,
}
FUNCTIONS: Final = tuple(_FUNCTIONS)
VARIADIC: Final = ("min", "max")
"""The functions that take two arguments or more; the others take one."""


def holds(expression: Expr, lookup: Lookup) -> bool:
    """Whether a condition holds under an assignment."""
    match expression:
        case And():
            return all(holds(term, lookup) for term in expression.terms)
        case Or():
            return any(holds(term, lookup) for term in expression.terms)
        case Not():
            return not holds(expression.term, lookup)
        case Is():
            return lookup(expression.address) in expression.branches
        case Active():
            return lookup(expression.address) is not INACTIVE
        case Compare():
            return _compare(expression, lookup)
        case In():
            item = worth(expression.item, lookup)
            return not isinstance(item, Inactive) and any(same(item, value) for value in expression.values)
        case Constant() | Reference() | Arithmetic() | Call():
            return worth(expression, lookup) is True


def worth(expression: Expr, lookup: Lookup) -> Worth:
    """The value of an expression under an assignment; INACTIVE where it has none."""
    match expression:
        case Constant():
            return expression.value
        case Reference():
            return lookup(expression.address)
        case Arithmetic():
            arguments = (worth(expression.left, lookup), worth(expression.right, lookup))
            return _apply(_OPERATIONS[expression.operation], arguments)
        case Call():
            return _apply(
                _FUNCTIONS[expression.function],
                tuple(worth(argument, lookup) for argument in expression.arguments),
            )
        case And() | Or() | Not() | Is() | Active() | Compare() | In():
            return holds(expression, lookup)


def _compare(expression: Compare, lookup: Lookup) -> bool:
    left, right = worth(expression.left, lookup), worth(expression.right, lookup)
    if isinstance(left, Inactive) or isinstance(right, Inactive):
        return False
    if expression.relation == "==":
        return same(left, right)
    if expression.relation == "!=":
        return not same(left, right)
    if not (is_number(left) and is_number(right)):
        return False
    return _RELATIONS[expression.relation](left, right)  # type: ignore[arg-type]


def _apply(function: Callable[..., float], arguments: tuple[Worth, ...]) -> Worth:
    if not all(is_number(argument) for argument in arguments):
        return INACTIVE
    try:
        result = function(*arguments)
        return result if math.isfinite(result) else INACTIVE
    except (ZeroDivisionError, ValueError, OverflowError):
        return INACTIVE


def children(expression: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression."""
    match expression:
        case And() | Or():
            return expression.terms
        case Not():
            return (expression.term,)
        case In():
            return (expression.item,)
        case Compare() | Arithmetic():
            return (expression.left, expression.right)
        case Call():
            return expression.arguments
        case Constant() | Reference() | Is() | Active():
            return ()


def nodes(expression: Expr) -> Iterator[Expr]:
    """The expression and all its parts, from the outside in and from left to right."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def references(expression: Expr) -> tuple[str, ...]:
    """The addresses of the hyperparameters that an expression names, each once, in the order of mention."""
    return tuple(dict.fromkeys(node.address for node in nodes(expression) if isinstance(node, Reference)))


def decisions(expression: Expr) -> tuple[str, ...]:
    """The addresses of the decisions that an expression tests, each once, in the order of mention."""
    return tuple(dict.fromkeys(node.address for node in nodes(expression) if isinstance(node, Is)))


def renamed(expression: Expr, names: Mapping[str, str]) -> Expr:
    """The expression with every address that has another name by that name."""
    match expression:
        case Reference() | Is() | Active():
            return replace(expression, address=names.get(expression.address, expression.address))
        case And() | Or():
            return replace(expression, terms=tuple(renamed(term, names) for term in expression.terms))
        case Not():
            return replace(expression, term=renamed(expression.term, names))
        case In():
            return replace(expression, item=renamed(expression.item, names))
        case Compare() | Arithmetic():
            return replace(expression, left=renamed(expression.left, names), right=renamed(expression.right, names))
        case Call():
            return replace(expression, arguments=tuple(renamed(part, names) for part in expression.arguments))
        case Constant():
            return expression
        case _:
            assert_never(expression)
