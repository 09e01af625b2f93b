"""The time of `SpaceSearchCV`: the search ends early enough for the fit of the best pipeline on all rows."""

from dataclasses import replace
from itertools import starmap
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold

import spacelang as sl
from spacelang.api import sklearn_search
from spacelang.api.experiment import Experiment
from spacelang.api.search_data import TabularData
from spacelang.api.sklearn_search import FixedSplitter, SklearnSearchState
from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.evaluation.splits import Split
from spacelang.runtime.pipelines.estimator import SpaceEstimator
from spacelang.runtime.run_deadline import FIT_MARGIN, PRIOR_EXPONENT

FEATURES, LABELS = load_iris(return_X_y=True)


def running(budget: Budget, *, refits: bool = True) -> SklearnSearchState:
    """Return a search that started two seconds after `fit` was called, and has evaluated one trial."""
    splits = [*StratifiedKFold(2).split(FEATURES, LABELS)]
    table = replace(make_table(FEATURES, LABELS), splits=tuple(starmap(Split, splits)))
    space = sl.parse("stage scaler = none | StandardScaler\nstage e = GaussianNB\n")
    prepared = Experiment(space=space, data=TabularData(table)).with_optimizer("random").prepare()
    estimator, data = SpaceEstimator(prepared.space.checked), (FEATURES, LABELS)
    return SklearnSearchState(
        prepared, estimator, data, FixedSplitter(splits), budget, 0.0, refits, search_started=2.0, evaluated=1
    )


def trial(run: SklearnSearchState, loss: float | None, cost: float) -> Trial:
    status = Status.ERROR if loss is None else Status.SUCCESS
    return Trial(Request(run.prepared.space.default()), loss, cost, status)


@pytest.mark.parametrize("refits", [True, False])
def test_the_final_fit_is_reserved(refits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    run, now = running(Budget(answer_seconds=20.0), refits=refits), [2.0]
    monkeypatch.setattr(sklearn_search, "perf_counter", lambda: now[0])
    assert run.has_time_left
    run.update_final_fit_reserve(trial(run, None, 99.0), float("nan"))
    run.update_final_fit_reserve(trial(run, 0.1, 8.0), 0.9)
    run.update_final_fit_reserve(trial(run, 0.5, 99.0), 0.5)  # not the best one
    fit = FIT_MARGIN * 4 * 2**PRIOR_EXPONENT
    ends = 20 - fit if refits else 20.0
    for seconds, is_left in ((ends - 0.1, True), (ends + 0.1, False)):
        now[0] = seconds
        assert run.has_time_left == is_left


def test_the_first_trial_is_evaluated_however_slow_the_start_was(monkeypatch: pytest.MonkeyPatch) -> None:
    run = running(Budget(answer_seconds=20.0))
    monkeypatch.setattr(sklearn_search, "perf_counter", lambda: 99.0)
    assert not run.has_time_left
    assert replace(run, evaluated=0).has_time_left


def test_the_time_of_the_search_alone_reserves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    run, now = running(Budget(seconds=20.0)), [2.0]
    monkeypatch.setattr(sklearn_search, "perf_counter", lambda: now[0])
    run.update_final_fit_reserve(trial(run, 0.1, 8.0), 0.9)
    for seconds, is_left in ((21.9, True), (22.1, False)):
        now[0] = seconds
        assert run.has_time_left == is_left


@pytest.mark.parametrize("options", [{"time": "20s"}, {"search_time": 0.5}])
def test_both_times_are_options(options: dict[str, Any]) -> None:
    space = sl.parse("stage scaler = none | StandardScaler\nstage e = GaussianNB\n")
    found = sl.SpaceSearchCV(space, optimizer="blds", random_state=0, cv=2, **options).fit(FEATURES, LABELS)
    assert np.mean(found.predict(FEATURES) == LABELS) > 0.9
