"""Encodings of domains as ConfigSpace hyperparameters, with conversions of values."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

from spacelang.ir import domain as domains
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, SimpleDomain, parts
from spacelang.ir.domain_properties import EXACT_INTEGER_LIMIT
from spacelang.ir.prior import Normal, Uniform
from spacelang.ir.space import Hyperparameter
from spacelang.ir.value import Value, is_number
from spacelang.reductions.domain_reductions import (
    IdentityReduction,
    MemberIndexReduction,
    MemberRenamingReduction,
    ScaledRangeReduction,
    scaling_exponent,
)
from spacelang.reductions.space_questions import DrawnPiece, FixedPiece, IndependentHyperparameterDraw
from spacelang.solver.domain_cells import log_uniform_probability, probability_of_cell

FlatValue: TypeAlias = str | bool | int | float
"""A value of a finite ConfigSpace hyperparameter, or a bound of a numeric one."""
DECIMALS: Final = 13  # The number of decimals to which ConfigSpace rounds floats
MIN_SHARE: Final = 0.01  # The minimum weight of a piece of a range, for pieces that draws would almost never hit
MAX_LISTED: Final = 100  # The maximum size of a stepped range whose numbers are listed one by one
Kind: TypeAlias = Literal[
    "categorical", "ordinal", "constant", "uniform_float", "uniform_int", "normal_float", "normal_int"
]


@dataclass(frozen=True, slots=True)
class FlatHyperparameter:
    """A description of one ConfigSpace hyperparameter; `normal` is the mean and deviation of a normal distribution."""

    name: str
    kind: Kind
    choices: tuple[FlatValue, ...] = ()
    lower: float = 0
    upper: float = 0
    log: bool = False
    weights: tuple[float, ...] | None = None
    normal: tuple[float, float] | None = None
    default: FlatValue = 0


def make_finite_hyperparameter(
    name: str,
    choices: Iterable[FlatValue],
    default: FlatValue,
    weights: Iterable[float] | None = None,
    *,
    ordered: bool = False,
) -> FlatHyperparameter:
    """Return a categorical, or ordinal if `ordered`, with these values; a constant if there is only one."""
    several = tuple(choices)
    kind: Kind = "constant" if len(several) == 1 else "ordinal" if ordered else "categorical"
    shares = None if weights is None or len(several) == 1 else tuple(weights)
    return FlatHyperparameter(name, kind, several, weights=shares, default=default)


@dataclass(frozen=True, slots=True)
class HyperparameterPiece(DrawnPiece):
    """A piece of a domain with the ConfigSpace hyperparameter that has its values, as its reduction encodes them."""

    parameter: FlatHyperparameter


Piece: TypeAlias = FixedPiece | HyperparameterPiece


@dataclass(frozen=True, slots=True)
class UnchangedIntegerReduction(IdentityReduction):
    """A reduction that leaves integers unchanged."""

    part: Grid

    def decode(self, value: Value) -> Value:
        """Return the integer; raise LookupError if it is not a member."""
        number = domains.exact_integer(value)
        if number is None or not self.part.lower <= number <= self.part.upper:
            raise LookupError(value)
        return number


@dataclass(frozen=True)
class EncodedDomain:
    """The ConfigSpace hyperparameters that encode one domain.

    There is one for each part with several values, and a `selector` of the part if the domain is a union.
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
        return {} if self.selector is None else {choice: place for place, choice in enumerate(self.selector.choices)}

    @cached_property
    def _draw(self) -> IndependentHyperparameterDraw:
        return IndependentHyperparameterDraw("" if self.selector is None else self.selector.name, self.pieces)

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


def piece_probability(piece: Domain, whole: Domain) -> float:
    """Return the probability that a draw from the domain `whole` lies in `piece`; at least `MIN_SHARE`."""
    return max(sum(probability_of_cell(part, whole) for part in parts(piece)), MIN_SHARE)


class UnsupportedRangeError(Exception):
    """An error for a range that ConfigSpace cannot represent."""


Namer: TypeAlias = Callable[[str], str]  # Returns a unique name that is as close as possible to the preferred name


def encode_domain(
    domain: Domain,
    preferred_name: str,
    name: Namer,
    normal: tuple[float, float] | None = None,
    weights: tuple[float, ...] | None = None,
) -> EncodedDomain:
    """Encode a domain as ConfigSpace hyperparameters; raise UnsupportedRangeError if that is impossible.

    `name` makes a unique name from a preferred one. `normal` is the mean and deviation of the prior, for a domain that
    is a single range, and `weights` are those of the parts of a union.
    """
    several = parts(domain)
    if len(several) == 1:
        return EncodedDomain(domain, (_encode_part(several[0], name(preferred_name), normal),))
    labels = tuple(map(domains.describe, several))
    selector = make_finite_hyperparameter(name(f"{preferred_name}:part"), labels, labels[0], weights)
    pieces: list[Piece] = []
    for part, label in zip(several, labels, strict=True):
        is_fixed = part.size == 1
        pieces.append(
            FixedPiece(part.representative) if is_fixed else _encode_part(part, name(f"{preferred_name}:{label}"), None)
        )
    return EncodedDomain(domain, tuple(pieces), selector)


def make_enumerated_piece(
    part: Categorical | Grid, name: str, *, ordered: bool, weights: tuple[float, ...] | None = None
) -> HyperparameterPiece:
    """Return a piece whose hyperparameter is a list of all members (see `distinguishable_choices`)."""
    choices = distinguishable_choices([*domains.members(part)])
    parameter = make_finite_hyperparameter(name, choices, choices[0], weights, ordered=ordered)
    return HyperparameterPiece(name, MemberRenamingReduction(part, Categorical(choices)), parameter)


def distinguishable_choices(values: Sequence[Value]) -> tuple[FlatValue, ...]:
    """Return the values as choices of a categorical: unchanged if ConfigSpace can tell them apart.

    Otherwise return each as text, a literal of the language.
    """
    return _native_values(values) or tuple(map(domains.literal, values))


def needs_literals(values: Sequence[Value]) -> bool:
    """Return True if `distinguishable_choices` would return the values as text."""
    return _native_values(values) is None


def _native_values(values: Sequence[Value]) -> tuple[FlatValue, ...] | None:
    """Return the values if all have one type that ConfigSpace preserves unchanged, else None."""
    if all(isinstance(v, str) and not v.endswith("\0") and v.isprintable() for v in values):
        return tuple(v for v in values if isinstance(v, str))
    if all(isinstance(v, bool) for v in values):
        return tuple(v for v in values if isinstance(v, bool))
    if all(is_number(v) and abs(v) < EXACT_INTEGER_LIMIT for v in values):
        numbers = [v for v in values if is_number(v)]
        return tuple(numbers if all(isinstance(v, int) for v in numbers) else map(float, numbers))
    return None


def _encode_part(part: SimpleDomain, name: str, normal: tuple[float, float] | None) -> HyperparameterPiece:
    match part:
        case Categorical():
            return make_enumerated_piece(part, name, ordered=isinstance(part, Ordinal))
        case Real() | Grid() if part.size == 1:
            return make_enumerated_piece(Categorical((part.representative,)), name, ordered=False)
        case Real():
            return _encode_scaled(part, name, normal)
        case Grid(is_consecutive=True):
            number = _numeric_hyperparameter(name, "int", part.lower, part.upper, part.log, normal)
            return HyperparameterPiece(name, UnchangedIntegerReduction(part), number)
        case Grid() if part.size <= MAX_LISTED:
            weights = (
                tuple(log_uniform_probability(m, m, part) for m in map(part.value_at, range(part.size)))
                if part.log
                else None
            )
            return make_enumerated_piece(part, name, ordered=weights is None, weights=weights)
        case Grid():
            places = MemberIndexReduction(part)
            number = _numeric_hyperparameter(name, "int", 0, places.domain.upper, False, None)
            return HyperparameterPiece(name, places, number)


def _numeric_hyperparameter(
    name: str, kind: str, lower: float, upper: float, log: bool, normal: tuple[float, float] | None
) -> FlatHyperparameter:
    family: Kind = f"{'uniform' if normal is None else 'normal'}_{kind}"  # type: ignore[assignment]
    return FlatHyperparameter(name, family, (), lower, upper, log, normal=normal, default=lower)


def _encode_scaled(part: Real, name: str, normal: tuple[float, float] | None) -> HyperparameterPiece:
    scaled = ScaledRangeReduction(part, scaling_exponent(part))
    lower, upper = _round_down(scaled.domain.lower), -_round_down(-scaled.domain.upper)
    if lower <= 0 and part.log:
        raise UnsupportedRangeError
    prior = _scaled_prior(normal, lower, part.log, scaled.exponent)
    return HyperparameterPiece(name, scaled, _numeric_hyperparameter(name, "float", lower, upper, part.log, prior))


def _scaled_prior(
    normal: tuple[float, float] | None, lower: float, log: bool, exponent: int
) -> tuple[float, float] | None:
    """Return the parameters `mu` and `sigma` of a normal distribution of ConfigSpace, for a range times 2**exponent.

    Under `log`, `normal` is about logarithms, but `mu` is a value; ConfigSpace 1.2 takes log(lower + sigma) as the
    deviation. Return None if there is no such prior.
    """
    if normal is None:
        return None
    mean, deviation = normal
    if not log:
        return math.ldexp(mean, exponent), math.ldexp(deviation, exponent)
    sigma = math.exp(deviation) - lower
    return (math.ldexp(math.exp(mean), exponent), sigma) if sigma > 0 else None


def round_like_configspace(number: float) -> float:
    """Round a number as ConfigSpace rounds all floats: like `np.round`, which leaves integers unchanged."""
    if isinstance(number, int):
        return float(number)
    scaled = number * 10.0**DECIMALS
    return (round(scaled) if math.isfinite(scaled) else scaled) / 10.0**DECIMALS + 0.0


def _round_down(number: float) -> float:
    """Return the greatest number with at most 13 decimals, as ConfigSpace rounds, that is at most `number`."""
    found = round_like_configspace(number)
    step = max(10.0**-DECIMALS, math.ulp(number))
    while found > number:
        found = round_like_configspace(found - step)
        step *= 2
    return found + 0.0


def normal_prior_parameters(node: Hyperparameter) -> tuple[float, float] | None:
    """Return the mean and deviation of a normal prior, of logarithms if the range is logarithmic.

    Return None if there is none or ConfigSpace cannot express it.
    """
    prior = node.prior
    return (prior.mean, prior.deviation) if isinstance(prior, Normal) and has_expressible_prior(node) else None


def has_expressible_prior(node: Hyperparameter) -> bool:
    """Return True if ConfigSpace can express the prior of a hyperparameter."""
    if isinstance(node.prior, Normal):
        return _is_expressible(node.prior, node.domain)
    # ConfigSpace rounds logarithmic integers in a way of its own, which draws small ones less often.
    is_uniform = not any(isinstance(part, Grid) and part.log for part in parts(node.domain))
    return node.prior is None or (isinstance(node.prior, Uniform) and is_uniform)


def _is_expressible(normal: Normal, domain: Domain) -> bool:
    mean, deviation = normal.mean, normal.deviation
    if not isinstance(domain, Grid | Real) or domain.size == 1:
        return False
    if isinstance(domain, Grid) and not domain.is_consecutive:
        return False
    if domain.log:
        is_small = deviation < 50 and math.exp(deviation) > domain.lower
        return is_small and isinstance(domain, Real) and math.log(domain.lower) <= mean <= math.log(domain.upper)
    return domain.lower <= mean <= domain.upper and deviation > 0
