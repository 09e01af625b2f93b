"""Independent random values: a uniform part of a union, then a value by the prior, or else uniform or log-uniform."""

import math
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.random import Generator
from numpy.typing import DTypeLike

from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, parts
from spacelang.ir.domain_properties import is_exact_as_floats
from spacelang.ir.prior import Prior
from spacelang.sampling.prior_draws import prior_code_sampler
from spacelang.sampling.unit_scale import unit_scale
from spacelang.sampling.value_codes import (
    Array,
    CodeSampler,
    ValueCodes,
    code_dtype,
    codes_of_members_at,
    part_index_and_code,
)
from spacelang.solver.domain_cells import log_uniform_length

WORD_LIMIT: Final = 2**63
MAX_VECTORIZED_GRID: Final = 4_096  # The size of the largest grid of floats whose members are drawn in one NumPy call


class ValueSampler:
    """A sampler of values of a domain, by a prior or, without one, uniform or log-uniform."""

    def __init__(self, domain: Domain, prior: Prior | None = None) -> None:
        self._domain = domain
        self._type = np.dtype(code_dtype(domain))
        self._part_samplers = tuple(_part_code_sampler(part, prior) for part in parts(domain))

    def draw(self, count: int, rng: Generator) -> ValueCodes:
        """Return the codes of `count` random values of the domain."""
        if len(self._part_samplers) == 1:
            return ValueCodes(self._part_samplers[0](count, rng).astype(self._type, copy=False))
        marks = rng.integers(len(self._part_samplers), size=count, dtype=np.int8)
        found = np.empty(count, self._type)
        for place, each in enumerate(self._part_samplers):
            mine = np.flatnonzero(marks == place)
            if len(mine):
                found[mine] = each(len(mine), rng)
        return ValueCodes(found, marks)


class CellSampler:
    """A sampler of values inside given cells of the domain of a hyperparameter, by a prior if there is one."""

    def __init__(self, domain: Domain, cells: tuple[SimpleDomain, ...], prior: Prior | None = None) -> None:
        self._is_union = len(parts(domain)) > 1
        first = [part_index_and_code(domain, cell.representative) for cell in cells]
        self._parts = np.array([part for part, _ in first], np.int8)
        self._codes = np.array([code for _, code in first], code_dtype(domain))
        self._cell_samplers = {
            state: _cell_code_sampler(cell, parts(domain)[first[state][0]], prior)
            for state, cell in enumerate(cells)
            if cell.size != 1
        }

    def draw(self, states: Array, rng: Generator) -> ValueCodes:
        """Return one random value inside the cell of each state; it is arbitrary for inactive hyperparameters."""
        found = ValueCodes(self._codes[states], self._parts[states] if self._is_union else None)
        for state, each in self._cell_samplers.items():
            mine = np.flatnonzero(states == state)
            if len(mine):
                found.codes[mine] = each(len(mine), rng)
        return found


def _part_code_sampler(part: SimpleDomain, prior: Prior | None) -> CodeSampler:
    if prior is not None:
        return prior_code_sampler(part, part, prior)
    return (
        _uniform_integers(0, part.size - 1, code_dtype(part)) if isinstance(part, Categorical) else _range_sampler(part)
    )


def _cell_code_sampler(cell: SimpleDomain, part: SimpleDomain, prior: Prior | None) -> CodeSampler:
    if prior is not None:
        return prior_code_sampler(cell, part, prior)
    if not isinstance(cell, Categorical):
        return _range_sampler(cell)
    places = np.array([part_index_and_code(part, value)[1] for value in cell.values])
    return lambda count, rng: places[rng.integers(len(places), size=count)]


def _range_sampler(part: Real | Grid) -> CodeSampler:
    if isinstance(part, Real):
        return partial(_draw_real, part)
    return _integer_grid_sampler(part) if part.is_integral else partial(_draw_grid, part)


def _uniform_integers(lower: int, upper: int, kind: DTypeLike) -> CodeSampler:
    word = np.dtype(kind)
    if lower == upper:
        return lambda count, rng: np.full(count, lower, word)  # noqa: ARG005 - a single value
    return lambda count, rng: rng.integers(lower, upper + 1, count, word)


def _integer_grid_sampler(part: Grid) -> CodeSampler:
    kind = code_dtype(part)
    if kind is object or part.step >= WORD_LIMIT or (part.log and not is_exact_as_floats(part)):
        return partial(_draw_large_integers, part)
    if part.log:
        return partial(_draw_log_integers, part, log_uniform_length(part), np.dtype(kind))
    if part.step == 1:
        return _uniform_integers(int(part.lower), int(part.upper), kind)
    return lambda count, rng: part.lower + part.step * rng.integers(part.size, size=count)


def _draw_log_integers(part: Grid, length: float, kind: np.dtype[Any], count: int, rng: Generator) -> Array:
    below_first = min(part.step, part.lower) / 2
    distances = (part.lower - below_first) * np.expm1(rng.uniform(0, length, count)) - below_first
    places = np.rint(distances / part.step)
    np.clip(places, 0, part.size - 1, out=places)
    return codes_of_members_at(part, places).astype(kind)


def _draw_large_integers(part: Grid, count: int, rng: Generator) -> Array:
    """Return `count` integers of a grid that no machine word holds, drawn one at a time."""
    found = np.empty(count, dtype=object)
    for row in range(count):
        place = _draw_large_log_index(part, rng) if part.log else random_integer_below(part.size, rng)
        found[row] = part.value_at(min(max(place, 0), part.size - 1))
    return found


def _draw_large_log_index(part: Grid, rng: Generator) -> int:
    below_first = min(part.step, part.lower) / 2
    distance = (part.lower - below_first) * math.expm1(rng.uniform(0, log_uniform_length(part))) - below_first
    number = distance / part.step
    between = int(math.ulp(number))  # the number of indices between this float and the next
    return round(number) + (random_integer_below(between, rng) - between // 2 if between > 1 else 0)


def random_integer_below(bound: int, rng: Generator) -> int:
    """Return a uniformly random integer from 0 to bound - 1, for bounds of any size."""
    if bound <= WORD_LIMIT:
        return int(rng.integers(bound))
    bits = bound.bit_length()
    while True:
        drawn = int.from_bytes(rng.bytes((bits + 7) // 8), "big") >> (-bits % 8)
        if drawn < bound:
            return drawn


def _draw_real(part: Real, count: int, rng: Generator) -> Array:
    if part.lower == part.upper:
        return np.full(count, part.lower)
    found = _draw_closed_range(part, count, rng)
    while part.is_open and count:
        outside = np.flatnonzero(((found == part.lower) & part.lower_open) | ((found == part.upper) & part.upper_open))
        if not len(outside):
            break
        found[outside] = _draw_closed_range(part, len(outside), rng)
    return found


def _draw_closed_range(part: Real, count: int, rng: Generator) -> Array:
    shares = rng.random(count)
    found: Array
    if part.log:
        found = unit_scale(part.lower, part.upper, log=True, functions=np).from_unit(shares)
    elif math.isinf(part.upper - part.lower):
        found = part.lower * (1 - shares) + part.upper * shares
    else:
        found = part.lower + (part.upper - part.lower) * shares
    return np.clip(found, part.lower, part.upper, out=found)


def _draw_grid(part: Grid, count: int, rng: Generator) -> Array:
    if part.size <= MAX_VECTORIZED_GRID:
        return codes_of_members_at(part, rng.integers(part.size, size=count))
    return np.array([part.value_at(random_integer_below(part.size, rng)) for _ in range(count)], float)
