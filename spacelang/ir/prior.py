"""Prior distributions, one class each, listed in `PRIORS`: where the author of a space expects good values."""

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Final

from spacelang.frozen import frozen
from spacelang.ir.domain import literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ends = tuple[float, float]
"""The lower and the upper end of a range on its scale: their natural logarithms if the range has `log`."""


class Prior:
    """A distribution of numbers on the scale of a range, that is, of natural logarithms if the range has `log`.

    Draws restrict it to the domain. `ends` are always the ends of the whole range, which some distributions need (a
    beta distribution, for example, is one of positions between the ends); `start` and `end` bound a part of it.
    """

    __slots__ = ()

    name: ClassVar[str]
    meaning: ClassVar[str]  # One sentence for the reference, in which the fields are the parameters
    positive: ClassVar[tuple[str, ...]] = ()  # The parameters that must be greater than 0

    def problem(self) -> str | None:
        """Return what the parameters must satisfy, such as "`deviation` greater than 0", or None if they are valid."""
        wrong = (name for name in self.positive if not getattr(self, name) > 0)
        return next((f"`{name}` greater than 0" for name in wrong), None)

    def log_density(self, place: float, ends: Ends) -> float:
        """Return the logarithm of the density at a number `place` of the scale, up to a constant; it must be finite.

        It is used for sets: their numbers share their probability in proportion to the density. `ends` are then the
        least and the greatest of them.
        """
        raise NotImplementedError

    def log_masses(self, starts: "NDArray[Any]", stops: "NDArray[Any]", ends: Ends) -> "NDArray[Any]":
        """Return the logarithms of the probabilities of n intervals, up to a constant; -inf for those too small."""
        raise NotImplementedError

    def quantiles(self, shares: "NDArray[Any]", start: float, end: float, ends: Ends) -> "NDArray[Any]":
        """Return the quantiles of the distribution restricted to [start, end], for shares in [0, 1], shape (n,)."""
        raise NotImplementedError


@frozen
class Normal(Prior):
    """A normal distribution; on a logarithmic range, `mean` and `deviation` are those of the natural logarithm."""

    name: ClassVar[str] = "normal"
    meaning: ClassVar[str] = "good values are expected around `mean`, with the standard deviation `deviation`"

    positive: ClassVar[tuple[str, ...]] = ("deviation",)

    mean: float
    deviation: float

    def log_density(self, place: float, ends: Ends) -> float:  # noqa: ARG002
        """Return the logarithm of the density, without its constant."""
        return -(((place - self.mean) / self.deviation) ** 2) / 2

    def log_masses(self, starts: "NDArray[Any]", stops: "NDArray[Any]", ends: Ends) -> "NDArray[Any]":  # noqa: ARG002
        """Return the logarithms of the probabilities of intervals, exact to rounding also far from the mean."""
        import numpy as np
        from scipy.special import log_ndtr

        lower, upper = (starts - self.mean) / self.deviation, (stops - self.mean) / self.deviation
        lower, upper = np.where(lower > 0, -upper, lower), np.where(lower > 0, -lower, upper)
        below, above = log_ndtr(lower), log_ndtr(upper)
        with np.errstate(divide="ignore", invalid="ignore"):
            found: NDArray[Any] = np.where(below < above, above + np.log1p(-np.exp(below - above)), -np.inf)
        return found

    def quantiles(self, shares: "NDArray[Any]", start: float, end: float, ends: Ends) -> "NDArray[Any]":  # noqa: ARG002
        """Return quantiles of the truncated normal distribution, exact to rounding also far from the mean."""
        import numpy as np
        from scipy.special import log_ndtr, ndtri_exp

        lower, upper, sign = self._standardise(start, end)
        with np.errstate(divide="ignore"):
            logs = np.logaddexp(log_ndtr(lower) + np.log1p(-shares), log_ndtr(upper) + np.log(shares))
        places: NDArray[Any] = self.mean + sign * self.deviation * ndtri_exp(logs)
        return places.clip(start, end)

    def _standardise(self, start: float, end: float) -> tuple[float, float, int]:
        """Return the ends in standard deviations from the mean, and a sign.

        An interval above the mean is mirrored below it (sign -1), because logarithms of lower tails are exact.
        """
        lower, upper = (start - self.mean) / self.deviation, (end - self.mean) / self.deviation
        return (-upper, -lower, -1) if lower > 0 else (lower, upper, 1)


@frozen
class Uniform(Prior):
    """The uniform distribution, which is also used if no prior is given."""

    name: ClassVar[str] = "uniform"
    meaning: ClassVar[str] = "good values may be anywhere"

    def log_density(self, place: float, ends: Ends) -> float:  # noqa: ARG002
        """Return 0 for every number."""
        return 0.0

    def log_masses(self, starts: "NDArray[Any]", stops: "NDArray[Any]", ends: Ends) -> "NDArray[Any]":  # noqa: ARG002
        """Return the logarithms of the lengths of intervals."""
        import numpy as np

        with np.errstate(divide="ignore"):
            found: NDArray[Any] = np.log(np.maximum(stops - starts, 0))
        return found

    def quantiles(self, shares: "NDArray[Any]", start: float, end: float, ends: Ends) -> "NDArray[Any]":  # noqa: ARG002
        """Return the numbers at the given shares of the length from `start` to `end`."""
        return start * (1 - shares) + end * shares


PRIORS: Final[dict[str, type[Prior]]] = {prior.name: prior for prior in (Normal, Uniform)}
"""All priors by the names that they have in spaces and in JSON."""


def usage(prior: type[Prior]) -> str:
    """Return the arguments of a prior as a user writes them, e.g. `normal, mean, deviation` in backticks."""
    names = parameter_names(prior)
    return f"`{', '.join((prior.name, *names))}`" if names else f"`{prior.name}` without numbers"


def parameter_names(prior: type[Prior]) -> tuple[str, ...]:
    """Return the names of the parameters of a prior, in the order in which they are written."""
    return tuple(parameter.name for parameter in fields(prior))  # type: ignore[arg-type]


def make_prior(name: str, numbers: Sequence[float]) -> Prior | None:
    """Return the prior with this name and these parameters, or None if they do not fit together."""
    return None if expected_arguments(name, numbers) else PRIORS[name](*numbers)


def expected_arguments(name: str, numbers: Sequence[float]) -> str | None:
    """Return a description of valid arguments of `@prior`, or None if the given name and numbers are valid."""
    kind = PRIORS.get(name)
    if kind is None:
        return " or ".join(usage(known).removesuffix(" without numbers") for known in PRIORS.values())
    return usage(kind) if len(numbers) != len(parameter_names(kind)) else kind(*numbers).problem()


def name_and_parameters(prior: Prior) -> tuple[str, tuple[float, ...]]:
    """Return the name and the parameters of a prior, so that `make_prior(*name_and_parameters(prior)) == prior`."""
    return prior.name, tuple(getattr(prior, name) for name in parameter_names(type(prior)))


def describe(prior: Prior) -> str:
    """Return a prior in the syntax of the language, e.g. `@prior(normal, 0.5, 0.1)`."""
    name, numbers = name_and_parameters(prior)
    return f"@prior({', '.join((name, *map(literal, numbers)))})"
