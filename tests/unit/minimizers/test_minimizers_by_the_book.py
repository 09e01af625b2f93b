"""How far each minimizer comes, and what it makes of what it is told."""

import os
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from spacelang.ir.search_protocol import Search
from spacelang.ir.trial import Request
from spacelang.minimizers import MINIMIZERS, Box, Dimension, Point, direct
from spacelang.plugins import OptionError, PluginRegistry
from spacelang.runtime.executors.in_process import InProcess
from spacelang.testing.driving import SearchLog, drive_search
from spacelang.testing.memory_storage import MemoryTrialStorage
from spacelang.testing.minimizers import QuadraticBowl, memos, points_from_memo, search_appending_result
from spacelang.testing.search_tests import run_search

FULL = bool(os.environ.get("SPACELANG_FULL"))
RANGE = Dimension()


def found(
    name: str, value: QuadraticBowl, calls: int, start: Point, workers: int = 1, **options: Any
) -> tuple[Point, SearchLog]:
    """The best point, and what was asked for."""
    best: list[Point] = []
    asking = MINIMIZERS.load(name)(**options).minimise(value, value.box, calls, start)
    driven = drive_search(search_appending_result(asking, best), value.loss, 10 * calls, workers=workers)
    return best[0], driven


@pytest.mark.full
@pytest.mark.parametrize("name", ["bo", "direct", "rbf"])
def test_25_evaluations_find_the_bottom_of_a_parabola(name: str) -> None:
    best = [found(name, QuadraticBowl((RANGE,), seed), 25, (0.9,))[0][0] for seed in range(10)]
    assert sum(abs(each - 0.3) < 0.02 for each in best) >= 9


def test_40_evaluations_find_the_bottom_of_a_sphere_with_a_spline() -> None:
    best = np.array([found("rbf", QuadraticBowl((RANGE, RANGE), seed), 40, (0.9, 0.9))[0] for seed in range(10)])
    assert (((best - 0.3) ** 2).sum(axis=1) < 1e-3).sum() >= 8


def test_tpe_finds_the_best_of_categories() -> None:
    box = (Dimension(tuple(np.linspace(0, 1, 11).tolist()), is_ordered=False), RANGE)
    best = np.array([found("tpe", QuadraticBowl(box, seed), 60, (1.0, 1.0))[0] for seed in range(5)])
    assert best[:, 0] == pytest.approx(0.3)


@pytest.mark.parametrize("name", ["bo", "random", "rbf", "tpe"])
def test_idle_workers_are_given_points_of_their_own(name: str) -> None:
    value = QuadraticBowl((RANGE, RANGE), idle_workers=4)
    _, driven = found(name, value, 24, (0.5, 0.5), 4)
    points = [point for trial in driven.trials for point in points_from_memo(trial, 2)]
    assert len(set(points)) == len(driven.trials) == 24
    assert driven.idle_count == 3 + 2 + 1, "at the end, when no call is left"


def test_simplex_is_the_one_of_scipy() -> None:
    """The same points in the same order, up to where the last call is used up."""
    value, asked, start = QuadraticBowl((RANGE, RANGE)), [], (0.9, 0.8)

    def number(point: Any) -> float:
        asked.append(tuple(point.tolist()))
        loss = value.loss(value._make_request(asked[-1]))
        assert loss is not None
        return loss

    corners = np.array([(0.9, 0.8), (0.9 - direct.SIMPLEX_EDGE, 0.8), (0.9, 0.8 - direct.SIMPLEX_EDGE)])
    options = {"initial_simplex": corners, "maxfev": 20}
    minimize(number, start, method="Nelder-Mead", bounds=[(0, 1), (0, 1)], options=options)
    _, driven = found("direct", value, 20, start)
    assert [points_from_memo(trial, 2)[-1] for trial in driven.trials] == asked[: len(driven.trials)]


def test_where_all_numbers_are_alike_a_search_without_model_goes_on_elsewhere() -> None:
    class Flat(QuadraticBowl):
        def loss(self, _: Request) -> float:
            return 1.0

    for method in ("simplex", "evolution"):
        _, driven = found("direct", Flat((RANGE,)), 40, (0.5,), method=method)
        assert len(driven.trials) == 40
        assert len(set(memos(driven.trials))) == 40


def test_bo_proposes_no_members_twice_as_long_as_there_are_others() -> None:
    box: Box = (Dimension(tuple(np.linspace(0, 1, 5).tolist())), Dimension((0.0, 1.0), is_ordered=False))
    _, driven = found("bo", QuadraticBowl(box), 14, (1.0, 1.0), initial=2)
    assert len(set(driven.requests[:10])) >= 9, "one of the two initial points may round to the other"
    assert len(set(driven.requests)) == 10


def test_what_is_known_serves_as_data() -> None:
    """With the numbers of a grid the first call is where they say that the least one is."""
    known = tuple(((each,), (each - 0.3) ** 2) for each in np.linspace(0, 1, 12).tolist())
    for name in ("bo", "rbf"):
        _, driven = found(name, QuadraticBowl((RANGE,), known=known), 2, (1.0,))
        assert points_from_memo(driven.trials[0], 1)[0][0] == pytest.approx(0.3, abs=0.15)


@pytest.mark.parametrize(
    ("name", "option", "text"),
    [("bo", "initial", "1"), ("tpe", "startup", "0"), ("tpe", "gamma", "0"), ("tpe", "candidates", "0")],
)
def test_options_out_of_their_bounds_are_refused(name: str, option: str, text: str) -> None:
    with pytest.raises(OptionError, match=option) as refused:
        PluginRegistry.configure(MINIMIZERS.load(name), {option: text})
    assert refused.value.help


def test_a_start_without_configuration_is_said() -> None:
    class Nowhere(QuadraticBowl):
        def request(self, _: Point) -> None:
            return None

    with pytest.raises(ValueError, match="no valid configuration"):
        found("random", Nowhere((RANGE,)), 5, (0.5,))


@pytest.mark.parametrize("name", [name for name in MINIMIZERS.names() if name != "rbfopt"])
def test_many_trials_are_resumed_to_the_last_bit_with_any_number_of_threads(name: str) -> None:
    """The kernel is fitted again in between, and its factor grows; the second half is made anew."""
    box, calls = (RANGE, RANGE, Dimension((0.0, 0.5, 1.0))), 200 if FULL else 50

    def search() -> Search:
        value = QuadraticBowl(box, 1)
        yield from search_appending_result(MINIMIZERS.load(name)().minimise(value, box, calls, value.start), [])

    whole = MemoryTrialStorage()
    with threadpool_limits(2):
        run_search(search(), InProcess(QuadraticBowl(box).evaluate), calls, journal=whole)
    later = whole.killed_after(calls // 2)
    with threadpool_limits(1):
        run_search(search(), InProcess(QuadraticBowl(box).evaluate), calls, journal=later)
    assert len(whole.appended) > 0.9 * calls, "few of them are repeated"
    assert memos(each.trial for each in later.appended) == memos(each.trial for each in whole.appended[calls // 2 :])
