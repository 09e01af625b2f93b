"""Joint sampling of hyperparameters that constraints connect: draw their cells by probability, then values inside."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import exp, prod
from typing import Final

import numpy as np
from numpy.random import Generator

from spacelang.ir.domain import SimpleDomain
from spacelang.ir.expr import references
from spacelang.ir.prior import Prior
from spacelang.ir.space import Constraint, Hyperparameter
from spacelang.ir.value import is_number
from spacelang.sampling.compared_cells import ComparedCell, ComparedCells, can_be_computed_from_shares
from spacelang.sampling.constrained_regions import MIN_ACCEPTED, PILOT_DRAWS, Region, make_region
from spacelang.sampling.draw_acceptance import ENOUGH_KEPT, FIRST_DRAWS, MEASURED_DRAWS, AcceptanceRate, DrawTest
from spacelang.sampling.independent_sampling import CellSampler
from spacelang.sampling.prior_draws import prior_of, probability_by_prior
from spacelang.sampling.related_range_samplers import RangeForestSampler, SummedRangeSampler
from spacelang.sampling.value_codes import Array, ValueCodes, concatenate_codes
from spacelang.sampling.weighted_sampling import JointWeightedSampler, group_rows_by_state, joint_state_key
from spacelang.solver.bucket_elimination import Factor, State
from spacelang.solver.constraint_network import (
    MAX_ATTEMPTS,
    MAX_TESTED_ATTEMPTS,
    UNREACHED,
    ConstraintNetwork,
    SamplingFailedError,
)
from spacelang.solver.constraint_network_compiler import group_connected_comparisons
from spacelang.solver.domain_cells import probability_of_cell
from spacelang.solver.model import SolverModel, SolverWeights, WeightedModelSolver
from spacelang.solver.range_forest import RangeForest
from spacelang.solver.summed_ranges import SummedRanges, exactly_drawable_relations, simplex_remedy

POINT_WEIGHT: Final = 1e-30
"""The weight of a single point of a range.

It is never drawn unless nothing else is possible. Products of several such weights do not underflow to 0.
"""
MAX_BATCH: Final = 1 << 16  # The maximum number of joint draws per attempt of rejection sampling
MAX_REGIONS: Final = 256
"""The maximum number of regions. With more joint states of cells, draws use plain rejection sampling."""
LEAST_MASS: Final = 1e-300
"""The least weight of a region, relative to that of the largest one; the weights of states must not be 0."""


class CellProbabilityWeights(SolverWeights):
    """Weights of cells: the probability of a random value of the domain, which follows its prior if `advised`."""

    existential = False

    def __init__(self, *, advised: bool) -> None:
        self._advised = advised

    def cell_weight(self, hyperparameter: Hyperparameter, cell: SimpleDomain) -> float:
        """Return the probability, but at least a tiny weight: single points are drawn if nothing else is left."""
        prior = prior_of(hyperparameter, advised=self._advised)
        if prior is None:
            return max(probability_of_cell(cell, hyperparameter.domain), POINT_WEIGHT)
        return max(probability_by_prior(cell, hyperparameter.domain, prior), POINT_WEIGHT)


def _exact_sampler(
    network: ConstraintNetwork, priors: Mapping[str, Prior | None]
) -> RangeForestSampler | SummedRangeSampler | None:
    match exactly_drawable_relations(network):
        case RangeForest() as ordered:
            return RangeForestSampler(ordered, priors)
        case SummedRanges() as summed:
            return SummedRangeSampler(summed, priors)
        case None:
            return None


FEW_DRAWS: Final = 32
"""The number of draws that tell whether approximate draws are possible, if nothing else is tested."""


class JointSampler:
    """A sampler of the hyperparameters of one network that contains no decision.

    A state of the network says which cell each hyperparameter is in, and which comparisons between ranges are true.
    Values are drawn inside the cells and rejected unless the comparisons are true or false as the state says. The same
    test is made with expressions that the solver cannot decide, if there are any (`tests_draws`). Both truths of a
    comparison have the same weight, so the accepted values have exactly the conditional distribution. If fewer than one
    draw in five would be accepted, values are drawn from regions of the cells (see `constrained_regions.py`).
    """

    def __init__(
        self, model: SolverModel, network: ConstraintNetwork, constraints: tuple[Constraint, ...], *, advised: bool
    ) -> None:
        """Compile the samplers; `constraints` are reported in `SamplingFailedError` if values are too rare."""
        self.network = network
        self._is_rejecting = len(network.tested) > 0 or len(network.ranges) > 0
        self._constraints = constraints
        members = {member.address: member for member in network.members}
        self._remedy = simplex_remedy(members, network.constraints)
        solver = WeightedModelSolver(model, CellProbabilityWeights(advised=advised))
        solved = solver.solve(network)
        # The decisions may have been drawn without deciding what their combination leaves possible.
        self._is_possible = solved.total > 0
        self.tests_draws = len(network.tested) > 0 or not self._is_possible
        self._regions: JointRegions | None = None
        if not self._is_possible:
            return
        self._state_sampler = JointWeightedSampler(solved)
        nodes = {address: each.node for address, each in members.items() if isinstance(each.node, Hyperparameter)}
        self._test = DrawTest(network)
        priors = {address: prior_of(node, advised=advised) for address, node in nodes.items()}
        self._cells = {
            address: CellSampler(nodes[address].domain, mine, priors[address])
            for address, mine in network.cells.items()
        }
        self._exact = _exact_sampler(network, priors)
        if self._exact is None and network.ranges and self._acceptance_rate() < MIN_ACCEPTED:
            self._regions = JointRegions(network, advised=advised)
            self._state_sampler = JointWeightedSampler(solver.solve(self._regions.network))

    @property
    def approximately_sampled_addresses(self) -> Sequence[tuple[str, ...]]:
        """The addresses of each group of connected ranges that is too large for exact draws."""
        return () if self._regions is None else self._regions.approximately_sampled_addresses

    def _acceptance_rate(self) -> float:
        """Return the acceptance rate of a few draws, which do not depend on the random state of the user."""
        states, codes, accepted = self._draw_once(PILOT_DRAWS, np.random.default_rng(0))
        return float((accepted & self._test.passes(states, codes, PILOT_DRAWS)).mean())

    def measure_acceptance_rate(self) -> AcceptanceRate:
        """Return how many draws are kept; the draws do not depend on the random state of the user."""
        if not self._is_possible:
            return AcceptanceRate(0, MEASURED_DRAWS)
        rng, kept, drawn = np.random.default_rng(0), 0, 0
        # Approximate draws take long, and either many are kept or none.
        size, enough = FIRST_DRAWS, ENOUGH_KEPT
        if self.approximately_sampled_addresses:
            size, enough = PILOT_DRAWS if self.tests_draws else FEW_DRAWS, 1
        while drawn < MEASURED_DRAWS and kept < enough:
            states, codes, accepted = self._draw_once(size, rng)
            kept += int((accepted & self._test.passes(states, codes, size)).sum())
            drawn, size = drawn + size, FIRST_DRAWS
        return AcceptanceRate(kept, drawn)

    def draw(self, count: int, rng: Generator) -> Iterator[tuple[str, Array, ValueCodes]]:
        """Yield each address with its active entries and values. Raise SamplingFailedError if too few draws fit."""
        if not self._is_possible:
            raise SamplingFailedError(self._constraints, self._remedy)
        if self._exact is not None:
            yield from self._exact.draw(count, rng)
            return
        if self._is_rejecting:
            states, codes = self._draw_with_rejection(count, rng)
        else:
            states, codes, _ = self._draw_once(count, rng)
        for address, values in codes.items():
            active = np.flatnonzero(states[address] >= 0)
            yield address, active, values if len(active) == count else values.take(active)

    def _draw_once(self, count: int, rng: Generator) -> tuple[dict[str, Array], dict[str, ValueCodes], Array]:
        """Return one draw for each row: its states, the values in their cells, and True if the regions accept it."""
        states = self._state_sampler.draw(count, rng)
        codes = {address: cells.draw(states[address], rng) for address, cells in self._cells.items()}
        if self._regions is None:
            return states, codes, np.ones(count, bool)
        return states, *self._regions.draw(states, codes, count, rng)

    def _draw_with_rejection(self, count: int, rng: Generator) -> tuple[dict[str, Array], dict[str, ValueCodes]]:
        kept: list[tuple[dict[str, Array], dict[str, ValueCodes]]] = []
        attempts = MAX_TESTED_ATTEMPTS if self.tests_draws else MAX_ATTEMPTS
        found, tried, size = 0, 0, count
        while found < count:
            if tried >= attempts * (found + 1):
                raise SamplingFailedError(self._constraints, self._remedy, attempts)
            states, codes, accepted = self._draw_once(size, rng)
            good = np.flatnonzero(accepted & self._test.passes(states, codes, size))[: count - found]
            kept.append(({a: s[good] for a, s in states.items()}, {a: v.take(good) for a, v in codes.items()}))
            found, tried = found + len(good), tried + size
            size = min(MAX_BATCH, max(2 * size, (count - found) * tried // max(found, 1)))
        return (
            {name: np.concatenate([states[name] for states, _ in kept]) for name in kept[0][0]},
            {address: concatenate_codes([codes[address] for _, codes in kept]) for address in kept[0][1]},
        )


class JointRegions:
    """The regions from which ranges that comparisons connect are drawn together.

    For `a <= b`, each combination of a cell of `a` and a cell of `b` has one region: the values that satisfy the
    comparison.
    """

    def __init__(self, network: ConstraintNetwork, *, advised: bool) -> None:
        """Make the regions of a network; the attribute `network` has their probabilities as additional factors."""
        nodes = {member.address: member.node for member in network.members if isinstance(member.node, Hyperparameter)}
        self._groups: list[_RegionGroup] = []
        possible = network.possible_states
        for names in group_connected_comparisons(network.ranges):
            addresses = {address for name in names for address in references(network.ranges[name])}
            scope = {*names, *addresses}
            factor = next((each for each in network.factors if scope == {*each.scope}), None)
            factor = _all_states(scope, possible) if factor is None else factor.restrict_states(possible)
            if factor is not None and len(factor.table) <= MAX_REGIONS:
                cells = {
                    address: [
                        ComparedCell(nodes[address].domain, cell, prior_of(nodes[address], advised=advised))
                        for cell in network.cells[address]
                    ]
                    for address in addresses
                }
                if all(can_be_computed_from_shares(each) for mine in cells.values() for each in mine):
                    self._groups.append(_RegionGroup(network, names, factor, cells))
        self.network = replace(network, factors=(*network.factors, *(group.factor for group in self._groups)))

    @property
    def approximately_sampled_addresses(self) -> list[tuple[str, ...]]:
        """The addresses of the hyperparameters of each region whose draws are approximate."""
        regions = (each for group in self._groups for each in group.regions.values())
        return [tied.names for region, tied in regions if region.is_approximate]

    def draw(
        self, states: Mapping[str, Array], codes: Mapping[str, ValueCodes], count: int, rng: Generator
    ) -> tuple[dict[str, ValueCodes], Array]:
        """Return the codes with new values, drawn from the regions of the states, and True for accepted rows.

        Rows whose states have no region keep their values and are accepted.
        """
        found, accepted = dict(codes), np.ones(count, bool)
        for group in self._groups:
            for (region, tied), rows in group.rows(states):
                shares, mine = region.draw(len(rows), rng)
                accepted[rows] = accepted[rows] & mine
                for address, values in tied.codes_from_shares(shares).items():
                    found[address].codes[rows] = values.codes
        return found, accepted


def _all_states(scope: Collection[str], possible: Mapping[str, Collection[State]]) -> Factor | None:
    """Return a factor of all joint states, or None if there are too many of them."""
    states = [possible[name] for name in scope]
    return Factor(tuple(scope), dict.fromkeys(product(*states), 1)) if prod(map(len, states)) <= MAX_REGIONS else None


class _RegionGroup:
    """The regions of a group of connected comparisons, by the joint state of their cells and truths."""

    def __init__(
        self,
        network: ConstraintNetwork,
        names: Sequence[str],
        factor: Factor,
        cells: Mapping[str, Sequence[ComparedCell]],
    ) -> None:
        self._scope = factor.scope
        self._sizes = [max(joint[place] for joint in factor.table) + 2 for place in range(len(factor.scope))]
        self.regions: dict[int, tuple[Region, ComparedCells]] = {}
        log_masses: dict[tuple[State, ...], float] = {}
        for joint in factor.table:
            state = dict(zip(factor.scope, joint, strict=True))
            inside = {a: mine[state[a]] for a, mine in cells.items() if state[a] != UNREACHED}
            inside = {a: each for a, each in inside.items() if is_number(each.cell.representative)}
            atoms = [(network.ranges[name], bool(state[name])) for name in names]
            required = [(atom, truth) for atom, truth in atoms if inside.keys() >= set(references(atom))]
            tied = {address: inside[address] for atom, _ in required for address in references(atom)}
            log_masses[joint] = 0.0
            if any(each.cell.size != 1 for each in tied.values()):
                together = ComparedCells(tied, required)
                region = make_region(together)
                log_masses[joint] = region.log_mass
                self.regions[joint_state_key(joint, self._sizes)] = region, together
        most = max(*log_masses.values(), -sys.float_info.max)
        masses = {joint: max(exp(each - most), LEAST_MASS) for joint, each in log_masses.items()}
        self.factor = Factor(factor.scope, masses)

    def rows(self, states: Mapping[str, Array]) -> Iterator[tuple[tuple[Region, ComparedCells], Array]]:
        """Yield each region whose joint state occurs in `states`, with the rows of this joint state."""
        for key, rows in group_rows_by_state([states[name] for name in self._scope], self._sizes):
            if key in self.regions:
                yield self.regions[key], rows
