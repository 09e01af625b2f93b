"""Priors as normal distributions of ConfigSpace."""

import math

from spacelang.ir.domain import Domain, Grid, Real
from spacelang.ir.prior import Normal, Uniform
from spacelang.ir.space import Hyperparameter


def normal_of(node: Hyperparameter) -> tuple[float, float] | None:
    """Return the mean and deviation of a normal prior that ConfigSpace can express, else None.

    Under `log`, these are the mean and deviation of logarithms.
    """
    match node.prior:
        case Normal(mean=mean, deviation=deviation) if is_expressible(node):
            return mean, deviation
        case Normal() | Uniform() | None:
            return None


def is_expressible(node: Hyperparameter) -> bool:
    """Return True if ConfigSpace can express the prior of a hyperparameter."""
    match node.prior:
        case Normal() as normal:
            return _is_expressible(normal, node.domain)
        case Uniform() | None:
            return True


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
