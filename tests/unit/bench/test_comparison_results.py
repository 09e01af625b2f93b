"""Curves, medians, quartiles, ranks and winners over runs, against step functions that are evaluated one by one."""

import json
from dataclasses import replace
from io import StringIO
from math import inf

import numpy as np
import pytest
from comparisons import made, run
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from spacelang.bench import Comparison
from spacelang.bench.comparison import (
    ComparisonResults,
    IncumbentCurve,
    IncumbentKind,
    RunKey,
    WinnerScore,
    incumbent_curve,
    logarithmic_times,
    loss_before_first_score,
    losses_at_times,
    summary,
    winner_losses,
)
from spacelang.bench.comparison.ranks import RankingMethod
from spacelang.bench.comparison.text_report import print_comparison
from spacelang.ir import trial

MOMENTS = st.floats(0.001, 100, allow_nan=False)
SCORES = st.lists(st.tuples(MOMENTS, st.floats(0, 1.5)), max_size=8)


def value(curve: IncumbentCurve, second: float, before: float) -> float:
    found = before
    for seconds, loss in zip(curve.seconds, curve.losses, strict=True):
        if seconds <= second:
            found = loss
    return found


@st.composite
def comparisons(draw: st.DrawFn) -> ComparisonResults:
    data, optimizers, seeds = draw(st.sampled_from([(("x",), ("a",), (0,)), (("x", "y"), ("a", "b", "c"), (3, 4, 9))]))
    keys = [RunKey(name, optimizer, seed) for name in data for optimizer in optimizers for seed in seeds]
    runs = tuple(run(key, draw(SCORES), draw(SCORES), 50.0) for key in keys)
    return ComparisonResults.from_runs("space", data, optimizers, seeds, runs, dict.fromkeys(data, "loss"), 50.0)


@given(comparisons())
def test_quartiles_are_those_of_the_step_functions(results: ComparisonResults) -> None:
    by_key = {each.key: each for each in results.runs}
    for models in IncumbentKind:
        for place, data in enumerate(results.data):
            for row, optimizer in enumerate(results.optimizers):
                curves = [by_key[RunKey(data, optimizer, seed)].curves[models] for seed in results.seeds]
                for column, second in enumerate(results.seconds[::51]):
                    losses = [value(curve, second, results.losses_before_first_score[place]) for curve in curves]
                    found = results.quartiles[models][:, place, row, 51 * column]
                    assert np.allclose(found, np.quantile(losses, (0.25, 0.5, 0.75)), rtol=1e-12)
                    assert np.isclose(found[1], np.median(losses), rtol=1e-12)


@given(comparisons())
def test_nothing_rises_and_ranks_average_to_the_middle(results: ComparisonResults) -> None:
    few = results.at_times(*results.seconds[::85])
    for models in IncumbentKind:
        assert (np.diff(results.quartiles[models], axis=-1) <= 1e-12).all()
        for ranking in RankingMethod:
            ranks = few.rank_estimates[ranking][models].ranks.value
            assert np.allclose(ranks.mean(axis=0), (len(results.optimizers) + 1) / 2)
    assert (results.losses[IncumbentKind.ANY] <= results.losses[IncumbentKind.FULL]).all(), (
        "any trained model is at least as good"
    )


@given(comparisons(), st.randoms(use_true_random=False))
def test_permuting_optimizers_permutes_everything(results: ComparisonResults, random: "st.DrawFn") -> None:
    order = list(range(len(results.optimizers)))
    random.shuffle(order)
    results = results.at_times(*results.seconds[::85])
    other = replace(results, optimizers=tuple(results.optimizers[place] for place in order))
    for models in IncumbentKind:
        for ranking in RankingMethod:
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
    results = ComparisonResults.from_runs("s", ("x",), ("a", "b"), (0, 1, 2, 3, 4), tuple(runs), {"x": "loss"}, 60.0)
    ranks = {
        ranking: results.rank_estimates[ranking][IncumbentKind.FULL].ranks.value[:, -1].tolist()
        for ranking in RankingMethod
    }
    assert ranks == {RankingMethod.MEAN_LOSSES: [2.0, 1.0], RankingMethod.RUNS: [1.2, 1.8]}
    assert results.leaders_by_rank(IncumbentKind.FULL)[-1].leaders == ("b",), "the papers' kind comes first"
    assert results.leaders_by_rank(IncumbentKind.FULL, RankingMethod.RUNS)[-1].leaders == ("a",)
    assert results.leaders_by_median("x", IncumbentKind.FULL)[-1].leaders == ("a",)
    found = summary.comparison_document(results)
    assert [found["ranks"][ranking]["full"]["a"]["rank"][-1] for ranking in ("mean_losses", "runs")] == [2.0, 1.2]
    assert [found["ahead"]["full"][kind][-1]["optimizers"] for kind in ("mean_losses", "runs")] == [["b"], ["a"]]


def test_nobody_is_ahead_before_the_first_score_and_a_run_without_one_is_last() -> None:
    runs = [
        run(RunKey("x", "a", 0), [(10.0, 0.4)], [(1.0, 0.5)]),
        run(RunKey("x", "b", 0), [], [], reason="everything failed"),
    ]
    results = ComparisonResults.from_runs("s", ("x",), ("a", "b"), (0,), tuple(runs), {"x": "loss"}, 60.0)
    first, last = results.leaders_by_rank(IncumbentKind.FULL)
    assert (first.start, first.leaders, last.leaders, last.end) == (1.0, (), ("a",), 60.0)
    assert last.start == results.seconds[results.seconds >= 10.0][0]
    assert [each.leaders for each in results.leaders_by_rank(IncumbentKind.ANY)] == [("a",)]
    assert results.quartiles[IncumbentKind.FULL][:, 0, 1, -1].tolist() == [1.0, 1.0, 1.0]


def test_a_comparison_in_which_nothing_succeeded_is_told_all_the_same() -> None:
    runs = tuple(run(RunKey("x", name, 0), [], reason="everything failed") for name in "ab")
    results = ComparisonResults.from_runs("s", ("x",), ("a", "b"), (0,), runs, {"x": "loss"}, 60.0)
    assert results.rank_estimates[RankingMethod.RUNS][IncumbentKind.ANY].ranks.value[:, -1].tolist() == [1.5, 1.5]
    assert [each.leaders for each in results.leaders_by_rank(IncumbentKind.ANY)] == [()]
    assert json.dumps(summary.comparison_document(results), allow_nan=False)


def test_the_end_may_be_no_time_at_all() -> None:
    runs = tuple(run(RunKey("x", name, 0), [(0.0, 0.5)], until=0.0) for name in "ab")
    results = ComparisonResults.from_runs("s", ("x",), ("a", "b"), (0,), runs, {"x": "loss"}, 0.0)
    assert results.quartiles[IncumbentKind.FULL][1, 0, :, -1].tolist() == [0.5, 0.5]


def test_tables_say_what_the_arrays_say() -> None:
    results = made()
    curves, quartiles = Comparison(results).curves, Comparison(results).quartiles
    assert list(curves.columns[:5]) == ["data", "optimizer", "seed", "seconds", "loss"]
    assert len(curves) == sum(len(each.curves[models].losses) for each in results.runs for models in IncumbentKind)
    assert len(quartiles) == 2 * 2 * 3 * 256
    last = quartiles[(quartiles["models"] == "any") & (quartiles["data"] == "second")].groupby("optimizer").last()
    assert last.loc["beta", "median"] == results.quartiles[IncumbentKind.ANY][1, 1, 1, -1]
    found = Comparison(results).ranks
    for ranking in RankingMethod:
        one = found[(found["models"] == "full") & (found["optimizer"] == "gamma disc=2")]
        one, expected = (
            one[one["ranking"] == ranking.value],
            results.rank_estimates[ranking][IncumbentKind.FULL].ranks,
        )
        for column, values in (("rank", expected.value), ("low", expected.low), ("high", expected.high)):
            assert one[column].tolist() == values[2].tolist()
    found = Comparison(results).differences.set_index(["models", "ranking", "optimizer", "other"])
    one, expected = (
        found.loc[("any", "runs", "alpha", "gamma disc=2")],
        results.rank_estimates[RankingMethod.RUNS][IncumbentKind.ANY],
    )
    assert one["seconds"].tolist() == results.seconds.tolist()
    assert one["difference"].tolist() == expected.differences.value[1].tolist()
    assert one["within_noise"].tolist() == expected.differences.is_within_noise[1].tolist()
    assert Comparison(results).runs["loss_any"].tolist() == [
        each.curves[IncumbentKind.ANY].losses[-1] for each in results.runs
    ]
    assert set(Comparison(results).ahead["data"]) == {"", "first", "second"}
    assert set(Comparison(results).ahead["by"]) == {"mean_losses", "runs", "median"}


def test_the_document_is_json_with_the_same_numbers() -> None:
    results = made()
    found = json.loads(json.dumps(summary.comparison_document(results), allow_nan=False))
    assert found["seconds"] == pytest.approx([0.6, 6.0, 60.0])
    told = found["losses"]["full"]["first"]["beta"]
    assert told["median"][-1] == results.quartiles[IncumbentKind.FULL][1, 0, 1, -1]
    for ranking in RankingMethod:
        ranked = results.rank_estimates[ranking][IncumbentKind.ANY]
        told = found["ranks"][ranking]["any"]["alpha"]
        assert [told[name][-1] for name in ("rank", "low", "high")] == pytest.approx(
            [getattr(ranked.ranks, name)[0, -1] for name in ("value", "low", "high")]
        )
        told = found["differences"][ranking]["any"][0]
        assert told["optimizers"] == ["alpha", "beta"]
        assert told["difference"][-1] == pytest.approx(ranked.differences.value[0, -1])
        assert told["within_noise"][-1] is bool(ranked.differences.is_within_noise[0, -1])
    assert found["intervals"] == {"level": 0.95, "over": "seed", "number": 4}
    assert found["ahead"]["full"]["mean_losses"][-1]["end"] == 60.0
    assert [each["optimizers"] for each in found["apart"]["full"]] == [list(pair) for pair in results.optimizer_pairs]
    assert found["data"]["first"] == {"loss": "1 - roc_auc", "before": 1.0}
    assert len(found["runs"]) == 24
    assert len(summary.curves_document(results)["ranks"]["runs"]["full"]["alpha"]["low"]) == 256


def test_without_intervals_there_are_no_bounds_and_every_difference_may_be_noise() -> None:
    results = made(data=("x", "y"), seeds=2)
    found = json.loads(json.dumps(summary.comparison_document(results), allow_nan=False))
    assert found["intervals"] is None
    assert found["ranks"]["mean_losses"]["full"]["alpha"]["low"] == [None] * 3
    assert all(all(pair["within_noise"]) for pair in found["differences"]["runs"]["any"])
    assert all([each["optimizers"] for each in pair["intervals"]] == [[]] for pair in found["apart"]["any"])


FOUND = {"a": (0.10, 0.30), "b": (0.12, 0.20)}
"""By optimizer what its runs report, and what their winners lose on rows that no trial saw."""


def judged_by_others(data: int = 6, seeds: int = 3, without: frozenset[RunKey] = frozenset()) -> ComparisonResults:
    """`a` reports less than `b`, and loses more."""
    names = tuple(f"d{place}" for place in range(data))
    runs = []
    for key in (RunKey(name, optimizer, seed) for name in names for optimizer in FOUND for seed in range(seeds)):
        reported, loss = FOUND[key.optimizer]
        loss += 0.01 * key.seed
        found = WinnerScore(trial.TestScore(loss, loss - 0.05, loss + 0.05, 100), reported)
        runs.append(replace(run(key, [(1.0, reported)]), winner_score=None if key in without else found))
    formulas = dict.fromkeys(names, "1 - roc_auc")
    return ComparisonResults.from_runs("s", names, tuple(FOUND), tuple(range(seeds)), tuple(runs), formulas, 60.0)


def shown(results: ComparisonResults) -> str:
    stream = StringIO()
    print_comparison(results, Console(file=stream, width=120, highlight=False), verbose=True)
    return stream.getvalue()


def test_without_test_rows_there_is_no_verdict() -> None:
    results = made()
    assert winner_losses(results) is None
    assert summary.comparison_document(results)["test"] is None
    assert "no trial saw" not in shown(results)


def test_optimizers_are_judged_by_rows_that_no_trial_saw() -> None:
    results = judged_by_others()
    assert results.leaders_by_rank(IncumbentKind.FULL)[-1].leaders == ("a",), "by what was reported"
    judged = winner_losses(results)
    assert judged is not None
    assert judged.losses.value == pytest.approx(np.array([[0.31, 0.21]] * 6))
    assert (judged.losses.low <= judged.losses.value).all()
    assert judged.optimism == pytest.approx(np.array([[0.21, 0.09]] * 6))
    for ranking in RankingMethod:
        assert judged.rank_estimates[ranking].ranks.value[:, 0].tolist() == [2.0, 1.0]
        assert not judged.rank_estimates[ranking].differences.is_within_noise.any()
    text = shown(results)
    assert "Optimizers are judged by test rows that no trial saw" in text
    assert "a  0.6900 [0.6631, 0.7169]    0.9000    0.2100" in text
    assert "a and b: b ahead, 1.00 [0.08, 1.00]" in text


def test_the_document_and_the_table_have_the_same_figures() -> None:
    results = judged_by_others()
    found = json.loads(json.dumps(summary.comparison_document(results), allow_nan=False))
    told = found["test"]["losses"]["d0"]["a"]
    assert told == pytest.approx({"mean": 0.31, "low": 0.2831, "high": 0.3369, "reported": 0.1, "optimism": 0.21}, 1e-3)
    assert found["test"]["ranks"]["mean_losses"]["b"]["rank"] == [1.0]
    assert found["test"]["differences"]["runs"][0]["within_noise"] == [False]
    assert found["runs"][0]["test"] == {
        "loss": 0.3,
        "low": 0.25,
        "high": 0.35,
        "rows": 100,
        "reason": "",
        "feasible": None,
        "constraints": {},
        "reported": 0.1,
    }
    table = Comparison(results).runs
    assert table["loss_test"].tolist() == [each.winner_score.score.loss for each in results.runs]
    assert set(table["loss_reported"]) == {0.1, 0.12}


def test_a_run_without_a_winner_counts_as_before_its_first_score() -> None:
    lost = RunKey("d0", "b", 1)
    results = judged_by_others(without=frozenset({lost}))
    judged = winner_losses(results)
    assert judged is not None
    assert judged.losses.value[0, 1] == pytest.approx((0.20 + 1.0 + 0.22) / 3)
    assert judged.reported[0, 1] == pytest.approx(0.12), "where there is a winner"
    assert judged.rank_estimates[RankingMethod.MEAN_LOSSES].ranks.value[:, 0] == pytest.approx([2 - 1 / 6, 1 + 1 / 6])
    every = frozenset(RunKey("d0", "b", seed) for seed in range(3))
    found = summary.comparison_document(judged_by_others(without=every))
    assert json.loads(json.dumps(found, allow_nan=False))["test"]["losses"]["d0"]["b"]["optimism"] is None
    assert "-" in shown(judged_by_others(without=every))


def test_a_winner_that_cannot_be_scored_is_told_and_counts_as_none() -> None:
    results = judged_by_others(data=3)
    lost = WinnerScore(trial.TestScore(None, None, None, 100, "boom"), 0.12)
    runs = [replace(each, winner_score=lost) if each.key == RunKey("d1", "b", 2) else each for each in results.runs]
    results = replace(results, runs=tuple(runs))
    judged = winner_losses(results)
    assert judged is not None
    assert judged.losses.value[1, 1] == pytest.approx((0.20 + 0.21 + 1.0) / 3)
    assert judged.optimism[1, 1] == pytest.approx((0.20 + 0.21) / 2 - 0.12)
    assert "d1, b, seed 2: the winner has no loss on rows that no trial saw: boom" in shown(results)


def test_one_seed_has_no_intervals_of_its_losses() -> None:
    judged = winner_losses(judged_by_others(data=1, seeds=1))
    assert judged is not None
    assert np.isnan(judged.losses.low).all()
    lines = [line.split() for line in shown(judged_by_others(data=1, seeds=1)).splitlines()]
    assert ["a", "0.7000", "0.9000", "0.2000"] in lines


CURVE_MOMENTS = st.floats(0, 100, allow_nan=False)
LOSSES = st.floats(-2, 3, allow_nan=False)
CURVE_SCORES = st.lists(st.tuples(CURVE_MOMENTS, LOSSES), max_size=12)


def brute(scores: list[tuple[float, float]], second: float, before: float, until: float = inf) -> float:
    """The smallest loss that is known at a time."""
    return min([loss for seconds, loss in scores if seconds <= min(second, until)], default=before)


@given(CURVE_SCORES, CURVE_MOMENTS)
def test_a_curve_is_the_running_minimum(scores: list[tuple[float, float]], until: float) -> None:
    curve = incumbent_curve(scores, until)
    moments = np.array(sorted({*(seconds for seconds, _ in scores), 0.0, until, 101.0}))
    (found,) = losses_at_times([curve], moments, before=9.0)
    assert found.tolist() == [brute(scores, second, 9.0, until) for second in moments]
    assert list(curve.seconds) == sorted(curve.seconds)
    assert all(left > right for left, right in zip(curve.losses, curve.losses[1:], strict=False))


@given(st.lists(CURVE_SCORES, min_size=1, max_size=4))
def test_curves_never_rise(runs: list[list[tuple[float, float]]]) -> None:
    curves = [incumbent_curve(scores) for scores in runs]
    before = loss_before_first_score(curves)
    found = losses_at_times(curves, np.linspace(0, 101, 57), before)
    assert (np.diff(found, axis=1) <= 0).all()
    assert (found <= before).all()
    assert before >= 1


def test_two_scores_at_the_same_time_count_as_the_better_one() -> None:
    assert losses_at_times([incumbent_curve([(1.0, 0.5), (1.0, 0.3)])], np.array([0.9, 1.0]), 1.0).tolist() == [
        [1.0, 0.3]
    ]


def test_the_order_in_which_scores_are_listed_does_not_count() -> None:
    assert incumbent_curve([(3.0, 0.2), (1.0, 0.4), (2.0, 0.3)]) == IncumbentCurve((1.0, 2.0, 3.0), (0.4, 0.3, 0.2))


def test_losses_beyond_one_begin_with_the_worst_first_score() -> None:
    assert (
        loss_before_first_score(
            [IncumbentCurve((1.0, 2.0), (7.5, 2.0)), IncumbentCurve((1.0,), (30.0,)), IncumbentCurve()]
        )
        == 30.0
    )
    assert loss_before_first_score([IncumbentCurve((1.0,), (0.2,))]) == 1.0
    assert loss_before_first_score([]) == 1.0


@given(st.lists(CURVE_SCORES, min_size=1, max_size=4), st.floats(1e-3, 1e6))
def test_times_are_logarithmic_up_to_the_very_end(runs: list[list[tuple[float, float]]], end: float) -> None:
    found = logarithmic_times([incumbent_curve(scores, end) for scores in runs], end)
    assert len(found) == 256
    assert found[-1] == end
    assert (np.diff(found) > 0).all()
    assert np.allclose(np.diff(np.log(found)), np.log(found[1] / found[0]))


def test_times_begin_with_the_first_score_of_anybody() -> None:
    assert (
        logarithmic_times(
            [IncumbentCurve((0.5, 2.0), (0.4, 0.3)), IncumbentCurve((0.25,), (0.9,)), IncumbentCurve()], 60.0
        )[0]
        == 0.25
    )
    assert logarithmic_times([IncumbentCurve()], 60.0)[0] == pytest.approx(0.06)
    assert logarithmic_times([IncumbentCurve((60.0,), (0.1,))], 60.0)[0] == pytest.approx(0.06)
