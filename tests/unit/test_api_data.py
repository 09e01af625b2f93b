"""Spaces that depend on the data, from Python: bound by hand, and by the data of a search."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spacelang as sl
from spacelang.api import load_for_data
from spacelang.api.experiment import Experiment
from spacelang.api.search_data import TabularData
from spacelang.bench.comparison_data import ComparisonDataset, parse_optimizers
from spacelang.bench.comparison_runs import make_comparison_plan
from spacelang.runtime.budget import Budget
from spacelang.runtime.data.loading import make_table

pytestmark = pytest.mark.usefixtures("quick_zygotes")

TEXT = """stage scaler = none | QuantileTransformer { n_quantiles : int[10, min(2000, n_samples)] log = 1000 }
stage selector = none | SelectKBest { k : int[1, MOST] = 10 }
stage estimator = GaussianNB | KNeighborsClassifier { n_neighbors : int[1, min(50, n_samples / n_classes)] = 5 }
"""
LIMITED = TEXT.replace("MOST", "min(99, n_features)").replace(" / n_classes", "")
UNLIMITED = TEXT.replace("MOST", "n_features")


def table(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    words = ["x", *["x", "y", "z"] * (rows // 3)][:rows]  # not in step with the labels
    numbers = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows), "c": words})
    return numbers, np.arange(rows) % 3


@pytest.mark.parametrize("is_sparse", [False, True])
def test_columns_of_a_dataframe_are_dropped(is_sparse: bool, tmp_path: Path) -> None:
    space, (features, labels) = sl.parse("space s\nstage estimator = LogisticRegression\n"), table(60)
    if is_sparse:  # as a sparse array, the table has no names any more
        features = features.assign(c=1.0).astype(pd.SparseDtype(float, 0.0))
    others = features.assign(a=features["a"].to_numpy() + 1)
    others.assign(target=labels, more=1).to_csv(tmp_path / "test.csv", index=False)
    tests = [(["c"], (others, labels)), (["c", "more"], str(tmp_path / "test.csv"))]
    for drop, test in tests[:1] if is_sparse else tests:
        options = {"optimizer": "random", "trials": 1, "workers": 0, "drop_columns": drop}
        found = sl.search(space, features, labels, test=test, **options)
        assert found.test_score is not None
        assert found.objective.dataset.features.shape[1] == 2
        assert is_sparse or [*found.best_pipeline.feature_names_in_] == ["a", "b"]


@pytest.mark.parametrize(
    ("columns", "drop", "expected"),
    [
        (["c"], ["c"], "all columns"),
        (["a", "b", "c"], ["bb"], "no column `bb`, which `drop_columns` names: the columns are `a`, `b`, `c`"),
        (None, ["x0"], "needs a DataFrame"),
    ],
)
def test_wrong_columns_to_drop_are_refused(columns: list[str] | None, drop: list[str], expected: str) -> None:
    features, labels = table(60)
    given = features["a"].to_frame().to_numpy() if columns is None else features[columns]
    with pytest.raises(ValueError, match=expected):
        sl.search("stage e = GaussianNB", given, labels, optimizer="random", trials=1, drop_columns=drop)


def test_bind() -> None:
    space = sl.parse(LIMITED)
    assert space.symbols == {"n_features": None, "n_samples": None}
    bound = space.bind(n_features=20)
    assert bound.symbols == {"n_features": 20, "n_samples": None}
    assert bound.bind(n_samples=100).symbols == {"n_features": 20, "n_samples": 100}
    assert bound.configurations == sl.parse(LIMITED, bind={"n_features": 20}).configurations != space.configurations
    assert space.symbols == {"n_features": None, "n_samples": None}
    with pytest.raises(ValueError, match="not a symbol"):
        space.bind(features=3)
    with pytest.raises(sl.SpaceError, match="SL403"):
        space.bind(n_samples=5)


def test_a_space_without_symbols_stays_as_it_is() -> None:
    space = sl.parse("stage e = SVC { C : float[1, 2] }")
    assert space.symbols == {}
    assert space.bind(n_features=3).checked == space.checked


def test_a_search_binds_by_the_data(tmp_path: "pytest.TempPathFactory") -> None:
    path = tmp_path / "unlimited.space"  # type: ignore[operator]
    path.write_text(UNLIMITED, encoding="utf-8")
    with pytest.raises(sl.SpaceError, match="SL406"):
        sl.load(path)
    features, labels = table(90)
    result = sl.search(path, features, labels, optimizer="random", trials=30, seed=1)
    # 72 of 90 rows are trained on in each fold; two numbers and three columns of one category; three classes.
    sizes = {"n_samples": 72, "n_features": 5, "n_classes": 3}
    columns = {"n_numeric": 5, "n_categorical": 0, "n_text": 0, "n_datetime": 0, "n_missing": 0}
    assert result.objective.size_symbols == sizes | columns
    for key, most in (("scaler.n_quantiles", 72), ("selector.k", 5), ("estimator.n_neighbors", 24)):
        values = [configuration[key] for configuration in result.configurations if key in configuration]
        assert values
        assert max(values) <= most
    assert set(result.trials["status"]) == {"success"}


def test_what_is_bound_by_hand_comes_first() -> None:
    features, labels = table(90)
    given = sl.search(sl.parse(LIMITED), features, labels, trials=3, bind={"n_features": 2})
    assert given.objective.size_symbols["n_features"] == 5
    bound = sl.parse(LIMITED).bind(n_features=2)
    again = sl.search(bound, features, labels, trials=3)
    assert given.configurations == again.configurations


def test_data_for_which_a_space_is_empty() -> None:
    features, labels = table(12)
    with pytest.raises(sl.SpaceError, match="for n_samples = 9 the upper bound is 9"):
        sl.search(sl.parse(LIMITED), features, labels, trials=3)


GROWING = """stage selector = SelectKBest { k : int[ceil(sqrt(n_features)), BOUND] = DEFAULT }
stage estimator = GaussianNB | KNeighborsClassifier { n_neighbors : int[1, ceil(50 / n_features)] = 1 }
require n_samples < 1000
"""


@pytest.mark.parametrize(
    ("bound", "default", "drawn"), [("n_features", 10, 5), ("4", 1, 3), ("min(4, n_features)", 3, 3)]
)
def test_bounds_that_no_large_data_has_are_those_of_the_data_that_is_given(
    bound: str, default: int, drawn: int, tmp_path: Path
) -> None:
    path = tmp_path / "growing.space"
    path.write_text(GROWING.replace("BOUND", bound).replace("DEFAULT", str(default)), encoding="utf-8")
    features, labels = table(30)
    result = sl.search(path, features, labels, optimizer="random", trials=3, initial="default", seed=1)
    assert result.trials["param_selector.k"][1] == result.configurations[0]["selector.k"] == drawn
    compared = sl.compare(path, {"mine": (features, labels)}, ["random"], repeats=1, trials=2)
    assert list(compared.runs["trials"]) == [2]


def test_comparisons_of_spaces_that_wait_for_data_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "growing.space"
    plans = []
    for rule in ("", "forbid estimator is GaussianNB and selector.SelectKBest.k > 3\n"):
        path.write_text(GROWING.replace("BOUND", "4").replace("DEFAULT", "3") + rule, encoding="utf-8")
        said = Experiment(space=load_for_data(path), data=TabularData(make_table(*table(30))), budget=Budget(trials=1))
        judged = ComparisonDataset("mine", said).check_and_make_criteria(0, parse_optimizers(["random"]))
        plans.append(make_comparison_plan(said, (0,), {"mine": judged}, ()))
    assert [line.partition(":")[0] for line in plans[0].differences_preventing_resume(plans[1])] == [
        "data `mine`, space"
    ]
    assert plans[0].differences_preventing_resume(plans[0]) == []


def test_what_no_data_makes_sound_is_refused_before_there_is_any(tmp_path: Path) -> None:
    path = tmp_path / "growing.space"
    text = GROWING.replace("BOUND", "4").replace("DEFAULT", "3")
    for wrong, code in (("GausianNB", "SL201"), ("GaussianNB { var_smoothing : float[2, 1] }", "SL403")):
        path.write_text(text.replace("GaussianNB", wrong), encoding="utf-8")
        with pytest.raises(sl.SpaceError, match=code):
            load_for_data(path)
