"""Meta-learning: what is known of earlier data sets, and which configurations that suggests for another one."""

from enum import StrEnum


class Norm(StrEnum):
    """By which norm the differences of meta-features add up to a distance."""

    L1 = "l1"
    L2 = "l2"
