"""Laws of test rows: nothing of a search depends on them, and what is said of them is true."""

import os
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, r2_score

import spacelang as sl
from spacelang.api.result import Result
from spacelang.runtime.data.labels import Dataset, check_and_encode_labels
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.evaluation.unseen_rows import draw_test_rows
from spacelang.runtime.scoring import unseen_scores

EXAMPLES: Final = 60 if os.environ.get("SPACELANG_FULL") else 4
ROWS: Final = 60

CLASSES = sl.parse("stage scaler = none | StandardScaler\nstage e = DecisionTreeClassifier | KNeighborsClassifier\n")
NUMBERS = sl.parse("stage scaler = none | StandardScaler\nstage e = DecisionTreeRegressor | KNeighborsRegressor\n")


@pytest.fixture(autouse=True, scope="module")
def few_resamples() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unseen_scores, "MAX_RESAMPLES", 30)
        yield


def table(seed: int, kind: str) -> tuple[pd.DataFrame, Any]:
    """Numbers with gaps, and words."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(ROWS) % 3)
    first = codes + rng.normal(0, 0.5, ROWS)
    first[::5] = np.nan  # among the rows that trials see as well, or nobody would be prepared for them
    features = pd.DataFrame({"a": first, "b": rng.normal(size=ROWS), "town": rng.choice(["x", "y", "z"], ROWS)})
    return features, codes * 1.5 + rng.normal(0, 0.1, ROWS) if kind == "regression" else np.array(["n", "y", "z"])[
        codes
    ]


def dataset(features: Any, labels: Any, kind: Any) -> Dataset:
    return check_and_encode_labels(make_table(features, labels), kind)


def searched(space: sl.Space, features: Any, labels: Any, seed: int, **options: Any) -> Result:
    options = {"optimizer": "random", "trials": 3, "seed": seed, "validate": "holdout(0.3)", "workers": 0} | options
    return sl.search(space, features, labels, **options)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.05, 0.4), st.sampled_from(["classification", "regression"]))
def test_nothing_depends_on_them_and_the_score_is_that_of_a_refit_by_hand(seed: int, share: float, kind: Any) -> None:
    features, labels = table(seed, kind)
    space = NUMBERS if kind == "regression" else CLASSES
    kept, drawn = draw_test_rows(dataset(features, labels, kind), share, seed)
    assert sorted([*kept, *drawn]) == [*range(ROWS)]
    other = features.copy()
    other.loc[drawn, "a"] = -7.5
    other.loc[drawn, "town"] = other.loc[drawn[::-1], "town"].to_numpy()
    first, second = (searched(space, each, labels, seed, test=share) for each in (features, other))
    shown = ["loss", "status", "reason", "fidelity"]
    assert first.trials[shown].equals(second.trials[shown])
    assert first.configurations == second.configurations
    assert first.objective.size_symbols == second.objective.size_symbols

    fitted = clone(first.best_pipeline).fit(features.iloc[kept], labels[kept])
    again = fitted.predict(features.iloc[drawn])
    assert again.tolist() == first.best_pipeline.predict(features.iloc[drawn]).tolist()
    judge = r2_score if kind == "regression" else balanced_accuracy_score
    assert first.test is not None
    assert first.test.rows == len(drawn)
    np.testing.assert_allclose(first.test.loss, 1 - judge(labels[drawn], again))
    if first.test.low is not None:
        assert first.test.low <= first.test.high


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["pair", "file", "renamed"]))
def test_other_rows_are_as_good_as_a_share(tmp_path_factory: Any, seed: int, form: str) -> None:
    features, labels = table(seed, "classification")
    kept, drawn = draw_test_rows(dataset(features, labels, "classification"), 0.3, seed)
    share = searched(CLASSES, features, labels, seed, test=0.3).test
    tested: Any = features.iloc[drawn], labels[drawn]
    if form == "renamed":
        tested = tested[0][["town", "b", "a"]], tested[1]
    if form == "file":
        place = tmp_path_factory.mktemp("rows") / "tested.csv"
        features.iloc[drawn].assign(target=labels[drawn]).to_csv(place, index=False)
        tested = place
    target = pd.Series(labels[kept], name="target")
    given_ = searched(CLASSES, features.iloc[kept], target, seed, test=tested).test
    assert share is not None
    assert given_ is not None
    np.testing.assert_allclose([given_.loss, given_.low, given_.high], [share.loss, share.low, share.high], rtol=1e-6)


@settings(max_examples=5 * EXAMPLES, deadline=None)
@given(st.lists(st.integers(4, 40), min_size=2, max_size=4), st.floats(0.01, 0.5), st.integers(0, 10**6))
def test_each_class_has_its_part_of_a_share(counts: list[int], share: float, seed: int) -> None:
    codes = np.repeat(np.arange(len(counts)), counts)
    made = dataset(np.zeros((len(codes), 1)), codes, "classification")
    kept, drawn = draw_test_rows(made, share, seed)
    assert [each.tolist() for each in draw_test_rows(made, share, seed)] == [kept.tolist(), drawn.tolist()]
    for code, count in enumerate(counts):
        held = int(np.sum(codes[drawn] == code))
        assert held >= 1
        assert abs(held - share * count) <= 1
    assert np.bincount(codes[kept]).min() >= 2
