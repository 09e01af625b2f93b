"""Exact counts of joint values where comparisons of large ranges are only a part of a network.

The comparisons of a network fall into groups that share hyperparameters. A joint state of such a group says in which
cell each of its hyperparameters lies, and which comparisons are true. The number of its joint values is the weight of
the joint state, and the elimination does the rest. With `lo : int[1, 1000]` and `hi : {none} | int[lo, 1000]`:

    hi is none            1,000 values of `lo`
    lo <= hi is true    500,500 pairs

The joint values of one state are counted by sums along the ranges (`range_forest.py`), by the totals of one sum
(`summed_ranges.py`), or else by partial sums: for each combination of the sums that the remaining ranges still need to
know, the number of values of the ranges before them.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import Final

from spacelang.frozen import frozen
from spacelang.grouping import group_by_key
from spacelang.ir.domain import Grid, SimpleDomain
from spacelang.ir.expr import references
from spacelang.ir.value import to_fraction
from spacelang.solver.bucket_elimination import (
    Factor,
    FactorGraph,
    State,
    Table,
    UnionFind,
)
from spacelang.solver.constraint_network import UNREACHED, ConstraintNetwork, TooManyConnectedVariablesError
from spacelang.solver.constraint_network_compiler import group_connected_comparisons
from spacelang.solver.fourier_motzkin import Inequality, eliminate_variable, normalize_inequality, tightest_rows
from spacelang.solver.summed_ranges import relations_of_ranges

MAX_STEPS: Final = 5_000_000
"""The maximum number of values of ranges, and of totals of their sums, for the counts of one network; takes seconds."""
STEPS_PER_PARTIAL_SUM: Final = 5  # An entry of a table of partial sums takes about as long as so many values
MAX_IMPLIED: Final = 30  # The maximum number of implied inequalities


@frozen
class JointCounts:
    """A network whose factors have the numbers of joint values of the hyperparameters `addresses` as weights."""

    graph: FactorGraph
    addresses: frozenset[str]


@lru_cache(maxsize=256)
def joint_counts(network: ConstraintNetwork) -> JointCounts | None:
    """Return the numbers of joint values of the compared ranges of a network, or None if they are not counted.

    They are not counted if other expressions of the network are only tested, or if the counts take too long.
    """
    sizes = [cell.size for cells in network.cells.values() for cell in cells]
    if network.tested or not network.ranges or None in sizes:
        return None
    try:
        possible = network.possible_states
    except TooManyConnectedVariablesError:
        return None
    factors, counted, steps = [*network.factors], set[str](), _Steps(MAX_STEPS)
    for names in group_connected_comparisons(network.ranges):
        addresses = {address for name in names for address in references(network.ranges[name])}
        scope = {*names, *addresses}
        own = next((each for each in network.factors if scope == {*each.scope}), None)
        if own is None:
            return None
        table: Table = {}
        try:
            for joint in _possible_states(own.restrict_states(possible), network):
                table[joint] = _count_state(network, dict(zip(own.scope, joint, strict=True)), steps)
        except _TooManyStepsError:
            return None
        factors.append(Factor(own.scope, table))
        counted |= addresses
    return JointCounts(FactorGraph(network.states, tuple(factors)), frozenset(counted))


def _possible_states(factor: Factor, network: ConstraintNetwork) -> Iterator[tuple[State, ...]]:
    """Yield the joint states of a factor that all factors over some of its variables allow."""
    inner = [
        ([factor.scope.index(name) for name in each.scope], each.table)
        for each in network.factors
        if each.scope and {*each.scope} <= {*factor.scope}
    ]
    for joint in factor.table:
        if all(table.get(tuple([joint[place] for place in places])) for places, table in inner):
            yield joint


class _TooManyStepsError(Exception):
    """A count would take too long."""


class _Steps:
    """The number of steps that counts may still take."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, number: int) -> None:
        self.left -= number
        if self.left < 0:
            raise _TooManyStepsError


def _count_state(network: ConstraintNetwork, state: Mapping[str, State], steps: _Steps) -> int:
    """Return the number of joint values of the compared ranges in a joint state of cells and truths."""
    compared, needed = network.required_comparisons(state)
    inside = [
        network.cells[name][place] for name, place in state.items() if name in network.cells and place != UNREACHED
    ]
    free = prod(cell.size or 0 for cell in inside) // prod(cell.size or 0 for cell in compared.values())
    systems = ([row for rows in chosen for row in rows] for chosen in product(*needed))
    return free * sum(_count_values(compared, rows, steps) for rows in systems)


def _count_values(cells: Mapping[str, SimpleDomain], rows: Sequence[Inequality], steps: _Steps) -> int:
    """Return the number of joint values in cells of numbers that satisfy all inequalities."""
    grids = {name: cell for name, cell in cells.items() if isinstance(cell, Grid) and cell.size > 1}
    known = {name: to_fraction(cell.representative) for name, cell in cells.items() if name not in grids}
    left = [_with_known(row, known) for row in rows]
    if any(not row.factors and (row.constant > 0 or (row.strict and row.constant == 0)) for row in left):
        return 0
    ties = UnionFind(grids)
    for row in left:
        ties.union(row.factors)
    by_group = group_by_key((ties.find(next(iter(row.factors))), row) for row in left if row.factors)
    return prod(
        _count_connected(dict(group), by_group.get(ties.find(group[0][0]), []), steps)
        for group in ties.groups((name, (name, grid)) for name, grid in grids.items())
    )


def _with_known(row: Inequality, known: Mapping[str, Fraction]) -> Inequality:
    constant = row.constant + sum(factor * known[name] for name, factor in row.factors.items() if name in known)
    return Inequality({n: f for n, f in row.factors.items() if n not in known}, constant, row.strict)


def _count_connected(grids: Mapping[str, Grid], rows: list[Inequality], steps: _Steps) -> int:
    """Return the number of joint values of ranges that inequalities connect."""
    if not rows:
        return prod(grid.size for grid in grids.values())
    cells: dict[str, tuple[SimpleDomain, ...]] = {name: (grid,) for name, grid in grids.items()}
    relations = relations_of_ranges(grids, rows, cells)
    if relations is not None:
        steps.take(relations.size)
        return relations.count()
    of_indices = [inequality_of_indices(row, grids) for row in rows]
    return _count_by_partial_sums({n: g.size for n, g in grids.items()}, of_indices, steps)


def inequality_of_indices(row: Inequality, grids: Mapping[str, Grid]) -> Inequality:
    """Return an inequality of values as one of the indices of these values in their grids, with coprime factors."""
    constant = row.constant + sum(factor * to_fraction(grids[name].lower) for name, factor in row.factors.items())
    factors = {name: factor * to_fraction(grids[name].step) for name, factor in row.factors.items()}
    return normalize_inequality(Inequality(factors, constant, row.strict), frozenset(grids))


def _implied_rows(order: Sequence[str], sizes: Mapping[str, int], rows: Sequence[Inequality]) -> list[Inequality]:
    """Return what inequalities imply for the first ranges alone, which ends hopeless combinations early."""
    found, left = list[Inequality](), [*rows]
    for name in reversed(order[1:]):
        one = Fraction(1)
        ends = [Inequality({name: -one}, Fraction(0)), Inequality({name: one}, Fraction(1 - sizes[name]))]
        touching = [row for row in left if name in row.factors]
        rest = [row for row in left if name not in row.factors]
        left = tightest_rows([*rest, *eliminate_variable(name, [*touching, *ends])], frozenset(sizes))
        if len(left) > MAX_IMPLIED:
            break
        found += [row for row in left if row.factors and row not in rest]
    return found


def _count_by_partial_sums(sizes: Mapping[str, int], given: Sequence[Inequality], steps: _Steps) -> int:
    """Return the number of joint indices, each below its size, that satisfy all rows.

    A state is a tuple of the partial sum of each row; None for a row that holds whatever the remaining indices are.
    """
    order = _order(sizes, given)
    rows = [
        ({name: int(factor) for name, factor in row.factors.items()}, int(row.constant))
        for row in (*given, *_implied_rows(order, sizes, given))
    ]
    least, greatest = ([sum(_ends(f, sizes, bool(sign))) for f, _ in rows] for sign in (0, 1))
    states: dict[tuple[int | None, ...], int] = {tuple([constant for _, constant in rows]): 1}
    for name in order:
        mine = [factors.get(name, 0) for factors, _ in rows]
        last = sizes[name] - 1
        least = [end - min(factor * last, 0) for end, factor in zip(least, mine, strict=True)]
        greatest = [end - max(factor * last, 0) for end, factor in zip(greatest, mine, strict=True)]
        found: dict[tuple[int | None, ...], int] = {}
        for state, ways in states.items():
            first, end = _index_bounds(state, mine, least, last)
            if name == order[-1]:
                found[()] = found.get((), 0) + ways * max(end + 1 - first, 0)
                continue
            steps.take(STEPS_PER_PARTIAL_SUM * max(end + 1 - first, 0))
            for place in range(first, end + 1):
                after = tuple(
                    [
                        None if total is None or total + factor * place + most <= 0 else total + factor * place
                        for total, factor, most in zip(state, mine, greatest, strict=True)
                    ]
                )
                found[after] = found.get(after, 0) + ways
        states = found
    return states.get((), 0)


def _ends(factors: Mapping[str, int], sizes: Mapping[str, int], is_greatest: bool) -> Iterator[int]:
    for name, factor in factors.items():
        whole = factor * (sizes[name] - 1)
        yield max(whole, 0) if is_greatest else min(whole, 0)


def _index_bounds(
    state: tuple[int | None, ...], factors: Sequence[int], least: Sequence[int], last: int
) -> tuple[int, int]:
    """Return the first and last index with which each row can still hold; `least` is what the others add at least."""
    first, end = 0, last
    for total, factor, rest in zip(state, factors, least, strict=True):
        if total is None:
            continue
        if factor > 0:
            end = min(end, -(total + rest) // factor)
        elif factor < 0:
            first = max(first, -((total + rest) // factor))
        elif total + rest > 0:
            return 0, -1
    return first, end


def _order(sizes: Mapping[str, int], rows: Sequence[Inequality]) -> list[str]:
    """Return the ranges in an order with few unfinished partial sums at a time.

    The next range is one that few new inequalities contain; the largest range comes last.
    """
    largest = max(sizes, key=sizes.__getitem__)
    left = [name for name in sizes if name != largest]
    found: list[str] = []

    def opened(name: str) -> tuple[int, int]:
        own = [row.factors for row in rows if name in row.factors]
        return sum(not any(other in found for other in factors) for factors in own), sizes[name]

    while left:
        found.append(min(left, key=opened))
        left.remove(found[-1])
    return [*found, largest]
