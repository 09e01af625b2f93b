import json
import math
import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storing import LIMIT, SMALL, broken, header, read, stored, trial, trials
from trying import few

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Bound, BoundedMeasure, FunctionBound
from spacelang.ir.trial import Measurement, Request, Status, Trial
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.records import record_to_row, row_to_record
from spacelang.runtime.storage.run_header import RunHeader
from spacelang.runtime.storage.store import Store, StoreError

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | st.text(st.characters(), max_size=6),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)
BOUNDS = (
    Bound(BoundedMeasure.LATENCY, 1e-3),
    Bound(BoundedMeasure.SIZE, 10e6, strict=True),
    FunctionBound("leaves", 0.1),
)
TRIALS = st.builds(
    Trial,
    st.builds(
        Request,
        st.dictionaries(st.text(st.characters(), max_size=6), VALUES, max_size=4).map(Configuration),
        st.none() | st.integers(1, 10**9),
        st.none() | st.floats(1e-9, 1e9),
        st.lists(FINITE | st.integers() | st.text(st.characters(), max_size=6), max_size=3).map(tuple),
    ),
    st.none() | FINITE,
    FINITE,
    st.sampled_from(Status),
    st.text(),
    st.just(()) | st.tuples(*(st.builds(Measurement, st.just(each), st.floats(allow_nan=False)) for each in BOUNDS)),
    st.none() | FINITE,
    st.lists(st.tuples(NAMES, st.floats(allow_nan=False)), max_size=3).map(tuple),
    st.none() | FINITE,
).map(lambda trial: replace(trial, cost_alone=None) if trial.cost_alone == trial.cost else trial)
RECORDS = st.builds(
    TrialRecord,
    st.just(1),
    TRIALS,
    FINITE,
    FINITE,
    NAMES,
    st.integers(1, 99),
    st.integers(0, 99),
    st.booleans(),
    st.none() | st.integers(1, 10**9),
)


@given(st.lists(RECORDS, min_size=1, max_size=4))
@settings(max_examples=few(15), deadline=None)
def test_what_was_appended_is_read_exactly(drawn: list[TrialRecord]) -> None:
    given_trials = [replace(each, index=index) for index, each in enumerate(drawn, 1)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        made = header(training_size=10**10, bounds=BOUNDS)
        store = Store.create(path, made)
        for each in given_trials:
            store.append(each)
        assert list(store.records()) == given_trials
        store.close()
        again = Store.open(path, made)
        assert list(again.records()) == given_trials
        again.end_session("budget", 1.0)
        assert read(path) == given_trials


@given(RECORDS)
def test_a_row_is_its_trial(drawn: TrialRecord) -> None:
    assert row_to_record(record_to_row(drawn), BOUNDS) == drawn


def test_halves_of_characters_are_stored() -> None:
    odd = trial(1, reason="\udc80", worker="\udcff", configuration=Configuration({"\ud800": "\udfff"}))
    back = row_to_record(record_to_row(odd))
    assert back.trial.request == odd.trial.request
    assert (back.trial.reason, back.worker) == ("\\udc80", "\\udcff")


def test_unknown_numbers_stay_unknown() -> None:
    measured = (Measurement(BOUNDS[0], math.nan), Measurement(BOUNDS[2], math.inf))
    back = row_to_record(
        record_to_row(trial(1, constraints=measured, training_loss=math.nan)), (BOUNDS[0], BOUNDS[2])
    ).trial
    assert math.isnan(back.constraints[0].value)
    assert back.constraints[1] == measured[1]
    assert back.training_loss is None


def test_a_trial_is_told_to_the_optimizer_as_it_was() -> None:
    bounds = (Bound(BoundedMeasure.LATENCY, 1e-3), Bound(BoundedMeasure.SIZE, 10.0, strict=True))
    measured = tuple(Measurement(bound, value) for bound, value in zip(bounds, (2e-3, 10.0), strict=True))
    told = Trial(Request(Configuration({"x": 1}), 50), 0.25, 1.5, Status.SUCCESS, "", measured)
    told = replace(told, cost_alone=3.0, metrics=(("accuracy", 0.5),), training_loss=0.125)
    record = TrialRecord(1, told, 0.0, 2.0, "w", 2, 7, is_speculative=True)
    assert row_to_record(record_to_row(record), bounds) == record
    failed = TrialRecord(
        2, Trial(Request(Configuration({"x": 2})), None, 1.5, [*Status][-1], "ValueError: no"), 0.0, 1.0
    )
    assert row_to_record(record_to_row(failed), bounds) == failed


def test_what_bounds_a_run_says_of_its_trials_what_it_said_then(tmp_path: Path) -> None:
    path, values = tmp_path / "run.db", [(1e-3, 9e6, 0.1), (2e-3, 9e6, 0.1), (1e-3, 10e6, 0.1), (1e-3, 9e6, math.nan)]
    given = [trial(number, constraints=tuple(map(Measurement, BOUNDS, each))) for number, each in enumerate(values, 1)]
    store = Store.create(path, header(bounds=BOUNDS))
    for each in given:
        store.append(each)
    store.end_session("budget", 4.0)
    assert [each.trial.is_feasible for each in read(path)] == [True, False, False, False]
    assert [each.trial.excess for each in read(path)] == [each.trial.excess for each in given]


def test_a_session_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    made = stored(path, 3, "interrupted")
    with Store.read(path) as run:
        assert (run.state, run.count, run.seconds) == ("interrupted", 3, 3.0)
    store = Store.open(path, made)
    assert (store.state, store.count, store.seconds) == ("running", 3, 3.0)
    for each in trials(200, 4):
        store.append(each)
    store.end_session("exhausted", 210.5)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.db"], "a run that ended is one file"
    with Store.read(path) as run:
        assert (run.state, run.count, run.seconds) == ("finished", 203, 210.5)
        assert run.header == made
        assert run.header.versions == made.versions
        assert [session.ending for session in run.sessions] == ["interrupted", "exhausted"]
        assert [session.trials for session in run.sessions] == [3, 203]
        assert list(run.records()) == list(trials(203))


def test_a_session_says_with_how_many_workers_it_went_on_from_which_trial(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    made = header()
    with Store.create(path, made) as store:
        store.start_session(2)
        for each in trials(3):
            store.append(each)
    Store.open(path, made).close()  # killed before it went on
    store = Store.open(path, made)
    assert [(each.after, each.workers) for each in store.sessions] == [(0, 2), (3, None), (3, None)]
    store.start_session(0)
    store.append(trial(4))
    store.end_session("budget", 1.0)
    with Store.read(path) as run:
        assert [(each.after, each.workers) for each in run.sessions] == [(0, 2), (3, None), (3, 0)]
        assert run.count == 4


@pytest.mark.parametrize("ending", ["budget", None])
def test_a_session_that_is_refused_leaves_the_store_as_it_was(tmp_path: Path, ending: str | None) -> None:
    path = tmp_path / "run.db"
    made = stored(path, 3, ending)
    with Store.read(path) as run:
        before = (run.state, run.sessions, list(run.records()))
    with Store.open(path, made) as store:
        refused = store.undo_session_and_make_error(2)
    assert refused.message == f"trial 2 of `{path}` was not requested by this search"
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.db"]
    with Store.read(path) as run:
        assert (run.state, run.sessions, list(run.records())) == before
    moved = replace(made, versions={**made.versions, "numpy": "0.1"})
    with Store.create(tmp_path / "old.db", moved) as store:
        assert "versions have changed since (numpy 0.1 before, " in store.undo_session_and_make_error(1).help


def test_a_session_without_an_end_took_as_long_as_its_last_trial(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    made = stored(path, 5, ending=None)
    with Store.read(path) as run:
        assert (run.state, run.seconds) == ("killed", 5.0)
        assert run.state == "killed", "looking at it changes nothing"
    Store.open(path, made).end_session("budget", 7.0)
    with Store.read(path) as run:
        assert (run.state, run.seconds, run.count) == ("finished", 7.0, 5)


def test_a_store_is_read_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    store = Store.create(path, header())
    with Store.read(path) as run:
        for each in trials(150):
            store.append(each)
            assert run.count == each.index
        assert (run.state, store.state) == ("running", "running")
        reading = run.records()
        next(reading)
        store.append(trial(151))
        assert list(reading)[-1].index >= 150
        store.append(trial(152))
    store.end_session("budget", 1.0)
    assert len(read(path)) == 152


def test_an_iteration_that_is_left_open_holds_up_nobody(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    store = Store.create(path, header())
    for each in trials(10):
        store.append(each)
    reading = store.records()
    next(reading)
    store.append(trial(11))
    store.end_session("budget", 1.0)
    assert len(read(path)) == 11


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (trial(5), "trial 5 does not follow trial 3"),
        (trial(3), "trial 3 does not follow trial 3"),
        (trial(4, loss=math.nan), "trial 4 cannot be stored: its loss or one of its times is not finite"),
        (trial(4, cost=math.inf), "trial 4 cannot be stored: its loss or one of its times is not finite"),
    ],
)
def test_a_trial_that_cannot_be_is_refused_and_the_store_stays(tmp_path: Path, wrong: TrialRecord, reason: str) -> None:
    path = tmp_path / "run.db"
    store = Store.create(path, header())
    for each in trials(3):
        store.append(each)
    with pytest.raises(ValueError, match=reason):
        store.append(wrong)
    store.append(trial(4))
    store.append(trial(5, configuration=trial(2).trial.request.configuration))
    store.end_session("budget", 1.0)
    assert [each.index for each in read(path)] == [1, 2, 3, 4, 5], "trials are told apart by their numbers"


def test_an_interruption_at_any_place_leaves_whole_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.db"
    store = Store.create(path, header())

    class Interrupting:
        """Interrupts before or after the n-th statement."""

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

    expected = 0
    for place in (1, 2, 3, 4):
        for after in (False, True):
            plain = store._connection
            store._connection = Interrupting(plain, place, after)
            with pytest.raises(KeyboardInterrupt):
                store.append(trial(store.count + 1))
            store._connection = plain
            assert store.count in (expected, expected + 1)
            expected = store.count
            assert [each.index for each in store.records()] == list(range(1, expected + 1))
    store.append(trial(expected + 1))
    store.end_session("interrupted", 1.0)
    assert len(read(path)) == expected + 1


def test_the_best_trial_is_that_of_the_summary(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    store = Store.create(path, header(bounds=(LIMIT,)))
    assert store.best is None
    store.append(trial(1, loss=None, status=Status.CRASH))
    assert store.best is None
    store.append(trial(2, loss=0.1, constraints=broken(2.0)))
    store.append(trial(3, loss=0.9, constraints=broken(1.0)))
    assert store.best == (3, 0.9, False)
    store.append(trial(4, loss=0.3, fidelity=50))
    assert store.best == (4, 0.3, True)
    store.append(trial(5, loss=0.5, fidelity=124))
    store.append(trial(6, loss=0.5))
    assert store.best == (5, 0.5, True)
    store.close()


DIFFERENT = {
    "data": ({"data": replace(header().data, fingerprint="f" * 64)}, "data: `wine.csv` (178 rows, 13 columns, content"),
    "metric": ({"metric": "1 - accuracy"}, "metric: `1 - roc_auc` in the store, `1 - accuracy` now"),
    "seed": ({"seed": 3}, "seed: 0 in the store, 3 now"),
    "optimizer": ({"optimizer": "random", "options": {}}, "optimizer: `blds` in the store, `random` now"),
    "option": ({"options": {"b": 50, "eta": 2.0}}, "option `b`: 100 in the store, 50 now"),
    "setting": ({"settings": {}}, "`limit trial`: 60s in the store, nothing now"),
    "bounds": (
        {"bounds": [Bound(BoundedMeasure.LATENCY, 1e-5)]},
        "bounds: none in the store, `predict_latency <= 10us` now",
    ),
    "space": (
        {"over": replace(SMALL, root=SMALL.root.children[1])},
        "space: pipeline: `scaler -> estimator` in the store, `estimator` now",
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_another_run_is_refused_with_the_difference(tmp_path: Path, name: str) -> None:
    others, line = DIFFERENT[name]
    path = tmp_path / "run.db"
    made = stored(path, 3, ending=None)
    with pytest.raises(StoreError, match="belongs to another run") as caught:
        Store.open(path, header(**others))
    assert line in caught.value.message
    assert caught.value.differences[0].startswith(line)
    store = Store.open(path, made)
    assert store.count == 3, "the run itself goes on as if nobody had asked"
    store.close()


def test_parts_are_told_apart_by_their_options() -> None:
    def chosen(name: str, **own: object) -> RunHeader:
        return header(options={"z": {"name": "admm", "options": {"inner": {"name": name, "options": own}}}})

    known = chosen("blds", disc=1, b=100)
    assert known.differences(chosen("blds", disc=2, b=100)) == ["option `z.inner.disc`: 1 in the store, 2 now"]
    assert known.differences(chosen("lds", disc=2)) == ['option `z.inner`: "blds" in the store, "lds" now']
    assert known.differences(chosen("blds", disc=1, b=100)) == []
    assert known.differences(header(options={"z": 3}))[0] == 'option `z`: "admm" in the store, 3 now'


def test_an_option_that_a_store_does_not_know_was_what_is_its_default(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    stored(path, 3, ending=None)
    newer = {"b": 100, "eta": 2.0, "retrain": 8}
    with pytest.raises(StoreError, match="option `retrain`: nothing in the store, 8 now"):
        Store.open(path, header(options=newer))
    Store.open(path, header(options=newer, at_defaults=["retrain"])).close()
    with pytest.raises(StoreError, match="option `b`: 100 in the store, 50 now"):
        Store.open(path, header(options=newer | {"b": 50}, at_defaults=["b", "retrain"]))
    part = {"z": {"name": "blds", "options": {"disc": 1}}}
    longer = header(options={"z": {"name": "blds", "options": {"disc": 1, "b": 100}}}, at_defaults=["z.b"])
    assert header(options=part).differences(longer) == []
    assert header(options=part).differences(replace(longer, at_defaults=frozenset({"b"})))


def test_another_budget_name_or_version_is_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    stored(path)
    moved = replace(header(), versions={"python": "9.9"}, data=replace(header().data, name="other.csv"))
    store = Store.open(path, moved)
    assert store.header.data.name == "wine.csv"
    assert store.sessions[1].versions == {"python": "9.9"}
    store.close()


def test_nothing_is_a_pickle(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    stored(path)
    with sqlite3.connect(path) as connection:
        values = [
            value
            for table in ("header", "trials", "sessions")
            for row in connection.execute(f"SELECT * FROM {table}")
            for value in row
        ]
        (configuration,) = connection.execute("SELECT configuration FROM trials WHERE trial = 2").fetchone()
    connection.close()
    assert not [value for value in values if isinstance(value, bytes) and len(value) != 16]
    assert json.loads(configuration) == {"C": 2.0, "estimator": "LogisticRegression"}
