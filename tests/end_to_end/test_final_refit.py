"""What `spacelang run` prints of a best pipeline that behaves on the training rows and on all rows does not."""

import re
import shutil
import signal
import time
from pathlib import Path

import pytest
from commands import Going, document, spacelang

ARGUMENTS = ("run", "late.space", "--data", "rows.csv", "--allow", "late_faults", "--metric", "accuracy")
OPTIONS = ("--optimizer", "random", "--set", "hyperparameters=sample", "--validate", "holdout(0.3)", "--trials", "9")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "".join(f"{row % 2 + row % 7 / 20},{row % 5},{'no' if row % 2 else 'yes'}\n" for row in range(100))
    (tmp_path / "rows.csv").write_text("a,b,target\n" + rows)
    shutil.copy(Path(__file__).parents[1] / "late_faults.py", tmp_path)  # a command finds it where it is started
    return tmp_path


def late(folder: Path, *deeds: str) -> None:
    text = f"use late_faults\nstage e = Late {{ deed : {{{', '.join(deeds)}}}, rows = 70 }}\n"
    (folder / "late.space").write_text(text)


def test_the_next_best_is_shown_after_the_one_that_dies(folder: Path) -> None:
    late(folder, "segfault", "raise_an_error", "well")
    ended = spacelang(*ARGUMENTS, *OPTIONS, "--code", folder=folder)
    assert ended.returncode == 0, ended.stderr
    answer, _, code = ended.stdout.partition("\n# the pipeline of trial ")
    assert 'pipeline = Pipeline([("e", Late(rows=70))])' in code
    said = answer.splitlines()
    assert "failed: the worker process was ended by signal 11 (SIGSEGV)" in said[1]
    assert said[2].endswith(" on all 100 rows failed: ValueError: the number is wrong")
    assert re.fullmatch(r"The next best is trial \d, with accuracy 0\.\d+:", said[3])
    assert "  e  Late  deed=well" in said
    assert ", fit on all 100 rows " in answer
    assert code.splitlines()[-1].startswith("# to fit it: ")
    assert not ended.stderr


def test_where_none_can_be_fitted_it_is_said(folder: Path) -> None:
    late(folder, "raise_an_error", "exit_at_once")
    ended = spacelang(*ARGUMENTS, *OPTIONS, "--json", folder=folder)
    found = document(ended, 3)
    assert "error: none of the 2 best pipelines can be fitted on all rows" in ended.stderr
    assert [(each["status"], each["reason"]) for each in found["passed_over"]] == [
        ("error", "ValueError: the number is wrong"),
        ("crash", "the worker process exited with code 3"),
    ]
    assert found["refit"] is None
    assert found["configuration"]["e.deed"] == "raise_an_error"


def test_ctrl_c_while_it_is_fitted_leaves_the_answer_and_the_line_that_resumes(folder: Path) -> None:
    late(folder, "sleep")
    with Going(*ARGUMENTS, *OPTIONS, "--store", "run.db", folder=folder, code=INTERRUPTIBLE) as run:
        until = time.monotonic() + 60
        while not (folder / "fitting").exists() and time.monotonic() < until:
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        told, _ = run.communicate()
    assert run.returncode == 130
    assert "\n  e  Late  deed=sleep\n" in told
    assert "\nInterrupted: the final fit was skipped.\n" in told
    assert "\n  spacelang export run.db --allow late_faults -o pipeline.py\n" in told


INTERRUPTIBLE = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from spacelang import cli
from spacelang.runtime.executors.processes import Processes
start = Processes.start
def marked(self, worker, job):
    start(self, worker, job)
    if job.number < 0:
        open("fitting", "w").close()
Processes.start = marked
cli.main()
"""
"""The command, which leaves a file when it begins to fit on all rows."""


def test_the_score_on_test_rows_is_kept_though_nobody_reads_the_output(folder: Path) -> None:
    (folder / "two.space").write_text("stage e = GaussianNB | BernoulliNB\n")
    command = ("run", "two.space", "--data", "rows.csv", "--test", "0.3", "--trials", "2", "--store", "two.db")
    with Going(*command, "--optimizer", "random", folder=folder) as process:
        process.stdout.close()
        _, told = process.communicate()
    assert process.returncode == 0, told
    assert not told
    assert document(spacelang("show", "two.db", "--json", folder=folder))["test"]["rows"] == 30
