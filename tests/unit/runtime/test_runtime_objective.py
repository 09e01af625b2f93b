import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from handmade import hyperparameter, operator, space, stage
from sklearn.metrics import balanced_accuracy_score, get_scorer, r2_score, roc_auc_score
from sklearn.utils.validation import check_is_fitted

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Grid
from spacelang.ir.search_protocol import ask_all
from spacelang.ir.space import Space
from spacelang.ir.task import ScorerGoal
from spacelang.ir.trial import Request, Status
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.runtime.budget import Budget
from spacelang.runtime.data.labels import Dataset, check_and_encode_labels
from spacelang.runtime.data.loading import load_dataset, make_table
from spacelang.runtime.errors import BuildError, DataError, MetricError
from spacelang.runtime.evaluation.folds import EvaluationSettings
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.pipelines.build import build_pipeline
from spacelang.runtime.pipelines.catalogue_access import task_kind
from spacelang.runtime.search_loop import run

CLASSIFIERS = space(
    stage("scaler", "none", "StandardScaler"),
    stage("reducer", "none", operator("PCA", hyperparameter("reducer.n_components", Grid(1, 10_000)))),
    stage("estimator", "GaussianNB", "RidgeClassifier", "LogisticRegression", "ExtraTreeClassifier", "LinearSVC"),
)
REGRESSORS = space(stage("estimator", "Ridge", "DecisionTreeRegressor"))
RMSE = ScorerGoal("maximize", "neg_root_mean_squared_error")


@cache
def shipped(name: str, kind: str = "classification") -> Dataset:
    return check_and_encode_labels(load_dataset(f"sklearn:{name}"), kind)


def wish(estimator: str = "GaussianNB", scaler: str = "none", fidelity: int | None = None, **more: object) -> Request:
    values = {"scaler": scaler, "reducer": "none", "estimator": estimator, **more}
    return Request(Configuration(values), fidelity)


def loss(objective: DataObjective, request: Request) -> float:
    trial = objective.evaluate(request)
    assert trial.status is Status.SUCCESS, trial.reason
    return trial.loss


def in_hand(objective: DataObjective, request: Request, fold: int = 0):
    """The same trial made by hand, on one fold."""
    parts = objective._folds[fold]
    rows = request.fidelity or objective.training_size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = build_pipeline(objective._space, request.configuration, random_state=objective.random_state)
        return pipeline.fit(parts.training[:rows], parts.training_target[:rows]), parts.held_out, parts.held_out_target


def test_thirty_percent_are_held_out():
    objective = DataObjective(CLASSIFIERS, shipped("breast_cancer"))
    assert objective.training_size == 398
    assert np.bincount(objective._folds[0].held_out_target).tolist() == [64, 107]


@pytest.mark.parametrize("estimator", ["GaussianNB", "LinearSVC"], ids=["probabilities", "decision function"])
def test_two_classes_are_judged_by_the_area_under_the_curve(estimator):
    objective = DataObjective(CLASSIFIERS, shipped("breast_cancer"))
    request = wish(estimator, "StandardScaler")
    pipeline, features, target = in_hand(objective, request)
    scores = (
        pipeline.predict_proba(features)[:, 1] if estimator == "GaussianNB" else pipeline.decision_function(features)
    )
    assert loss(objective, request) == pytest.approx(1 - roc_auc_score(target, scores))
    assert (objective.metric.name, objective.metric.formula) == ("roc_auc", "1 - roc_auc")


def test_more_classes_are_judged_by_balanced_accuracy():
    objective = DataObjective(CLASSIFIERS, shipped("wine"))
    pipeline, features, target = in_hand(objective, wish())
    assert loss(objective, wish()) == pytest.approx(1 - balanced_accuracy_score(target, pipeline.predict(features)))
    assert objective.metric.name == "balanced_accuracy"


def test_regression_is_judged_by_r2():
    objective = DataObjective(REGRESSORS, shipped("diabetes", "regression"))
    request = Request(Configuration({"estimator": "Ridge"}))
    pipeline, features, target = in_hand(objective, request)
    assert loss(objective, request) == pytest.approx(1 - r2_score(target, pipeline.predict(features)))
    assert objective.training_size == 442 - 133


@pytest.mark.parametrize(("metric", "low", "high"), [("accuracy", 0, 0.3), ("neg_log_loss", 0, 3), ("f1", 0, 0.3)])
def test_any_scorer_can_be_the_metric(metric, low, high):
    settings = EvaluationSettings(ScorerGoal("maximize", metric))
    assert low < loss(DataObjective(CLASSIFIERS, shipped("breast_cancer"), settings), wish()) < high


def test_the_loss_of_a_negated_scorer_is_the_error_itself():
    objective = DataObjective(REGRESSORS, shipped("diabetes", "regression"), EvaluationSettings(RMSE))
    assert 40 < loss(objective, Request(Configuration({"estimator": "Ridge"}))) < 80
    assert objective.metric.formula == "root_mean_squared_error"


@pytest.mark.parametrize(
    ("goal", "formula", "same"),
    [
        (ScorerGoal("maximize", "accuracy"), "1 - accuracy", lambda score: 1 - score),
        (ScorerGoal("minimize", "accuracy", from_one=True), "1 - accuracy", lambda score: 1 - score),
        (ScorerGoal("minimize", "accuracy"), "accuracy", lambda score: score),
        (ScorerGoal("maximize", "accuracy", from_one=True), "accuracy", lambda score: score),
        (ScorerGoal("maximize", "neg_log_loss"), "log_loss", lambda score: -score),
        (ScorerGoal("minimize", "neg_log_loss", from_one=True), "1 - neg_log_loss", lambda score: 1 - score),
    ],
)
def test_the_loss_of_every_form_of_goal_is_smaller_for_what_the_goal_prefers(goal, formula, same):
    objective = DataObjective(CLASSIFIERS, shipped("wine"), EvaluationSettings(goal))
    score = get_scorer(goal.scorer)(*in_hand(objective, wish()))
    assert loss(objective, wish()) == pytest.approx(same(score))
    assert (objective.metric.name, objective.metric.formula) == (goal.scorer, formula)


@pytest.mark.parametrize("made", [CLASSIFIERS, REGRESSORS], ids=["classification", "regression"])
def test_a_cross_validation_is_the_mean_over_splits_that_all_trials_share(made):
    kind = task_kind(made.root)
    dataset = shipped("wine", kind) if kind == "classification" else shipped("diabetes", kind)
    objective = DataObjective(made, dataset, EvaluationSettings(validation=CrossValidation(3)))
    request = wish("LogisticRegression") if kind == "classification" else Request(Configuration({"estimator": "Ridge"}))
    by_hand = [in_hand(objective, request, fold) for fold in range(3)]
    losses = [objective.metric.loss(*fold) for fold in by_hand]
    assert loss(objective, request) == pytest.approx(np.mean(losses))
    assert np.ptp(losses) > 0
    held_out = [fold.held_out_target for fold in objective._folds]
    assert sum(map(len, held_out)) == len(dataset.target)
    assert objective.training_size == max(len(dataset.target) - len(part) for part in held_out)


def test_the_fidelity_of_a_cross_validation_is_the_rows_of_every_training():
    objective = DataObjective(CLASSIFIERS, shipped("wine"), EvaluationSettings(validation=CrossValidation(4)))
    by_hand = [objective.metric.loss(*in_hand(objective, wish(fidelity=40), fold)) for fold in range(4)]
    assert loss(objective, wish(fidelity=40)) == pytest.approx(np.mean(by_hand))
    assert loss(objective, wish(fidelity=objective.training_size)) == loss(objective, wish())


def test_a_fold_that_fails_fails_the_trial_with_its_step():
    objective = DataObjective(CLASSIFIERS, shipped("iris"), EvaluationSettings(validation=CrossValidation(2)))
    trial = objective.evaluate(wish(reducer="PCA", **{"reducer.n_components": 9_000}))
    assert trial.status is Status.ERROR
    assert trial.reason.endswith("(step `reducer`)")


def test_more_folds_than_rows():
    dataset = shipped("diabetes", "regression")
    with pytest.raises(DataError, match="442 rows cannot be split into 443 folds"):
        DataObjective(REGRESSORS, dataset, EvaluationSettings(validation=CrossValidation(443)))


@pytest.mark.parametrize(
    ("metric", "data", "message", "help_text"),
    [
        ("accurracy", "wine", "unknown metric `accurracy`", "did you mean `accuracy`?"),
        ("zzz", "wine", "unknown metric `zzz`", "scorer"),
        ("r2", "wine", "the metric `r2` is for regression", "choose a metric for classification"),
        ("roc_auc", "wine", "cannot be computed for classification with 3 classes", "use `roc_auc_ovr`, `roc_auc_ovo`"),
        ("precision", "wine", "for classification with 3 classes", "use `precision_macro`, `precision_micro`"),
        ("f1", "wine", "for classification with 3 classes", "use `f1_macro`, `f1_micro`, `f1_weighted`"),
        ("accuracy", "diabetes", "cannot be computed for regression", ""),
    ],
)
def test_a_metric_that_does_not_fit_is_refused_at_once(metric, data, message, help_text):
    made, kind = (REGRESSORS, "regression") if data == "diabetes" else (CLASSIFIERS, "classification")
    with pytest.raises(MetricError) as caught:
        DataObjective(made, shipped(data, kind), EvaluationSettings(ScorerGoal("maximize", metric)))
    assert message in caught.value.message
    assert help_text in caught.value.help


ALL = [(estimator, scaler, fidelity) for estimator in ("ExtraTreeClassifier", "LogisticRegression", "LinearSVC")
       for scaler in ("none", "StandardScaler") for fidelity in (None, 50, 200)]  # fmt: skip


def test_the_same_seed_gives_exactly_the_same_losses_and_another_seed_does_not():
    def losses(seed: int) -> list[float]:
        objective = DataObjective(CLASSIFIERS, shipped("breast_cancer"), EvaluationSettings(seed=seed))
        np.random.seed(np.random.default_rng().integers(1000))
        return [loss(objective, wish(*request)) for request in ALL]

    assert losses(1) == losses(1) != losses(2)


def test_operators_without_a_random_state_are_repeatable_and_leave_the_global_generator_alone():
    frame = pd.DataFrame({"a": list("xyzw") * 50, "b": list("pq") * 100})
    dataset = check_and_encode_labels(make_table(frame, np.random.default_rng(0).integers(0, 2, 200)), "classification")
    made = space(operator("TargetEncoder"), operator("DecisionTreeClassifier"))
    objective = DataObjective(made, dataset)
    before = np.random.get_state()[1].copy()
    first, second = (loss(objective, Request(Configuration({}))) for _ in range(2))
    assert first == second
    assert (np.random.get_state()[1] == before).all()


def test_smaller_fidelities_train_on_the_first_rows_of_one_stratified_order():
    objective = DataObjective(CLASSIFIERS, shipped("wine"))
    target = objective._folds[0].training_target
    share = np.bincount(target) / len(target)
    for rows in range(2, len(target)):
        assert np.abs(np.bincount(target[:rows], minlength=3) - rows * share).max() < 1
    pipeline, features, expected = in_hand(objective, wish(fidelity=40))
    assert loss(objective, wish(fidelity=40)) == 1 - balanced_accuracy_score(expected, pipeline.predict(features))
    everything = loss(objective, wish())
    assert (
        loss(objective, wish(fidelity=objective.training_size)) == loss(objective, wish(fidelity=10**9)) == everything
    )


@pytest.mark.parametrize("other", [REGRESSORS, CLASSIFIERS])
def test_the_order_depends_on_the_seed_alone(other):
    dataset = shipped("diabetes", "regression")
    made = space(stage("estimator", "Ridge"))

    def rows(made: Space, seed: int = 0):
        return DataObjective(made, dataset, EvaluationSettings(seed=seed))._folds[0].training

    if other is REGRESSORS:
        assert (rows(made) == rows(other)).all()
    assert not (rows(made, 1) == rows(made)).all()


def test_a_pipeline_that_raises_is_a_failed_trial_with_the_reason_and_the_step():
    objective = DataObjective(CLASSIFIERS, shipped("iris"), clock=iter(range(100)).__next__)
    trial = objective.evaluate(wish(reducer="PCA", **{"reducer.n_components": 9_000}))
    assert (trial.status, trial.loss, trial.cost) == (Status.ERROR, None, 1)
    assert trial.reason.startswith("ValueError: n_components=9000 must be between 0 and")
    assert trial.reason.endswith("(step `reducer`)")
    assert "\n" not in trial.reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "MemoryError"),
        (RecursionError("deep\nand deeper"), "RecursionError: deep"),
        (ValueError("\n  \n  first  \nsecond"), "ValueError: first"),
        (ValueError("x" * 500), "ValueError: " + "x" * 185 + "..."),
    ],
)
def test_reasons_are_one_short_line(monkeypatch, error, reason):
    def fail(pipeline, features, target):
        raise error

    objective = DataObjective(CLASSIFIERS, shipped("iris"))
    monkeypatch.setattr("sklearn.naive_bayes.GaussianNB.fit", fail)
    assert objective.evaluate(wish()).reason == reason


def test_a_score_that_is_no_number_fails(monkeypatch):
    objective = DataObjective(CLASSIFIERS, shipped("iris"))
    object.__setattr__(objective.metric, "loss", lambda *_: float("nan"))
    trial = objective.evaluate(wish())
    assert (trial.status, trial.loss, trial.reason) == (Status.INVALID, None, "the balanced_accuracy is nan")


def test_an_interrupt_passes(monkeypatch):
    def interrupt(pipeline, features, target):
        raise KeyboardInterrupt

    objective = DataObjective(CLASSIFIERS, shipped("iris"))
    monkeypatch.setattr("sklearn.naive_bayes.GaussianNB.fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        objective.evaluate(wish())


def test_a_configuration_of_another_space_is_a_bug():
    with pytest.raises(BuildError):
        DataObjective(CLASSIFIERS, shipped("iris")).evaluate(Request(Configuration({"scaler": "Mystery"})))


def test_a_run_goes_on_after_failures():
    def search():
        for components in (9_000, 2, 9_000, 3):
            yield from ask_all([wish(reducer="PCA", **{"reducer.n_components": components})])

    objective = DataObjective(CLASSIFIERS, shipped("iris"))
    outcome = run(search(), InProcess(objective.evaluate), Budget(), clock=iter(range(10_000)).__next__)
    assert [record.trial.status for record in outcome.records] == ["error", "success", "success"]
    assert outcome.answered_from_memory == 1


MIXED = pd.DataFrame({"size": [1.0, None, 3.0, 4.0] * 20, "town": ["a", "b", None, "a"] * 20, "empty": [None] * 80})


@pytest.mark.parametrize(
    "made",
    [CLASSIFIERS, space(operator("OneHotEncoder", handle_unknown="ignore"), operator("LogisticRegression"))],
    ids=["prepared", "encoded by the space"],
)
def test_the_refitted_pipeline_takes_the_table_and_predicts_the_labels_as_written(made):
    labels = ["yes" if town == "b" else "no" for town in MIXED["town"]]
    objective = DataObjective(made, check_and_encode_labels(make_table(MIXED, labels), "classification"))
    request = wish("LogisticRegression") if made is CLASSIFIERS else Request(Configuration({}))
    assert loss(objective, request) == 0
    pipeline = objective.refit(request.configuration)
    check_is_fitted(pipeline)
    assert pipeline.predict(MIXED).tolist() == labels
    assert list(pipeline.feature_names_in_) == ["size", "town", "empty"]
    assert loss(objective, Request(request.configuration, 20)) >= 0


def test_warnings_of_the_library_stay_in_the_trial():
    objective = DataObjective(CLASSIFIERS, shipped("breast_cancer"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        objective.evaluate(wish("LogisticRegression"))
        objective.refit(wish("LogisticRegression").configuration)
    assert not caught


def test_trials_have_one_thread():
    from threadpoolctl import threadpool_info

    objective = DataObjective(CLASSIFIERS, shipped("iris"))
    seen = []
    object.__setattr__(objective.metric, "loss", lambda *_: seen.extend(threadpool_info()) or 0.5)
    objective.evaluate(wish())
    assert seen
    assert {pool["num_threads"] for pool in seen} == {1}


@pytest.mark.parametrize("test_size", [0, 1, -0.1, 2])
def test_an_impossible_holdout(test_size):
    with pytest.raises(DataError, match="must be between 0 and 1"):
        DataObjective(CLASSIFIERS, shipped("iris"), EvaluationSettings(validation=Holdout(test_size)))


def test_too_few_rows():
    with pytest.raises(DataError, match="has 3 rows; a validation needs at least 4"):
        DataObjective(REGRESSORS, check_and_encode_labels(make_table(np.ones((3, 1)), [1.0, 2.0, 3.0]), "regression"))


def test_a_space_with_an_operator_that_cannot_be_run_is_refused_at_once():
    made: Space = space(stage("scaler", "none", "Mystery"), operator("SVC"))
    with pytest.raises(BuildError, match="Mystery"):
        DataObjective(made, shipped("iris"))


def test_the_kind_of_task_of_these_spaces():
    assert task_kind(CLASSIFIERS.root) == "classification"
    assert task_kind(REGRESSORS.root) == "regression"
