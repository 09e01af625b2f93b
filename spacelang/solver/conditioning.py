"""A space, given that decisions are taken: what conditions and constraints still say of the hyperparameters alone.

Members that constraints tie together over several stages fall apart into small groups as soon as it is known which of
them are reached; sampling and completing work on these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from spacelang.ir.expr import INACTIVE, Active, And, Constant, Not, Or, Worth, references
from spacelang.ir.given import OPEN, Open
from spacelang.ir.given import given as left_of
from spacelang.ir.space import Constraint, Hyperparameter, Kind, Product, Space, Variable
from spacelang.ir.walk import Structure


def given(members: Sequence[Variable], constraints: Sequence[Constraint], taken: Structure) -> Space:
    """The hyperparameters that are reached as a space, given the decisions that anything here asks about.

    `members` are hyperparameters with all that their conditions and constraints name.
    """
    settled = _Settled(members, taken)
    nodes = [node for member in members if (node := settled.node(member.address)) is not None]
    kept = [found for constraint in constraints if (found := settled.constraint(constraint)) is not None]
    return Space("", Product(Kind.SEQUENCE, tuple(nodes)), tuple(kept))


class _Settled:
    """Hyperparameters and constraints under known decisions; every hyperparameter is settled once."""

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
        condition = left_of(node.condition, self._known)
        if condition == Constant(False):
            return None
        return replace(node, condition=None if condition == Constant(True) else condition)

    def constraint(self, constraint: Constraint) -> Constraint | None:
        """What is left of a constraint; None where it does not apply or holds."""
        found = [self.node(address) for address in constraint.scope]
        if any(node is None for node in found):
            return None
        truth = left_of(constraint.expression, self._known)
        if truth == Constant(not constraint.forbidden):
            return None
        named = set(references(truth))
        lost = [n for n in found if n is not None and n.condition is not None and n.address not in named]
        if not lost:
            return replace(constraint, expression=truth)
        # It applies only where all that it named is active: what it names no longer has to be said.
        kept = Not(truth) if constraint.forbidden else truth
        inactive = Not(And(tuple(Active(node.address) for node in lost)))
        return replace(constraint, expression=Or((inactive, kept)), forbidden=False)

    def _known(self, address: str) -> Worth | Open:
        """Decisions are known, and hyperparameters that are not active."""
        if address not in self._members:
            return self._taken.get(address, INACTIVE)
        return INACTIVE if self.node(address) is None else OPEN
