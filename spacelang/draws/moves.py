"""Where one exchange leads from a value: each other value of a set, four draws around a number."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spacelang.draws.unit import measure, placer
from spacelang.ir.domain import Categorical, Simple, contains, parts
from spacelang.ir.space import Hyperparameter
from spacelang.ir.value import Value, identity

if TYPE_CHECKING:
    from numpy.random import Generator

DRAWS = 4
DEVIATION = 0.2
"""Numbers move by a normal deviation of 0.2 on the unit interval, four times (as SMAC does)."""


class Moves:
    """The other values of a hyperparameter that one exchange leads to."""

    def __init__(self, node: Hyperparameter) -> None:
        found = parts(node.domain)
        self._parts = [_Set(part) if isinstance(part, Categorical) else _Range(part, node) for part in found]
        self._only = self._parts[0] if len(self._parts) == 1 else None

    def centre(self, value: Value) -> float | None:
        """The place on the unit interval around which is drawn; None for a value of a set."""
        part = self._only or next(part for part in self._parts if part.has(value))
        return part.place(value) if isinstance(part, _Range) else None

    def others(self, value: Value, places: Sequence[float]) -> Sequence[Value]:
        """Each other value of a set; in a range the numbers at some places of the unit interval.

        Without places, which only numbers have, a range is entered at one number.
        """
        if self._only is not None:
            return self._only.others(value, places)
        return [other for part in self._parts for other in part.others(value, places)]


class _Set:
    """A set as a part of a domain."""

    def __init__(self, part: Categorical) -> None:
        self._all = part.values
        self._others = {
            identity(value): tuple(other for other in part.values if other is not value) for value in part.values
        }

    def has(self, value: Value) -> bool:
        return identity(value) in self._others

    def others(self, value: Value, _: Sequence[float]) -> Sequence[Value]:
        return self._others.get(identity(value), self._all)


class _Range:
    """A range as a part of a domain."""

    def __init__(self, part: Simple, node: Hyperparameter) -> None:
        self._part = part
        self._entry = (node.default if contains(part, node.default) else part.middle,)
        """Where a move from another part of a union enters: at the default if it is there, else in the middle."""
        self._value_at = placer(part)
        self.place = measure(part)

    def has(self, value: Value) -> bool:
        return contains(self._part, value)

    def others(self, value: Value, places: Sequence[float]) -> Sequence[Value]:
        if not places:
            return self._entry
        numbers = dict.fromkeys(map(self._value_at, places))
        numbers.pop(value, None)
        return [*numbers]


def draws(centres: Sequence[float], rng: "Generator") -> list[list[float]]:
    """Places on the unit interval around each centre."""
    drawn = rng.normal(0.0, DEVIATION, (len(centres), DRAWS)).tolist()
    for places, centre in zip(drawn, centres, strict=True):
        for number, step in enumerate(places):
            place = centre + step
            while not 0.0 <= place <= 1.0:
                place = float(rng.normal(centre, DEVIATION))
            places[number] = place
    found: list[list[float]] = drawn
    return found
