"""Medians, quartiles and ranks over runs, against step functions that are evaluated one by one."""

import json
from dataclasses import replace

import numpy as np
import pytest
from comparisons import made, run
from hypothesis import given
from hypothesis import strategies as st

from spacelang.report.comparison import document, tables
from spacelang.report.comparison.curves import Curve
from spacelang.report.comparison.results import Key, Models, Results

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
    keys = [Key(name, optimizer, seed) for name in data for optimizer in optimizers for seed in seeds]
    runs = tuple(run(key, draw(SCORES), draw(SCORES), 50.0) for key in keys)
    return Results.over_time("space", data, optimizers, seeds, runs, dict.fromkeys(data, "loss"), 50.0)


@given(comparisons())
def test_quartiles_are_those_of_the_step_functions(results: Results) -> None:
    by_key = {each.key: each for each in results.runs}
    for models in Models:
        for place, data in enumerate(results.data):
            for row, optimizer in enumerate(results.optimizers):
                curves = [by_key[Key(data, optimizer, seed)].curves[models] for seed in results.seeds]
                for column, second in enumerate(results.seconds[::51]):
                    losses = [value(curve, second, results.before[place]) for curve in curves]
                    found = results.quartiles[models][:, place, row, 51 * column]
                    assert np.allclose(found, np.quantile(losses, (0.25, 0.5, 0.75)), rtol=1e-12)
                    assert np.isclose(found[1], np.median(losses), rtol=1e-12)


@given(comparisons())
def test_nothing_rises_and_ranks_average_to_the_middle(results: Results) -> None:
    for models in Models:
        assert (np.diff(results.quartiles[models], axis=-1) <= 1e-12).all()
        assert np.allclose(results.mean_ranks[models].mean(axis=0), (len(results.optimizers) + 1) / 2)
    assert (results.losses[Models.ANY] <= results.losses[Models.FULL]).all(), "any trained model is at least as good"


@given(comparisons(), st.randoms(use_true_random=False))
def test_permuting_optimizers_permutes_everything(results: Results, random: "st.DrawFn") -> None:
    order = list(range(len(results.optimizers)))
    random.shuffle(order)
    other = replace(results, optimizers=tuple(results.optimizers[place] for place in order))
    for models in Models:
        assert np.allclose(other.mean_ranks[models], results.mean_ranks[models][order])
        assert (other.quartiles[models] == results.quartiles[models][:, :, order]).all()


def test_ranks_are_given_within_the_same_data_and_seed() -> None:
    # Each seed has a winner of its own; ranks of medians would call it a draw between a and b only by accident.
    runs = [
        run(Key("x", "a", 0), [(1.0, 0.1)]),
        run(Key("x", "b", 0), [(1.0, 0.2)]),
        run(Key("x", "a", 1), [(1.0, 0.9)]),
        run(Key("x", "b", 1), [(1.0, 0.3)]),
    ]
    results = Results.over_time("s", ("x",), ("a", "b"), (0, 1), tuple(runs), {"x": "loss"}, 60.0)
    assert results.ranks[Models.FULL][0, :, :, -1].tolist() == [[1.0, 2.0], [2.0, 1.0]]
    assert results.mean_ranks[Models.FULL][:, -1].tolist() == [1.5, 1.5]
    assert results.ahead(Models.FULL)[-1].ahead == ("a", "b")
    assert results.ahead_on("x", Models.FULL)[-1].ahead == ("b",)


def test_nobody_is_ahead_before_the_first_score_and_a_run_without_one_is_last() -> None:
    runs = [
        run(Key("x", "a", 0), [(10.0, 0.4)], [(1.0, 0.5)]),
        run(Key("x", "b", 0), [], [], reason="everything failed"),
    ]
    results = Results.over_time("s", ("x",), ("a", "b"), (0,), tuple(runs), {"x": "loss"}, 60.0)
    first, last = results.ahead(Models.FULL)
    assert (first.start, first.ahead, last.ahead, last.end) == (1.0, (), ("a",), 60.0)
    assert last.start == results.seconds[results.seconds >= 10.0][0]
    assert [each.ahead for each in results.ahead(Models.ANY)] == [("a",)]
    assert results.quartiles[Models.FULL][:, 0, 1, -1].tolist() == [1.0, 1.0, 1.0]


def test_a_comparison_in_which_nothing_succeeded_is_told_all_the_same() -> None:
    runs = tuple(run(Key("x", name, 0), [], reason="everything failed") for name in "ab")
    results = Results.over_time("s", ("x",), ("a", "b"), (0,), runs, {"x": "loss"}, 60.0)
    assert results.mean_ranks[Models.ANY][:, -1].tolist() == [1.5, 1.5]
    assert [each.ahead for each in results.ahead(Models.ANY)] == [()]
    assert json.dumps(document.document(results), allow_nan=False)


def test_the_end_may_be_no_time_at_all() -> None:
    runs = tuple(run(Key("x", name, 0), [(0.0, 0.5)], until=0.0) for name in "ab")
    results = Results.over_time("s", ("x",), ("a", "b"), (0,), runs, {"x": "loss"}, 0.0)
    assert results.quartiles[Models.FULL][1, 0, :, -1].tolist() == [0.5, 0.5]


def test_tables_say_what_the_arrays_say() -> None:
    results = made()
    curves, quartiles = tables.curves(results), tables.quartiles(results)
    assert list(curves.columns[:5]) == ["data", "optimizer", "seed", "seconds", "loss"]
    assert len(curves) == sum(len(each.curves[models].losses) for each in results.runs for models in Models)
    assert len(quartiles) == 2 * 2 * 3 * 256
    last = quartiles[(quartiles["models"] == "any") & (quartiles["data"] == "second")].groupby("optimizer").last()
    assert last.loc["beta", "median"] == results.quartiles[Models.ANY][1, 1, 1, -1]
    found = tables.ranks(results)
    one = found[(found["models"] == "full") & (found["optimizer"] == "gamma disc=2")]["rank"]
    assert one.tolist() == results.mean_ranks[Models.FULL][2].tolist()
    assert tables.runs(results)["loss_any"].tolist() == [each.curves[Models.ANY].losses[-1] for each in results.runs]
    assert set(tables.ahead(results)["data"]) == {"", "first", "second"}


def test_the_document_is_json_with_the_same_numbers() -> None:
    results = made()
    found = json.loads(json.dumps(document.document(results), allow_nan=False))
    assert found["seconds"] == pytest.approx([0.6, 6.0, 60.0])
    told = found["losses"]["full"]["first"]["beta"]
    assert told["median"][-1] == results.quartiles[Models.FULL][1, 0, 1, -1]
    assert found["ranks"]["any"]["alpha"][-1] == results.mean_ranks[Models.ANY][0, -1]
    assert found["ahead"]["full"]["average_rank"][-1]["end"] == 60.0
    assert found["data"]["first"] == {"loss": "1 - roc_auc", "before": 1.0}
    assert len(found["runs"]) == 24
    assert len(document.curves(results)["ranks"]["full"]["alpha"]) == 256
