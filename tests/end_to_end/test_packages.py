"""`use` from the command line: what is allowed runs, what is not stops with the remedy."""

import json
from pathlib import Path

import pytest
from commands import document, spacelang

import spacelang as sl

SPACE = """\
space boosted
use xgboost
use imblearn
stage balance = none | imblearn.SMOTE { k_neighbors : int[1, 5] = 3 }
stage estimator =
  | xgboost.XGBClassifier { max_depth : int[1, 6] = 2, n_estimators = 5 }
  | LogisticRegression { max_iter = 5000 }
forbid balance is imblearn.SMOTE and estimator is LogisticRegression
"""
ALLOW = ("--allow", "xgboost", "--allow", "imblearn")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "boosted.space").write_text(SPACE, encoding="utf-8")
    return tmp_path


def test_check(folder: Path) -> None:
    assert spacelang("check", "boosted.space", *ALLOW, folder=folder).stdout == "boosted.space: no problems\n"
    refused = spacelang("check", "boosted.space", "--allow", "imblearn", folder=folder)
    assert refused.returncode == 1
    assert "the package `xgboost` is not allowed here" in refused.stderr
    assert "--allow xgboost" in refused.stderr


def test_a_configuration_names_classes_without_their_package(folder: Path) -> None:
    default = document(spacelang("default", "boosted.space", *ALLOW, folder=folder))
    assert default == {"balance": "none", "estimator": "XGBClassifier", "estimator.max_depth": 2}
    statistics = document(spacelang("stats", "boosted.space", "--json", *ALLOW, folder=folder))
    assert statistics["structures"] == 3
    (folder / "default.json").write_text(json.dumps(default))
    assert document(spacelang("contains", "boosted.space", "default.json", "--json", *ALLOW, folder=folder))["member"]


def test_run(folder: Path) -> None:
    options = ("--data", "sklearn:breast_cancer", "--optimizer", "random", "--trials", "6", "--time", "60s")
    found = document(spacelang("run", "boosted.space", *options, "--json", *ALLOW, folder=folder))
    assert found["trials"] == 6
    assert found["failed"] == 0


@pytest.mark.full
def test_search_from_python(folder: Path) -> None:
    from sklearn.datasets import load_breast_cancer

    features, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    words = labels.map({0: "malignant", 1: "benign"})
    allow = ("xgboost", "imblearn")
    result = sl.search(folder / "boosted.space", features, words, optimizer="random", trials=4, allow=allow)
    assert result.best_pipeline is not None
    assert set(result.best_pipeline.predict(features)) == {"malignant", "benign"}
    with pytest.raises(sl.SpaceError, match="the package `imblearn` is not allowed here"):
        sl.parse(SPACE, allow=("xgboost",))


def test_the_catalogue_of_a_package(folder: Path) -> None:
    shown = spacelang("catalogue", "--package", "xgboost", folder=folder)
    assert (shown.returncode, shown.stdout.count("XGBClassifier")) == (0, 1)
    one = document(spacelang("catalogue", "lightgbm.LGBMClassifier", "--json", folder=folder))
    assert one["operator"] == "LGBMClassifier"
    written = spacelang("catalogue", "--package", "imblearn", "--refresh", "-o", "now.json", folder=folder)
    assert written.returncode == 0
    assert json.loads((folder / "now.json").read_text(encoding="utf-8"))["distribution"] == "imbalanced-learn"


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("--package", "xgbost"), 1, "did you mean `xgboost`?"),
        (("--package", "xgbost", "--refresh"), 2, "did you mean `xgboost`?"),
        (("--package", "json"), 1, "cannot read the operators of `json`"),
        (("imblearn.SMOT",), 2, "did you mean `SMOTE`?"),
    ],
)
def test_wrong_names(arguments: tuple[str, ...], status: int, told: str, folder: Path) -> None:
    ended = spacelang("catalogue", *arguments, folder=folder)
    assert (ended.returncode, told in ended.stderr) == (status, True), ended.stderr
