"""Values as ConfigSpace holds them: one or more of its hyperparameters for a domain, the way down and the way back."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

from spacelang.ir.domain import Domain, Grid, Real, exact_integer, parts
from spacelang.ir.value import Value
from spacelang.reductions.domains import Identity
from spacelang.reductions.questions import Draw, Only, Slot
from spacelang.solver.cells import mass
from spacelang.targets._configspace.ways import FlatValue

PLACES: Final = 13
"""The decimals that ConfigSpace keeps of a float."""

LEAST: Final = 0.01
"""The weight of pieces of a range that hardly any draw would hit."""

LISTED: Final = 100
"""So many numbers of a stepped range are listed one by one."""

Kind: TypeAlias = Literal[
    "categorical", "ordinal", "constant", "uniform_float", "uniform_int", "normal_float", "normal_int"
]


@dataclass(frozen=True, slots=True)
class FlatHyperparameter:
    """One hyperparameter of ConfigSpace; `normal` is the mean and deviation of its distribution."""

    name: str
    kind: Kind
    choices: tuple[FlatValue, ...] = ()
    lower: float = 0
    upper: float = 0
    log: bool = False
    weights: tuple[float, ...] | None = None
    normal: tuple[float, float] | None = None
    default: FlatValue = 0


def finite(
    name: str,
    choices: Iterable[FlatValue],
    default: FlatValue,
    weights: Iterable[float] | None = None,
    *,
    ordered: bool = False,
) -> FlatHyperparameter:
    """A hyperparameter that lists its values: a constant where there is only one."""
    several = tuple(choices)
    kind: Kind = "constant" if len(several) == 1 else "ordinal" if ordered else "categorical"
    shares = None if weights is None or len(several) == 1 else tuple(weights)
    return FlatHyperparameter(name, kind, several, weights=shares, default=default)


def weighted(weights: Sequence[float]) -> Sequence[float] | None:
    """Weights where one of them was given."""
    return weights if any(weight != 1.0 for weight in weights) else None


@dataclass(frozen=True, slots=True)
class Held(Slot):
    """A piece of a domain with the hyperparameter that holds what its reduction makes of it."""

    parameter: FlatHyperparameter


Piece: TypeAlias = Only | Held


@dataclass(frozen=True, slots=True)
class ExactIntegers(Identity):
    """Integers as they are."""

    part: Grid

    def decode(self, value: Value) -> Value:
        """The integer; LookupError where it is no member."""
        number = exact_integer(value)
        if number is None or not self.part.lower <= number <= self.part.upper:
            raise LookupError(value)
        return number


@dataclass(frozen=True, slots=True)
class Scaled:
    """A range of floats, times two to the power of `exponent`; numbers beside it are its ends."""

    part: Real
    exponent: int = 0

    @property
    def domain(self) -> Real:
        """The range, scaled."""
        lower, upper = (math.ldexp(end, self.exponent) for end in (self.part.lower, self.part.upper))
        return Real(lower, upper, log=self.part.log)

    def encode(self, value: Value) -> float:
        """The number, scaled."""
        assert isinstance(value, int | float)
        return math.ldexp(float(value), self.exponent)

    def decode(self, value: Value) -> float:
        """The member nearest to a number of the range."""
        assert isinstance(value, int | float)
        return min(max(math.ldexp(float(value), -self.exponent), self.part.least), self.part.greatest) + 0.0


@dataclass(frozen=True)
class Coded:
    """A domain in ConfigSpace's hyperparameters: its parts, and for a union the categorical that tells them apart."""

    domain: Domain
    pieces: tuple[Piece, ...]
    selector: FlatHyperparameter | None = None

    @property
    def parameters(self) -> tuple[FlatHyperparameter, ...]:
        """All hyperparameters, the selector first."""
        inner = tuple(piece.parameter for piece in self.pieces if isinstance(piece, Held))
        return inner if self.selector is None else (self.selector, *inner)

    @cached_property
    def _places(self) -> dict[FlatValue, int]:
        """The place of the part that each choice of the selector stands for."""
        return {} if self.selector is None else {choice: place for place, choice in enumerate(self.selector.choices)}

    @cached_property
    def _draw(self) -> Draw:
        return Draw("" if self.selector is None else self.selector.name, self.pieces)

    def encode(self, value: Value) -> dict[str, FlatValue]:
        """A member as values of the hyperparameters."""
        found = self._draw.encode(value)
        if self.selector is not None:
            found[self.selector.name] = self.selector.choices[found[self.selector.name]]
        return found

    def decode(self, values: Mapping[str, FlatValue]) -> Value:
        """The member; LookupError where values are missing or are none of it."""
        return self._draw.ask(lambda name, each: self._places[values[name]] if each is self._draw else values[name])


def share(piece: Domain, whole: Domain) -> float:
    """How much of the draws of a domain lies in a piece of it."""
    return max(sum(mass(part, whole) for part in parts(piece)), LEAST)
