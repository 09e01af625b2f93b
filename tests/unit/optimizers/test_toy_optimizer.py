"""The optimizer that CONTRIBUTING shows."""

from pathlib import Path

import pytest
from driving import arbitrary, drive
from numpy.random import default_rng
from small_spaces import continuous

from spacelang.ir.membership import exclusion
from spacelang.ir.problem import Problem

CONTRIBUTING = Path(__file__).parents[3] / "CONTRIBUTING.md"


@pytest.mark.parametrize("workers", [1, 8])
def test_the_optimizer_of_contributing_searches(workers: int) -> None:
    _, _, section = CONTRIBUTING.read_text(encoding="utf-8").partition("### An optimizer\n")
    code = section.partition("```python\n")[2].partition("```\n")[0]
    assert len(code.splitlines()) < 60
    names: dict[str, object] = {"__name__": "toy"}
    exec(code, names)
    search = names["BetterHalf"]().search(Problem(continuous(), 500, default_rng(0)))  # type: ignore[operator]
    driven = drive(search, arbitrary, 200, workers=workers)
    assert len(driven.trials) == 200
    assert driven.idle == workers, "only before the first wish there is nothing to do"
    assert {request.fidelity for request in driven.requests} == {50, None}
    assert all(exclusion(continuous(), request.configuration) is None for request in driven.requests)
