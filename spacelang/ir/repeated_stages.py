"""Chains, `repeat(stage, least, most)`: a decision on how often a stage is used in a row, and its uses.

The alternatives of the decision `step` are named by numbers. The alternative `2` has the uses `step[1]` and `step[2]`
as its steps, which are decisions. Each alternative has uses of its own with addresses such as `step.2.step[1]`. The use
`step[1]` has the same key in all alternatives, as they are never active together. Expressions name it `step[1]`, too.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from spacelang.ir import space as ir
from spacelang.ir.domain import spell_parameter_name
from spacelang.ir.expr import (
    And,
    BranchTest,
    Compare,
    Constant,
    Expr,
    In,
    Not,
    Or,
    Reference,
    map_children,
    mentioned_addresses,
    references,
    rename_addresses,
)
from spacelang.ir.partial_evaluation import assume_inactive
from spacelang.ir.range_bounds import RangeBound, range_bounds
from spacelang.ir.space import Constraint, Space
from spacelang.ir.walk import rebuild_tree

MAX_USES_IN_CHAIN: Final = 8  # The maximum number of uses in a chain: all of its alternatives together have 36 of them


def name_of_nth_use(chain: str, place: int) -> str:
    """Return the name of use number `place` of a chain in expressions and configurations; `step[1]` is the first."""
    return f"{chain}[{place}]"


def address_of_nth_use(chain: str, number: int, place: int) -> str:
    """Return the address of use number `place`, counted from 1, in the alternative of a chain with `number` uses.

    For example, it is `step.3.step[2]` for the second of three uses.
    """
    return f"{chain}.{number}.{name_of_nth_use(chain, place)}"


def address_to_expression_name(address: str, chains: Collection[str]) -> str:
    """Return the name in expressions of an address inside a use of a chain; any other address is returned unchanged.

    >>> address_to_expression_name("step.2.step[1].PCA.whiten", {"step"})
    'step[1].PCA.whiten'
    """
    chain, _, rest = address.partition(".")
    return rest.partition(".")[2] or address if chain in chains else address


def chain_and_use_count(address: str, chains: Collection[str]) -> tuple[str, int] | None:
    """Return the chain and its number of uses for an address inside a use, or None for any other address."""
    words = address.split(".", 2)
    return (words[0], int(words[1])) if len(words) > 2 and words[0] in chains else None


def use_number_in_name(name: str) -> int:
    """Return the number of the use of a chain with which a name in expressions begins, or 0 for other names.

    >>> use_number_in_name("step[2].PCA.whiten")
    2
    """
    use = name.partition(".")[0]
    return int(use.partition("[")[2].removesuffix("]")) if use.endswith("]") else 0


def address_shared_by_uses(address: str, chains: Collection[str]) -> str:
    """Return the address that all uses of a chain share: without the count of uses and the number of the use.

    >>> address_shared_by_uses("step.2.step[1].PCA.whiten", {"step"})
    'step.PCA.whiten'
    """
    name = address_to_expression_name(address, chains)
    if name == address:
        return address
    use, dot, rest = name.partition(".")
    return f"{use.partition('[')[0]}{dot}{rest}"


def with_use_count_comparisons(expression: Expr, chains: Collection[str]) -> Expr:
    """Return an expression, for display only, in which tests of chains compare a number: `step == 2`."""
    if not isinstance(expression, BranchTest) or expression.address not in chains:
        return map_children(expression, lambda part: with_use_count_comparisons(part, chains)) if chains else expression
    number, values = Reference(expression.address), tuple(map(int, expression.branches))
    if len(values) == 1:
        return Compare("==", number, Constant(values[0]), expression.span)
    return In(number, values, expression.span) if values else Constant(False, expression.span)


def fill_chain_alternatives(chain: ir.Choice, uses: Sequence[ir.Choice]) -> ir.Choice:
    """Return the decision of a chain with the first of the `uses` in each alternative.

    The addresses of the uses begin with their names.
    """
    branches = []
    for branch in chain.branches:
        steps = tuple(
            _with_addresses(
                use, _prefix_change(use.address, address_of_nth_use(chain.address, int(branch.name), place))
            )
            for place, use in enumerate(uses[: int(branch.name)], 1)
        )
        node = ir.Product(ir.ProductKind.SEQUENCE, steps, branch.span) if steps else ir.SKIPPED_STEP
        branches.append(replace(branch, node=node))
    return replace(chain, branches=tuple(branches))


def keep_uses_only_in_longest_alternative(root: ir.Node) -> ir.Node:
    """Return a tree whose chains have their uses in their last alternative only, for display and counts."""

    def with_last(choice: ir.Choice) -> ir.Choice:
        if not choice.repeats:
            return choice
        *others, last = choice.branches
        return replace(choice, branches=(*(replace(each, node=ir.SKIPPED_STEP) for each in others), last))

    return rebuild_tree(root, lambda node: node, with_last)


def spell_decision_name(choice: ir.Choice) -> str:
    """Return the name of a decision as texts write it: in backticks if it is not a bare word or a use of a chain."""
    is_use = choice.key == choice.name and use_number_in_name(choice.name) > 0
    return choice.name if is_use else spell_parameter_name(choice.name)


def are_uses_alike(chain: ir.Choice) -> bool:
    """Return True if a text can declare all uses of a chain by one stage: they differ only in their numbers.

    They may differ more in a space that was restricted, or if the body of an alternative names a certain use.
    """
    uses = [use for branch in chain.branches for use in ir.children_of(branch.node)]
    return len({_use_in_stage(use, chain.name) for use in uses if isinstance(use, ir.Choice)}) == 1


def _use_in_stage(use: ir.Choice, chain: str) -> ir.Choice:
    """Return a use whose own name is replaced with that of the chain, so that equal uses become equal."""

    def change(address: str) -> str:
        is_inside = f"{address}.".startswith(f"{use.address}.")
        return f"{chain}{address[len(use.address) :]}" if is_inside else address_to_expression_name(address, (chain,))

    return _with_addresses(use, change, _prefix_change(use.key, chain))


def _prefix_change(before: str, after: str) -> Callable[[str], str]:
    return lambda address: f"{after}{address[len(before) :]}"


def _with_addresses(
    use: ir.Choice, change: Callable[[str], str], change_key: Callable[[str], str] = lambda key: key
) -> ir.Choice:
    """Return a use with other addresses, also in its conditions and computed values, and with other keys."""

    def change_hyperparameter(node: ir.Hyperparameter) -> ir.Hyperparameter:
        condition = None if node.condition is None else _with_names(node.condition, change)
        return replace(node, address=change(node.address), key=change_key(node.key), condition=condition)

    def change_choice(choice: ir.Choice) -> ir.Choice:
        name = change_key(choice.name) if choice.key == choice.name else choice.name
        return replace(choice, name=name, address=change(choice.address), key=change_key(choice.key))

    def change_computed(computed: ir.ComputedParameter) -> ir.ComputedParameter:
        expression = _with_names(computed.expression, change)
        return replace(computed, address=change(computed.address), expression=expression)

    moved = rebuild_tree(use, change_hyperparameter, change_choice, change_computed)
    assert isinstance(moved, ir.Choice)
    return moved


def _with_names(expression: Expr, change: Callable[[str], str]) -> Expr:
    return rename_addresses(expression, {address: change(address) for address in mentioned_addresses(expression)})


_Group: TypeAlias = tuple[str, bool, Expr]
"""The key of mergeable constraints: a chain, True for `forbid`, and the expression without number of uses."""


def merge_bounds_across_uses(space: Space) -> Mapping[str, Sequence[RangeBound]]:
    """Return the bounds at ends of ranges, by the address of the bounded hyperparameter, as a text can state them.

    In a chain, only bounds are returned that the body of its stage can state: those that are the same in all uses and
    name no other use. Each of them has the constraints of all uses.
    """
    bounds = range_bounds(space)
    if not space.chains:
        return bounds
    groups: dict[RangeBound, list[RangeBound]] = {}
    for each in (bound for several in bounds.values() for bound in several):
        groups.setdefault(_in_stage(each, space.chains), []).append(each)
    found: dict[str, list[RangeBound]] = {}
    for several in groups.values():
        known = chain_and_use_count(several[0].address, space.chains)
        branches = () if known is None else space.variables[known[0]].choice.branches
        if known is None or len(several) == sum(int(branch.name) for branch in branches):
            constraints = tuple(rule for each in several for rule in each.constraints)
            for each in several:
                found.setdefault(each.address, []).append(replace(each, constraints=constraints))
    return found


def _in_stage(bound: RangeBound, chains: Collection[str]) -> RangeBound:
    """Return a bound without its constraints, with the name of the chain instead of that of its use."""
    use = bound.address.split(".")[:3] if chain_and_use_count(bound.address, chains) else []

    def change(address: str) -> str:
        is_own = bool(use) and address.split(".")[:3] == use
        return address_shared_by_uses(address, chains) if is_own else address_to_expression_name(address, chains)

    names = {address: change(address) for address in mentioned_addresses(bound.limit)}
    limit = rename_addresses(bound.limit, names)
    return replace(bound, address=change(bound.address), limit=limit, constraints=())


def merge_constraints_across_uses(space: Space, without: Collection[RangeBound] = ()) -> tuple[Constraint, ...]:
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
    numbers = {known[1] for address in addresses if (known := chain_and_use_count(address, (chain,))) is not None}
    if len(numbers) != 1:
        return None
    (number,) = numbers
    core = _without_test(constraint, chain, number)
    names = {address: address_to_expression_name(address, (chain,)) for address in addresses}
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
    places = {address: use_number_in_name(address) for address in mentioned_addresses(named)}
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
