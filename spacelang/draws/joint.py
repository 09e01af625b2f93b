"""Values that constraints tie together, drawn jointly: cells by their probability, then values in them."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.random import Generator

from spacelang.draws.codes import Array, Codes, concatenated
from spacelang.draws.comparing import JointValues, truths
from spacelang.draws.lottery import JointLottery
from spacelang.draws.uniform import CellCodes
from spacelang.ir.domain import Domain, Simple
from spacelang.ir.expr import references
from spacelang.ir.space import Constraint, Hyperparameter
from spacelang.ir.value import is_number
from spacelang.solver.cells import mass
from spacelang.solver.model import Model, Solver, Weights
from spacelang.solver.network import Network

ATTEMPTS: Final = 10_000
"""How often values are drawn for each one that satisfies a comparison of ranges with each other, before giving up."""
POINT: Final = 1e-30
"""What a single point of a range weighs: never drawn unless it must be, and some of them still multiply to a number."""
MOST: Final = 1 << 16
"""The most joint draws that are made at once where some are thrown away."""


class UnlikelyError(Exception):
    """Values that satisfy a comparison of ranges are too rare to be drawn."""

    def __init__(self, constraints: tuple[Constraint, ...]) -> None:
        super().__init__(f"none of {ATTEMPTS:,} draws satisfies the constraints over ranges")
        self.constraints = constraints


class Probability(Weights):
    """Every cell weighs the probability that a value of its domain lies in it."""

    existential = False

    def cell(self, hyperparameter: Hyperparameter, cell: Simple) -> float:
        """The probability of the cell; a single point of a range has a tiny one, so that it is drawn if it must be."""
        return max(mass(cell, hyperparameter.domain), POINT)


class JointDraw:
    """Draws the hyperparameters of one group that no decision is part of.

    States say which cell each is in, and which comparisons of ranges are true. Values are kept where these are what
    the states say: each comparison's truths are drawn alike, so that what is kept follows the priors exactly.
    """

    def __init__(self, model: Model, network: Network, constraints: tuple[Constraint, ...]) -> None:
        """`constraints` are blamed where values are too rare."""
        self._ranges = network.ranges
        self._constraints = constraints
        self._lottery = JointLottery(Solver(model, Probability()).solve(network))
        self._domains: dict[str, Domain] = {
            member.address: member.node.domain for member in network.members if isinstance(member.node, Hyperparameter)
        }
        self._cells = {address: CellCodes(self._domains[address], mine) for address, mine in network.cells.items()}
        self._numeric = {a: np.array([is_number(cell.middle) for cell in mine]) for a, mine in network.cells.items()}

    def draw(self, count: int, rng: Generator) -> Iterator[tuple[str, Array, Codes]]:
        """For each hyperparameter the entries in which it is active, and its values there; raises UnlikelyError."""
        states, codes = self._drawn(count, rng) if not self._ranges else self._drawn_again(count, rng)
        for address, values in codes.items():
            active = np.flatnonzero(states[address] >= 0)
            yield address, active, values if len(active) == count else values.take(active)

    def _drawn(self, count: int, rng: Generator) -> tuple[dict[str, Array], dict[str, Codes]]:
        states = self._lottery.draw(count, rng)
        return states, {address: cells.draw(states[address], rng) for address, cells in self._cells.items()}

    def _drawn_again(self, count: int, rng: Generator) -> tuple[dict[str, Array], dict[str, Codes]]:
        kept: list[tuple[dict[str, Array], dict[str, Codes]]] = []
        found, tried, size = 0, 0, count
        while found < count:
            if tried >= ATTEMPTS * (found + 1):
                raise UnlikelyError(self._constraints)
            states, codes = self._drawn(size, rng)
            good = np.flatnonzero(self._agreeing(states, codes, size))[: count - found]
            kept.append(
                ({name: each[good] for name, each in states.items()}, {a: v.take(good) for a, v in codes.items()})
            )
            found, tried = found + len(good), tried + size
            size = min(MOST, max(2 * size, (count - found) * tried // max(found, 1)))
        return (
            {name: np.concatenate([states[name] for states, _ in kept]) for name in kept[0][0]},
            {address: concatenated([codes[address] for _, codes in kept]) for address in kept[0][1]},
        )

    def _agreeing(self, states: Mapping[str, Array], codes: Mapping[str, Codes], count: int) -> Array:
        """Whether every comparison of ranges is as its state says; where not all are numbers, its state is right."""
        agreeing = np.ones(count, bool)
        for name, atom in self._ranges.items():
            addresses = references(atom)
            compared = agreeing.copy()
            for address in addresses:
                compared &= (states[address] >= 0) & self._numeric[address][states[address]]
            rows = np.flatnonzero(compared)
            values = {address: codes[address].take(rows) for address in addresses}
            agreeing[rows] = truths(atom, JointValues(self._domains, values, len(rows))) == (states[name][rows] == 1)
        return agreeing
