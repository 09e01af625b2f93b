"""Several targets per row: what is searched, with which metric, and what is refused with the reason."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_linnerud, make_multilabel_classification

import spacelang as sl
from spacelang.api.new_rows import load_new_rows, predict_rows, score_rows
from spacelang.catalog import snapshot
from spacelang.cli._app import run_command_line
from spacelang.ir.task import Kind
from spacelang.runtime.data.labels import check_and_encode_labels
from spacelang.runtime.data.loading import load_dataset, make_table
from spacelang.runtime.data.read_options import DataOptions, parse_data_options
from spacelang.runtime.data.tables import data_fingerprint
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.scoring.bound_measures import CachedPredictions
from spacelang.runtime.scoring.metric import default_metric

FEATURES, LABELS = make_multilabel_classification(n_samples=60, n_features=4, n_classes=3, random_state=0)
CLASSIFIERS = (
    "stage estimator = KNeighborsClassifier { n_neighbors : int[1, 9] = 5 } | DecisionTreeClassifier"
    " | MultiOutputClassifier { estimator = LogisticRegression }"
)
REGRESSORS = "stage estimator = Ridge { alpha : float[0.1, 10] log = 1 } | KNeighborsRegressor { n_neighbors = 3 }"


def test_labels_are_searched_and_predicted() -> None:
    found = sl.search(CLASSIFIERS, FEATURES, LABELS, trials=3, seed=0, test=0.25, workers=0, progress=False)
    assert set(found.trials["status"]) == {"success"}
    assert found.test is not None
    assert found.test.low is not None
    assert found.test.high is not None
    assert found.test.low <= found.test.loss <= found.test.high  # type: ignore[operator]
    predicted = found.best_pipeline.predict(FEATURES)
    assert predicted.shape == LABELS.shape
    assert set(np.unique(predicted)) <= {0, 1}


def test_numbers_are_searched_and_predicted() -> None:
    features, targets = load_linnerud(return_X_y=True, as_frame=True)
    found = sl.search(REGRESSORS, features, targets, trials=2, seed=0, workers=0, progress=False)
    assert set(found.trials["status"]) == {"success"}
    assert found.best_pipeline.predict(features).shape == targets.shape


@pytest.mark.parametrize("space", [REGRESSORS, "stage estimator = DecisionTreeClassifier"])
def test_several_targets_are_weighted(space: str) -> None:
    weights = np.arange(len(LABELS)) % 2
    options: dict[str, Any] = {"trials": 1, "seed": 0, "workers": 0, "progress": False, "optimizer": "random"}
    space = space.removesuffix(" | KNeighborsRegressor { n_neighbors = 3 }")
    found = sl.search(space, FEATURES, LABELS, sample_weight=weights, **options)
    assert isinstance(found.objective, DataObjective)
    for fold in found.objective._folds:
        training = np.setdiff1d(np.arange(len(LABELS)), fold.rows)
        assert sorted(fold.weights(None)) == sorted(weights[training])
    other = LABELS.copy()
    other[weights == 0] = 1 - other[weights == 0]  # the labels of rows without weight have no effect
    again = sl.search(space, FEATURES, other, sample_weight=weights, **options)
    said = [each.best_pipeline.predict(FEATURES) for each in (found, again)]
    assert np.allclose(said[0], said[1])


@pytest.mark.parametrize(
    ("space", "metric"), [(REGRESSORS, "r2"), (CLASSIFIERS, "f1_macro"), (CLASSIFIERS, "accuracy")]
)
def test_a_time_until_the_answer_takes_several_targets(space: str, metric: str) -> None:
    limits: Any = {"trials": 1, "time": "60s", "workers": 0, "progress": False}
    found = sl.search(space, FEATURES, LABELS, metric=metric, test=0.25, seed=0, **limits)
    assert [*found.trials["status"]] == ["success"]
    assert found.best_pipeline.predict(FEATURES).shape == LABELS.shape
    assert found.test is not None


@pytest.mark.parametrize("validation", ["cv(3, group=person)", "holdout(0.3, by=person)"])
def test_rows_are_split_by_columns(validation: str) -> None:
    table = pd.DataFrame(FEATURES, columns=[*"abcd"]).assign(person=np.arange(60) // 5)
    given = {"trials": 1, "seed": 0, "workers": 0, "progress": False, "validate": validation, "test": 0.25}
    found = sl.search(CLASSIFIERS, table, LABELS, **given)
    assert [*found.trials["status"]] == ["success"]


@pytest.mark.parametrize(("kind", "formula"), [("classification", "1 - f1_macro"), ("regression", "1 - r2")])
def test_the_default_metric_is_a_mean_over_the_targets(kind: Kind, formula: str) -> None:
    dataset = check_and_encode_labels(make_table(FEATURES, LABELS), kind)
    assert default_metric(dataset).formula == formula
    assert not dataset.is_stratified
    assert dataset.original_labels.tolist() == LABELS.tolist()


def test_the_loss_is_that_of_scikit_learn() -> None:
    from sklearn.linear_model import Ridge
    from sklearn.metrics import mean_absolute_error

    features, targets = load_linnerud(return_X_y=True)
    splits = [(np.arange(10), np.arange(10, 20))]
    search = sl.SpaceSearchCV(
        "stage e = Ridge", trials=1, scoring="neg_mean_absolute_error", cv=splits, random_state=0, n_jobs=1
    ).fit(features, targets)
    fitted = Ridge().fit(features[:10], targets[:10])
    assert search.best_score_ == pytest.approx(-mean_absolute_error(targets[10:], fitted.predict(features[10:])))
    assert search.predict(features).shape == targets.shape


def test_space_search_cv_takes_labels() -> None:
    search = sl.SpaceSearchCV(CLASSIFIERS, trials=2, scoring="accuracy", cv=2, random_state=0, n_jobs=1)
    assert search.fit(FEATURES, LABELS).predict(FEATURES).shape == LABELS.shape
    assert 0 < search.best_score_ <= 1
    with pytest.raises(ValueError, match="`SVC` takes only one"):
        sl.SpaceSearchCV("stage e = SVC | DecisionTreeClassifier", trials=2).fit(FEATURES, LABELS)


@pytest.mark.parametrize(
    ("space", "labels", "reason"),
    [
        (
            "stage e = SVC | KNeighborsClassifier | GaussianNB",
            LABELS,
            "several targets, but `SVC`, `GaussianNB` take only one",
        ),
        ("stage s = SelectFdr | none stage e = DecisionTreeClassifier", LABELS, "`SelectFdr` takes only one"),
        ("stage e = SVR | Ridge", LABELS, "`SVR` takes only one"),
        (None, LABELS, "the default spaces support only one target"),
        (CLASSIFIERS, LABELS + 1, "has the label `2`, but with several targets all labels must be 0 or 1"),
        (CLASSIFIERS, np.where(LABELS, "a", "b"), "must be 0 or 1"),
        (CLASSIFIERS, np.where(LABELS, 1, np.nan), "no label in the columns `target1`, `target2`, `target3`"),
        (CLASSIFIERS, LABELS * [1, 1, 0], "all labels in the column `target3` are 0"),
        (REGRESSORS, np.where(LABELS, "a", "b"), "which a regressor cannot learn"),
        (CLASSIFIERS, LABELS[:, :, None], "a column for each target"),
    ],
)
def test_what_cannot_be_searched_is_refused_with_the_reason(space: str | None, labels: object, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        sl.search(space, FEATURES, labels, trials=1, workers=0, progress=False)


def test_ensembles_and_other_test_rows_are_refused() -> None:
    with pytest.raises(InputError, match="cannot predict several targets"):
        sl.search(CLASSIFIERS, FEATURES, LABELS, trials=1, workers=0, ensemble=4, progress=False)
    with pytest.raises(DataError, match="has 2 targets, but `data` has 3 targets"):
        sl.search(CLASSIFIERS, FEATURES, LABELS, trials=1, workers=0, test=(FEATURES, LABELS[:, :2]), progress=False)


def test_the_catalogue_follows_the_tags() -> None:
    operators = snapshot.load_catalogue().operators
    several = {name for name, each in operators.items() if each.accepts_several_targets}
    assert several >= {"RandomForestClassifier", "Ridge", "MultiOutputClassifier", "StandardScaler", "RegressorChain"}
    assert not several & {"SVC", "GaussianNB", "SVR", "TargetEncoder", "SelectFdr", "HistGradientBoostingRegressor"}


@given(st.lists(st.text(min_size=1), min_size=2, max_size=4, unique=True))
def test_options_of_several_targets_are_read_as_written(names: list[str]) -> None:
    options = DataOptions(tuple(names))
    assert parse_data_options(options.as_texts) == options


def test_each_target_counts_in_the_fingerprint() -> None:
    table = make_table(FEATURES, LABELS)
    assert isinstance(table.target, pd.DataFrame)
    assert [*table.target.columns] == ["target1", "target2", "target3"]
    known = {data_fingerprint(table.features, each) for each in (LABELS, LABELS[:, ::-1], LABELS[:, :2], LABELS[:, 0])}
    assert len(known) == 4
    assert data_fingerprint(table.features, table.target) == data_fingerprint(table.features, LABELS)
    assert data_fingerprint(table.features, LABELS[:, 0]) == data_fingerprint(table.features, pd.Series(LABELS[:, 0]))


def test_probabilities_of_each_target_are_chosen_by_rows() -> None:
    class Fitted:
        def predict_proba(self, _rows: object) -> list[np.ndarray]:
            return [np.arange(8.0).reshape(4, 2), np.arange(4.0).reshape(4, 1)]

    answers = CachedPredictions(Fitted(), None)
    first, second = answers.subset(np.array([2, 0])).predict_proba(None)
    assert first.tolist() == [[4, 5], [0, 1]]
    assert second.tolist() == [[2], [0]]
    assert answers.only_cached_prediction() is None


def test_new_rows_are_predicted_and_scored(tmp_path: Path) -> None:
    table = pd.DataFrame(FEATURES, columns=[*"abcd"]).assign(red=LABELS[:, 0], big=LABELS[:, 1])
    table.to_csv(tmp_path / "data.csv", index=False)
    read = load_dataset(str(tmp_path / "data.csv"), ("red", "big"))
    objective = DataObjective(
        sl.parse("stage e = DecisionTreeClassifier").checked, check_and_encode_labels(read, "classification")
    )
    fitted = objective.refit(sl.Configuration({"e": "DecisionTreeClassifier"}))
    rows = load_new_rows(str(tmp_path / "data.csv"), objective.dataset)
    assert predict_rows(fitted, rows).json_document["predictions"] == {
        name: table[name].tolist() for name in ("red", "big")
    }
    score = score_rows(fitted, rows, objective)
    assert score is not None
    assert (score.loss, score.rows) == (0.0, 60)


def test_commands_take_several_targets_or_say_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No command uses one of the given columns alone."""
    monkeypatch.chdir(tmp_path)
    features, labels = make_multilabel_classification(60, n_features=3, n_classes=2, random_state=0)
    table = pd.DataFrame(features, columns=["a", "b", "c"]).assign(one=labels[:, 0], two=labels[:, 1])
    table.to_csv("rows.csv", index=False)
    columns = ("--target-column", "one", "--target-column", "two")
    assert run_command_line(["init", "rows.csv", *columns]) == 0
    written = capsys.readouterr().out
    assert "run rows.space --data rows.csv --target-column one --target-column two\n" in written
    assert "a multi-label classification" in written
    text = "stage estimator = KNeighborsClassifier { n_neighbors : {1, 3} } | DecisionTreeClassifier"
    Path("some.space").write_text(text)
    options = ("--data", "rows.csv", *columns, "--workers", "0", "--validate", "holdout(0.5)")
    assert run_command_line(["tabulate", "some.space", *options, "-o", "table.npz"]) == 0
    assert "1 - f1_macro of 3 configurations" in capsys.readouterr().out
    given: dict[str, Any] = {"repeats": 1, "trials": 1, "workers": 0, "validate": "holdout(0.5)"}
    found = sl.compare(text, {"rows": "rows.csv"}, ["random"], target_column=("one", "two"), **given)
    assert found.to_frame()["rows", "f1_macro"].notna().all()
