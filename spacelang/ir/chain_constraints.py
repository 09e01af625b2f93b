"""Merge constraints that were expanded for each number of uses of a chain, as a text has each of them once."""

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
"""The key of mergeable constraints: a chain, True for `forbid`, and the expression without number of uses."""


def merge_constraints(space: Space) -> tuple[Constraint, ...]:
    """Return the constraints of a space; those that differ only in the number of uses of a chain are merged into one.

    A merged constraint has the addresses for the largest number of uses. It tests the number of uses only if it does
    not hold for all of them.
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
    return tuple(each if isinstance(each, Constraint) else _merge_group(each, groups[each], space) for each in found)


def _parts(constraint: Constraint, chains: Collection[str]) -> tuple[_Group, int, Expr] | None:
    """Return the group, the number of uses and the core of a constraint on one chain; None for any other constraint."""
    addresses = mentioned_addresses(constraint.expression)
    numbers = {known for address in addresses if (known := number_of_uses(address, chains)) is not None}
    if len(numbers) != 1:
        return None
    ((chain, number),) = numbers
    core = _without_test(constraint, chain, number)
    names = {address: name_in_expressions(address, (chain,)) for address in addresses}
    return (chain, constraint.forbidden, rename_addresses(core, names)), number, core


def _without_test(constraint: Constraint, chain: str, number: int) -> Expr:
    """Return the expression of a constraint without the test that the chain has this number of uses."""
    test, expression = BranchTest(chain, (str(number),)), constraint.expression
    guard: Expr = test if constraint.forbidden else Not(test)
    if isinstance(expression, And if constraint.forbidden else Or) and guard in expression.terms:
        assert isinstance(expression, And | Or)
        terms = tuple(term for term in expression.terms if term != guard)
        return terms[0] if len(terms) == 1 else replace(expression, terms=terms)
    return expression


def _merge_group(group: _Group, found: dict[int, Constraint], space: Space) -> Constraint:
    chain, forbidden, named = group
    branches = space.variables[chain].choice.branches
    places = {address: place_of_use(address) for address in mentioned_addresses(named)}
    most = max(place for place in places.values() if place)
    one = found[max(found)]

    def excludes_nothing(number: int) -> bool:
        """Return True if the constraint, without a test, excludes nothing where the chain has this number of uses."""
        unreached = {address for address, place in places.items() if place > number}
        left = assume_inactive(named, unreached)
        return not unreached.isdisjoint(references(named)) or left == Constant(not forbidden)

    if all(int(b.name) in found or (int(b.name) < most and excludes_nothing(int(b.name))) for b in branches):
        return one
    test = BranchTest(chain, tuple(branch.name for branch in branches if int(branch.name) in found))
    tested = And((test, one.expression)) if forbidden else Or((Not(test), one.expression))
    return replace(one, expression=tested)
