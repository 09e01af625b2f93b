"""Operators of other packages in pipelines: what the runtime sets, samplers, labels, and the pipeline as code."""

from typing import Any

import imblearn.ensemble
import numpy as np
import pandas as pd
import pytest
import sklearn.calibration
import sklearn.ensemble
import sklearn.linear_model
import sklearn.multiclass
from handmade import sequence, stage
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import Pipeline as ResamplingPipeline
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import AdaBoostClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted
from xgboost import XGBClassifier, XGBRegressor

import spacelang as sl
from spacelang.catalog import packages
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Grid
from spacelang.ir.space import Hyperparameter, Node, Operator, Space
from spacelang.ir.trial import Request, Status
from spacelang.report.code_writer import pipeline_module_source
from spacelang.runtime.data.labels import check_and_encode_labels
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.errors import BuildError
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.pipelines.build import (
    LABEL_ENCODING_CLASSIFIERS,
    NO_NUMERIC_TEXTS,
    WEIGHTING_CLASSIFIERS,
    adapt_to_labels,
    build_pipeline,
    is_vote_of_one_classifier,
)
from spacelang.runtime.pipelines.catalogue_access import (
    load_catalogue,
    runtime_arguments,
    undeprecated_parameters,
)
from spacelang.runtime.pipelines.columns import flatten_for_resampling, pipeline_class


def of(package: str, name: str, **fixed: Any) -> Operator:
    return Operator(name, package, (), tuple(fixed.items()))


def space(*steps: Node) -> Space:
    return Space("packages", sequence(*steps))


XGBOOST = of("xgboost", "XGBClassifier", n_estimators=3)
LIGHTGBM = of("lightgbm", "LGBMClassifier", n_estimators=3, min_child_samples=1)
SAMPLER = of("imblearn", "SMOTE", k_neighbors=2)
SCALER = of("sklearn", "StandardScaler")


# ---- what the runtime sets


@pytest.mark.parametrize(
    ("operator", "given"),
    [
        (XGBOOST, {"n_jobs": 1, "random_state": 5, "verbosity": 0}),
        (LIGHTGBM, {"n_jobs": 1, "random_state": 5, "verbosity": -1}),
        (SAMPLER, {"random_state": 5}),
        (of("sklearn", "RandomForestClassifier"), {"n_jobs": 1, "random_state": 5}),
        (of("sklearn", "LogisticRegression"), {"random_state": 5}),
        (of("own_estimators", "Doubler"), {"n_jobs": 1}),
    ],
    ids=lambda value: value.name if isinstance(value, Operator) else "",
)
def test_what_the_runtime_sets(operator: Operator, given: dict[str, Any]) -> None:
    assert runtime_arguments(operator, n_jobs=1, random_state=5) == given
    assert not runtime_arguments(operator, n_jobs=None, random_state=None).keys() & {"n_jobs", "random_state"}


def test_parameters_that_a_constructor_hands_on_can_be_set() -> None:
    assert {"max_depth", "objective", "n_jobs"} <= undeprecated_parameters("xgboost", "XGBClassifier")


def test_a_package_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "installed_version", lambda _: None)
    with pytest.raises(BuildError) as caught:
        load_catalogue("xgboost")
    assert (str(caught.value), caught.value.help) == (
        "the package `xgboost` is not installed",
        '`pip install "spacelang[xgboost]"`',
    )
    with pytest.raises(BuildError, match="cannot read the operators of `json`"):
        load_catalogue("json")


# ---- pipelines that change the rows


def test_only_samplers_need_another_pipeline() -> None:
    plain = [("scaler", StandardScaler()), ("inner", Pipeline([("pca", PCA())])), ("last", LogisticRegression())]
    assert (pipeline_class(plain), flatten_for_resampling(plain)) == (Pipeline, plain)
    steps = [*plain[:-1], ("sampler", SMOTE()), plain[-1]]
    assert pipeline_class(steps) is ResamplingPipeline
    assert [name for name, _ in flatten_for_resampling(steps)] == ["scaler", "pca", "sampler", "last"]


def test_pipelines_within_pipelines_dissolve_but_the_last() -> None:
    inner = Pipeline([("scaler", StandardScaler()), ("deep", Pipeline([("pca", PCA())]))])
    resampling = ResamplingPipeline([("inner", PCA()), ("sampler", SMOTE())])
    last = Pipeline([("scaler", StandardScaler()), ("model", LogisticRegression())])
    steps = flatten_for_resampling([("inner", inner), ("resampling", resampling), ("last", last)])
    assert [name for name, _ in steps] == ["scaler", "pca", "inner", "sampler", "last"]
    assert steps[-1][1] is last


def test_a_sampler_among_the_steps() -> None:
    features, labels = load_breast_cancer(return_X_y=True)
    stages = (stage("scaler", SCALER), stage("sampler", "none", SAMPLER), stage("estimator", XGBOOST))
    chosen = {"scaler": "StandardScaler", "estimator": "XGBClassifier"}
    sampled = build_pipeline(space(*stages), Configuration(chosen | {"sampler": "SMOTE"}), random_state=1)
    assert type(sampled) is ResamplingPipeline
    assert [*sampled.named_steps] == ["scaler", "sampler", "estimator"]
    assert sampled["sampler"].random_state == 1
    assert sampled.fit(features, labels).score(features, labels) > 0.9
    plain = build_pipeline(space(*stages), Configuration(chosen | {"sampler": "none"}))
    assert type(plain) is Pipeline


# ---- labels


@pytest.mark.parametrize("labels", [["no", "yes"], [1, 2], [-1, 1], [False, True], [0.0, 1.0]])
def test_labels_of_any_kind(labels: list[Any]) -> None:
    features, codes = load_breast_cancer(return_X_y=True)
    wanted = np.asarray(labels)[codes]
    pipeline = adapt_to_labels(build_pipeline(space(SCALER, XGBOOST), Configuration({})), tuple(labels))
    assert is_vote_of_one_classifier(pipeline[-1])
    pipeline.fit(features, wanted)
    assert list(pipeline.classes_) == labels
    assert pipeline.predict(features).dtype == wanted.dtype
    assert pipeline.score(features, wanted) > 0.9
    alone = build_pipeline(space(SCALER, XGBOOST), Configuration({})).fit(features, codes)
    assert np.array_equal(pipeline.predict(features), np.asarray(labels)[alone.predict(features)])
    assert np.array_equal(pipeline.predict_proba(features), alone.predict_proba(features))


def test_codes_are_left_as_they_are() -> None:
    pipeline = build_pipeline(space(SCALER, XGBOOST), Configuration({}))
    assert isinstance(adapt_to_labels(pipeline, (0, 1))[-1], XGBClassifier)


def test_only_classifiers_of_codes_vote() -> None:
    plain = build_pipeline(space(SCALER, LIGHTGBM), Configuration({}))
    assert isinstance(adapt_to_labels(plain, ("a", "b"))[-1], LGBMClassifier)
    nested = Pipeline([("scaler", StandardScaler()), ("inner", Pipeline([("model", XGBClassifier())]))])
    assert is_vote_of_one_classifier(adapt_to_labels(nested, ("a", "b"))["inner"]["model"])
    assert isinstance(adapt_to_labels(Pipeline([("model", XGBRegressor())]), ())[-1], XGBRegressor)


def few_cancers() -> tuple[Any, Any]:
    features, codes = load_breast_cancer(return_X_y=True)
    return features[:150, :6], codes[:150]


@pytest.mark.parametrize("name", sorted(LABEL_ENCODING_CLASSIFIERS))
def test_classifiers_that_code_the_labels_of_those_inside(name: str) -> None:
    features, codes = few_cancers()
    labels = np.asarray(["no", "yes"])[codes]
    package = imblearn.ensemble if hasattr(imblearn.ensemble, name) else sklearn.ensemble
    kind = getattr(package if hasattr(package, name) else sklearn.multiclass, name)
    booster = XGBClassifier(n_estimators=2, min_child_weight=0, n_jobs=1)
    within: Any = AdaBoostClassifier(booster, n_estimators=2) if name == "EasyEnsembleClassifier" else booster
    of_several = name in {"VotingClassifier", "StackingClassifier"}
    made = kind(estimators=[("a", booster), ("b", booster)]) if of_several else kind(estimator=within)
    assert adapt_to_labels(Pipeline([("e", made)]), ("no", "yes"))[-1] is made
    assert set(made.fit(features, labels).predict(features)) <= {"no", "yes"}


@pytest.mark.parametrize("name", sorted(WEIGHTING_CLASSIFIERS))
def test_classifiers_that_give_weights_vote_themselves(name: str) -> None:
    features, codes = few_cancers()
    labels, weights = np.asarray(["no", "yes"])[codes], np.where(features[:, 0] > 14, 9.0, 0.1)
    packages = (sklearn.ensemble, sklearn.calibration, imblearn.ensemble)
    kind = next(getattr(package, name) for package in packages if hasattr(package, name))
    booster = XGBClassifier(n_estimators=2, min_child_weight=0, n_jobs=1)
    made = kind(booster) if name == "CalibratedClassifierCV" else kind(booster, n_estimators=3, random_state=0)
    voting = adapt_to_labels(Pipeline([("e", clone(made))]), ("no", "yes")).fit(
        features, labels, e__sample_weight=weights
    )
    assert is_vote_of_one_classifier(voting[-1])
    alone = made.fit(features, codes, sample_weight=weights)
    assert np.array_equal(voting.predict_proba(features), alone.predict_proba(features))


@pytest.mark.filterwarnings("ignore:y contains no unlabeled samples")
@pytest.mark.parametrize(
    "classifier",
    [*(LabelPropagation(), LabelSpreading()), *map(SelfTrainingClassifier, (GaussianNB(), LinearSVC()))],
    ids=str,
)
@pytest.mark.parametrize("labels", [(-1, 1), ("no", "yes")], ids=str)
def test_minus_one_is_a_label_for_classifiers_that_take_rows_without_labels(classifier: Any, labels: Any) -> None:
    features, codes = few_cancers()
    pipeline = Pipeline([("s", StandardScaler()), ("e", clone(classifier))])
    adapt_to_labels(pipeline, labels).fit(features, np.asarray(labels)[codes])
    assert tuple(pipeline.classes_) == labels
    alone = Pipeline([("s", StandardScaler()), ("e", classifier)]).fit(features, codes)
    assert np.array_equal(pipeline.predict(features), np.asarray(labels)[alone.predict(features)])
    assert hasattr(pipeline, "predict_proba") == hasattr(alone, "predict_proba")
    if hasattr(alone, "predict_proba"):
        assert np.array_equal(pipeline.predict_proba(features), alone.predict_proba(features))


@pytest.mark.parametrize("name", sorted(NO_NUMERIC_TEXTS))
def test_classifiers_that_weight_classes_learn_labels_that_are_numeric_texts(name: str) -> None:
    features, codes = few_cancers()
    labels = np.asarray(["-1", "1"], dtype=object)[codes]
    packages = (sklearn.ensemble, sklearn.linear_model, imblearn.ensemble)
    kind = next(getattr(package, name) for package in packages if hasattr(package, name))
    regression = {"l1_ratios": (0.0,), "use_legacy_attributes": False, "scoring": "accuracy", "Cs": 2, "max_iter": 5000}
    quick: dict[str, Any] = regression if name == "LogisticRegressionCV" else {"n_estimators": 2}
    made = kind(class_weight="balanced", random_state=0, **quick)
    with pytest.raises(ValueError, match=r"not in class_weight|class_weight dict"):
        clone(made).fit(features, labels)  # once this works, the library has no need of a vote
    voting = adapt_to_labels(Pipeline([("e", clone(made))]), ("-1", "1")).fit(features, labels)
    assert is_vote_of_one_classifier(voting[-1])
    assert np.array_equal(voting.predict(features) == "1", made.fit(features, codes).predict(features) == 1)
    for labels_alone in (("no", "yes"), (-1, 1)):
        assert adapt_to_labels(Pipeline([("e", made)]), labels_alone)[-1] is made
    unweighted = kind(class_weight=None, **quick)
    assert adapt_to_labels(Pipeline([("e", unweighted)]), ("-1", "1"))[-1] is unweighted


def test_a_search_ends_with_a_forest_that_weights_classes_named_by_numbers() -> None:
    features, codes = few_cancers()
    text = "stage e = RandomForestClassifier { class_weight = balanced, n_estimators = 5 }"
    result = sl.search(sl.parse(text), features, np.asarray(["0", "1"])[codes], trials=1, workers=0, validate="cv(2)")
    assert set(result.best_pipeline.predict(features)) == {"0", "1"}


@pytest.mark.parametrize("getter", ["auto", "feature_importances_"])
def test_a_selector_finds_importances_through_the_vote(getter: str) -> None:
    features, codes = few_cancers()
    selector = SelectFromModel(XGBClassifier(n_estimators=2, n_jobs=1), importance_getter=getter)
    pipeline = Pipeline([("s", selector), ("e", LogisticRegression())])
    alone = clone(selector).fit(features, codes)
    adapt_to_labels(pipeline, ("no", "yes")).fit(features, np.asarray(["no", "yes"])[codes])
    assert np.array_equal(pipeline["s"].get_support(), alone.get_support())


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    features = pd.DataFrame({"a": rng.random(120), "b[1] <x>": rng.random(120), "c": ["u", "v"] * 60})
    features.loc[3, "a"] = np.nan
    return features


@pytest.mark.parametrize("operator", [XGBOOST, LIGHTGBM], ids=lambda operator: operator.name)
def test_a_run_with_words_as_labels(operator: Operator, capfd: pytest.CaptureFixture[str]) -> None:
    features = table()
    labels = np.where(features["a"].fillna(0) > 0.7, "yes", "no")
    dataset = check_and_encode_labels(make_table(features, labels), "classification")
    objective = DataObjective(space(SAMPLER, stage("estimator", operator)), dataset)
    chosen = Configuration({"estimator": operator.name})
    trial = objective.evaluate(Request(chosen))
    assert trial.status is Status.SUCCESS, trial.reason
    assert trial.loss is not None
    assert trial.loss < 0.5
    fitted = objective.refit(chosen)
    check_is_fitted(fitted)
    assert set(fitted.predict(features)) == {"yes", "no"}
    assert capfd.readouterr() == ("", "")


# ---- the pipeline as code


def executed(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(text, names)
    return names["pipeline"]


def test_code() -> None:
    depth = Hyperparameter("max_depth", "estimator.max_depth", "estimator.max_depth", Grid(1, 9), 6)
    booster = Operator("XGBClassifier", "xgboost", (depth,), (("learning_rate", 0.5),))
    made = space(SCALER, SAMPLER, stage("estimator", booster))
    chosen = Configuration({"estimator": "XGBClassifier", "estimator.max_depth": 4})
    text = pipeline_module_source(build_pipeline(made, chosen, random_state=3, n_jobs=None))
    assert text.splitlines() == [
        "from imblearn.over_sampling import SMOTE",
        "from imblearn.pipeline import Pipeline",
        "from sklearn.preprocessing import StandardScaler",
        "from xgboost import XGBClassifier",
        "",
        "# The classes must be 0, 1, … for XGBClassifier: encode other labels with a LabelEncoder.",
        "pipeline = Pipeline([",
        '    ("standardscaler", StandardScaler()),',
        '    ("smote", SMOTE(random_state=3, k_neighbors=2)),',
        "    (",
        '        "estimator",',
        "        XGBClassifier(learning_rate=0.5, max_depth=4, random_state=3, verbosity=0),",
        "    ),",
        "])",
    ]
    assert repr(executed(text)) == repr(build_pipeline(made, chosen, random_state=3, n_jobs=None))


def test_code_of_a_constructor_that_takes_additions() -> None:
    text = pipeline_module_source(build_pipeline(space(LIGHTGBM), Configuration({}), n_jobs=None))
    assert "LGBMClassifier(n_estimators=3, min_child_samples=1, verbosity=-1)" in text
    assert isinstance(executed(text)[-1], LGBMClassifier)
