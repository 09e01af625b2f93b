"""By which scale losses are measured: what scorers come to, and the best constant prediction."""

import warnings
from statistics import fmean
from typing import Self

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import made
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer, get_scorer_names
from trying import IS_FULL

from spacelang.ir.task import ScorerGoal
from spacelang.ir.trial import UNIT_SCALE, LossScale
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.runtime.evaluation.folds import EvaluationSettings
from spacelang.runtime.scoring.metric import (
    AT_MOST_ONE,
    NEGATED_ERRORS,
    UNIT_SCORES,
    LossRange,
    loss_range,
    make_loss_scale,
    metric_of_goal,
)

UNBOUNDED = {"mutual_info_score", "positive_likelihood_ratio"}
GOALS = [ScorerGoal(direction, name) for name in get_scorer_names() for direction in ("minimize", "maximize")]


def test_every_scorer_is_known() -> None:
    """One that is new to scikit-learn belongs in one of the sets, or among those that can come to anything."""
    sets = [UNIT_SCORES, AT_MOST_ONE, NEGATED_ERRORS, UNBOUNDED]
    assert sum(map(len, sets)) == len(frozenset().union(*sets)) == len(get_scorer_names())
    assert frozenset().union(*sets) == set(get_scorer_names())


class Numbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """What predicts fixed numbers."""

    def __init__(self, answers: np.ndarray) -> None:
        self.answers = answers

    def fit(self, *_: object) -> Self:
        return self

    def predict(self, _: object) -> np.ndarray:
        return self.answers


class Shares(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What predicts fixed probabilities of classes."""

    def __init__(self, answers: np.ndarray) -> None:
        self.answers = answers
        self.classes_ = np.arange(answers.shape[1])

    def fit(self, *_: object) -> Self:
        return self

    def predict(self, _: object) -> np.ndarray:
        return self.answers.argmax(axis=1)

    def predict_proba(self, _: object) -> np.ndarray:
        return self.answers


@settings(max_examples=10 if IS_FULL else 5, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 2, 3]), st.booleans())
def test_losses_lie_where_they_are_said_to(seed: int, classes: int, positive: bool) -> None:
    """However good or bad what is judged is: every formula of every scorer that can be computed."""
    rng = np.random.default_rng(seed)
    if classes:
        target = np.concatenate([np.arange(classes), rng.integers(classes, size=9)])
        shares = rng.dirichlet([rng.choice([0.02, 1.0])] * classes, size=len(target))
        answers = Shares(shares / shares.sum(axis=1, keepdims=True))
    else:
        target, values = rng.normal(size=(2, 9)) * 10 ** rng.uniform(-3, 3)
        target, values = (abs(target) + 0.1, abs(values) + 0.1) if positive else (target, values)
        answers = Numbers(values)
    for goal in GOALS:
        metric = metric_of_goal(goal)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loss = metric.loss(answers, np.zeros((len(target), 1)), target)
            except (ValueError, TypeError, AttributeError):
                continue
        lies = loss_range(metric.name, metric.formula, classes)
        if np.isfinite(loss) and lies is not LossRange.ANYWHERE:
            assert loss >= -1e-12, (metric.formula, loss)
            assert lies is LossRange.FROM_0_ON or loss <= 1 + 1e-12, (metric.formula, loss)


@pytest.mark.parametrize(
    ("goal", "classes", "lies"),
    [
        (ScorerGoal("maximize", "roc_auc"), 2, LossRange.FROM_0_TO_1),
        (ScorerGoal("minimize", "accuracy"), 2, LossRange.FROM_0_TO_1),
        (ScorerGoal("maximize", "neg_brier_score"), 2, LossRange.FROM_0_TO_1),
        (ScorerGoal("maximize", "neg_brier_score"), 3, LossRange.FROM_0_ON),
        (ScorerGoal("maximize", "matthews_corrcoef"), 2, LossRange.FROM_0_ON),
        (ScorerGoal("minimize", "matthews_corrcoef"), 2, LossRange.ANYWHERE),
        (ScorerGoal("maximize", "r2"), 0, LossRange.FROM_0_ON),
        (ScorerGoal("maximize", "r2", from_one=True), 0, LossRange.ANYWHERE),
        (ScorerGoal("maximize", "neg_root_mean_squared_error"), 0, LossRange.FROM_0_ON),
        (ScorerGoal("minimize", "neg_root_mean_squared_error"), 0, LossRange.ANYWHERE),
        (ScorerGoal("maximize", "positive_likelihood_ratio"), 2, LossRange.ANYWHERE),
    ],
)
def test_where_losses_lie(goal: ScorerGoal, classes: int, lies: LossRange) -> None:
    metric = metric_of_goal(goal)
    assert loss_range(metric.name, metric.formula, classes) is lies


def test_what_nobody_knows_can_be_anything() -> None:
    assert loss_range("mine", "1 - mine", 2) is LossRange.ANYWHERE
    assert loss_range("roc_auc", "roc_auc / 2", 2) is LossRange.ANYWHERE
    assert loss_range("roc_auc", "", 2) is LossRange.ANYWHERE


@pytest.mark.parametrize("constant", [None, 0.0, -1.0, float("nan"), float("inf")])
def test_a_constant_that_is_no_scale(constant: float | None) -> None:
    assert make_loss_scale(LossRange.FROM_0_ON, lambda: constant) is None


def test_the_last_digits_of_a_constant_do_not_count() -> None:
    """They are different ones with another version of a library, with which the run may go on."""
    assert make_loss_scale(LossRange.FROM_0_ON, lambda: 0.1 + 0.2) == LossScale(0.0, 0.3)


@pytest.mark.parametrize("validation", [Holdout(0.3), CrossValidation(3)])
@pytest.mark.parametrize(
    ("scorer", "data", "models"),
    [
        ("neg_root_mean_squared_error", "numbers", (DummyRegressor(), DummyRegressor(strategy="median"))),
        ("neg_mean_absolute_error", "numbers", (DummyRegressor(), DummyRegressor(strategy="median"))),
        ("neg_log_loss", "three", (DummyClassifier(strategy="prior"), DummyClassifier(strategy="most_frequent"))),
    ],
)
def test_the_scale_is_the_loss_of_the_best_constant_prediction_on_the_same_splits(
    scorer: str, data: str, models: tuple[object, ...], validation: Holdout | CrossValidation
) -> None:
    objective = made(data, EvaluationSettings(ScorerGoal("maximize", scorer), validation))
    score = get_scorer(scorer)
    losses = [
        fmean(
            -score(model.fit(fold.training, fold.training_target), fold.held_out, fold.held_out_target)  # type: ignore[attr-defined]
            for fold in objective._folds
        )
        for model in models
    ]
    assert objective.scale is not None
    assert objective.constant_loss == pytest.approx(min(losses))
    assert (objective.scale.origin, objective.scale.width) == (0.0, pytest.approx(min(losses)))


def test_losses_between_0_and_1_are_their_own_standing() -> None:
    assert made("two", EvaluationSettings()).scale == UNIT_SCALE
    assert made("three", EvaluationSettings()).scale == UNIT_SCALE


def test_losses_that_can_be_negative_have_no_scale_before_the_first() -> None:
    assert made("numbers", EvaluationSettings(ScorerGoal("minimize", "r2"))).scale is None


def test_a_constant_that_cannot_be_judged_is_none() -> None:
    """A logarithm of what is negative."""
    objective = made("numbers", EvaluationSettings(ScorerGoal("maximize", "neg_mean_squared_error")))
    log = metric_of_goal(ScorerGoal("maximize", "neg_mean_squared_log_error"))
    from spacelang.runtime.scoring.metric import best_constant_loss

    folds = [
        type(fold)(fold.training, -fold.training_target, fold.held_out, -fold.held_out_target)
        for fold in objective._folds
    ]
    assert best_constant_loss(log, "regression", folds) is None
