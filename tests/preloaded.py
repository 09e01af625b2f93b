"""Commands in forks of a process that has imported what they need, so that seconds of imports are spent only once.

The zygotes of searches are also forked from it, in tests with the fixture `quick_zygotes` (`conftest.py`).

A fork does not show whether a command imports all that it needs, whether a result depends on the order of sets,
which is the same in all forks, and what Python prints while it destroys modules: tests of these start a new process.
(The fork server of `multiprocessing` is no alternative: its processes have no streams of their own and run no
exit functions.)
"""

import atexit
import gc
import os
import pickle
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from importlib import import_module
from pkgutil import walk_packages
from struct import Struct
from types import ModuleType
from typing import IO, Final, NoReturn, TextIO

import spacelang
from spacelang.runtime.executors._processes import zygote
from spacelang.runtime.executors._processes.communication import THREAD_VARIABLES as LIBRARIES
from spacelang.runtime.storage.run_header import current_versions
from spacelang.syntax.parser import parse
from spacelang.text import Source

HEAVY: Final = (
    *("ConfigSpace", "cloudpickle", "hyperopt", "pandas", "psutil", "pyarrow.pandas_compat", "rich.console"),
    *("sklearn.compose", "sklearn.datasets", "sklearn.discriminant_analysis", "sklearn.dummy"),
    *("sklearn.feature_selection", "sklearn.linear_model", "sklearn.model_selection", "sklearn.naive_bayes"),
    *("sklearn.neighbors", "sklearn.neural_network", "sklearn.pipeline", "sklearn.svm", "sklearn.tree"),
)
"""Third-party modules that commands import; none of them starts a thread, which a fork would lack."""

ABSENT: Final = ("__main__", "dask", "_dask", "testing")
"""Modules of the package that are not imported: they start threads, or no command needs them."""

ONE_THREAD: Final = dict.fromkeys(LIBRARIES, "1")
"""The variables that a command that runs trials sets before it imports anything."""

COMMAND: Final = b"!"
ZYGOTE: Final = b"n"
"""A request."""

NUMBER: Final = Struct("i")
"""An answer: the process of a command, and its exit status."""


@dataclass(frozen=True)
class Command:
    """`python -m spacelang ARGUMENTS` or `python -c CODE ARGUMENTS`, with its folder and its environment."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    code: str | None = None


@dataclass(frozen=True)
class Wanted:
    """A zygote with its folder, its environment, and the arguments of its `main` except descriptors."""

    folder: str
    environment: Mapping[str, str]
    path: Sequence[str]


class Attended:
    """A zygote with the interface of `subprocess.Popen`."""

    def __init__(self, news: int) -> None:
        self._news = news
        self.pid = self._heard()
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._news], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a zygote", timeout or 0.0)
            self.returncode = self._heard()
            os.close(self._news)
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _heard(self) -> int:
        (number,) = NUMBER.unpack(os.read(self._news, NUMBER.size))
        return int(number)


class Preloaded:
    """A process that forks commands, one at a time, and zygotes; it ends with the process that started it."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                env={**os.environ, **ONE_THREAD},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self.close)

    def close(self) -> None:
        self._control.close()
        self._process.wait()

    def begin(self, command: Command, streams: list[int]) -> int:
        """Start a command with these descriptors, and return its process; it must end before the next one starts."""
        self._ask(COMMAND, astuple(command), streams)
        return self._heard()

    def zygote(self, wanted: Wanted, control: int, lifeline: int, payload: int) -> Attended:
        """Start a zygote with these descriptors; several may run at the same time."""
        news, told = os.pipe()
        self._ask(ZYGOTE, astuple(wanted), [control, lifeline, payload, told])
        os.close(told)
        return Attended(news)

    def _ask(self, kind: bytes, wanted: tuple[object, ...], descriptors: list[int]) -> None:
        socket.send_fds(self._control, [kind], descriptors)
        self._control.sendall(pickle.dumps(wanted))

    def ended(self, seconds: float) -> int | None:
        """Return the exit status of the started command; None if it has not ended after some seconds."""
        return self._heard() if select.select([self._control], [], [], seconds)[0] else None

    def run(self, command: Command, stdin: bytes, timeout: float) -> tuple[int, bytes, bytes]:
        """Run a command, and return its exit status and its output; raise TimeoutExpired."""
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(stdin)
            given.seek(0)
            child = self.begin(command, [each.fileno() for each in (given, out, err)])
            status = self.ended(timeout)
            if status is None:
                os.kill(child, signal.SIGKILL)
                self._heard()
                raise subprocess.TimeoutExpired(command.arguments, timeout)
            return status, content(out), content(err)

    def _heard(self) -> int:
        (number,) = NUMBER.unpack(self._control.recv(NUMBER.size, socket.MSG_WAITALL))
        return int(number)


def content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def serve(control: socket.socket) -> str | None:
    """Fork until the connection is closed; in each fork, return the code that it has to run."""
    asked = control.makefile("rb")
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 4)
        if not message:
            os._exit(0)
        wanted = pickle.load(asked)
        child = os.fork()
        if child == 0:
            asked.close()
            control.close()
            if message == ZYGOTE:
                attend(Wanted(*wanted), descriptors)
            command = Command(*wanted)
            become(command, descriptors)
            return command.code
        for descriptor in descriptors:
            os.close(descriptor)
        if message == COMMAND:
            control.sendall(NUMBER.pack(child))
            _, ended = os.waitpid(child, 0)
            control.sendall(NUMBER.pack(os.waitstatus_to_exitcode(ended)))
        else:
            os.waitpid(child, 0)


def attend(wanted: Wanted, descriptors: list[int]) -> NoReturn:
    """Fork the zygote from an orphaned process, and report its process and its exit status."""
    *given, told = descriptors
    if os.fork():
        os._exit(0)
    child = os.fork()
    if child == 0:
        os.close(told)
        be_as_a_fresh_zygote(wanted)
        zygote.main(*given)
    for descriptor in given:
        os.close(descriptor)  # the zygote learns from these descriptors when its coordinator ends
    os.write(told, NUMBER.pack(child))
    _, ended = os.waitpid(child, 0)
    with suppress(BrokenPipeError):
        os.write(told, NUMBER.pack(os.waitstatus_to_exitcode(ended)))
    os._exit(0)


def be_as_a_fresh_zygote(wanted: Wanted) -> None:
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.close(nothing)
    os.chdir(wanted.folder)
    os.environ.clear()
    os.environ.update(wanted.environment)
    sys.argv, sys.path[:] = ["-c"], wanted.path
    sys.modules["__main__"] = ModuleType("__main__")


def become(command: Command, streams: list[int]) -> None:
    """Set up the fork like a process that has just started; nothing was read or written before."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # Python checks only once whether a stream is seekable, and the streams of other forks were.
    sys.stdout = sys.__stdout__ = afresh(sys.stdout)
    sys.stderr = sys.__stderr__ = afresh(sys.stderr, buffering=1)
    os.chdir(command.folder)
    os.environ.clear()
    os.environ.update({**command.environment, **ONE_THREAD})
    sys.argv[:] = [sys.argv[0] if command.code is None else "-c", *command.arguments]
    sys.path[0] = command.folder


def afresh(stream: TextIO, buffering: int = -1) -> TextIO:
    return open(stream.fileno(), "w", buffering, stream.encoding, stream.errors, closefd=False)


def status(code: str | None) -> int:
    """Run the command or the code, and return its exit status."""
    try:
        if code is None:
            runpy.run_module("spacelang", run_name="__main__", alter_sys=True)
        else:
            sys.modules["__main__"] = main = ModuleType("__main__")
            exec(code, main.__dict__)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def end(code: int) -> NoReturn:
    """Finalize like Python at exit, but without destroying thousands of modules, which all forks share."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def warm_up() -> None:
    """Make libraries do what they do once per process and cache."""
    from sklearn.datasets import load_iris
    from sklearn.dummy import DummyClassifier
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier
    from threadpoolctl import ThreadpoolController

    current_versions()
    ThreadpoolController()  # finds the hundreds of loaded libraries, which takes time in each run
    iris = load_iris(as_frame=True)
    for learner in (DummyClassifier(), make_pipeline(StandardScaler(), DecisionTreeClassifier())):
        cross_val_score(learner, iris.data, iris.target.astype(str), scoring="balanced_accuracy", cv=2)


def load() -> None:
    """Import everything that commands need, read the grammar, and fit a first pipeline."""
    for name in HEAVY:
        import_module(name)
    for module in walk_packages(spacelang.__path__, "spacelang."):
        if not set(ABSENT) & set(module.name.split(".")):
            import_module(module.name)
    parse(Source("some.space", "stage e = GaussianNB\n"))
    warm_up()
    # The garbage collector does not write to frozen objects, so their memory pages are not copied for each fork.
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    load()
    end(status(serve(socket.socket(fileno=int(sys.argv[1])))))
