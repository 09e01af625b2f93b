"""Test whether variables of a factor graph can be eliminated within the limit of joint states."""

from collections.abc import Collection
from heapq import heapify, heappop, heappush
from math import prod

from spacelang.solver.elimination import MAX_TABLE_SIZE, FactorGraph, TooManyJointStatesError


def can_eliminate(graph: FactorGraph, names: Collection[str]) -> bool:
    """Return True if the variables in `names` can be eliminated; they are only if a bound of the size exceeds it."""
    if largest_bucket(graph, names) <= MAX_TABLE_SIZE:
        return True
    try:
        graph.project_out(names)
    except TooManyJointStatesError:
        return False
    return True


def largest_bucket(graph: FactorGraph, names: Collection[str]) -> int:
    """Return an upper bound of the joint states of a bucket, if the variables in `names` are eliminated cheapest first.

    The bound ignores which joint states the factors exclude.
    """
    neighbours: dict[str, set[str]] = {name: {name} for name in graph.states}
    for factor in graph.factors:
        for name in factor.scope:
            neighbours[name].update(factor.scope)

    def cost(name: str) -> int:
        return prod(len(graph.states[each]) for each in neighbours[name])

    costs = {name: cost(name) for name in graph.states if name in names}
    queue = [(size, name) for name, size in costs.items()]
    heapify(queue)
    largest = 0
    while queue:
        size, variable = heappop(queue)
        if costs.get(variable) != size:
            continue  # outdated entry: the variable is eliminated or its cost has changed
        del costs[variable]
        largest = max(largest, size)
        if largest > MAX_TABLE_SIZE:
            return largest
        separator = neighbours.pop(variable) - {variable}
        for name in separator:
            neighbours[name] = (neighbours[name] | separator) - {variable}
            if name in costs:
                costs[name] = cost(name)
                heappush(queue, (costs[name], name))
    return largest
