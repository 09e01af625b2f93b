"""Tables with a common source: what was learned on one of them is not new to the others."""

from typing import Final

SIBLINGS: Final = (
    frozenset({"cpu_act", "cpu_small"}),
    frozenset({"puma8NH", "puma32H"}),
    frozenset({"bank8FM", "bank32nh"}),
    frozenset({"kc1", "pc4", "jm1"}),
    frozenset({"telco_churn", "churn_modelling"}),
    frozenset({"fri_c2_1000_25", "fried"}),  # Both are drawn from Friedman's functions
    frozenset({"ailerons", "elevators"}),  # Both are controls of the same aircraft
)
"""Groups of tables with a common source: the same system or process, or the same question."""


def siblings(name: str) -> frozenset[str]:
    """Return the names of the other tables that have a common source with a table.

    >>> sorted(siblings("kc1"))
    ['jm1', 'pc4']
    """
    return frozenset().union(*(group for group in SIBLINGS if name in group)) - {name}
