"""A space as an estimator: scikit-learn's own searches over the dictionaries of the target `sklearn`."""

from typing import Any

import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_score

import spacelang as sl
from spacelang.runtime.pipelines.estimator import SpaceEstimator
from spacelang.testing.small_spaces import plain_space

TEXT = """space flowers
stage scaler = none | StandardScaler | RobustScaler { q_min : float[0.05, 0.3] = 0.25, q_max = 0.75 }
stage estimator =
  | DecisionTreeClassifier { max_depth : int[1, 5] = 3, criterion : {gini, entropy} = gini }
  | KNeighborsClassifier { n_neighbors : int[1, 9] step 2 = 5 }
"""


def searched(space: sl.Space, search: type, dictionaries: Any, **options: Any) -> Any:
    features, labels = load_iris(return_X_y=True)
    estimator = SpaceEstimator(space.checked, random_state=0)
    return search(estimator, dictionaries, cv=2, error_score="raise", **options).fit(features, labels)


@pytest.mark.parametrize("most", [2000, 1])
def test_a_random_search_finds_a_configuration(most: int) -> None:
    space = sl.parse(TEXT)
    compiled = space.compile("sklearn", most=most)
    assert compiled.form.is_joint == (most == 1)
    found = searched(space, RandomizedSearchCV, compiled.form.native, n_iter=4, random_state=0)
    assert compiled.decode(found.best_params_) in space
    assert found.best_score_ > 0.5
    assert found.best_estimator_.pipeline_.named_steps.keys() <= {"scaler", "estimator"}
    assert found.predict_proba(load_iris().data).shape == (150, 3)


def test_a_grid_search_goes_through_all_of_a_small_space() -> None:
    space = sl.parse("space s\nstage estimator = DecisionTreeClassifier { max_depth : int[1, 3] = 2 } | GaussianNB\n")
    compiled = space.compile("sklearn", search="grid")
    found = searched(space, GridSearchCV, compiled.form.native)
    tried = [compiled.decode(parameters) for parameters in found.cv_results_["params"]]
    assert len(tried) == len(set(tried)) == space.configurations == 4
    assert all(configuration in space for configuration in tried)


def test_it_is_what_its_last_stage_is() -> None:
    assert is_classifier(SpaceEstimator(sl.parse(TEXT).checked))
    assert is_regressor(SpaceEstimator(sl.parse("space s\nstage estimator = Ridge | Lasso\n").checked))
    neither = SpaceEstimator(plain_space(2, 2))
    assert not is_classifier(neither)
    assert not is_regressor(neither)


def test_a_copy_shares_the_space_and_not_the_configuration() -> None:
    space = sl.parse(TEXT)
    estimator = SpaceEstimator(space.checked).set_params(**space.sample(1)[0])
    copy = clone(estimator)
    assert copy.space is space.checked
    assert copy.configuration == estimator.configuration
    assert copy.configuration is not estimator.configuration


def test_without_a_configuration_it_is_the_default() -> None:
    features, labels = load_iris(return_X_y=True)
    space = sl.parse(TEXT)
    scores = cross_val_score(SpaceEstimator(space.checked, random_state=0), features, labels, cv=2)
    again = cross_val_score(space.build(space.default(), random_state=0), features, labels, cv=2)
    assert scores.tolist() == again.tolist()


def test_what_is_no_member_is_not_built() -> None:
    with pytest.raises(ValueError, match="max_depth"):
        SpaceEstimator(sl.parse(TEXT).checked, {"scaler": "none", "estimator": "DecisionTreeClassifier"}).build()


def test_a_stage_may_be_called_like_a_parameter() -> None:
    space = sl.parse("space s\nstage space = GaussianNB | BernoulliNB\n")
    estimator = SpaceEstimator(space.checked).set_params(space="BernoulliNB", random_state=3)
    assert estimator.space is space.checked
    assert estimator.random_state == 3
    assert type(estimator.build()[-1]).__name__ == "BernoulliNB"
