"""Callbacks of a search are called with each finished trial and may stop it; runs are logged."""

import logging
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_iris

import spacelang as sl
from spacelang.runtime.storage.store import Store

SPACE = "space s stage estimator = GaussianNB | KNeighborsClassifier { n_neighbors : int[1, 30] = 5 }"


def squared(configuration: dict[str, Any]) -> float:
    """The loss of a configuration, which fails for 13 neighbours."""
    number = configuration.get("estimator.n_neighbors", 1)
    if number == 13:
        raise ValueError("unlucky")
    return float((number - 7) ** 2)


def search(**options: Any) -> sl.Result:
    return sl.search(
        sl.parse(SPACE), objective=squared, **{"optimizer": "random", "trials": 12, "workers": 0} | options
    )


def test_callbacks_get_the_trials_as_the_result_lists_them() -> None:
    seen: list[sl.FinishedTrial] = []
    found = search(callbacks=[seen.append])
    table = found.trials
    assert [each.number for each in seen] == [*table.index]
    assert [each.loss for each in seen] == [*table["loss"]]
    assert [each.finished_at_seconds for each in seen] == [*table["finished"]]
    assert [(each.status, each.evaluation_seconds, each.fidelity, each.reason) for each in seen] == [
        ("success", cost, None, "") for cost in table["cost"]
    ]
    assert tuple(each.configuration for each in seen) == found.configurations
    assert [each.best_loss for each in seen] == [*table["loss"].cummin()]
    assert [each.number for each in seen if each.is_best] == [*found.incumbent["trial"]]


def test_a_callback_stops_a_run_whose_pipeline_is_fitted_nevertheless() -> None:
    features, labels = load_iris(return_X_y=True)
    given = {"trials": 20, "workers": 0, "ensemble": 0, "optimizer": "random"}
    found = sl.search(sl.parse(SPACE), features, labels, callbacks=[lambda trial: trial.number == 3], **given)
    assert (len(found.trials), found.outcome.ended) == (3, "stopped")
    assert found.best_pipeline.predict(features).shape == labels.shape


def test_callbacks_get_scores() -> None:
    """In the direction of the metric, as they are shown everywhere else."""
    features, labels = load_iris(return_X_y=True)
    seen: list[sl.FinishedTrial] = []
    given = {"trials": 4, "workers": 0, "optimizer": "random", "metric": "accuracy", "ensemble": 0}
    found = sl.search(sl.parse(SPACE), features, labels, callbacks=[seen.append], **given)
    assert [each.score for each in seen] == [*1 - found.trials["loss"]]
    assert seen[-1].best_score == found.score == found.incumbent["score"].iloc[-1]
    assert repr(seen[0]) == f"FinishedTrial(trial 1, accuracy {seen[0].score:.6g}, the best so far)"
    failed: list[sl.FinishedTrial] = []
    search(callbacks=[failed.append], trials=29)
    unlucky = next(each for each in failed if each.loss is None)
    assert unlucky.score is None
    assert repr(unlucky).startswith(f"FinishedTrial(trial {unlucky.number}, error: ValueError: unlucky, best loss ")


def test_an_error_of_a_callback_ends_the_run_in_order(tmp_path: Path) -> None:
    store, seen = tmp_path / "run.db", list[int]()

    def broken(trial: sl.FinishedTrial) -> None:
        seen.append(trial.number)
        if trial.number == 4:
            raise KeyError("oh")

    with pytest.raises(KeyError, match="oh") as raised:
        search(store=store, callbacks=[broken])
    assert raised.value.__notes__ == ["raised by a callback after trial 4, which ended the run"]
    with Store.read(store) as run:
        assert [session.ending for session in run.sessions] == ["stopped"]
        assert len([*run.records()]) == 4
    found = search(store=store, resume=True, callbacks=[lambda trial: seen.append(trial.number)])
    assert seen == [*range(1, 13)]
    assert len(found.trials) == 12
    assert [*found.trials["loss"]] == [*search().trials["loss"]]


def test_a_callback_that_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="`callbacks` takes a list of functions of a finished trial, not a `function`"):
        search(callbacks=squared)


def test_runs_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="spacelang"):
        found = search(trials=60, initial={"estimator": "KNeighborsClassifier", "estimator.n_neighbors": 13})
    lines = [(record.levelname, record.message) for record in caplog.records if record.name == "spacelang.run"]
    assert lines[0] == ("INFO", "s with random: started; limit: 60 trials")
    assert lines[1][1].startswith("s with random: trial 1 failed (error): ValueError: unlucky")
    best = found.outcome.best
    assert best is not None
    improved = f"s with random: trial {best.index} is the best so far: loss {found.loss:.6g} in "
    assert any(level == "INFO" and text.startswith(improved) for level, text in lines)
    assert len(lines) == 2 + len(found.trials)
    assert lines[-1][1].endswith(f"best: loss {found.loss:.6g}")
