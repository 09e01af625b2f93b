"""Successive halving and Hyperband: brackets, survivors, and what is asked for once.

See spacelang/optimizers/README.md, sections "Successive halving" and "Hyperband".
"""

from collections.abc import Sequence
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from trainings import best_is, brackets, trainings
from trying import IS_FULL, few

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Problem
from spacelang.ir.trial import Request
from spacelang.optimizers._candidates import BracketRun
from spacelang.optimizers._fidelity import Bracket, rungs
from spacelang.optimizers.hyperband import Hyperband
from spacelang.optimizers.successive_halving import SuccessiveHalving
from spacelang.plugins import OptionError
from spacelang.testing.driving import drive_search, failing_loss, hash_loss
from spacelang.testing.small_spaces import plain_space, single_member_space


def counts(bracket: Bracket, eta: float) -> tuple[int, ...]:
    return (bracket.candidates, *bracket.survivor_counts(eta)[:-1])


CEIL = [(81, 27, 9, 3, 1), (34, 11, 3, 1), (15, 5, 1), (8, 2), (5,)]
FLOOR = [(81, 27, 9, 3, 1), (27, 9, 3, 1), (9, 3, 1), (6, 2), (5,)]


@pytest.mark.parametrize("rungs_by", ["grid", "exact"])
@pytest.mark.parametrize(("rule", "expected"), [("ceil", CEIL), ("floor", FLOOR)])
def test_the_brackets_of_the_paper(rungs_by: str, rule: str, expected: list[tuple[int, ...]]) -> None:
    options = Hyperband(b=1, eta=3.0, rung_rule=rungs_by, bracket_rule=rule)  # type: ignore[arg-type]
    found = list(brackets(options, 81, 3.0))
    assert [bracket.sizes for bracket in found] == [(1, 3, 9, 27, 81)[4 - s :] for s in (4, 3, 2, 1, 0)]
    assert [counts(bracket, 3.0) for bracket in found] == expected


def test_eight_rungs_of_the_grid() -> None:
    found = list(brackets(Hyperband(), 7619, 2.0))
    assert [bracket.candidates for bracket in found] == [128, 74, 43, 26, 16, 11, 8, 8]
    assert [bracket.sizes for bracket in found] == [rungs(7619, 100, 2.0)[7 - s :] for s in range(7, -1, -1)]


def test_exact_rungs_divide_all_rows() -> None:
    found = list(brackets(Hyperband(rung_rule="exact"), 1000, 2.0))
    assert [bracket.sizes for bracket in found] == [(125, 250, 500, 1000), (250, 500, 1000), (500, 1000), (1000,)]
    assert [b.sizes for b in brackets(Hyperband(rung_rule="exact"), 50, 2.0)] == [(50,)], "b is more than there is"


@given(st.integers(1, 5000), st.integers(1, 300), st.floats(1.2, 8), st.booleans(), st.booleans())
@settings(max_examples=few(100), deadline=None)
def test_the_work_of_a_bracket_is_bounded(size: int, b: int, eta: float, is_exact: bool, is_floor: bool) -> None:
    options = Hyperband(b, eta, "exact" if is_exact else "grid", "floor" if is_floor else "ceil")
    found = list(brackets(options, size, eta))
    for bracket in found:
        made = counts(bracket, eta)
        assert list(made) == sorted(made, reverse=True)
        assert made[-1] >= 1
        assert bracket.sizes[-1] == size
        work = sum(count * rows for count, rows in zip(made, bracket.sizes, strict=True))
        # A bracket has one pipeline more than the formula at most, and a grid whose last step is short costs more.
        assert work <= (len(found) + 1) * (size * (1 if is_exact else eta) + b) + sum(bracket.sizes)


@given(st.integers(2, 4), st.integers(2, 7))
def test_the_work_of_a_bracket_where_the_grid_fits(eta: int, steps: int) -> None:
    size = eta**steps
    found = list(brackets(Hyperband(b=1, eta=float(eta)), size, float(eta)))
    for bracket in found:
        work = sum(n * rows for n, rows in zip(counts(bracket, float(eta)), bracket.sizes, strict=True))
        assert work <= len(found) * size + sum(bracket.sizes)


def rung(requests: Sequence[Request], rows: int | None) -> list[Configuration]:
    return [request.configuration for request in requests if request.fidelity == rows]


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_survivors_are_the_best_of_their_rung(workers: int) -> None:
    search = SuccessiveHalving(n=16).search(Problem(plain_space(5, 5, 5), 800, default_rng(0)))
    driven = drive_search(search, hash_loss, 16 + 8 + 4 + 2 + 2 * workers, workers=workers)
    first = drive_search(
        SuccessiveHalving(n=16).search(Problem(plain_space(5, 5, 5), 800, default_rng(0))), hash_loss, 30
    ).requests
    assert [request.fidelity for request in first] == [100] * 16 + [200] * 8 + [400] * 4 + [None] * 2
    assert set(first) <= set(driven.requests), "the bracket has the same trainings with any number of workers"
    for rows, further in pairwise((100, 200, 400, None)):
        ranked = sorted(rung(first, rows), key=lambda each: hash_loss(Request(each, rows)))
        assert set(rung(first, further)) == set(ranked[: len(ranked) // 2])
        in_order = [each for each in rung(first, rows) if each in rung(first, further)]
        assert rung(first, further) == in_order, "in the order in which they were drawn"


def test_the_next_bracket_begins_when_the_first_one_is_over_with_one_worker() -> None:
    requests = drive_search(
        SuccessiveHalving(n=16).search(Problem(plain_space(5, 5, 5), 800, default_rng(0))), hash_loss, 46
    ).requests
    assert {request.fidelity for request in requests[30:36]} == {100}


def test_idle_workers_begin_the_next_bracket() -> None:
    """On its last rung a bracket has two trainings: six of eight workers would wait for them."""
    driven = drive_search(
        SuccessiveHalving(n=16).search(Problem(plain_space(5, 5, 5), 800, default_rng(0))), hash_loss, 150, workers=8
    )
    assert driven.idle_count == 8, "only before the first wish there is nothing to do"


def test_of_equals_the_first_drawn_survive() -> None:
    requests = drive_search(
        SuccessiveHalving(n=8).search(Problem(plain_space(9), 200, default_rng(0))), lambda _: 0.5, 12
    ).requests
    assert rung(requests, None) == rung(requests, 100)[:4]


@given(
    st.lists(st.sampled_from([0.1, 0.2, 0.3, None]), min_size=1, max_size=12),
    st.integers(1, 14),
    st.randoms(use_true_random=False),
)
@settings(max_examples=few(200), deadline=None)
def test_who_goes_on_for_certain_is_who_would_at_the_end(losses, wanted: int, random) -> None:  # type: ignore[no-untyped-def]
    """In whatever order a rung becomes known; and as early as it can be."""
    bracket = Bracket(wanted, (100, 200))
    orders = [(loss is None, loss or 0.0) for loss in losses]
    kept = min(bracket.survivor_counts(2.0)[0], len(losses))
    best = sorted(range(len(losses)), key=lambda place: (orders[place], place))[:kept]
    race, known, gone_on = BracketRun(range(len(losses)), bracket, 2.0), [], []
    for place in random.sample(range(len(losses)), len(losses)):
        known.append(place)
        found = race.record_and_promote(0, place, orders[place])
        gone_on += [] if found is None else [found]
        left = len(losses) - len(known)
        ranked = sorted(known, key=lambda each: (orders[each], each))
        assert sorted(gone_on) == sorted(ranked[: max(bracket.survivor_counts(2.0)[0] - left, 0)])
    assert sorted(gone_on) == sorted(best)


def test_failed_trials_rank_last() -> None:
    def loss(request: Request) -> float | None:
        return None if request.configuration["s0"] < "a4" else 0.9

    requests = drive_search(
        SuccessiveHalving(n=9).search(Problem(plain_space(9), 200, default_rng(0))), loss, 13
    ).requests
    assert {each["s0"] for each in rung(requests, None)} <= {f"a{n}" for n in range(4, 9)}


@pytest.mark.parametrize("make", [Hyperband, SuccessiveHalving])
@pytest.mark.parametrize("objective", [hash_loss, failing_loss])
def test_every_pipeline_is_trained_on_all_rows_in_the_end_and_nothing_twice(make, objective) -> None:  # type: ignore[no-untyped-def]
    driven = drive_search(make().search(Problem(plain_space(4, 4, 4), 500, default_rng(0))), objective, 5_000)
    assert driven.returned
    assert len(set(driven.requests)) == len(driven.requests)
    assert sum(request.fidelity is None for request in driven.requests) == 64


def test_the_last_pipelines_come_in_the_order_of_what_is_known_of_them() -> None:
    """A bracket always ends with (0,): the others never get as far by themselves."""
    trained = trainings(SuccessiveHalving(n=6), plain_space(6), 400, lambda pipeline, _: pipeline[0] / 10, 100)
    assert [leaf for leaf, rows in trained if rows == 400] == [(n,) for n in range(6)]
    assert {leaf for leaf, rows in trained[6:9]} == {(n,) for n in range(3)}
    assert {rows for leaf, rows in trained[6:9]} == {200}


def test_an_iteration_of_hyperband_shares_what_its_brackets_know() -> None:
    trained = trainings(Hyperband(), plain_space(2, 2), 400, best_is((1, 1)), 100)
    assert len(trained) == len(set(trained))
    assert trained[0][1] == 100
    assert {leaf for leaf, rows in trained if rows == 400} == set(product(range(2), range(2)))


@pytest.mark.parametrize("make", [Hyperband, SuccessiveHalving])
def test_one_pipeline(make) -> None:  # type: ignore[no-untyped-def]
    driven = drive_search(make().search(Problem(single_member_space(), 400, default_rng(0))), hash_loss, 100)
    assert driven.returned
    assert [request.fidelity for request in driven.requests] == [100, 200, None]


@pytest.mark.parametrize("eta", [1.0000001, 1.5, 10.0, 1e300])
@pytest.mark.parametrize("rung_rule", ["grid", "exact"])
@pytest.mark.parametrize("bracket_rule", ["ceil", "floor"])
def test_odd_factors(eta: float, rung_rule: str, bracket_rule: str) -> None:
    options = Hyperband(b=10, eta=eta, rung_rule=rung_rule, bracket_rule=bracket_rule)  # type: ignore[arg-type]
    for space in (plain_space(3, 3), plain_space(*[10] * 20)):
        for size in (1, 40):
            assert drive_search(
                options.search(Problem(space, size, default_rng(0))), hash_loss, 200 if IS_FULL else 60
            ).trials


@pytest.mark.parametrize("options", [{"b": 0}, {"eta": 1.0}, {"eta": float("inf")}])
@pytest.mark.parametrize("make", [Hyperband, SuccessiveHalving])
def test_options_out_of_bounds(make, options: dict[str, float]) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(OptionError) as caught:
        make(**options)
    assert caught.value.help
    assert next(iter(options)) in caught.value.message


def test_at_least_one_pipeline() -> None:
    with pytest.raises(OptionError, match="`n` is 0"):
        SuccessiveHalving(n=0)
