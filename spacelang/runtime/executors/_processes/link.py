"""The coordinator's end of the nursery: starts it, talks to it and ends it."""

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
from spacelang.runtime.executors._processes import system
from spacelang.runtime.executors._processes.channel import Channel
from spacelang.runtime.executors._processes.forked import ONE_THREAD, Forked, may_fork
from spacelang.runtime.executors._processes.messages import Command, Load, News
from spacelang.runtime.failures import described, signal_name

BOOT: Final = """
import json, sys
given = json.loads(sys.argv[1])
sys.path[:] = given.pop("path")
from spacelang.runtime.executors._processes.nursery import main
main(**given)
"""
"""What the nursery runs: it sees the modules that the coordinator sees, and knows nothing of its `__main__`."""

MARK: Final = "SPACELANG_NURSERY"
"""The environment variable by which a nursery and all below it are known."""

PATIENCE: Final = 1.0
"""How long the nursery may take to end its workers, in seconds, before all are ended from here."""


class Link:
    """A nursery, its process and the connection to it.

    With `forks` it is a fork of this process where that is as good as a fresh one. Raises InputError where the
    evaluation cannot be sent to another process, or no process can be started.
    """

    def __init__(self, evaluate: Evaluate, order: Load, *, forks: bool = False) -> None:
        self._owner = os.getpid()
        self._mark = uuid.uuid4().hex
        ours, theirs = socket.socketpair()
        reading, self._lifeline = os.pipe()
        self.channel = Channel(ours, PATIENCE)
        try:
            if forks and may_fork():
                self._process: subprocess.Popen[bytes] | Forked = self._forked(evaluate, ours, theirs, reading)
            else:
                with _payload(evaluate) as payload:
                    files = {"control": theirs.fileno(), "lifeline": reading, "payload": payload.fileno()}
                    self._process = self._started(files)
        except BaseException:
            ours.close()
            os.close(self._lifeline)
            raise
        finally:
            theirs.close()
            os.close(reading)
        self.tell(order)

    def _forked(self, evaluate: Evaluate, ours: socket.socket, theirs: socket.socket, reading: int) -> Forked:
        from spacelang.runtime.executors._processes import nursery

        def serve() -> NoReturn:
            ours.close()
            os.close(self._lifeline)
            nursery.serve(theirs, reading, evaluate, {MARK: self._mark})

        # What it leaves behind should it be killed comes to this process; the kernel knows nothing of its mark.
        system.adopt_orphans()
        try:
            return Forked(serve)
        except OSError as error:
            raise InputError(f"no process can be started: {described(error)}", HERE) from error

    def _started(self, files: dict[str, int]) -> "subprocess.Popen[bytes]":
        given = json.dumps({"path": sys.path, **files})
        environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), MARK: self._mark}
        try:
            # `-P`: nothing in the current folder takes the place of a module before the path is set.
            return subprocess.Popen(
                [sys.executable, "-P", "-c", BOOT, given],
                pass_fds=tuple(files.values()),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(f"no process can be started: {described(error)}", HERE) from error

    def tell(self, order: Command, file: int | None = None) -> None:
        """Send an order, along with an open file if one is given; where nobody is left to take it, `is_over` tells."""
        with suppress(OSError):
            self.channel.send(pickle.dumps(order), file)

    def news(self) -> list[News]:
        """What the nursery has told since."""
        return [pickle.loads(message) for message in self.channel.arrived()]

    def kill(self) -> None:
        """Kill the nursery, which then tells nothing any more."""
        self._process.kill()

    def end(self) -> None:
        """End the nursery and all below it. Ending it again does nothing; interrupted, it goes on where it was."""
        if self._lifeline >= 0:
            lifeline, self._lifeline = self._lifeline, -1
            os.close(lifeline)
        self.channel.close()
        if os.getpid() != self._owner or self._process.returncode is not None:
            return  # a fork of the coordinator owns none of its processes
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.returncode not in (0, -signal.SIGIO):
            from spacelang.runtime.executors._processes.family import end_children, end_marked

            # It could not clean up. What it had forked is killed by the kernel; those below are found by their mark.
            end_marked(MARK, self._mark)
            if isinstance(self._process, Forked):
                end_children()

    def how_it_ended(self) -> str:
        """In words, for one that was ended or has ended."""
        code = self._process.returncode or 0
        return f"was ended by {signal_name(-code)}" if code < 0 else f"exited with code {code}"


HERE: Final = "with 0 workers trials are evaluated in the process of the search: `--workers 0`"


def _payload(evaluate: Evaluate) -> IO[bytes]:
    """A file without a name that has the evaluation in it."""
    import cloudpickle

    with ExitStack() as stack:
        file = stack.enter_context(_nameless())
        try:
            cloudpickle.dump(evaluate, file, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            raise InputError(f"the evaluation cannot be sent to another process: {described(error)}", HERE) from error
        file.flush()
        stack.pop_all()
    return file


def _nameless() -> IO[bytes]:
    """A file in memory where the system has such."""
    create = getattr(os, "memfd_create", None)
    return tempfile.TemporaryFile() if create is None else os.fdopen(create("spacelang"), "w+b")
