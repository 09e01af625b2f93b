"""What is recorded of trials beside their loss: metrics, training loss, predictions."""

import json
import math
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from handmade import operator, space, stage
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import CLASSIFIERS, FOLDS, NAMES, REGRESSORS, TWO, by_hand, data, made, succeeded, wish
from laws.settings import EXAMPLES
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from storing import header

from spacelang.ir.search_protocol import Problem
from spacelang.ir.task import Bound, BoundedMeasure, ScorerGoal
from spacelang.ir.trial import Request, Status, Trial
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.budget import Budget
from spacelang.runtime.data.labels import check_and_encode_labels
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.errors import MetricError
from spacelang.runtime.evaluation.folds import EvaluationSettings, PreparedFold
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.history import Outcome
from spacelang.runtime.scoring.bound_measures import CachedPredictions
from spacelang.runtime.scoring.metric import (
    POSITIVE_CLASS_SCORERS,
    find_scorer,
    named_metric,
    scorers_depending_on_positive_class,
)
from spacelang.runtime.scoring.pipeline_scorer import FittedFold, PipelineScorer, prediction_array
from spacelang.runtime.scoring.user_functions import Constraint
from spacelang.runtime.search_loop import run
from spacelang.runtime.storage.store import Store


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, EvaluationSettings, Request]:
    name = draw(st.sampled_from([*NAMES]))
    alternatives = (REGRESSORS if name == "numbers" else CLASSIFIERS).root.children[1].branches
    request = wish(
        draw(st.sampled_from([branch.name for branch in alternatives])),
        draw(st.sampled_from(["none", "StandardScaler"])),
        draw(st.sampled_from([None, 30, 90])),
    )
    asked = EvaluationSettings(
        validation=draw(st.sampled_from(FOLDS)),
        seed=draw(st.integers(0, 3)),
        metrics=tuple(draw(st.lists(st.sampled_from(NAMES[name]), unique=True))),
        training_score=draw(st.booleans()),
        predictions=draw(st.booleans()),
    )
    return name, asked, request


@given(cases())
@settings(max_examples=EXAMPLES // 2, deadline=None)
def test_what_is_recorded_is_what_scikit_learn_computes_by_hand(case: tuple[str, EvaluationSettings, Request]) -> None:
    name, asked, request = case
    objective = made(name, asked)
    trial = succeeded(objective.evaluate(request))
    fitted = [(by_hand(objective, request, fold), fold) for fold in objective._folds]
    assert tuple(each for each, _ in trial.metrics) == asked.metrics
    for metric, value in trial.metrics:
        scores = []
        for pipeline, fold in fitted:
            try:
                scores.append(get_scorer(metric)(pipeline, fold.held_out, fold.held_out_target))
            except AttributeError:
                assert metric in ("neg_log_loss", "roc_auc_ovr"), "they need probabilities"
        assert value == pytest.approx(np.mean(scores) if scores else math.nan, nan_ok=True)
    if asked.training_score:
        n = request.fidelity
        losses = [objective.metric.loss(it, fold.training[:n], fold.training_target[:n]) for it, fold in fitted]
        assert trial.training_loss == pytest.approx(np.mean(losses))
    else:
        assert trial.training_loss is None
    if asked.predictions:
        assert trial.predictions.dtype == np.float64
        ways = ("predict_proba" if hasattr(fitted[0][0], "predict_proba") else "predict",)
        expected = np.concatenate([getattr(it, way)(fold.held_out) for it, fold in fitted for way in ways])
        if name != "numbers" and ways == ("predict",):
            expected = np.eye(len(data(name).classes))[expected]
        assert np.array_equal(trial.predictions, expected)
    else:
        assert trial.predictions is None


@given(cases())
@settings(max_examples=EXAMPLES // 3, deadline=None)
def test_what_is_recorded_changes_nothing(case: tuple[str, EvaluationSettings, Request]) -> None:
    name, asked, request = case
    bare = made(name, EvaluationSettings(validation=asked.validation, seed=asked.seed)).evaluate(request)
    full = made(name, asked).evaluate(request)
    assert (full.loss, full.status, full.reason, full.constraints) == (bare.loss, bare.status, bare.reason, ())


def test_what_draws_at_random_while_it_is_recorded_changes_no_later_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folds are fitted one after the other, by whatever numbers come from NumPy's global generator."""
    plain = GaussianNB.fit

    def fit(self, features, target):
        return plain(self, features + np.random.normal(size=features.shape), target)

    def noisy(pipeline, features, target):
        np.random.seed(5)
        return 1.0

    def probabilities(self, features):
        np.random.normal(size=9)
        return np.full((len(features), 3), 1 / 3)

    monkeypatch.setattr(GaussianNB, "fit", fit)
    monkeypatch.setattr(GaussianNB, "predict_proba", probabilities)
    asked = EvaluationSettings(validation=CrossValidation(3))
    losses = {
        made("three", each).evaluate(wish("GaussianNB")).loss
        for each in (
            asked,
            EvaluationSettings(
                validation=CrossValidation(3), metrics=("neg_log_loss",), predictions=True, training_score=True
            ),
            EvaluationSettings(validation=CrossValidation(3), constraints=(Constraint("noise", noisy, 1.0),)),
        )
    }
    assert len(losses) == 1


def test_the_held_out_rows_are_asked_once_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    for question in ("predict_proba", "predict"):
        plain = getattr(GaussianNB, question)

        def counting(self, features, question=question, plain=plain):
            asked[question] += 1
            return plain(self, features)

        monkeypatch.setattr(GaussianNB, question, counting)
    fair = Bound(BoundedMeasure.DISPARITY, 1.0, scorer="accuracy", column="kind")
    frame = data("two").features.assign(kind=["a", "b", "c"] * 189 + ["a", "b"])
    dataset = check_and_encode_labels(make_table(frame, data("two").original_labels), "classification")
    objective = DataObjective(CLASSIFIERS, dataset, EvaluationSettings(metrics=TWO, predictions=True, bounds=(fair,)))
    trial = succeeded(objective.evaluate(wish("GaussianNB")))
    assert asked == {"predict": 1, "predict_proba": 1}
    assert 0 < trial.constraints[0].value < 0.5


def test_a_metric_that_a_pipeline_cannot_have_is_unknown_and_the_trial_is_one() -> None:
    objective = made("two", EvaluationSettings(metrics=("neg_log_loss", "accuracy")))
    trial = succeeded(objective.evaluate(wish("LinearSVC")))
    assert math.isnan(dict(trial.metrics)["neg_log_loss"])
    assert 0.5 < dict(trial.metrics)["accuracy"] <= 1


@pytest.mark.parametrize(
    ("name", "metric", "message"),
    [
        ("two", "acuracy", "unknown metric `acuracy`"),
        ("three", "f1", "cannot be computed for classification with 3 classes"),
        ("three", "r2", "is for regression"),
        ("numbers", "accuracy", "cannot be computed for regression"),
    ],
)
def test_a_metric_that_cannot_be_computed_on_the_data_is_refused_at_once(name: str, metric: str, message: str) -> None:
    with pytest.raises(MetricError, match=message) as caught:
        made(name, EvaluationSettings(metrics=("neg_max_error" if name == "numbers" else "accuracy", metric)))
    assert "did you mean `accuracy`" in caught.value.help or metric != "acuracy"


def test_a_metric_is_recorded_once() -> None:
    trial = made("two", EvaluationSettings(metrics=("accuracy", "f1", "accuracy"))).evaluate(wish("GaussianNB"))
    assert [name for name, _ in trial.metrics] == ["accuracy", "f1"]


def test_a_trial_that_fails_has_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = EvaluationSettings(
        metrics=("r2",), predictions=True, training_score=True, bounds=(Bound(BoundedMeasure.SIZE, 1.0),)
    )
    for effect, status in ((1 / 0.1 * math.inf, Status.INVALID), (ValueError("no"), Status.ERROR)):

        def loss(*_: object, effect=effect) -> float:
            if isinstance(effect, Exception):
                raise effect
            return effect

        objective = made("numbers", asked)
        object.__setattr__(objective.metric, "loss", loss)
        trial = objective.evaluate(wish("Ridge"))
        assert (trial.status, trial.loss) == (status, None)
        assert (trial.metrics, trial.predictions, trial.training_loss, trial.constraints) == ((), None, None, ())


# ---- predictions


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("validation", FOLDS)
def test_the_truth_is_in_the_order_of_the_predictions(name: str, validation: Holdout | CrossValidation) -> None:
    goal = ScorerGoal("maximize", "r2" if name == "numbers" else "accuracy")
    objective = made(name, EvaluationSettings(goal, validation, predictions=True))
    held_out, dataset = objective.held_out_rows, data(name)
    assert np.array_equal(held_out.target, dataset.target.to_numpy()[held_out.rows])
    assert held_out.classes == dataset.classes
    assert len(np.unique(held_out.rows)) == len(held_out.rows) == len(held_out.folds)
    assert (len(held_out.rows) == len(dataset.target)) is isinstance(validation, CrossValidation)
    given_predictions = objective.evaluate(wish("Ridge" if name == "numbers" else "LinearSVC")).predictions
    assert given_predictions.shape == (
        (len(held_out.rows),) if name == "numbers" else (len(held_out.rows), len(held_out.classes))
    )
    losses = []
    for fold in np.unique(held_out.folds):
        mine = held_out.folds == fold
        truth, found = held_out.target[mine], given_predictions[mine]
        score = (
            1 - np.sum((truth - found) ** 2) / np.sum((truth - truth.mean()) ** 2)
            if name == "numbers"
            else np.mean(found.argmax(axis=1) == truth)
        )
        losses.append(1 - score)
    estimator = "Ridge" if name == "numbers" else "LinearSVC"
    assert np.mean(losses) == pytest.approx(objective.evaluate(wish(estimator)).loss)


@pytest.mark.parametrize("model", [GaussianNB(), LogisticRegression(), make_pipeline(GaussianNB())])
def test_a_class_that_was_not_learned_has_no_probability(model) -> None:
    features = np.array([[0.0], [1.0], [2.0], [3.0]])
    model.fit(features, np.array([1, 1, 3, 3]))
    found = prediction_array(CachedPredictions(model, features), 5)
    assert found.shape == (4, 5)
    assert not found[:, [0, 2, 4]].any()
    assert np.array_equal(found[:, [1, 3]], model.predict_proba(features))


def test_predictions_that_cannot_be_had_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self, features):
        raise RuntimeError("no probabilities today")

    monkeypatch.setattr(GaussianNB, "predict_proba", refuse)
    for validation in FOLDS:
        objective = made("three", EvaluationSettings(validation=validation, predictions=True))
        assert succeeded(objective.evaluate(wish("GaussianNB"))).predictions is None


@pytest.mark.parametrize("form", [np.asarray, csr_array, lambda rows: pd.DataFrame(rows, columns=["a", "b", "c"])])
def test_rows_may_be_arrays_tables_or_sparse(form) -> None:
    rng = np.random.default_rng(0)
    target = np.arange(80) % 2
    features = form((rng.random((80, 3)) + target[:, None]) * (rng.random((80, 3)) < 0.8))
    part = (lambda rows: features.iloc[rows]) if isinstance(features, pd.DataFrame) else features.__getitem__
    groups = {"group": (np.arange(0, 15), np.arange(15, 30))}
    fold = PreparedFold(part(slice(0, 50)), target[:50], part(slice(50, 80)), target[50:], groups)
    model = make_pipeline(LogisticRegression()).fit(fold.training, fold.training_target)
    shapes = []

    def seen(pipeline, rows, truth) -> float:
        shapes.append((type(rows), rows.shape, truth.shape))
        return float(np.mean(pipeline.predict(rows) != truth))

    measures = (
        Bound(BoundedMeasure.LATENCY, 1.0),
        Bound(BoundedMeasure.SIZE, 1e6),
        Bound(BoundedMeasure.DISPARITY, 1.0, scorer="roc_auc", column="group"),
    )
    judge = PipelineScorer(
        named_metric("accuracy"),
        measures,
        iter(range(100)).__next__,
        (Constraint("wrong", seen, 1.0),),
        (("roc_auc", find_scorer("roc_auc")),),
        training_score=True,
        classes=2,
    )
    judgement = judge.score(FittedFold(model, model, fold.held_out), fold, 40)
    assert judgement.loss == 1 - model.score(fold.held_out, fold.held_out_target)
    assert judgement.constraints[3] == pytest.approx(judgement.loss)
    assert judgement.training_loss == 1 - model.score(part(slice(0, 40)), target[:40])
    assert np.array_equal(judgement.predictions, model.predict_proba(fold.held_out))
    assert 0 <= judgement.constraints[2] < 1
    assert shapes == [(type(features), (30, 3), (30,))]


@pytest.mark.parametrize("validation", FOLDS)
def test_a_pipeline_that_writes_into_its_rows_spoils_none_of_them(validation: Holdout | CrossValidation) -> None:
    scaler = operator("StandardScaler", copy=False)
    spoiling = space(stage("scaler", scaler, "none"), stage("estimator", "GaussianNB", "LogisticRegression"))
    wishes = [wish(estimator, scaler) for scaler in ("StandardScaler", "none") for estimator in ("GaussianNB",)]
    bounds = (Bound(BoundedMeasure.LATENCY, 1.0), Bound(BoundedMeasure.SIZE, 1e6))
    wrong = Constraint("wrong", lambda pipeline, rows, truth: np.mean(pipeline.predict(rows) != truth), 1.0)
    asked = EvaluationSettings(
        ScorerGoal("maximize", "roc_auc_ovr"), validation, bounds, 0, ("accuracy", "neg_log_loss"), True, True, (wrong,)
    )
    objective = DataObjective(spoiling, data("three"), asked)
    before = [(fold.training.copy(), fold.held_out.copy()) for fold in objective._folds]
    for _ in range(2):
        for request in wishes:
            trial = succeeded(objective.evaluate(request))
            plain = succeeded(made("three", asked).evaluate(request))
            assert trial.loss == plain.loss
            assert (trial.metrics, trial.training_loss) == (plain.metrics, plain.training_loss)
            assert np.array_equal(trial.predictions, plain.predictions)
            assert trial.constraints[2] == plain.constraints[2]
    for fold, (training, held_out) in zip(objective._folds, before, strict=True):
        assert np.array_equal(fold.training, training)
        assert np.array_equal(fold.held_out, held_out)


# ---- in runs


def searched(objective: DataObjective, optimizer: str, trials: int, journal: Store | None = None) -> Outcome:
    """A run with a clock of its own, so that nothing depends on how long things take."""
    chosen = OPTIMIZERS.configure(OPTIMIZERS.load(optimizer), {"b": "20"} if optimizer == "blds" else {})
    search = chosen.search(Problem(objective._space, objective.training_size, np.random.default_rng(0)))
    budget, clock = Budget(trials=trials), count().__next__
    return run(
        search,
        InProcess(objective.evaluate),
        budget,
        clock=clock,
        training_size=objective.training_size,
        journal=journal,
    )


EVERYTHING = {"metrics": TWO, "training_score": True, "predictions": True}


@pytest.mark.parametrize("optimizer", ["blds", "random"])
def test_a_search_asks_for_the_same_whatever_is_recorded(optimizer: str) -> None:
    runs = [searched(made("two", EvaluationSettings(**asked)), optimizer, 12) for asked in ({}, EVERYTHING)]
    bare, full = ([(each.trial.request, each.trial.loss, each.trial.status) for each in it.records] for it in runs)
    assert bare == full
    assert len(bare) == (12 if optimizer == "blds" else 10)


def test_a_run_that_is_killed_goes_on_with_all_that_was_recorded(tmp_path: Path) -> None:
    asked = EvaluationSettings(
        validation=CrossValidation(3), constraints=(Constraint("rows", lambda *_: 1, 2),), **EVERYTHING
    )
    objective = made("two", asked)
    whole = searched(objective, "random", 8)
    facts = header(
        bounds=objective.bounds, training_size=objective.training_size, settings={"metrics": json.dumps(TWO)}
    )
    for trials in (3, 6, 8):
        path = tmp_path / "run.db"
        with Store.open(path, facts) if path.exists() else Store.create(path, facts) as store:
            store.end_session = lambda *_: None  # as if the process had been killed
            outcome = searched(objective, "random", trials, store)
            assert [told(record.trial) for record in outcome.records] == [told(it.trial) for it in whole.records][
                :trials
            ]
            kept = [store.predictions(record.index) for record in whole.records[:trials]]
            for record, found in zip(whole.records, kept, strict=False):
                assert np.array_equal(record.trial.predictions, found)


def told(trial: Trial) -> tuple[object, ...]:
    metrics = tuple((name, repr(value)) for name, value in trial.metrics)
    return trial.request, trial.loss, trial.constraints, metrics, trial.training_loss


@pytest.mark.filterwarnings("ignore")
def test_scores_that_change_where_the_classes_change_places_are_those_of_one_class() -> None:
    """As trials have them: codes 0 and 1, of whatever labels; `neg_brier_score` and the like are of both."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 2))
    target = (features[:, 0] + rng.normal(size=60) > 0.8).astype(int)
    first, second = (LogisticRegression().fit(features, codes) for codes in (target, 1 - target))
    changing = set()
    for name in get_scorer_names():
        try:
            scores = get_scorer(name)(first, features, target), get_scorer(name)(second, features, 1 - target)
        except ValueError:
            continue  # of more outputs than one
        if not math.isclose(*scores, rel_tol=1e-6, abs_tol=1e-9):
            changing.add(name)
    judged = {name for name in changing if "_score_func" in vars(get_scorer(name)) and not is_of_numbers(name)}
    assert judged == POSITIVE_CLASS_SCORERS


def is_of_numbers(name: str) -> bool:
    return vars(get_scorer(name))["_score_func"].__module__.endswith("_regression")


def test_it_is_known_of_which_class_a_score_is() -> None:
    features = pd.DataFrame({"x": range(8)})
    two = check_and_encode_labels(make_table(features, ["no", "yes"] * 4), "classification")
    assert scorers_depending_on_positive_class(("f1", "roc_auc", "f1_macro", "recall", "f1"), two) == ("f1", "recall")
    three = check_and_encode_labels(make_table(features[:6], ["a", "b", "c"] * 2), "classification")
    assert scorers_depending_on_positive_class(("f1",), three) == ()


@pytest.mark.parametrize(("labels", "last"), [(["+", "-"], "-"), (["no", "yes"], "yes"), ([1, 0], 1)])
def test_what_is_judged_recorded_or_bounded_by_one_class_says_which(labels: list[Any], last: object) -> None:
    features = pd.DataFrame({"x": range(60), "group": ["a", "b", "c"] * 20})
    dataset = check_and_encode_labels(make_table(features, labels * 30), "classification")
    bound = Bound(BoundedMeasure.DISPARITY, 0.2, scorer="precision", column="group")
    alone = space(stage("estimator", operator("GaussianNB")))
    goal, metrics, bounded = (
        EvaluationSettings(ScorerGoal("maximize", "f1")),
        EvaluationSettings(metrics=("recall",)),
        EvaluationSettings(bounds=(bound,)),
    )
    for asked, scorer in ((goal, "f1"), (metrics, "recall"), (bounded, "precision")):
        found = DataObjective(alone, dataset, asked).positive_class
        assert found is not None
        assert (found.label, found.scorers, found.json_label) == (last, (scorer,), last)
        assert found.description == f"the positive class of `{scorer}` is `{last}`, the second class in sorted order"
    assert DataObjective(alone, dataset).positive_class is None
