"""The leaderboard lists the best configurations with scores, intervals and seconds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

import spacelang as sl
from spacelang.runtime.scoring.metric import named_metric
from spacelang.runtime.scoring.pipeline_scorer import HeldOutRows
from spacelang.runtime.scoring.unseen_scores import held_out_interval

SPACE = "stage estimator = GaussianNB | DecisionTreeClassifier { max_depth : int[1, 6] = 3 }"
OPTIONS: dict[str, Any] = {"trials": 5, "workers": 0, "optimizer": "random", "validate": "cv(3)"}


def few_rows() -> tuple[Any, Any]:
    features, labels = load_breast_cancer(return_X_y=True)
    return features[:200, :6], labels[:200]


def test_the_best_trials_are_listed_with_scores_and_intervals(tmp_path: Path) -> None:
    found = sl.search(sl.parse(SPACE), *few_rows(), metric="accuracy", **OPTIONS)
    table, trials = found.leaderboard(3), found.trials
    assert table.index.tolist() == [1, 2, 3]
    assert table.columns.name == "accuracy"
    assert [*table["loss"]] == sorted(trials["loss"])[:3]
    assert (table["score"] + table["loss"]).tolist() == [1.0] * 3
    for row in table.itertuples():
        assert trials.loc[row.trial, ["loss", "cost"]].tolist() == [row.loss, row.cost]
    assert trials.loc[table["trial"], "param_estimator"].tolist() == table["param_estimator"].tolist()
    assert (table["low"] < table["score"]).all()
    assert (table["score"] < table["high"]).all()
    assert found.leaderboard(2, intervals=False)[["low", "high"]].isna().all(axis=None)
    # The same intervals follow from predictions that the run has stored.
    stored = sl.search(
        sl.parse(SPACE), *few_rows(), metric="accuracy", predictions=True, store=tmp_path / "run.db", **OPTIONS
    )
    assert stored.leaderboard(3)[["low", "high"]].equals(table[["low", "high"]])


def test_an_error_is_its_own_score() -> None:
    space = sl.parse("stage model = Ridge { alpha : float[0.1, 10] = 1 }")
    found = sl.search(space, *load_diabetes(return_X_y=True), metric="neg_mean_absolute_error", **OPTIONS)
    table = found.leaderboard(2)
    assert table.columns.name == "mean_absolute_error"
    assert table["score"].equals(table["loss"])
    assert (table["low"] < table["score"]).all()


def test_an_objective_has_no_intervals() -> None:
    found = sl.search(sl.parse(SPACE), objective=lambda each: float(len(each)), trials=4, workers=0)
    table = found.leaderboard()
    assert len(table) <= 4
    assert table[["low", "high"]].isna().all(axis=None)


def test_intervals_cover_the_loss_and_narrow_with_more_rows() -> None:
    rng, widths = np.random.default_rng(0), []
    for rows in (60, 600):
        target = rng.integers(0, 2, rows)
        right = np.where(rng.random(rows) < 0.8, target, 1 - target)
        held_out = HeldOutRows(np.arange(rows), target, np.arange(rows) % 3, (0, 1))
        low, high = held_out_interval(np.eye(2)[right], held_out, named_metric("accuracy"), 0)
        assert low is not None
        assert high is not None
        assert low < 0.2 < high
        widths.append(high - low)
    assert widths[1] < widths[0]


def test_intervals_of_rows_in_groups_are_those_of_the_groups() -> None:
    """Rows that occur ten times each have the interval of the rows alone; few groups have none."""
    rng, rows = np.random.default_rng(0), 60
    target = rng.integers(0, 2, rows)
    said = np.eye(2)[np.where(rng.random(rows) < 0.8, target, 1 - target)]
    metric, folds, groups = named_metric("accuracy"), np.arange(rows) % 2, np.repeat(np.arange(rows), 10)
    alone = held_out_interval(said, HeldOutRows(np.arange(rows), target, folds, (0, 1)), metric, 0)
    many = HeldOutRows(np.arange(10 * rows), target.repeat(10), folds.repeat(10), (0, 1), groups)
    assert held_out_interval(said.repeat(10, axis=0), many, metric, 0) == alone
    assert held_out_interval(said.repeat(10, axis=0), replace(many, groups=groups % 8), metric, 0) == (None, None)


def test_a_search_by_groups_has_intervals_of_groups() -> None:
    features, labels = few_rows()
    options: Any = {**OPTIONS, "metric": "accuracy", "validate": "cv(3)", "trials": 1}
    found = sl.search(sl.parse(SPACE), features, labels, groups=np.arange(200) // 4, **options)
    assert found.leaderboard(1)["low"].notna().all()
    found = sl.search(sl.parse(SPACE), features, labels, groups=np.arange(200) // 20, **options)
    assert found.leaderboard(1)["low"].isna().all(), "three or four groups for each fold"
