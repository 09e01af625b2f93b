"""Medians, quartiles and ranks over runs, against step functions that are evaluated one by one."""

import json
from dataclasses import replace

import numpy as np
import pytest
from comparisons import made, run
from hypothesis import given
from hypothesis import strategies as st

from spacelang.bench.comparison import document, tables
from spacelang.bench.comparison.ranks import Ranking
from spacelang.bench.comparison.results import Curve, IncumbentCandidates, Results, RunKey

MOMENTS = st.floats(0.001, 100, allow_nan=False)
SCORES = st.lists(st.tuples(MOMENTS, st.floats(0, 1.5)), max_size=8)


def value(curve: Curve, second: float, before: float) -> float:
    found = before
    for seconds, loss in zip(curve.seconds, curve.losses, strict=True):
        if seconds <= second:
            found = loss
    return found


@st.composite
def comparisons(draw: st.DrawFn) -> Results:
    data, optimizers, seeds = draw(st.sampled_from([(("x",), ("a",), (0,)), (("x", "y"), ("a", "b", "c"), (3, 4, 9))]))
    keys = [RunKey(name, optimizer, seed) for name in data for optimizer in optimizers for seed in seeds]
    runs = tuple(run(key, draw(SCORES), draw(SCORES), 50.0) for key in keys)
    return Results.from_runs("space", data, optimizers, seeds, runs, dict.fromkeys(data, "loss"), 50.0)


@given(comparisons())
def test_quartiles_are_those_of_the_step_functions(results: Results) -> None:
    by_key = {each.key: each for each in results.runs}
    for models in IncumbentCandidates:
        for place, data in enumerate(results.data):
            for row, optimizer in enumerate(results.optimizers):
                curves = [by_key[RunKey(data, optimizer, seed)].curves[models] for seed in results.seeds]
                for column, second in enumerate(results.seconds[::51]):
                    losses = [value(curve, second, results.losses_before_first_score[place]) for curve in curves]
                    found = results.quartiles[models][:, place, row, 51 * column]
                    assert np.allclose(found, np.quantile(losses, (0.25, 0.5, 0.75)), rtol=1e-12)
                    assert np.isclose(found[1], np.median(losses), rtol=1e-12)


@given(comparisons())
def test_nothing_rises_and_ranks_average_to_the_middle(results: Results) -> None:
    few = results.at_times(*results.seconds[::85])
    for models in IncumbentCandidates:
        assert (np.diff(results.quartiles[models], axis=-1) <= 1e-12).all()
        for ranking in Ranking:
            ranks = few.rank_estimates[ranking][models].ranks.value
            assert np.allclose(ranks.mean(axis=0), (len(results.optimizers) + 1) / 2)
    assert (results.losses[IncumbentCandidates.ANY] <= results.losses[IncumbentCandidates.FULL]).all(), (
        "any trained model is at least as good"
    )


@given(comparisons(), st.randoms(use_true_random=False))
def test_permuting_optimizers_permutes_everything(results: Results, random: "st.DrawFn") -> None:
    order = list(range(len(results.optimizers)))
    random.shuffle(order)
    results = results.at_times(*results.seconds[::85])
    other = replace(results, optimizers=tuple(results.optimizers[place] for place in order))
    for models in IncumbentCandidates:
        for ranking in Ranking:
            found, expected = other.rank_estimates[ranking][models].ranks, results.rank_estimates[ranking][models].ranks
            for name in ("value", "low", "high"):
                assert np.allclose(getattr(found, name), getattr(expected, name)[order], equal_nan=True)
        assert (other.quartiles[models] == results.quartiles[models][:, :, order]).all()


def test_the_two_kinds_of_ranks_may_turn_an_order_round() -> None:
    # `a` wins four of five runs by a little and loses one by much.
    losses = {"a": (0.10, 0.10, 0.10, 0.10, 0.90), "b": (0.12, 0.12, 0.12, 0.12, 0.12)}
    runs = [
        run(RunKey("x", name, seed), [(1.0, loss)]) for name, found in losses.items() for seed, loss in enumerate(found)
    ]
    results = Results.from_runs("s", ("x",), ("a", "b"), (0, 1, 2, 3, 4), tuple(runs), {"x": "loss"}, 60.0)
    ranks = {
        ranking: results.rank_estimates[ranking][IncumbentCandidates.FULL].ranks.value[:, -1].tolist()
        for ranking in Ranking
    }
    assert ranks == {Ranking.MEAN_LOSSES: [2.0, 1.0], Ranking.RUNS: [1.2, 1.8]}
    assert results.leaders_by_rank(IncumbentCandidates.FULL)[-1].leaders == ("b",), "the papers' kind comes first"
    assert results.leaders_by_rank(IncumbentCandidates.FULL, Ranking.RUNS)[-1].leaders == ("a",)
    assert results.leaders_by_median("x", IncumbentCandidates.FULL)[-1].leaders == ("a",)
    found = document.comparison_document(results)
    assert [found["ranks"][ranking]["full"]["a"]["rank"][-1] for ranking in ("mean_losses", "runs")] == [2.0, 1.2]
    assert [found["ahead"]["full"][kind][-1]["optimizers"] for kind in ("mean_losses", "runs")] == [["b"], ["a"]]


def test_nobody_is_ahead_before_the_first_score_and_a_run_without_one_is_last() -> None:
    runs = [
        run(RunKey("x", "a", 0), [(10.0, 0.4)], [(1.0, 0.5)]),
        run(RunKey("x", "b", 0), [], [], reason="everything failed"),
    ]
    results = Results.from_runs("s", ("x",), ("a", "b"), (0,), tuple(runs), {"x": "loss"}, 60.0)
    first, last = results.leaders_by_rank(IncumbentCandidates.FULL)
    assert (first.start, first.leaders, last.leaders, last.end) == (1.0, (), ("a",), 60.0)
    assert last.start == results.seconds[results.seconds >= 10.0][0]
    assert [each.leaders for each in results.leaders_by_rank(IncumbentCandidates.ANY)] == [("a",)]
    assert results.quartiles[IncumbentCandidates.FULL][:, 0, 1, -1].tolist() == [1.0, 1.0, 1.0]


def test_a_comparison_in_which_nothing_succeeded_is_told_all_the_same() -> None:
    runs = tuple(run(RunKey("x", name, 0), [], reason="everything failed") for name in "ab")
    results = Results.from_runs("s", ("x",), ("a", "b"), (0,), runs, {"x": "loss"}, 60.0)
    assert results.rank_estimates[Ranking.RUNS][IncumbentCandidates.ANY].ranks.value[:, -1].tolist() == [1.5, 1.5]
    assert [each.leaders for each in results.leaders_by_rank(IncumbentCandidates.ANY)] == [()]
    assert json.dumps(document.comparison_document(results), allow_nan=False)


def test_the_end_may_be_no_time_at_all() -> None:
    runs = tuple(run(RunKey("x", name, 0), [(0.0, 0.5)], until=0.0) for name in "ab")
    results = Results.from_runs("s", ("x",), ("a", "b"), (0,), runs, {"x": "loss"}, 0.0)
    assert results.quartiles[IncumbentCandidates.FULL][1, 0, :, -1].tolist() == [0.5, 0.5]


def test_tables_say_what_the_arrays_say() -> None:
    results = made()
    curves, quartiles = tables.curves(results), tables.quartiles(results)
    assert list(curves.columns[:5]) == ["data", "optimizer", "seed", "seconds", "loss"]
    assert len(curves) == sum(
        len(each.curves[models].losses) for each in results.runs for models in IncumbentCandidates
    )
    assert len(quartiles) == 2 * 2 * 3 * 256
    last = quartiles[(quartiles["models"] == "any") & (quartiles["data"] == "second")].groupby("optimizer").last()
    assert last.loc["beta", "median"] == results.quartiles[IncumbentCandidates.ANY][1, 1, 1, -1]
    found = tables.ranks(results)
    for ranking in Ranking:
        one = found[(found["models"] == "full") & (found["optimizer"] == "gamma disc=2")]
        one, expected = (
            one[one["ranking"] == ranking.value],
            results.rank_estimates[ranking][IncumbentCandidates.FULL].ranks,
        )
        for column, values in (("rank", expected.value), ("low", expected.low), ("high", expected.high)):
            assert one[column].tolist() == values[2].tolist()
    found = tables.differences(results).set_index(["models", "ranking", "optimizer", "other"])
    one, expected = (
        found.loc[("any", "runs", "alpha", "gamma disc=2")],
        results.rank_estimates[Ranking.RUNS][IncumbentCandidates.ANY],
    )
    assert one["seconds"].tolist() == results.seconds.tolist()
    assert one["difference"].tolist() == expected.differences.value[1].tolist()
    assert one["within_noise"].tolist() == expected.differences.within_noise[1].tolist()
    assert tables.runs(results)["loss_any"].tolist() == [
        each.curves[IncumbentCandidates.ANY].losses[-1] for each in results.runs
    ]
    assert set(tables.ahead(results)["data"]) == {"", "first", "second"}
    assert set(tables.ahead(results)["by"]) == {"mean_losses", "runs", "median"}


def test_the_document_is_json_with_the_same_numbers() -> None:
    results = made()
    found = json.loads(json.dumps(document.comparison_document(results), allow_nan=False))
    assert found["seconds"] == pytest.approx([0.6, 6.0, 60.0])
    told = found["losses"]["full"]["first"]["beta"]
    assert told["median"][-1] == results.quartiles[IncumbentCandidates.FULL][1, 0, 1, -1]
    for ranking in Ranking:
        ranked = results.rank_estimates[ranking][IncumbentCandidates.ANY]
        told = found["ranks"][ranking]["any"]["alpha"]
        assert [told[name][-1] for name in ("rank", "low", "high")] == pytest.approx(
            [getattr(ranked.ranks, name)[0, -1] for name in ("value", "low", "high")]
        )
        told = found["differences"][ranking]["any"][0]
        assert told["optimizers"] == ["alpha", "beta"]
        assert told["difference"][-1] == pytest.approx(ranked.differences.value[0, -1])
        assert told["within_noise"][-1] is bool(ranked.differences.within_noise[0, -1])
    assert found["intervals"] == {"level": 0.95, "over": "seed", "number": 4}
    assert found["ahead"]["full"]["mean_losses"][-1]["end"] == 60.0
    assert [each["optimizers"] for each in found["apart"]["full"]] == [list(pair) for pair in results.pairs]
    assert found["data"]["first"] == {"loss": "1 - roc_auc", "before": 1.0}
    assert len(found["runs"]) == 24
    assert len(document.curves_document(results)["ranks"]["runs"]["full"]["alpha"]["low"]) == 256


def test_without_intervals_there_are_no_bounds_and_every_difference_may_be_noise() -> None:
    results = made(data=("x", "y"), seeds=2)
    found = json.loads(json.dumps(document.comparison_document(results), allow_nan=False))
    assert found["intervals"] is None
    assert found["ranks"]["mean_losses"]["full"]["alpha"]["low"] == [None] * 3
    assert all(all(pair["within_noise"]) for pair in found["differences"]["runs"]["any"])
    assert all([each["optimizers"] for each in pair["intervals"]] == [[]] for pair in found["apart"]["any"])
