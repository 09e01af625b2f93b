"""What `show` says of a store, and of one whose writer meant harm: its digests are right, and nothing else need be."""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from storing import DATA, LIMIT, broken, header, stored, trial

import spacelang as sl
from spacelang.api.option_checks_and_signatures import run_options_by_name
from spacelang.api.resuming import open_resumable_run
from spacelang.api.run_options import ResumeOptions
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import StartConditions, TotalBudget
from spacelang.ir.task import Bound, BoundedMeasure
from spacelang.ir.trial import Measurement, Status, TestScore, UnseenRowsMeasurement
from spacelang.ir.validation import CrossValidation
from spacelang.report.next_steps import RunLimits, describe_limits, suggest_next_steps
from spacelang.report.stored_run_output import MAX_LENGTH, stored_run_document, stored_run_text
from spacelang.runtime.ensembles import DEFAULT_VOTES
from spacelang.runtime.errors import DataError
from spacelang.runtime.history import NullTrialStorage, RunHistory
from spacelang.runtime.storage.optional_tables import StoredUnseenScore, save_unseen_score
from spacelang.runtime.storage.records import row_digest
from spacelang.runtime.storage.run_header import RELATIONS, SCORER_SETTING, SPLITS, UNNAMED_SPACE, WEIGHTS_SETTING
from spacelang.runtime.storage.store import Store, StoreError
from spacelang.runtime.storage.store_file import HEADER_DIGEST_NAME, _header_digest

LATENCY = Bound(BoundedMeasure.LATENCY, 0.001)


def configuration(scaler: str) -> Configuration:
    return Configuration({"scaler": scaler, "estimator": "LogisticRegression"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Twelve trials of two configurations: failed ones, on fewer rows, beyond a bound, and good ones; and a test."""
    place = tmp_path / "run.db"
    store = Store.create(place, header(bounds=(LIMIT,), settings={"predictions": "true"}))
    for index in range(1, 13):
        said: dict[str, Any] = {"configuration": configuration("none" if index % 2 else "StandardScaler")}
        match index % 4:
            case 0:
                said |= {"loss": None, "status": Status.ERROR if index < 9 else Status.TIMEOUT, "reason": f"n {index}"}
            case 1:
                said |= {"constraints": broken(index / 10)}
            case 2:
                said |= {"fidelity": 50, "constraints": (Measurement(LIMIT, 2.0),)}
            case _:
                said |= {"constraints": (Measurement(LIMIT, 3.0),), "metrics": (("accuracy", 0.5),)}
        store.append(trial(index, **said))
    store.end_session("budget", 12.5)
    save_unseen_score(
        place, StoredUnseenScore(11, TestScore(0.1, 0.05, 0.2, 40, "", (UnseenRowsMeasurement(LIMIT, 3.5, 3.0, 4.5),)))
    )
    return place


def told(place: Path) -> tuple[str, dict[str, Any]]:
    with Store.read(place) as run:
        said, found = stored_run_text(run), stored_run_document(run)
    return said, json.loads(json.dumps(found, allow_nan=False))


def test_a_run_is_shown(path: Path) -> None:
    said, found = told(path)
    lines = said.splitlines()
    assert lines[0] == "small on wine.csv by blds: finished"
    assert "  trials       12 trials, 3 failed, 3 infeasible in 12.5 s" in lines
    assert "  predictions  true" in lines
    assert "  subject to   leaves <= 4" in lines
    assert "Best roc_auc: 0.909091 (trial 11, 1 - roc_auc 0.0909091)" in lines
    assert "  leaves <= 4: 3" in lines
    assert "  accuracy: 0.5" in lines
    assert "  test set (40 rows): roc_auc 0.9 [0.8, 0.95]" in lines
    assert "  leaves <= 4 on the test set: 3.5 [3, 4.5]; this may be chance" in lines
    assert "3 trials failed (2 errors, 1 timeout):" in lines
    assert found["best"][0] | {"configuration": 0} == {
        "trial": 11,
        "loss": 1 / 11,
        "fidelity": None,
        "feasible": True,
        "constraints": {"leaves": 3.0},
        "metrics": {"accuracy": 0.5},
        "training_loss": None,
        "cost": 0.5,
        "finished": 11.0,
        "configuration": 0,
    }
    assert (found["trial"], found["loss"], found["trials"], found["failed"]) == (11, 1 / 11, 12, 3)
    assert (found["score_name"], found["score"], found["test_score"]) == ("roc_auc", 1 - 1 / 11, 0.9)
    assert (found["failures"], found["infeasible"], found["tested"]) == ({"error": 2, "timeout": 1}, 3, 11)
    assert (found["space"], found["data"], found["content"]) == ("small", DATA.name, DATA.fingerprint)
    assert found["options"] == {"b": 100, "eta": 2.0}


def test_the_best_trials_are_ranked_as_the_end_of_a_run_ranks_them(path: Path) -> None:
    from spacelang.runtime.final_fit import rank_candidates

    with Store.read(path) as run:
        history = RunHistory(lambda: 0.0, run.header.training_size, NullTrialStorage())
        for record in run.records():
            history.store(record)
        outcome = history.make_outcome("budget")  # type: ignore[arg-type]
        ranked = [record.index for record in rank_candidates(outcome, run.header.training_size)]
        assert [*run.best_trial_numbers(10)] == ranked
        assert run.best_trial_numbers(1) == (ranked[0],)
        assert run.incumbent_curve == outcome.curve
        assert [run.record(index) for index in range(1, 13)] == [*run.records()]
        assert run.record(13) is None
    _, found = told(path)
    assert [each["trial"] for each in found["best"]] == ranked


def test_a_run_without_a_trial_and_one_without_a_success_are_shown(tmp_path: Path) -> None:
    stored(tmp_path / "none.db", count=0)
    assert "No trial has succeeded." in told(tmp_path / "none.db")[0]
    live = Store.create(tmp_path / "live.db", header())
    live.append(trial(1, loss=None, status=Status.CRASH, reason="x" * 1000))
    said, found = told(tmp_path / "live.db")
    assert (found["state"], found["configuration"], found["best"]) == ("running", None, [])
    assert f"  1 x {'x' * (MAX_LENGTH - 7)}…" in said.splitlines()
    live.close()


# ---- strangers

EVIL = "\x1b[2J\u202e'; rm -rf ~ #"
STRANGE: tuple[object, ...] = (b"\x00\xff", EVIL, 7, float("inf"), "[" * 3000, "[{}]")
"""What stands in a place in which something else should."""


def rewritten(path: Path, statement: str, values: Iterable[object]) -> None:
    """The store after a statement, with the digests that its writer would have put there."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute(statement, tuple(values))
        facts = dict(connection.execute("SELECT name, value FROM header").fetchall())
        facts.pop(HEADER_DIGEST_NAME)
        before = _header_digest(facts)
        connection.execute("UPDATE header SET value = ? WHERE name = ?", (before.hex(), HEADER_DIGEST_NAME))
        for table, key in (("sessions", "session"), ("test", "trial"), ("test_bounds", "place"), ("trials", "trial")):
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY {key}").fetchall():
                mark = row_digest(before if table == "trials" else b"", row[:-1])
                before = mark if table == "trials" else before
                connection.execute(f"UPDATE {table} SET digest = ? WHERE {key} = ?", (mark, row[0]))
    connection.close()


def places(path: Path) -> list[tuple[str, str, str]]:
    """What can be changed: the table, the column, and which of its rows."""
    with sqlite3.connect(path) as connection:
        facts = [name for (name,) in connection.execute("SELECT name FROM header") if name != HEADER_DIGEST_NAME]
        found = [("header", "value", f"name = '{name}'") for name in facts]
        for table, row in (("sessions", "session = 1"), ("test", "1"), ("test_bounds", "1"), ("trials", "trial = 11")):
            columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
            found += [(table, name, row) for name in columns[1:-1]]
    connection.close()
    return found


def is_refused(path: Path) -> bool:
    """Whether a store is refused, and not shown; either way nothing else is raised, and no terminal is steered."""
    try:
        said, _ = told(path)
    except StoreError as error:
        message = error.message
    else:
        assert "\x1b" not in said
        return False
    return "is damaged" in message


def test_whatever_a_stranger_wrote_is_shown_or_refused(path: Path) -> None:
    whole, refused = path.read_bytes(), 0
    for table, column, row in places(path):
        for value in STRANGE:
            path.write_bytes(whole)
            try:
                rewritten(path, f"UPDATE {table} SET {column} = ? WHERE {row}", [value])
            except (sqlite3.IntegrityError, TypeError, AttributeError):
                continue  # no file can hold it there
            refused += is_refused(path)
    assert refused > 100


def test_a_header_whose_facts_are_strange_is_shown_or_refused(path: Path) -> None:
    refused = 0
    for name in ("data", "budget", "options", "versions", "meta_features", "bounds", "initial", "asked"):
        for value in ("null", "[]", '{"x": []}', '{"x": [7]}', '{"x": "y"}', '{"seconds": Infinity}'):
            rewritten(path, "UPDATE header SET value = ? WHERE name = ?", (value, name))
            refused += is_refused(path)
    assert refused > 20


def test_what_can_be_pasted_is_quoted(tmp_path: Path) -> None:
    facts: dict[str, Any] = {"data": replace(DATA, name=f"{EVIL}.csv"), "metric": EVIL, "optimizer": EVIL}
    stored(tmp_path / "run.db", settings={EVIL: EVIL}, options={EVIL: {"name": EVIL}}, **facts)
    said, _ = told(tmp_path / "run.db")
    assert "\x1b" not in said
    assert "\u202e" not in said
    (line,) = [line for line in said.splitlines() if line.startswith("  spacelang resume ")]
    assert r" --data $'\x1b[2J\xe2\x80\xae\x27; rm -rf ~ #.csv' " in line, "no quote that ends the word in any shell"


def test_rows_for_testing_are_asked_for_again(tmp_path: Path) -> None:
    """Those in a file of their own, of which stores of earlier versions have the content alone."""
    kept = {"test": "40 rows, content abc"}
    stored(tmp_path / "file.db", settings=kept)
    stored(tmp_path / "named.db", settings=kept, data_options={"test_file": "the rows.csv"})
    stored(tmp_path / "share.db", settings=kept, data_options={"test": "0.2"})
    stored(tmp_path / "none.db")
    lines = (told(tmp_path / f"{name}.db")[0].splitlines()[-1] for name in ("file", "named", "share", "none"))
    options = [line.partition(" --test ")[2] for line in lines]
    assert options == ["FILE --time 10s", "'the rows.csv' --time 10s", "", ""]


NOTHING: Any = dict.fromkeys(run_options_by_name(ResumeOptions)) | {"allow": (), "trials": 3, "test": "FILE"}
"""What a user gives who resumes a run and gives no more than needed."""


def test_who_resumes_judges_as_the_run_did(tmp_path: Path) -> None:
    """Nothing of it is the default of these data, and no task of the space says it."""
    recorded = {"predictions": "true", "metrics": '["f1","recall"]'}
    stored(tmp_path / "one.db", metric="1 - f1", validation=CrossValidation(3), settings=recorded)
    stored(tmp_path / "error.db", metric="log_loss", validation=None, settings={})
    stored(tmp_path / "usual.db", data_options={"reference": "wine.csv"}, asked={"metric": ("roc_auc",)})
    one, error, usual = (
        open_resumable_run(tmp_path / f"{n}.db").given_or_stored_options(NOTHING) for n in ("one", "error", "usual")
    )
    assert (one["metric"], one["validate"], one["predictions"]) == ("f1", "cv(3)", True)
    assert (one["metrics"], one["training_score"]) == (("f1", "recall"), False)
    assert (error["metric"], error["validate"]) == ("neg_log_loss", None)
    assert (usual["metric"], usual["validate"]) == ("roc_auc", None), "the default split is found again"


def test_who_resumes_has_what_the_run_was_asked_for(tmp_path: Path) -> None:
    """All that its other facts do not say; packages must be allowed again, because the store may be a foreign one."""
    asked = {"set": ("z=blds(disc=2)", "k=1"), "allow": ("xgboost",), "bind": ("n_features=3",), EVIL: (EVIL,)}
    stored(tmp_path / "asked.db", asked=asked | {"trial-limit": ("5s",), "isolate": ()})
    stored(tmp_path / "usual.db", asked={UNNAMED_SPACE: ()})
    nested = {"z": {"name": "blds", "options": {"disc": 2, "b": 1.5}}, "race": True}
    stored(tmp_path / "before.db", asked=None, options=nested)
    said = told(tmp_path / "asked.db")[0].splitlines()[-1]
    assert " --data wine.csv --allow xgboost" in said
    runs = [open_resumable_run(tmp_path / f"{name}.db") for name in ("asked", "usual", "before")]
    first, _, last = (each.given_or_stored_options(NOTHING) for each in runs)
    assert first["optimizer_options"] == {"z": "blds(disc=2)", "k": "1"}
    assert (first["trial_limit"], first["isolate"], first["allow"], first["seed"]) == ("5s", True, (), 0)
    assert last["optimizer_options"] == {"z": "blds(b=1.5, disc=2)", "race": "true"}
    assert [bool(each.space_choice_reason) for each in runs] == [False, True, False]


def test_a_foreign_store_gives_no_options_of_other_types(tmp_path: Path) -> None:
    """A text option without a text is as if it was not stored, and options that are no JSON stay texts."""
    stored(tmp_path / "empty.db", asked={"metric": (), "validate": (), "trial-limit": (), "isolate": ()})
    stored(tmp_path / "texts.db", asked=None, options={"preset": "fast"})
    empty, texts = (
        open_resumable_run(tmp_path / f"{name}.db").given_or_stored_options(NOTHING) for name in ("empty", "texts")
    )
    assert (empty["trial_limit"], empty["isolate"]) == (None, True)
    assert all(empty[name] is None or isinstance(empty[name], str) for name in ("metric", "validate"))
    assert texts["optimizer_options"] == {"preset": "fast"}


def test_default_votes_stay_a_default(tmp_path: Path) -> None:
    """So an ensemble that cannot be built is a note, as in the run that was stopped, and no error."""
    stored(tmp_path / "run.db", asked={UNNAMED_SPACE: ()})
    run = open_resumable_run(tmp_path / "run.db")
    for votes, wanted in ((DEFAULT_VOTES, None), (7, 7), (None, 0)):
        assert replace(run, votes=votes).given_or_stored_options(NOTHING)["ensemble"] == wanted


def test_a_budget_that_is_used_up_must_be_enlarged(tmp_path: Path) -> None:
    """A run that was stopped goes on with its own, and one that had nothing left to try is not resumed."""
    wanted: Any = NOTHING | {"trials": None}
    for name, ending in (("budget", "budget"), ("exhausted", "exhausted"), ("stopped", "interrupted")):
        store = Store.create(tmp_path / f"{name}.db", header(terms=StartConditions(None, TotalBudget(40.0, None))))
        store.start_session(workers=2)
        store.append(trial(1))
        store.end_session(ending, 12.5)
        store.close()
    with pytest.raises(StoreError, match=r"used up its budget of `--time`: 1 trial in 12\.5 s") as caught:
        open_resumable_run(tmp_path / "budget.db").given_or_stored_options(wanted)
    assert "budget.db --data wine.csv --time 1m`" in str(caught.value.help)
    assert open_resumable_run(tmp_path / "budget.db").given_or_stored_options(wanted | {"ensemble": 3})["ensemble"] == 3
    found = open_resumable_run(tmp_path / "stopped.db").given_or_stored_options(wanted)
    assert (found["time"], found["trials"], found["workers"]) == (20.0, None, 2)
    lines = [told(tmp_path / f"{name}.db")[0].splitlines()[-1] for name in ("exhausted", "stopped")]
    assert ["spacelang resume" in line for line in lines] == [False, True]
    assert "--time" not in lines[1]


def test_a_resumed_run_keeps_the_limits_of_its_last_session(tmp_path: Path) -> None:
    """One that was stopped goes on with them, not with the first ones, and the advice can be pasted."""
    place, wanted = tmp_path / "run.db", NOTHING | {"trials": None}
    first = header(asked={"trials": ("1",)}, terms=StartConditions(None, TotalBudget(None, 1)))
    for number, limits in enumerate(({}, {"trials": "3"}, {"time": "1s"}, {}), start=1):
        store = Store.create(place, first) if number == 1 else Store.open(place, first)
        store.start_session(workers=1)
        if number > 1:
            store.store_limits(limits)
        store.append(trial(number))
        store.end_session("budget" if number == 1 else "interrupted", 0.7 * number)
        command, run = told(place)[0].splitlines()[-1].strip(), open_resumable_run(place)
        assert command == run.command
        if (more := ("--trials 2", None, "--time 10s", None)[number - 1]) is not None:
            assert command.endswith(more)
            with pytest.raises(StoreError, match="has used up its budget"):
                run.given_or_stored_options(wanted)
            continue
        assert "--t" not in command
        assert {name: run.given_or_stored_options(wanted)[name] for name in ("time", "trials")} == {
            "time": None,
            "trials": None,
        } | {name: int(text) for name, text in limits.items()}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"time": "2m", "trials": 5}, "120 s until the answer, 5 trials"),
        ({"search_time": "90s"}, "90 s of search"),
        ({}, "20 s"),
    ],
)
def test_the_limits_of_a_run_are_shown_as_the_user_gave_them(options: dict[str, Any], text: str) -> None:
    assert ", ".join(describe_limits(RunLimits(options, 20.0, options.get("trials")))) == text


def test_an_ensemble_is_suggested_once_a_trial_can_be_its_member(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "run.db", header())
    store.start_session(workers=1)
    store.store_ensemble_request(8)
    few, whole = trial(1), trial(2)
    store.append(replace(few, trial=replace(few.trial, request=replace(few.trial.request, fidelity=2))))
    assert "--ensemble" not in told(tmp_path / "run.db")[0]
    store.append(replace(whole, trial=replace(whole.trial, request=replace(whole.trial.request, fidelity=None))))
    assert "--ensemble -o ensemble.py" in told(tmp_path / "run.db")[0]
    store.close()


def test_a_limit_of_the_task_lasts(tmp_path: Path) -> None:
    """It is in the space: a larger number of trials alone would change nothing, so a time is asked for."""
    limited = sl.parse("stage e = GaussianNB | SVC\ntask classification { limit run 10s }").checked
    store = Store.create(tmp_path / "run.db", header(limited, terms=StartConditions(None, TotalBudget(10.0, None))))
    store.start_session(workers=1)
    store.append(trial(1))
    store.end_session("budget", 9.0)
    store.close()
    wanted: Any = NOTHING | {"trials": 50}
    with pytest.raises(StoreError, match="used up its budget of `--time`"):
        open_resumable_run(tmp_path / "run.db").given_or_stored_options(wanted)
    found = open_resumable_run(tmp_path / "run.db").given_or_stored_options(wanted | {"time": "20s"})
    assert (found["time"], found["trials"]) == ("20s", 50)


def test_a_store_does_not_decide_what_is_imported(tmp_path: Path) -> None:
    """Packages without a catalogue here are shown, to be allowed by those who trust them; no name looks like more."""
    stored(tmp_path / "one.db", asked={"allow": ("xgboost",)})
    stored(tmp_path / "two.db", asked={"allow": ("my-own", "x` is harmless: `y", EVIL)})
    one, two = (told(tmp_path / f"{name}.db")[0] for name in ("one", "two"))
    assert one.splitlines()[-1].endswith(" --allow xgboost --time 10s")
    assert "trust" not in one
    assert two.splitlines()[-1].endswith(" --data wine.csv --allow PACKAGE --time 10s")
    assert "\n(PACKAGE: the run was allowed to import `my-own`; allow only packages that you trust)\n" in two


def test_a_line_to_paste_is_not_cut(tmp_path: Path) -> None:
    stored(tmp_path / "run.db", asked={"allow": tuple(f"package{number}" for number in range(50))})
    assert told(tmp_path / "run.db")[0].splitlines()[-1].endswith(" --allow PACKAGE --time 10s")


def test_tables_are_resumed_as_they_were_made(tmp_path: Path) -> None:
    """What a table answers has no pipeline to export; the making of one is resumed, too."""
    stored(tmp_path / "known.db", data=replace(DATA, name="table:known.npz"))
    stored(tmp_path / "made.db", optimizer="tabulate", options={"hyperparameters": "default", "sizes": [62, 124]})
    known, made = (told(tmp_path / f"{name}.db")[0] for name in ("known", "made"))
    assert f"spacelang resume {tmp_path / 'known.db'} --data table:known.npz" in known
    assert "spacelang export" not in known
    assert made.splitlines()[-1] == f"  spacelang resume {tmp_path / 'made.db'} --data wine.csv -o TABLE.npz"


def test_pipelines_with_weights_have_no_command(tmp_path: Path) -> None:
    stored(tmp_path / "run.db", settings={WEIGHTS_SETTING: "80 numbers"})
    steps = told(tmp_path / "run.db")[0].partition("Next:")[2]
    assert "spacelang report" in steps
    assert "export" not in steps
    assert "predict" not in steps


def test_what_a_store_holds_of_a_program_is_not_given_again(tmp_path: Path) -> None:
    """Of a scorer and weights that it does not hold, the Python call names each that is not given."""
    mine = '{"scorer": "mine:gain"}'
    settings = {SCORER_SETTING: "gain, content 1", WEIGHTS_SETTING: "80 weights, content 2"}
    stored(tmp_path / "held.db", data_options={SPLITS: "[]", RELATIONS: "{}", SCORER_SETTING: mine})
    stored(tmp_path / "both.db", settings=settings)
    assert open_resumable_run(tmp_path / "held.db").command.endswith(" --allow PACKAGE --time 10s")
    call = f'`sl.resume({str(tmp_path / "both.db")!r}, metric=gain, sample_weight=…, time="10s")`'
    assert told(tmp_path / "both.db")[0].splitlines()[-1] == f"  in Python: {call}"
    for given, missing in (((), "the scorer and the sample weights"), (("metric",), "the sample weights")):
        with pytest.raises(StoreError, match=f"used {missing} of a Python program") as caught:
            open_resumable_run(tmp_path / "both.db", given)
        assert caught.value.help == f"resume it in Python by {call}".replace("80 weights", "…")
    assert open_resumable_run(tmp_path / "both.db", ("metric", "sample_weight")).trials


def test_data_that_has_moved_is_named_as_the_user_did(tmp_path: Path) -> None:
    stored(tmp_path / "run.db")
    with Store.read(tmp_path / "run.db") as run:
        lines = [each.line for each in suggest_next_steps(run, has_best=True, data="../my wine.csv")]
    on = "--data '../my wine.csv'"
    assert f"spacelang export {tmp_path / 'run.db'} {on} -o" in lines[0]
    assert f" {on} --fitted-on '../my wine.csv' -o" in lines[1]
    assert f"spacelang resume {tmp_path / 'run.db'} {on} --time" in lines[-1]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"validation": None, "training_size": 1}, "roc_auc (loss 1 - roc_auc)"),
        ({"validation": None, "training_size": 81}, "roc_auc (loss 1 - roc_auc), fidelity up to 81"),
        (
            {"validation": CrossValidation(5), "training_size": 81},
            "roc_auc (loss 1 - roc_auc), cv(5), at most 81 training rows",
        ),
    ],
)
def test_a_function_is_not_scored_on_rows(tmp_path: Path, options: dict[str, Any], shown: str) -> None:
    stored(tmp_path / "run.db", **options)
    assert f"  scored by    {shown}" in told(tmp_path / "run.db")[0].splitlines()


def test_what_no_command_resumes_is_told_in_python(tmp_path: Path) -> None:
    """And rows that a program held have no file that their name leads to."""
    none = {"rows": 0, "columns": 0}
    stored(tmp_path / "function.db", data=replace(DATA, name="function:mine.loss", **none))
    stored(tmp_path / "told.db", data=replace(DATA, name="ask_and_tell", **none))
    stored(tmp_path / "formula.db", data=replace(DATA, name="artificial:7", **none))
    stored(tmp_path / "bounded.db", bounds=(LIMIT,))
    stored(tmp_path / "held.db", data=replace(DATA, name="data"))
    lines = {path.stem: told(path)[0].splitlines() for path in tmp_path.glob("*.db")}
    for name, function in (("function", "search"), ("told", "ask_and_tell"), ("bounded", "search")):
        place = tmp_path / f"{name}.db"
        call = f"the same call of `sl.{function}` with `store={str(place)!r}, resume=True`"
        assert lines[name][-1] == f"  in Python: {call}"
        with pytest.raises(StoreError, match="functions of a program") as caught:
            open_resumable_run(place)
        assert caught.value.help == f"resume it in Python by {call}"
    assert f"  spacelang resume {tmp_path / 'formula.db'} --time " in lines["formula"][-1]
    call = f"sl.resume({str(tmp_path / 'held.db')!r}, features, target"
    assert lines["held"][-1] == f'  in Python: `{call}, time="10s")`'
    assert open_resumable_run(tmp_path / "held.db").data_reference("rows.csv") == "rows.csv"
    with pytest.raises(DataError, match="came from a Python program"):
        open_resumable_run(tmp_path / "held.db").data_reference(None)
    assert f"  spacelang export {tmp_path / 'held.db'} --data FILE -o pipeline.py" in lines["held"]
    assert (
        f"  spacelang predict {tmp_path / 'held.db'} --data FILE --fitted-on FILE -o predictions.csv" in lines["held"]
    )
