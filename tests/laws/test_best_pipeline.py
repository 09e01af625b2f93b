"""Laws of the found pipeline: it takes what the search was given, and is the one that the trials were of."""

import os
import pickle
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import spacelang as sl
from spacelang.runtime.evaluation.splits import stratified_holdout, stratified_order
from spacelang.runtime.scoring.pipeline_scorer import make_prediction_loss_function

ROWS, SEED = 60, 3
EXAMPLES: Final = 150 if os.environ.get("SPACELANG_FULL") else 8

SPACE = sl.parse(
    "stage scaler = none | MaxAbsScaler\n"
    "stage estimator = LogisticRegression | DecisionTreeClassifier | KNeighborsClassifier\n"
)

COLUMNS = sl.parse(
    "stage estimator = LogisticRegression | DecisionTreeClassifier\n"
    "stage words = OneHotEncoder { handle_unknown = ignore }\n"
    "pipeline = columns(numeric: SimpleImputer -> StandardScaler, categorical: words) -> estimator\n"
)

LABELS: dict[str, Callable[[Any], Any]] = {
    "codes": lambda codes: codes,
    "words": lambda codes: np.array(["no", "yes", "maybe"])[codes],
    "truths": lambda codes: codes > 0,
    "others": lambda codes: pd.Series(codes * 10 - 5, name="y"),
}

NAMES: dict[str, Callable[[int], list[Any]]] = {
    "texts": lambda count: [f"column {place}" for place in range(count)],
    "numbers": lambda count: list(range(count)),
    "tuples": lambda count: [("a", place) for place in range(count)],
    "mixed": lambda count: ["first", 2, ("third", 3), 4.5, None, True, "x0"][:count],
}


def numbers(rng: np.random.Generator, codes: Any, gaps: bool, kind: str) -> Any:
    """A column that says something about the class."""
    column = codes + rng.normal(0, 0.6, ROWS)
    match kind:
        case "float":
            found = column
        case "small float":
            found = column.astype(np.float32)
        case "integer":
            found = np.round(column * 3).astype(np.int64)
        case "truth":
            found = column > 0.5
        case "word":
            found = np.where(column > 0.5, "high", "low").astype(object)
        case "category":
            found = pd.Categorical(np.where(column > 0.5, "high", "low"))
        case "number as object":
            found = column.astype(object)
        case "perhaps truth":
            found = (column > 0.5).astype(object)
        case _:
            found = pd.array(np.round(column * 3).astype(int), dtype="Int64")
    if gaps and kind in {"float", "small float", "word", "number as object", "perhaps truth"}:
        found[::7] = np.nan if "float" in kind or "number" in kind else None
    return found


FRAME = st.lists(
    st.sampled_from(
        ["float", "small float", "integer", "truth", "word", "category", "number as object", "perhaps truth", "whole"]
    ),
    min_size=1,
    max_size=5,
)
ARRAY = st.sampled_from(["float", "small float", "integer", "truth", "word"])
SPARSE = st.sampled_from([sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])


@st.composite
def data(draw: st.DrawFn) -> tuple[Any, Any]:
    """Features as a program may hold them, and labels."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    codes = np.arange(ROWS) % draw(st.integers(2, 3))
    gaps = draw(st.booleans())
    match draw(st.sampled_from(["frame", "array", "lists", "sparse", "frame of sparse"])):
        case "frame":
            kinds = draw(FRAME)
            columns = [pd.Series(numbers(rng, codes, gaps, kind)) for kind in kinds]
            features: Any = pd.concat(columns, axis=1)
            features.columns = pd.Index(NAMES[draw(st.sampled_from([*NAMES]))](len(kinds)), tupleize_cols=False)
            features.index = features.index[::-1] * 2
        case "array" | "lists" as holder:
            kind = draw(ARRAY)
            features = np.column_stack([numbers(rng, codes, gaps, kind) for _ in range(draw(st.integers(1, 4)))])
            features = features.tolist() if holder == "lists" and kind != "word" else features
        case holder:
            dense = np.maximum(np.column_stack([numbers(rng, codes, False, "float") for _ in range(3)]), 0)
            features = draw(SPARSE)(dense.astype(draw(st.sampled_from([np.float64, np.float32]))))
            if holder == "frame of sparse":
                features = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(features))
    return features, LABELS[draw(st.sampled_from([*LABELS]))](codes)


def taken(features: Any, rows: Any) -> Any:
    """Some rows of what a program holds."""
    if isinstance(features, list):
        return [features[row] for row in rows]
    if isinstance(features, pd.DataFrame):
        return features.iloc[rows]
    return features.tocsr()[rows] if sparse.issparse(features) else features[rows]


@settings(max_examples=EXAMPLES, deadline=None)
@given(data())
@pytest.mark.filterwarnings("ignore:.*of the held-out rows are also training rows:UserWarning")
@pytest.mark.filterwarnings("ignore:.*labels:UserWarning")
@pytest.mark.filterwarnings("error:X .* feature names:UserWarning")
def test_it_takes_what_the_search_was_given_and_is_the_pipeline_of_the_trial(drawn: tuple[Any, Any]) -> None:
    features, labels = drawn
    options: dict[str, Any] = {"validate": "holdout(0.3)", "predictions": True, "workers": 0, "seed": SEED}
    # Of what has columns of several types some spaces select columns.
    mixes = isinstance(features, pd.DataFrame) and len({str(kind) for kind in features.dtypes}) > 1
    result = sl.search(
        COLUMNS if mixes and len(features.columns) % 2 else SPACE,
        features,
        labels,
        optimizer="random",
        trials=2,
        **options,
    )
    pipeline = result.best_pipeline
    known = set(np.asarray(labels).tolist())
    assert set(pipeline.predict(features).tolist()) <= known
    assert set(pipeline.predict(taken(features, [3])).tolist()) <= known

    best = result.outcome.best
    assert best is not None
    predicted, held_out = result.predictions(best.index), result.objective.held_out_rows.rows
    training = training_rows(np.asarray(labels))
    assert not set(training) & set(held_out)
    again = clone(pipeline).fit(taken(features, training), np.asarray(labels)[training])
    found = pickle.loads(pickle.dumps(again)).predict_proba(taken(features, held_out))
    np.testing.assert_allclose(found, predicted, atol=1e-6)
    words = np.asarray(result.objective.dataset.classes)[found.argmax(axis=1)]
    assert again.predict(taken(features, held_out)).tolist() == words.tolist()


@settings(max_examples=EXAMPLES // 4, deadline=None)
@given(data(), st.integers(2, 12))
def test_an_ensemble_takes_and_predicts_the_same(drawn: tuple[Any, Any], votes: int) -> None:
    features, labels = drawn
    options: dict[str, Any] = {"validate": "holdout(0.3)", "workers": 0, "seed": SEED}
    result = sl.search(SPACE, features, labels, optimizer="random", trials=4, ensemble=votes, **options)
    ensemble, members = result.ensemble, result.ensemble_members
    assert members is not None
    assert members["votes"].sum() == votes
    assert members["weight"].sum() == pytest.approx(1)
    assert set(members["trial"]) <= {record.index for record in result.outcome.records}
    known = set(np.asarray(labels).tolist())
    assert set(ensemble.predict(features).tolist()) <= known
    assert ensemble.predict(features).dtype == result.best_pipeline.predict(features).dtype
    assert [*ensemble.classes_] == [*result.best_pipeline.classes_]
    found = pickle.loads(pickle.dumps(ensemble)).predict_proba(features)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(clone(ensemble).fit(features, labels).predict_proba(features), found, atol=1e-12)
    # What was judged is the mean of what the members have predicted for the held-out rows.
    held_out, pairs = result.objective.held_out_rows, zip(members["weight"], members["trial"], strict=True)
    together = sum(weight * result.predictions(trial) for weight, trial in pairs)
    assert result.ensemble_loss == pytest.approx(
        make_prediction_loss_function(held_out, result.objective.metric)(together)
    )


def training_rows(labels: Any) -> Any:
    """Those of the trials, in their order."""
    rng = np.random.default_rng(SEED)
    _, codes = np.unique(labels, return_inverse=True)
    training, _ = stratified_holdout(codes, 0.3, rng)
    return training[stratified_order(codes[training], rng)]


@pytest.mark.parametrize("holder", [np.asarray, pd.DataFrame, lambda table: sparse.csr_matrix(np.nan_to_num(table))])
def test_it_can_be_judged_by_scikit_learn(holder: Callable[[Any], Any]) -> None:
    rng = np.random.default_rng(0)
    codes = np.arange(ROWS) % 2
    table = np.column_stack([codes + rng.normal(0, 0.3, ROWS) for _ in range(3)])
    table[::5, 1] = np.nan
    result = sl.search(SPACE, holder(table), codes, optimizer="random", trials=3, workers=0)
    assert cross_val_score(result.best_pipeline, holder(table), codes, cv=3).mean() > 0.8


@pytest.mark.parametrize("gap", [None, np.nan])
def test_a_missing_truth_value_is_imputed_whatever_marks_it(gap: float | None) -> None:
    truths = (np.arange(ROWS) % 3 > 0).astype(object)
    truths[::7] = gap
    features = pd.DataFrame({"truth": truths})
    space, labels = sl.parse("stage estimator = DecisionTreeClassifier\n"), np.arange(ROWS) // 2 % 2
    pipeline = sl.search(space, features, labels, trials=1, workers=0, validate="holdout(0.3)").best_pipeline
    lacking, usual = (pd.DataFrame({"truth": [truth, truth]}, dtype=object) for truth in (gap, True))
    np.testing.assert_array_equal(pipeline.predict_proba(lacking), pipeline.predict_proba(usual))
