"""Priors as ConfigSpace's normal distributions."""

import math

from spacelang.ir.domain import Grid, Real
from spacelang.ir.space import Hyperparameter


def normal_of(node: Hyperparameter) -> tuple[float, float] | None:
    """The mean and deviation of a prior (of logarithms under `log`) that ConfigSpace can say; None for all others."""
    if node.prior is None or node.prior.distribution != "normal" or not is_sayable(node):
        return None
    mean, deviation = node.prior.parameters
    return mean, deviation


def is_sayable(node: Hyperparameter) -> bool:
    """Whether ConfigSpace can say the prior of a hyperparameter."""
    prior, domain = node.prior, node.domain
    if prior is None or prior.distribution == "uniform":
        return True
    if prior.distribution != "normal" or not isinstance(domain, Grid | Real) or domain.size == 1:
        return False
    if isinstance(domain, Grid) and not domain.is_consecutive:
        return False
    mean, deviation = prior.parameters
    if domain.log:
        is_small = deviation < 50 and math.exp(deviation) > domain.lower
        return is_small and isinstance(domain, Real) and math.log(domain.lower) <= mean <= math.log(domain.upper)
    return domain.lower <= mean <= domain.upper and deviation > 0
