"""Chains, `repeat(stage, least, most)`: a decision on how often a stage is used in a row, and its uses.

The alternatives of the decision `step` are named by numbers. The alternative `2` has the uses `step[1]` and `step[2]`
as its steps, which are decisions. Each alternative has uses of its own with addresses such as `step.2.step[1]`. The use
`step[1]` has the same key in all alternatives, as they are never active together. Expressions name it `step[1]`, too.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from spacelang.ir import space as ir
from spacelang.ir.domain import spell_parameter_name
from spacelang.ir.expr import (
    BranchTest,
    Compare,
    Constant,
    Expr,
    In,
    Reference,
    mentioned_addresses,
    rename_addresses,
    with_children,
)
from spacelang.ir.walk import rebuild_tree

MAX_USES_IN_CHAIN: Final = 8  # The maximum number of uses in a chain: all of its alternatives together have 36 of them


def name_of_use(chain: str, place: int) -> str:
    """Return the name of a use of a chain in expressions and configurations; places count from 1."""
    return f"{chain}[{place}]"


def address_of_use(chain: str, number: int, place: int) -> str:
    """Return the address of a use in the alternative of the chain that has `number` uses."""
    return f"{chain}.{number}.{name_of_use(chain, place)}"


def name_in_expressions(address: str, chains: Collection[str]) -> str:
    """Return the name in expressions of an address inside a use of a chain; any other address is returned unchanged.

    >>> name_in_expressions("step.2.step[1].PCA.whiten", {"step"})
    'step[1].PCA.whiten'
    """
    chain, _, rest = address.partition(".")
    return rest.partition(".")[2] or address if chain in chains else address


def number_of_uses(address: str, chains: Collection[str]) -> tuple[str, int] | None:
    """Return the chain and its number of uses for an address inside a use, or None for any other address."""
    words = address.split(".", 2)
    return (words[0], int(words[1])) if len(words) > 2 and words[0] in chains else None


def place_of_use(name: str) -> int:
    """Return the place of the use of a chain that a name in expressions begins with, or 0 for other names.

    >>> place_of_use("step[2].PCA.whiten")
    2
    """
    use = name.partition(".")[0]
    return int(use.partition("[")[2].removesuffix("]")) if use.endswith("]") else 0


def address_in_stage(address: str, chains: Collection[str]) -> str:
    """Return the address that all uses of a chain share: without the number of uses and the place of the use.

    >>> address_in_stage("step.2.step[1].PCA.whiten", {"step"})
    'step.PCA.whiten'
    """
    name = name_in_expressions(address, chains)
    if name == address:
        return address
    use, dot, rest = name.partition(".")
    return f"{use.partition('[')[0]}{dot}{rest}"


def with_numbers_of_uses(expression: Expr, chains: Collection[str]) -> Expr:
    """Return an expression, for display only, in which tests of chains compare a number: `step == 2`."""
    if not isinstance(expression, BranchTest) or expression.address not in chains:
        return with_children(expression, lambda part: with_numbers_of_uses(part, chains)) if chains else expression
    number, values = Reference(expression.address), tuple(map(int, expression.branches))
    if len(values) == 1:
        return Compare("==", number, Constant(values[0]), expression.span)
    return In(number, values, expression.span) if values else Constant(False, expression.span)


def with_uses(chain: ir.Choice, uses: Sequence[ir.Choice]) -> ir.Choice:
    """Return the decision of a chain with the first of the `uses` in each alternative.

    The addresses of the uses begin with their names.
    """
    branches = []
    for branch in chain.branches:
        steps = tuple(
            _with_addresses(use, _prefix_change(use.address, address_of_use(chain.address, int(branch.name), place)))
            for place, use in enumerate(uses[: int(branch.name)], 1)
        )
        node = ir.Product(ir.ProductKind.SEQUENCE, steps, branch.span) if steps else ir.SKIPPED_STEP
        branches.append(replace(branch, node=node))
    return replace(chain, branches=tuple(branches))


def with_each_use_once(root: ir.Node) -> ir.Node:
    """Return a tree whose chains have their uses in their last alternative only, for display and counts."""

    def with_last(choice: ir.Choice) -> ir.Choice:
        if not choice.repeats:
            return choice
        *others, last = choice.branches
        return replace(choice, branches=(*(replace(each, node=ir.SKIPPED_STEP) for each in others), last))

    return rebuild_tree(root, lambda node: node, with_last)


def spell_decision_name(choice: ir.Choice) -> str:
    """Return the name of a decision as texts write it: in backticks if it is not a bare word or a use of a chain."""
    is_use = choice.key == choice.name and place_of_use(choice.name) > 0
    return choice.name if is_use else spell_parameter_name(choice.name)


def are_uses_alike(chain: ir.Choice) -> bool:
    """Return True if all uses of a chain are those of one stage, in which its name means the use around a body.

    They may differ in a space that was restricted, or if a body of the stage names a certain use.
    """
    uses = [use for branch in chain.branches for use in ir.children_of(branch.node)]
    return len({_use_in_stage(use, chain.name) for use in uses if isinstance(use, ir.Choice)}) == 1


def _use_in_stage(use: ir.Choice, chain: str) -> ir.Choice:
    """Return a use with the name of the chain in place of its own."""

    def change(address: str) -> str:
        is_inside = f"{address}.".startswith(f"{use.address}.")
        return f"{chain}{address[len(use.address) :]}" if is_inside else name_in_expressions(address, (chain,))

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
