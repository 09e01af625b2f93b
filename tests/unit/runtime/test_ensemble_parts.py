"""From trials to an ensemble: who comes into question, who is left out, and what the vote predicts."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from handmade import space, stage
from judged import FOLDS, data, made, wish
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Bound, BoundedMeasure, ScorerGoal
from spacelang.ir.trial import Measurement, Request, Status, Trial
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.runtime.ensembles import construction
from spacelang.runtime.ensembles.construction import (
    BestPredictionsStorage,
    EnsembleError,
    EnsembleMember,
    EnsembleSelection,
    NoEligibleTrialError,
    fit_ensemble,
    make_unfitted_vote,
    select_members,
)
from spacelang.runtime.ensembles.one_hot_probability_classifier import OneHotProbabilityClassifier
from spacelang.runtime.ensembles.voting import make_voting_estimator
from spacelang.runtime.evaluation.folds import EvaluationSettings
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.final_fit import FinalWork, RefitWork, SkippedTrial, WorkResult
from spacelang.runtime.history import EndReason, Outcome, TrialRecord

SIZE = Bound(BoundedMeasure.SIZE, 100.0)
NAMES = ("GaussianNB", "LogisticRegression", "DecisionTreeClassifier", "LinearSVC", "RidgeClassifier")
ASKED = EvaluationSettings(goal=ScorerGoal("maximize", "accuracy"), validation=Holdout(0.3), predictions=True)


def outcome(trials: Sequence[Trial]) -> Outcome:
    records = tuple(TrialRecord(number, trial, 0.0, 1.0) for number, trial in enumerate(trials, start=1))
    return Outcome(records, None, None, (), EndReason.BUDGET, 1.0)


def chosen(run: Outcome, objective: DataObjective, size: int) -> EnsembleSelection:
    return select_members(run, objective, lambda number: run.records[number - 1].trial.predictions, size)


def searched(name: str, asked: EvaluationSettings) -> tuple[Outcome, DataObjective]:
    objective = made(name, asked)
    estimators = NAMES if name != "numbers" else ("Ridge", "KNeighborsRegressor")
    wishes = [wish(each, scaler) for each in estimators for scaler in ("none", "StandardScaler")]
    return outcome([objective.evaluate(each) for each in wishes]), objective


def known(objective: DataObjective, loss: float | None, **more: Any) -> Trial:
    """A trial of which everything is made up."""
    rows, classes = len(objective.held_out_rows.target), len(objective.held_out_rows.classes)
    predictions = np.full((rows, classes), 1 / classes)
    options = {"predictions": predictions, "status": Status.ERROR if loss is None else Status.SUCCESS} | more
    return Trial(Request(Configuration({"estimator": "GaussianNB"}), options.pop("rows", None)), loss, **options)


class TestWhoComesIntoQuestion:
    def test_only_who_succeeded_keeps_to_the_bounds_and_had_all_rows(self) -> None:
        objective = made("two", ASKED)
        size = objective.training_size
        trials = [
            known(objective, 0.1, rows=size - 1),
            known(objective, 0.1, constraints=(Measurement(SIZE, 900.0),)),
            known(objective, None),
            known(objective, 0.1, predictions=None),
            known(objective, 0.1, predictions=np.full((3, 2), 0.5)),
            known(objective, 0.1, predictions=np.full((len(objective.held_out_rows.target), 2), np.nan)),
            known(objective, 0.9, rows=size, constraints=(Measurement(SIZE, 9.0),)),
        ]
        found = chosen(outcome(trials), objective, 3)
        assert [(each.record.index, each.votes) for each in found.members] == [(7, 3)]
        assert found.library == 1
        with pytest.raises(EnsembleError, match="no trial within all bounds was trained on all"):
            chosen(outcome(trials[:3]), objective, 3)
        with pytest.raises(NoEligibleTrialError, match="no trial was trained on all"):
            chosen(outcome(trials[:1]), objective, 3)
        with pytest.raises(EnsembleError, match="no pipeline predicts probabilities"):
            chosen(outcome(trials[:6]), objective, 3)

    def test_where_the_metric_is_undefined_there_is_no_ensemble(self) -> None:
        objective = made("two", EvaluationSettings(goal=ScorerGoal("maximize", "roc_auc"), validation=Holdout(0.3)))
        one_class = replace(objective.held_out_rows, target=np.ones_like(objective.held_out_rows.target))
        flat = type("Flat", (), {"held_out_rows": one_class, "metric": objective.metric, "training_size": 9})
        trial = known(objective, 0.5)
        with pytest.raises(EnsembleError, match="the metric `roc_auc` is undefined"):
            select_members(outcome([trial]), flat(), lambda _: trial.predictions, 2)

    def test_it_is_the_best_few_and_no_more_predictions_are_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(construction, "LIBRARY_SIZE", 2)
        objective = made("two", ASKED)
        read: list[int] = []

        def predictions(number: int) -> Any:
            read.append(number)
            return None if number == 4 else trials[number - 1].predictions

        trials = [known(objective, loss) for loss in (0.5, 0.2, 0.3, 0.1, 0.4)]
        found = select_members(outcome(trials), objective, predictions, 2)
        assert read == [4, 2, 3]
        assert found.library == 2
        # Who is equally good is taken in the order of trials.
        assert [each.record.index for each in found.members] == [2]


def test_what_is_forgotten_without_a_store_is_never_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(construction, "LIBRARY_SIZE", 3)
    objective = made("two", ASKED)
    shape = (len(objective.held_out_rows.target), 2)
    rng = np.random.default_rng(0)
    for _ in range(20):
        trials = [
            known(
                objective,
                None if rng.random() < 0.2 else float(rng.integers(4)),
                predictions=None if rng.random() < 0.1 else rng.dirichlet([1, 1], shape[0]),
                rows=3 if rng.random() < 0.2 else None,
                constraints=(Measurement(SIZE, rng.choice([9.0, 900.0], p=[0.8, 0.2])),),
            )
            for _ in range(15)
        ]
        run, journal = outcome(trials), BestPredictionsStorage(objective.training_size)
        for record in run.records:
            journal.append(record)
        assert len(journal.predictions) <= 3
        assert journal.count == 15
        with_all, with_few = chosen(run, objective, 5), select_members(run, objective, journal.predictions.get, 5)
        assert (with_all.members, with_all.models) == (with_few.members, with_few.models)


@pytest.mark.parametrize("split", FOLDS)
@pytest.mark.parametrize(
    ("name", "scorer"), [("two", "roc_auc"), ("two", "neg_log_loss"), ("three", "balanced_accuracy"), ("numbers", "r2")]
)
def test_an_ensemble_of_one_has_exactly_the_loss_of_the_best(split: Any, name: str, scorer: str) -> None:
    asked = EvaluationSettings(goal=ScorerGoal("maximize", scorer), validation=split, predictions=True)
    run, objective = searched(name, asked)
    # Who gives no probabilities is judged otherwise by metrics that want these.
    probable = [each.trial for each in run.records if "SVC" not in str(each.trial.request.configuration["estimator"])]
    run = outcome([each for each in probable if each.request.configuration["estimator"] != "RidgeClassifier"])
    found = chosen(run, objective, 1)
    losses = [each.trial.loss for each in run.records]
    assert found.loss_of(found.members) == min(losses)
    assert found.members[0].record.index == losses.index(min(losses)) + 1
    assert chosen(run, objective, 9).models.order[:1] == found.models.order


@pytest.mark.parametrize("name", ["two", "three", "numbers"])
def test_the_fitted_vote_is_the_one_that_fit_makes(name: str) -> None:
    scorer = "r2" if name == "numbers" else "balanced_accuracy"
    asked = EvaluationSettings(goal=ScorerGoal("maximize", scorer), validation=CrossValidation(3), predictions=True)
    run, objective = searched(name, asked)
    choice = chosen(run, objective, 12)
    found = fit_ensemble(choice, run, objective, InProcess(objective.evaluate), is_wanted=True)
    assert math.isclose(sum(found.weights), 1)
    assert [each.votes for each in found.members] == [*choice.models.votes.values()]
    assert all(each.seconds > 0 for each in found.members)
    assert found.seconds == pytest.approx(sum(each.seconds for each in found.members))
    assert found.loss == pytest.approx(choice.models.loss, abs=1e-12)
    features, labels = objective.dataset.features, objective.dataset.original_labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = clone(found.estimator).fit(features, labels)
    method = "predict" if name == "numbers" else "predict_proba"
    np.testing.assert_array_equal(getattr(found.estimator, method)(features), getattr(again, method)(features))
    np.testing.assert_array_equal(found.estimator.predict(features), again.predict(features))
    assert set(vars(again)) == set(vars(found.estimator))
    by_hand = [getattr(each, method)(features) for each in found.estimator.estimators_]
    mean = sum(weight * each for weight, each in zip(found.weights, by_hand, strict=True))
    np.testing.assert_allclose(getattr(again, method)(features), mean, atol=1e-12)


class TestWhoCannotBeFitted:
    def failing(
        self, objective: DataObjective, *numbers: int, of: Outcome
    ) -> Callable[[FinalWork[Any]], WorkResult[Any]]:
        bad = [of.records[number - 1].trial.request.configuration for number in numbers]

        def evaluate(work: FinalWork[Any]) -> WorkResult[Any]:
            if isinstance(work, RefitWork) and work.configuration in bad:
                return work.make_failed(Status.CRASH, "signal 11", 0.5)
            return objective.evaluate(work)

        return evaluate

    def test_is_left_out_and_the_others_share_the_votes(self) -> None:
        run, objective = searched("three", ASKED)
        members = tuple(EnsembleMember(run.records[number - 1], votes) for number, votes in ((1, 2), (3, 1), (5, 1)))
        choice = EnsembleSelection(members, chosen(run, objective, 4).models, 10, lambda some: float(len(some)))
        found = fit_ensemble(
            choice,
            run,
            objective,
            InProcess(self.failing(objective, 1, of=run)),
            is_wanted=True,
        )
        assert [each.record.index for each in found.members] == [3, 5]
        assert found.weights == (0.5, 0.5)
        assert found.left_out == (SkippedTrial(run.records[0], Status.CRASH, "signal 11"),)
        assert found.loss == 2.0
        assert found.seconds > 0.5
        assert [name for name, _ in found.estimator.estimators] == ["trial_3", "trial_5"]

    def test_where_nobody_can_there_is_no_estimator(self) -> None:
        run, objective = searched("two", ASKED)
        choice = chosen(run, objective, 2)
        every = range(1, len(run.records) + 1)
        found = fit_ensemble(choice, run, objective, InProcess(self.failing(objective, *every, of=run)), is_wanted=True)
        assert (found.members, found.estimator, found.loss, found.weights) == ((), None, None, ())
        assert len(found.left_out) == len(choice.members)


class TestAVote:
    def test_of_a_classifier_without_probabilities(self) -> None:
        features, labels = data("three").features, data("three").target
        hard = OneHotProbabilityClassifier(RidgeClassifier()).fit(features, labels)
        np.testing.assert_array_equal(hard.predict_proba(features).argmax(axis=1), hard.predict(features))
        np.testing.assert_array_equal(hard.predict_proba(features).sum(axis=1), 1)
        assert hard.n_features_in_ == features.shape[1]
        assert clone(hard).estimator.alpha == 1.0

    def test_has_weights_only_where_they_differ(self) -> None:
        members = {"a": RidgeClassifier(), "b": RidgeClassifier()}
        assert make_voting_estimator(members, [1, 1], is_classifier=True).weights is None
        assert make_voting_estimator(members, [2, 1], is_classifier=False).weights == [2, 1]

    def test_wraps_only_who_gives_no_probabilities(self) -> None:
        spaces = space(stage("estimator", "LinearSVC", "GaussianNB"))
        objective = DataObjective(spaces, data("two"), ASKED)
        run = outcome([objective.evaluate(Request(Configuration({"estimator": each}))) for each in NAMES[:1]])
        assert not isinstance(
            make_unfitted_vote(objective, [EnsembleMember(run.records[0], 1)]).estimators[0][1],
            OneHotProbabilityClassifier,
        )
        svc = objective.make_member(Configuration({"estimator": "LinearSVC"}))
        assert isinstance(svc, OneHotProbabilityClassifier)
