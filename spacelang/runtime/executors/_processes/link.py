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
"""The code that a new zygote runs. It has the module path of the coordinator, but not its `__main__`."""

MARK: Final = "SPACELANG_ZYGOTE"
"""The environment variable that identifies a zygote and all its descendants."""

PATIENCE: Final = 1.0
"""The maximum time for the zygote to end its workers, in seconds; then they are killed from here."""


class Link:
    """A zygote process and the connection to it.

    With `forks` the zygote is a fork of this process if that is safe. Raises InputError if the evaluation cannot be
    sent to another process, or if no process can be started.
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

        # If the zygote is killed, this process adopts its children. The kernel shows no marker for a fork.
        system.adopt_orphans()
        try:
            return Forked(serve)
        except OSError as error:
            raise InputError(f"no process can be started: {described(error)}", HERE) from error

    def _started(self, files: dict[str, int]) -> "subprocess.Popen[bytes]":
        given = json.dumps({"path": sys.path, **files})
        environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), MARK: self._mark}
        try:
            # `-P`: no file of the current folder is imported in place of a module before the path is set.
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
        """Send a command, with an open file if one is given.

        Errors are ignored; the channel reports a zygote that has ended by `is_over`.
        """
        with suppress(OSError):
            self.channel.send(pickle.dumps(order), file)

    def news(self) -> list[News]:
        """Return the messages that have arrived from the zygote."""
        return [pickle.loads(message) for message in self.channel.arrived()]

    def kill(self) -> None:
        """Kill the zygote."""
        self._process.kill()

    def end(self) -> None:
        """End the zygote and all its descendants.

        Ending it again does nothing. If this is interrupted, another call continues it.
        """
        if self._lifeline >= 0:
            lifeline, self._lifeline = self._lifeline, -1
            os.close(lifeline)
        self.channel.close()
        if os.getpid() != self._owner or self._process.returncode is not None:
            return  # a fork of the coordinator does not own its processes
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.returncode not in (0, -signal.SIGIO):
            from spacelang.runtime.executors._processes.family import end_children, end_marked

            # The zygote could not clean up. The kernel kills its workers; their descendants are found by the marker.
            end_marked(MARK, self._mark)
            if isinstance(self._process, Forked):
                end_children()

    def how_it_ended(self) -> str:
        """Describe how a zygote that has ended did so: its exit code or signal, as the end of a sentence."""
        code = self._process.returncode or 0
        return f"was ended by {signal_name(-code)}" if code < 0 else f"exited with code {code}"


HERE: Final = "`--workers 0` evaluates trials in the process of the search"


def _payload(evaluate: Evaluate) -> IO[bytes]:
    """Return an unnamed file with the pickled evaluation. Raises InputError if it cannot be pickled."""
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
    """Return an unnamed file, in memory if the system supports that."""
    create = getattr(os, "memfd_create", None)
    return tempfile.TemporaryFile() if create is None else os.fdopen(create("spacelang"), "w+b")
