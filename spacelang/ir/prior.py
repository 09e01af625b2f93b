"""Prior distributions: where the author of a space expects good values of a hyperparameter."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from spacelang.frozen import frozen
from spacelang.ir.domain import literal


@frozen
class Normal:
    """A normal distribution; on a logarithmic range, `mean` and `deviation` are those of the natural logarithm."""

    mean: float
    deviation: float


@frozen
class Uniform:
    """The uniform distribution, which is also used if no prior is given."""


Prior: TypeAlias = Normal | Uniform
"""Code that distinguishes priors matches on all types, so that mypy reports every place that a new type affects."""

NORMAL: Final = "normal"
UNIFORM: Final = "uniform"
DISTRIBUTIONS: Final = (NORMAL, UNIFORM)
"""The names of the distributions in spaces and in JSON."""


def make_prior(name: str, numbers: Sequence[float]) -> Prior | None:
    """Return the prior with this distribution name and these parameters, or None if they do not fit together."""
    if name == NORMAL and len(numbers) == 2:
        mean, deviation = numbers
        return Normal(mean, deviation) if deviation > 0 else None
    return Uniform() if name == UNIFORM and not numbers else None


def name_and_parameters(prior: Prior) -> tuple[str, tuple[float, ...]]:
    """Return the distribution name and the parameters of a prior.

    `make_prior(*name_and_parameters(prior)) == prior`.
    """
    match prior:
        case Normal(mean=mean, deviation=deviation):
            return NORMAL, (mean, deviation)
        case Uniform():
            return UNIFORM, ()


def describe(prior: Prior) -> str:
    """Return a prior in the syntax of the language, e.g. `@prior(normal, 0.5, 0.1)`."""
    name, numbers = name_and_parameters(prior)
    return f"@prior({', '.join((name, *map(literal, numbers)))})"
