"""A command forks its workers off itself: what it has imported is not imported again, and nothing else changes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every zygote is a process of its own")

START = """
import json, os, psutil, signal, sys, time
from spacelang.runtime.executors._processes import zygote_connection
zygote_connection.set_one_thread_environment()
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.executors import Job
from spacelang.runtime.executors.processes import Processes

HERE = os.getpid()
sys.stdout.write("begun ")

def evaluate(request):
    if request.fidelity == 1:
        from sklearn.ensemble import HistGradientBoostingClassifier
        HistGradientBoostingClassifier(max_iter=2).fit([[0.0], [1.0]] * 40, [0, 1] * 40)
    if request.fidelity == 7 and not os.path.exists("grandchild"):
        grandchild = os.fork()
        if grandchild:
            open("grandchild.new", "w").write(str(grandchild))
            os.rename("grandchild.new", "grandchild")
        else:
            os.setsid()
        time.sleep(600)
    return Trial(request, 0.5, 0.0, metrics=tuple(facts().items()))

def facts():
    return {
        "parent of the reaper": float(psutil.Process().parents()[2].pid),
        "main": float(len(vars(sys.modules["__main__"]))),
        "session": float(os.getsid(0)),
    }

def one(executor, number, fidelity=None):
    executor.start("1", Job(number, Request(Configuration({"a": number}), fidelity)))
    return executor.wait(60)[0].trial
"""


def told(body: str) -> Any:
    """What a program prints as JSON behind `begun`."""
    ended = subprocess.run(
        [sys.executable, "-c", START + body],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("begun ")
    assert ended.stdout.count("begun") == 1, "what was not written yet is not written twice"
    return json.loads(ended.stdout.removeprefix("begun "))


def test_a_process_of_one_thread_forks_its_zygote() -> None:
    """What a library does with threads goes on there."""
    found = told("""
import sklearn.ensemble
executor = Processes(evaluate, forks=True)
kind = type(executor._connections[0]._process).__name__
trial = one(executor, 1, 1)
executor.close()
print(json.dumps([kind, trial.status, dict(trial.metrics), HERE, os.getsid(0)]))
""")
    kind, status, facts, here, session = found
    assert (kind, status) == ("ForkedProcess", "success")
    assert facts["parent of the reaper"] == here
    assert facts["session"] != session
    assert facts["main"] < 12, "a fresh main module, which nothing that a trial starts would run again"


def test_a_process_that_has_used_threads_starts_a_fresh_one() -> None:
    assert told("""
import threading
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
executor = Processes(evaluate, forks=True)
kind = type(executor._connections[0]._process).__name__
trial = one(executor, 1)
executor.close()
print(json.dumps([kind, trial.status]))
""") == ["Popen", "success"]


def test_a_forked_zygote_that_is_killed_leaves_nothing_and_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told("""
executor = Processes(evaluate, forks=True)
executor.start("1", Job(1, Request(Configuration({"a": 1}), 7)))
while not os.path.exists("grandchild"):
    executor.wait(0.1)
grandchild = int(open("grandchild").read())
there = psutil.pid_exists(grandchild)
psutil.Process(executor._connections[0]._process.pid).children()[0].kill()
(finished,) = executor.wait(60)
kind = type(executor._connections[0]._process).__name__
executor.close()
left = [each.pid for each in psutil.Process().children(recursive=True)]
print(json.dumps([there, finished.result.status, kind, psutil.pid_exists(grandchild), left]))
""") == [True, "success", "Popen", False, []]


def test_a_command_imports_what_its_pipelines_need_once(tmp_path: Path) -> None:
    (tmp_path / "counted.py").write_text("import os\nos.write(int(os.environ['COUNTED']), b'1')\n", encoding="utf-8")
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'sklearn':\n"
        "            import counted\n"
        "sys.meta_path.insert(0, Finder())\n",
        encoding="utf-8",
    )
    counts, paths = tmp_path / "counts", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with counts.open("wb") as file:
        ended = subprocess.run(
            [
                *(sys.executable, "-m", "spacelang", "run", "blds_table1", "--data", "sklearn:iris"),
                *("--trials", "2", "--optimizer", "random", "--validate", "holdout(0.3)"),
            ],
            cwd=tmp_path,
            env=environment(PYTHONPATH=paths, COUNTED=str(file.fileno())),
            pass_fds=(file.fileno(),),
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    assert counts.read_bytes() == b"1"
