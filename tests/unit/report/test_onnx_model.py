"""ONNX models predict what their pipelines predict, or are refused with the step that is not covered."""

from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from spacelang.report import onnx_export as onnx
from spacelang.runtime.errors import BuildError, InputError

ROWS = 300


def table() -> tuple[pd.DataFrame, Any, Any]:
    """Numbers of several sizes with gaps, a count, text; labels and numbers to predict."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(ROWS, 3)) * [1e-2, 1.0, 1e3]
    numbers[rng.random((ROWS, 3)) < 0.1] = np.nan
    made = pd.DataFrame(numbers, columns=["a b", "c", "d"]).assign(count=rng.integers(0, 9, ROWS))
    made["town"] = rng.choice(["Rome", "Oslo", "Köln"], ROWS)
    wanted = np.nan_to_num(numbers).sum(axis=1) + 300 * (made["town"] == "Rome")
    return made, np.where(wanted > 0, "yes", "no"), wanted.to_numpy()


def prepared(last: Any, *steps: tuple[str, Any]) -> Pipeline:
    """A pipeline for the whole table."""
    parts = [("numbers", SimpleImputer(), ["a b", "c", "d", "count"]), ("words", OneHotEncoder(), ["town"])]
    return Pipeline([("parts", ColumnTransformer(parts)), *steps, ("last", last)])


def plain(last: Any, *steps: tuple[str, Any]) -> Pipeline:
    """A pipeline for the numbers alone, which takes them as one matrix."""
    return Pipeline([("imputer", SimpleImputer()), *steps, ("last", last)])


SCALED = ("scaler", StandardScaler())
CLASSIFIERS = {
    "text": prepared(LogisticRegression(max_iter=500), SCALED),
    "boosting": plain(HistGradientBoostingClassifier(max_iter=20)),
    "no probabilities": plain(RidgeClassifier(), SCALED),
    "vote": plain(
        VotingClassifier([("a", DecisionTreeClassifier()), ("b", LogisticRegression())], voting="soft"), SCALED
    ),
    "vote of pipelines": VotingClassifier([("a", plain(DecisionTreeClassifier(), SCALED))], voting="soft"),
}


def features_for(name: str, whole: pd.DataFrame) -> pd.DataFrame:
    return whole if name == "text" else whole.drop(columns="town")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_model_predicts_labels_and_probabilities(name: str) -> None:
    whole, labels, _ = table()
    given = features_for(name, whole)
    fitted = CLASSIFIERS[name].fit(given, labels)
    content, inputs = onnx.convert_to_onnx(fitted, given, ["trial 1"])
    assert len(inputs) == (5 if name == "text" else 1)
    numbers = given.astype({each: np.float32 for each in given if each != "town"})
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    feed = (
        {
            each.replace(" ", "_"): numbers[[each]].to_numpy(dtype=object if each == "town" else np.float32)
            for each in given
        }
        if name == "text"
        else {"features": numbers.to_numpy()}
    )
    found, *others = session.run(None, feed)
    assert [*found] == [*fitted.predict(numbers)]
    if hasattr(fitted, "predict_proba"):
        assert np.abs(others[0] - fitted.predict_proba(numbers)).max() <= 1e-5
    assert session.get_modelmeta().custom_metadata_map["provenance"] == "trial 1"


@pytest.mark.parametrize("last", [Ridge(), HistGradientBoostingRegressor(max_iter=20)])
def test_a_model_predicts_numbers(last: Any) -> None:
    given, _, numbers = table()
    content, _ = onnx.convert_to_onnx(prepared(last).fit(given, numbers), given, [])
    assert content


REFUSED = {
    "the step `last` (`LinearDiscriminantAnalysis`): on the same 32-bit inputs, the ONNX model predicts": plain(
        LinearDiscriminantAnalysis()
    ),
    "the step `odd` (`FunctionTransformer`): ": plain(
        DecisionTreeClassifier(), ("odd", FunctionTransformer(np.sin)), ("pca", PCA(2))
    ),
    "the step `odd` (`FunctionTransformer`) of `a`: ": VotingClassifier(
        [("a", plain(DecisionTreeClassifier(), ("odd", FunctionTransformer(np.sin))))], voting="soft"
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_step_that_is_not_covered_is_named(reason: str) -> None:
    whole, labels, _ = table()
    given = whole.drop(columns="town")
    with pytest.raises(BuildError) as raised:
        onnx.convert_to_onnx(REFUSED[reason].fit(given, labels), given, [])
    assert reason in raised.value.message


def test_a_missing_text_is_refused() -> None:
    given, labels, _ = table()
    fitted = prepared(DecisionTreeClassifier()).fit(given, labels)
    with pytest.raises(BuildError, match="the column `town` has missing values"):
        onnx.convert_to_onnx(fitted, given.assign(town=given["town"].where(given["c"] > 0)), [])


def test_thresholds_of_boosting_are_rounded_without_an_effect_on_32_bit_numbers() -> None:
    rng = np.random.default_rng(0)
    numbers, thresholds = rng.normal(size=999).astype(np.float32), rng.normal(size=999)
    thresholds[:500] = numbers[:500] + rng.choice([-1e-12, 0.0, 1e-12], 500)
    rounded = onnx._round_down(thresholds)
    assert np.array_equal(rounded, rounded.astype(np.float32))
    assert np.array_equal(numbers <= thresholds, numbers <= rounded)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx, "find_spec", lambda name: None if name == "onnxruntime" else object())
    with pytest.raises(InputError, match=r"writing a `\.onnx` file needs the package `onnxruntime`") as raised:
        onnx.check_onnx_installed()
    assert "install `spacelang[onnx]`" in raised.value.help
