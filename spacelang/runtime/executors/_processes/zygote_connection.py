"""The coordinator's connection to the zygote: starts it, exchanges messages with it and ends it."""

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from contextlib import ExitStack, suppress
from typing import IO, Final, NoReturn

from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import Evaluate
from spacelang.runtime.executors._processes import kernel
from spacelang.runtime.executors._processes.channel import Channel
from spacelang.runtime.executors._processes.forked_zygote import THREAD_VARIABLES, ForkedProcess, is_fork_safe
from spacelang.runtime.executors._processes.messages import ConfigureWorkers, ZygoteCommand, ZygoteMessage
from spacelang.runtime.failures import describe_exception, signal_name

BOOT_SCRIPT: Final = """
import json, sys
given = json.loads(sys.argv[1])
sys.path[:] = given.pop("path")
from spacelang.runtime.executors._processes.zygote import main
main(**given)
"""
"""The code that a new zygote runs. It has the module path of the coordinator, but not its `__main__`."""

MARKER_VARIABLE: Final = "SPACELANG_ZYGOTE"
"""The environment variable that identifies a zygote and all its descendants."""

SHUTDOWN_TIMEOUT: Final = 1.0
"""The maximum time for the zygote to end its workers, in seconds; then they are killed from here."""


class ZygoteConnection:
    """A zygote process and the connection to it.

    With `forks` the zygote is a fork of this process if that is safe. Raises InputError if the evaluation cannot be
    sent to another process, or if no process can be started.
    """

    def __init__(self, evaluate: Evaluate, order: ConfigureWorkers, *, forks: bool = False) -> None:
        self._owner_pid = os.getpid()
        self._marker = uuid.uuid4().hex
        ours, theirs = socket.socketpair()
        reading, self._lifeline = os.pipe()
        self.channel = Channel(ours, SHUTDOWN_TIMEOUT)
        try:
            if forks and is_fork_safe():
                self._process: subprocess.Popen[bytes] | ForkedProcess = self._fork_zygote(
                    evaluate, ours, theirs, reading
                )
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

        # If the zygote is killed, this process adopts its children. The kernel shows no marker for a fork.
        kernel.adopt_orphans()
        try:
            return ForkedProcess(serve)
        except OSError as error:
            raise InputError(f"no process can be started: {describe_exception(error)}", NO_WORKERS_HELP) from error

    def _start_process(self, files: dict[str, int]) -> "subprocess.Popen[bytes]":
        given = json.dumps({"path": sys.path, **files})
        environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1"), MARKER_VARIABLE: self._marker}
        try:
            # `-P`: no file of the current folder is imported in place of a module before the path is set.
            return subprocess.Popen(
                [sys.executable, "-P", "-c", BOOT_SCRIPT, given],
                pass_fds=tuple(files.values()),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(f"no process can be started: {describe_exception(error)}", NO_WORKERS_HELP) from error

    def send(self, order: ZygoteCommand, file: int | None = None) -> None:
        """Send a command, with an open file if one is given.

        Errors are ignored; the channel reports a zygote that has ended by `is_closed_by_peer`.
        """
        with suppress(OSError):
            self.channel.send(pickle.dumps(order), file)

    def receive_messages(self) -> list[ZygoteMessage]:
        """Return the messages that have arrived from the zygote."""
        return [pickle.loads(message) for message in self.channel.receive_available()]

    def kill(self) -> None:
        """Kill the zygote."""
        self._process.kill()

    def shut_down(self) -> None:
        """End the zygote and all its descendants.

        Ending it again does nothing. If this is interrupted, another call continues it.
        """
        if self._lifeline >= 0:
            lifeline, self._lifeline = self._lifeline, -1
            os.close(lifeline)
        self.channel.close()
        if os.getpid() != self._owner_pid or self._process.returncode is not None:
            return  # a fork of the coordinator does not own its processes
        try:
            self._process.wait(SHUTDOWN_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.returncode not in (0, -signal.SIGIO):
            from spacelang.runtime.executors._processes.process_tree import (
                kill_children,
                kill_processes_with_environment_variable,
            )

            # The zygote could not clean up. The kernel kills its workers; their descendants are found by the marker.
            kill_processes_with_environment_variable(MARKER_VARIABLE, self._marker)
            if isinstance(self._process, ForkedProcess):
                kill_children()

    def describe_exit(self) -> str:
        """Describe how a zygote that has ended did so: its exit code or signal, as the end of a sentence."""
        code = self._process.returncode or 0
        return f"was ended by {signal_name(-code)}" if code < 0 else f"exited with code {code}"


NO_WORKERS_HELP: Final = "`--workers 0` evaluates trials in the process of the search"


def _pickle_to_file(evaluate: Evaluate) -> IO[bytes]:
    """Return an unnamed file with the pickled evaluation. Raises InputError if it cannot be pickled."""
    import cloudpickle

    with ExitStack() as stack:
        file = stack.enter_context(_unnamed_file())
        try:
            cloudpickle.dump(evaluate, file, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            raise InputError(
                f"the evaluation cannot be sent to another process: {describe_exception(error)}", NO_WORKERS_HELP
            ) from error
        file.flush()
        stack.pop_all()
    return file


def _unnamed_file() -> IO[bytes]:
    """Return an unnamed file, in memory if the system supports that."""
    create = getattr(os, "memfd_create", None)
    return tempfile.TemporaryFile() if create is None else os.fdopen(create("spacelang"), "w+b")
