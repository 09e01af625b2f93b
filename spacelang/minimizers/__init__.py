"""Minimizers: one module per method that searches the unit cube for the smallest value by requesting trials.

The function to minimise is a `PointObjective`. `minimize_with_proposals` requests the trials for the points that a
minimizer proposes, and stops after the given calls or seconds. A minimizer therefore only has to propose the next
point, given the observations so far (`Observations`).
"""

from spacelang.minimizers._proposal_loop import (
    Box,
    Minimizer,
    Observations,
    Point,
    PointObjective,
    ProposalFunction,
    minimize_with_proposals,
)
from spacelang.plugins import PluginRegistry
from spacelang.surrogates.dimensions import Dimension

__all__ = [
    "MINIMIZERS", "Box", "Dimension", "Minimizer", "Observations", "Point", "PointObjective", "ProposalFunction",
    "minimize_with_proposals",
]  # fmt: skip

MINIMIZERS = PluginRegistry("spacelang.minimizers", "spacelang.minimizers")
"""All minimizers by name; each loads as a class that implements `Minimizer`."""
