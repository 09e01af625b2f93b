"""Connections between the processes: sockets for whole messages, the messages, and numbers in shared memory."""

import json
import mmap
import signal
import socket
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from ctypes import Structure, c_double, c_int64
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from spacelang.ir.task import Limits
from spacelang.runtime.errors import Failure

HEADER: Final = struct.Struct("!Q")  # The header of a message: its length in bytes
CHUNK_BYTES: Final = 1 << 18  # The size of a read, in bytes: more than a socket buffer holds
MAX_FILES: Final = 8  # The maximum number of file descriptors received at once
THREAD_VARIABLES: Final = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "LOKY_MAX_CPU_COUNT"),
)
"""The environment variables that set the number of threads of libraries and the number of cores."""
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals by which a user, a terminal or a scheduler stops all processes of a run; only the coordinator obeys."""
BOOT_SCRIPT: Final = """
import json, sys
given = json.loads(sys.argv[1])
sys.path[:] = given.pop("path")
from spacelang.runtime.executors.{module} import main
main(**given)
"""
Answer: TypeAlias = Any
"""The answer to a job: a result, a Failure, a TransmissionFailure, or an InputError, which ends the whole run."""


def start_interpreter(module: str, given: Mapping[str, object], **options: Any) -> "subprocess.Popen[bytes]":
    """Start a new interpreter that calls `main` of a module of executors with the arguments `given`.

    It has the module path of this process, but not its `__main__`. `options` are further arguments of `Popen`.
    """
    # `-P`: no file of the current folder is imported in place of a module before the path is set.
    command = [sys.executable, "-P", "-c", BOOT_SCRIPT.format(module=module), json.dumps({"path": sys.path, **given})]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True, **options)


class Channel:
    """One end of a connection, which owns its socket; sending may block `patience` seconds, or for ever for None."""

    def __init__(self, end: socket.socket, patience: float | None = None) -> None:
        self._socket = end
        self._send_timeout = patience
        self._received = bytearray()
        self.received_files: deque[int] = deque()
        """The file descriptors received with messages, in order of arrival."""
        self.is_closed_by_peer = False
        """True once the peer has closed the connection and all that it sent has arrived."""

    def fileno(self) -> int:
        """Return the file descriptor of the socket, -1 once it is closed."""
        return self._socket.fileno()

    def send(self, message: bytes, file: int | None = None) -> None:
        """Send a message, with an open file if one is given. Raises OSError if it does not get through."""
        header = HEADER.pack(len(message))
        self._socket.settimeout(self._send_timeout)
        if file is not None:
            socket.send_fds(self._socket, [header], [file])
            self._socket.sendall(message)
        elif len(message) < CHUNK_BYTES:
            self._socket.sendall(header + message)
        else:
            self._socket.sendall(header)
            self._socket.sendall(message)

    def receive(self) -> bytes:
        """Block until the next message has arrived; raise EOFError if the peer has closed the connection."""
        self._socket.settimeout(None)
        while (message := self._pop_message()) is None:
            if self.is_closed_by_peer:
                raise EOFError
            self._read_socket()
        return message

    def receive_available(self) -> list[bytes]:
        """Return the messages that have arrived completely, without blocking."""
        self._socket.settimeout(0)
        with suppress(BlockingIOError):
            while not self.is_closed_by_peer:
                self._read_socket()
        found = []
        while (message := self._pop_message()) is not None:
            found.append(message)
        return found

    def close(self) -> None:
        """Close the connection. Closing again does nothing."""
        self._socket.close()

    def _read_socket(self) -> None:
        try:
            data, files, _, _ = socket.recv_fds(self._socket, CHUNK_BYTES, MAX_FILES)
        except ConnectionError:
            data, files = b"", []
        self.received_files.extend(files)
        self._received += data
        self.is_closed_by_peer = not data

    def _pop_message(self) -> bytes | None:
        if len(self._received) < HEADER.size:
            return None
        (length,) = HEADER.unpack_from(self._received)
        end = HEADER.size + length
        if len(self._received) < end:
            return None
        message = bytes(memoryview(self._received)[HEADER.size : end])
        del self._received[:end]
        return message


@dataclass(frozen=True, slots=True)
class ConfigureWorkers:
    """A command to use these limits; if `isolates`, each worker does a single job. It is sent once, first."""

    limits: Limits
    isolates: bool


@dataclass(frozen=True, slots=True)
class ForkWorker:
    """A command to fork a worker, identified by `token`; the file sent along is its end of its connection."""

    token: int


@dataclass(frozen=True, slots=True)
class JobStartNotice:
    """A notice that job `sequence` is being sent, so that the zygote enforces its limits, or its own `seconds`."""

    token: int
    sequence: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class EndUnreachableWorker:
    """A command to end a worker that the coordinator cannot reach, unless it has ended already."""

    token: int


ZygoteCommand: TypeAlias = ConfigureWorkers | ForkWorker | JobStartNotice | EndUnreachableWorker
"""A message from the coordinator to the zygote."""


@dataclass(frozen=True, slots=True)
class EvaluationLoaded:
    """A notice that workers can be forked now; each takes `idle_bytes` of memory while it waits."""

    idle_bytes: int


@dataclass(frozen=True, slots=True)
class EvaluationLoadFailed:
    """A notice that the evaluation could not be loaded, with the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class WorkerEnded:
    """A notice that a worker process has ended, with the number of its last job and the failure of that job.

    The failure is None if the worker was idle. If not `is_final`, the job should be tried again on another worker.
    """

    token: int
    sequence: int
    failure: Failure | None
    is_final: bool = True


ZygoteMessage: TypeAlias = (
    EvaluationLoaded | EvaluationLoadFailed | WorkerEnded
)  # A message from the zygote to the coordinator
REQUEST_HEADER: Final = struct.Struct("!Q")  # The header of a pickled request: the number of the job
ANSWER_HEADER: Final = struct.Struct("!Q?")
"""The header of a pickled answer: the number of the job, and whether the worker exits and must be replaced."""


@dataclass(frozen=True, slots=True)
class TransmissionFailure:
    """An answer in place of a request or result that could not be sent or read, with the failure of its job."""

    failure: Failure  # The failure of the job if this happens in every attempt


class SharedWorkerState(Structure):
    """The state of one worker in shared memory; `make_shared_worker_state` creates it before the worker is forked.

    - `begun` is the number of the last job that the worker has started.
    - `since` is when it did, by the monotonic clock, which all processes share.
    - `finished` is the number of the last job whose result is complete and about to be sent.
    - `held` is the memory that it held between jobs beyond that of an idle worker, in bytes.
    """

    _fields_ = (("begun", c_int64), ("since", c_double), ("finished", c_int64), ("held", c_int64))
    begun: int
    since: float
    finished: int
    held: int


def make_shared_worker_state() -> SharedWorkerState:
    """Return the state of a new worker, all zeros, in anonymous shared memory, which is freed with the object."""
    return SharedWorkerState.from_buffer(mmap.mmap(-1, mmap.PAGESIZE))
