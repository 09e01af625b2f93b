"""Scores in the direction of their metric, and the losses that stand for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import get_scorer_names

from spacelang.ir.task import ScorerGoal
from spacelang.ir.trial import UNNAMED_LOSS, LossName
from spacelang.runtime.scoring.metric import metric_of_goal, named_metric

FORMULAS = st.sampled_from(["1 - roc_auc", "log_loss", "accuracy", "1 - r2", "loss"])
LOSSES = st.floats(-10, 10)


@given(FORMULAS, LOSSES, LOSSES)
def test_a_score_stands_for_its_loss_and_keeps_or_turns_the_order(formula: str, one: float, other: float) -> None:
    metric = LossName.of_formula(formula)
    assert metric.score(metric.score(one)) == pytest.approx(one, abs=1e-12)
    assert metric.maybe_score(None) is None
    if metric.score(one) != metric.score(other):
        assert (metric.score(one) < metric.score(other)) == ((one < other) == metric.is_loss_the_score)
    low, high = metric.score_interval(*sorted((one, other)))
    assert low <= high
    assert {low, high} == {metric.score(one), metric.score(other)}
    assert metric.score_name in metric.describe(one)
    assert (metric.describe_loss(one) == "") == metric.is_loss_the_score


def test_every_scorer_is_known_by_the_formula_of_its_loss() -> None:
    names = get_scorer_names()
    assert [LossName.of_formula(named_metric(name).formula).name for name in names] == names


def test_scores_are_those_of_the_scorer_and_errors_are_themselves() -> None:
    """What a task minimizes or maximizes as an expression is shown as the value of the scorer in it."""
    names = [metric_of_goal(goal).score_name for goal in (
        ScorerGoal("maximize", "roc_auc"), ScorerGoal("minimize", "roc_auc", from_one=True),
        ScorerGoal("maximize", "neg_log_loss"), ScorerGoal("minimize", "accuracy"),
    )]  # fmt: skip
    assert names == ["roc_auc", "roc_auc", "log_loss", "accuracy"]
    assert named_metric("roc_auc").describe(0.0047, 0.001, 0.011) == "roc_auc 0.9953 [0.989, 0.999]"
    assert named_metric("neg_root_mean_squared_error").describe(3.25) == "root_mean_squared_error 3.25"
    assert UNNAMED_LOSS.describe(2.0) == "loss 2"
