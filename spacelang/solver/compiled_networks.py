"""Compile variables and constraints into networks; what cannot be decided is left to the draws."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import prod
from operator import is_

from spacelang.ir.expr import Expr
from spacelang.ir.space import Constraint, Variable
from spacelang.solver.elimination import (
    MAX_TABLE_SIZE,
    FactorGraph,
    TooManyJointStatesError,
    VariableGroup,
    group_variables,
)
from spacelang.solver.network import Network, TooManyConnectedVariablesError, UndecidableError
from spacelang.solver.network_compiler import NetworkCompiler


def compile_networks(
    variables: Mapping[str, Variable], constraints: Sequence[Constraint], known: Iterable[Network] = ()
) -> Iterator[Network]:
    """Return the networks by their first members. Raise TooManyConnectedVariablesError.

    What the solver cannot decide is left to the draws, which are tested with it (`Network.tested`). Networks of the
    same variables and constraints are taken from the `known` ones.
    """
    found = {each.members[0].address: each for each in known if each.members}
    for group in group_variables(variables, constraints):
        same = found.get(group.members[0].address) if group.members else None
        yield same if same is not None and _has_same_content(same, group) else _compile_network(group)


def _has_same_content(one: Network, group: VariableGroup) -> bool:
    return (
        len(one.members) == len(group.members)
        and all(map(is_, one.members, group.members))
        and one.constraints == group.constraints
    )


def _compile_network(tied: VariableGroup) -> Network:
    """Return the network of connected variables, with as few expressions left to the draws as are found."""
    tested: dict[Expr, None] = {}
    while True:
        compiler = NetworkCompiler(tied, tested)
        try:
            found = compiler.run()
            if not compiler.tabulated or _can_eliminate(found, found.existential_variables):
                return found
        except UndecidableError as error:
            if error.atom in tested:
                raise
            tested[error.atom] = None
            continue
        except TooManyConnectedVariablesError:
            if not compiler.tabulated:
                raise
        tested |= compiler.tabulated


def _can_eliminate(graph: FactorGraph, names: Collection[str]) -> bool:
    """Return True if the variables in `names` can be eliminated; they are only if a bound of the size exceeds it."""
    if _largest_bucket(graph, names) <= MAX_TABLE_SIZE:
        return True
    try:
        graph.project_out(names)
    except TooManyJointStatesError:
        return False
    return True


def _largest_bucket(graph: FactorGraph, names: Collection[str]) -> int:
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
