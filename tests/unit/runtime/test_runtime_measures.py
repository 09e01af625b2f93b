"""What is measured of a pipeline beside its loss, by hand and in trials."""

import math
import pickle
import tracemalloc
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from handmade import operator, space, stage
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import roc_auc_score
from trying import few

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Bound, BoundedMeasure, ScorerGoal
from spacelang.ir.trial import Measurement, Request, Status
from spacelang.ir.validation import CrossValidation
from spacelang.runtime.data.labels import Dataset, check_and_encode_labels
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.errors import DataError, MetricError
from spacelang.runtime.evaluation.folds import EvaluationSettings
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.scoring.bound_measures import (
    BATCH_ROWS,
    REPEATS,
    CachedPredictions,
    group_disparity,
    mean_of_defined,
    measure_bound,
    measure_latency,
    pickled_size,
)
from spacelang.runtime.scoring.metric import find_scorer

SPACE = space(stage("estimator", "GaussianNB", operator("LogisticRegression")))
WISH = Request(Configuration({"estimator": "GaussianNB"}))
LATENCY, SIZE = Bound(BoundedMeasure.LATENCY, 0.5), Bound(BoundedMeasure.SIZE, 1e6)


def fair(scorer: str = "roc_auc", column: str = "group", limit: float = 0.1) -> Bound:
    return Bound(BoundedMeasure.DISPARITY, limit, scorer=scorer, column=column)


class Scored(ClassifierMixin, BaseEstimator):
    """A pipeline whose decisions are the features themselves."""

    classes_ = np.array([0, 1])

    def decision_function(self, features):
        return np.asarray(features)[:, 0]

    def predict(self, features):
        return (self.decision_function(features) > 0).astype(int)


class Holding:
    """A pipeline with so much in it."""

    def __init__(self, content) -> None:
        self.content = content


def area(pipeline, features, target) -> float:
    return float(roc_auc_score(target, pipeline.decision_function(features)))


def strict_area(pipeline, features, target) -> float:
    if len(np.unique(target)) == 1:
        raise ValueError("only one class")
    return area(pipeline, features, target)


def judged(*groups: tuple[list[int], list[float]], scorer=area) -> float:
    """The disparity of the area under the curve, of groups with these labels and decisions."""
    places = np.cumsum([0, *(len(labels) for labels, _ in groups)])
    rows = tuple(np.arange(first, last) for first, last in pairwise(places))
    labels = np.array([label for labels, _ in groups for label in labels])
    decisions = np.array([[value] for _, values in groups for value in values])
    return group_disparity(scorer, CachedPredictions(Scored(), decisions), labels, rows)


# One pair in so many of the wrong order: areas of 0.8, 0.75 and 0.9.
EIGHT = ([0] * 5 + [1] * 2, [1, 2, 3, 4, 6, 5, 4.5])
THREE_QUARTERS = ([0, 0, 1, 1], [1, 3, 2, 4])
NINE = ([0] * 5 + [1] * 2, [1, 2, 3, 4, 6, 7, 5])


def test_the_disparity_of_groups_is_the_largest_minus_the_smallest_score() -> None:
    assert judged(EIGHT, THREE_QUARTERS, NINE) == pytest.approx(0.15)


@pytest.mark.parametrize("scorer", [strict_area, lambda *trial: area(*trial) if len(set(trial[2])) > 1 else math.nan])
def test_groups_without_a_score_are_skipped(scorer) -> None:
    assert judged(EIGHT, ([1, 1], [0, 0]), NINE, scorer=scorer) == pytest.approx(0.1)
    assert judged(EIGHT, ([1, 1], [0, 0]), scorer=scorer) == 0
    labels = np.array([0, 0, 1, 1])
    lone = (np.array([0, 1]), np.array([2, 3]))
    assert math.isnan(group_disparity(scorer, CachedPredictions(Scored(), np.zeros((4, 1))), labels, lone))


def test_a_scorer_that_fails_though_all_classes_are_there_is_not_hidden() -> None:
    def broken(pipeline, features, target):
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        group_disparity(broken, CachedPredictions(Scored(), np.zeros((2, 1))), np.array([0, 1]), (np.array([0, 1]),))


def test_groups_for_which_scikit_learn_only_warns_are_skipped() -> None:
    # Nothing is predicted positive in the second group, so that its precision is undefined: scikit-learn says 0.
    groups = (([0, 1, 1, 0], [-1, 1, 1, 1]), ([1, 0], [-1, -1]), ([1, 1, 0, 0], [1, 1, -1, -1]))
    precision = find_scorer("precision")
    assert judged(*groups, scorer=precision) == pytest.approx(1 / 3)


def test_all_groups_are_scored_on_one_prediction() -> None:
    asked = []

    class Counting(Scored):
        def predict(self, features):
            asked.append(len(features))
            return super().predict(features)

    answers = CachedPredictions(Counting(), np.arange(-5.0, 5.0).reshape(-1, 1))
    rows = tuple(np.array_split(np.arange(10), 3))
    assert group_disparity(find_scorer("accuracy"), answers, np.array([0, 1] * 5), rows) == pytest.approx(2 / 3 - 1 / 3)
    assert asked == [10]


def test_the_latency_is_the_median_for_a_row() -> None:
    moments = iter([0.0, 1.0, 5.0, 105.0, 200.0, 203.0])
    assert measure_latency(Scored(), np.zeros((10, 1)), 10, lambda: next(moments)) == pytest.approx(0.3)
    assert (next(moments, None), REPEATS) == (None, 3)


@given(st.integers(1, 20 * BATCH_ROWS), st.sampled_from([np.asarray, pd.DataFrame, csr_array]))
@settings(max_examples=few(20), deadline=None)
def test_the_latency_is_that_of_batches_after_a_first_call(count: int, form) -> None:
    told = []

    class Clocked:
        now = 0.0

        def predict(self, features):
            told.append(features.shape[0])
            self.now += 100.0 if len(told) == 1 else 0.5 * features.shape[0]

    pipeline = Clocked()
    assert measure_latency(pipeline, form(np.zeros((count, 2))), count, lambda: pipeline.now) == pytest.approx(0.5)
    assert len(told) == 1 + REPEATS
    assert max(told) <= min(count, BATCH_ROWS)
    assert min(told) >= min(count, BATCH_ROWS // 2)


@pytest.mark.parametrize("model", [Scored(), Holding(np.arange(100_000.0)), Holding([b"x" * 10**6, "y" * 10**5])])
def test_the_size_is_that_of_the_pickle(model) -> None:
    assert pickled_size(model) == len(pickle.dumps(model, protocol=5))
    assert measure_bound(SIZE, model, None, None, None) == pickled_size(model)


def test_a_size_is_measured_without_memory_for_it() -> None:
    model = Holding([np.zeros(10**6), np.ones(10**6)])
    tracemalloc.start()
    try:
        assert pickled_size(model) > 16e6
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


@given(st.lists(st.floats(), min_size=1, max_size=5))
def test_folds_count_where_they_are_defined(folds: list[float]) -> None:
    defined = [value for value in folds if not math.isnan(value)]
    with np.errstate(invalid="ignore", over="ignore"):
        expected = float(np.mean(np.array(defined, np.longdouble))) if defined else math.nan
    assert mean_of_defined(folds) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("bound", "value", "holds", "excess"),
    [
        (LATENCY, 0.5, True, 0),
        (replace(LATENCY, strict=True), 0.5, False, 0),
        (LATENCY, 0.75, False, 0.5),
        (fair(limit=0.0), 0.25, False, 0.25),
        (LATENCY, math.nan, False, math.inf),
    ],
)
def test_whether_and_by_how_much_a_bound_is_broken(bound: Bound, value: float, holds: bool, excess: float) -> None:
    assert (Measurement(bound, value).holds, Measurement(bound, value).excess) == (holds, excess)


# ---- in trials


def people(rows: int = 200) -> Dataset:
    """Labels that are easy to know in the group a and pure chance in b; c has no value now and then."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, rows)
    group = np.where(np.arange(rows) % 2 == 0, "a", "b")
    x = np.where(group == "a", labels + rng.normal(0, 0.1, rows), rng.normal(0, 1, rows))
    holes = np.where(np.arange(rows) % 5 == 0, None, group)
    frame = pd.DataFrame({"x": x, "group": group, "holes": holes, "same": 1, "id": [f"p{n}" for n in range(rows)]})
    return check_and_encode_labels(make_table(frame, labels), "classification")


@pytest.mark.parametrize("validation", [None, CrossValidation(3)], ids=["holdout", "folds"])
def test_trials_are_measured_by_all_that_the_task_bounds(validation) -> None:
    bounds = (fair(), fair("accuracy", "holes", 1.0), SIZE, LATENCY)
    settings = (
        EvaluationSettings(bounds=bounds)
        if validation is None
        else EvaluationSettings(validation=validation, bounds=bounds)
    )
    trial = DataObjective(SPACE, people(), settings).evaluate(WISH)
    assert trial.status is Status.SUCCESS, trial.reason
    assert tuple(measured.bound for measured in trial.constraints) == bounds
    unfair, accuracies, size, latency = (measured.value for measured in trial.constraints)
    assert 0.2 < unfair < 0.8
    assert 0 < accuracies < 0.8
    assert 500 < size < 100_000
    assert 0 < latency < 0.01
    assert not trial.is_feasible
    assert [measured.holds for measured in trial.constraints] == [False, True, True, True]


def test_the_disparity_of_a_trial_is_that_of_the_held_out_rows() -> None:
    dataset = people()
    objective = DataObjective(SPACE, dataset, EvaluationSettings(bounds=(fair("accuracy"),)))
    (fold,) = objective._folds
    a, b = fold.groups["group"]
    assert sorted([*a, *b]) == list(range(len(fold.held_out_target)))
    from sklearn.naive_bayes import GaussianNB

    model = GaussianNB().fit(fold.training, fold.training_target)
    scorer = find_scorer("accuracy")
    scores = [scorer(model, fold.held_out[rows], fold.held_out_target[rows]) for rows in (a, b)]
    (measured,) = objective.evaluate(WISH).constraints
    assert measured.value == pytest.approx(max(scores) - min(scores))


def test_rows_without_a_value_are_in_no_group() -> None:
    objective = DataObjective(SPACE, people(), EvaluationSettings(bounds=(fair(column="holes"),)))
    (fold,) = objective._folds
    assert sum(map(len, fold.groups["holes"])) < len(fold.held_out_target)


@pytest.mark.parametrize(
    ("column", "message", "help_text"),
    [
        ("grup", "the data has no column `grup`", "did you mean `group`?"),
        ("same", "cannot group rows: it has a single value", "categorical"),
        ("id", "cannot group rows: it has 200 different values in 200 rows", "categorical"),
    ],
)
def test_a_column_that_forms_no_groups_is_refused_at_once(column: str, message: str, help_text: str) -> None:
    with pytest.raises(DataError) as caught:
        DataObjective(SPACE, people(), EvaluationSettings(bounds=(fair(column=column),)))
    assert message in caught.value.message
    assert help_text in caught.value.help


@pytest.mark.parametrize("scorer", ["r2", "acuracy"])
def test_a_scorer_that_cannot_judge_the_groups_is_refused_at_once(scorer: str) -> None:
    with pytest.raises(MetricError):
        DataObjective(SPACE, people(), EvaluationSettings(bounds=(fair(scorer),)))


def test_what_cannot_be_measured_fails_the_trial_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self):
        raise TypeError("cannot be pickled")

    objective = DataObjective(SPACE, people(), EvaluationSettings(ScorerGoal("maximize", "accuracy"), bounds=(SIZE,)))
    monkeypatch.setattr("sklearn.naive_bayes.GaussianNB.__reduce__", refuse, raising=False)
    monkeypatch.setattr("sklearn.naive_bayes.GaussianNB.__getstate__", refuse)
    trial = objective.evaluate(WISH)
    assert (trial.status, trial.loss, trial.constraints) == (Status.ERROR, None, ())
    assert trial.reason.startswith("TypeError: cannot be pickled")
