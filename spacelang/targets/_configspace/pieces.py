"""Values as ConfigSpace holds them: one or more of its hyperparameters for a domain, the way down and the way back."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

from spacelang.ir.domain import (
    Domain,
    Grid,
    Real,
    part_of,
    parts,
)
from spacelang.ir.value import Value, identity
from spacelang.targets._configspace.ways import Choice

PLACES: Final = 13
"""The decimals that ConfigSpace keeps of a float."""

LISTED: Final = 100
"""So many numbers of a stepped range are listed one by one."""

Kind: TypeAlias = Literal[
    "categorical", "ordinal", "constant", "uniform_float", "uniform_int", "normal_float", "normal_int"
]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One hyperparameter of ConfigSpace; `normal` is the mean and deviation of its distribution."""

    name: str
    kind: Kind
    choices: tuple[Choice, ...] = ()
    lower: float = 0
    upper: float = 0
    log: bool = False
    weights: tuple[float, ...] | None = None
    normal: tuple[float, float] | None = None
    default: Choice = 0

    @property
    def is_finite(self) -> bool:
        """Whether it lists its values."""
        return bool(self.choices)


@dataclass(frozen=True)
class Single:
    """The only value of a part of a union: which part it is says it all."""

    value: Value

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """None at all."""
        return ()

    def encode(self, value: Value) -> dict[str, Choice]:  # noqa: ARG002 - there is one value only
        """Nothing."""
        return {}

    def decode(self, values: Mapping[str, Choice]) -> Value:  # noqa: ARG002 - as above
        """The value."""
        return self.value


@dataclass(frozen=True)
class Listed:
    """Values one by one: a categorical, an ordinal, or a constant."""

    parameter: Parameter
    values: tuple[Value, ...]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The one that lists them."""
        return (self.parameter,)

    @cached_property
    def choice_of(self) -> dict[tuple[object, ...], Choice]:
        """What ConfigSpace calls each value, by its identity."""
        return {identity(v): choice for v, choice in zip(self.values, self.parameter.choices, strict=True)}

    @cached_property
    def _value_of(self) -> dict[tuple[object, ...], Value]:
        return {identity(choice): v for v, choice in zip(self.values, self.parameter.choices, strict=True)}

    def encode(self, value: Value) -> dict[str, Choice]:
        """The choice that stands for a value."""
        return {self.parameter.name: self.choice_of[identity(value)]}

    def decode(self, values: Mapping[str, Choice]) -> Value:
        """The value of a choice; LookupError for none."""
        return self._value_of[identity(values[self.parameter.name])]


@dataclass(frozen=True)
class Scaled:
    """A range of floats, times two to the power of `exponent`."""

    parameter: Parameter
    part: Real
    exponent: int = 0

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The range."""
        return (self.parameter,)

    def encode(self, value: Value) -> dict[str, Choice]:
        """The number, scaled."""
        return {self.parameter.name: self.number(value)}

    def decode(self, values: Mapping[str, Choice]) -> Value:
        """The member nearest to a number of the range."""
        number = math.ldexp(float(values[self.parameter.name]), -self.exponent)
        return min(max(number, self.part.least), self.part.greatest) + 0.0

    def number(self, value: Value) -> float:
        """A number in the units of the range."""
        assert isinstance(value, int | float)
        return math.ldexp(float(value), self.exponent)


@dataclass(frozen=True)
class Placed:
    """A range of integers as it stands (`is_plain`), or the places of a stepped range."""

    parameter: Parameter
    part: Grid
    is_plain: bool

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The integer."""
        return (self.parameter,)

    def encode(self, value: Value) -> dict[str, Choice]:
        """The integer, or the place."""
        return {self.parameter.name: self.number(value)}

    def decode(self, values: Mapping[str, Choice]) -> Value:
        """The member; LookupError where there is none."""
        given = values[self.parameter.name]
        if given != int(given) or not self.parameter.lower <= given <= self.parameter.upper:
            raise LookupError
        return int(given) if self.is_plain else self.part.at(int(given))

    def number(self, value: Value) -> int:
        """A member in the units of the parameter."""
        assert isinstance(value, int | float)
        return int(value) if self.is_plain else self.part.index_of(value)


Piece: TypeAlias = Single | Listed | Scaled | Placed


@dataclass(frozen=True)
class Coded:
    """A domain in ConfigSpace's hyperparameters: its parts, and for a union the categorical that tells them apart."""

    domain: Domain
    pieces: tuple[Piece, ...]
    selector: Parameter | None = None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All hyperparameters, the selector first."""
        inner = tuple(parameter for piece in self.pieces for parameter in piece.parameters)
        return inner if self.selector is None else (self.selector, *inner)

    def encode(self, value: Value) -> dict[str, Choice]:
        """A member as values of the hyperparameters."""
        if self.selector is None:
            return self.pieces[0].encode(value)
        place = part_of(parts(self.domain), value)
        return {self.selector.name: self.selector.choices[place], **self.pieces[place].encode(value)}

    def decode(self, values: Mapping[str, Choice]) -> Value:
        """The member; LookupError where values are missing or are none of it."""
        if self.selector is None:
            return self.pieces[0].decode(values)
        label = values[self.selector.name]
        if label not in self.selector.choices:
            raise LookupError
        return self.pieces[self.selector.choices.index(label)].decode(values)
