"""Expressions of conditions (`when`) and constraints (`forbid`, `require`), with every name resolved to an address.

An atom (the smallest part that is true or false) is false if it mentions an inactive hyperparameter; see
grammars/REFERENCE.md, "Conditions and constraints". It is also false if its arithmetic is undefined: a division by
zero, or an order comparison between a number and `none`. Numbers stand for the decimals that they are written as (see
`rationals`).
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
    """The type of `INACTIVE`, the value of an inactive hyperparameter and of undefined arithmetic."""

    def __repr__(self) -> str:
        return "INACTIVE"


INACTIVE: Final = Inactive()
Worth: TypeAlias = Value | Inactive
Computed: TypeAlias = Worth | Fraction | Between
"""The result of an expression; arithmetic may give numbers that no value literal can express."""
Lookup: TypeAlias = Callable[[str], Worth]
"""A function that returns the value at an address: a branch name for a decision, INACTIVE for anything not active."""

Sign: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]
Operation: TypeAlias = Literal["+", "-", "*", "/"]
Function: TypeAlias = Literal["min", "max", "ceil", "floor", "sqrt", "log2"]


@fact
class Constant:
    """A literal value."""

    value: Value
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        """Return True if both values are the same to a user; `true` is not 1."""
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
    """A test that the decision at an address takes one of some branches; false if the decision is not reached."""

    address: str
    branches: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class Active:
    """A test that the hyperparameter at an address is active; created by analyses, never written in a space."""

    address: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class Compare:
    """An equality or order comparison of two expressions."""

    relation: Sign
    left: "Expr"
    right: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class In:
    """A test that a value is one of several constants."""

    item: "Expr"
    values: tuple[Value, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        """Return True if the items are equal and the values are the same to a user; `true` is not 1."""
        return isinstance(other, In) and self.item == other.item and same(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.item, identity(self.values)))


@fact
class Not:
    """A negation."""

    term: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class And:
    """A conjunction: all terms hold."""

    terms: tuple["Expr", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class Or:
    """A disjunction: at least one term holds."""

    terms: tuple["Expr", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class Arithmetic:
    """An arithmetic operation on two numbers."""

    operation: Operation
    left: "Expr"
    right: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class Call:
    """A call of a numeric function such as `min` or `log2`."""

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
"""The functions with two or more arguments; the others have one."""


def holds(expression: Expr, lookup: Lookup) -> bool:
    """Return True if a condition is true under the assignment `lookup`."""
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
    """Return the exact value of an expression under the assignment `lookup`.

    The result is INACTIVE if the expression is undefined. Nothing is rounded.
    """
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
        return RELATIONS[relation](left, right)  # floats are ordered like the decimals that they print as
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
    """Return the direct subexpressions of an expression."""
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
    """Yield an expression and all its subexpressions in preorder, from left to right."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def references(expression: Expr) -> tuple[str, ...]:
    """Return the addresses of all hyperparameters whose value an expression uses, each once, in order of mention."""
    return tuple(dict.fromkeys(node.address for node in nodes(expression) if isinstance(node, Reference)))


def decisions(expression: Expr) -> tuple[str, ...]:
    """Return the addresses of all decisions that an expression tests, each once, in order of mention."""
    return tuple(dict.fromkeys(node.address for node in nodes(expression) if isinstance(node, Is)))


def scope(expression: Expr) -> tuple[str, ...]:
    """Return the addresses of all variables that an expression mentions, each once.

    Hyperparameters whose value is used come first, then tested decisions, then those of `Active` tests.
    """
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
    """Yield the subexpressions that `and`, `or` and `not` combine, from left to right."""
    if not isinstance(expression, And | Or | Not):
        yield expression
        return
    for term in children(expression):
        yield from leaves(term)


def with_children(expression: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return a copy of an expression with `change` applied to each direct subexpression."""
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
    """Return a copy of an expression with every address replaced according to `names`."""
    if isinstance(expression, Reference | Is | Active):
        return replace(expression, address=names.get(expression.address, expression.address))
    return with_children(expression, lambda part: renamed(part, names))
