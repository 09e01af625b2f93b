"""Values as ConfigSpace represents them: the hyperparameters that encode a domain, with encoding and decoding."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

from spacelang.ir.domain import Domain, Grid, Real, exact_integer, parts
from spacelang.ir.value import Value
from spacelang.reductions.domains import IdentityReduction
from spacelang.reductions.questions import DrawnPiece, FixedPiece, FreeHyperparameterDraw
from spacelang.solver.cells import probability_of_cell
from spacelang.targets._configspace.normal_form import FlatValue

DECIMALS: Final = 13
"""The number of decimals to which ConfigSpace rounds floats."""

MIN_SHARE: Final = 0.01
"""The minimum weight of a piece of a range, for pieces that draws would almost never hit."""

MAX_LISTED: Final = 100
"""The maximum size of a stepped range whose numbers are listed one by one."""

Kind: TypeAlias = Literal[
    "categorical", "ordinal", "constant", "uniform_float", "uniform_int", "normal_float", "normal_int"
]


@dataclass(frozen=True, slots=True)
class FlatHyperparameter:
    """A ConfigSpace hyperparameter; `normal` is the mean and deviation of its distribution."""

    name: str
    kind: Kind
    choices: tuple[FlatValue, ...] = ()
    lower: float = 0
    upper: float = 0
    log: bool = False
    weights: tuple[float, ...] | None = None
    normal: tuple[float, float] | None = None
    default: FlatValue = 0


def finite_hyperparameter(
    name: str,
    choices: Iterable[FlatValue],
    default: FlatValue,
    weights: Iterable[float] | None = None,
    *,
    ordered: bool = False,
) -> FlatHyperparameter:
    """Return a hyperparameter that lists its values, which is a constant if there is only one."""
    several = tuple(choices)
    kind: Kind = "constant" if len(several) == 1 else "ordinal" if ordered else "categorical"
    shares = None if weights is None or len(several) == 1 else tuple(weights)
    return FlatHyperparameter(name, kind, several, weights=shares, default=default)


def weights_or_none(weights: Sequence[float]) -> Sequence[float] | None:
    """Return the weights if any of them differs from 1, else None."""
    return weights if any(weight != 1.0 for weight in weights) else None


@dataclass(frozen=True, slots=True)
class HyperparameterPiece(DrawnPiece):
    """A piece of a domain with the hyperparameter that stores its reduced values."""

    parameter: FlatHyperparameter


Piece: TypeAlias = FixedPiece | HyperparameterPiece


@dataclass(frozen=True, slots=True)
class ExactIntegerReduction(IdentityReduction):
    """A reduction that leaves integers unchanged."""

    part: Grid

    def decode(self, value: Value) -> Value:
        """Return the integer; raise LookupError if it is not a member."""
        number = exact_integer(value)
        if number is None or not self.part.lower <= number <= self.part.upper:
            raise LookupError(value)
        return number


@dataclass(frozen=True, slots=True)
class ScaledRangeReduction:
    """A replacement of a range of floats by the range times `2 ** exponent`.

    A decoded number outside the original range becomes the nearer end of it.
    """

    part: Real
    exponent: int = 0

    @property
    def domain(self) -> Real:
        """The scaled range."""
        lower, upper = (math.ldexp(end, self.exponent) for end in (self.part.lower, self.part.upper))
        return Real(lower, upper, log=self.part.log)

    def encode(self, value: Value) -> float:
        """Return the scaled number."""
        assert isinstance(value, int | float)
        return math.ldexp(float(value), self.exponent)

    def decode(self, value: Value) -> float:
        """Return the member nearest to a scaled number."""
        assert isinstance(value, int | float)
        return min(max(math.ldexp(float(value), -self.exponent), self.part.least), self.part.greatest) + 0.0


@dataclass(frozen=True)
class EncodedDomain:
    """A domain encoded as ConfigSpace hyperparameters.

    A union has a hyperparameter for each part with several values, and a categorical `selector` for the part.
    """

    domain: Domain
    pieces: tuple[Piece, ...]
    selector: FlatHyperparameter | None = None

    @property
    def parameters(self) -> tuple[FlatHyperparameter, ...]:
        """All hyperparameters, the selector first."""
        inner = tuple(piece.parameter for piece in self.pieces if isinstance(piece, HyperparameterPiece))
        return inner if self.selector is None else (self.selector, *inner)

    @cached_property
    def _places(self) -> dict[FlatValue, int]:
        """The part index of each choice of the selector."""
        return {} if self.selector is None else {choice: place for place, choice in enumerate(self.selector.choices)}

    @cached_property
    def _draw(self) -> FreeHyperparameterDraw:
        return FreeHyperparameterDraw("" if self.selector is None else self.selector.name, self.pieces)

    def encode(self, value: Value) -> dict[str, FlatValue]:
        """Return a member as values of the hyperparameters."""
        found = self._draw.encode(value)
        if self.selector is not None:
            found[self.selector.name] = self.selector.choices[found[self.selector.name]]
        return found

    def decode(self, values: Mapping[str, FlatValue]) -> Value:
        """Return the member that values encode; raise LookupError for missing or invalid values."""
        return self._draw.ask_value(
            lambda name, each: self._places[values[name]] if each is self._draw else values[name]
        )


def draw_share(piece: Domain, whole: Domain) -> float:
    """Return the share of the draws of a domain that lies in a piece of it, at least `MIN_SHARE`."""
    return max(sum(probability_of_cell(part, whole) for part in parts(piece)), MIN_SHARE)
