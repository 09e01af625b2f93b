"""The playouts of MOSAIC go on where they were killed: what the other suite has in its full form alone."""

from cheap import PLAYOUTS

from spacelang.optimizers.mosaic import Mosaic
from spacelang.testing.optimizers import ResumeTests


class TestPlayouts(ResumeTests):
    optimizer = Mosaic
    options = {**PLAYOUTS, "kappa": 1}  # noqa: RUF012 - as all suites are given their options
    examples = 4
    stops = 21
    repeats = True
