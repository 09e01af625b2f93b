"""Expressions of conditions (`when`) and constraints (`forbid`, `require`), with every name resolved to an address.

An atom (the smallest part that is true or false) is false if it mentions an inactive hyperparameter; see
grammars/REFERENCE.md, "Conditions and constraints". It is also false if its arithmetic is undefined: a division by
zero, or an order comparison between a number and `none`. Numbers stand for the decimals that they are written as (see
`ir.value`).
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from spacelang.frozen import frozen
from spacelang.ir.value import (
    ARITHMETIC_OPERATIONS,
    NUMERIC_FUNCTIONS,
    NumberInterval,
    Value,
    are_same_value,
    compare_numbers,
    identity_key,
    to_number,
)
from spacelang.text import NO_SPAN, Span


class InactiveValue:
    """The type of `INACTIVE`, the value of an inactive hyperparameter and of undefined arithmetic."""

    def __repr__(self) -> str:
        return "INACTIVE"


INACTIVE: Final = InactiveValue()
ExpressionValue: TypeAlias = Value | InactiveValue
ComputedValue: TypeAlias = ExpressionValue | Fraction | NumberInterval
"""The result of an expression; arithmetic may give numbers that no value literal can express."""
Lookup: TypeAlias = Callable[[str], ExpressionValue]
"""A function that returns the value at an address: a branch name for a decision, INACTIVE for anything not active."""
ComparisonSign: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]
NEGATED_SIGNS: Final[Mapping[ComparisonSign, ComparisonSign]] = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
}
Operation: TypeAlias = Literal["+", "-", "*", "/", "**"]
Function: TypeAlias = Literal["min", "max", "ceil", "floor", "sqrt", "log2", "count"]


@frozen
class Constant:
    """A literal value."""

    value: Value
    span: Span = field(default=NO_SPAN, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and are_same_value(self.value, other.value)

    def __hash__(self) -> int:
        return hash(identity_key(self.value))


@frozen
class Reference:
    """The value of the hyperparameter at an address."""

    address: str
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@frozen
class BranchTest:
    """A test that the decision at an address takes one of some branches; false if the decision is not reached."""

    address: str
    branches: tuple[str, ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@frozen
class ActivityTest:
    """A test that the hyperparameter at an address is active; created by analyses, never written in a space."""

    address: str
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@frozen
class Compare:
    """An equality or order comparison of two expressions."""

    relation: ComparisonSign
    left: "Expr"
    right: "Expr"
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@frozen
class In:
    """A test that a value is one of several constants."""

    item: "Expr"
    values: tuple[Value, ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, In) and self.item == other.item and are_same_value(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.item, identity_key(self.values)))


@frozen
class Not:
    """A negation."""

    term: "Expr"
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@frozen
class And:
    """A conjunction: all terms hold."""

    terms: tuple["Expr", ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@frozen
class Or:
    """A disjunction: at least one term holds."""

    terms: tuple["Expr", ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@frozen
class Arithmetic:
    """An arithmetic operation on two numbers."""

    operation: Operation
    left: "Expr"
    right: "Expr"
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@frozen
class Call:
    """A call of a numeric function such as `min`, or of `count`: the number of its arguments that are true."""

    function: Function
    arguments: tuple["Expr", ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


Expr: TypeAlias = Constant | Reference | BranchTest | ActivityTest | Compare | In | Not | And | Or | Arithmetic | Call
COMPARISON_FUNCTIONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
VARIADIC_FUNCTIONS: Final = ("min", "max")  # The functions with two or more arguments


def is_true(expression: Expr, lookup: Lookup) -> bool:
    """Return True if a condition is true under the assignment `lookup`."""
    match expression:
        case And():
            return all(is_true(term, lookup) for term in expression.terms)
        case Or():
            return any(is_true(term, lookup) for term in expression.terms)
        case Not():
            return not is_true(expression.term, lookup)
        case BranchTest():
            return lookup(expression.address) in expression.branches
        case ActivityTest():
            return lookup(expression.address) is not INACTIVE
        case Compare():
            left, right = evaluate(expression.left, lookup), evaluate(expression.right, lookup)
            return _is_relation_true(expression.relation, left, right)
        case In():
            item = evaluate(expression.item, lookup)
            return any(_is_relation_true("==", item, value) for value in expression.values)
        case Constant() | Reference() | Arithmetic() | Call():
            return evaluate(expression, lookup) is True


def evaluate(expression: Expr, lookup: Lookup) -> ComputedValue:
    """Return the exact value of an expression under `lookup`, or INACTIVE if it is undefined."""
    match expression:
        case Constant():
            return expression.value
        case Reference():
            return lookup(expression.address)
        case Arithmetic():
            operands = (evaluate(expression.left, lookup), evaluate(expression.right, lookup))
            return _apply(ARITHMETIC_OPERATIONS[expression.operation], operands)
        case Call():
            if expression.function == "count":
                return sum(is_true(argument, lookup) for argument in expression.arguments)
            arguments = tuple(evaluate(argument, lookup) for argument in expression.arguments)
            return _apply(NUMERIC_FUNCTIONS[expression.function], arguments)
        case And() | Or() | Not() | BranchTest() | ActivityTest() | Compare() | In():
            return is_true(expression, lookup)


def _is_relation_true(relation: ComparisonSign, left: ComputedValue, right: ComputedValue) -> bool:
    if isinstance(left, InactiveValue) or isinstance(right, InactiveValue):
        return False
    if (type(left) is int and type(right) is int) or (type(left) is float and type(right) is float):
        return COMPARISON_FUNCTIONS[relation](left, right)  # floats are ordered like the decimals that they print as
    one, other = to_number(left), to_number(right)
    if one is not None and other is not None:
        return COMPARISON_FUNCTIONS[relation](compare_numbers(one, other), 0)
    is_same = one is None and other is None and are_same_value(left, right)  # type: ignore[arg-type]
    return is_same if relation == "==" else relation == "!=" and not is_same


def _apply(function: Callable[..., ComputedValue], operands: tuple[ComputedValue, ...]) -> ComputedValue:
    numbers = [to_number(operand) for operand in operands]
    if None in numbers:
        return INACTIVE
    try:
        return function(*numbers)
    except (ZeroDivisionError, ValueError, OverflowError):
        return INACTIVE


def children(expression: Expr) -> tuple[Expr, ...]:
    """Return the direct subexpressions of an expression."""
    match expression:
        case Constant() | Reference() | BranchTest() | ActivityTest():  # most expressions
            return ()
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


def decisions_in_tests(expression: Expr) -> tuple[str, ...]:
    """Return the addresses of all decisions that an expression tests, each once, in order of mention."""
    return tuple(dict.fromkeys(node.address for node in nodes(expression) if isinstance(node, BranchTest)))


def mentioned_addresses(expression: Expr) -> tuple[str, ...]:
    """Return the mentioned addresses once: used hyperparameters, tested decisions, then `ActivityTest` tests."""
    found: tuple[dict[str, None], ...] = ({}, {}, {})
    for node in nodes(expression):
        if isinstance(node, Reference):
            found[0][node.address] = None
        elif isinstance(node, BranchTest):
            found[1][node.address] = None
        elif isinstance(node, ActivityTest):
            found[2][node.address] = None
    return (*found[0], *found[1], *found[2])


def logical_atoms(expression: Expr) -> Iterator[Expr]:
    """Yield the subexpressions that `and`, `or` and `not` combine, from left to right."""
    if not isinstance(expression, And | Or | Not):
        yield expression
        return
    for term in children(expression):
        yield from logical_atoms(term)


def conjuncts(expression: Expr, *, is_true: bool) -> Iterator[tuple[Expr, bool]]:
    """Yield parts with truth values, all of which hold exactly if an expression has the truth value `is_true`.

    Yield only the expression itself, with `is_true`, if it is no such conjunction.
    """
    match expression:
        case And() | Or() if isinstance(expression, And) is is_true or len(expression.terms) == 1:
            for term in expression.terms:
                yield from conjuncts(term, is_true=is_true)
        case Not():
            yield from conjuncts(expression.term, is_true=not is_true)
        case _:
            yield expression, is_true


def implied_atom_truths(expression: Expr, *, is_true: bool) -> Iterator[tuple[Expr, bool]]:
    """Yield the atoms whose truth follows if an expression is true (or false, as `is_true` says), each with its truth.

    For example, if `a and not b` is true, `a` must be true and `b` false; if it is false, nothing follows.
    """
    return (found for found in conjuncts(expression, is_true=is_true) if not isinstance(found[0], And | Or))


def map_children(expression: Expr, change: Callable[[Expr], Expr]) -> Expr:
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
        case Constant() | Reference() | BranchTest() | ActivityTest():
            return expression


def rename_addresses(expression: Expr, names: Mapping[str, str]) -> Expr:
    """Return a copy of an expression with every address replaced according to `names`."""
    if isinstance(expression, Reference | BranchTest | ActivityTest):
        return replace(expression, address=names.get(expression.address, expression.address))
    return map_children(expression, lambda part: rename_addresses(part, names))
