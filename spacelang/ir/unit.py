"""Numbers on the unit interval: how surrogates and neighbourhoods see a hyperparameter (ALGORITHMS.md 2.3)."""

import math

from spacelang.ir.domain import Categorical, Integer, Missing, Real, Simple
from spacelang.ir.value import Value, identity


def to_unit(part: Simple, value: Value) -> float:
    """The place of a member in [0, 1]: (x - lower) / (upper - lower), on logarithms under `log`; a set's by index."""
    if isinstance(part, Categorical):
        return part.index[identity(value)] / max(1, len(part.values) - 1)
    number = float(value)  # type: ignore[arg-type]
    if part.lower == part.upper:
        return 0.0
    if part.log:
        return (math.log(number) - math.log(part.lower)) / (math.log(part.upper) - math.log(part.lower))
    return (number - part.lower) / (part.upper - part.lower)


def from_unit(part: Simple, place: float) -> Value:
    """The member nearest to a place in [0, 1]."""
    if isinstance(part, Categorical):
        return part.values[round(place * (len(part.values) - 1))]
    if part.log:
        number = math.exp(math.log(part.lower) + place * (math.log(part.upper) - math.log(part.lower)))
    else:
        number = part.lower + place * (part.upper - part.lower)
    return _nearest(part, min(max(number, part.lower), part.upper))


def _nearest(part: Real | Integer, number: float) -> Value:
    if isinstance(part, Integer):
        return part.at(min(max(round((number - part.lower) / part.step), 0), part.size - 1))
    if part.step is not None:
        return part.at(min(max(round((number - part.lower) / part.step), part.first_index), part.last_index))
    found = part.find(number)
    # Only an excluded end is not found: the next number inside is as near as there is.
    return math.nextafter(number, part.middle) if isinstance(found, Missing) else found  # type: ignore[arg-type]
