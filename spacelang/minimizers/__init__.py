"""Minimizers: one file is one way to search the unit cube for the least number, by asking for trials.

What is minimised is a `Value`; `minimised` asks for the points that a minimizer proposes and knows when there are
enough, so that a file has to say nothing but what comes after what is `Seen`.
"""

from spacelang.minimizers._calls import Propose, Seen, minimised
from spacelang.minimizers._protocol import Box, Minimizer, Point, Value
from spacelang.plugins import Plugins
from spacelang.surrogates.dimensions import Dimension

__all__ = ["MINIMIZERS", "Box", "Dimension", "Minimizer", "Point", "Propose", "Seen", "Value", "minimised"]

MINIMIZERS = Plugins("spacelang.minimizers", "spacelang.minimizers")
"""Every minimizer by its name; each loads to a class that fits `Minimizer`."""
