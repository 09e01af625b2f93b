"""`SpaceSearchCV`: a search as an estimator of scikit-learn."""

import os
import pickle
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris, make_regression
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GroupKFold,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

import spacelang as sl

IS_FULL = bool(os.environ.get("SPACELANG_FULL"))
TEXT = """space flowers
stage scaler = none | StandardScaler
stage estimator =
  | GaussianNB
  | DecisionTreeClassifier { max_depth : int[1, 5] = 3, criterion : {gini, entropy} = gini }
"""
REGRESSION = "space r\nstage model = Ridge { alpha : float[0.1, 10] log = 1 } | DecisionTreeRegressor\n"
FEATURES, LABELS = load_iris(return_X_y=True)
FOLDS = StratifiedKFold(2, shuffle=True, random_state=0)


def searching(text: str = TEXT, **told: Any) -> sl.SpaceSearchCV:
    return sl.SpaceSearchCV(sl.parse(text), **{"trials": 4, "cv": FOLDS, "random_state": 0, **told})


def spaces(folder: Path) -> Iterator[Path | sl.Space]:
    """A path and what it leads to: in a space caches fill, which are no change of a parameter."""
    path = folder / "mine.space"
    path.write_text(TEXT, encoding="utf-8")
    yield sl.load(path)
    if IS_FULL:
        yield path
        yield sl.parse(REGRESSION)


@pytest.mark.filterwarnings("ignore")
def test_it_passes_the_checks_of_scikit_learn(tmp_path: Path) -> None:
    """All of them: none is excepted (that of the array API is skipped by itself where SciPy does not have it on)."""
    for space in spaces(tmp_path):
        search = sl.SpaceSearchCV(space, trials=1, cv=2, random_state=0)
        checks = [check for _, check in estimator_checks_generator(search)]
        assert len(checks) > 40
        for place, check in enumerate(checks):
            if IS_FULL or place % 2:
                with suppress(SkipTest):
                    check(search)


@pytest.mark.parametrize(
    ("text", "takes"),
    [(TEXT, False), (REGRESSION, True), ("abstract valve { a : float[0, 1] } stage part = valve", False)],
)
def test_it_takes_sparse_features_where_its_default_pipeline_does(text: str, takes: bool) -> None:
    assert get_tags(searching(text)).input_tags.sparse is takes


def test_it_has_what_searches_of_scikit_learn_have() -> None:
    found = searching(return_train_score=True).fit(FEATURES, LABELS)
    space = sl.parse(TEXT)
    other = RandomizedSearchCV(
        space.estimator(), space.compile("sklearn").form.native, n_iter=4, cv=2, return_train_score=True
    ).fit(FEATURES, LABELS)
    fixed = {name for name in other.cv_results_ if not name.startswith("param_")}
    assert fixed | {"n_resources"} == {name for name in found.cv_results_ if not name.startswith("param_")}
    attributes = {name for name in vars(other) if name.endswith("_") and name != "feature_names_in_"}
    assert attributes <= {*vars(found)}
    assert not {name for name in vars(found) if name.startswith("_run")}
    assert is_classifier(found)
    assert is_regressor(searching(REGRESSION))
    assert type(found.best_estimator_) is Pipeline
    assert found.n_features_in_ == 4
    assert found.predict_proba(FEATURES).shape == (150, 3)
    assert found.score(FEATURES, LABELS) == accuracy_score(LABELS, found.predict(FEATURES))


def test_trials_are_members_and_scores_those_of_a_cross_validation() -> None:
    space = sl.parse(TEXT)
    found = searching(optimizer="random", trials=8).fit(FEATURES, LABELS)
    assert len(found.cv_results_["params"]) == 8
    for parameters, score in zip(found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True):
        assert parameters in space
        by_hand = cross_val_score(space.build(parameters, random_state=0), FEATURES, LABELS, cv=FOLDS)
        assert score == pytest.approx(by_hand.mean(), abs=1e-12)
    assert found.best_score_ == found.cv_results_["mean_test_score"].max()


def test_it_is_repeated_and_copied_and_pickled() -> None:
    search = searching()
    found, again = clone(search).fit(FEATURES, LABELS), search.fit(FEATURES, LABELS)
    assert found.cv_results_["params"] == again.cv_results_["params"]
    assert clone(search).space is search.space
    sent = pickle.loads(pickle.dumps(found))
    assert sent.predict(FEATURES).tolist() == found.predict(FEATURES).tolist()


def test_it_stands_where_estimators_stand() -> None:
    scores = cross_val_score(searching(trials=2, cv=2), FEATURES, LABELS, cv=2)
    assert (scores > 0.5).all()
    table = pd.DataFrame(FEATURES, columns=list("abcd"))
    whole = make_pipeline(StandardScaler(), searching(trials=2)).set_output(transform="pandas").fit(table, LABELS)
    assert whole[-1].best_estimator_.feature_names_in_.tolist() == list("abcd")


def test_tables_are_prepared_as_in_a_search() -> None:
    table = pd.DataFrame(FEATURES[:, :2], columns=["width", "length"])
    table["colour"] = np.where(LABELS == 0, "red", "blue")
    table.loc[3, "width"] = np.nan
    words = np.array(["a", "b", "c"])[LABELS]
    found = searching(trials=2).fit(table, words)
    assert {*found.predict(table)} <= {"a", "b", "c"}
    assert found.feature_names_in_.tolist() == ["width", "length", "colour"]


def test_it_knows_the_columns_that_it_was_given_as_others_do() -> None:
    for kind, names in ((float, list("abcd")), (int, list("abcd")), (float, [0, 1, 2, 3])):
        table = pd.DataFrame(FEATURES * 10, columns=names).astype(kind)
        found, other = (each.fit(table, LABELS) for each in (searching(trials=1), StandardScaler()))
        told = [getattr(each, "feature_names_in_", np.empty(0)).tolist() for each in (found, other)]
        assert told[0] == told[1]


def test_several_jobs_are_several_trials_at_a_time() -> None:
    with parallel_config(backend="threading"):
        found = searching(optimizer="random", trials=5, n_jobs=4).fit(FEATURES, LABELS)
    alone = searching(optimizer="random", trials=5).fit(FEATURES, LABELS)
    assert found.cv_results_["params"] == alone.cv_results_["params"]


def test_optimizers_that_begin_on_few_rows_are_judged_on_all() -> None:
    told = {"optimizer": "hyperband", "optimizer_options": {"b": 20}, "trials": 12}
    found = searching(**told).fit(FEATURES, LABELS)
    rows = found.cv_results_["n_resources"]
    assert len({*rows}) > 1
    assert rows[found.best_index_] == rows.max() == 75


def test_the_scores_that_are_searched() -> None:
    several = {"kept": "accuracy", "other": "balanced_accuracy"}
    found = searching(scoring=several, refit="other").fit(FEATURES, LABELS)
    assert found.best_score_ == found.cv_results_["mean_test_other"].max()
    with pytest.raises(ValueError, match="refit"):
        searching(scoring=several, refit=False).fit(FEATURES, LABELS)
    called = searching(scoring=make_scorer(accuracy_score)).fit(FEATURES, LABELS)
    named = searching(scoring="accuracy").fit(FEATURES, LABELS)
    assert called.best_score_ == pytest.approx(named.best_score_)


def test_scoring_and_splits_are_as_the_task_says() -> None:
    task = f"{TEXT}task {{ classify minimize 1 - f1_macro validate cv(3) }}\n"
    with pytest.raises(sl.SpaceError):
        sl.parse(task)
    said = searching(f"{TEXT}task classification {{\n  maximize f1_macro\n  validate cv(3)\n}}\n", cv=None, trials=2)
    found = said.fit(FEATURES, LABELS)
    assert found.n_splits_ == 3
    assert found.scorer_._score_func.__name__ == "f1_score"


def test_weights_of_rows_reach_the_last_step() -> None:
    only = "space s\nstage estimator = GaussianNB\n"
    weights = (LABELS < 2).astype(float) + 1e-12
    found = searching(only, trials=1).fit(FEATURES, LABELS, sample_weight=weights)
    assert found.best_estimator_[-1].class_prior_[2] < 1e-9
    with config_context(enable_metadata_routing=True):
        routed = searching(only, trials=1).fit(FEATURES, LABELS, sample_weight=weights)
    assert routed.best_estimator_[-1].class_prior_.tolist() == found.best_estimator_[-1].class_prior_.tolist()


def test_what_takes_no_weights_is_named() -> None:
    weights = np.ones(len(LABELS))
    near = "space s\nstage estimator = KNeighborsClassifier\n"
    named = (
        "`KNeighborsClassifier` does not support sample weights, so omit `sample_weight`, "
        "or remove operators without sample weights from the space"
    )
    for routed in (False, True):
        with config_context(enable_metadata_routing=routed), pytest.raises(ValueError, match="trials failed") as raised:
            searching(near, trials=1).fit(FEATURES, LABELS, sample_weight=weights)
        assert str(raised.value) == f"1 of 1 trials failed: {named}"
    with pytest.raises(TypeError, match="does not support sample weights"):
        searching(near, trials=1, error_score="raise").fit(FEATURES, LABELS, sample_weight=weights)
    some = "space s\nstage estimator = KNeighborsClassifier | GaussianNB | LinearDiscriminantAnalysis\n"
    several = "`KNeighborsClassifier`, `LinearDiscriminantAnalysis` do not support sample weights, so"
    with pytest.warns(FitFailedWarning, match=f"^2 of 3 trials failed: {several}"):
        found = searching(some, optimizer="enumerate", trials=3).fit(FEATURES, LABELS, sample_weight=weights)
    assert found.best_params_ == {"estimator": "GaussianNB"}
    mixed = some.replace("stage", "stage reducer = none | PCA { n_components : {99} }\nstage")
    reason = f"^5 of 6 trials failed: 4 of them as {several}.*; use `error_score='raise'`"
    with pytest.warns(FitFailedWarning, match=reason):
        searching(mixed, optimizer="enumerate", trials=6).fit(FEATURES, LABELS, sample_weight=weights)


def test_weights_reach_the_last_step_behind_others_that_take_weights() -> None:
    """Scalers do: with routing each such step were to ask for them or not, and nobody can tell those of a space."""
    scaled = "space s\nstage scaler = StandardScaler\nstage estimator = DecisionTreeClassifier\n"
    weights = (LABELS < 2).astype(float) + 1e-12
    found = searching(scaled, trials=1).fit(FEATURES, LABELS, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        routed = searching(scaled, trials=1).fit(FEATURES, LABELS, sample_weight=weights)
        scores = cross_val_score(searching(scaled, trials=1), FEATURES, LABELS, cv=2, params={"sample_weight": weights})
    assert routed.best_score_ == found.best_score_
    assert np.isfinite(scores).all()


def test_groups_reach_the_splits() -> None:
    groups = np.arange(150) % 5
    assert searching(cv=GroupKFold(5), trials=1).fit(FEATURES, LABELS, groups=groups).n_splits_ == 5


FAILING = "space s\nstage scaler = none\nstage estimator = KNeighborsClassifier { n_neighbors : {3, 1000} = 3 }\n"


def test_trials_that_fail_are_counted() -> None:
    with pytest.warns(FitFailedWarning, match="1 of 2 trials failed"):
        found = searching(FAILING, trials=2).fit(FEATURES, LABELS)
    assert found.best_params_["estimator.n_neighbors"] == 3
    assert np.isnan(found.cv_results_["mean_test_score"]).sum() == 1
    with pytest.raises(ValueError, match="n_neighbors"):
        searching(FAILING, trials=2, error_score="raise").fit(FEATURES, LABELS)
    words = np.array(["no", "yes"])[LABELS[:100] % 2]
    with pytest.raises(
        ValueError, match="1 of 1 trials failed; the default pipeline: pos_label=1 is not a valid label"
    ):
        searching(trials=1, scoring="f1").fit(FEATURES[:100], words)
    with pytest.raises(ValueError, match=r"1 of 1 trials failed; the default pipeline: .*150"):
        searching("stage e = GaussianNB\n", trials=1).fit(FEATURES, LABELS, sample_weight=[1.0])
    with pytest.raises(ValueError, match="Input y contains NaN: 2 rows have no label"):
        searching(trials=1).fit(FEATURES[:5], ["no", None, "yes", None, "no"])
    with pytest.raises(ValueError, match="1 of 1 trials failed"):
        searching(FAILING.replace("{3, 1000} = 3", "{1000} = 1000"), trials=1).fit(FEATURES, LABELS)


def test_what_no_search_can_begin_with_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="y"):
        searching().fit(FEATURES)
    with pytest.raises(ValueError, match="pickled_size"):
        searching(f"{TEXT}task classification {{\n  subject to pickled_size <= 1MB\n}}\n").fit(FEATURES, LABELS)
    features, target = make_regression(40, 3, random_state=0)
    with pytest.raises(ValueError, match=r"classes|continuous"):
        searching().fit(features, target)


def test_the_time_ends_it() -> None:
    found = searching(optimizer="random", trials=None, time=0.5).fit(FEATURES, LABELS)
    assert len(found.cv_results_["params"]) > 0


def test_equal_seeds_give_equal_scores_with_an_encoder_that_shuffles() -> None:
    table = pd.DataFrame({"letter": np.random.default_rng(0).choice(list("abcdef"), len(LABELS))})
    text = "pipeline = columns(categorical: TargetEncoder) -> DecisionTreeClassifier { max_depth : int[1, 9] }\n"
    first, second = (searching(text, trials=2).fit(table, LABELS).cv_results_["mean_test_score"] for _ in range(2))
    assert (first == second).all()
