"""The codes of a simple domain as arrays of floats: the nearest members, their indices, their places in [0, 1].

The code of a number is the number, that of a value of a set its place (`ir.codes`).
"""

from typing import Final

import numpy as np

from spacelang.draws.codes import Array, at
from spacelang.draws.unit import UnitScale, scale
from spacelang.ir.domain import Categorical, Grid, Real, Simple, decimals

NEAR: Final = 2**50
"""On grids that begin and end within so many steps of 0, rounding moves an index by less than a quarter."""


def half_up(numbers: Array) -> Array:
    """The nearest whole numbers, the upper one of two."""
    given = np.asarray(numbers, float)
    below = np.floor(given)
    return np.asarray(below + (given - below >= 0.5))  # half more than a large number may be one more


def index_of(part: Simple, codes: Array) -> Array:
    """The indices of members of a finite domain; for codes between two of them the nearest, however far outside."""
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
    """The codes of the members nearest to some numbers, the upper one of two; ends that are excluded never are."""
    given = np.asarray(codes, float)
    if isinstance(part, Categorical):
        return half_up(_between(given, 0, part.last_index))
    inside = _between(given, part.least, part.greatest)
    if part.size is None:
        return inside + 0.0
    return half_up(inside) if isinstance(part, Grid) and part.is_consecutive else at(part, index_of(part, inside))


def to_unit(part: Simple, codes: Array) -> Array:
    """Where codes lie in [0, 1]: (x - lower) / (upper - lower), of logarithms under `log`, a set's by their index."""
    return _between(_scale(part).share(np.asarray(codes, float)), 0.0, 1.0)


def from_unit(part: Simple, places: Array) -> Array:
    """The codes of the members nearest to places in [0, 1]; their ends are the outermost members."""
    given = _between(np.asarray(places, float), 0.0, 1.0)
    found = nearest(part, _scale(part).number(given))
    first, last = (0, part.last_index) if isinstance(part, Categorical) else (part.least, part.greatest)
    return np.where(given <= 0.0, float(first), np.where(given >= 1.0, float(last), found))


def _scale(part: Simple) -> UnitScale:
    if isinstance(part, Categorical):
        return scale(0, part.last_index, log=False, functions=np)
    return scale(part.lower, part.upper, log=part.log, functions=np)


def _between(numbers: Array, lower: float, upper: float) -> Array:
    """`np.clip` for few numbers, of which there are many arrays: it takes a fifth of the time."""
    return np.asarray(np.minimum(np.maximum(numbers, lower), upper))


def _index_on(part: Grid, codes: Array) -> Array:
    start, step, below = decimals(part)
    if max(abs(start), abs(start + step * part.last_index)) < step * NEAR:
        return half_up((codes * below - start) / step)
    return np.array([part.index_of(code) for code in codes.ravel().tolist()], float).reshape(codes.shape)
