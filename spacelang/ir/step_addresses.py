"""Addresses of pipeline steps: the operator or group that a step belongs to, derived from the addresses inside it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from spacelang.ir.space import Choice, Hyperparameter, Node, Operator, Product, ProductKind

PIPELINE_GROUP: Final = "/"
"""The name of a group whose steps are addressed as if they stood in the pipeline line."""


def operator_address(operator: Operator) -> str:
    """Return the address of an operator, derived from its children; empty if it has no variables."""
    for child in operator.children:
        return child.address.removesuffix(f".{child.name}")
    for name, value in operator.fixed:
        if isinstance(value, Operator) and operator_address(value):
            return operator_address(value).removesuffix(f".{name}")
    return ""


def addresses_of(node: Node) -> Iterator[str]:
    """Yield the addresses of the parts of a structure that have one; decisions of stages are skipped."""
    match node:
        case Operator():
            yield from filter(None, (operator_address(node),))
        case Choice():
            yield from (node.address,) if "." in node.address else ()
        case Product():
            yield from (node.children[0].address,) if node.kind is ProductKind.PERMUTATION else ()  # type: ignore[union-attr]
            for child in node.children:
                yield from addresses_of(child)
        case Hyperparameter():
            yield node.address


def step_groups(nodes: Sequence[Node], prefix: str) -> list[str]:
    """Return the name of the group that each step belongs to.

    A step without addresses belongs to a group if the nearest steps with addresses before and after it belong to that
    group.
    """
    found = [_step_group(node, prefix) for node in nodes]
    spoken = [place for place, node in enumerate(nodes) if any(addresses_of(node))]
    for before, behind in pairwise(spoken):
        if found[before] == found[behind]:
            found[before:behind] = [found[before]] * (behind - before)
    return found


def _step_group(node: Node, prefix: str) -> str:
    """Return the group that contains all of a step: PIPELINE_GROUP for the pipeline itself, empty if there is none."""
    if is_sequence(node):
        return ""
    before = f"{prefix}." if prefix else ""
    addresses = [*addresses_of(node)]
    if addresses and not any(address.startswith(before) for address in addresses):
        return PIPELINE_GROUP
    if not all(address.startswith(before) for address in addresses):
        return ""
    inside = {address.removeprefix(before) for address in addresses}
    firsts = {address.partition(".")[0] if "." in address else "" for address in inside}
    return firsts.pop() if len(firsts) == 1 else ""


def is_sequence(node: Node) -> bool:
    """Return True if a node is a sequence of steps; the empty sequence counts."""
    return isinstance(node, Product) and node.kind is ProductKind.SEQUENCE


def join_address(prefix: str, name: str) -> str:
    """Return the address of `name` below the address `prefix`; an empty prefix is the pipeline itself."""
    return f"{prefix}.{name}" if prefix else name
