"""Scorers that a program gives as objects: they get its labels, and runs are resumed with the same ones only."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    fbeta_score,
    get_scorer,
    get_scorer_names,
    log_loss,
    make_scorer,
    mean_pinball_loss,
    mean_squared_error,
)

import spacelang as sl
from spacelang.api.reopened_runs import reopen_run
from spacelang.runtime.errors import InputError
from spacelang.runtime.scoring.user_functions import scorer_fingerprint, scorer_metric, sklearn_scorer_name

SPACE = "stage estimator = GaussianNB | DecisionTreeClassifier { max_depth : int[1, 6] = 3 }"
OPTIONS: dict[str, Any] = {"trials": 4, "workers": 0, "optimizer": "random", "validate": "holdout(0.5)"}
CLASSES = ("no", "yes")


def rows() -> tuple[Any, Any]:
    """Rows whose labels are words."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 3))
    return features, np.where(features[:, 0] + rng.normal(size=200) / 2 > 0.8, "yes", "no")


def profit(estimator: Any, features: Any, labels: Any) -> float:
    """A scorer that is a plain function, and that knows the labels of the user."""
    said = estimator.predict(features)
    return float(np.mean((said == "yes") * np.where(labels == "yes", 3.0, -1.0)))


def another_profit() -> Any:
    """A scorer with the same name and other source."""

    def profit(estimator: Any, features: Any, labels: Any) -> float:
        return float(np.mean(estimator.predict(features) == labels))

    return profit


SCORERS = {
    "f2": make_scorer(fbeta_score, beta=2, pos_label="yes"),
    "proba": make_scorer(fbeta_score, beta=0.5, pos_label="no", response_method="predict"),
    "profit": profit,
}


@pytest.mark.parametrize("name", SCORERS)
def test_a_scorer_gets_the_labels_of_the_user(name: str) -> None:
    features, labels = rows()
    codes = (labels == "yes").astype(int)
    fitted = LogisticRegression().fit(features, labels)
    metric = scorer_metric(SCORERS[name], CLASSES)
    assert metric.formula == ("1 - profit" if name == "profit" else "1 - fbeta_score")
    loss = metric.loss(LogisticRegression().fit(features, codes), features, codes)
    assert loss == pytest.approx(1 - SCORERS[name](fitted, features, labels))


@pytest.mark.parametrize("name", get_scorer_names())
def test_a_scorer_of_scikit_learn_is_the_one_with_its_name(name: str) -> None:
    assert scorer_metric(get_scorer(name), ()).name in {name, sklearn_scorer_name(get_scorer(name))}


def test_errors_are_minimized_and_names_are_not_taken_twice() -> None:
    pinball = scorer_metric(make_scorer(mean_pinball_loss, greater_is_better=False, alpha=0.9), ())
    assert (pinball.name, pinball.formula) == ("neg_mean_pinball_loss", "mean_pinball_loss")
    squared = scorer_metric(make_scorer(mean_squared_error, greater_is_better=False), ())
    assert (squared.name, squared.formula) == ("neg_mean_squared_error", "mean_squared_error")
    weighted = make_scorer(log_loss, greater_is_better=False, response_method="predict_proba", normalize=False)
    assert scorer_metric(weighted, CLASSES).formula == "own_log_loss"
    assert scorer_metric(make_scorer(accuracy_score), CLASSES).formula == "1 - accuracy"


def test_a_search_maximizes_a_scorer_and_tests_with_it() -> None:
    features, labels = rows()
    found = sl.search(sl.parse(SPACE), features, labels, metric=profit, test=0.3, ensemble=4, **OPTIONS)
    assert found.objective.metric.formula == "1 - profit"
    assert found.test is not None
    assert found.test.loss is not None
    assert found.test.low is not None
    assert found.ensemble_loss is not None
    assert found.leaderboard(1)["low"].notna().all()
    numbers = sl.search(
        sl.parse("stage model = Ridge { alpha : float[0.1, 10] = 1 }"),
        *load_diabetes(return_X_y=True),
        metric=make_scorer(mean_pinball_loss, greater_is_better=False, alpha=0.9),
        **OPTIONS,
    )
    assert numbers.loss is not None
    assert numbers.loss > 1


def test_a_run_is_resumed_with_the_same_scorer_only(tmp_path: Path) -> None:
    features, labels = rows()
    given: dict[str, Any] = {**OPTIONS, "store": tmp_path / "run.db", "predictions": True}
    sl.search(sl.parse(SPACE), features, labels, metric=profit, **given)
    more = {**given, "resume": True, "trials": 6}
    assert len(sl.search(sl.parse(SPACE), features, labels, metric=profit, **more).trials) == 6
    with pytest.raises(InputError, match="`scorer`"):
        sl.search(sl.parse(SPACE), features, labels, metric=another_profit(), **more)
    table = np.column_stack([features, labels]).tolist()
    lines = ["x0,x1,x2,target", *(",".join(map(str, row)) for row in table)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    again = reopen_run(tmp_path / "run.db", data=str(tmp_path / "rows.csv"))
    assert again.fit_pipeline(again.trial_of_rank(1)).predict(again.objective.dataset.features).shape == labels.shape
    assert not again.is_metric_known
    with pytest.raises(InputError, match="a function of the Python program that started the run"):
        again.select_ensemble()
    trusted = reopen_run(tmp_path / "run.db", data=str(tmp_path / "rows.csv"), allow=[__name__])
    assert trusted.is_metric_known
    assert trusted.select_ensemble(2).members


def test_functions_that_differ_in_their_values_are_other_scorers() -> None:
    def weighted(beta: float) -> Any:
        return lambda labels, said: fbeta_score(labels, said, beta=beta)

    makers = (weighted, lambda beta: partial(fbeta_score, beta=beta))
    for make in makers:
        one, again, other = (scorer_fingerprint(make_scorer(make(beta))) for beta in (1, 1, 2))
        assert one == again != other


def test_a_comparison_takes_names_of_scorers_only() -> None:
    with pytest.raises(TypeError, match="`metric` takes the name of one of scikit-learn's scorers, not a `function`"):
        sl.compare(SPACE, {"a": "sklearn:iris"}, ["random"], metric=profit)  # type: ignore[arg-type]
