"""What a pipeline reaches of each bound on rows that no trial saw: measured as in trials, with what is chance."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from handmade import space, stage
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from trying import IS_FULL, few

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import AnyBound, Bound, BoundedMeasure
from spacelang.ir.trial import Request, UnseenRowsMeasurement
from spacelang.runtime.data.labels import Dataset, check_and_encode_labels
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.evaluation.folds import EvaluationSettings, PreparedFold
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.evaluation.unseen_rows import make_test_dataset, split_off_test_rows
from spacelang.runtime.final_fit import UnseenBoundsWork
from spacelang.runtime.scoring import unseen_scores
from spacelang.runtime.scoring.metric import named_metric
from spacelang.runtime.scoring.pipeline_scorer import PipelineScorer
from spacelang.runtime.scoring.unseen_scores import TIMING_COUNT, measure_bounds
from spacelang.runtime.scoring.user_functions import Constraint

FAIR = Bound(BoundedMeasure.DISPARITY, 0.1, scorer="accuracy", column="town")
LATENCY, SIZE = Bound(BoundedMeasure.LATENCY, 0.5), Bound(BoundedMeasure.SIZE, 1e6)
TREE = Configuration({"estimator": "DecisionTreeClassifier"})


@pytest.fixture(autouse=True, scope="module")
def few_resamples() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unseen_scores, "MAX_RESAMPLES", 60)
        yield


class Saying(ClassifierMixin, BaseEstimator):
    """Predicts what the first feature says, and counts how often it is asked."""

    classes_ = np.array([0, 1])
    asked = 0

    def predict(self, features: Any) -> Any:
        self.asked += 1
        return np.asarray(features)[:, 0].astype(int)


def fold_of(said: Any, labels: Any, towns: Any) -> PreparedFold:
    """Rows for which so much is said, of which the towns are groups."""
    places = tuple(np.flatnonzero(towns == town) for town in np.unique(towns))
    features = np.asarray(said, float)[:, None]
    return PreparedFold(features, np.array(labels), features, np.array(labels), {"town": places})


def judge(*bounds: Bound, constraints: tuple[Constraint, ...] = (), clock: Any = lambda: 0.0) -> PipelineScorer:
    return PipelineScorer(named_metric("accuracy"), bounds, clock, constraints)


def only(found: tuple[UnseenRowsMeasurement, ...]) -> UnseenRowsMeasurement:
    (each,) = found
    return each


bits = st.integers(0, 1)


@given(st.lists(st.tuples(bits, bits, st.integers(0, 2)), min_size=2, max_size=30))
@settings(max_examples=few(25), deadline=None)
def test_a_disparity_is_the_largest_difference_between_groups(rows: list[tuple[int, int, int]]) -> None:
    said, labels, towns = map(np.array, zip(*rows, strict=True))
    found = only(measure_bounds(judge(FAIR), Saying(), fold_of(said, labels, towns), 0))
    right = [np.mean((said == labels)[towns == town]) for town in np.unique(towns)]
    if len(right) < 2:
        assert (found.value, found.holds) == (None, False), "of a single group nothing is known"
        assert found.reason == "fewer than two groups of `town` have a score on these rows"
        return
    assert found.value == pytest.approx(max(right) - min(right))
    if found.low is not None and found.high is not None:
        assert 0 <= found.low <= found.high <= 1


def test_where_a_single_group_has_a_score_nothing_is_known() -> None:
    """Nothing is predicted positive in the second group: a disparity of 0 would flatter."""
    bound = Bound(BoundedMeasure.DISPARITY, 0.1, scorer="precision", column="town")
    fold = fold_of([0, 1, 1, 0, 0, 0], [0, 1, 0, 1, 1, 0], np.array([0, 0, 0, 0, 1, 1]))
    found = only(measure_bounds(judge(bound), Saying(), fold, 0))
    assert (found.value, found.holds) == (None, False)


def test_the_interval_has_the_disparity_of_most_other_rows() -> None:
    """Of 20 samples about 19 intervals hold that of their population; fewer than 15 are as good as impossible.

    So are fewer than 6 of 8, which the reduced form has.
    """
    rng = np.random.default_rng(3)
    right, samples = 0, 20 if IS_FULL else 8
    for seed in range(samples):
        labels, towns = rng.integers(0, 2, 200), np.arange(200) % 2
        said = np.where(rng.random(200) < np.where(towns, 0.35, 0.1), 1 - labels, labels)  # wrong so often
        found = only(measure_bounds(judge(FAIR), Saying(), fold_of(said, labels, towns), seed))
        assert found.low is not None
        assert found.high is not None
        right += found.low <= 0.25 <= found.high
    assert right >= 0.75 * samples


def test_a_latency_is_timed_again_and_again_and_a_size_has_no_interval() -> None:
    pace = iter(range(10**6))
    timed = measure_bounds(
        judge(LATENCY, SIZE, clock=lambda: next(pace) ** 2 / 1e4), Saying(), fold_of([0, 1], [0, 1], [0, 1]), 0
    )
    latency, size = timed
    assert latency.low is not None
    assert latency.high is not None
    assert latency.value is not None
    assert latency.low < latency.value < latency.high
    assert (size.low, size.high, size.reason) == (None, None, "")
    assert size.value is not None
    assert next(pace) == 2 * TIMING_COUNT


def test_bounds_of_rows_in_groups_are_resampled_by_group() -> None:
    """Rows that occur ten times each have the interval of the rows alone; few groups have none."""
    rng = np.random.default_rng(0)
    said, labels, towns = rng.integers(0, 2, 60), rng.integers(0, 2, 60), np.arange(60) % 3
    asked = judge(FAIR, constraints=(Constraint("missed", missed, 0.4),))
    alone = measure_bounds(asked, Saying(), fold_of(said, labels, towns), 0)
    many = fold_of(*(np.repeat(each, 10) for each in (said, labels, towns)))
    groups, few_groups = np.repeat(np.arange(60), 10), np.arange(600) % 4
    for one, other, fewer in zip(
        alone,
        measure_bounds(asked, Saying(), many, 0, groups),
        measure_bounds(asked, Saying(), many, 0, few_groups),
        strict=True,
    ):
        assert one.low is not None
        assert one.high is not None
        assert other.low == pytest.approx(one.low, abs=0.03)
        assert other.high == pytest.approx(one.high, abs=0.03)
        assert (fewer.low, fewer.reason) == (None, "no interval: the rows are of 4 groups only")
        assert fewer.value == pytest.approx(one.value)


def test_equal_seeds_give_equal_intervals() -> None:
    rng = np.random.default_rng(0)
    fold = fold_of(rng.integers(0, 2, 60), rng.integers(0, 2, 60), np.arange(60) % 3)
    asked = judge(FAIR, constraints=(Constraint("missed", missed, 0.4),))
    first, again, other = (measure_bounds(asked, Saying(), fold, seed) for seed in (1, 1, 2))
    assert first == again
    assert [each.value for each in first] == [each.value for each in other]
    assert first != other


def missed(pipeline: Any, features: Any, target: Any) -> float:
    return float(np.mean(pipeline.predict(features) != target))


class TestFunctions:
    def test_it_is_asked_about_other_rows_too_and_the_pipeline_predicts_once(self) -> None:
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 2, 100)
        said = np.where(rng.random(100) < 0.3, 1 - labels, labels)
        pipeline = Saying()
        found = only(
            measure_bounds(
                judge(constraints=(Constraint("missed", missed, 0.1),)), pipeline, fold_of(said, labels, labels), 0
            )
        )
        assert found.value == np.mean(said != labels)
        assert found.low is not None
        assert found.high is not None
        assert found.low < found.value < found.high
        assert not found.holds
        assert pipeline.asked <= 2, "once for all rows by the function itself, and once for all of those drawn"

    def test_about_rows_of_its_own_the_pipeline_itself_is_asked(self) -> None:
        """What would be predicted if a feature were another one, as counterfactual fairness asks."""

        def turned(pipeline: Any, features: Any, target: Any) -> float:
            return float(np.mean(pipeline.predict(1 - features) != pipeline.predict(features)))

        found = only(
            measure_bounds(
                judge(constraints=(Constraint("turned", turned, 2.0),)),
                Saying(),
                fold_of([0, 1, 1], [0, 1, 1], [0, 1, 1]),
                0,
            )
        )
        assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)

    @pytest.mark.parametrize(
        ("function", "reason"),
        [
            (lambda *_: 1 / 0, "ConstraintError: the constraint `mine` raised ZeroDivisionError: division by zero"),
            (lambda *_: math.nan, "the value is undefined on these rows"),
        ],
    )
    def test_what_it_does_not_know_is_unknown_and_says_why(self, function: Any, reason: str) -> None:
        found = measure_bounds(
            judge(SIZE, constraints=(Constraint("mine", function, 1.0),)), Saying(), fold_of([0], [0], [0]), 0
        )
        assert found[0].value is not None, "the others are measured all the same"
        assert (found[1].value, found[1].holds, found[1].reason) == (None, False, reason)

    def test_a_slow_one_has_a_value_and_no_interval(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(unseen_scores, "MAX_FUNCTION_SECONDS", -1.0)
        found = only(
            measure_bounds(
                judge(constraints=(Constraint("missed", missed, 0.1),)), Saying(), fold_of([0, 1], [0, 0], [0, 1]), 0
            )
        )
        assert (found.value, found.low) == (0.5, None)
        assert found.reason.startswith("no interval: the function takes more than")


WORDS = np.where(np.arange(120) % 3 == 0, "yes", "no")
TABLE = pd.DataFrame({"town": np.array(["a", "b"])[np.arange(120) % 2], "x": np.arange(120) % 6, "y": [None, 1.0] * 60})


def objective(*constraints: Constraint) -> DataObjective:
    """One over a table that has to be prepared, whose labels are words, with some rows for testing."""
    table, tested = split_off_test_rows(make_table(TABLE, WORDS), 0.25, "classification", 0)
    data: Dataset = check_and_encode_labels(table, "classification")
    assert tested is not None
    asked = EvaluationSettings(bounds=(FAIR, SIZE), constraints=constraints)
    made = space(stage("estimator", "DecisionTreeClassifier"))
    return DataObjective(made, data, asked, tested=make_test_dataset(tested, table, data))


def test_in_a_run_it_is_what_trials_measure_and_functions_know_codes() -> None:
    """The labels are words: a function that compared them with codes would be wrong throughout."""

    def missed_inside(pipeline: Any, features: Any, target: Any) -> float:
        return float(np.mean(pipeline[-1].predict(features) != target)) + missed(pipeline, features, target)

    made = objective(Constraint("inside", missed_inside, 0.5), Constraint("width", lambda _, x, __: x.shape[1], 3.0))
    bounds: tuple[AnyBound, ...] = made.bounds
    trial = made.evaluate(Request(TREE))
    found = made.evaluate(UnseenBoundsWork(TREE))
    assert found.value is not None
    assert tuple(each.bound for each in found.value) == bounds
    # The label is told by a feature: there are no mistakes, neither in trials nor here, and the same columns.
    assert [measured.value for measured in trial.constraints][2:] == [0.0, 4.0]
    assert [each.value for each in found.value][2:] == [0.0, 4.0]
    assert [each.holds for each in found.value] == [True, True, True, False]


def test_a_pipeline_that_cannot_be_fitted_again_says_why() -> None:
    made = objective()
    made.tested = (
        None
        if made.tested is None
        else Dataset(
            "rows", made.tested.features.drop(columns="x"), made.tested.target, "classification", made.tested.classes
        )
    )
    found = made.evaluate(UnseenBoundsWork(TREE))
    assert found.status.value == "error"
    assert "x" in found.reason
