"""Moves of a one-exchange neighbourhood: the values that a hyperparameter can take instead of its own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spacelang.ir.domain import Categorical, SimpleDomain, contains, parts
from spacelang.ir.space import Hyperparameter
from spacelang.ir.value import Value, identity_key
from spacelang.sampling.value_codes import from_unit_function, to_unit_function

if TYPE_CHECKING:
    from numpy.random import Generator

MOVES_PER_NUMBER = 4
MOVE_DEVIATION = 0.2  # The standard deviation of moves on the unit interval. SMAC also draws four moves with 0.2


class ExchangeMoves:
    """The values that one exchange can give to a hyperparameter."""

    def __init__(self, node: Hyperparameter) -> None:
        found = parts(node.domain)
        self._parts = [_CategoricalMoves(p) if isinstance(p, Categorical) else _RangeMoves(p, node) for p in found]
        self._only = self._parts[0] if len(self._parts) == 1 else None

    def unit_position(self, value: Value) -> float | None:
        """Return the position of a number on the unit interval, around which moves are drawn; else None."""
        part = self._only or next(part for part in self._parts if part.contains(value))
        return part.to_unit(value) if isinstance(part, _RangeMoves) else None

    def other_values(self, value: Value, places: Sequence[float]) -> Sequence[Value]:
        """Return the other values of sets, and the numbers at some positions of the unit interval.

        Without positions, a range contributes its default or middle, because the move comes from another part.
        """
        if self._only is not None:
            return self._only.other_values(value, places)
        return [other for part in self._parts for other in part.other_values(value, places)]


class _CategoricalMoves:
    def __init__(self, part: Categorical) -> None:
        self._all = part.values
        self._others = {identity_key(v): tuple(o for o in part.values if o is not v) for v in part.values}

    def contains(self, value: Value) -> bool:
        return identity_key(value) in self._others

    def other_values(self, value: Value, _: Sequence[float]) -> Sequence[Value]:
        return self._others.get(identity_key(value), self._all)


class _RangeMoves:
    def __init__(self, part: SimpleDomain, node: Hyperparameter) -> None:
        self._part = part
        self._entry_values = (node.default if contains(part, node.default) else part.representative,)
        """The value for a move from another part of a union: the default if it lies here, else the middle."""
        self._value_at = from_unit_function(part)
        self.to_unit = to_unit_function(part)

    def contains(self, value: Value) -> bool:
        return contains(self._part, value)

    def other_values(self, value: Value, places: Sequence[float]) -> Sequence[Value]:
        if not places:
            return self._entry_values
        numbers = dict.fromkeys(map(self._value_at, places))
        numbers.pop(value, None)
        return [*numbers]


def draw_unit_positions(centres: Sequence[float], rng: "Generator", deviation: float) -> list[list[float]]:
    """Return `MOVES_PER_NUMBER` positions in [0, 1] for each centre, from a truncated normal distribution."""
    drawn = rng.normal(0.0, deviation, (len(centres), MOVES_PER_NUMBER)).tolist()
    for places, centre in zip(drawn, centres, strict=True):
        for number, step in enumerate(places):
            place = centre + step
            while not 0.0 <= place <= 1.0:
                place = float(rng.normal(centre, deviation))
            places[number] = place
    found: list[list[float]] = drawn
    return found
