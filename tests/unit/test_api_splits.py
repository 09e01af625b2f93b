"""Searches on rows that belong together, in Python: the loss is that for new groups, and stores keep the splits."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, ShuffleSplit, TimeSeriesSplit

import spacelang as sl
from spacelang.api.reopened_runs import reopen_run
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.runtime.errors import DataError, MetricError
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.storage.store import StoreError

SPACE = sl.parse(
    "space s\nstage estimator = KNeighborsClassifier { n_neighbors : int[1, 5] = 1 } | DecisionTreeClassifier"
)
LINES = sl.parse("space r\nstage estimator = Ridge | LinearRegression")
RNG = np.random.default_rng(0)
SUBJECTS, REPEATS = 40, 10
WHO = np.repeat(np.arange(SUBJECTS), REPEATS)
ORDER = RNG.permutation(len(WHO))
DATA = pd.DataFrame(RNG.normal(size=(SUBJECTS, 4))[WHO] + 1e-3 * RNG.normal(size=(len(WHO), 4)), columns=[*"abcd"])
DATA = DATA.assign(subject=WHO).iloc[ORDER].reset_index(drop=True)
LABELS = pd.Series(RNG.permutation(np.arange(SUBJECTS) % 2)[WHO][ORDER], name="y")
"""40 subjects with 10 nearly identical rows each and random labels: nothing can be learned about new subjects."""
PLAIN: Any = {"optimizer": "random", "trials": 4, "workers": 0, "seed": 0}
TIMES = np.arange(60)
SERIES = pd.DataFrame({"a": RNG.normal(size=60), "day": pd.date_range("2024-01-01", periods=60)}).iloc[::-1]
VALUES = (SERIES["a"] + TIMES[::-1] / 20).to_numpy()


def test_a_random_split_is_misled_and_says_so() -> None:
    with pytest.warns(UserWarning, match=r"`subject` looks like an identifier .* `validate='cv\(5, group=subject\)'`"):
        found = sl.search(SPACE, DATA, LABELS, test=0.2, **PLAIN)
    assert found.loss == 0
    assert found.test is not None
    assert found.test.loss == 0


@pytest.mark.parametrize(
    "options",
    [
        {"validate": "cv(5, group=subject)"},
        {"validate": "holdout(0.4, group=subject)"},
        {"groups": DATA["subject"]},
        {"validate": GroupKFold(5), "groups": DATA["subject"]},
        {"validate": LeaveOneGroupOut(), "groups": DATA["subject"], "metric": "accuracy"},
    ],
    ids=["cv", "holdout", "default", "GroupKFold", "LeaveOneGroupOut"],
)
def test_groups_are_kept_together_and_the_loss_is_that_of_guessing(options: Any) -> None:
    found = sl.search(SPACE, DATA, LABELS, test=0.3, **{**PLAIN, **options})
    assert found.loss > 0.3
    assert found.test is not None
    assert found.test.loss > 0.2
    assert "subject" not in found.objective.dataset.features.columns
    assert len(found.best_pipeline.predict(DATA)) == len(DATA), "the column may be there"
    rows = found.objective.dataset.relations.groups
    assert rows is not None
    assert 24 <= rows.max() + 1 <= 32, "about 70 % of the subjects train"


def test_groups_apply_to_validations_by_name() -> None:
    groups = DATA["subject"].to_numpy()
    features = DATA.drop(columns="subject")
    found = sl.search(SPACE, features, LABELS, groups=groups, validate="holdout(0.3)", **PLAIN)
    assert found.objective.validation == Holdout(0.3, "groups")
    found = sl.search(SPACE, features, LABELS, groups=groups, **PLAIN)
    assert found.objective.validation == CrossValidation(5, "groups")


def test_later_rows_are_held_out_and_tested() -> None:
    found = sl.search(LINES, SERIES, VALUES, validate="time(3, by=day)", test=0.25, **PLAIN)
    objective = found.objective
    assert objective.tested is not None
    assert [*objective.dataset.features.columns] == ["a"]
    assert set(objective.tested.target) == set(VALUES[:15]), "the latest quarter, which is first in the table"
    again = sl.search(
        LINES,
        SERIES.drop(columns="day").iloc[::-1],
        VALUES[::-1],
        test=0.25,
        **PLAIN | {"validate": TimeSeriesSplit(3)},
    )
    assert again.objective.tested is not None
    assert set(again.objective.tested.target) == set(VALUES[:15])


def test_a_time_that_is_kept_is_a_feature_and_test_rows_of_a_file_are_later(tmp_path: Path) -> None:
    given = SERIES.assign(day=SERIES["day"].dt.day_of_year)
    found = sl.search(LINES, given, VALUES, validate="time(3, by=day, keep)", test="0.25", **PLAIN)
    assert [*found.objective.dataset.features.columns] == ["a", "day"]
    given.assign(target=VALUES).head(5).to_csv(tmp_path / "later.csv", index=False)
    run: Any = {"validate": "time(3, by=day)", "test": str(tmp_path / "later.csv"), **PLAIN}
    assert sl.search(LINES, given.iloc[5:], VALUES[5:], **run).test is not None
    with pytest.raises(DataError, match=r"5 of the 5 rows of `later\.csv` are earlier than training rows \(by `day`\)"):
        sl.search(LINES, given.assign(day=given["day"] + 99), VALUES, **run)


def test_the_latest_rows_are_those_of_a_low_fidelity() -> None:
    found = sl.search(LINES, SERIES, VALUES, validate="holdout(0.5, by=day)", **PLAIN)
    fold = found.objective._folds[0]
    assert set(fold.training_rows(5, own=False)[1]) == set(VALUES[30:35])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"validate": GroupKFold(5)}, DataError, "cannot split the 400 rows: ValueError: The 'groups' parameter"),
        ({"groups": WHO[:5]}, DataError, r"`groups` has the shape \(5,\), but there are 400 rows"),
        ({"groups": WHO, "validate": "cv(5, group=subject)"}, ValueError, "names the column `subject` of groups"),
        ({"groups": WHO, "validate": "time(5, by=a)"}, DataError, "cannot keep groups together"),
        (
            {"groups": WHO // 4, "validate": "cv(11)"},
            DataError,
            "`groups` forms 10 groups, but the split needs",
        ),
        ({"validate": LeaveOneGroupOut(), "groups": DATA["subject"]}, MetricError, "`roc_auc` is undefined on split 1"),
        ({"validate": KFold(3), "groups": WHO}, DataError, "puts rows of one group on both sides of a split"),
        ({"validate": "cv(5, group=nobody)"}, DataError, "has no column `nobody`"),
    ],
)
def test_what_cannot_be_split_is_refused(options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        sl.search(SPACE, DATA, LABELS, **PLAIN, **options)
    with pytest.raises(ValueError, match="`groups` cannot be used with an objective"):
        sl.search(SPACE, objective=lambda _: 1.0, groups=WHO, trials=1)
    with pytest.raises(TypeError, match="takes a text here"):
        sl.compare(SPACE, {"data": (DATA, LABELS)}, ["random"], validate=KFold(3))


@pytest.mark.parametrize(
    "options",
    [
        {"validate": GroupKFold(4), "groups": DATA["subject"]},
        {"validate": ShuffleSplit(3)},
        {"groups": DATA["subject"]},
    ],
    ids=["groups", "drawn", "default"],
)
def test_a_store_keeps_the_splits(options: Any, tmp_path: Path) -> None:
    run: Any = PLAIN | options | {"store": tmp_path / "run.db", "test": 0.2}
    features = DATA if "groups" in options else DATA.drop(columns="subject")
    first = sl.search(SPACE, features, LABELS, **run)
    resumed = sl.search(SPACE, features, LABELS, **run | {"resume": True, "trials": 5})
    assert [each.trial.loss for each in resumed.outcome.records][:4] == [
        each.trial.loss for each in first.outcome.records
    ]
    kept = [fold.rows.tolist() for fold in first.objective._folds]
    pd.concat([DATA.drop(columns="subject"), LABELS], axis=1).to_csv(tmp_path / "data.csv", index=False)
    reopened = reopen_run(tmp_path / "run.db", data=str(tmp_path / "data.csv"), target="y")
    assert [fold.rows.tolist() for fold in reopened.objective._folds] == kept
    with pytest.raises(StoreError, match="belongs to another run: validation: "):
        sl.search(SPACE, features, LABELS, **run | {"resume": True, "validate": "holdout(0.25)"})


def test_the_estimator_gives_few_rows_as_whole_groups() -> None:
    search = sl.SpaceSearchCV(SPACE, optimizer="hyperband", trials=6, cv=GroupKFold(3), random_state=0)
    search.fit(DATA.drop(columns="subject"), LABELS, groups=DATA["subject"])
    assert search.best_score_ < 0.75
    task = sl.parse("stage e = GaussianNB\ntask classification { validate cv(5, group=subject) }")
    with pytest.raises(ValueError, match="pass `cv`, and `groups` to `fit`"):
        sl.SpaceSearchCV(task, trials=1).fit(DATA, LABELS)


@pytest.mark.parametrize("options", [{"groups": DATA["subject"][:300]}, {"validate": "cv(4, group=subject)"}])
def test_other_test_rows_are_resampled_in_their_groups(options: Any) -> None:
    other = DATA[300:].assign(subject=DATA["subject"][300:] + SUBJECTS)
    few = other.assign(subject=SUBJECTS)
    for rows, count in ((other, other["subject"].nunique()), (few, 1)):
        found = sl.search(SPACE, DATA[:300], LABELS[:300], test=(rows, LABELS[300:]), **PLAIN, **options)
        assert found.test is not None
        assert isinstance(found.objective, DataObjective)
        assert found.objective.tested is not None
        groups = found.objective.tested.relations.groups
        assert groups is not None
        assert len(np.unique(groups)) == count
        assert (found.test.reason == "no interval: the rows are of 1 group only") == (count == 1)
