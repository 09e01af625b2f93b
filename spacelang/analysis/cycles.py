"""Cycles in dependency graphs."""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter


def find_cycles(needs: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the cycles of a dependency graph, which maps each address to those that it needs.

    Some of several overlapping cycles may be missing.
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
