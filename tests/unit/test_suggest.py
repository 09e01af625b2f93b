"""Suggestions help or are not made."""

import random

import pytest

from spacelang.catalog import load_catalogue
from spacelang.spelling_suggestions import edit_distance, nearest_name

OPERATORS = tuple(load_catalogue())
PARAMETERS = tuple(load_catalogue().operators["RandomForestClassifier"].parameters)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("StandartScaler", "StandardScaler"),
        ("standardscaler", "StandardScaler"),
        ("standard_scaler", "StandardScaler"),
        ("STANDARDSCALER", "StandardScaler"),
        ("Nystrom", "Nystroem"),
        ("SVM", "SVC"),
        ("svc", "SVC"),
        ("pca", "PCA"),
        ("LogisticRegresion", "LogisticRegression"),
        ("KNeighborClassifier", "KNeighborsClassifier"),
        ("DecisionTreClassifier", "DecisionTreeClassifier"),
    ],
)
def test_near_operators(name: str, meant: str) -> None:
    assert nearest_name(name, OPERATORS) == meant


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("max_depht", "max_depth"),
        ("mx_depth", "max_depth"),
        ("maxdepth", "max_depth"),
        ("maxDepth", "max_depth"),
        ("depth_max", "max_depth"),
        ("n_estimator", "n_estimators"),
        ("min_sample_split", "min_samples_split"),
        ("max_leaf", "max_leaf_nodes"),
    ],
)
def test_near_parameters(name: str, meant: str) -> None:
    assert nearest_name(name, PARAMETERS) == meant


@pytest.mark.parametrize("name", ["", "X", "XY", "CatBoost", "XGBClassifier", "LGBMClassifier", "KNN", "x" * 10_000])
def test_absurd_operators_are_not_suggested(name: str) -> None:
    assert nearest_name(name, OPERATORS) is None


@pytest.mark.parametrize("name", ["C", "p", "gamma", "kernel", "seed", "n_trees"])
def test_absurd_parameters_are_not_suggested(name: str) -> None:
    assert nearest_name(name, PARAMETERS) is None


@pytest.mark.parametrize(
    ("name", "names", "meant"),
    [
        ("c", ["C", "p"], "C"),
        ("polynomial", ["linear", "poly", "rbf"], "poly"),
        ("max_iterations", ["max_iter", "tol"], "max_iter"),
        ("RandomForest", ["RandomForestClassifier"], "RandomForestClassifier"),
        ("RandomForest", ["RandomForestClassifier", "RandomForestRegressor"], None),
        ("kernel_width", ["kernel"], None),
        ("l1", ["l2"], None),
        ("rbg", ["rbf", "linear"], "rbf"),
        ("uinform", ["uniform"], "uniform"),
        ("scaler", ["scaler"], None),
        ("_", ["__", "-"], None),
        ("a_c", ["b_c"], "b_c"),
        ("anything", [], None),
    ],
)
def test_among_few(name: str, names: list[str], meant: str | None) -> None:
    assert nearest_name(name, names) == meant


def test_order_of_the_names_does_not_matter() -> None:
    names = ["abcdef", "abcdxe", "abxdef", "Abcdee", "abcdee"]
    chance = random.Random(0)
    assert {nearest_name("abcdeg", chance.sample(names, len(names))) for _ in range(50)} == {"abcdee"}


def test_exact_capitals_come_first() -> None:
    assert nearest_name("svx", ["SVC", "svc"]) == "svc"


@pytest.mark.parametrize(
    ("left", "right", "edits"),
    [
        ("", "", 0),
        ("a", "", 1),
        ("", "abc", 3),
        ("abc", "abc", 0),
        ("abc", "acb", 1),
        ("ca", "abc", 3),
        ("kitten", "sitting", 3),
        ("max_depht", "max_depth", 1),
    ],
)
def test_distance(left: str, right: str, edits: int) -> None:
    assert edit_distance(left, right, 5) == edit_distance(right, left, 5) == edits
    assert edit_distance(left, right, edits) == edits
    if edits:
        assert edit_distance(left, right, edits - 1) is None


def test_band_agrees_with_the_whole_table() -> None:
    chance = random.Random(1)
    for _ in range(2_000):
        left, right = ("".join(chance.choices("abc", k=chance.randint(0, 7))) for _ in range(2))
        whole = edit_distance(left, right, 20)
        for limit in range(8):
            assert edit_distance(left, right, limit) == (whole if whole is not None and whole <= limit else None)
