"""Sample weights of a search: trials, final fits and ensembles are fitted with them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import spacelang as sl
from spacelang.api.reopened_runs import reopen_run
from spacelang.report.pipeline_module import pipeline_module_text
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.pipelines import PipelineInput

ROWS = 120
OPTIONS: dict[str, Any] = {"workers": 0, "optimizer": "random", "validate": "holdout(0.5)", "trials": 6}
WEIGHTED = "pipeline = StandardScaler -> LogisticRegression { C : {0.1, 1.0} = 1.0 }"


def rows() -> tuple[Any, Any, Any]:
    """Rows of two classes, of which some have wrong labels and the weight 0."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(ROWS, 2)) * [1.0, 5.0]
    labels = np.where(features[:, 0] > 0, "yes", "no")
    wrong = rng.random(ROWS) < 0.3
    return features, np.where(wrong, "no", labels), np.where(wrong, 0.0, rng.uniform(1, 2, ROWS))


def test_trials_and_the_final_fit_are_weighted() -> None:
    features, labels, weights = rows()
    found = sl.search(sl.parse(WEIGHTED), features, labels, sample_weight=weights, **OPTIONS)
    assert isinstance(found.objective, DataObjective)
    (fold,) = found.objective._folds
    best = found.best_configuration
    assert best is not None
    training = np.setdiff1d(np.arange(ROWS), fold.rows)
    scaled = (features - features[training].mean(axis=0)) / features[training].std(axis=0)
    codes = (labels == "yes").astype(int)
    alone = LogisticRegression(C=best["LogisticRegression.C"]).fit(scaled[training], codes[training], weights[training])
    shares = alone.predict_proba(scaled[fold.rows])[:, 1]
    assert found.loss == pytest.approx(1 - roc_auc_score(codes[fold.rows], shares), abs=1e-6)
    pipeline = found.best_pipeline
    whole = LogisticRegression(C=best["LogisticRegression.C"]).fit(pipeline[:-1].transform(features), codes, weights)
    assert np.abs(pipeline[-1].coef_ - whole.coef_).max() < 1e-4


@pytest.mark.parametrize("last", ["LogisticRegression", "LinearSVC", "DecisionTreeClassifier { max_depth = 2 }"])
def test_a_weight_of_two_is_a_row_that_occurs_twice(last: str) -> None:
    features, labels, _ = rows()
    weights = np.resize([1.0, 2.0, 0.0], ROWS)
    twice = np.repeat(np.arange(ROWS), weights.astype(int))
    space = sl.parse(f"stage last = {last}")
    objectives = [
        sl.search(space, features, labels, sample_weight=weights, **{**OPTIONS, "trials": 1}).objective,
    ]
    with pytest.warns(UserWarning, match="held-out rows are also training rows"):
        objectives.append(sl.search(space, features[twice], labels[twice], **{**OPTIONS, "trials": 1}).objective)
    for is_member in (False, True):
        said = []
        for objective in objectives:
            assert isinstance(objective, DataObjective)
            fitted = objective.refit(space.default(), PipelineInput.ARRAY, is_member=is_member)
            said.append(fitted.predict(features))
        assert np.mean(said[0] == said[1]) > 0.98


def test_an_ensemble_is_weighted_and_scored() -> None:
    features, labels, weights = rows()
    space = sl.parse("stage last = LogisticRegression | LinearSVC | GaussianNB")
    found = sl.search(space, features, labels, sample_weight=weights, ensemble=4, test=0.2, **OPTIONS)
    assert found.ensemble is not None
    assert found.test is not None
    assert found.test.loss is not None
    assert found.ensemble.predict(features).shape == (ROWS,)
    assert found.leaderboard(1)["low"].notna().all()


def test_learners_without_weights_fail_with_the_reason() -> None:
    features, labels, weights = rows()
    space = sl.parse("stage last = GaussianNB | KNeighborsClassifier")
    found = sl.search(space, features, labels, sample_weight=weights, **OPTIONS)
    reasons = [*found.trials["reason"].dropna().loc[lambda each: each != ""]]
    assert reasons == ["TypeError: `KNeighborsClassifier` does not support sample weights"]


WRONG: dict[str, Any] = {
    "have the shape (3,), but there are 120 rows": [1.0, 2.0, 3.0],
    "is negative or not finite": np.full(ROWS, -1.0),
    "all sample weights are 0": np.zeros(ROWS),
    "are not numbers": ["a"] * ROWS,
}


@pytest.mark.parametrize("reason", WRONG)
def test_wrong_weights_are_refused(reason: str) -> None:
    features, labels, _ = rows()
    with pytest.raises(DataError) as raised:
        sl.search(sl.parse(WEIGHTED), features, labels, sample_weight=WRONG[reason], **OPTIONS)
    assert reason in raised.value.message


def test_a_run_is_resumed_with_the_same_weights_only(tmp_path: Path) -> None:
    features, labels, weights = rows()
    given: dict[str, Any] = {**OPTIONS, "store": tmp_path / "run.db", "trials": 1}
    sl.search(sl.parse(WEIGHTED), features, labels, sample_weight=weights, **given)
    more = {**given, "resume": True, "trials": 2}
    assert len(sl.search(sl.parse(WEIGHTED), features, labels, sample_weight=weights, **more).trials) == 2
    with pytest.raises(InputError, match="`sample_weight`"):
        sl.search(sl.parse(WEIGHTED), features, labels, **more)
    lines = ["x0,x1,target", *(f"{one},{other},{label}" for (one, other), label in zip(features, labels, strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    again = reopen_run(tmp_path / "run.db", data=str(tmp_path / "rows.csv"))
    assert (again.objective.dataset.weights == weights).all()
    text = pipeline_module_text(again.unfitted_pipeline(again.trial_of_rank(1)), again.objective, ())
    module: dict[str, Any] = {}
    exec(text, module)
    table = pd.read_csv(tmp_path / "rows.csv")
    fitted, whole = module["fit"](table, table["target"], weights), again.fit_pipeline(again.trial_of_rank(1))
    assert (fitted.predict(module["take"](table)) == whole.predict(table[["x0", "x1"]])).all()
    with pytest.raises(ValueError, match="`sample_weight` cannot be used with an objective: leave it out"):
        sl.search(sl.parse(WEIGHTED), objective=len, sample_weight=weights, trials=1)
