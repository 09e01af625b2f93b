"""Expressions: what `when`, `forbid` and `require` say, with every name resolved to an address of the space.

An atom over an inactive hyperparameter is false (grammars/REFERENCE.md, "Conditions and constraints"), and so is one
that arithmetic leaves undefined: a division by zero, or an order between a number and `none`. Numbers are the decimals
that they are written as (see `rationals`).
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from spacelang.facts import fact
from spacelang.ir.rationals import FUNCTIONS, OPERATIONS, Between, number_of, order
from spacelang.ir.value import Value, identity, same
from spacelang.text import NOWHERE, Span


class Inactive:
    """What an expression is worth where it is not defined: over an inactive hyperparameter, or by arithmetic."""

    def __repr__(self) -> str:
        return "INACTIVE"


INACTIVE: Final = Inactive()
Worth: TypeAlias = Value | Inactive
Computed: TypeAlias = Worth | Fraction | Between
"""What arithmetic makes of worths: numbers that need not be written as a value."""
Lookup: TypeAlias = Callable[[str], Worth]
"""The value at an address: the branch's name for a decision, INACTIVE for what is not active."""

Sign: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]
Operation: TypeAlias = Literal["+", "-", "*", "/"]
Function: TypeAlias = Literal["min", "max", "ceil", "floor", "sqrt", "log2"]


@fact
class Constant:
    """A literal value."""

    value: Value
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        """Whether the values are the same to a user: `true` is not 1."""
        return isinstance(other, Constant) and same(self.value, other.value)

    def __hash__(self) -> int:
        return hash(identity(self.value))


@fact
class Reference:
    """The value of the hyperparameter at an address."""

    address: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class Is:
    """Whether the decision at an address takes one of the branches; false where the decision is not reached."""

    address: str
    branches: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class Active:
    """Whether the hyperparameter at an address is active; no author writes it, analyses ask it."""

    address: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class Compare:
    """An order or equality of two values."""

    relation: Sign
    left: "Expr"
    right: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
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


@fact
class Not:
    """Negation."""

    term: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class And:
    """All of the terms."""

    terms: tuple["Expr", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class Or:
    """At least one of the terms."""

    terms: tuple["Expr", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class Arithmetic:
    """Two numbers combined."""

    operation: Operation
    left: "Expr"
    right: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class Call:
    """A function of numbers."""

    function: Function
    arguments: tuple["Expr", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Expr: TypeAlias = Constant | Reference | Is | Active | Compare | In | Not | And | Or | Arithmetic | Call

RELATIONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
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
            return any(_related("==", item, value) for value in expression.values)
        case Constant() | Reference() | Arithmetic() | Call():
            return worth(expression, lookup) is True


def worth(expression: Expr, lookup: Lookup) -> Computed:
    """The value of an expression under an assignment, never rounded; INACTIVE where it has none."""
    match expression:
        case Constant():
            return expression.value
        case Reference():
            return lookup(expression.address)
        case Arithmetic():
            operands = (worth(expression.left, lookup), worth(expression.right, lookup))
            return _apply(OPERATIONS[expression.operation], operands)
        case Call():
            arguments = tuple(worth(argument, lookup) for argument in expression.arguments)
            return _apply(FUNCTIONS[expression.function], arguments)
        case And() | Or() | Not() | Is() | Active() | Compare() | In():
            return holds(expression, lookup)


def _compare(expression: Compare, lookup: Lookup) -> bool:
    return _related(expression.relation, worth(expression.left, lookup), worth(expression.right, lookup))


def _related(relation: Sign, left: Computed, right: Computed) -> bool:
    if isinstance(left, Inactive) or isinstance(right, Inactive):
        return False
    if (type(left) is int and type(right) is int) or (type(left) is float and type(right) is float):
        return RELATIONS[relation](left, right)  # floats are in the order of their decimals
    one, other = number_of(left), number_of(right)
    if one is not None and other is not None:
        return RELATIONS[relation](order(one, other), 0)
    is_same = one is None and other is None and same(left, right)  # type: ignore[arg-type]
    return is_same if relation == "==" else relation == "!=" and not is_same


def _apply(function: Callable[..., Computed], operands: tuple[Computed, ...]) -> Computed:
    numbers = [number_of(operand) for operand in operands]
    if None in numbers:
        return INACTIVE
    try:
        return function(*numbers)
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


def scope(expression: Expr) -> tuple[str, ...]:
    """The addresses of all variables that an expression mentions, each once: what it names, tests and asks for."""
    found: tuple[dict[str, None], ...] = ({}, {}, {})
    for node in nodes(expression):
        if isinstance(node, Reference):
            found[0][node.address] = None
        elif isinstance(node, Is):
            found[1][node.address] = None
        elif isinstance(node, Active):
            found[2][node.address] = None
    return (*found[0], *found[1], *found[2])


def leaves(expression: Expr) -> Iterator[Expr]:
    """The parts of an expression that `and`, `or` and `not` join, from left to right."""
    if not isinstance(expression, And | Or | Not):
        yield expression
        return
    for term in children(expression):
        yield from leaves(term)


def with_children(expression: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with each of its direct parts changed."""
    match expression:
        case And() | Or():
            return replace(expression, terms=tuple(map(change, expression.terms)))
        case Not():
            return replace(expression, term=change(expression.term))
        case In():
            return replace(expression, item=change(expression.item))
        case Compare() | Arithmetic():
            return replace(expression, left=change(expression.left), right=change(expression.right))
        case Call():
            return replace(expression, arguments=tuple(map(change, expression.arguments)))
        case Constant() | Reference() | Is() | Active():
            return expression


def renamed(expression: Expr, names: Mapping[str, str]) -> Expr:
    """The expression with every address that has another name by that name."""
    if isinstance(expression, Reference | Is | Active):
        return replace(expression, address=names.get(expression.address, expression.address))
    return with_children(expression, lambda part: renamed(part, names))
