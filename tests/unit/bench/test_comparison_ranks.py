"""Ranks with a tolerance, by their definition, and their intervals by bootstrap."""

import runpy
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from spacelang.bench.comparison.ranks import (
    ROUNDING,
    BootstrapScheme,
    BootstrapUnit,
    LeadInterval,
    RankEstimates,
    RankingMethod,
    choose_bootstrap,
    estimate_ranks,
    lead_intervals,
    leaders_by_column,
    mean_over_seeds,
    rank_losses,
)

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SHAPES = arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6)
NEAR = st.integers(0, 12).map(lambda number: number * 0.0005)
"""Losses among which many are within the tolerance of others, some exactly at it."""
COLUMNS = SHAPES.flatmap(lambda shape: arrays.arrays(float, shape, elements=NEAR | st.floats(0, 1)))


def brute(losses: list[float], tolerance: float) -> list[float]:
    """Groups by their definition: the smallest one left, and all that are within the tolerance of it."""
    left, found, place = sorted(range(len(losses)), key=lambda each: losses[each]), [0.0] * len(losses), 0
    while left:
        group = [each for each in left if losses[each] - losses[left[0]] <= tolerance + ROUNDING]
        shared = sum(range(place + 1, place + len(group) + 1)) / len(group)
        for each in group:
            found[each] = shared
        left, place = [each for each in left if each not in group], place + len(group)
    return found


@given(COLUMNS, st.sampled_from([0.0, 0.001, 0.1]), st.data())
def test_ranks_are_those_of_the_definition(losses: np.ndarray, tolerance: float, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, losses.ndim - 1))
    found = rank_losses(losses, axis, tolerance)
    assert found.shape == losses.shape
    columns = np.moveaxis(losses, axis, 0).reshape(losses.shape[axis], -1).T
    for column, expected in zip(np.moveaxis(found, axis, 0).reshape(losses.shape[axis], -1).T, columns, strict=True):
        assert column.tolist() == brute(expected.tolist(), tolerance)


@given(COLUMNS)
def test_the_average_rank_is_the_middle(losses: np.ndarray) -> None:
    assert np.allclose(rank_losses(losses).mean(axis=0), (len(losses) + 1) / 2)


@given(COLUMNS, st.randoms(use_true_random=False))
def test_permuting_optimizers_permutes_ranks(losses: np.ndarray, random: "st.DrawFn") -> None:
    order = list(range(len(losses)))
    random.shuffle(order)
    assert (rank_losses(losses)[order] == rank_losses(losses[order])).all()


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([0.3, 0.1, 0.2], [3, 1, 2]),
        ([0.1, 0.1, 0.1], [2, 2, 2]),
        ([0.101, 0.1, 0.3], [1.5, 1.5, 3]),  # 0.101 - 0.1 is more than 0.001 in floating point
        ([0.1, 0.1006, 0.1012], [1.5, 1.5, 3]),  # no chain: the third is compared with the first
        ([0.1012, 0.1018, 0.1, 0.1006], [3.5, 3.5, 1.5, 1.5]),
        ([1.0, 1.0, 0.2], [2.5, 2.5, 1]),
        ([0.5], [1]),
    ],
)
def test_ranks(losses: list[float], expected: list[float]) -> None:
    assert rank_losses(np.array(losses)).tolist() == expected


def test_who_is_ahead() -> None:
    values = np.array([[1.0, 0.5, 0.2], [1.0, 0.4, 0.2005], [1.0, 0.9, 0.7]])
    assert leaders_by_column(values, ("a", "b", "c"), 0.001) == [("a", "b", "c"), ("b",), ("a", "b")]


def test_intervals_end_where_the_next_begins() -> None:
    seconds = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    found = lead_intervals(seconds, [(), ("a",), ("a",), ("b",), ("b",)])
    assert found == (LeadInterval(1.0, 2.0, ()), LeadInterval(2.0, 8.0, ("a",)), LeadInterval(8.0, 16.0, ("b",)))
    assert lead_intervals(seconds[:1], [("a",)]) == (LeadInterval(1.0, 1.0, ("a",)),)


PARTS = ("value", "low", "high")


@st.composite
def losses(draw: st.DrawFn) -> np.ndarray:
    """Losses by data, optimizer, seed and time."""
    shape = (draw(st.integers(1, 6)), draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(st.integers(1, 20)))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    return np.round(rng.uniform(0, 1, shape), draw(st.sampled_from([1, 4])))


def found(losses: np.ndarray, ranking: RankingMethod, tolerance: float = 0.001) -> RankEstimates:
    return estimate_ranks(losses, ranking, tolerance, choose_bootstrap(losses.shape[0], losses.shape[2]))


@given(losses(), st.sampled_from(RankingMethod))
def test_intervals_are_about_their_figures_and_within_what_can_be(losses: np.ndarray, ranking: RankingMethod) -> None:
    count = losses.shape[1]
    ranks = found(losses, ranking)
    assert ranks.ranks.value.shape == (count, losses.shape[3])
    assert ranks.differences.value.shape == (count * (count - 1) // 2, losses.shape[3])
    for estimate, least, most in ((ranks.ranks, 1, count), (ranks.differences, 1 - count, count - 1)):
        if choose_bootstrap(losses.shape[0], losses.shape[2]) is None:
            assert np.isnan(estimate.low).all()
            assert np.isnan(estimate.high).all()
            assert estimate.is_within_noise.all()
        else:
            assert (estimate.low <= estimate.value).all()
            assert (estimate.value <= estimate.high).all()
            assert (estimate.low >= least).all()
            assert (estimate.high <= most).all()


@given(losses(), st.sampled_from(RankingMethod), st.randoms(use_true_random=False))
def test_other_names_for_optimizers_change_nothing(
    losses: np.ndarray, ranking: RankingMethod, random: "st.DrawFn"
) -> None:
    order = list(range(losses.shape[1]))
    random.shuffle(order)
    one, other = found(losses, ranking), found(losses[:, order], ranking)
    for name in PARTS:
        assert np.allclose(getattr(one.ranks, name)[order], getattr(other.ranks, name), equal_nan=True)
    pairs = {(a, b): place for place, (a, b) in enumerate(zip(*np.triu_indices(len(order), 1), strict=True))}
    for (a, b), place in pairs.items():
        turned = order[a] > order[b]
        names = ("value", "high", "low") if turned else PARTS
        there = pairs[min(order[a], order[b]), max(order[a], order[b])]
        for name, same in zip(PARTS, names, strict=True):
            expected = getattr(one.differences, same)[there] * (-1 if turned else 1)
            assert np.allclose(getattr(other.differences, name)[place], expected, equal_nan=True)


@given(losses(), st.sampled_from(RankingMethod), st.data())
def test_the_same_losses_are_always_within_noise(
    losses: np.ndarray, ranking: RankingMethod, data: st.DataObject
) -> None:
    same = losses[:, data.draw(st.integers(0, losses.shape[1] - 1))]
    ranks = found(np.concatenate([losses, same[:, None], same[:, None]], axis=1), ranking)
    assert (ranks.differences.value[-1] == 0).all()
    assert ranks.differences.is_within_noise[-1].all()


@given(losses(), st.sampled_from(RankingMethod))
def test_a_time_is_judged_by_itself(losses: np.ndarray, ranking: RankingMethod) -> None:
    whole, last = found(losses, ranking).ranks, found(losses[..., -1:], ranking).ranks
    for name in PARTS:
        assert np.allclose(getattr(whole, name)[:, -1:], getattr(last, name), equal_nan=True)


def test_resamples_are_of_data_sets_or_else_of_seeds_or_not_at_all() -> None:
    assert choose_bootstrap(3, 1) == BootstrapScheme(BootstrapUnit.DATA, 3)
    assert choose_bootstrap(2, 3) == BootstrapScheme(BootstrapUnit.SEEDS, 3)
    assert choose_bootstrap(2, 2) is None
    assert [
        round(BootstrapScheme(BootstrapUnit.DATA, number).largest_undetected_share, 2) for number in (3, 6, 19)
    ] == [
        0.71,
        0.46,
        0.18,
    ]


def test_what_differs_by_data_is_seen_over_data_and_not_over_seeds() -> None:
    # On each data set another one is better in every run: that is certain, and says nothing of other data.
    losses = np.full((8, 2, 15, 1), 0.5)
    losses[::2, 0] = losses[1::2, 1] = 0.1
    for ranking in RankingMethod:
        over_data = estimate_ranks(losses, ranking, 0.001, BootstrapScheme(BootstrapUnit.DATA, 8)).ranks
        over_seeds = estimate_ranks(losses, ranking, 0.001, BootstrapScheme(BootstrapUnit.SEEDS, 15)).ranks
        assert over_data.low[0, 0] < 1.05
        assert over_data.high[0, 0] > 1.95
        unseen = BootstrapScheme(BootstrapUnit.SEEDS, 15).largest_undetected_share
        assert (over_seeds.low[0, 0], over_seeds.high[0, 0]) == pytest.approx((1.5 - unseen, 1.5 + unseen))


def repeated(count: int, data: int, skill: float, comparisons: int = 300) -> np.ndarray:
    """Made-up comparisons with three seeds: by comparison the losses of the end; optimizers are better and better."""
    rng = np.random.default_rng(data)
    suits = rng.normal(size=(comparisons, data, count, 1))
    losses = suits + rng.normal(size=(comparisons, data, count, 3)) - skill * np.arange(count)[:, None] / count
    return losses[..., None]


@pytest.mark.parametrize("tables", [6, 10, 20])
@pytest.mark.parametrize(("optimizers", "skill"), [(2, 0.0), (2, 6.0), (4, 1.0), (8, 1.0), (8, 6.0)])
def test_intervals_contain_the_truth_without_being_wider_than_needed(
    tables: int, optimizers: int, skill: float
) -> None:
    """95 % of 1,000 intervals are 950, with a standard error of 7; a plain bootstrap has 850 with 6 tables."""
    script = runpy.run_path(str(BENCHMARKS / "rank_intervals.py"))
    truth = float(script["simulate_differences"](1, 20_000, optimizers, skill).mean())
    found = script["simulate_differences"](1_000, tables, optimizers, skill)
    kinds = dict(zip(script["KINDS"], script["intervals"](found, optimizers), strict=True))
    covered = {name: script["coverage"](each, truth) for name, each in kinds.items()}
    assert covered["at least"] > 0.91
    assert covered["at least"] > covered["bootstrap"]
    assert script["width"](kinds["at least"]) < 0.9 * script["width"](kinds["added"])


@pytest.mark.full
@pytest.mark.parametrize(("count", "data"), [(2, 3), (2, 6), (5, 4), (5, 6), (5, 19)])
def test_intervals_over_data_have_the_truth_in_them(count: int, data: int) -> None:
    """The truth is what many data sets would tell; of 300 comparisons of one pair 285 are 95 %, give or take 4."""
    truth = estimate_ranks(repeated(count, 20_000, 1.0, 1)[0], RankingMethod.MEAN_LOSSES, 0.0, None).differences.value
    different = [found(losses, RankingMethod.MEAN_LOSSES, 0.0).differences for losses in repeated(count, data, 1.0)]
    equal = [found(losses, RankingMethod.MEAN_LOSSES, 0.0).differences for losses in repeated(count, data, 0.0)]
    assert np.mean([(each.low <= truth) & (truth <= each.high) for each in different]) > 0.92
    assert np.mean([each.is_within_noise for each in equal]) > 0.93, "equals are seldom called different"


@pytest.mark.parametrize(("data", "noise"), [(3, True), (5, True), (6, False), (19, False)])
def test_all_on_one_side_are_evidence_from_six_on(data: int, noise: bool) -> None:
    """Of two equals one is ahead on all of five in 1 of 16 comparisons, on all of six in 1 of 32."""
    losses = np.full((data, 2, 3, 1), 0.5)
    losses[:, 0] = 0.1
    for ranking in RankingMethod:
        assert found(losses, ranking).differences.is_within_noise.all() == noise


def test_the_interval_of_a_mean_loss_is_below_0_only_where_losses_are() -> None:
    losses = np.array([[0.0, 0.0, 0.3], [0.1, 0.1, 0.1]])
    assert mean_over_seeds(losses).low.tolist() == [0.0, pytest.approx(0.1)]
    assert (mean_over_seeds(losses - 1).low < -1).tolist() == [True, False]
    assert mean_over_seeds(losses).high[0] > 0.3
    assert np.isnan(mean_over_seeds(losses[:, :2]).low).all()


def test_what_is_much_better_is_beyond_noise_even_on_few_data_sets() -> None:
    losses = repeated(5, 4, 20.0, 20)
    assert not any(found(each, RankingMethod.MEAN_LOSSES).differences.is_within_noise[3] for each in losses), (
        "first and last"
    )


def test_intervals_over_seeds_have_the_truth_in_them() -> None:
    """The truth is what many seeds would tell on the same data; 95 % of 300 are 285, give or take 4."""
    rng = np.random.default_rng(0)
    losses = rng.normal(size=(300, 1, 3, 10, 1)) + 0.3 * np.arange(3)[:, None, None]
    many = rng.normal(size=(1, 3, 100_000, 1)) + 0.3 * np.arange(3)[:, None, None]
    truth = estimate_ranks(many, RankingMethod.RUNS, 0.0, None).ranks.value
    covered = [
        (each.low <= truth) & (truth <= each.high)
        for each in (found(some, RankingMethod.RUNS).ranks for some in losses)
    ]
    assert np.mean(covered) >= 0.92


def test_a_large_comparison_takes_seconds_at_most() -> None:
    rng = np.random.default_rng(0)
    for data in (1, 19):
        losses = rng.uniform(0, 0.1, (data, 10, 10, 100))
        start = time.process_time()
        for ranking in RankingMethod:
            found(losses, ranking)
        assert time.process_time() - start < 20, "on a busy machine; else it is about one"
