"""What rows that no trial saw say: of winners, and in the place of what runs reported."""

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from comparisons import made, run
from rich.console import Console

from spacelang.bench.comparison import document, tables
from spacelang.bench.comparison.ranks import Ranking
from spacelang.bench.comparison.results import IncumbentCandidates, Results, RunKey, WinnerScore, winner_losses
from spacelang.bench.comparison.text import print_comparison
from spacelang.ir import trial

FOUND = {"a": (0.10, 0.30), "b": (0.12, 0.20)}
"""By optimizer what its runs report, and what their winners lose on rows that no trial saw."""


def judged_by_others(data: int = 6, seeds: int = 3, without: frozenset[RunKey] = frozenset()) -> Results:
    """`a` reports less than `b`, and loses more."""
    names = tuple(f"d{place}" for place in range(data))
    runs = []
    for key in (RunKey(name, optimizer, seed) for name in names for optimizer in FOUND for seed in range(seeds)):
        reported, loss = FOUND[key.optimizer]
        loss += 0.01 * key.seed
        found = WinnerScore(trial.TestScore(loss, loss - 0.05, loss + 0.05, 100), reported)
        runs.append(replace(run(key, [(1.0, reported)]), winner_score=None if key in without else found))
    formulas = dict.fromkeys(names, "1 - roc_auc")
    return Results.from_runs("s", names, tuple(FOUND), tuple(range(seeds)), tuple(runs), formulas, 60.0)


def shown(results: Results) -> str:
    stream = StringIO()
    print_comparison(results, Console(file=stream, width=120, highlight=False))
    return stream.getvalue()


def test_without_test_rows_there_is_no_verdict() -> None:
    results = made()
    assert winner_losses(results) is None
    assert document.comparison_document(results)["test"] is None
    assert "no trial saw" not in shown(results)


def test_optimizers_are_judged_by_rows_that_no_trial_saw() -> None:
    results = judged_by_others()
    assert results.leaders_by_rank(IncumbentCandidates.FULL)[-1].leaders == ("a",), "by what was reported"
    judged = winner_losses(results)
    assert judged is not None
    assert judged.losses.value == pytest.approx(np.array([[0.31, 0.21]] * 6))
    assert (judged.losses.low <= judged.losses.value).all()
    assert judged.optimism == pytest.approx(np.array([[0.21, 0.09]] * 6))
    for ranking in Ranking:
        assert judged.rank_estimates[ranking].ranks.value[:, 0].tolist() == [2.0, 1.0]
        assert not judged.rank_estimates[ranking].differences.within_noise.any()
    text = shown(results)
    assert "Optimizers are judged by test rows that no trial saw" in text
    assert "a  0.3100 [0.2831, 0.3369]    0.1000    0.2100" in text
    assert "a and b: b ahead, 1.00 [0.08, 1.00]" in text


def test_the_document_and_the_table_have_the_same_figures() -> None:
    results = judged_by_others()
    found = json.loads(json.dumps(document.comparison_document(results), allow_nan=False))
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
    table = tables.runs(results)
    assert table["loss_test"].tolist() == [each.winner_score.score.loss for each in results.runs]
    assert set(table["loss_reported"]) == {0.1, 0.12}


def test_a_run_without_a_winner_counts_as_before_its_first_score() -> None:
    lost = RunKey("d0", "b", 1)
    results = judged_by_others(without=frozenset({lost}))
    judged = winner_losses(results)
    assert judged is not None
    assert judged.losses.value[0, 1] == pytest.approx((0.20 + 1.0 + 0.22) / 3)
    assert judged.reported[0, 1] == pytest.approx(0.12), "where there is a winner"
    assert judged.rank_estimates[Ranking.MEAN_LOSSES].ranks.value[:, 0] == pytest.approx([2 - 1 / 6, 1 + 1 / 6])
    every = frozenset(RunKey("d0", "b", seed) for seed in range(3))
    found = document.comparison_document(judged_by_others(without=every))
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
    assert ["a", "0.3000", "0.1000", "0.2000"] in lines
