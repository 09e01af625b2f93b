"""Predictions in a store: kept with their trial or not at all, and never anything else than what was written."""

import sqlite3
import tempfile
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storing import header, read, stored, trial
from trying import few

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Bound, BoundedMeasure, FunctionBound
from spacelang.ir.trial import Measurement, Request, Status, Trial
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage import optional_tables
from spacelang.runtime.storage.records import PREDICTIONS, TABLES
from spacelang.runtime.storage.run_listing import trials_to_frame
from spacelang.runtime.storage.store import Store, StoreError
from spacelang.runtime.storage.trial_columns import VERSION

ARRAYS = st.tuples(
    st.sampled_from([(3,), (4, 2), (2, 5), (1,), (0, 2)]), st.lists(st.floats(), min_size=10, max_size=10)
).map(lambda drawn: np.resize(np.array(drawn[1]), drawn[0]))


def filled(path: Path, arrays: list[np.ndarray | None]) -> Store:
    store = Store.create(path, header())
    for index, each in enumerate(arrays, 1):
        store.append(trial(index, predictions=each))
    return store


def same(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    if first is None or second is None:
        return first is second
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


@given(st.lists(st.none() | ARRAYS, min_size=1, max_size=6))
@settings(max_examples=few(20), deadline=None)
def test_what_was_kept_is_read_exactly(arrays: list[np.ndarray | None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        store = filled(path, arrays)
        kept = [store.predictions(number) for number in range(len(arrays) + 2)]
        store.close()
        again = Store.open(path, header())
        assert all(map(same, kept, [None, *arrays, None]))
        again.append(trial(len(arrays) + 1, predictions=np.eye(2)))
        again.end_session("budget", 1.0)
        with Store.read(path) as run:
            assert all(map(same, [run.predictions(number + 1) for number in range(len(arrays))], arrays))
            assert same(run.predictions(len(arrays) + 1), np.eye(2))
            assert list(run.records()) == [trial(index) for index in range(1, len(arrays) + 2)]


def test_arrays_of_every_order_and_type_are_64_bit_floats(tmp_path: Path) -> None:
    whole = np.arange(12, dtype=np.float32).reshape(3, 4)
    with filled(tmp_path / "run.db", [whole.T, whole[:, ::2], whole.astype(">f8"), [[1, 2], [3, 4]]]) as store:
        expected = (whole.T, whole[:, ::2], whole, np.array([[1.0, 2.0], [3.0, 4.0]]))
        for number, each in enumerate(expected, 1):
            found = store.predictions(number)
            assert np.array_equal(found, each)
            assert found.dtype == np.float64
            found[0, 0] = 7  # it is the reader's own


def test_a_store_without_predictions_is_as_it_always_was(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    made = stored(path, 3, "interrupted")
    assert layout(path) == (VERSION, list(TABLES))
    store = Store.open(path, made)
    assert store.predictions(2) is None
    store.append(trial(4, predictions=np.ones(3)))
    store.append(trial(5))
    store.end_session("budget", 1.0)
    assert layout(path) == (VERSION + 16, [*TABLES, PREDICTIONS])
    with Store.read(path) as run:
        assert [run.predictions(number) is None for number in range(1, 6)] == [True, True, True, False, True]
        assert run.count == len(list(run.records())) == 5


def layout(path: Path) -> tuple[int, list[str]]:
    with sqlite3.connect(path) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
    connection.close()
    return version, [sql for (sql,) in rows]


def test_a_reader_that_came_before_the_first_predictions_sees_them(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    store = Store.create(path, header())
    with Store.read(path) as run:
        for index in range(1, 80):
            store.append(trial(index, predictions=np.full(3, index) if index > 40 else None))
            assert run.count == len(list(run.records())) == index
            assert same(run.predictions(index), np.full(3, float(index)) if index > 40 else None)
    store.end_session("budget", 1.0)


SPOILS = {
    "another number": "UPDATE predictions SET numbers = zeroblob(24) WHERE trial = 2",
    "another shape": "UPDATE predictions SET shape = '[1, 3]' WHERE trial = 2",
    "another digest": "UPDATE predictions SET digest = zeroblob(16) WHERE trial = 2",
    "those of another trial": "UPDATE predictions SET (digest, shape, numbers) = "
    "(SELECT digest, shape, numbers FROM predictions WHERE trial = 3) WHERE trial = 2",
    "none": "DELETE FROM predictions WHERE trial = 2",
    "another trial": "UPDATE trials SET loss = 0 WHERE trial = 2",
}


@pytest.mark.parametrize("name", SPOILS)
def test_what_was_changed_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "run.db"
    filled(path, [np.full(3, float(index)) for index in range(3)]).end_session("budget", 1.0)
    with sqlite3.connect(path) as connection:
        connection.execute(SPOILS[name])
    connection.close()
    with Store.read(path) as run:
        assert same(run.predictions(1), np.zeros(3))
        with pytest.raises(StoreError, match=r"is damaged: .*trial 2.* not match .* checksum"):
            run.predictions(2)
    with pytest.raises(StoreError, match="is damaged"):
        Store.open(path, header())


@pytest.mark.parametrize(
    "spoil",
    ["DROP TABLE predictions", "INSERT INTO predictions SELECT 9, digest, shape, numbers FROM predictions LIMIT 1"],
)
def test_tables_and_rows_that_do_not_belong_are_refused(tmp_path: Path, spoil: str) -> None:
    path = tmp_path / "run.db"
    filled(path, [np.ones(3)]).end_session("budget", 1.0)
    with sqlite3.connect(path) as connection:
        connection.execute(spoil)
    connection.close()
    with pytest.raises(StoreError, match=r"is damaged: the tables|of trial 9, but not the trial"):
        Store.open(path, header())


class Interrupting:
    """A connection that interrupts before or after the n-th statement."""

    def __init__(self, connection: sqlite3.Connection, place: int, after: bool) -> None:
        self.connection, self.place, self.after = connection, place, after

    def execute(self, *arguments: object) -> object:
        self.place -= 1
        if self.place == 0 and not self.after:
            raise KeyboardInterrupt
        result = self.connection.execute(*arguments)
        if self.place == 0:
            raise KeyboardInterrupt
        return result

    def __getattr__(self, name: str) -> object:
        return getattr(self.connection, name)


@pytest.mark.parametrize("earlier", [0, 1], ids=["with the table", "without"])
@pytest.mark.parametrize("after", [False, True])
def test_an_interruption_at_any_place_leaves_trials_with_their_predictions(
    tmp_path: Path, earlier: int, after: bool
) -> None:
    for place in range(1, 20):
        store = filled(tmp_path / f"{place}.db", [np.eye(2)] * earlier)
        plain = store._connection
        store._connection = Interrupting(plain, place, after)
        try:
            store.append(trial(earlier + 1, predictions=np.eye(2)))
        except KeyboardInterrupt:
            pass
        else:
            break
        finally:
            store._connection = plain
        assert store.count in (earlier, earlier + 1)
        assert len(list(store.records())) == store.count
        store.append(trial(store.count + 1, predictions=np.eye(2)))
        assert all(same(store.predictions(number + 1), np.eye(2)) for number in range(store.count))
        store.end_session("interrupted", 1.0)
        assert len(read(store.path)) == store.count
    assert place > 5


def test_a_trial_that_is_refused_leaves_no_predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.db"
    store = filled(path, [np.ones(3)])
    with pytest.raises(ValueError, match="does not follow"):
        store.append(trial(3, predictions=np.ones(3)))
    monkeypatch.setattr(optional_tables, "MAX_BYTES", 100)
    with pytest.raises(ValueError, match="take 104 bytes, and a row holds at most 100"):
        store.append(trial(2, predictions=np.ones(13)))
    with pytest.raises(ValueError, match="could not convert"):
        store.append(trial(2, predictions=[["a"]]))
    store.append(trial(2, predictions=np.zeros(3)))
    store.end_session("budget", 1.0)
    with Store.read(path) as run:
        assert same(run.predictions(2), np.zeros(3))


def test_many_bytes_do_not_stay_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacelang.runtime.storage.store.CHECKPOINT_BYTES", 2**21)
    path = tmp_path / "run.db"
    store = filled(path, [np.full(2**16, float(number)) for number in range(32)])
    assert (tmp_path / "run.db-wal").stat().st_size < 2**23
    assert path.stat().st_size > 2**23
    store.close()
    again = Store.open(path, header())
    assert all(same(again.predictions(n + 1), np.full(2**16, float(n))) for n in range(32))
    again.end_session("budget", 1.0)


# ---- trials of a run


BOUNDS = (Bound(BoundedMeasure.SIZE, 10.0), FunctionBound("leaves", 3.0))
SCORES = st.floats(allow_nan=False) | st.just(nan)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def records(draw: st.DrawFn, index: int) -> TrialRecord:
    request = Request(Configuration({"x": index}), draw(st.none() | st.integers(1, 100)))
    cost, alone = draw(FINITE), draw(st.none() | FINITE)
    if draw(st.booleans()):
        failure = draw(st.sampled_from([status for status in Status if status is not Status.SUCCESS]))
        made = Trial(
            request, None, cost, failure, draw(st.text(st.characters(exclude_categories=["Cs"]))), cost_alone=alone
        )
    else:
        made = Trial(
            request,
            draw(FINITE),
            cost,
            constraints=tuple(Measurement(bound, draw(SCORES)) for bound in BOUNDS),
            cost_alone=alone,
            metrics=tuple((name, draw(SCORES)) for name in ("accuracy", "neg_log_loss")),
            training_loss=draw(st.none() | FINITE),
            predictions=draw(st.none() | ARRAYS),
        )
    return TrialRecord(
        index, made, draw(FINITE), draw(FINITE), draw(st.sampled_from(["", "w1"])), draw(st.integers(1, 3))
    )


@given(st.data())
@settings(max_examples=few(30), deadline=None)
def test_a_run_goes_on_with_the_trials_that_it_had(data: st.DataObject) -> None:
    told = [data.draw(records(index)) for index in range(1, data.draw(st.integers(1, 4)) + 1)]
    made = header(bounds=BOUNDS, settings={"metrics": '["accuracy", "neg_log_loss"]', "predictions": "true"})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        store = Store.create(path, made)
        assert store.stores_predictions
        for record in told:
            store.append(record)
        store.close()
        again = Store.open(path, made)
        assert list(map(comparable, again.records())) == list(map(comparable, told))
        assert all(same(again.predictions(record.index), record.trial.predictions) for record in told)
        table = trials_to_frame(again)
        again.end_session("budget", 1.0)
    assert table["status"].tolist() == [record.trial.status.value for record in told]
    assert table["worker"].tolist() == [record.worker for record in told]
    assert table["attempts"].tolist() == [record.attempts for record in told]
    for name in ("accuracy", "neg_log_loss"):
        assert str(table[f"metric.{name}"].dtype) == "float64"
        expected = [dict(record.trial.metrics).get(name, nan) for record in told]
        assert np.array_equal(table[f"metric.{name}"], expected, equal_nan=True)


def comparable(record: TrialRecord) -> TrialRecord:
    """The same with words for what is not equal to itself, and without what only says that nothing was shared."""
    made = record.trial
    return replace(
        record,
        trial=replace(
            made,
            constraints=tuple((each.bound, repr(each.value)) for each in made.constraints),
            metrics=tuple((name, repr(value)) for name, value in made.metrics),
            cost_alone=made.cost if made.cost_alone is None else made.cost_alone,
            predictions=None,
        ),
    )


def test_other_limits_or_names_of_functions_are_another_run(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    stored(path, 1, bounds=[FunctionBound("leaves", 3.0)])
    for other, said in ((FunctionBound("leaves", 4.0), "leaves <= 4"), (FunctionBound("nodes", 3.0), "nodes <= 3")):
        with pytest.raises(StoreError, match=f"bounds: `leaves <= 3` in the store, `{said}` now"):
            Store.open(path, header(bounds=[other]))
    with pytest.raises(StoreError, match=r'`metrics`: nothing in the store, ."accuracy". now'):
        Store.open(
            path,
            header(bounds=[FunctionBound("leaves", 3.0)], settings={**header().settings, "metrics": '["accuracy"]'}),
        )
    Store.open(path, header(bounds=[FunctionBound("leaves", 3.0)])).close()


def test_the_words_for_functions_tell_all_limits_apart() -> None:
    limits = (0.0, 1e-300, 0.1, 0.1 + 2**-53, 3.0, 1e16, 1e300)
    assert [FunctionBound("f", limit).format_value(limit) for limit in limits] == [
        "0",
        "1e-300",
        "0.1",
        "0.10000000000000012",
        "3",
        "1e+16",
        "1e+300",
    ]
    assert FunctionBound("f", 1.0).format_value(inf) == "inf"
