"""Priors: where the author of a space expects good values."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from spacelang.facts import fact
from spacelang.ir.domain import literal


@fact
class Normal:
    """Values near a mean, by a deviation above 0: both of natural logarithms where the range is logarithmic."""

    mean: float
    deviation: float


@fact
class Uniform:
    """All values alike: what is drawn without a prior, said aloud."""


Prior: TypeAlias = Normal | Uniform
"""What takes one apart says what it does with each: mypy names the places where a new one is not thought of."""

NORMAL: Final = "normal"
UNIFORM: Final = "uniform"
DISTRIBUTIONS: Final = (NORMAL, UNIFORM)
"""Their names, in texts and in JSON."""


def prior_of(name: str, numbers: Sequence[float]) -> Prior | None:
    """The prior by the name of its distribution and its numbers; None where they do not fit."""
    if name == NORMAL and len(numbers) == 2:
        mean, deviation = numbers
        return Normal(mean, deviation) if deviation > 0 else None
    return Uniform() if name == UNIFORM and not numbers else None


def named(prior: Prior) -> tuple[str, tuple[float, ...]]:
    """The name of its distribution and its numbers: `prior_of(*named(prior)) == prior`."""
    match prior:
        case Normal(mean=mean, deviation=deviation):
            return NORMAL, (mean, deviation)
        case Uniform():
            return UNIFORM, ()


def describe(prior: Prior) -> str:
    """As the language writes it: `@prior(normal, 0.5, 0.1)`."""
    name, numbers = named(prior)
    return f"@prior({', '.join((name, *map(literal, numbers)))})"
