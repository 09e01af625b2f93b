"""Classifiers as values of regressors' parameters and the other way round: refused exactly where the library fails."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils import all_estimators

from spacelang.catalog import CatalogueEntry, load_catalogue

FEATURES, CLASSES = make_classification(60, 5, n_informative=3, random_state=0)
SEVERAL = np.column_stack([CLASSES, 1 - CLASSES])
PARTLY = np.where(np.arange(60) < 20, -1, CLASSES)
"""Classes of which some are unknown."""
ESTIMATORS = dict(all_estimators())
SUBSTITUTES = {"Ridge": Ridge(), "LogisticRegression": LogisticRegression()}

CLASSIFIERS = [
    ("AdaBoostClassifier", "estimator"),
    ("BaggingClassifier", "estimator"),
    ("CalibratedClassifierCV", "estimator"),
    ("ClassifierChain", "estimator"),
    ("FixedThresholdClassifier", "estimator"),
    ("MultiOutputClassifier", "estimator"),
    ("OneVsOneClassifier", "estimator"),
    ("OneVsRestClassifier", "estimator"),
    ("OutputCodeClassifier", "estimator"),
    ("SelfTrainingClassifier", "estimator"),
    ("StackingClassifier", "estimators"),
    ("StackingClassifier", "final_estimator"),
    ("VotingClassifier", "estimators"),
]
REGRESSORS = [
    ("AdaBoostRegressor", "estimator"),
    ("BaggingRegressor", "estimator"),
    ("MultiOutputRegressor", "estimator"),
    ("RegressorChain", "estimator"),
    ("StackingRegressor", "estimators"),
    ("StackingRegressor", "final_estimator"),
    ("TransformedTargetRegressor", "regressor"),
    ("VotingRegressor", "estimators"),
]


def operator(name: str) -> CatalogueEntry:
    found = load_catalogue().get(name)
    assert found is not None
    return found


def fits(name: str, parameter: str, value: BaseEstimator) -> bool:
    several = [("one", value), ("other", value)]
    first = {"estimators": [("one", SUBSTITUTES["LogisticRegression"])]} if name == StackingClassifier.__name__ else {}
    first = {"estimators": [("one", SUBSTITUTES["Ridge"])]} if name == StackingRegressor.__name__ else first
    made = ESTIMATORS[name](**first | {parameter: several if parameter == "estimators" else value})
    is_multiple = "Chain" in name or "MultiOutput" in name
    targets = SEVERAL if is_multiple else PARTLY if name == "SelfTrainingClassifier" else CLASSES
    try:
        made.fit(FEATURES, targets.astype(float) if "Regressor" in name else targets).predict(FEATURES)
    except (TypeError, ValueError, AttributeError, IndexError):
        return False
    return True


@pytest.mark.parametrize("value", SUBSTITUTES)
@pytest.mark.parametrize(("name", "parameter"), [*CLASSIFIERS, *REGRESSORS])
def test_what_is_refused_is_what_fails(name: str, parameter: str, value: str) -> None:
    asking = operator(name)
    refused = asking.check_operator(asking.parameters[parameter], operator(value))
    assert (refused is None) == fits(name, parameter, SUBSTITUTES[value])


def test_the_message_says_of_what_kind() -> None:
    bagging, voting = operator("BaggingClassifier"), operator("VotingRegressor")
    assert bagging.check_operator(bagging.parameters["estimator"], operator("SVR")) == "a classifier"
    assert voting.check_operator(voting.parameters["estimators"], operator("SVC")) == "a regressor"
    assert bagging.check_operator(bagging.parameters["estimator"], operator("MLPClassifier")) is None
