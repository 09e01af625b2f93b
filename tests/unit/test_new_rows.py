"""Exported pipelines and predictions need only the columns that the pipeline uses; rows with labels are scored."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spacelang as sl
from spacelang.api.new_rows import load_new_rows, predict_rows, score_rows, share_of_fitted_rows
from spacelang.api.reopened_runs import ReopenedRun, reopen_run
from spacelang.api.search_data import TabularData
from spacelang.report.pipeline_module import pipeline_module_text
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.pipelines import PipelineInput
from spacelang.runtime.pipelines.preparation import used_columns

LABEL = "bought"


def table(rows: int = 60) -> pd.DataFrame:
    """Numbers, words, dates and a column without values."""
    rng = np.random.default_rng(0)
    age, town = rng.normal(size=rows), rng.choice(["Rome", "Oslo"], rows)
    made = pd.DataFrame({"age": age, "empty": np.nan, "town": town, "pay": rng.normal(size=rows)})
    made["since"] = pd.date_range("2020-01-01", periods=rows, freq="D")
    return made.assign(**{LABEL: np.where(age + (town == "Rome") > 0, "yes", "no")})


USED = {
    "columns(numeric: SimpleImputer, categorical: OneHotEncoder)": {"age", "pay", "town"},
    "columns(numeric: none | SimpleImputer)": {"age", "pay"},
    "columns(categorical: OneHotEncoder)": {"town"},
    'columns("^a": StandardScaler, datetime: none, categorical: OneHotEncoder)': {"age", "since", "town"},
    "columns(numeric: none, categorical: OneHotEncoder) -> (PCA & StandardScaler)?": {"age", "pay", "town"},
    "SimpleImputer": {"age", "pay", "town"},
}


@pytest.mark.parametrize("parts", USED)
def test_pipelines_predict_the_same_from_the_columns_that_they_use(parts: str) -> None:
    given = table() if "(" in parts else table().drop(columns="since")
    tree = "DecisionTreeClassifier" if "datetime" not in parts else "KNeighborsClassifier"
    data = TabularData(make_table(given.drop(columns=LABEL), given[LABEL]))
    prepared = sl.Experiment(space=sl.parse(f"pipeline = {parts} -> {tree}"), data=data).prepare()
    objective, configuration = prepared.objective, prepared.space.default()
    assert isinstance(objective, DataObjective)
    names = used_columns(prepared.space.checked, [configuration], objective.preparation)
    assert names == USED[parts]
    if "since" in names:
        return  # a date is no number, so that the fit fails, as it does in a trial
    whole, rows = objective.refit(configuration), given.drop(columns=LABEL)
    few = objective.restricted_to(names).refit(configuration)
    shares = few.predict_proba(rows[[name for name in rows.columns if name in names]])
    assert np.array_equal(whole.predict_proba(rows), shares)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> ReopenedRun:
    """A run whose pipelines take neither the dates nor the column without values."""
    folder, given = tmp_path_factory.mktemp("run"), table()
    given.to_parquet(folder / "rows.parquet")
    space = sl.parse("pipeline = columns(numeric: SimpleImputer, categorical: OneHotEncoder) -> LogisticRegression")
    features, labels = given.drop(columns=LABEL), given[LABEL]
    with pytest.warns(UserWarning, match="`since` holds dates"):
        sl.search(space, features, labels, trials=1, workers=0, store=folder / "run.db", metric="accuracy")
    return reopen_run(folder / "run.db", data=str(folder / "rows.parquet"))


def test_a_module_needs_only_the_columns_that_its_pipeline_uses(finished: ReopenedRun) -> None:
    best, module = finished.trial_of_rank(1), dict[str, Any]()
    needed = finished.restricted_to_used_columns(best)
    exec(pipeline_module_text(needed.unfitted_pipeline(best), needed.objective, []), module)
    assert module["FEATURES"] == ["age", "town", "pay"]
    assert finished.columns_missing_in(needed) == ("empty", "since")
    few = table()[["pay", "town", "age", LABEL]]
    fitted = module["fit"](few, few[LABEL])
    whole = finished.objective.refit(best.trial.request.configuration)
    asked = whole.predict_proba(table().drop(columns=LABEL))
    assert np.abs(fitted.predict_proba(module["take"](few)) - asked).max() <= 1e-12


def test_rows_with_labels_are_scored_and_need_only_used_columns(finished: ReopenedRun, tmp_path: Path) -> None:
    needed = finished.restricted_to_used_columns(finished.trial_of_rank(1))
    fitted = needed.fit_pipeline(finished.trial_of_rank(1), PipelineInput.GIVEN)
    unused = finished.columns_missing_in(needed)

    def scored(given: pd.DataFrame) -> Any:
        given.to_csv(tmp_path / "new.csv", index=False)
        rows = load_new_rows(str(tmp_path / "new.csv"), needed.objective.dataset, unused=unused)
        assert rows.ignored_columns == ()
        predicted = predict_rows(fitted, rows).table["prediction"]
        return score_rows(fitted, rows, needed.objective), predicted

    new = table().drop(columns="empty")
    score, predicted = scored(new)
    assert score.loss == pytest.approx(np.mean(predicted != new[LABEL]))
    assert score.low < score.loss < score.high
    rows = load_new_rows(str(tmp_path / "new.csv"), needed.objective.dataset, unused=unused)
    assert share_of_fitted_rows(rows, needed.objective.dataset) == 1
    others = replace(rows, features=rows.features.assign(age=rows.features["age"] + 0.5 * (rows.features.index < 45)))
    assert share_of_fitted_rows(others, needed.objective.dataset) == 0.25
    some, _ = scored(new.assign(**{LABEL: new[LABEL].where(new.index < 40)}))
    assert (some.rows, some.loss) == (40, pytest.approx(np.mean(predicted[:40] != new[LABEL][:40])))
    unknown, _ = scored(new.assign(**{LABEL: "perhaps"}))
    assert "labels that the training rows lack: `perhaps`" in unknown.reason
    assert scored(new.drop(columns=LABEL))[0] is None
