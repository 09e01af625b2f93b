"""Stores of runs whose spaces kept everything that has no meaning for their data: `tests/golden/unreduced_stores`.

spacelang 0.2 wrote them. They are never rewritten: a resumed run searches the space that its store defines.
"""

from pathlib import Path
from shutil import copy
from typing import Any

import pandas as pd
import pytest
from goldens import FOLDER, machine

import spacelang as sl
from spacelang.api.reopened_runs import reopen_run
from spacelang.runtime.storage.store import Store, StoreError

STORES = FOLDER / "unreduced_stores"
STORED = 4  # The number of trials in each store
COMPUTED_ON = "openblas Haswell X86_V3 glibc 2.36 x86_64"
"""The machine that made the stores: others draw numbers on a logarithmic scale that differ in the last bit."""
SPACE = """\
stage reader = TfidfVectorizer { min_df : int[1, 3] } | CountVectorizer { binary : bool }
stage scaler = StandardScaler | MinMaxScaler
stage estimator = GaussianNB | KNeighborsClassifier {
  n_neighbors : int[1, min(9, n_samples)] = 5
  weights     : {uniform, distance} when n_samples > 1000
}
pipeline = columns(numeric: scaler, "^x": scaler, text: reader, datetime: OrdinalEncoder, rest: OrdinalEncoder)
           -> estimator
forbid reader is CountVectorizer and estimator is GaussianNB
"""
LOST = {"scaler_2", "reader"}
"""Decisions of the space that have no meaning for the table."""


def table() -> tuple[pd.DataFrame, pd.Series]:
    """Numbers without missing values and a category, and labels."""
    rows = range(60)
    features = pd.DataFrame(
        {
            "size": [float((7 * row) % 60) for row in rows],
            "width": [float((11 * row) % 17) for row in rows],
            "town": [("Rome", "Oslo", "Bonn")[row % 3] for row in rows],
        }
    )
    return features, pd.Series([("no", "yes")[row % 7 > 2] for row in rows], name="label")


def search(space: str | None, store: Path, trials: int) -> sl.Result:
    """Start a run, or resume it until there are so many trials."""
    arguments: dict[str, Any] = {"optimizer": "random", "seed": 3, "workers": 0, "validate": "holdout(0.3)"}
    return sl.search(space, *table(), trials=trials, store=store, resume=True, **arguments)


def configurations(store: Path) -> list[dict[str, Any]]:
    """The configurations of a store, in order."""
    with Store.read(store) as run:
        return [record.trial.request.configuration.to_dict() for record in run.records()]


@pytest.mark.parametrize(("name", "space"), [("named", SPACE), ("default", None)])
def test_a_stored_run_is_resumed_with_the_space_that_it_was_bound_to(
    name: str, space: str | None, tmp_path: Path
) -> None:
    if space is None and machine() != COMPUTED_ON:
        pytest.skip(f"computed with {COMPUTED_ON}")
    place = tmp_path / "run.db"
    copy(STORES / f"{name}.db", place)
    before = configurations(place)
    assert len(before) == STORED
    search(space, place, STORED + 2)
    after = configurations(place)
    assert after[:STORED] == before
    lost = LOST if space else {"reader", "calendar", "imputer.strategy"}
    assert len(after) == STORED + 2
    assert all(lost <= each.keys() for each in after)


def test_a_new_run_with_the_same_space_is_without_what_has_no_meaning(tmp_path: Path) -> None:
    search(SPACE, tmp_path / "run.db", 3)
    assert not any(LOST & each.keys() for each in configurations(tmp_path / "run.db"))
    search(SPACE, tmp_path / "run.db", 4)
    assert not any(LOST & each.keys() for each in configurations(tmp_path / "run.db"))


def test_another_space_is_still_refused(tmp_path: Path) -> None:
    copy(STORES / "named.db", tmp_path / "run.db")
    with pytest.raises(StoreError, match="belongs to another run"):
        search(SPACE.replace("int[1, 3]", "int[1, 4]"), tmp_path / "run.db", STORED + 1)


@pytest.mark.parametrize("name", ["named", "default"])
def test_the_pipelines_of_a_stored_run_are_built_as_before(name: str, tmp_path: Path) -> None:
    copy(STORES / f"{name}.db", tmp_path / "run.db")
    features, labels = table()
    features.assign(label=labels).to_csv(tmp_path / "table.csv", index=False)
    finished = reopen_run(tmp_path / "run.db", data=str(tmp_path / "table.csv"), target="label")
    steps = dict(finished.unfitted_pipeline(finished.trial_of_rank(1)).steps)
    names = [entry[0] for entry in steps["columntransformer"].transformers]
    assert {"numeric", "datetime"} <= {*names}
