from typing import Any

import numpy as np
import pandas as pd
import pytest
from handmade import among, branch, hyperparameter, operator, sequence, side_by_side, space, stage
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.feature_selection import chi2, f_classif
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import TargetEncoder
from sklearn.tree import DecisionTreeClassifier

import spacelang as sl
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real, Union
from spacelang.ir.space import CatalogueObject, Choice, Space
from spacelang.report.pipeline_module import builder_code
from spacelang.runtime.errors import BuildError
from spacelang.runtime.pipelines.build import build_pipeline
from spacelang.runtime.pipelines.preparation import plan_preparation
from spacelang.runtime.random_state import preserve_global_random_state


def built(made: Space, random_state: int | None = None, **values: object) -> Pipeline:
    configuration = Configuration({key.replace("__", "."): value for key, value in values.items()})
    return build_pipeline(made, configuration, random_state=random_state)


SELECTOR = stage(
    "selector",
    "none",
    operator("SelectPercentile", among("selector.score_func", "f_classif", named=("f_classif", "chi2"))),
)
FOREST = operator(
    "RandomForestClassifier",
    hyperparameter("estimator.max_depth", Union((Categorical((None,)), Grid(2, 50)))),
    hyperparameter("estimator.max_features", Real(0.0, 1.0, lower_open=True)),
    n_estimators=7,
)
MADE = space(stage("scaler", "none", "StandardScaler"), SELECTOR, stage("estimator", FOREST, "SVC"))


def test_steps_have_the_names_of_the_stages_and_the_values_of_the_configuration():
    pipeline = built(MADE, 3, scaler="StandardScaler", selector="SelectPercentile", selector__score_func="f_classif",
                     estimator="RandomForestClassifier", estimator__max_depth=5, estimator__max_features=1)  # fmt: skip
    assert list(pipeline.named_steps) == ["scaler", "selector", "estimator"]
    assert pipeline["selector"].score_func is f_classif
    forest = pipeline["estimator"]
    assert (forest.max_depth, forest.max_features, forest.n_estimators) == (5, 1.0, 7)
    assert type(forest.max_features) is float, "1 would be one feature, 1.0 is all of them"
    assert (forest.random_state, forest.n_jobs) == (3, 1)


def test_a_stage_that_takes_none_is_left_out_and_an_inactive_parameter_has_the_default():
    pipeline = built(
        MADE, scaler="none", selector="none", estimator="RandomForestClassifier", estimator__max_depth=None
    )
    assert isinstance(pipeline, Pipeline)
    assert list(pipeline.named_steps) == ["estimator"]
    assert (pipeline["estimator"].max_depth, pipeline["estimator"].max_features) == (None, "sqrt")
    assert pipeline["estimator"].random_state is None


def test_nested_decisions_and_fixed_operators_are_built_with_the_random_state():
    nested = stage(
        "estimator.estimator",
        operator("DecisionTreeClassifier", hyperparameter("estimator.estimator.max_depth", Grid(1, 9))),
        "GaussianNB",
    )
    made = space(stage("estimator", operator("AdaBoostClassifier", nested)))
    values = {
        "estimator": "AdaBoostClassifier",
        "estimator.estimator": "DecisionTreeClassifier",
        "estimator.estimator.max_depth": 3,
    }
    boost = build_pipeline(made, Configuration(values), random_state=8)["estimator"]
    assert repr(boost) == repr(AdaBoostClassifier(DecisionTreeClassifier(max_depth=3, random_state=8), random_state=8))
    fixed = operator("BaggingClassifier", estimator=operator("DecisionTreeClassifier", max_depth=2, random_state=1))
    bagging = built(space(fixed), 8)["baggingclassifier"]
    tree = DecisionTreeClassifier(max_depth=2, random_state=1)
    assert repr(bagging) == repr(BaggingClassifier(tree, n_jobs=1, random_state=8))


def test_a_value_beside_operators_in_a_nested_decision():
    value = hyperparameter("estimator.init.value", Categorical(("zero",)))
    nested = stage("estimator.init", "none", "DummyClassifier", value)
    made = space(stage("estimator", operator("GradientBoostingClassifier", nested)))
    taken = {"estimator": "GradientBoostingClassifier", "estimator.init": "none"}
    assert build_pipeline(made, Configuration(taken))["estimator"].init is None
    taken = {"estimator": "GradientBoostingClassifier", "estimator.init": "structure", "estimator.init.value": "zero"}
    assert build_pipeline(made, Configuration(taken))["estimator"].init == "zero"


def test_fixed_functions_and_lists():
    pipeline = built(space(operator("SelectKBest", score_func=CatalogueObject("chi2"), k=3), operator("GaussianNB")))
    assert pipeline["selectkbest"].score_func is chi2


SCALER = operator(
    "RobustScaler",
    hyperparameter("scaler.q_min", Real(0.001, 0.3)),
    hyperparameter("scaler.q_max", Real(0.7, 0.999)),
)


@pytest.mark.parametrize(
    ("values", "composed"),
    [
        ({"scaler.q_min": 0.1, "scaler.q_max": 0.9}, (10.0, 90.0)),
        ({"scaler.q_min": 0.1}, (10.0, 75.0)),
        ({"scaler.q_max": 0.999}, (25.0, 99.9)),
        ({}, (25.0, 75.0)),
    ],
)
def test_parts_make_the_parameter_of_the_library_and_a_missing_part_has_its_default(values, composed):
    configuration = Configuration({"scaler": "RobustScaler", **values})
    scaler = build_pipeline(space(stage("scaler", SCALER), operator("SVC")), configuration)["scaler"]
    assert scaler.quantile_range == composed
    assert scaler.fit([[float(row)] for row in range(9)]).scale_[0] > 0


def test_fixed_parts_and_a_fixed_whole():
    pipeline = built(space(operator("RobustScaler", q_min=0), operator("SVC")))
    assert pipeline["robustscaler"].quantile_range == (0.0, 75.0)
    pipeline = built(space(operator("RobustScaler", quantile_range=(5.0, 95.0)), operator("SVC")))
    assert pipeline["robustscaler"].quantile_range == (5.0, 95.0)


def test_a_whole_and_a_part_of_it_are_not_both_taken():
    both = operator("RobustScaler", quantile_range=(5.0, 95.0), q_max=0.9)
    with pytest.raises(BuildError, match="both as a tuple and by its elements"):
        built(space(both, operator("SVC")))


def test_what_the_library_warns_about_is_not_set():
    pipeline = built(space(operator("TargetEncoder"), operator("LogisticRegression")), 3)
    assert pipeline["targetencoder"].random_state == "deprecated"
    assert pipeline["logisticregression"].n_jobs is None
    assert pipeline["logisticregression"].random_state == 3


def test_names_are_made_apart_and_legal():
    made = space(operator("PCA"), stage("memory", "PCA"), operator("PCA"), stage("a__b", "PCA"), operator("SVC"))
    pipeline = build_pipeline(made, Configuration({"memory": "PCA", "a__b": "PCA"}))
    assert list(pipeline.named_steps) == ["pca", "memory_", "pca_2", "a_b", "svc"]
    pipeline.fit(np.random.default_rng(0).normal(size=(20, 3)), [0, 1] * 10)


def test_structures_within_an_alternative():
    both = sequence(operator("StandardScaler"), operator("PCA"))
    made = space(stage("first", both, "none"), sequence(operator("MinMaxScaler")), operator("SVC"))
    pipeline = built(made, first="structure")
    assert [type(step).__name__ for _, step in pipeline.steps] == ["Pipeline", "MinMaxScaler", "SVC"]
    assert list(pipeline["first"].named_steps) == ["standardscaler", "pca"]


@pytest.mark.parametrize(
    ("reducer", "names"), [("PCA", ["reducer", "selectkbest", "pipeline"]), ("none", ["selectkbest", "pipeline"])]
)
def test_parts_side_by_side(reducer, names):
    longer = sequence(operator("StandardScaler"), operator("PCA"))
    made = space(side_by_side(stage("reducer", "none", "PCA"), operator("SelectKBest"), longer), operator("SVC"))
    union = built(made, reducer=reducer)["featureunion"]
    assert isinstance(union, FeatureUnion)
    assert [name for name, _ in union.transformer_list] == names


def test_a_union_of_which_all_is_left_out_is_left_out():
    made = space(side_by_side(stage("a", "none", "PCA"), stage("b", "none", "PCA")), operator("SVC"))
    assert list(built(made, a="none", b="none").named_steps) == ["svc"]


def test_the_preparation_comes_first():
    frame = pd.DataFrame({"a": ["x", "y"] * 3, "b": range(6)})
    made = space(operator("SVC"))
    pipeline = build_pipeline(made, Configuration({}), preparation=plan_preparation(made, frame))
    assert list(pipeline.named_steps) == ["preparation", "svc"]
    assert pipeline.fit(frame, [0, 1] * 3).predict(frame).tolist() == [0, 1] * 3


@pytest.mark.parametrize(
    ("made", "values", "message"),
    [
        (MADE, {}, "has no value for `scaler`"),
        (MADE, {"scaler": "Scaler"}, "`Scaler` is not an alternative of `scaler`"),
        (MADE, {"scaler": 3}, "`3` is not an alternative of `scaler`"),
        (
            space(stage("estimator", FOREST)),
            {"estimator": "RandomForestClassifier", "estimator.max_depth": 51},
            "not `51`",
        ),
        (space(stage("estimator", "none")), {"estimator": "none"}, "every step of the pipeline is left out"),
        (space(operator("Mystery")), {}, "`Mystery` is not in the catalogue `sklearn`"),
        (space(operator("SVC", kernel=CatalogueObject("nothing"))), {}, "the catalogue does not list `nothing`"),
        (space(among("a", 1)), {"a": 1}, "is a hyperparameter where a step should be"),
    ],
)
def test_what_cannot_be_built(made, values, message):
    with pytest.raises(BuildError) as caught:
        build_pipeline(made, Configuration(values))
    assert message in caught.value.message


def test_a_decision_in_a_decision():
    inner = Choice("inner", "inner", "inner", (branch("PCA"), branch("none")))
    made = space(stage("outer", inner, "none"), operator("SVC"))
    assert list(built(made, outer="structure", inner="PCA").named_steps) == ["outer", "svc"]
    assert list(built(made, outer="structure", inner="none").named_steps) == ["svc"]


@pytest.mark.parametrize(
    ("last", "labels"), [("LogisticRegression", np.tile([0, 1, 1], 20)), ("Ridge", np.arange(60) / 7)]
)
@pytest.mark.parametrize("folds", [{}, {"cv": 3}, {"cv": None}])
def test_seeded_folds_of_the_target_encoder_are_those_that_scikit_learn_would_draw(last, labels, folds):
    """LAW: a seed makes the encoding repeatable, and equal to that of the library with the global generator's seed."""
    column = np.random.default_rng(0).choice(list("abcd"), (60, 1))
    encoder = built(space(operator("TargetEncoder", **folds), operator(last)), 3)["targetencoder"]
    with preserve_global_random_state():
        np.random.seed(3)
        wanted = TargetEncoder(**folds).fit_transform(column, labels)
        for _ in range(2):
            assert (encoder.fit_transform(column, labels) == wanted).all()


def test_folds_of_the_target_encoder_without_a_seed_or_with_a_shuffling_of_their_own_are_left_alone():
    assert built(space(operator("TargetEncoder"), operator("SVC")))["targetencoder"].cv == 5
    assert built(space(operator("TargetEncoder", shuffle=False), operator("SVC")), 3)["targetencoder"].cv == 5


@pytest.mark.parametrize("last", ["GaussianNB", "Ridge"])
def test_modules_seed_the_folds_of_the_target_encoder_as_the_builder_does(last):
    made = sl.parse(
        "pipeline = columns(numeric: SimpleImputer, categorical: "
        f"TargetEncoder {{ cv : {{none}} | int[2, 9] = 4 }}) -> {last}\n"
    )
    names: dict[str, Any] = {}
    code = builder_code(made.checked)
    exec(f"{code.imports}\n{code.functions}", names)
    table = pd.DataFrame({"a": list("xyz") * 6, "b": np.arange(18.0)})
    for configuration, seed in ((made.default(), 3), (made.default(), None), ({"TargetEncoder.cv": None}, 3)):
        ours, theirs = (build(configuration, random_state=seed) for build in (made.build, names["build"]))
        first, second = (each[0].fit(table, np.tile([0, 1], 9)).named_transformers_ for each in (ours, theirs))
        assert repr(first["categorical"]) == repr(second["categorical"])
