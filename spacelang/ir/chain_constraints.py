"""Merge constraints and bounds that were expanded for the uses of a chain, as a text has each of them once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from spacelang.ir.chains import address_in_stage, name_in_expressions, number_of_uses, place_of_use
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
from spacelang.ir.range_bounds import RangeBound, range_bounds
from spacelang.ir.space import Constraint, Space

_Group: TypeAlias = tuple[str, bool, Expr]
"""The key of mergeable constraints: a chain, True for `forbid`, and the expression without number of uses."""


def merge_bounds(space: Space) -> Mapping[str, Sequence[RangeBound]]:
    """Return the bounds that name hyperparameters by address; in a chain, those that the body of its stage can state.

    Such a bound is the same in all uses, and does not name another use than its own. Its constraints are those of all.
    """
    bounds = range_bounds(space)
    if not space.chains:
        return bounds
    groups: dict[RangeBound, list[RangeBound]] = {}
    for each in (bound for several in bounds.values() for bound in several):
        groups.setdefault(_in_stage(each, space.chains), []).append(each)
    found: dict[str, list[RangeBound]] = {}
    for several in groups.values():
        known = number_of_uses(several[0].address, space.chains)
        branches = () if known is None else space.variables[known[0]].choice.branches
        if known is None or len(several) == sum(int(branch.name) for branch in branches):
            constraints = tuple(rule for each in several for rule in each.constraints)
            for each in several:
                found.setdefault(each.address, []).append(replace(each, constraints=constraints))
    return found


def _in_stage(bound: RangeBound, chains: Collection[str]) -> RangeBound:
    """Return a bound, without its constraints, with the name of the chain in place of the use that has the bound."""
    use = bound.address.split(".")[:3] if number_of_uses(bound.address, chains) else []

    def change(address: str) -> str:
        is_own = bool(use) and address.split(".")[:3] == use
        return address_in_stage(address, chains) if is_own else name_in_expressions(address, chains)

    names = {address: change(address) for address in mentioned_addresses(bound.limit)}
    limit = rename_addresses(bound.limit, names)
    return replace(bound, address=change(bound.address), limit=limit, constraints=())


def merge_constraints(space: Space, without: Collection[RangeBound] = ()) -> tuple[Constraint, ...]:
    """Return the constraints of a space; those that differ only in the number of uses of a chain are merged into one.

    A merged constraint has the addresses for the largest number of uses. It tests the number of uses only if it does
    not hold for all of them. The constraints of the bounds `without`, which a text states as ends of ranges, are left
    out.
    """
    left_out = {id(rule) for bound in without for rule in bound.constraints}
    constraints = tuple(rule for rule in space.constraints if id(rule) not in left_out)
    for chain in sorted(space.chains):
        constraints = _merge_numbers(constraints, chain, space)
    return constraints


def _merge_numbers(constraints: Sequence[Constraint], chain: str, space: Space) -> tuple[Constraint, ...]:
    """Return constraints, with those merged that differ only in the number of uses of one chain."""
    found: list[_Group | Constraint] = []
    groups: dict[_Group, dict[int, Constraint]] = {}
    for constraint in constraints:
        parts = _parts(constraint, chain)
        if parts is None:
            found.append(constraint)
            continue
        group, number, core = parts
        if group not in groups:
            found.append(group)
        groups.setdefault(group, {})[number] = replace(constraint, expression=core)
    return tuple(each if isinstance(each, Constraint) else _merge_group(each, groups[each], space) for each in found)


def _parts(constraint: Constraint, chain: str) -> tuple[_Group, int, Expr] | None:
    """Return the group, the number of uses and the core of a constraint on the uses of a chain; None for any other."""
    addresses = mentioned_addresses(constraint.expression)
    numbers = {known[1] for address in addresses if (known := number_of_uses(address, (chain,))) is not None}
    if len(numbers) != 1:
        return None
    (number,) = numbers
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
