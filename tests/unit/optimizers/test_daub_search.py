"""DAUB: slopes, bounds, the repair of a curve, the bootstrap and the order of returns.

See spacelang/optimizers/README.md, section "DAUB".
"""

from collections.abc import Callable, Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from trainings import Training, trainings
from trying import few

from spacelang.ir.search_protocol import Ask, Problem, Search, SearchEvent
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._fidelity import rungs
from spacelang.optimizers.daub import Daub, accuracy_upper_bound, least_squares_slope, restore_monotonicity
from spacelang.plugins import OptionError
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree, Pipeline
from spacelang.testing.driving import drive_search, hash_loss
from spacelang.testing.small_spaces import plain_space

RISING = ((100, 0.70), (200, 0.75), (400, 0.80))


def test_the_slope_of_three_points() -> None:
    assert least_squares_slope(RISING) == pytest.approx(3.2142857e-4, abs=5e-12)


def test_the_slope_of_fewer_points() -> None:
    assert least_squares_slope(RISING[:2]) == pytest.approx(0.05 / 100)
    assert least_squares_slope(RISING[:1]) == 0.0


@pytest.mark.parametrize(
    ("size", "training", "expected"),
    [(800, 0.95, 0.9285714), (800, None, 0.9285714), (1600, 0.95, 0.95), (1600, None, 1.1857143), (400, None, 0.8)],
)
def test_upper_bounds(size: int, training: float | None, expected: float) -> None:
    assert accuracy_upper_bound(RISING, training, size) == pytest.approx(expected, abs=5e-8)


def test_the_upper_bound_of_a_single_point_is_the_training_accuracy() -> None:
    assert accuracy_upper_bound(RISING[:1], 0.9, 800) == 0.9
    assert accuracy_upper_bound(RISING[:1], None, 800) == 0.70


def test_a_falling_curve_is_repaired() -> None:
    assert restore_monotonicity(((200, 0.80), (400, 0.76))) == ((200, pytest.approx(0.78)), (400, pytest.approx(0.78)))
    assert restore_monotonicity(((100, 0.9), (200, 0.80), (400, 0.76)))[0] == (100, 0.9)
    assert restore_monotonicity(RISING) == RISING
    assert restore_monotonicity(RISING[:1]) == RISING[:1]


def by_place(places: Sequence[float]) -> Callable[[Pipeline, int], float]:
    return lambda pipeline, _: places[pipeline[0]]


def test_the_bootstrap_trains_every_pipeline_three_times_in_rounds() -> None:
    asked: list[int] = []

    def watched() -> Search:
        search = Daub().search(Problem(plain_space(8, 8, 6), 7619, default_rng(0)))
        ask = next(search)
        while True:
            asked.extend([len(ask.requests)] if ask.requests else [])
            ask = search.send((yield ask))

    requests = drive_search(watched(), hash_loss, 3 * 384 + 1).requests[: 3 * 384]
    assert len(set(requests)) == 3 * 384
    assert {request.fidelity for request in requests} == {100, 200, 400}
    rounds = -(-384 // 42)
    assert asked == [126] * (rounds - 1) + [18, 1, 1], "then one by one"


def test_the_best_of_constant_curves_returns_first() -> None:
    trained = trainings(Daub(), plain_space(3), 1000, by_place([0.3, 0.1, 0.2]), 100)
    assert len(trained[:9]) == 3 * 3
    assert trained[9:] == [((place,), rows) for place in (1, 2, 0) for rows in (800, 1000)]


def test_of_equal_bounds_the_first_in_the_bootstrap_comes_first() -> None:
    trained = trainings(Daub(), plain_space(4), 800, by_place([0.5] * 4), 100)
    order = [pipeline for pipeline, rows in trained if rows == 100]
    assert [pipeline for pipeline, rows in trained if rows == 800] == order


def test_a_steep_curve_overtakes_a_good_one() -> None:
    """(0,) is ahead on little data and stays there; (1,) promises more, and is trained on all rows first."""
    curves = [{100: 0.20, 200: 0.20, 400: 0.20, 800: 0.20}, {100: 0.60, 200: 0.50, 400: 0.35, 800: 0.30}]
    trained = trainings(Daub(), plain_space(2), 800, lambda pipeline, rows: curves[pipeline[0]][rows], 100)
    assert trained[6:] == [((1,), 800), ((0,), 800)]


@pytest.mark.parametrize("size", [1, 50, 100, 150, 200, 399, 400])
def test_little_data_ends_with_the_bootstrap(size: int) -> None:
    trained = trainings(Daub(), plain_space(2, 2), size, by_place([0.3, 0.1]), 100)
    sizes = rungs(size, 100, 2.0)
    assert len(sizes) <= 3
    assert sorted(trained) == [(leaf, rows) for leaf in product(range(2), range(2)) for rows in sizes]


def test_the_training_accuracy_bounds_what_a_curve_promises() -> None:
    """Both curves rise alike; (0,) has hardly more than that on the rows that it was trained on."""
    losses = {100: 0.60, 200: 0.50, 400: 0.35, 800: 0.30}

    def answer(request: Request) -> Trial:
        loss = losses[request.fidelity or 800]
        fitted = loss - 0.01 if request.configuration["s0"] == "a0" else 0.0
        return Trial(request, loss, training_loss=fitted)

    for seed in range(5):
        search = Daub().search(Problem(plain_space(2), 800, default_rng(seed)))
        assert next(search) == Ask(), "it looks around"
        bootstrap = search.send(SearchEvent(None, 1)).requests
        asks = [search.send(SearchEvent(answer(request), 1)) for request in bootstrap]
        assert [ask.requests for ask in asks[:-1]] == [()] * 5
        assert [request.configuration["s0"] for request in asks[-1].requests] == ["a1"]


def test_the_runtime_is_told_that_it_needs_training_losses() -> None:
    assert Daub.needs_training_loss


def by_the_book(bootstrap: Sequence[Pipeline], size: int, loss: Callable[[Pipeline, int], float]) -> list[Training]:
    """What follows the bootstrap, with a list instead of a queue and everything computed anew."""
    sizes = rungs(size, 100, 2.0)
    curves: dict[Pipeline, list[list[float]]] = {}

    def train(pipeline: Pipeline, rows: int) -> None:
        curve = curves.setdefault(pipeline, [])
        curve.append([rows, 1 - loss(pipeline, rows)])
        if len(curve) > 1 and curve[-1][1] < curve[-2][1]:
            curve[-1][1] = curve[-2][1] = (curve[-1][1] + curve[-2][1]) / 2

    def bound(pipeline: Pipeline) -> float:
        return accuracy_upper_bound([(int(rows), accuracy) for rows, accuracy in curves[pipeline][-3:]], None, size)

    for pipeline in bootstrap:
        for rows in sizes[:3]:
            train(pipeline, rows)
    waiting, found = list(bootstrap), []
    while waiting:
        pipeline = max(waiting, key=bound)
        trained = len(curves[pipeline])
        if trained < len(sizes):
            train(pipeline, sizes[trained])
            found.append((pipeline, sizes[trained]))
        if len(curves[pipeline]) == len(sizes):
            waiting.remove(pipeline)
    return found


@settings(max_examples=few(60), deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(1, 3000), st.randoms(use_true_random=False))
def test_it_goes_by_the_book(sizes: list[int], size: int, random) -> None:  # type: ignore[no-untyped-def]
    table: dict[Training, float] = {}

    def loss(pipeline: Pipeline, rows: int) -> float:
        return table.setdefault((pipeline, rows), random.choice([0.1, 0.2, 0.3, 0.5]))

    trained = trainings(Daub(), plain_space(*sizes), size, loss, 10_000)
    first = rungs(size, 100, 2.0)[:3]
    bootstrap = trained[: len(first) * DiscrepancyTree(Structures(plain_space(*sizes))).leaf_count]
    order = [pipeline for pipeline, _ in bootstrap[:: len(first)]]
    assert bootstrap == [(pipeline, rows) for pipeline in order for rows in first]
    assert trained[len(bootstrap) :] == by_the_book(order, size, loss)
    assert sum(rows == size for _, rows in trained) == len(order), "as many returns as pipelines"


def test_a_failed_trial_has_no_accuracy() -> None:
    losses = [None, 0.9, 1.0]
    trained = trainings(Daub(), plain_space(3), 800, lambda pipeline, _: losses[pipeline[0]], 100)
    assert trained[9] == ((1,), 800)
    assert trained[10:] == [((2,), 800), ((0,), 800)], "a success comes before a failure that looks as good"


def test_pipelines_come_in_random_order() -> None:
    first = {
        drive_search(Daub().search(Problem(plain_space(9), 1000, default_rng(seed))), hash_loss, 1).requests
        for seed in range(20)
    }
    assert len(first) > 4


def test_a_space_that_does_not_fit_is_streamed() -> None:
    space: Space = plain_space(*[10] * 20)
    driven = drive_search(Daub().search(Problem(space, 1000, default_rng(0))), hash_loss, 500)
    assert len({request.configuration for request in driven.requests}) == -(-500 // 3)


@pytest.mark.parametrize("options", [{"b": 0}, {"eta": 1.0}, {"eta": float("nan")}])
def test_options_out_of_bounds(options: dict[str, float]) -> None:
    with pytest.raises(OptionError) as caught:
        Daub(**options)  # type: ignore[arg-type]
    assert caught.value.help
    assert next(iter(options)) in caught.value.message
