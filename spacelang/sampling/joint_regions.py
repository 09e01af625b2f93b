"""Joint draws of ranges that comparisons connect: one region for each combination of their cells."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final

import numpy as np
from numpy.random import Generator

from spacelang.ir.expr import references
from spacelang.ir.space import Hyperparameter
from spacelang.ir.value import is_number
from spacelang.sampling.prior_draws import prior_of
from spacelang.sampling.regions import Region, make_region
from spacelang.sampling.tied_cells import TiedCell, TiedCells, can_be_tied
from spacelang.sampling.value_codes import Array, ValueCodes
from spacelang.sampling.weighted import group_rows_by_state, joint_state_key
from spacelang.solver.elimination import Factor, State, eliminate, supported_states
from spacelang.solver.network import UNREACHED, Network
from spacelang.solver.network_compiler import connected_comparisons

MAX_REGIONS: Final = 256
"""The maximum number of regions. With more joint states of cells, draws use plain rejection sampling."""
LEAST_MASS: Final = 1e-300
"""The weight of an empty region; the weights of states must not be 0."""


class JointRegions:
    """The regions from which ranges that comparisons connect are drawn together.

    For `a <= b`, each combination of a cell of `a` and a cell of `b` has one region: the values that satisfy the
    comparison.
    """

    def __init__(self, network: Network, *, advised: bool) -> None:
        """Make the regions of a network; the attribute `network` has their probabilities as additional factors."""
        nodes = {member.address: member.node for member in network.members if isinstance(member.node, Hyperparameter)}
        self._groups: list[_RegionGroup] = []
        with network.attribute_errors_to_constraints():
            possible = supported_states(eliminate(network, keep_trivial=True))
        for names in connected_comparisons(network.ranges):
            addresses = {address for name in names for address in references(network.ranges[name])}
            scope = {*names, *addresses}
            factor = next((each for each in network.factors if scope == {*each.scope}), None)
            factor = _all_states(scope, possible) if factor is None else factor.restrict_states(possible)
            if factor is not None and len(factor.table) <= MAX_REGIONS:
                cells = {
                    address: [
                        TiedCell(nodes[address].domain, cell, prior_of(nodes[address], advised=advised))
                        for cell in network.cells[address]
                    ]
                    for address in addresses
                }
                if all(can_be_tied(each) for mine in cells.values() for each in mine):
                    self._groups.append(_RegionGroup(network, names, factor, cells))
        self.network = replace(network, factors=(*network.factors, *(group.factor for group in self._groups)))

    @property
    def approximate_addresses(self) -> list[tuple[str, ...]]:
        """The addresses of the hyperparameters of each region whose draws are approximate."""
        regions = (each for group in self._groups for each in group.regions.values())
        return [tied.names for region, tied in regions if region.is_approximate]

    def draw(
        self, states: Mapping[str, Array], codes: Mapping[str, ValueCodes], count: int, rng: Generator
    ) -> tuple[dict[str, ValueCodes], Array]:
        """Return the codes with new values, drawn from the regions, and True for accepted rows."""
        found, accepted = dict(codes), np.ones(count, bool)
        for group in self._groups:
            for (region, tied), rows in group.rows(states):
                shares, mine = region.draw(len(rows), rng)
                accepted[rows] = accepted[rows] & mine
                for address, values in tied.codes(shares).items():
                    found[address].codes[rows] = values.codes
        return found, accepted


def _all_states(scope: Collection[str], possible: Mapping[str, Collection[State]]) -> Factor | None:
    """Return a factor of all joint states, or None if there are too many of them."""
    states = [possible[name] for name in scope]
    return Factor(tuple(scope), dict.fromkeys(product(*states), 1)) if prod(map(len, states)) <= MAX_REGIONS else None


class _RegionGroup:
    """The regions of a group of connected comparisons, by the joint state of their cells and truths."""

    def __init__(
        self, network: Network, names: Sequence[str], factor: Factor, cells: Mapping[str, Sequence[TiedCell]]
    ) -> None:
        self._scope = factor.scope
        self._sizes = [max(joint[place] for joint in factor.table) + 2 for place in range(len(factor.scope))]
        self.regions: dict[int, tuple[Region, TiedCells]] = {}
        masses: dict[tuple[State, ...], float] = {}
        for joint in factor.table:
            state = dict(zip(factor.scope, joint, strict=True))
            inside = {a: mine[state[a]] for a, mine in cells.items() if state[a] != UNREACHED}
            inside = {a: each for a, each in inside.items() if is_number(each.cell.representative)}
            atoms = [(network.ranges[name], bool(state[name])) for name in names]
            required = [(atom, truth) for atom, truth in atoms if inside.keys() >= set(references(atom))]
            tied = {address: inside[address] for atom, _ in required for address in references(atom)}
            masses[joint] = 1.0
            if any(each.cell.size != 1 for each in tied.values()):
                together = TiedCells(tied, required)
                region = make_region(together)
                masses[joint] = max(region.mass, LEAST_MASS)
                self.regions[joint_state_key(joint, self._sizes)] = region, together
        self.factor = Factor(factor.scope, masses)

    def rows(self, states: Mapping[str, Array]) -> Iterator[tuple[tuple[Region, TiedCells], Array]]:
        """Yield each region whose joint state occurs in `states`, with the rows of this joint state."""
        for key, rows in group_rows_by_state([states[name] for name in self._scope], self._sizes):
            if key in self.regions:
                yield self.regions[key], rows
