"""Codes: values of one hyperparameter as arrays, each the index of a domain part and a number within that part."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import DTypeLike, NDArray

from spacelang.ir.domain import (
    Categorical,
    Domain,
    Grid,
    NotFound,
    Real,
    SimpleDomain,
    affine_integer_coefficients,
    parts,
)
from spacelang.ir.domain_properties import EXACT_INTEGER_LIMIT, is_exact_as_floats
from spacelang.ir.value import Value, is_number

Array: TypeAlias = NDArray[Any]
CodeSampler: TypeAlias = Callable[[int, Generator], Array]
"""A function that draws `count` codes of a simple domain; all that does not depend on the draw is precomputed."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueCodes:
    """The codes of several values of one domain: the number itself, or the index in the set.

    `parts` has the index of the part of a union, else None. Codes that no NumPy type holds exactly are Python objects.
    """

    codes: Array
    parts: Array | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, places: Array) -> "ValueCodes":
        """Return the codes at some positions, in the order of these positions."""
        return ValueCodes(self.codes[places], None if self.parts is None else self.parts[places])


def concatenate_codes(pieces: Sequence[ValueCodes]) -> ValueCodes:
    """Return the concatenation of several arrays of codes of one domain."""
    if len(pieces) == 1:
        return pieces[0]
    marks = [piece.parts for piece in pieces if piece.parts is not None]
    return ValueCodes(np.concatenate([piece.codes for piece in pieces]), np.concatenate(marks) if marks else None)


def code_dtype(domain: Domain) -> DTypeLike:
    """Return the smallest NumPy type that holds all codes of a domain exactly; `object` if there is none."""
    types = [_part_code_type(part) for part in parts(domain)]
    mixed = np.float64 in types and any(isinstance(p, Grid) and not is_exact_as_floats(p) for p in parts(domain))
    return object if mixed or object in types else np.result_type(*types).type


def part_index_and_code(domain: Domain, value: Value) -> tuple[int, Any]:
    """Return the part of a value and its code in that part; raise ValueError if it is not in the domain."""
    for place, part in enumerate(parts(domain)):
        found = part.find(value)
        if not isinstance(found, NotFound):
            return place, part.index_of(value) if isinstance(part, Categorical) else found
    raise ValueError("the value does not belong to the domain")


def decode_values(domain: Domain, codes: ValueCodes) -> list[Value]:
    """Return the values that codes stand for, as Python objects."""
    found: list[Any] = codes.codes.tolist()
    if codes.parts is None:
        part = parts(domain)[0]
        return [part.values[code] for code in found] if isinstance(part, Categorical) else found
    is_float = codes.codes.dtype.kind == "f"
    for place, part in enumerate(parts(domain)):
        if isinstance(part, Real) or (isinstance(part, Grid) and not (part.is_integral and is_float)):
            continue
        for entry in np.flatnonzero(codes.parts == place).tolist():
            code = int(found[entry])
            found[entry] = part.value_at(code) if isinstance(part, Categorical) else code
    return found


def codes_of_members_at(part: SimpleDomain, indices: Array) -> Array:
    """Return the codes of the members of a finite domain at some indices, counted from 0."""
    match part:
        case Categorical():
            return np.asarray(indices, float)
        case Grid(is_integral=True):
            return part.lower + part.step * np.asarray(indices, float)
        case Grid():
            return _float_grid_codes_at(part, np.asarray(indices, float))
        case Real():
            return np.full(np.shape(indices), part.lower)


def grid_member_codes(grid: Grid, indices: Array) -> Array:
    """Return the codes of the members of a grid at some indices in the type of the grid, exact for any integers."""
    kind = code_dtype(grid)
    if kind is object:
        return np.array([grid.value_at(index) for index in indices.tolist()], object)
    if is_exact_as_floats(grid):
        return codes_of_members_at(grid, indices).astype(kind, copy=False)
    return int(grid.lower) + int(grid.step) * indices.astype(np.int64)


def to_floats(domain: Domain, codes: ValueCodes) -> Array:
    """Return the values that codes stand for as an array of floats; NaN for values that are not numbers."""
    is_giant = codes.codes.dtype.kind == "O"
    found = np.array(list(map(nearest_float, codes.codes))) if is_giant else codes.codes.astype(float)
    for place, part in enumerate(parts(domain)):
        if isinstance(part, Categorical):
            table = np.array(list(map(nearest_float, part.values)))
            mine = np.arange(len(codes)) if codes.parts is None else np.flatnonzero(codes.parts == place)
            found[mine] = table[codes.codes[mine].astype(int)]
    return found


def nearest_float(value: Value) -> float:
    """Return the nearest float to a number, infinity if it is too large, or NaN if the value is not a number."""
    if not is_number(value):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _float_grid_codes_at(part: Grid, indices: Array) -> Array:
    start, step, below = affine_integer_coefficients(part)
    if max(abs(start), abs(start + step * part.last_index), below) < EXACT_INTEGER_LIMIT:
        return np.asarray((start + step * indices) / below)  # exact integers as floats: the division rounds once
    return np.array([part.value_at(int(index)) for index in indices.ravel().tolist()], float).reshape(indices.shape)


def _part_code_type(part: SimpleDomain) -> DTypeLike:
    match part:
        case Grid(is_integral=True):
            return smallest_integer_dtype(int(part.lower), int(part.upper))
        case Grid() | Real():
            return np.float64
        case Categorical():
            return smallest_integer_dtype(0, part.size)


def smallest_integer_dtype(lower: int, upper: int) -> DTypeLike:
    """Return the smallest signed integer type that holds `lower` to `upper`; `object` if there is none."""
    kinds = (np.int8, np.int16, np.int32, np.int64)
    return next((kind for kind in kinds if np.iinfo(kind).min <= lower and upper <= np.iinfo(kind).max), object)
