"""Values of one hyperparameter as arrays: which part of its domain they lie in, and a number within the part."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spacelang.ir.domain import Categorical, Domain, Grid, Missing, Real, Simple, decimals, parts
from spacelang.ir.value import Value

Array: TypeAlias = NDArray[Any]
EXACT: Final = 2**53
"""Integers below this are exact as floats."""


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """One entry a value: a set's values by their place, numbers as themselves.

    `parts` holds the place of the part of a union; None where the domain is none. Numbers that no machine word holds
    exactly are Python's own, in an array of objects.
    """

    codes: Array
    parts: Array | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, places: Array) -> "Codes":
        """The entries at some places."""
        return Codes(self.codes[places], None if self.parts is None else self.parts[places])


def concatenated(pieces: Sequence[Codes]) -> Codes:
    """The entries of several arrays of one domain, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    marks = [piece.parts for piece in pieces if piece.parts is not None]
    return Codes(np.concatenate([piece.codes for piece in pieces]), np.concatenate(marks) if marks else None)


def code_type(domain: Domain) -> DTypeLike:
    """The smallest type that holds all codes of a domain."""
    types = [_type_of(part) for part in parts(domain)]
    mixed = np.float64 in types and any(isinstance(p, Grid) and not is_exact(p) for p in parts(domain))
    return object if mixed or object in types else np.result_type(*types).type


def code_of(domain: Domain, value: Value) -> tuple[int, Any]:
    """The place of the part that a member lies in, and its code there."""
    for place, part in enumerate(parts(domain)):
        found = part.find(value)
        if not isinstance(found, Missing):
            return place, part.index_of(value) if isinstance(part, Categorical) else found
    raise ValueError("the value does not belong to the domain")


def decoded(domain: Domain, codes: Codes) -> list[Value]:
    """The values that codes stand for, as Python's own objects."""
    found: list[Value] = codes.codes.tolist()
    if codes.parts is None:
        return _decoded_part(parts(domain)[0], found)
    is_float = codes.codes.dtype.kind == "f"
    for place, part in enumerate(parts(domain)):
        if isinstance(part, Real) or (isinstance(part, Grid) and not (part.is_integral and is_float)):
            continue
        for entry in np.flatnonzero(codes.parts == place).tolist():
            code = int(found[entry])  # type: ignore[arg-type]
            found[entry] = part.at(code) if isinstance(part, Categorical) else code
    return found


def at(part: Simple, indices: Array) -> Array:
    """The codes of the members of a finite domain with some indices, counted as `part.at` does."""
    match part:
        case Categorical():
            return np.asarray(indices, float)
        case Grid(is_integral=True):
            return part.lower + part.step * np.asarray(indices, float)
        case Grid():
            return _at_on(part, np.asarray(indices, float))
        case Real():
            return np.full(np.shape(indices), part.lower)


def numbers(domain: Domain, codes: Codes) -> Array:
    """The values as floats; NaN for those that are no numbers."""
    is_giant = codes.codes.dtype.kind == "O"
    found = np.array(list(map(nearest_float, codes.codes))) if is_giant else codes.codes.astype(float)
    for place, part in enumerate(parts(domain)):
        if isinstance(part, Categorical):
            table = np.array(list(map(nearest_float, part.values)))
            mine = np.arange(len(codes)) if codes.parts is None else np.flatnonzero(codes.parts == place)
            found[mine] = table[codes.codes[mine].astype(int)]
    return found


def nearest_float(value: Value) -> float:
    """The nearest float, infinity beyond all of them; NaN for what is no number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _at_on(part: Grid, indices: Array) -> Array:
    start, step, below = decimals(part)
    if max(abs(start), abs(start + step * part.last_index), below) < EXACT:
        return np.asarray((start + step * indices) / below)  # of whole numbers that floats hold: rounded once
    return np.array([part.at(int(index)) for index in indices.ravel().tolist()], float).reshape(indices.shape)


def _decoded_part(part: Simple, codes: list[Any]) -> list[Value]:
    if isinstance(part, Categorical):
        values = part.values
        return [values[code] for code in codes]
    return codes


def _type_of(part: Simple) -> DTypeLike:
    match part:
        case Grid(is_integral=True):
            return integer_type(int(part.lower), int(part.upper))
        case Grid() | Real():
            return np.float64
        case Categorical():
            return integer_type(0, part.size)


def integer_type(lower: int, upper: int) -> DTypeLike:
    """The smallest signed type that holds the integers from `lower` to `upper`; objects where there is none."""
    fitting = (kind for kind in (np.int8, np.int16, np.int32, np.int64) if _fits(np.iinfo(kind), lower, upper))
    return next(fitting, object)


def _fits(word: np.iinfo[Any], lower: int, upper: int) -> bool:
    return int(word.min) <= lower and upper <= int(word.max)


def is_exact(part: Grid) -> bool:
    """Whether floats hold all of its members exactly."""
    return not part.is_integral or (part.lower > -EXACT and part.upper < EXACT)
