"""Where the steps of a pipeline stand, as the addresses of what is inside them say it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from spacelang.ir.space import Choice, Hyperparameter, Kind, Node, Operator, Product

OUTSIDE: Final = "/"
"""A group of this name is called as if it stood in the pipeline line, as an imported pipeline is."""


def base_of(operator: Operator) -> str:
    """The address of an operator, as those of what is inside it say it; empty where there is nothing."""
    for child in operator.children:
        return child.address.removesuffix(f".{child.name}")
    for name, value in operator.fixed:
        if isinstance(value, Operator) and base_of(value):
            return base_of(value).removesuffix(f".{name}")
    return ""


def addresses_of(node: Node) -> Iterator[str]:
    """The addresses of what stands at a place of a structure; stages stand nowhere."""
    match node:
        case Operator():
            yield from filter(None, (base_of(node),))
        case Choice():
            yield from (node.address,) if "." in node.address else ()
        case Product():
            yield from (node.children[0].address,) if node.kind is Kind.PERMUTATION else ()  # type: ignore[union-attr]
            for child in node.children:
                yield from addresses_of(child)
        case Hyperparameter():
            yield node.address


def groups_of(nodes: Sequence[Node], prefix: str) -> list[str]:
    """The name of the group that each step stands in.

    A step of which no address speaks is in a group if those before and behind it are in the same one.
    """
    found = [_group_of(node, prefix) for node in nodes]
    spoken = [place for place, node in enumerate(nodes) if any(addresses_of(node))]
    for before, behind in pairwise(spoken):
        if found[before] == found[behind]:
            found[before:behind] = [found[before]] * (behind - before)
    return found


def _group_of(node: Node, prefix: str) -> str:
    """The name of a group in which all of a step stands, OUTSIDE for the pipeline itself; empty where there is none."""
    if is_sequence(node):
        return ""
    before = f"{prefix}." if prefix else ""
    addresses = [*addresses_of(node)]
    if addresses and not any(address.startswith(before) for address in addresses):
        return OUTSIDE
    if not all(address.startswith(before) for address in addresses):
        return ""
    inside = {address.removeprefix(before) for address in addresses}
    firsts = {address.partition(".")[0] if "." in address else "" for address in inside}
    return firsts.pop() if len(firsts) == 1 else ""


def is_sequence(node: Node) -> bool:
    """Whether a node is steps one after the other, or none at all."""
    return isinstance(node, Product) and node.kind is Kind.SEQUENCE


def below(prefix: str, name: str) -> str:
    """The address of a name at the place that an address is of; empty is the pipeline itself."""
    return f"{prefix}.{name}" if prefix else name
