"""The faults of the suite: generators that strike a run, and yield whenever the run may go on for a moment."""

import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import psutil

if TYPE_CHECKING:
    from searches import Run

Fault: TypeAlias = Iterator[None]
ENOUGH: Final = 10  # The number of results after which a single fault strikes
PAUSE_SECONDS: Final = 10.0  # The time for which a process or the network stands still, in seconds
DAY: Final = 86_400
JUMPS: Final = (DAY, -2 * DAY, 30 * DAY, 0)  # Where the clock jumps to, in seconds relative to the truth


def kill_command(run: "Run") -> Fault:
    """Kill the process of the command: at its start, or some milliseconds after a result."""
    for _ in range(run.strikes):
        session = run.sessions
        if run.chance.random() < 0.2:
            yield from sleep(run.chance.uniform(0, 1))
        else:
            yield from wait_for_results(run, run.chance.randint(1, 4))
            yield from sleep(run.chance.uniform(0, 0.05))
        if run.command is not None and run.command.poll() is None:
            run.command.kill()
            run.struck += 1
        while run.sessions == session and not run.is_over:
            yield


def kill_worker(run: "Run") -> Fault:
    """Kill the process of a trial."""
    yield from kill_evaluations(run, lambda process: [process])


def kill_family(run: "Run") -> Fault:
    """Kill the process of a trial and all processes between it and the command."""
    yield from kill_evaluations(run, lambda process: [process, *run.parents_below_command(process)])


def kill_evaluations(run: "Run", family: Callable[[psutil.Process], list[psutil.Process]]) -> Fault:
    """Kill processes of trials, each some milliseconds after a result."""
    for _ in range(run.strikes):
        yield from wait_for_results(run, run.chance.randint(1, 4))
        yield from sleep(run.chance.uniform(0, 0.05))
        with suppress(psutil.Error, IndexError):
            for process in family(run.chance.choice(run.evaluating())):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            run.struck += 1


def misbehave(run: "Run") -> Fault:
    """Do nothing: a tenth of the trials misbehave by themselves."""
    while not run.is_over:
        yield
    run.struck = run.misbehaved


def fill_disk(run: "Run") -> Fault:
    """Fill the disk of the run, and free it once the command has ended, or after some seconds."""
    yield from wait_for_results(run, ENOUGH)
    filler, session = run.folder / "filler", run.sessions
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    run.struck += 1
    until = time.monotonic() + PAUSE_SECONDS
    while run.sessions == session and time.monotonic() < until and not run.is_over:
        yield
    filler.unlink()


def begin_second_run(run: "Run") -> Fault:
    """Begin the same search a second time while it is running."""
    yield from wait_for_results(run, ENOUGH)
    second = run.start_command()
    run.struck += 1
    while second.poll() is None and not run.is_over:
        yield
    run.note = "the second one takes part"
    if second.poll():
        run.note = f"the second one ends with status {second.poll()}"
    elif second.poll() is None:
        second.wait()


def stop_evaluation(run: "Run") -> Fault:
    """Stop the process of a trial by SIGSTOP, for ever."""
    yield from wait_for_results(run, ENOUGH)
    while not run.struck and not run.is_over:
        with suppress(psutil.Error, IndexError):
            run.chance.choice(run.evaluating()).suspend()
            run.struck += 1
        yield


def stop_dask_worker(run: "Run") -> Fault:
    """Stop a dask worker by SIGSTOP for some seconds."""
    yield from wait_for_results(run, ENOUGH)
    assert run.cluster is not None
    stopped = psutil.Process(run.cluster.workers[0].pid)
    stopped.suspend()
    run.struck += 1
    yield from sleep(PAUSE_SECONDS)
    stopped.resume()


def kill_scheduler(run: "Run") -> Fault:
    """Kill the scheduler; another one is started before the command is repeated, or after a while."""
    yield from wait_for_results(run, ENOUGH)
    assert run.cluster is not None
    session, until = run.sessions, time.monotonic() + 3 * PAUSE_SECONDS
    run.cluster.close()
    run.struck += 1
    while run.sessions == session and time.monotonic() < until:
        yield
    run.note = "the command ends" if run.sessions > session else "the command waits"
    run.cluster.ensure_started()


def pause_network(run: "Run") -> Fault:
    """Block the connection of the command and the scheduler for some seconds."""
    yield from wait_for_results(run, ENOUGH)
    assert run.cluster is not None
    run.cluster.proxy.is_paused = True
    run.struck += 1
    yield from sleep(PAUSE_SECONDS)
    run.cluster.proxy.is_paused = False


def set_clock(run: "Run") -> Fault:
    """Let the clock of all processes of the run jump; `clock.c` reads the offset from a file."""
    for seconds in JUMPS:
        yield from wait_for_results(run, ENOUGH)
        Path(run.environment["CLOCK_OFFSET_FILE"]).write_text(str(seconds), encoding="ascii")
        run.struck += 1


def wait_for_results(run: "Run", more: int) -> Fault:
    """Yield until the tool has reported so many further results to the user, or the run is over."""
    wanted = run.reported + more
    while run.reported < wanted and not run.is_over:
        yield


def sleep(seconds: float) -> Fault:
    """Yield for some seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield


FAULTS: Final[dict[str, Callable[["Run"], Fault]]] = {
    "kill -9 of the command": kill_command,
    "kill -9 of a worker": kill_worker,
    "kill -9 of a worker and its parents": kill_family,
    "full disk": fill_disk,
    "10 % misbehaving trials": misbehave,
    "two runs on one store": begin_second_run,
    "worker stopped for ever": stop_evaluation,
    "clock jumps": set_clock,
    "dask worker stopped": stop_dask_worker,
    "scheduler killed": kill_scheduler,
    "network pause": pause_network,
}
"""All faults by name."""
REPEATED: Final = frozenset({"kill -9 of the command", "kill -9 of a worker", "kill -9 of a worker and its parents"})
"""Faults that strike as often as is wanted; all others strike once, or at all misbehaving trials."""
CLUSTER_FAULTS: Final = frozenset({"dask worker stopped", "scheduler killed", "network pause"})


class Proxy:
    """A server that passes bytes on between the command and the scheduler, unless it is paused."""

    def __init__(self, port: int) -> None:
        self.is_paused = False
        self._target = ("127.0.0.1", port)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._server.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._server.accept()
                try:
                    there = socket.create_connection(self._target)
                except OSError:
                    here.close()
                    continue
                for pair in ((here, there), (there, here)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError), source, target:
            while data := source.recv(1 << 16):
                while self.is_paused:
                    time.sleep(0.05)
                target.sendall(data)


class Cluster:
    """A dask scheduler with two workers, all in processes of their own, and a proxy before the scheduler."""

    def __init__(self, python: str, environment: dict[str, str], folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self._port = int(taken.getsockname()[1])
        self._python, self._environment, self._folder = python, environment, folder
        self.proxy = Proxy(self._port)
        self.workers: list[subprocess.Popen[bytes]] = []
        self._scheduler: subprocess.Popen[bytes] | None = None
        self.ensure_started()

    @property
    def address(self) -> str:
        """The address at which the command reaches the scheduler."""
        return f"tcp://127.0.0.1:{self.proxy.port}"

    def ensure_started(self) -> None:
        """Start the scheduler and the workers, unless they are running, and wait for the scheduler."""
        if self._scheduler is not None and self._scheduler.poll() is None:
            return
        self._scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", str(self._port), "--no-dashboard", "--no-show"
        )
        place = f"tcp://127.0.0.1:{self._port}"
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")
        self.workers = [self._start("worker", place, "--host", "127.0.0.1", *options) for _ in range(2)]
        while self._scheduler.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port)):
                return
            time.sleep(0.1)

    def close(self) -> None:
        """Kill the scheduler; its workers end as well."""
        for process in (self._scheduler, *self.workers):
            if process is not None:
                process.send_signal(signal.SIGKILL)
                process.wait()

    def _start(self, *arguments: str) -> Any:
        command = [self._python, "-m", "dask", *arguments]
        with (self._folder / f"{arguments[0]}.log").open("ab") as log:
            return subprocess.Popen(command, env=self._environment, cwd=self._folder, stdout=log, stderr=log)
