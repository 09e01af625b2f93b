"""What a pipeline says of some rows is computed once, and is to every scorer what the pipeline says."""

import math
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from spacelang.runtime.scoring.bound_measures import PREDICTION_METHODS, CachedPredictions


@pytest.mark.parametrize("question", PREDICTION_METHODS)
def test_answers_are_those_of_the_pipeline(question: str) -> None:
    features = np.random.default_rng(0).normal(size=(60, 3))
    target = np.arange(60) % 3
    model = make_pipeline(LogisticRegression()).fit(features, target)
    answers = CachedPredictions(model, features)
    assert np.array_equal(getattr(answers, question)(features), getattr(model, question)(features))
    assert getattr(answers, question)(features) is getattr(answers, question)(features)
    places = np.array([5, 3, 40])
    assert np.array_equal(getattr(answers.subset(places), question)(None), getattr(model, question)(features[places]))
    inner = answers.subset(places).subset(np.array([2, 0]))
    assert np.array_equal(getattr(inner, question)(None), getattr(model, question)(features[[40, 5]]))


@pytest.mark.takes_turns("classes")
@pytest.mark.parametrize("model", [GaussianNB(), LinearSVC(), Ridge(), LogisticRegression()], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_scorer_says_the_same_of_answers_as_of_the_pipeline(model, classes: int) -> None:
    rng = np.random.default_rng(0)
    target = np.arange(60) % classes
    features = rng.normal(size=(60, 3)) + target[:, None]
    pipeline = make_pipeline(model).fit(features, target)
    answers = CachedPredictions(pipeline, features)
    equal = 0
    for name in get_scorer_names():
        scorer = get_scorer(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = scorer(pipeline, features, target)
            except (ValueError, AttributeError) as error:
                with pytest.raises(type(error)):
                    scorer(answers, None, target)
            else:
                assert scorer(answers, None, target) == expected or math.isnan(expected)
                equal += 1
    assert equal >= 20


def test_answers_have_what_the_pipeline_has() -> None:
    model = make_pipeline(Ridge()).fit(np.eye(3), [1.0, 2.0, 3.0])
    answers = CachedPredictions(model, np.eye(3))
    assert not hasattr(answers, "predict_proba")
    assert answers.n_features_in_ == 3
    assert answers.__sklearn_tags__().estimator_type == "regressor"
