"""Minimizers: one module per method that searches the unit cube for the smallest value by requesting trials.

The function to minimise is a `Value`. `minimised` requests the trials for the points that a minimizer proposes, and
stops after the given calls or seconds. A minimizer therefore only has to propose the next point, given the observations
so far (`Seen`).
"""

from spacelang.minimizers._calls import Propose, Seen, minimised
from spacelang.minimizers._protocol import Box, Minimizer, Point, Value
from spacelang.plugins import Plugins
from spacelang.surrogates.dimensions import Dimension

__all__ = ["MINIMIZERS", "Box", "Dimension", "Minimizer", "Point", "Propose", "Seen", "Value", "minimised"]

MINIMIZERS = Plugins("spacelang.minimizers", "spacelang.minimizers")
"""All minimizers by name; each loads as a class that implements `Minimizer`."""
