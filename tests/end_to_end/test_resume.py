"""Runs that are kept: what a user types, sees and finds again, also after the run was killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from commands import TIMEOUT, Going, document, environment, killed, spacelang, write_spaces

from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.store_errors import StoreError

RUN = ("run", "toy.space", "--data", "sklearn:iris", "--optimizer", "random")
TRIALS = 40 if os.environ.get("SPACELANG_FULL") else 15


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_spaces(tmp_path)
    return tmp_path


def table(folder: Path, store: str) -> list[dict[str, Any]]:
    """The trials without what the clock says."""
    assert spacelang("runs", store, "--export", "trials.csv", folder=folder).returncode == 0
    head, *lines = (folder / "trials.csv").read_text(encoding="utf-8").splitlines()
    names = head.split(",")
    rows = [dict(zip(names, line.split(","), strict=False)) for line in lines]
    clocked = ("cost", "cost_alone", "started", "finished", "worker")
    return [{name: value for name, value in row.items() if name not in clocked} for row in rows]


def test_a_run_is_kept_where_it_says(folder: Path) -> None:
    found = document(spacelang(*RUN, "--trials", "3", "--json", folder=folder), 0)
    store = Path(found["store"])
    assert store.parent.name == "runs"
    assert (folder / store).is_file()
    (listed,) = document(spacelang("runs", "--json", folder=folder), 0)
    assert (listed["space"], listed["optimizer"], listed["state"], listed["trials"]) == ("toy", "random", "finished", 3)
    assert listed["loss"] == found["loss"]
    shown = spacelang("runs", folder=folder)
    assert "toy" in shown.stdout
    assert "finished" in shown.stdout


def test_a_run_that_cannot_begin_leaves_no_file(folder: Path) -> None:
    ended = spacelang(*RUN, "--trials", "2", "--trial-limit", "20MB", folder=folder)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "a limit of 20MB leaves too little for a trial: an idle worker process takes " in ended.stderr
    assert "help: set the limit to " in ended.stderr
    wrong = spacelang(*RUN, "--trials", "2", "--trial-limit", "5 parsecs", folder=folder)
    assert wrong.returncode == 2
    assert "`5 parsecs` is not a limit such as `300s`" in wrong.stderr
    assert not (folder / "runs").exists()


def test_a_resumed_run_equals_one_that_was_not_stopped(folder: Path) -> None:
    whole = document(spacelang(*RUN, "--trials", "12", "--store", "whole.db", "--json", folder=folder, afresh=True), 0)
    spacelang(*RUN, "--trials", "5", "--store", "part.db", folder=folder)
    again = document(spacelang(*RUN, "--trials", "12", "--store", "part.db", "--resume", "--json", folder=folder), 0)
    assert (again["loss"], again["configuration"], again["trials"]) == (whole["loss"], whole["configuration"], 12)
    assert table(folder, "part.db") == table(folder, "whole.db")
    spacelang(*RUN, "--trials", "5", "--store", "again.db", folder=folder)
    by_word = document(spacelang("resume", "again.db", "--trials", "12", "--json", folder=folder), 0)
    assert by_word["score"] == again["score"] == 1 - again["loss"]
    assert table(folder, "again.db") == table(folder, "whole.db")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("workers", ["0", "1", "2"] if os.environ.get("SPACELANG_FULL") else ["2"])
def test_a_run_that_is_killed_ten_times_ends_as_one_that_is_not(folder: Path, workers: str) -> None:
    budget = (*RUN, "--trials", str(TRIALS))
    arguments = (*budget, "--store", "killed.db", "--resume", "--workers", workers)
    spacelang(*budget, "--store", "whole.db", "--workers", "1", folder=folder)
    kills = 10 if os.environ.get("SPACELANG_FULL") else 3
    for number in range(kills):
        wanted = (number + 1) * TRIALS // (kills + 2)
        killed(*arguments, folder=folder, when=lambda wanted=wanted: stored(folder / "killed.db") >= wanted)
    ended = spacelang(*arguments, folder=folder, afresh=True)
    assert ended.returncode == 0, ended.stderr
    found, whole = table(folder, "killed.db"), table(folder, "whole.db")
    assert [row["trial"] for row in found] == [str(number) for number in range(1, TRIALS + 1)]
    if workers == "2":  # the same trials, in the order in which they ended
        found, whole = (sorted(sorted(row.items()) for row in rows if row.pop("trial")) for rows in (found, whole))
    assert found == whole
    assert not processes_of(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("stop", ["Ctrl-C", "a scheduler"])
def test_whatever_stops_it_what_the_workers_found_is_kept(folder: Path, stop: str) -> None:
    arguments = ("run", "toy.space", "--data", "sklearn:digits", "--optimizer", "random", "--time", "60s")
    arguments += ("--workers", "2", "--store", "run.db", "--json")
    with Going(*arguments, folder=folder) as process:
        ends = time.monotonic() + TIMEOUT
        while stored(folder / "run.db") < 3 and process.poll() is None and time.monotonic() < ends:
            time.sleep(0.01)
        if stop == "a scheduler":  # may stop all processes, in any order, and some more than once, as `timeout` does
            for each in psutil.Process(process.pid).children(recursive=True):
                each.terminate()
            time.sleep(0.05)
        for _ in range(2 if stop == "a scheduler" else 1):
            process.send_signal(signal.SIGINT if stop == "Ctrl-C" else signal.SIGTERM)
            time.sleep(0.02)
        said, warned = process.communicate()
    found = json.loads(said)
    assert (process.returncode, found["ended"]) == (130, "interrupted")
    assert "Traceback" not in warned
    assert found["trials"] == stored(folder / "run.db") >= 3
    assert found["unfinished"] <= 2
    assert found["loss"] is not None
    assert not found["failures"]
    assert not processes_of(folder)


def processes_of(folder: Path) -> list[psutil.Process]:
    """What still runs that was started in a folder, a moment later."""
    ends = time.monotonic() + 5
    while time.monotonic() < ends:
        found = [each for each in psutil.process_iter(["cwd"]) if each.info["cwd"] == str(folder)]
        if not found:
            return []
        time.sleep(0.05)
    return found


def stored(path: Path) -> int:
    try:
        with Store.read(path) as run:
            return run.count
    except StoreError:
        return 0


def test_another_run_is_refused_with_what_differs(folder: Path) -> None:
    spacelang(*RUN, "--trials", "2", "--store", "a.db", folder=folder)
    other = spacelang(*RUN, "--trials", "4", "--store", "a.db", "--resume", "--seed", "3", folder=folder)
    assert other.returncode == 1
    assert "seed: 0 in the store, 3 now" in other.stderr
    assert "Traceback" not in other.stderr
    data = ("run", "toy.space", "--data", "sklearn:wine", "--optimizer", "blds", "--store", "a.db", "--resume")
    several = spacelang(*data, "--trials", "4", folder=folder)
    assert several.returncode == 1
    assert "note: data:" in several.stderr
    assert "note: optimizer:" in several.stderr


def test_a_store_is_not_overwritten_and_nothing_is_resumed_from_nowhere(folder: Path) -> None:
    spacelang(*RUN, "--trials", "2", "--store", "a.db", folder=folder)
    before = (folder / "a.db").read_bytes()
    again = spacelang(*RUN, "--trials", "2", "--store", "a.db", folder=folder)
    assert again.returncode == 1
    assert "--resume" in again.stderr
    assert (folder / "a.db").read_bytes() == before
    nowhere = spacelang(*RUN, "--trials", "2", "--resume", folder=folder)
    assert nowhere.returncode == 2
    assert "--store" in nowhere.stderr
    (folder / "text.db").write_text("no store")
    assert spacelang(*RUN, "--trials", "2", "--store", "text.db", "--resume", folder=folder).returncode == 1
    assert (folder / "text.db").read_text() == "no store"


@pytest.mark.full
def test_python_keeps_and_resumes(folder: Path) -> None:
    code = """
import json, spacelang as sl
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True, as_frame=True)
def run(trials, **kept):
    return sl.search("toy.space", X, y, optimizer="blds", trials=trials, **kept)
whole = run(9)
run(4, store="p.db")
again = run(9, store="p.db", resume=True)
same = ["loss", "status", "fidelity"]
equal = again.trials[same].equals(whole.trials[same]) and again.configurations == whole.configurations
print(json.dumps([again.loss == whole.loss, equal, len(again.trials)]))
"""
    command = [sys.executable, "-c", code]
    ended = subprocess.run(
        command, check=True, cwd=folder, env=environment(), capture_output=True, text=True, timeout=TIMEOUT
    )
    assert json.loads(ended.stdout) == [True, True, 9]
