"""The tools under torture, and a run of one of them that a fault strikes."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
from faults import CLUSTER_FAULTS, FAULTS, Cluster
from objective import HARNESS, MISBEHAVES, NOTES, SLOWNESS, loss_of, misbehaviour_of

import spacelang
from spacelang.testing.executors import MarkedProcesses, mark_processes

HERE: Final = Path(__file__).parent
TICK: Final = 0.005  # The interval at which a run is observed, in seconds
START_PATIENCE: Final = 120.0  # The time without a result after which a command hangs that has had none, in seconds
LEAVE_SECONDS: Final = 5.0  # The time in which the processes of a run that is over have to end, in seconds
MAX_RESTARTS: Final = 15  # The number of sessions that may end by themselves before the run is given up
MAX_FUTILE: Final = 5  # The number of such sessions in a row without a result before the run is given up


@dataclass(frozen=True)
class Tool:
    """A tool: its script, the interpreter that runs it, and the length of its runs."""

    name: str
    package: str
    script: str
    python: str
    options: tuple[str, ...] = ()
    trials: int = 200  # The number of trials of a run that a fault strikes once
    patience: float = 20.0  # The time without a result after which a command that has had one hangs, in seconds
    has_clusters: bool = False

    def version(self) -> str:
        """Return the version of the package; the empty string if it is not installed."""
        if self.package == "spacelang":  # The metadata of an editable installation may be those of an older version.
            return spacelang.__version__
        code = f"from importlib.metadata import version; print(version('{self.package}'))"
        with suppress(OSError):
            return subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=False).stdout.strip()
        return ""


def tools(peers: Path) -> list[Tool]:
    """Return all tools; each peer has its own environment in the folder, with the packages of `peers/NAME.txt`."""
    optuna, smac, ray = (str(peers / name / "bin" / "python") for name in ("optuna", "smac", "ray"))
    return [
        Tool("spacelang", "spacelang", "search_spacelang.py", sys.executable, has_clusters=True),
        Tool("Optuna, RDB", "optuna", "search_optuna.py", optuna, ("rdb",)),
        Tool("Optuna, journal", "optuna", "search_optuna.py", optuna, ("journal",)),
        Tool("SMAC", "smac", "search_smac.py", smac, trials=40, patience=60, has_clusters=True),
        Tool("Ray Tune", "ray", "search_ray.py", ray, trials=30, patience=60),
    ]


@dataclass(frozen=True)
class Losses:
    """The counts of a run that a fault struck.

    `reported` is the number of results that the user has seen, and `lost` how many of these are not in the storage.
    `stored` is the number of results in the storage. The loss of `wrong` ones is not what the objective has returned;
    `blamed` ones have failed although they did not misbehave. `wasted` evaluations have succeeded, but are not in the
    storage. `restarts` counts sessions that ended by themselves before the end of the run, `hangs` those that had to be
    killed, and `left` the processes that the run has left behind.
    """

    struck: int
    reported: int
    lost: int
    stored: int
    wrong: int
    blamed: int
    wasted: int
    restarts: int
    hangs: int
    left: int
    seconds: float
    note: str


class Run:
    """A run of a tool in a folder, which a fault strikes; it is started again until it is complete."""

    def __init__(
        self,
        tool: Tool,
        fault: str,
        strikes: int,
        trials: int,
        folder: Path,
        clock: Path | None = None,
        slowness: float = 1.0,
    ) -> None:
        """Prepare a run; `slowness` multiplies the times after which a command without results hangs."""
        self.folder, self.strikes, self.note = folder / "run", strikes, ""
        self.chance = random.Random(0)
        self.sessions = self.struck = 0
        self.is_over = False
        self.command: subprocess.Popen[bytes] | None = None
        self.cluster: Cluster | None = None
        self._tool, self._fault, self._trials, self._slowness = tool, fault, trials, slowness
        self._notes = folder / "notes"
        self._notes.mkdir()
        self.folder.mkdir(exist_ok=True)
        self.environment = {
            HARNESS: str(os.getpid()),
            NOTES: str(self._notes),
            SLOWNESS: str(slowness),
            "PYTHONPATH": self._module_path(),
        }
        if fault == "10 % misbehaving trials":
            self.environment[MISBEHAVES] = "1"
        if fault == "clock jumps":
            (folder / "clock").write_text("0", encoding="ascii")
            self.environment |= {"LD_PRELOAD": str(clock), "CLOCK_OFFSET_FILE": str(folder / "clock")}

    @property
    def reported(self) -> int:
        """The number of results that the user has seen."""
        return len(self._numbers("reported"))

    @property
    def misbehaved(self) -> int:
        """The number of trials that have misbehaved: all of them that the tool has reported."""
        return sum(bool(misbehaviour_of(x)) for x in set(self._numbers("reported")))

    def perform(self) -> Losses:
        """Run until the search is complete, and return its counts."""
        started, restarts, hangs, left, futile = time.monotonic(), 0, 0, 0, 0
        with mark_processes() as marked:
            try:
                if self._fault in CLUSTER_FAULTS:
                    self.cluster = Cluster(self._tool.python, os.environ | self.environment, self._notes)
                fault = FAULTS[self._fault](self)
                while restarts + hangs <= MAX_RESTARTS and futile < MAX_FUTILE:
                    struck, reported = self.struck, self.reported
                    ended = self._session(fault, marked)
                    if ended == 0:
                        break
                    is_victim = self._fault == "kill -9 of the command" and self.struck > struck
                    futile = 0 if is_victim or self.reported > reported else futile + 1
                    hangs += ended is None
                    restarts += ended is not None and not is_victim
                if futile == MAX_FUTILE:
                    self.note = "the run cannot be continued"
                self.is_over = True
                for _ in range(10_000):
                    next(fault, None)
                seconds = time.monotonic() - started
            finally:
                if self.cluster is not None:
                    self.cluster.close()
                    self.cluster.proxy.close()
            if not marked.wait_until_gone(LEAVE_SECONDS):
                left = len(marked())
        return self._compare(restarts, hangs, left, seconds)

    def start_command(self) -> "subprocess.Popen[bytes]":
        """Start the command in the folder of the run."""
        address = () if self.cluster is None else (self.cluster.address,)
        command = self._command("run", str(self.folder), str(self._trials), *self._tool.options, *address)
        place, environment = self._notes, os.environ | self.environment
        with (place / "log").open("ab") as log:
            return subprocess.Popen(
                command, env=environment, cwd=place, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def evaluating(self) -> list[psutil.Process]:
        """Return the living processes that have evaluated a trial."""
        found = []
        for file in self._notes.glob("process-*"):
            try:
                process = psutil.Process(int(file.name.partition("-")[2]))
                is_alive = process.status() != psutil.STATUS_ZOMBIE
            except psutil.NoSuchProcess:
                is_alive = False
            if is_alive:
                found.append(process)
            else:
                file.unlink(missing_ok=True)
        return found

    def parents_below_command(self, process: psutil.Process) -> list[psutil.Process]:
        """Return the processes between a process and the command; none if the command is not above it."""
        above = process.parents()
        pids = [each.pid for each in above]
        return above[: pids.index(self.command.pid)] if self.command and self.command.pid in pids else []

    def _session(self, fault: Iterator[None], marked: MarkedProcesses) -> int | None:
        """Run the command once and return its status; None if it hung and was killed."""
        if self.cluster is not None:
            self.cluster.ensure_started()
        self.command, before = self.start_command(), self.reported
        self.sessions += 1
        known, since = before, time.monotonic()
        while (status := self.command.poll()) is None:
            next(fault, None)
            time.sleep(TICK)
            reported = self.reported
            if reported > known:
                known, since = reported, time.monotonic()
            patience = self._tool.patience if known > before else START_PATIENCE
            if time.monotonic() - since > self._slowness * patience:
                for process in [psutil.Process(self.command.pid)] if self.cluster else marked():
                    with suppress(psutil.NoSuchProcess):
                        process.kill()
                self.command.wait()
                return None
        return status

    def _compare(self, restarts: int, hangs: int, left: int, seconds: float) -> Losses:
        command = self._command("read", str(self.folder), *self._tool.options)
        environment = os.environ | {"PYTHONPATH": self._module_path()}
        answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        note, stored = self.note, dict[float, Any]()
        if answer.returncode:
            reason = f"the storage cannot be read: {answer.stderr.strip().splitlines()[-1]}"
            note = f"{note}; {reason}" if note else reason
        else:
            stored = dict(json.loads(answer.stdout.splitlines()[-1]))
        reported, evaluated = self._numbers("reported"), self._numbers("evaluated")
        wasted = len(evaluated) - len({*evaluated} & {x for x, loss in stored.items() if loss is not None})
        misbehaviours = {x: self._fault == "10 % misbehaving trials" and misbehaviour_of(x) for x in stored}
        successes = {x: loss for x, loss in stored.items() if loss is not None and misbehaviours[x] != "allocate"}
        return Losses(
            struck=self.struck,
            reported=len({*reported}),
            lost=len({*reported} - stored.keys()),
            stored=len(stored),
            wrong=sum(bool(misbehaviours[x]) or abs(loss - loss_of(x)) > 1e-9 for x, loss in successes.items()),
            blamed=sum(loss is None and not misbehaviours[x] for x, loss in stored.items()),
            wasted=wasted,
            restarts=restarts,
            hangs=hangs,
            left=left,
            seconds=round(seconds, 1),
            note=note,
        )

    def _command(self, *arguments: str) -> list[str]:
        return [self._tool.python, str(HERE / self._tool.script), *arguments]

    def _module_path(self) -> str:
        """Return the path on which the tool finds the objective, and spacelang finds itself."""
        places = [str(HERE), *([str(HERE.parents[1])] if self._tool.name == "spacelang" else [])]
        return os.pathsep.join(places)

    def _numbers(self, name: str) -> list[float]:
        with suppress(FileNotFoundError):
            return [float(line) for line in (self._notes / name).read_text(encoding="ascii").splitlines()]
        return []
