"""The encoding of domains as ConfigSpace hyperparameters.

ConfigSpace rounds floats to 13 decimals. Ranges for which that is too coarse are scaled by a power of two, which is
exact. A decoded number that rounding has moved out of its range becomes the nearest member.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias, assert_never

import numpy as np

from spacelang.ir.domain import (
    Categorical,
    Domain,
    Grid,
    Ordinal,
    Real,
    SimpleDomain,
    describe,
    literal,
    members,
    parts,
)
from spacelang.ir.value import Value, is_number
from spacelang.reductions.domains import MemberIndexReduction, MemberRenamingReduction
from spacelang.reductions.questions import FixedPiece
from spacelang.sampling.value_codes import EXACT_INTEGER_LIMIT
from spacelang.solver.cells import log_ends, log_share
from spacelang.targets._configspace.normal_form import FlatValue
from spacelang.targets._configspace.pieces import (
    DECIMALS,
    MAX_LISTED,
    EncodedDomain,
    ExactIntegerReduction,
    FlatHyperparameter,
    HyperparameterPiece,
    Kind,
    ScaledRangeReduction,
    finite_hyperparameter,
)


class UnsupportedRangeError(Exception):
    """An error for a range that ConfigSpace cannot represent."""


Namer: TypeAlias = Callable[[str], str]
"""Returns a unique name that is as close as possible to the preferred name."""


def encode_domain(
    domain: Domain,
    wish: str,
    name: Namer,
    normal: tuple[float, float] | None = None,
    weights: tuple[float, ...] | None = None,
) -> EncodedDomain:
    """Encode a domain as ConfigSpace hyperparameters; raise UnsupportedRangeError if that is impossible.

    Parameters
    ----------
    domain : Domain
        The domain to encode.
    wish : str
        The preferred name.
    name : callable
        Returns a unique name for a preferred one.
    normal : tuple of float, optional
        The mean and deviation of a normal prior; used only if the domain is a single range.
    weights : tuple of float, optional
        The weights of the parts of a union.
    """
    several = parts(domain)
    if len(several) == 1:
        return EncodedDomain(domain, (_encode_part(several[0], name(wish), normal),))
    labels = tuple(map(describe, several))
    selector = finite_hyperparameter(name(f"{wish}:part"), labels, labels[0], weights)
    pieces = tuple(
        FixedPiece(part.middle) if part.size == 1 else _encode_part(part, name(f"{wish}:{label}"), None)
        for part, label in zip(several, labels, strict=True)
    )
    return EncodedDomain(domain, pieces, selector)


def list_members(
    part: Categorical | Grid, name: str, *, ordered: bool, weights: tuple[float, ...] | None = None
) -> HyperparameterPiece:
    """Return a hyperparameter that lists the members one by one (see `distinct_choices`)."""
    values = [*members(part)]
    choices = distinct_choices(values)
    parameter = finite_hyperparameter(name, choices, choices[0], weights, ordered=ordered)
    return HyperparameterPiece(name, MemberRenamingReduction(part, Categorical(choices)), parameter)


def distinct_choices(values: Sequence[Value]) -> tuple[FlatValue, ...]:
    """Return values unchanged if ConfigSpace can tell them apart, else as literals of the language."""
    return _native_values(values) or tuple(map(literal, values))


def needs_literals(values: Sequence[Value]) -> bool:
    """Return True if values must be written as strings."""
    return _native_values(values) is None


def _native_values(values: Sequence[Value]) -> tuple[FlatValue, ...] | None:
    """Return the values if all have one type that ConfigSpace keeps unchanged, else None."""
    if all(isinstance(v, str) and not v.endswith("\0") and v.isprintable() for v in values):
        return tuple(v for v in values if isinstance(v, str))
    if all(isinstance(v, bool) for v in values):
        return tuple(v for v in values if isinstance(v, bool))
    if all(is_number(v) and abs(v) < EXACT_INTEGER_LIMIT for v in values):  # type: ignore[arg-type]
        numbers = [v for v in values if isinstance(v, int | float)]
        return tuple(numbers if all(isinstance(v, int) for v in numbers) else map(float, numbers))
    return None


def _encode_part(part: SimpleDomain, name: str, normal: tuple[float, float] | None) -> HyperparameterPiece:
    match part:
        case Categorical():
            return list_members(part, name, ordered=isinstance(part, Ordinal))
        case Real() | Grid() if part.size == 1:
            return list_members(Categorical((part.middle,)), name, ordered=False)
        case Real():
            return _encode_scaled(part, name, normal)
        case Grid(is_consecutive=True):
            return HyperparameterPiece(
                name,
                ExactIntegerReduction(part),
                _numeric_hyperparameter(name, "int", part.lower, part.upper, part.log, normal),
            )
        case Grid():
            return _encode_stepped(part, name)
        case _:
            assert_never(part)


def _numeric_hyperparameter(
    name: str, kind: str, lower: float, upper: float, log: bool, normal: tuple[float, float] | None
) -> FlatHyperparameter:
    family: Kind = f"{'uniform' if normal is None else 'normal'}_{kind}"  # type: ignore[assignment]
    return FlatHyperparameter(name, family, (), lower, upper, log, normal=normal, default=lower)


def _encode_stepped(part: Grid, name: str) -> HyperparameterPiece:
    if part.size <= MAX_LISTED:
        weights = _log_weights(part) if part.log else None
        return list_members(part, name, ordered=weights is None, weights=weights)
    places = MemberIndexReduction(part)
    return HyperparameterPiece(name, places, _numeric_hyperparameter(name, "int", 0, places.domain.upper, False, None))


def _log_weights(part: Grid) -> tuple[float, ...]:
    lower, _ = log_ends(part)
    assert math.isfinite(lower)
    return tuple(log_share(member, member, part) for member in map(part.value_at, range(part.size)))


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
    """Return the `mu` and `sigma` of a normal hyperparameter.

    On a log scale, the prior is a distribution of natural logarithms. There, `mu` is a value, and ConfigSpace 1.2 takes
    the logarithm of `lower + sigma` for the deviation.
    """
    if normal is None:
        return None
    mean, deviation = normal
    if not log:
        return math.ldexp(mean, exponent), math.ldexp(deviation, exponent)
    sigma = math.exp(deviation) - lower
    return (math.ldexp(math.exp(mean), exponent), sigma) if sigma > 0 else None


def scaling_exponent(part: Real) -> int:
    """Return the power of two by which to scale a range so that 13 decimals suffice; 0 if they already do."""
    largest = max(abs(part.lower), abs(part.upper))
    smallest = part.lower if part.log else largest
    if (1e-8 if part.log else 1e-3) <= smallest and largest <= 1e15:
        return 0
    exponent = 1 - math.frexp(smallest)[1]
    return min(exponent, 900 - math.frexp(largest)[1])


def round_decimals(number: float) -> float:
    """Round a number as ConfigSpace rounds all floats."""
    return float(np.round(number, DECIMALS)) + 0.0


def _round_down(number: float) -> float:
    """Return the largest number with 13 decimals that is at most `number`.

    Numbers so large that floats have no such decimals stay as they are.
    """
    found = round_decimals(number)
    step = max(10.0**-DECIMALS, math.ulp(number))
    while found > number:
        found = round_decimals(found - step)
        step *= 2
    return found + 0.0
