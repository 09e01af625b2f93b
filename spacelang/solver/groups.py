"""Groups: the variables that conditions and constraints tie together, and nothing more.

Each group is solved on its own, within the branches that all of its variables lie below (its context); what no
expression ties together is never listed together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from spacelang.facts import fact
from spacelang.ir.expr import INACTIVE, holds, scope
from spacelang.ir.space import Constraint, Hyperparameter, Variable
from spacelang.solver.ties import Ties

Context: TypeAlias = tuple[tuple[str, str], ...]
"""Branches that are taken, outermost first: (address of the decision, name of the branch)."""


@fact
class Group:
    """Variables that are tied together, in the order of the text, with the constraints over them."""

    context: Context
    members: tuple[Variable, ...]
    constraints: tuple[Constraint, ...]


def groups_of(variables: Mapping[str, Variable], constraints: Sequence[Constraint]) -> tuple[Group, ...]:
    """The groups, in the order of their first variables; every variable is in exactly one.

    Constraints that name no variable at all come last, in a group without members.
    """
    ties = Ties(variables)
    for variable in variables.values():
        if isinstance(variable.node, Hyperparameter) and variable.node.condition is not None:
            ties.tie([variable.address, *scope(variable.node.condition)])
    for constraint in constraints:
        ties.tie((*scope(constraint.expression), *_outside(variables, constraint)))
    _tie_owners(variables, ties)
    rules: dict[str, list[Constraint]] = {}
    for constraint in constraints:
        for address in scope(constraint.expression)[:1]:
            rules.setdefault(ties.root(address), []).append(constraint)
    loose = tuple(constraint for constraint in constraints if not scope(constraint.expression))
    tied = (
        Group(common_context(member.owners for member in members), members, tuple(rules.get(root, ())))
        for root, members in _members(variables, ties).items()
    )
    return (*tied, *((Group((), (), loose),) if loose else ()))


def _outside(variables: Mapping[str, Variable], constraint: Constraint) -> Iterator[str]:
    """The owners of what a constraint tests if it says something about where none of it is reached.

    Where a constraint names a hyperparameter it says nothing there.
    """
    if constraint.scope or holds(constraint.expression, lambda _: INACTIVE) != constraint.forbidden:
        return
    for address in scope(constraint.expression):
        yield from (owner for owner, _ in variables[address].owners)


def _tie_owners(variables: Mapping[str, Variable], ties: Ties) -> None:
    """Add the decisions between a group's context and its members: whether a member is reached depends on them."""
    changed = True
    while changed:
        changed = False
        for members in list(_members(variables, ties).values()):
            if len(members) > 1:
                for address, owner in _inner_owners(members):
                    changed |= ties.tie([address, owner])


def _inner_owners(members: tuple[Variable, ...]) -> Iterator[tuple[str, str]]:
    depth = len(common_context(member.owners for member in members))
    return ((member.address, owner) for member in members for owner, _ in member.owners[depth:])


def _members(variables: Mapping[str, Variable], ties: Ties) -> dict[str, tuple[Variable, ...]]:
    members: dict[str, list[Variable]] = {}
    for address, variable in variables.items():
        members.setdefault(ties.root(address), []).append(variable)
    return {root: tuple(found) for root, found in members.items()}


def common_context(contexts: Iterable[Context]) -> Context:
    """The branches that all contexts begin with."""
    first, *others = contexts
    for other in others:
        length = 0
        for mine, its in zip(first, other, strict=False):
            if mine != its:
                break
            length += 1
        first = first[:length]
    return first
