"""theta-min of ADMM by each minimizer: what holds of the two together.

See spacelang/optimizers/README.md, sections "ADMM: theta-min" and "Minimizers".
"""

from functools import cache

import numpy as np
import pytest

import spacelang
from spacelang.ir.membership import first_exclusion
from spacelang.minimizers import MINIMIZERS, Dimension, MinimizationProblem, Minimizer, Point
from spacelang.optimizers._admm import AdmmUpdateSteps, ConstraintResiduals
from spacelang.optimizers._admm.subproblems import ThetaSubproblem
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.targets.admm import Admm, AdmmForm
from spacelang.testing.driving import SearchLog, drive_search, flaky_loss
from spacelang.testing.minimizers import points_from_memo, search_appending_result

STRUCTURES = Structures(spacelang.load("admm_table_a3").checked)
CALLS = 14


@cache
def form() -> AdmmForm:
    return Admm().lower(STRUCTURES).form


def sub_problem(seed: int | None) -> ThetaSubproblem:
    """theta-min at the default, which has no hyperparameters, or at a configuration that is drawn."""
    drawn = () if seed is None else tuple(Sampler(STRUCTURES).configurations(1, np.random.default_rng(seed)))
    point = form().encode(drawn[0]) if drawn else form().default
    splitting = AdmmUpdateSteps.from_box(form().theta_d, 1.0)
    residuals = ConstraintResiduals.from_bounds((), 1.0)
    return ThetaSubproblem(form(), splitting, residuals, splitting.initial_state(point), np.random.default_rng(0))


def minimised(minimizer: Minimizer, value: ThetaSubproblem) -> tuple[Point, SearchLog]:
    """The best point, and what was asked for; a third of all trials fail."""
    asked: MinimizationProblem = value
    best: list[Point] = []
    asking = minimizer.minimise(asked, (Dimension(),) * value.cube.variable_count, CALLS, value.start_point)
    driven = drive_search(search_appending_result(asking, best), flaky_loss, 10 * CALLS)
    return best[0], driven


@pytest.mark.parametrize("name", [name for name in MINIMIZERS.names() if name != "rbfopt"])
@pytest.mark.parametrize("seed", range(4))
def test_it_evaluates_members_with_the_same_z_and_is_never_worse_than_the_start(name: str, seed: int) -> None:
    value = sub_problem(seed)
    first = value.request(value.start_point)
    assert first is not None
    best, driven = minimised(MINIMIZERS.load(name)(), value)
    assert len(driven.trials) <= CALLS
    for request in driven.requests:
        assert first_exclusion(STRUCTURES.space, request.configuration) is None
        for stage in STRUCTURES.space.stages:
            assert request.configuration.get(stage.key) == first.configuration.get(stage.key)
    again, points, numbers = sub_problem(seed), [], []
    for trial in driven.trials:
        *refused, last = points_from_memo(trial, again.cube.variable_count)
        for point, told in (*((each, None) for each in refused), (last, trial)):
            points.append(point)
            numbers.append(again.value(point, told, numbers))
    assert points[0] == value.start_point
    assert best == points[int(np.argmin(numbers))]


@pytest.mark.parametrize("name", [name for name in MINIMIZERS.names() if name != "rbfopt"])
def test_a_pipeline_without_hyperparameters_is_evaluated_once(name: str) -> None:
    _, driven = minimised(MINIMIZERS.load(name)(), sub_problem(None))
    assert len(driven.trials) == 1
