"""A space, given that decisions are taken: what conditions and constraints still say of the hyperparameters alone.

Members that constraints tie together over several stages fall apart into small groups as soon as it is known which of
them are reached; sampling and completing work on these.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from spacelang.ir.expr import (
    INACTIVE,
    Active,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Inactive,
    Is,
    Not,
    Or,
    Reference,
    holds,
    references,
    worth,
)
from spacelang.ir.space import Constraint, Hyperparameter, Kind, Product, Space, Variable
from spacelang.ir.value import is_number
from spacelang.ir.walk import Structure

TRUE: Final = Constant(True)
FALSE: Final = Constant(False)


def given(members: Sequence[Variable], constraints: Sequence[Constraint], taken: Structure) -> Space:
    """The hyperparameters that are reached as a space, given the decisions that anything here asks about.

    `members` are hyperparameters with all that their conditions and constraints name.
    """
    settled = _Settled(members, taken)
    nodes = [node for member in members if (node := settled.node(member.address)) is not None]
    kept = [found for constraint in constraints if (found := settled.constraint(constraint)) is not None]
    return Space("", Product(Kind.SEQUENCE, tuple(nodes)), tuple(kept))


class _Settled:
    """Expressions under known decisions; every hyperparameter is settled once."""

    def __init__(self, members: Sequence[Variable], taken: Structure) -> None:
        self._members: Mapping[str, Variable] = {member.address: member for member in members}
        self._taken = taken
        self._nodes: dict[str, Hyperparameter | None] = {}

    def node(self, address: str) -> Hyperparameter | None:
        """The hyperparameter with what is left of its condition; None where it is not active."""
        if address not in self._nodes:
            self._nodes[address] = self._settled_node(self._members[address])
        return self._nodes[address]

    def _settled_node(self, member: Variable) -> Hyperparameter | None:
        node = member.node
        assert isinstance(node, Hyperparameter)
        if any(self._taken.get(owner) != branch for owner, branch in member.owners):
            return None
        if node.condition is None:
            return node
        condition = self._truth(node.condition)
        return None if condition == FALSE else replace(node, condition=None if condition == TRUE else condition)

    def constraint(self, constraint: Constraint) -> Constraint | None:
        """What is left of a constraint; None where it does not apply or holds."""
        found = [self.node(address) for address in constraint.scope]
        if any(node is None for node in found):
            return None
        truth = self._truth(constraint.expression)
        named = set(references(truth))
        lost = [n for n in found if n is not None and n.condition is not None and n.address not in named]
        if truth == (FALSE if constraint.forbidden else TRUE):
            return None
        if not lost:
            return replace(constraint, expression=truth)
        # It applies only where all that it named is active: what it names no longer has to be said.
        kept = Not(truth) if constraint.forbidden else truth
        inactive = Not(And(tuple(Active(node.address) for node in lost)))
        return replace(constraint, expression=Or((inactive, kept)), forbidden=False)

    def _truth(self, expression: Expr) -> Expr:
        """What is left of a condition; what has no worth is false."""
        left = self._left(expression)
        if isinstance(left, Inactive):
            return FALSE
        return (TRUE if left.value is True else FALSE) if isinstance(left, Constant) else left

    def _left(self, expression: Expr) -> Expr | Inactive:
        match expression:
            case Constant():
                return expression
            case Reference():
                return INACTIVE if self.node(expression.address) is None else expression
            case Is():
                return Constant(self._taken.get(expression.address) in expression.branches)
            case Active():
                return FALSE if self.node(expression.address) is None else expression
            case And() | Or() | Not():
                return self._connected(expression)
            case Compare() | In():
                return self._atom(expression)
            case Arithmetic():
                arguments = (self._left(expression.left), self._left(expression.right))
                return _number(arguments, lambda left, right: replace(expression, left=left, right=right))
            case Call():
                found = tuple(map(self._left, expression.arguments))
                return _number(found, lambda *terms: replace(expression, arguments=terms))

    def _connected(self, expression: And | Or | Not) -> Expr:
        if isinstance(expression, Not):
            term = self._truth(expression.term)
            return Constant(term == FALSE) if isinstance(term, Constant) else Not(term)
        ending, passing = (FALSE, TRUE) if isinstance(expression, And) else (TRUE, FALSE)
        terms = tuple(term for term in map(self._truth, expression.terms) if term != passing)
        if ending in terms:
            return ending
        return replace(expression, terms=terms) if terms else passing

    def _atom(self, atom: Compare | In) -> Expr:
        inside = (atom.left, atom.right) if isinstance(atom, Compare) else (atom.item,)
        terms = [term for term in map(self._left, inside) if not isinstance(term, Inactive)]
        if len(terms) < len(inside):
            return FALSE
        found: Compare | In
        if isinstance(atom, Compare):
            found = replace(atom, left=terms[0], right=terms[1])
        else:
            found = replace(atom, item=terms[0])
        is_known = all(isinstance(term, Constant) for term in terms)
        return Constant(holds(found, lambda _: INACTIVE)) if is_known else found


def _number(arguments: tuple[Expr | Inactive, ...], rebuilt: Callable[..., Expr]) -> Expr | Inactive:
    """Arithmetic over what is left; inactive where an argument is, or is no number."""
    terms = tuple(term for term in arguments if not isinstance(term, Inactive))
    if len(terms) < len(arguments) or any(isinstance(t, Constant) and not is_number(t.value) for t in terms):
        return INACTIVE
    left = rebuilt(*terms)
    if not all(isinstance(term, Constant) for term in terms):
        return left
    value = worth(left, lambda _: INACTIVE)
    if isinstance(value, Inactive):
        return INACTIVE
    # What no value says exactly stays arithmetic.
    return Constant(value) if isinstance(value, int | float) else left
