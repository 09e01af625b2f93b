"""Grouping of values by key, and cycles of dependency graphs."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def group_by_key(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Return the values of each key as a list; keys and values keep their order.

    `group_by_key([("a", 1), ("b", 2), ("a", 3)])` is `{"a": [1, 3], "b": [2]}`.
    """
    found: dict[K, list[T]] = {}
    for key, thing in pairs:
        found.setdefault(key, []).append(thing)
    return found


def find_cycles(needs: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the cycles of a dependency graph, which maps each node to the nodes that it needs.

    A cycle is a tuple of its nodes; of cycles that share nodes, only some are returned.
    """
    left = {address: set(after) & needs.keys() for address, after in needs.items()}
    found: list[tuple[str, ...]] = []
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            # The error lists the cycle against the direction of the graph, with the first node again at the end.
            cycle = tuple(reversed(error.args[1][1:]))
            found.append(cycle)
            left = {address: after - set(cycle) for address, after in left.items() if address not in cycle}
        else:
            return found
