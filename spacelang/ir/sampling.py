"""Seeded random draws: structures uniformly and without rejection, values uniformly or log-uniformly."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spacelang.ir.cells import log_ends, mass
from spacelang.ir.compiled import Compiled
from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Existence, Structures
from spacelang.ir.domain import Domain, Integer, Missing, Real, Simple, contains, parts
from spacelang.ir.membership import violates
from spacelang.ir.space import Constraint, Hyperparameter, Space
from spacelang.ir.tied import TiedGroups
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment, Structure, assemble

if TYPE_CHECKING:
    from numpy.random import Generator

ATTEMPTS = 10_000
"""How often values are drawn anew where a constraint compares ranges with each other, before giving up."""


POINT = 1e-30
"""What a single point of a range weighs: never drawn unless it must be, and some of them still multiply to a number."""


class UnlikelyError(Exception):
    """Values that satisfy a comparison of ranges are too rare to be drawn."""

    def __init__(self, constraints: tuple[Constraint, ...]) -> None:
        super().__init__(f"none of {ATTEMPTS:,} draws satisfies the constraints over ranges")
        self.constraints = constraints


class Probability(Existence):
    """Every cell weighs the probability that a value of its domain lies in it."""

    existential = False

    def cell(self, hyperparameter: Hyperparameter, cell: Simple) -> float:
        """The probability of the cell; a single point of a range has a tiny one, so that it is drawn if it must be."""
        return max(mass(cell, hyperparameter.domain), POINT)


class Sampler:
    """Draws members of a space; everything that does not depend on the draw is computed once."""

    def __init__(self, structures: Structures) -> None:
        self.space: Space = structures.space
        self.structures = structures
        self._tied = TiedGroups(structures, Probability())

    def structure(self, rng: "Generator") -> dict[str, str]:
        """A structure, uniformly from all admissible ones; raises ValueError where there is none."""
        if not self.structures.count:
            raise ValueError("the space is empty")
        return self.structures.existence.structure(lambda weights: choose(weights, rng))

    def configuration(self, rng: "Generator", structure: Structure | None = None) -> Configuration:
        """A configuration of a structure (a uniformly drawn one where none is given).

        Values follow their priors, uniform or log-uniform, conditional on the constraints: exactly where constraints
        compare hyperparameters with constants or finite ones with each other, by drawing again where they compare
        ranges; raises UnlikelyError if that does not end.
        """
        structure = self.structure(rng) if structure is None else structure
        known = self._tied_values(structure, rng)
        return assemble(
            self.space,
            structure,
            lambda node: known[node.address] if node.address in known else draw_value(node.domain, rng),
        )

    def _tied_values(self, structure: Structure, rng: "Generator") -> dict[str, Value]:
        known: dict[str, Value] = {}
        for number, compiled in self._tied.within(structure):
            if compiled.ranges:
                known.update(self._drawn_again(structure, compiled, rng))
            else:
                states = self._tied.states(number, structure, lambda weights: choose(weights, rng))
                cells = self._tied.cells(number, states)
                known.update({address: draw_value(cell, rng) for address, cell in cells.items()})
        return known

    def _drawn_again(self, structure: Structure, compiled: Compiled, rng: "Generator") -> dict[str, Value]:
        for _ in range(ATTEMPTS):
            known: dict[str, Value] = {}

            def value_of(node: Hyperparameter, known: dict[str, Value] = known) -> Value:
                return known.setdefault(node.address, draw_value(node.domain, rng))

            assignment = Assignment(self.space, structure, value_of)
            if not any(violates(constraint, assignment) for constraint in compiled.group.constraints):
                return known
        raise UnlikelyError(compiled.group.constraints)


def choose(weights: Sequence[float], rng: "Generator") -> int:
    """An index with probability proportional to its weight; exact for integer weights of any size."""
    total = sum(weights)
    threshold = below(total, rng) if isinstance(total, int) else rng.random() * total
    for place, weight in enumerate(weights):
        threshold -= weight
        if threshold < 0:
            return place
    return len(weights) - 1


def below(bound: int, rng: "Generator") -> int:
    """An integer uniformly from 0 to bound - 1, of any size."""
    if bound < 2**63:
        return int(rng.integers(bound))
    bits = bound.bit_length()
    while True:
        drawn = int.from_bytes(rng.bytes((bits + 7) // 8), "big") >> (-bits % 8)
        if drawn < bound:
            return drawn


def draw_value(domain: Domain, rng: "Generator") -> Value:
    """A value of a domain: the parts of a union alike, then uniform, or log-uniform under `log`."""
    choices = parts(domain)
    part = choices[below(len(choices), rng)] if len(choices) > 1 else choices[0]
    match part:
        case Real(step=None):
            return _draw_real(part, rng)
        case Real():
            return part.at(part.first_index + below(part.size or 1, rng))
        case Integer(log=True):
            return _draw_log_integer(part, rng)
        case _:
            return part.at(below(part.size, rng))


def _draw_real(part: Real, rng: "Generator") -> float:
    if part.lower == part.upper:
        return part.lower
    while True:
        if part.log:
            number = math.exp(rng.uniform(math.log(part.lower), math.log(part.upper)))
        else:
            number = float(rng.uniform(part.lower, part.upper))
        number = min(max(number, part.lower), part.upper)
        if contains(part, number):
            return number


def _draw_log_integer(part: Integer, rng: "Generator") -> Value:
    start, end = log_ends(part)
    place = round((math.exp(rng.uniform(start, end)) - part.lower) / part.step)
    member = part.find(part.at(min(max(place, 0), part.size - 1)))
    assert not isinstance(member, Missing)
    return member
