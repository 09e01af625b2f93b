"""Models of trials as answers: they predict what the trial predicted, for the features and the labels of the user."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from judged import CLASSIFIERS, REGRESSORS, data, made, wish
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from spacelang.ir.task import ScorerGoal
from spacelang.ir.trial import Request, Status
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.runtime.data.labels import check_and_encode_labels
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.ensembles.construction import EnsembleMember, make_unfitted_vote
from spacelang.runtime.ensembles.voting import as_fitted_voting_estimator
from spacelang.runtime.evaluation.folds import EvaluationSettings
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.final_fit import LoadTrialModelWork
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.pipelines import PipelineInput
from spacelang.runtime.pipelines.decoding import LabelDecodingClassifier, decode_labels
from spacelang.runtime.trial_models import BestTrialModels, read_models

VALIDATIONS = {"holdout": Holdout(0.3), "folds": CrossValidation(3)}
GOALS = {"two": "accuracy", "three": "accuracy", "numbers": "r2"}


def evaluated(objective: DataObjective, request: Request, models: BestTrialModels) -> tuple[Any, Path]:
    """The trial of a request, and the file of its models."""
    objective.store_models_in(models.folder)
    trial = objective.evaluate(request)
    models.add(TrialRecord(1, trial, 0.0, 1.0))
    found = models.find(trial)
    assert found is not None
    assert found.score_seconds > 0
    return trial, found.path


def model_of(objective: DataObjective, request: Request, path: Path, form: PipelineInput, is_member: bool) -> Any:
    found = objective.evaluate(LoadTrialModelWork(request.configuration, form, str(path), is_member))
    assert found.status is Status.SUCCESS, found.reason
    assert found.value is not None
    return found.value.unpickle()


def predicted(model: Any, features: Any, classes: int) -> Any:
    if not classes:
        return model.predict(features)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(features)
    return np.asarray(model.predict(features))


@pytest.mark.parametrize("validation", VALIDATIONS)
@pytest.mark.parametrize("name", GOALS)
def test_it_predicts_what_the_trial_predicted(name: str, validation: str) -> None:
    asked = EvaluationSettings(ScorerGoal("maximize", GOALS[name]), VALIDATIONS[validation], predictions=True)
    objective = made(name, asked)
    held_out, features, classes = objective.held_out_rows, data(name).features, data(name).classes
    for estimator in ("LogisticRegression", "RidgeClassifier") if classes else ("Ridge", "KNeighborsRegressor"):
        with BestTrialModels(objective.training_size, 5) as models:
            request = wish(estimator, "StandardScaler")
            trial, path = evaluated(objective, request, models)
            for form in (PipelineInput.TABLE, PipelineInput.GIVEN):
                alone = model_of(objective, request, path, form, is_member=False)
                member = model_of(objective, request, path, form, is_member=True)
                rows = features.iloc[held_out.rows]
                if classes:
                    assert set(alone.predict(rows)) <= {*classes}, "the labels of the user"
                    assert tuple(alone.classes_) == classes
                    assert [*member.classes_] == [*range(len(classes))]
                if validation == "folds":
                    each = read_models(path)
                    assert len(each) == 3
                    continue
                if not classes:
                    np.testing.assert_allclose(alone.predict(rows), trial.predictions, rtol=1e-9)
                    np.testing.assert_allclose(member.predict(rows), trial.predictions, rtol=1e-9)
                    continue
                np.testing.assert_allclose(member.predict_proba(rows), trial.predictions, rtol=1e-9)
                codes = trial.predictions.argmax(axis=1)
                assert alone.predict(rows).tolist() == [classes[code] for code in codes]


def test_several_folds_vote() -> None:
    asked = EvaluationSettings(ScorerGoal("maximize", "r2"), CrossValidation(3))
    objective = made("numbers", asked)
    with BestTrialModels(objective.training_size, 5) as models:
        request = wish("Ridge", "StandardScaler")
        _, path = evaluated(objective, request, models)
        found = model_of(objective, request, path, PipelineInput.TABLE, is_member=False)
        each = read_models(path)
    features = data("numbers").features
    rows = features.to_numpy(dtype=float)
    expected = np.mean([model.predict(rows) for model in each], axis=0)
    np.testing.assert_allclose(found.predict(features), expected, rtol=1e-9)


def test_rows_are_prepared_as_for_the_trial() -> None:
    """Missing values and categories reach the model through the preparation of its training rows."""
    rng = np.random.default_rng(0)
    number = rng.normal(size=200)
    table = pd.DataFrame({"number": np.where(rng.random(200) < 0.2, np.nan, number), "word": rng.choice([*"abc"], 200)})
    labels = np.where(number + (table["word"] == "a") > 0.3, "yes", "no")
    dataset = check_and_encode_labels(make_table(table, labels), "classification")
    asked = EvaluationSettings(ScorerGoal("maximize", "roc_auc"), Holdout(0.3), predictions=True)
    objective = DataObjective(CLASSIFIERS, dataset, asked)
    with BestTrialModels(objective.training_size, 5) as models:
        request = wish("LogisticRegression", "StandardScaler")
        trial, path = evaluated(objective, request, models)
        found = model_of(objective, request, path, PipelineInput.GIVEN, is_member=False)
    assert type(found).__name__ == "Pipeline"
    assert isinstance(found[-1], LabelDecodingClassifier)
    rows = table.iloc[objective.held_out_rows.rows]
    np.testing.assert_allclose(found.predict_proba(rows), trial.predictions, rtol=1e-9)
    assert {*found.predict(rows)} <= {"yes", "no"}


def test_a_vote_of_refitted_pipelines_and_models_of_trials_predicts() -> None:
    asked = EvaluationSettings(ScorerGoal("maximize", "accuracy"), Holdout(0.3), predictions=True)
    objective = made("two", asked)
    requests = [wish("LogisticRegression", "StandardScaler"), wish("RidgeClassifier", "StandardScaler")]
    with BestTrialModels(objective.training_size, 5) as models:
        trials = [evaluated(objective, each, models)[0] for each in requests]
        found = models.find(trials[1])
        assert found is not None
        taken = model_of(objective, requests[1], found.path, PipelineInput.TABLE, is_member=True)
    refitted = objective.refit(requests[0].configuration, is_member=True)
    members = [EnsembleMember(TrialRecord(number, trial, 0.0, 1.0), 1) for number, trial in enumerate(trials, start=1)]
    vote = as_fitted_voting_estimator(
        make_unfitted_vote(objective, members), [refitted, taken], objective.held_out_rows.classes
    )
    assert np.mean(vote.predict(data("two").features) == data("two").original_labels) > 0.85


def test_nothing_is_kept_of_a_trial_that_fails_or_of_a_run_without_a_folder() -> None:
    asked = EvaluationSettings(ScorerGoal("maximize", "accuracy"), Holdout(0.3))
    objective = made("two", asked)
    with BestTrialModels(objective.training_size, 5) as models:
        objective.evaluate(wish("GaussianNB"))
        objective.store_models_in(models.folder)
        objective.evaluate(wish("LogisticRegression", fidelity=1))  # a single class
        assert [each.suffix for each in Path(models.folder.path).iterdir()] == [".json"]


def test_the_sizes_are_those_of_the_data() -> None:
    objective = made("three", EvaluationSettings(ScorerGoal("maximize", "accuracy"), CrossValidation(3)))
    sizes = objective.work_sizes
    assert (sizes.rows, sizes.training_size, sizes.folds, sizes.test_rows) == (178, objective.training_size, 3, 0)
    assert sizes.held_out_rows == pytest.approx(178 / 3)
    assert 0 < sizes.loss_seconds.total(1, 1, 178) < 1
    assert sizes.preparation_seconds > 0
    assert REGRESSORS is not CLASSIFIERS


class TestDecodingLabels:
    def test_codes_need_none(self) -> None:
        from sklearn.pipeline import Pipeline

        pipeline = Pipeline([("e", LogisticRegression())])
        assert decode_labels(pipeline, (0, 1, 2)) is pipeline
        assert decode_labels(pipeline, ()) is pipeline
        assert decode_labels(pipeline, (False, True)) is not pipeline

    def test_it_is_an_estimator_of_scikit_learn(self) -> None:
        features, labels = data("two").features.to_numpy(), np.asarray(data("two").original_labels)
        unfitted = LabelDecodingClassifier(RidgeClassifier(), ("grave", "harmless"))
        found = clone(unfitted).fit(features, labels)
        plain = RidgeClassifier().fit(features, labels)
        assert found.predict(features).tolist() == plain.predict(features).tolist()
        np.testing.assert_allclose(found.decision_function(features), plain.decision_function(features))
        assert not hasattr(found, "predict_proba")
        assert found.n_features_in_ == 6
