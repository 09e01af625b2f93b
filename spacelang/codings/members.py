"""Array functions on the codes of a simple domain: nearest members, their indices, and positions in [0, 1].

The code of a number is the number itself; the code of a categorical value is its index (`draws.codes`).
"""

from typing import Final

import numpy as np

from spacelang.draws.codes import Array, at
from spacelang.draws.unit import UnitScale, scale
from spacelang.ir.domain import Categorical, Grid, Real, Simple, decimals

NEAR: Final = 2**50
"""If all members of a grid lie within this many steps of 0, rounding changes an index by less than a quarter."""


def half_up(numbers: Array) -> Array:
    """Return the nearest integers as floats, the upper one in a tie."""
    given = np.asarray(numbers, float)
    below = np.floor(given)
    return np.asarray(below + (given - below >= 0.5))  # adding 0.5 to a large float may round up to the next integer


def index_of(part: Simple, codes: Array) -> Array:
    """Return the indices of the members of a finite domain that are nearest to the given codes.

    Codes outside the range give indices outside it.
    """
    match part:
        case Categorical():
            return half_up(codes)
        case Grid(is_integral=True):
            return half_up((np.asarray(codes, float) - part.lower) / part.step)
        case Grid():
            return _index_on(part, np.asarray(codes, float))
        case Real():
            return np.zeros(np.shape(codes))


def nearest(part: Simple, codes: Array) -> Array:
    """Return the codes of the members nearest to some numbers, the upper one in a tie; never an excluded end."""
    given = np.asarray(codes, float)
    if isinstance(part, Categorical):
        return half_up(_between(given, 0, part.last_index))
    inside = _between(given, part.least, part.greatest)
    if part.size is None:
        return inside + 0.0
    return half_up(inside) if isinstance(part, Grid) and part.is_consecutive else at(part, index_of(part, inside))


def to_unit(part: Simple, codes: Array) -> Array:
    """Return the positions of codes in [0, 1]: (x - lower) / (upper - lower), clipped.

    Ranges with `log` use logarithms; sets use the index of the value.
    """
    return _between(_scale(part).share(np.asarray(codes, float)), 0.0, 1.0)


def from_unit(part: Simple, places: Array) -> Array:
    """Return the codes of the members nearest to positions in [0, 1]; 0 and 1 are the first and the last member."""
    given = _between(np.asarray(places, float), 0.0, 1.0)
    found = nearest(part, _scale(part).number(given))
    first, last = (0, part.last_index) if isinstance(part, Categorical) else (part.least, part.greatest)
    return np.where(given <= 0.0, float(first), np.where(given >= 1.0, float(last), found))


def _scale(part: Simple) -> UnitScale:
    if isinstance(part, Categorical):
        return scale(0, part.last_index, log=False, functions=np)
    return scale(part.lower, part.upper, log=part.log, functions=np)


def _between(numbers: Array, lower: float, upper: float) -> Array:
    """Return the numbers clipped to a range, like `np.clip` but five times as fast for small arrays."""
    return np.asarray(np.minimum(np.maximum(numbers, lower), upper))


def _index_on(part: Grid, codes: Array) -> Array:
    start, step, below = decimals(part)
    if max(abs(start), abs(start + step * part.last_index)) < step * NEAR:
        return half_up((codes * below - start) / step)
    return np.array([part.index_of(code) for code in codes.ravel().tolist()], float).reshape(codes.shape)
