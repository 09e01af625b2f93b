"""Commands as a user starts them, in new processes or in forks of a process that has imported everything."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from preloaded import ONE_THREAD, Attended, Command, Preloaded, Wanted

from spacelang.runtime.executors._processes.zygote_connection import MARKER_VARIABLE, ZygoteConnection

TIMEOUT = 100.0
"""The seconds after which a command is considered to hang; none needs more than a few."""

TOY = """\
space toy "A toy"
stage scaler = none | StandardScaler | RobustScaler
stage estimator =
  | LogisticRegression { C : float[0.01, 100] log = 1 }
  | KNeighborsClassifier { n_neighbors : int[1, 20] = 5, weights : {uniform, distance} = uniform }
  | DecisionTreeClassifier
forbid scaler is none and estimator is KNeighborsClassifier
"""

TINY = """\
space tiny
stage scaler = none | StandardScaler
stage estimator = GaussianNB | DecisionTreeClassifier
"""

REGRESSION = "space lines\nstage estimator = Ridge | LinearRegression\n"

WRONG = "space wrong\nstage estimator = GausianNB\n"


def environment(**more: str) -> dict[str, str]:
    """Return the environment without the settings of this user for colours, encodings and catalogues."""
    personal = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "PYTHONIOENCODING", "PYTHONWARNINGS", "XDG_DATA_HOME")
    return {name: value for name, value in os.environ.items() if name not in personal} | more


def spacelang(
    *arguments: str | bytes, folder: Path, stdin: str = "", code: str | None = None, afresh: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run `python -m spacelang ARGUMENTS` (or `python -c CODE ARGUMENTS`) in a folder; it never shows a traceback.

    A command has a process of its own, which has not been started `afresh` unless that is what a test is about.
    """
    if not afresh:
        command = Command([os.fsdecode(each) for each in arguments], str(folder), environment(), code)
        status, *streams = preloaded().run(command, stdin.encode(), TIMEOUT)
        out, err = (each.decode(errors="surrogateescape").replace("\r\n", "\n") for each in streams)
        ended = subprocess.CompletedProcess(arguments, status, out, err)
    else:
        ended = started(*arguments, folder=folder, stdin=stdin, code=code)
    assert "Traceback" not in ended.stderr, ended.stderr
    assert "\x1b" not in ended.stdout + ended.stderr, "colours, or somebody's escape sequences, without a terminal"
    return ended


@cache
def preloaded() -> Preloaded:
    return Preloaded()


def zygote(link: ZygoteConnection, files: dict[str, int]) -> Attended:
    """Fork a zygote from a process that has imported everything; it replaces `ZygoteConnection._start_process`."""
    environment = {**os.environ, **ONE_THREAD, MARKER_VARIABLE: link._marker}
    return preloaded().zygote(Wanted(str(Path.cwd()), environment, list(sys.path)), **files)


class Going:
    """A running command, or code that calls one, in a fork, with the interface of `subprocess.Popen`.

    There is one at a time, and no other command meanwhile.
    """

    def __init__(self, *arguments: str, folder: Path, code: str | None = None) -> None:
        pipes = os.pipe(), os.pipe()
        with Path(os.devnull).open("rb", buffering=0) as nothing:
            streams = [nothing.fileno(), *(writing for _, writing in pipes)]
            self.pid = preloaded().begin(Command([*arguments], str(folder), environment(), code), streams)
        for _, writing in pipes:
            os.close(writing)
        self.stdout, self.stderr = (os.fdopen(reading, encoding="utf-8") for reading, _ in pipes)
        self.returncode: int | None = None

    def __enter__(self) -> "Going":
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        self.stderr.close()
        self.send_signal(signal.SIGKILL)
        assert self.poll(TIMEOUT) is not None

    def poll(self, seconds: float = 0.0) -> int | None:
        """Return the exit status; None if the command has not ended after some seconds."""
        if self.returncode is None:
            self.returncode = preloaded().ended(seconds)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def communicate(self) -> tuple[str, str]:
        """Return its output and errors until it ends; empty for a closed stream."""
        assert self.poll(TIMEOUT) is not None, "it hangs"
        out, err = ("" if each.closed else each.read() for each in (self.stdout, self.stderr))
        return out, err


def killed(*arguments: str, folder: Path, when: Callable[[], bool]) -> None:
    """Kill a command as soon as `when` returns True, unless it ends before."""
    with Path(os.devnull).open("r+b", buffering=0) as nothing:
        child = preloaded().begin(Command([*arguments], str(folder), environment()), [nothing.fileno()] * 3)
    ends = time.monotonic() + TIMEOUT
    while not when() and time.monotonic() < ends:
        if preloaded().ended(0.02) is not None:
            return
    os.kill(child, signal.SIGKILL)
    assert preloaded().ended(TIMEOUT) is not None


def started(*arguments: str | bytes, folder: Path, stdin: str, code: str | None) -> subprocess.CompletedProcess[str]:
    start: list[str | bytes] = ["-m", "spacelang"] if code is None else ["-c", code]
    return subprocess.run(
        [sys.executable, *start, *arguments],
        cwd=folder,
        env=environment(),
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=TIMEOUT,
        check=False,
    )


def document(ended: subprocess.CompletedProcess[str], status: int = 0) -> Any:
    """Return the only JSON document in the output of a command that ended with this status."""
    assert ended.returncode == status, ended.stderr
    assert ended.stdout.count("\n") == 1
    return json.loads(ended.stdout)


def write_spaces(folder: Path) -> None:
    for name, text in {"toy": TOY, "tiny": TINY, "lines": REGRESSION, "wrong": WRONG}.items():
        (folder / f"{name}.space").write_text(text, encoding="utf-8")
