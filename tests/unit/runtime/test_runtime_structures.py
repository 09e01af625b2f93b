"""Structures become scikit-learn's own objects, and these fit."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder

import spacelang as sl
from spacelang.runtime.errors import DataError
from spacelang.runtime.pipelines.build import build_pipeline
from spacelang.runtime.pipelines.columns import EachColumn
from spacelang.runtime.pipelines.preparation import plan_preparation
from spacelang.solver.defaults import default_configuration

STAGES = "stage scaler = none | StandardScaler | MinMaxScaler\nstage estimator = LogisticRegression | GaussianNB\n"


def table(rows: int = 240) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    target = pd.Series(rng.integers(2, size=rows))
    number = rng.normal(size=rows) + target
    words = ["good" if value else "bad" for value in target]
    features = pd.DataFrame(
        {
            "x1": number,
            "x2": rng.normal(size=rows),
            "town": rng.choice(["a", "b", "c"], rows),
            "note": [f"a {word} day in {place}" for place, word in enumerate(words)],
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(99, size=rows), unit="D"),
        }
    )
    return features, target


def built(text: str, **values: Any) -> Pipeline:
    space = sl.parse(text)
    configuration = {**space.default(), **{key.replace("__", "."): value for key, value in values.items()}}
    return space.build(configuration, random_state=0)


def test_side_by_side_is_a_feature_union_without_the_parts_that_are_left_out() -> None:
    text = STAGES + "pipeline = (scaler & PCA { n_components = 1 }) -> estimator"
    features = table()[0][["x1", "x2"]]
    both = built(text, scaler="MinMaxScaler")
    assert isinstance(both[0], FeatureUnion)
    assert [name for name, _ in both[0].transformer_list] == ["scaler", "pca"]
    assert both[0].fit_transform(features).shape == (240, 3)
    alone = built(text, scaler="none")
    assert [name for name, _ in alone[0].transformer_list] == ["pca"]


def test_a_union_of_which_nothing_is_left_is_left_out() -> None:
    pipeline = built(STAGES + "pipeline = (scaler & PCA?) -> estimator")
    assert list(pipeline.named_steps) == ["estimator"]


def test_columns_are_a_column_transformer() -> None:
    features, target = table()
    text = STAGES + "pipeline = columns(numeric: scaler, categorical: OneHotEncoder) -> estimator"
    pipeline = built(text, scaler="StandardScaler", estimator="LogisticRegression")
    assert isinstance(pipeline[0], ColumnTransformer)
    chosen = features[["x1", "x2", "town"]]
    assert pipeline.fit(chosen, target).score(chosen, target) > 0.6
    assert pipeline[0].transform(chosen).shape == (240, 5)
    assert {name: columns for name, _, columns in pipeline[0].transformers_ if name != "remainder"} == {
        "numeric": ["x1", "x2"],
        "categorical": ["town"],
    }


def test_a_part_that_is_left_out_passes_its_columns_and_what_no_part_selects_is_dropped() -> None:
    features, target = table()
    pipeline = built(STAGES + 'pipeline = columns("^x1$": none) -> estimator').fit(features, target)
    assert np.array_equal(pipeline[0].transform(features)[:, 0], features["x1"])
    assert pipeline[0].transform(features).shape == (240, 1)


def test_the_rest_is_what_no_other_part_selects() -> None:
    features = table()[0][["x1", "x2", "town"]]
    pipeline = built(STAGES + 'pipeline = columns("x1": StandardScaler, rest: OneHotEncoder) -> estimator')
    assert pipeline[0].fit(features).get_feature_names_out().tolist()[:1] == ["pattern__x1"]
    assert len(pipeline[0].transformers_[-1][2]) == 2


def test_all_columns_may_go_through_several_parts() -> None:
    features = table()[0][["x1", "x2"]]
    pipeline = built(STAGES + "pipeline = columns(numeric: StandardScaler, all: none) -> estimator")
    assert pipeline[0].fit_transform(features).shape == (240, 4)


def test_every_column_of_text_has_a_reader_of_its_own() -> None:
    features, target = table()
    features["second"] = features["note"] + " again"
    text = STAGES + "pipeline = columns(text: TfidfVectorizer, categorical: OneHotEncoder) -> LogisticRegression"
    pipeline = sl.parse(text).build({}, random_state=0).fit(features, target)
    assert pipeline.score(features, target) > 0.95
    reader = pipeline[0].named_transformers_["text"]
    assert isinstance(reader, EachColumn)
    assert len(reader.transformers_) == 2
    assert pipeline[0].transformers_[1][2] == ["town"], "text is no category where it has a selector of its own"


@pytest.mark.parametrize("selector", ["text", '"^note$"'])
def test_text_may_be_missing(selector: str) -> None:
    features, target = table()
    features.loc[3, "note"] = None
    text = f"pipeline = columns({selector}: TfidfVectorizer -> TruncatedSVD) -> LogisticRegression"
    pipeline = sl.parse(text).build({}, random_state=0)
    assert len(pipeline.fit(features, target).predict(features)) == 240


def test_of_a_known_table_every_column_of_text_is_an_entry() -> None:
    features, _ = table()
    features["second"] = features["note"].where(features["x1"] > -1)
    text = "pipeline = columns(text: TfidfVectorizer, categorical: OneHotEncoder) -> LogisticRegression"
    space = sl.parse(text).checked
    pipeline = build_pipeline(space, default_configuration(space), preparation=plan_preparation(space, features))
    entries = [(name, type(part), columns) for name, part, columns in pipeline[0].transformers]
    assert entries == [
        ("text", TfidfVectorizer, "note"),
        ("text_2", Pipeline, ["second"]),
        ("categorical", OneHotEncoder, ["town"]),
    ]
    filled = pipeline[0].transformers[1][1].fit(features[["second"]])
    alone = TfidfVectorizer().fit_transform(features["second"].fillna(""))
    assert np.allclose(filled.transform(features[["second"]]).toarray(), alone.toarray())


@pytest.mark.parametrize("is_known", [True, False])
def test_what_reads_text_may_take_the_rest(is_known: bool) -> None:
    features, target = table()
    space = sl.parse('pipeline = columns("x|day": none, rest: TfidfVectorizer -> TruncatedSVD) -> LogisticRegression')
    chosen = features.drop(columns=["town", "day"]).assign(tale=features["note"])
    preparation = plan_preparation(space.checked, chosen) if is_known else None
    pipeline = build_pipeline(space.checked, default_configuration(space.checked), preparation=preparation).fit(
        chosen, target
    )
    assert pipeline[0].transform(chosen).shape == (240, 2 + 2 * 2)


def test_of_columns_within_columns_only_those_are_known_that_come_there() -> None:
    features, _ = table()
    space = sl.parse(
        'pipeline = columns("^[a-n]": columns(text: TfidfVectorizer), numeric: none) -> LogisticRegression'
    )
    features["tale"] = features["note"]
    pipeline = build_pipeline(
        space.checked, default_configuration(space.checked), preparation=plan_preparation(space.checked, features)
    )
    assert [columns for _, _, columns in pipeline[0].transformers[0][1].transformers] == ["note"]


def test_a_permutation_has_its_steps_in_the_order_of_the_configuration() -> None:
    text = STAGES + "pipeline = permute(scaler, PCA, VarianceThreshold) -> estimator"
    pipeline = built(text, order="VarianceThreshold, PCA, scaler", scaler="MinMaxScaler")
    assert list(pipeline.named_steps) == ["variancethreshold", "pca", "scaler", "estimator"]


def test_a_structure_as_a_value_is_a_pipeline() -> None:
    text = "stage e = BaggingClassifier { estimator : (StandardScaler -> SVC { C : float[1, 2] = 2 }) | GaussianNB }"
    bagging = built(text)["e"]
    assert isinstance(bagging, BaggingClassifier)
    assert isinstance(bagging.estimator, Pipeline)
    assert bagging.estimator[-1].C == 2.0


def test_a_stage_that_is_used_twice_is_two_steps() -> None:
    text = STAGES + "pipeline = scaler -> PCA -> scaler -> estimator"
    pipeline = built(text, scaler="MinMaxScaler", scaler_2="StandardScaler")
    assert [type(step).__name__ for step in pipeline] == ["MinMaxScaler", "PCA", "StandardScaler", "LogisticRegression"]


@pytest.mark.parametrize(
    ("pipeline", "encoded"),
    [
        ("scaler -> estimator", True),
        ("columns(numeric: scaler, categorical: OneHotEncoder) -> estimator", False),
        ("columns(numeric: scaler) -> estimator", False),
        ("columns(numeric: scaler, rest: none) -> estimator", True),
    ],
)
def test_what_is_selected_by_columns_is_not_encoded_before(pipeline: str, encoded: bool) -> None:
    features = table()[0][["x1", "x2", "town"]]
    space = sl.parse(STAGES + f"pipeline = {pipeline}" if "scaler" in pipeline else pipeline)
    preparation = plan_preparation(space.checked, features)
    assert bool(preparation.encoded) == encoded
    assert preparation.takes_dataframe == ("columns" in pipeline)


@pytest.mark.usefixtures("quick_zygotes")
def test_a_search_runs_on_columns() -> None:
    features, target = table()
    text = (
        STAGES + "pipeline = columns(numeric: scaler, categorical: OneHotEncoder, text: TfidfVectorizer) -> estimator"
    )
    space = sl.parse(text.replace("| GaussianNB", ""))
    result = sl.search(space, features.drop(columns="day"), target, optimizer="random", trials=4)
    assert result.loss is not None
    assert result.loss < 0.1
    assert len(result.best_pipeline.predict(features.drop(columns="day"))) == 240


@pytest.mark.usefixtures("quick_zygotes")
def test_dates_are_taken_where_a_part_selects_them() -> None:
    features, target = table()
    encoder = "OrdinalEncoder { handle_unknown = use_encoded_value, unknown_value = -1 }"
    text = f"pipeline = columns(datetime: {encoder}, numeric: none) -> LogisticRegression"
    with pytest.warns(UserWarning, match="`day` holds dates"):
        result = sl.search(sl.parse(text), features[["x1", "day"]], target, optimizer="random", trials=1)
    assert result.loss is not None


def test_estimators_side_by_side_are_the_list_of_an_ensemble() -> None:
    three = "(GaussianNB & (StandardScaler -> SVC) & SVC)"
    text = f"stage e = VotingClassifier {{ estimators : {three} as three | (GaussianNB & SVC) as two }}"
    ensemble = built(text)[0]
    assert [name for name, _ in ensemble.estimators] == ["gaussiannb", "pipeline", "svc"]
    features, target = table()
    assert ensemble.fit(features[["x1", "x2"]], target).score(features[["x1", "x2"]], target) > 0.5
    assert [name for name, _ in built(text, e__estimators="two")[0].estimators] == ["gaussiannb", "svc"]


def test_each_column_is_prepared_by_the_parts_that_take_it() -> None:
    features = table()[0].drop(columns=["note", "day"])
    features.loc[3, ["x1", "town"]] = None
    features["x3"] = features["x1"]
    parts = '"^x1$": SimpleImputer -> scaler, "town": OneHotEncoder, rest: scaler & PCA, datetime: none'
    preparation = plan_preparation(sl.parse(f"{STAGES}pipeline = columns({parts}) -> estimator").checked, features)
    # `x1` is imputed and `town` encoded by the space; nobody takes care of what is missing in `x3`.
    assert preparation.imputed == ("x3",)
    assert preparation.encoded == ()
    assert preparation.takes_dataframe


def test_what_an_order_of_steps_does_with_missing_values() -> None:
    features = table()[0][["x1", "x2"]].copy()
    features.loc[3, "x1"] = None
    for first, imputed in (("StandardScaler", ()), ("PCA", ("x1",))):
        text = f"pipeline = permute({first}, SimpleImputer) -> LogisticRegression"
        assert plan_preparation(sl.parse(text).checked, features).imputed == imputed


@pytest.mark.full
@pytest.mark.parametrize("column", [pytest.param("day", marks=pytest.mark.full), "mixture", "endless"])
def test_of_a_column_that_no_part_selects_nothing_is_asked(column: str) -> None:
    features, target = table()
    features["mixture"] = ["a", 1] * 120
    features["endless"] = np.inf
    space = sl.parse(
        'pipeline = columns("^(x1|town)$": OneHotEncoder { handle_unknown = ignore }) -> LogisticRegression'
    )
    chosen = features[["x1", "town", column]]
    assert sl.search(space, chosen, target, optimizer="random", trials=1).loss is not None
    with pytest.raises(DataError, match=column):
        plan_preparation(sl.parse("pipeline = columns(rest: OneHotEncoder) -> LogisticRegression").checked, chosen)


@pytest.mark.parametrize("dtype", ["string", "boolean"])
def test_missing_values_that_scikit_learn_does_not_take(dtype: str) -> None:
    values = pd.array(["a", None, "b"] if dtype == "string" else [True, None, False], dtype=dtype)
    features = pd.DataFrame({"x": [1.0, 2.0, 3.0], "words": values})
    with pytest.raises(DataError, match=r"marks missing values by `pd\.NA`"):
        plan_preparation(sl.parse("stage e = LogisticRegression").checked, features)
    assert not plan_preparation(
        sl.parse("pipeline = columns(numeric: none) -> LogisticRegression").checked, features
    ).imputed
