"""Constraints about the uses of chains as an author would write them: once, not once for each number of uses."""

from collections.abc import Collection
from dataclasses import replace
from typing import TypeAlias

from spacelang.ir.chains import name_in_expressions, number_of_uses, place_of_use
from spacelang.ir.expr import (
    And,
    BranchTest,
    Constant,
    Expr,
    Not,
    Or,
    mentioned_addresses,
    references,
    rename_addresses,
)
from spacelang.ir.partial_evaluation import assume_inactive
from spacelang.ir.space import Constraint, Space

_Group: TypeAlias = tuple[str, bool, Expr]
"""The chain of a constraint, its kind, and its expression with the names of uses, without a test of the chain."""


def merge_constraints(space: Space) -> tuple[Constraint, ...]:
    """Return the constraints; those that differ in the number of uses of a chain only are one.

    The addresses are those of one number of uses. A test of the chain is left out if the others follow without it.
    """
    if not space.chains:
        return space.constraints
    found: list[_Group | Constraint] = []
    groups: dict[_Group, dict[int, Constraint]] = {}
    for constraint in space.constraints:
        parts = _parts(constraint, space.chains)
        if parts is None:
            found.append(constraint)
            continue
        group, number, core = parts
        if group not in groups:
            found.append(group)
        groups.setdefault(group, {})[number] = replace(constraint, expression=core)
    return tuple(each if isinstance(each, Constraint) else _merged(each, groups[each], space) for each in found)


def _parts(constraint: Constraint, chains: Collection[str]) -> tuple[_Group, int, Expr] | None:
    """Return the group of a constraint that names uses of one chain, the number of uses, and its expression."""
    addresses = mentioned_addresses(constraint.expression)
    numbers = {known for address in addresses if (known := number_of_uses(address, chains)) is not None}
    if len(numbers) != 1:
        return None
    ((chain, number),) = numbers
    core = _without_test(constraint, chain, number)
    names = {address: name_in_expressions(address, (chain,)) for address in addresses}
    return (chain, constraint.forbidden, rename_addresses(core, names)), number, core


def _without_test(constraint: Constraint, chain: str, number: int) -> Expr:
    """Return the expression without the test that the chain has this number of uses."""
    test, expression = BranchTest(chain, (str(number),)), constraint.expression
    guard: Expr = test if constraint.forbidden else Not(test)
    if isinstance(expression, And if constraint.forbidden else Or) and guard in expression.terms:
        assert isinstance(expression, And | Or)
        terms = tuple(term for term in expression.terms if term != guard)
        return terms[0] if len(terms) == 1 else replace(expression, terms=terms)
    return expression


def _merged(group: _Group, found: dict[int, Constraint], space: Space) -> Constraint:
    chain, forbidden, named = group
    branches = space.variables[chain].choice.branches
    places = {address: place_of_use(address) for address in mentioned_addresses(named)}
    most = max(place for place in places.values() if place)
    one = found[max(found)]

    def is_idle(number: int) -> bool:
        """Return True if the constraint, without a test, excludes nothing where the chain has this number of uses."""
        unreached = {address for address, place in places.items() if place > number}
        left = assume_inactive(named, unreached)
        return not unreached.isdisjoint(references(named)) or left == Constant(not forbidden)

    if all(int(b.name) in found or (int(b.name) < most and is_idle(int(b.name))) for b in branches):
        return one
    test = BranchTest(chain, tuple(branch.name for branch in branches if int(branch.name) in found))
    tested = And((test, one.expression)) if forbidden else Or((Not(test), one.expression))
    return replace(one, expression=tested)
