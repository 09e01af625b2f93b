"""Estimates of the number of configurations, where constraints are tested but not counted.

The solver counts combinations of values and of truths of the tests, as if each test could be true and false for all
values. Each configuration of the space is one of these combinations: the one with the truths that its values have. The
share of uniform random combinations whose truths are right, times their count, is the estimate.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import Final

import numpy as np
from numpy.random import Generator

from spacelang.ir.domain import Domain, Grid, Real, SimpleDomain, Union
from spacelang.ir.space import Choice, Context, Hyperparameter
from spacelang.sampling.draw_acceptance import DrawTest
from spacelang.sampling.independent_sampling import CellSampler
from spacelang.sampling.value_codes import Array
from spacelang.sampling.weighted_sampling import JointWeightedSampler
from spacelang.solver.constraint_network import ConstraintNetwork, TooManyConnectedVariablesError
from spacelang.solver.counting import CountWeights, Structures, can_be_counted
from spacelang.solver.model import WeightedModelSolver, context_below
from spacelang.solver.statistics import CountEstimate

PILOT_DRAWS: Final = 2_000  # Draws that decide how many further ones the estimate needs
WANTED_KEPT: Final = 4_000  # The number of kept draws that makes the interval about 3 % wide on each side
LEAST_DRAWS: Final = 10_000
MOST_DRAWS: Final = 100_000
CONFIDENCE: Final = 0.95
NORMAL_QUANTILE: Final = 1.959964  # Of the standard normal distribution at (1 + CONFIDENCE) / 2


def estimate_count(structures: Structures) -> CountEstimate | None:
    """Return an estimate of the number of configurations from random draws with a fixed seed.

    Return None if the number is 0, infinite or counted exactly, or if constraints connect too many variables.
    """
    infinite = any(node.domain.size is None for node in structures.space.hyperparameters)
    if infinite or structures.configuration_count is not None:
        return None
    try:
        draws = _UniformDraws(structures)
    except TooManyConnectedVariablesError:
        return None
    if not draws.total:
        return None
    pilot = draws.count_kept(PILOT_DRAWS, np.random.default_rng(0))
    wanted = WANTED_KEPT * PILOT_DRAWS // max(pilot, 1)
    number = min(max(wanted, LEAST_DRAWS), MOST_DRAWS)
    kept = draws.count_kept(number, np.random.default_rng(1))
    low, high = wilson_interval(kept, number)
    return CountEstimate(
        max(round(Fraction(draws.total * kept, number)), 1),
        max(floor(draws.total * Fraction(low)), 1),
        max(ceil(draws.total * Fraction(high)), 1),
        CONFIDENCE,
        number,
        kept,
    )


def wilson_interval(kept: int, drawn: int) -> tuple[float, float]:
    """Return the Wilson (1927) confidence interval, with the level `CONFIDENCE`, of the share `kept / drawn`."""
    square = NORMAL_QUANTILE**2
    middle = kept + square / 2
    width = NORMAL_QUANTILE * sqrt(kept * (drawn - kept) / drawn + square / 4)
    return max((middle - width) / (drawn + square), 0.0), min((middle + width) / (drawn + square), 1.0)


class _UniformDraws:
    """Uniform draws from the combinations of values and truths that the solver counts; see the module."""

    def __init__(self, structures: Structures) -> None:
        """Solve the networks. Raise TooManyConnectedVariablesError."""
        model = structures.model
        solver = WeightedModelSolver(model, CountWeights())
        self.total = int(solver.total_weight())
        self._variables = model.variables
        self._samplers = {
            context: [_NetworkDraws(solver, network) for network in networks if _matters(solver, network)]
            for context, networks in model.by_context.items()
            if solver.total_weight(context)
        }

    def count_kept(self, number: int, rng: Generator) -> int:
        """Return how many of `number` draws pass all tests."""
        kept = np.ones(number, bool)
        waiting: list[tuple[Context, Array]] = [((), np.arange(number))]
        while waiting:
            context, rows = waiting.pop()
            for sampler in self._samplers.get(context, ()):
                states, passed = sampler.draw(len(rows), rng)
                kept[rows] &= passed
                waiting += [(inside, rows[mine]) for inside, mine in self._contexts_below(states)]
        return int(kept.sum())

    def _contexts_below(self, states: Mapping[str, Array]) -> Iterator[tuple[Context, Array]]:
        for address, taken in states.items():
            variable = self._variables.get(address)
            if variable is not None and isinstance(variable.node, Choice):
                for state in range(len(variable.node.branches)):
                    mine = np.flatnonzero(taken == state)
                    if len(mine):
                        yield context_below(variable, state), mine


def _matters(solver: WeightedModelSolver, network: ConstraintNetwork) -> bool:
    """Return True if an estimate must draw from a network: it has decisions or tests, and no direct count."""
    has_decisions = len(network.cells) < len(network.members)
    return (has_decisions or not can_be_counted(network)) and solver.weights.network_weight(network) is None


class _NetworkDraws:
    """Draws of the states of one network in proportion to their numbers of configurations, and of values for tests."""

    def __init__(self, solver: WeightedModelSolver, network: ConstraintNetwork) -> None:
        self._states = JointWeightedSampler(solver.solve(network))
        self._test = None if can_be_counted(network) else DrawTest(network)
        self._cells = {
            member.address: CellSampler(
                _without_scale(member.node.domain), tuple(map(_without_scale_in_part, network.cells[member.address]))
            )
            for member in network.members
            if self._test is not None and isinstance(member.node, Hyperparameter)
        }

    def draw(self, count: int, rng: Generator) -> tuple[Mapping[str, Array], Array]:
        """Return the states of `count` draws, and for each draw whether it passes the tests of the network."""
        states = self._states.draw(count, rng)
        if self._test is None:
            return states, np.ones(count, bool)
        codes = {address: cells.draw(states[address], rng) for address, cells in self._cells.items()}
        return states, self._test.passes(states, codes, count)


def _without_scale(domain: Domain) -> Domain:
    """Return a domain whose values are all drawn with the same probability within a part."""
    if isinstance(domain, Union):
        return Union(tuple(map(_without_scale_in_part, domain.parts)))
    return _without_scale_in_part(domain)


def _without_scale_in_part(part: SimpleDomain) -> SimpleDomain:
    return replace(part, log=False) if isinstance(part, Grid | Real) else part
