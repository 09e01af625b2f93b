"""Array functions on the codes of a simple domain: nearest members, their indices, and positions in [0, 1].

The code of a number is the number itself; the code of a categorical value is its index (`sampling.value_codes`).
"""

from typing import Final

import numpy as np

from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain, affine_integer_coefficients
from spacelang.sampling.unit_scale import UnitScale, unit_scale
from spacelang.sampling.value_codes import Array, codes_at

MAX_EXACT_STEPS: Final = 2**50
"""If all members of a grid lie within this many steps of 0, rounding changes an index by less than a quarter."""


def round_half_up(numbers: Array) -> Array:
    """Return the nearest integers as floats, the upper one in a tie."""
    given = np.asarray(numbers, float)
    below = np.floor(given)
    return np.asarray(below + (given - below >= 0.5))  # adding 0.5 to a large float may round up to the next integer


def nearest_index(part: SimpleDomain, codes: Array) -> Array:
    """Return the indices of the members of a finite domain that are nearest to the given codes.

    Codes outside the range give indices outside it.
    """
    match part:
        case Categorical():
            return round_half_up(codes)
        case Grid(is_integral=True):
            return round_half_up((np.asarray(codes, float) - part.lower) / part.step)
        case Grid():
            return _float_grid_index(part, np.asarray(codes, float))
        case Real():
            return np.zeros(np.shape(codes))


def nearest_codes(domain: SimpleDomain, numbers: Array) -> Array:
    """Return the codes (encoded values) of the members nearest to some numbers.

    In a tie, it is the upper member. An excluded end of the domain is never returned.
    """
    given = np.asarray(numbers, float)
    if isinstance(domain, Categorical):
        return round_half_up(_clip(given, 0, domain.last_index))
    inside = _clip(given, domain.least, domain.greatest)
    if domain.size is None:
        return inside + 0.0
    return (
        round_half_up(inside)
        if isinstance(domain, Grid) and domain.is_consecutive
        else codes_at(domain, nearest_index(domain, inside))
    )


def to_unit(part: SimpleDomain, codes: Array) -> Array:
    """Return the positions of codes in [0, 1]: (x - lower) / (upper - lower), clipped.

    Ranges with `log` use logarithms; sets use the index of the value.
    """
    return _clip(_scale_of(part).to_unit(np.asarray(codes, float)), 0.0, 1.0)


def from_unit(part: SimpleDomain, places: Array) -> Array:
    """Return the codes of the members nearest to positions in [0, 1]; 0 and 1 are the first and the last member."""
    given = _clip(np.asarray(places, float), 0.0, 1.0)
    found = nearest_codes(part, _scale_of(part).from_unit(given))
    first, last = (0, part.last_index) if isinstance(part, Categorical) else (part.least, part.greatest)
    return np.where(given <= 0.0, float(first), np.where(given >= 1.0, float(last), found))


def _scale_of(part: SimpleDomain) -> UnitScale:
    if isinstance(part, Categorical):
        return unit_scale(0, part.last_index, log=False, functions=np)
    return unit_scale(part.lower, part.upper, log=part.log, functions=np)


def _clip(numbers: Array, lower: float, upper: float) -> Array:
    """Return the numbers clipped to a range, like `np.clip` but five times as fast for small arrays."""
    return np.asarray(np.minimum(np.maximum(numbers, lower), upper))


def _float_grid_index(part: Grid, codes: Array) -> Array:
    start, step, below = affine_integer_coefficients(part)
    if max(abs(start), abs(start + step * part.last_index)) < step * MAX_EXACT_STEPS:
        return round_half_up((codes * below - start) / step)
    return np.array([part.index_of(code) for code in codes.ravel().tolist()], float).reshape(codes.shape)
