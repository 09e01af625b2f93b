"""Errors of networks: what they advise."""

from dataclasses import replace

import pytest

import spacelang as sl
from spacelang.solver.constraint_network import SamplingFailedError
from spacelang.text import NO_SPAN

TEXT = """\
stage model = Ridge { alpha : float[0, 1] = 0.5
                      tol   : float[0, 1] = 0.5 }
require model.alpha <= model.tol
require model.alpha + model.tol <= 1
"""


@pytest.mark.parametrize(("count", "lines"), [(1, " in line 3"), (2, " in lines 3, 4"), (0, "")])
def test_the_advice_for_rare_values_names_the_lines_of_the_constraints(count: int, lines: str) -> None:
    constraints = sl.parse(TEXT).checked.constraints
    made = replace(constraints[0], span=NO_SPAN)  # has no line
    error = SamplingFailedError((*constraints[:count], made))
    assert error.remedy == f"loosen the constraints{lines}: too few random values satisfy them"
    assert error.__notes__ == [error.remedy]
