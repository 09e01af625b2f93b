"""The coordinator's connection to the zygote, which is a new process or a fork of the search."""

import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Callable
from contextlib import ExitStack, suppress
from math import inf
from pathlib import Path
from typing import IO, Final, NoReturn

from spacelang.runtime.errors import InputError, describe_exception, signal_name
from spacelang.runtime.executors import Evaluate
from spacelang.runtime.executors._processes import communication, operating_system
from spacelang.runtime.executors._processes.communication import Channel

MARKER_VARIABLE: Final = "SPACELANG_ZYGOTE"  # The environment variable that identifies a zygote and all its descendants
SHUTDOWN_TIMEOUT: Final = 1.0
"""The maximum time for the zygote to end its workers, in seconds; then they are killed from here."""
NO_WORKERS_HELP: Final = "`--workers 0` evaluates trials in the process of the search"
FORK_SAFE_THREADS: Final = frozenset({"jemalloc_bg_thd"})  # Names of allocator threads, which handle forks correctly
POLL_INTERVAL: Final = 0.002  # The interval at which a child is polled for its end, in seconds


class ForkedProcess:
    """A forked child of this process, with the interface of `subprocess.Popen`."""

    def __init__(self, serve: Callable[[], NoReturn]) -> None:
        """Fork a process that runs `serve`, without end, with `STOP_SIGNALS` blocked until it sets its handlers."""
        for stream in (sys.stdout, sys.stderr):
            # Unwritten output would be written by both processes.
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        # The garbage collector does not write to frozen objects, so their pages stay shared with the child.
        gc.freeze()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, communication.STOP_SIGNALS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.pid = os.fork()
        if self.pid == 0:
            try:
                serve()
            finally:
                os._exit(1)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, negative for a signal; raise `subprocess.TimeoutExpired` after the timeout."""
        until = inf if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            gone, status = os.waitpid(self.pid, os.WNOHANG)
            if gone:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > until:
                raise subprocess.TimeoutExpired("the zygote", until)
            else:
                time.sleep(POLL_INTERVAL)
        return self.returncode

    def kill(self) -> None:
        """Kill the child unless it is known to have ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class ZygoteConnection:
    """A connection to a new zygote, which runs below its reaper.

    The zygote is a fork of this process if `forks` allows that and it is safe, otherwise a new interpreter. Raises
    InputError if it cannot be started.
    """

    def __init__(self, evaluate: Evaluate, order: communication.ConfigureWorkers, *, forks: bool = False) -> None:
        self._owner_pid = os.getpid()
        self._marker = uuid.uuid4().hex
        ours, theirs = socket.socketpair()
        reading, self._lifeline = os.pipe()
        self.channel = Channel(ours, SHUTDOWN_TIMEOUT)
        try:
            if forks and is_fork_safe():
                forked = self._fork_zygote(evaluate, ours, theirs, reading)
                self._process: subprocess.Popen[bytes] | ForkedProcess = forked
            else:
                with _pickle_to_file(evaluate) as payload:
                    files = {"control": theirs.fileno(), "lifeline": reading, "payload": payload.fileno()}
                    self._process = self._start_process(files)
        except BaseException:
            ours.close()
            os.close(self._lifeline)
            raise
        finally:
            theirs.close()
            os.close(reading)
        self.send(order)

    def _fork_zygote(
        self, evaluate: Evaluate, ours: socket.socket, theirs: socket.socket, reading: int
    ) -> ForkedProcess:
        from spacelang.runtime.executors._processes import zygote

        def serve() -> NoReturn:
            ours.close()
            os.close(self._lifeline)
            zygote.serve(theirs, reading, evaluate, {MARKER_VARIABLE: self._marker})

        # If zygote and reaper are killed, this process adopts their children. The kernel shows no marker for a fork.
        operating_system.adopt_orphans()
        try:
            return ForkedProcess(serve)
        except OSError as error:
            raise InputError(f"no process can be started: {describe_exception(error)}", NO_WORKERS_HELP) from error

    def _start_process(self, files: dict[str, int]) -> "subprocess.Popen[bytes]":
        threads = dict.fromkeys(communication.THREAD_VARIABLES, "1")
        environment = {**os.environ, **threads, MARKER_VARIABLE: self._marker}
        try:
            streams = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            return communication.start_interpreter(
                "_processes.zygote", files, pass_fds=tuple(files.values()), env=environment, **streams
            )
        except OSError as error:
            raise InputError(f"no process can be started: {describe_exception(error)}", NO_WORKERS_HELP) from error

    def send(self, order: communication.ZygoteCommand, file: int | None = None) -> None:
        """Send a command, perhaps with an open file; do nothing if the zygote has ended.

        Its end is noticed when the channel is read.
        """
        with suppress(OSError):
            self.channel.send(pickle.dumps(order), file)

    def receive_messages(self) -> list[communication.ZygoteMessage]:
        """Return the messages that have arrived from the zygote."""
        return [pickle.loads(message) for message in self.channel.receive_available()]

    def kill(self) -> None:
        """Kill the zygote and its workers; the reaper kills the rest and exits, even if it has been stopped."""
        import psutil

        from spacelang.runtime.executors._processes import process_tree

        with suppress(psutil.NoSuchProcess):
            reaper = psutil.Process(self._process.pid)
            for zygote in reaper.children():
                process_tree.kill_tree(zygote)
            reaper.resume()

    def shut_down(self) -> None:
        """End the zygote and all its descendants; an interrupted call can be repeated."""
        if self._lifeline >= 0:
            lifeline, self._lifeline = self._lifeline, -1
            os.close(lifeline)
        self.channel.close()
        if os.getpid() != self._owner_pid or self._process.returncode is not None:
            return  # a fork of the coordinator does not own its processes
        for end in (self.kill, self._process.kill):
            try:
                self._process.wait(SHUTDOWN_TIMEOUT)
                break
            except subprocess.TimeoutExpired:
                end()
        else:
            self._process.wait()
        if self._process.returncode not in (0, -signal.SIGIO):
            from spacelang.runtime.executors._processes import process_tree

            # If the reaper was killed, too, the kernel kills the workers; the marker finds their descendants.
            process_tree.kill_processes_with_environment_variable(MARKER_VARIABLE, self._marker)
            if isinstance(self._process, ForkedProcess):
                process_tree.kill_children()

    def describe_exit(self) -> str:
        """Describe how a zygote that has ended did so: its exit code or signal, as the end of a sentence."""
        code = self._process.returncode or 0
        return f"was ended by {signal_name(-code)}" if code < 0 else f"exited with code {code}"


def _pickle_to_file(evaluate: Evaluate) -> IO[bytes]:
    import cloudpickle

    with ExitStack() as stack:
        create = getattr(os, "memfd_create", None)  # in memory if the system supports that
        opened: IO[bytes] = os.fdopen(create("spacelang"), "w+b") if create else tempfile.TemporaryFile()  # noqa: SIM115
        file = stack.enter_context(opened)
        try:
            cloudpickle.dump(evaluate, file, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            what = f"the evaluation cannot be sent to another process: {describe_exception(error)}"
            raise InputError(what, NO_WORKERS_HELP) from error
        file.flush()
        stack.pop_all()
    return file


def set_one_thread_environment() -> None:
    """Set the environment so that numerical libraries use one thread, in this process and its children.

    Nothing is changed if NumPy is already loaded, as it would be too late.
    """
    if "numpy" not in sys.modules:
        os.environ.update(dict.fromkeys(communication.THREAD_VARIABLES, "1"))


def is_fork_safe() -> bool:
    """Return True if this process has a single thread, apart from harmless ones, so that forking it is safe."""
    mine = str(threading.get_native_id())
    try:
        others = [Path(entry.path, "comm") for entry in os.scandir("/proc/self/task") if entry.name != mine]
        return all(name.read_text().strip() in FORK_SAFE_THREADS for name in others)
    except OSError:
        return False
