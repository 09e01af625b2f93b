"""Meta-learning: archives of earlier data sets, and the configurations that they suggest for a new one."""

from enum import StrEnum


class DistanceNorm(StrEnum):
    """The norm that combines the differences of meta-features to a distance."""

    L1 = "l1"
    L2 = "l2"
