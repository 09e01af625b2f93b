"""The zygote: a process that has loaded the evaluation, forks workers that share it, and enforces their limits.

It must not have used threads when it forks; it enforces deadlines while the search is busy; and it ends all workers if
the search is killed. The kernel makes it the parent of orphans, and it kills every child that is no worker. Its own
parent, the reaper, kills what it leaves if it is killed itself.
"""

import fcntl
import gc
import os
import pickle
import select
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, NoReturn, assert_never

import psutil

from spacelang.ir.trial import Status
from spacelang.runtime import errors
from spacelang.runtime.errors import Failure
from spacelang.runtime.executors import Evaluate
from spacelang.runtime.executors._processes import communication, operating_system, worker
from spacelang.runtime.executors._processes.communication import Channel, SharedWorkerState
from spacelang.runtime.executors._processes.process_tree import (
    ProcessTrees,
    fork_zygote,
    kill_children,
    kill_tree,
    resident_bytes,
)
from spacelang.runtime.executors._processes.worker import GlobalStateSnapshot

MEMORY_POLL_INTERVAL: Final = 0.025  # The interval at which the memory of trials is measured, in seconds
MIN_PAUSE: Final = 0.001  # The minimum interval at which a job is checked for its start, in seconds
MAX_PAUSE: Final = 1.0
"""The interval at which the coordinator is checked, in seconds: a fork of it may keep the connection open."""
EXTERNAL_SIGNALS: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
"""The signals that only another process sends: no fault of a process raises them."""
START_ALLOWANCE: Final = 2.0  # The extra time until a worker starts a job, in seconds: it may have to be forked first
GC_THRESHOLDS: Final = (700, 10, 10)  # Python's default thresholds of the garbage collector
EXIT_GRACE: Final = 0.2
"""The time that a disconnected worker has to exit by itself, in seconds, so that its exit code can be reported."""


def main(control: int, lifeline: int, payload: int) -> NoReturn:
    """Load the evaluation and serve the coordinator until it disconnects; the arguments are open file descriptors."""

    def load_and_serve() -> None:
        fork_zygote()
        # Imports leave no garbage that is worth collecting.
        gc.disable()
        channel = Channel(socket.socket(fileno=control))
        _die_with_coordinator(lifeline)
        order = pickle.loads(channel.receive())
        evaluate = _load_evaluation(channel, payload)
        # From now on the zygote notices itself that the coordinator has ended, and cleans up.
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) & ~os.O_ASYNC)
        Zygote(channel, lifeline, evaluate, order).serve()

    _exit_after(load_and_serve)


def serve(control: socket.socket, lifeline: int, evaluate: Evaluate, environment: Mapping[str, str]) -> NoReturn:
    """Serve the coordinator as `main` does, in a fork of it that has the evaluation already."""

    def reset_and_serve() -> None:
        _reset_process(environment)
        fork_zygote()
        channel = Channel(control)
        Zygote(channel, lifeline, evaluate, pickle.loads(channel.receive())).serve()

    _exit_after(reset_and_serve)


def _exit_after(work: Callable[[], None]) -> NoReturn:
    code = 1
    try:
        for stop in communication.STOP_SIGNALS:
            # The search handles them, and then ends this process.
            signal.signal(stop, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        work()
        code = 0
    except EOFError:
        code = 0
    finally:
        # No exit handler that workers inherit may run at the end of this process.
        os._exit(code)


def _reset_process(environment: Mapping[str, str]) -> None:
    """Drop the terminal, arguments and main module, so that processes of a trial never run the command again."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.close(null)
    os.environ.update({**dict.fromkeys(communication.THREAD_VARIABLES, "1"), **environment})
    sys.argv = ["-c"]
    sys.modules["__main__"] = ModuleType("__main__")
    gc.set_threshold(*GC_THRESHOLDS)


def _die_with_coordinator(lifeline: int) -> None:
    """Have the kernel kill this process, even during an import, when the coordinator closes its end of `lifeline`.

    This is for the time before the first fork, when there is nothing to clean up. Raise EOFError if it is closed
    already.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:
        raise EOFError


def _load_evaluation(channel: Channel, payload: int) -> Evaluate:
    try:
        with os.fdopen(payload, "rb") as file:
            file.seek(0)
            evaluate: Any = pickle.load(file)
    except BaseException as error:
        channel.send(pickle.dumps(communication.EvaluationLoadFailed(errors.describe_exception(error))))
        raise
    return evaluate  # type: ignore[no-any-return]


@dataclass(slots=True)
class ZygoteChild:
    """The zygote's information on a worker: its process, its last job, and the reason for which it was killed."""

    token: int
    process: psutil.Process
    shared: SharedWorkerState
    sequence: int = 0  # The number of the last job that was sent to it
    sent_at: float = 0.0
    """When the zygote was notified of that job; the worker may start it later, or have started it just before."""
    allowed_seconds: float | None = None  # The time limit of this job, in seconds; None for no limit
    lost_at: float | None = None  # When the coordinator lost the connection to it; None while it is connected
    kill_reason: Failure | None = None  # The failure for which it was killed; None otherwise
    killed_sequence: int = 0  # The number of the job for which it was killed
    used_bytes: float = 0.0  # The memory of its last job at the last measurement, in bytes

    @property
    def is_busy(self) -> bool:
        """True if it has not finished the last job of which the zygote was notified."""
        return self.shared.finished < self.sequence

    @property
    def has_started(self) -> bool:
        """True if it has started the last job of which the zygote was notified."""
        return self.shared.begun == self.sequence

    def elapsed_seconds(self) -> float:
        """Return the seconds since it started its last job, or since that was sent if it has not started it."""
        return time.monotonic() - (self.shared.since if self.has_started else self.sent_at)

    def seconds_left(self, limit: float) -> float:
        """Return the seconds that are left for the job, of `limit` seconds from its start.

        If the worker has not started it, they are those until `limit` + `START_ALLOWANCE` after the job was sent.
        """
        # Read the state once: the worker may start the job at any moment.
        if self.has_started:
            return limit - (time.monotonic() - self.shared.since)
        return limit + START_ALLOWANCE - (time.monotonic() - self.sent_at)


class Zygote:
    """A zygote: it forks workers from its preloaded process, enforces their limits and reaps them."""

    def __init__(
        self, channel: Channel, lifeline: int, evaluate: Evaluate, order: communication.ConfigureWorkers
    ) -> None:
        self._channel, self._lifeline, self._evaluate = channel, lifeline, evaluate
        self._limits, self._isolates = order.limits, order.isolates
        self._parent = os.getppid()
        self._children: dict[int, ZygoteChild] = {}
        self._trees = ProcessTrees()
        self._wakeup_reader, self._wakeup_writer = socket.socketpair()
        self._idle_bytes = 0
        self._next_poll = 0.0
        self._memory_kills = operating_system.OomKillCounter()

    def serve(self) -> None:
        """Execute the commands of the coordinator until it disconnects; then end all workers."""
        self._prepare()
        self._send(communication.EvaluationLoaded(self._idle_bytes))
        inputs = [self._channel.fileno(), self._lifeline, self._wakeup_reader.fileno()]
        while True:
            ready, _, _ = select.select(inputs, [], [], self._select_timeout())
            for message in self._channel.receive_available() if self._channel.fileno() in ready else ():
                self._handle_command(pickle.loads(message))
            if self._channel.is_closed_by_peer or self._lifeline in ready or os.getppid() != self._parent:
                break
            if self._wakeup_reader.fileno() in ready:
                self._wakeup_reader.recv(4096)
                self._reap_workers()
            self._enforce_limits()
        for child in self._children.values():
            kill_tree(child.process)
        kill_children()

    def _prepare(self) -> None:
        """Adopt orphans, be woken when a child ends, and share all loaded memory with the workers."""
        operating_system.adopt_orphans()
        self._wakeup_reader.setblocking(False)
        self._wakeup_writer.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakeup_writer.fileno(), warn_on_full_buffer=False)
        # This does the slow parts once, not in every worker.
        GlobalStateSnapshot()
        gc.collect()
        # The garbage collector does not write to frozen objects, so their pages stay shared.
        gc.freeze()
        gc.enable()
        self._idle_bytes = resident_bytes(psutil.Process())

    def _send(self, news: communication.ZygoteMessage) -> None:
        with suppress(OSError):
            self._channel.send(pickle.dumps(news))

    def _handle_command(self, order: communication.ZygoteCommand) -> None:
        match order:
            case communication.ForkWorker(token):
                self._fork(token, socket.socket(fileno=self._channel.received_files.popleft()))
            case communication.JobStartNotice(token, sequence, seconds):
                # A worker that has ended meanwhile is reported to the coordinator as one that never had this job.
                for child in self._children_with_token(token):
                    child.sequence, child.sent_at, child.used_bytes = sequence, time.monotonic(), 0.0
                    child.allowed_seconds = self._limits.trial_seconds if seconds is None else seconds
                self._memory_kills.record()
            case communication.EndUnreachableWorker(token):
                for child in self._children_with_token(token):
                    child.lost_at = time.monotonic()
            case communication.ConfigureWorkers():
                raise AssertionError("the evaluation must be loaded only once")
            case _:
                assert_never(order)

    def _children_with_token(self, token: int) -> list[ZygoteChild]:
        return [child for child in self._children.values() if child.token == token]

    def _fork(self, token: int, end: socket.socket) -> None:
        shared = communication.make_shared_worker_state()
        zygote_pid = os.getpid()
        try:
            with warnings.catch_warnings():
                # Threads left behind by an import do not matter to a worker.
                warnings.simplefilter("ignore")
                pid = os.fork()
        except OSError as error:
            end.close()
            reason = f"no process could be started: {errors.describe_exception(error)}"
            self._send(communication.WorkerEnded(token, 0, Failure(Status.CRASH, reason)))
            return
        if pid == 0:
            self._become_worker(zygote_pid, end, shared)
        end.close()
        self._children[pid] = ZygoteChild(token, psutil.Process(pid), shared)

    def _become_worker(self, zygote_pid: int, end: socket.socket, shared: SharedWorkerState) -> NoReturn:
        try:
            signal.set_wakeup_fd(-1)
            # Process pools that a trial starts end their workers by SIGTERM.
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.close(self._lifeline)
            for each in (self._channel, self._wakeup_reader, self._wakeup_writer):
                each.close()
            self._children.clear()
            memory = worker.MemoryLimits(self._idle_bytes, self._limits.trial_bytes)
            worker.main(zygote_pid, Channel(end), self._evaluate, shared, memory, isolates=self._isolates)
        finally:
            os._exit(1)

    def _select_timeout(self) -> float:
        pause = MAX_PAUSE
        for child in self._children.values():
            if child.lost_at is not None:
                pause = min(pause, EXIT_GRACE)
            if child.is_busy and child.kill_reason is None:
                if self._limits.trial_bytes is not None:
                    pause = min(pause, MEMORY_POLL_INTERVAL)
                if child.allowed_seconds is not None:
                    # A job that has not started may start at once.
                    left = max(child.seconds_left(child.allowed_seconds), 0)
                    pause = min(pause, left, max(child.allowed_seconds, MIN_PAUSE))
        return pause

    def _enforce_limits(self) -> None:
        now = time.monotonic()
        checks = [self._check_connection, self._check_time]
        if self._limits.trial_bytes is not None and now >= self._next_poll:
            self._next_poll = now + MEMORY_POLL_INTERVAL
            self._trees.refresh()
            checks.append(self._check_memory)
        for child in self._children.values():
            failures = (check(child) for check in checks if child.kill_reason is None)
            if failure := next(filter(None, failures), None):
                child.kill_reason, child.killed_sequence = failure, child.sequence
            if child.kill_reason is not None:
                # Repeated until it has ended: it may be about to fork.
                kill_tree(child.process)

    def _check_connection(self, child: ZygoteChild) -> Failure | None:
        if child.lost_at is None or time.monotonic() < child.lost_at + EXIT_GRACE:
            return None
        return Failure(Status.CRASH, "the worker process closed the connection", child.elapsed_seconds())

    def _check_time(self, child: ZygoteChild) -> Failure | None:
        if child.allowed_seconds is None or not child.is_busy or child.seconds_left(child.allowed_seconds) > 0:
            return None
        return errors.timeout_failure(child.allowed_seconds, child.elapsed_seconds())

    def _check_memory(self, child: ZygoteChild) -> Failure | None:
        limit = self._limits.trial_bytes
        if limit is None or not child.is_busy:
            return None
        allowed = limit + child.shared.held
        taken = self._trees.measure_memory(child.process, allowed)
        if taken:  # 0 if the process has just ended
            child.used_bytes = taken - child.shared.held
        return errors.memory_failure(limit, child.used_bytes, child.elapsed_seconds()) if taken > allowed else None

    def _reap_workers(self) -> None:
        """Reap the workers that have ended, kill what they have left behind, and report them."""
        ended_children = []
        for pid in list(self._children):
            gone, status = os.waitpid(pid, os.WNOHANG)
            if gone:
                ended_children.append((self._children.pop(pid), os.waitstatus_to_exitcode(status)))
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
        kill_children(self._children)
        for child, code in ended_children:
            failure = self._failure_at_end(child, code)
            # A worker that died by an external signal was not necessarily killed because of its job.
            is_final = child.kill_reason is not None or -code not in EXTERNAL_SIGNALS
            self._send(communication.WorkerEnded(child.token, child.sequence, failure, is_final))

    def _failure_at_end(self, child: ZygoteChild, code: int) -> Failure | None:
        """Return the failure of the job that a worker was running when it ended.

        Return None if the worker was idle, or had not started its job.
        """
        if not child.is_busy or not child.has_started:
            return None
        if child.kill_reason is not None:
            # If it has finished that job and started another one meanwhile, the other one is not the cause.
            return child.kill_reason if child.killed_sequence == child.sequence else None
        if code == -signal.SIGKILL:
            limit, is_memory_out = self._limits.trial_bytes, self._memory_kills.has_increased()
            return errors.kill_failure(limit, child.used_bytes, child.elapsed_seconds(), is_memory_out=is_memory_out)
        return errors.exit_failure(code, child.elapsed_seconds())
