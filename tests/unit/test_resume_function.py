"""`sl.resume`: a run continues from its store as if it had not been stopped, with what its program gave."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.model_selection import GroupKFold, TimeSeriesSplit

import spacelang as sl
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.data.row_relations import attach_stored_relations, serialize_splits_and_relations
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.storage.run_header import WEIGHTS_SETTING, DataFacts, RunHeader
from spacelang.runtime.storage.store import StoreError

SPACE = "stage estimator = GaussianNB | DecisionTreeClassifier { max_depth : int[1, 6] = 3 }"
OPTIONS: dict[str, Any] = {"optimizer": "random", "workers": 0, "trials": 3}
F2 = make_scorer(fbeta_score, beta=2)
FACTS = DataFacts("data", 3, 1, "")


def rows() -> tuple[pd.DataFrame, Any, Any, Any]:
    """Return features, labels, weights and groups of 60 rows."""
    rng = np.random.default_rng(0)
    features = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "subject"])
    groups = rng.integers(0, 9, 60)
    return features, (features["a"] + rng.normal(size=60) > 0).astype(int).rename("target"), rng.random(60), groups


PROGRAMS: dict[str, dict[str, Any]] = {
    "scorer": {"metric": F2, "validate": "holdout(0.3)"},
    "weights": {"sample_weight": rows()[2], "test": 0.2},
    "groups": {"groups": rows()[3]},
    "named groups": {"groups": pd.Series(rows()[3], name="subject"), "validate": "cv(3)"},
    "splitter": {"validate": GroupKFold(3), "groups": rows()[3], "metric": F2},
    "series": {"validate": TimeSeriesSplit(3)},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_resumed_run_is_as_one_that_was_not_stopped(name: str, tmp_path: Path) -> None:
    (features, labels, _, _), given, store = rows(), PROGRAMS[name], tmp_path / "run.db"
    whole = sl.search(SPACE, features, labels, **{**OPTIONS, **given, "trials": 6})
    sl.search(SPACE, features, labels, store=store, **OPTIONS, **given)
    file = tmp_path / "rows.csv"
    features.assign(target=labels).to_csv(file, index=False)
    resumed = sl.resume(store, features, labels, trials=5, workers=0)
    resumed = sl.resume(store, data=str(file), trials=6)
    assert resumed.trials["loss"].tolist() == whole.trials["loss"].tolist()
    assert resumed.score_name == whole.score_name
    assert (resumed.best_pipeline.predict(features) == whole.best_pipeline.predict(features)).all()


def test_what_only_the_program_has_is_asked_for_by_name(tmp_path: Path) -> None:
    (features, labels, _, _), store = rows(), tmp_path / "run.db"
    scorer = make_scorer(lambda labels, answers: float(np.mean(labels == answers)))
    sl.search(SPACE, features, labels, metric=scorer, store=store, **OPTIONS)
    with pytest.raises(StoreError, match="used the scorer of a Python program") as caught:
        sl.resume(store, features, labels, trials=5)
    assert caught.value.help.endswith(f"`sl.resume({str(store)!r}, features, target, metric=…, trials=6)`")
    with pytest.raises(DataError, match="came from a Python program"):
        sl.resume(store, metric=scorer, trials=5)
    assert len(sl.resume(store, features, labels, metric=scorer, trials=5).trials) == 5
    other = make_scorer(lambda labels, answers: float(np.mean(labels != answers)))
    with pytest.raises(InputError, match="`scorer`"):
        sl.resume(store, features, labels, metric=other, trials=6)
    with pytest.raises(TypeError, match="`trials` takes a whole number"):
        sl.resume(store, features, labels, trials="many")


def test_limits_are_those_of_the_run(tmp_path: Path) -> None:
    features, labels, _, _ = rows()
    sl.search(SPACE, features, labels, store=tmp_path / "run.db", **OPTIONS)
    with pytest.raises(StoreError, match="has used up its budget of `--trials`"):
        sl.resume(tmp_path / "run.db", features, labels)


def header_with(text: str) -> RunHeader:
    """Return the header of a run whose store has this text for the weights."""
    return RunHeader("s", "", "", FACTS, "m", "cv(2)", (), 1, 0, "random", data_options={WEIGHTS_SETTING: text})


def test_damaged_weights_are_refused() -> None:
    table = make_table(np.zeros((3, 1)), [0, 1, 1])
    weighted = make_table(np.zeros((3, 1)), [0, 1, 1])
    object.__setattr__(weighted, "weights", np.array([1.0, 0.25, 3.0]))
    text = serialize_splits_and_relations((), weighted, None)[WEIGHTS_SETTING]
    found = attach_stored_relations(table, header_with(text)).weights
    assert found is not None
    assert found.tolist() == [1.0, 0.25, 3.0]
    described, content = json.loads(text)
    wrong = {
        "do not match their checksum": json.dumps([described.replace("content ", "content 0"), content]),
        "has invalid weights": json.dumps([described, content[:-8]]),
        "has invalid": '["3 weights"]',
        "has invalid splits": "no JSON",
    }
    for reason, damaged in wrong.items():
        with pytest.raises(DataError, match=reason):
            attach_stored_relations(table, header_with(damaged))
    with pytest.raises(DataError, match="3 sample weights, and there are 2 rows"):
        attach_stored_relations(make_table(np.zeros((2, 1)), [0, 1]), header_with(text))
