"""The zygote: a process that has loaded the evaluation, forks workers that share it, and enforces their limits.

It is a process of its own for three reasons: it must not have used threads when it forks; it enforces deadlines while
the search is busy; and it survives if the search is killed, and then ends all workers and itself.

No descendant of a killed worker is lost. The kernel makes the zygote the parent of orphans, and the zygote kills every
child that is not a worker.
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
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, NoReturn, assert_never

import psutil

from spacelang.ir.trial import Status
from spacelang.runtime.executors import Evaluate
from spacelang.runtime.executors._processes import system, worker
from spacelang.runtime.executors._processes.channel import Channel
from spacelang.runtime.executors._processes.family import end_children, kill_tree
from spacelang.runtime.executors._processes.forked import ONE_THREAD
from spacelang.runtime.executors._processes.global_state import GlobalState
from spacelang.runtime.executors._processes.memory import ProcessTrees, resident
from spacelang.runtime.executors._processes.messages import (
    Begin,
    Command,
    Ended,
    ForkWorker,
    Load,
    Loaded,
    Lost,
    News,
    Refused,
)
from spacelang.runtime.executors._processes.shared import SharedNumbers, shared_numbers
from spacelang.runtime.failures import Failure, described, ended, killed, too_large, too_long

POLL: Final = 0.025
"""The interval at which the memory of trials is measured, in seconds."""

SOON: Final = 0.001
"""The minimum interval at which a job is checked for its start, in seconds."""

REST: Final = 1.0
"""The interval at which the coordinator is checked, in seconds: a fork of it may keep the connection open."""

FOREIGN: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
"""The signals that only another process sends: no fault of a process raises them."""

STARTING: Final = 2.0
"""The extra time until a worker starts a job, in seconds: it may have to be forked first."""

STOPS: Final = (signal.SIGINT, signal.SIGTERM)
"""The signals by which a user, a terminal or a scheduler stops all processes of a run."""

USUAL: Final = (700, 10, 10)
"""Python's default thresholds of the garbage collector."""

GRACE: Final = 0.2
"""The time that a disconnected worker has to exit by itself, in seconds, so that its exit code can be reported."""


def main(control: int, lifeline: int, payload: int) -> NoReturn:
    """Load the evaluation and serve the coordinator until it disconnects; never return.

    The arguments are file descriptors that the coordinator has left open for this process.
    """
    code = 1
    try:
        _leave_stopping_to_the_search()
        # Imports leave no garbage that is worth collecting.
        gc.disable()
        channel = Channel(socket.socket(fileno=control))
        _end_with(lifeline)
        order = pickle.loads(channel.receive())
        assert isinstance(order, Load)
        evaluate = _loaded(channel, payload)
        _live_on(lifeline)
        Nursery(channel, lifeline, evaluate, order).serve()
        code = 0
    except EOFError:
        code = 0
    finally:
        # No exit handler that workers inherit may run at the end of this process.
        os._exit(code)


def serve(control: socket.socket, lifeline: int, evaluate: Evaluate, environment: Mapping[str, str]) -> NoReturn:
    """Serve the coordinator as `main` does, in a fork of it that has the evaluation already."""
    code = 1
    try:
        _leave_stopping_to_the_search()
        _be_as_a_fresh_process(environment)
        channel = Channel(control)
        order = pickle.loads(channel.receive())
        assert isinstance(order, Load)
        Nursery(channel, lifeline, evaluate, order).serve()
        code = 0
    except EOFError:
        code = 0
    finally:
        os._exit(code)


def _leave_stopping_to_the_search() -> None:
    for stop in STOPS:
        # The search handles them, and then ends this process.
        signal.signal(stop, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _be_as_a_fresh_process(environment: Mapping[str, str]) -> None:
    """Drop the terminal, the arguments and the main module of the coordinator, which a fresh process would not have.

    Otherwise processes that a trial starts might run the command again.
    """
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.close(null)
    os.environ.update({**dict.fromkeys(ONE_THREAD, "1"), **environment})
    sys.argv = ["-c"]
    sys.modules["__main__"] = ModuleType("__main__")
    gc.set_threshold(*USUAL)


def _end_with(lifeline: int) -> None:
    """Have the kernel kill this process when the coordinator ends, even during an import.

    Nothing needs to be cleaned up yet.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if _is_readable(lifeline):
        raise EOFError


def _live_on(lifeline: int) -> None:
    """Stop being killed when the coordinator ends; from now on the zygote notices that itself and cleans up."""
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) & ~os.O_ASYNC)


def _is_readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


def _loaded(channel: Channel, payload: int) -> Evaluate:
    try:
        with os.fdopen(payload, "rb") as file:
            file.seek(0)
            evaluate: Any = pickle.load(file)
    except BaseException as error:
        channel.send(pickle.dumps(Refused(described(error))))
        raise
    return evaluate  # type: ignore[no-any-return]


@dataclass(slots=True)
class Child:
    """A worker as the zygote knows it."""

    token: int
    process: psutil.Process
    shared: SharedNumbers
    sequence: int = 0
    """The number of the last job that was sent to it."""
    given: float = 0.0
    """When the zygote was notified of that job; the worker may start it later, or have started it just before."""
    allowed: float | None = None
    """The time limit of this job, in seconds; None for no limit."""
    lost: float | None = None
    """When the coordinator lost the connection to it; None while it is connected."""
    verdict: Failure | None = None
    """The failure for which it was killed; None otherwise."""
    judged: int = 0
    """The number of the job for which it was killed."""
    taken: float = 0.0
    """The memory of its last job at the last measurement, in bytes."""

    @property
    def is_busy(self) -> bool:
        """True if it has not finished the last job of which the zygote was notified."""
        return self.shared.finished < self.sequence

    @property
    def has_begun(self) -> bool:
        """True if it has started the last job of which the zygote was notified."""
        return self.shared.begun == self.sequence

    def seconds(self) -> float:
        """Return the seconds since it started its last job, or since that was sent if it has not started it."""
        return time.monotonic() - (self.shared.since if self.has_begun else self.given)

    def left(self, limit: float) -> float:
        """Return the seconds left of a time limit, which runs from the start of the job.

        Before the start there are `STARTING` seconds in addition, from when the job was sent.
        """
        # Read the state once: the worker may start the job at any moment.
        if self.has_begun:
            return limit - (time.monotonic() - self.shared.since)
        return limit + STARTING - (time.monotonic() - self.given)


class Nursery:
    """A zygote: it forks workers from its preloaded process, enforces their limits and reaps them."""

    def __init__(self, channel: Channel, lifeline: int, evaluate: Evaluate, order: Load) -> None:
        self._channel = channel
        self._lifeline = lifeline
        self._evaluate = evaluate
        self._limits = order.limits
        self._isolates = order.isolates
        self._parent = os.getppid()
        self._children: dict[int, Child] = {}
        self._trees = ProcessTrees()
        self._deaths, self._death = socket.socketpair()
        self._idle = 0
        self._next_poll = 0.0
        self._memory_kills = system.MemoryKills()

    def serve(self) -> None:
        """Execute the commands of the coordinator until it disconnects; then end all workers."""
        self._prepare()
        self._tell(Loaded(self._idle))
        inputs = [self._channel.fileno(), self._lifeline, self._deaths.fileno()]
        while True:
            ready, _, _ = select.select(inputs, [], [], self._pause())
            for message in self._channel.arrived() if self._channel.fileno() in ready else ():
                self._obey(pickle.loads(message))
            if self._channel.is_over or self._lifeline in ready or os.getppid() != self._parent:
                break
            if self._deaths.fileno() in ready:
                self._deaths.recv(4096)
                self._bury()
            self._bound()
        for child in self._children.values():
            kill_tree(child.process)
        end_children()

    def _prepare(self) -> None:
        """Adopt orphans, be woken when a child ends, and share all loaded memory with the workers."""
        system.adopt_orphans()
        self._deaths.setblocking(False)
        self._death.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._death.fileno(), warn_on_full_buffer=False)
        # This does the slow parts once, not in every worker.
        GlobalState()
        gc.collect()
        # The garbage collector does not write to frozen objects, so their pages stay shared.
        gc.freeze()
        gc.enable()
        self._idle = resident(psutil.Process())

    def _tell(self, news: News) -> None:
        with suppress(OSError):
            self._channel.send(pickle.dumps(news))

    def _obey(self, order: Command) -> None:
        match order:
            case ForkWorker(token):
                self._fork(token, socket.socket(fileno=self._channel.files.popleft()))
            case Begin(token, sequence, seconds):
                # A worker that has ended meanwhile is reported to the coordinator as one that never had this job.
                for child in self._known(token):
                    child.sequence, child.given, child.taken = sequence, time.monotonic(), 0.0
                    child.allowed = self._limits.trial_seconds if seconds is None else seconds
                self._memory_kills.note()
            case Lost(token):
                for child in self._known(token):
                    child.lost = time.monotonic()
            case Load():
                raise AssertionError("the evaluation is loaded once")
            case _:
                assert_never(order)

    def _known(self, token: int) -> list[Child]:
        return [child for child in self._children.values() if child.token == token]

    def _fork(self, token: int, end: socket.socket) -> None:
        shared = shared_numbers()
        zygote_pid = os.getpid()
        try:
            with warnings.catch_warnings():
                # Threads left behind by an import do not matter to a worker.
                warnings.simplefilter("ignore")
                pid = os.fork()
        except OSError as error:
            end.close()
            self._tell(Ended(token, 0, Failure(Status.CRASH, f"no process could be started: {described(error)}")))
            return
        if pid == 0:
            self._become_worker(zygote_pid, end, shared)
        end.close()
        self._children[pid] = Child(token, psutil.Process(pid), shared)

    def _become_worker(self, zygote_pid: int, end: socket.socket, shared: SharedNumbers) -> NoReturn:
        try:
            signal.set_wakeup_fd(-1)
            # Process pools that a trial starts end their workers by SIGTERM.
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            os.close(self._lifeline)
            for each in (self._channel, self._deaths, self._death):
                each.close()
            self._children.clear()
            memory = worker.Room(self._idle, self._limits.trial_bytes)
            worker.main(zygote_pid, Channel(end), self._evaluate, shared, memory, isolates=self._isolates)
        finally:
            os._exit(1)

    def _pause(self) -> float:
        """Return the seconds until something must be checked."""
        pause = REST
        for child in self._children.values():
            if child.lost is not None:
                pause = min(pause, GRACE)
            if child.is_busy and child.verdict is None:
                if self._limits.trial_bytes is not None:
                    pause = min(pause, POLL)
                if child.allowed is not None:
                    # A job that has not started may start at once.
                    pause = min(pause, max(child.left(child.allowed), 0), max(child.allowed, SOON))
        return pause

    def _bound(self) -> None:
        """Kill the workers that exceed their limits."""
        now = time.monotonic()
        checks = [self._lost, self._timed]
        if self._limits.trial_bytes is not None and now >= self._next_poll:
            self._next_poll = now + POLL
            self._trees.look()
            checks.append(self._weighed)
        for child in self._children.values():
            failures = (check(child) for check in checks if child.verdict is None)
            if failure := next(filter(None, failures), None):
                child.verdict, child.judged = failure, child.sequence
            if child.verdict is not None:
                # Repeated until it has ended: it may be about to fork.
                kill_tree(child.process)

    def _lost(self, child: Child) -> Failure | None:
        if child.lost is None or time.monotonic() < child.lost + GRACE:
            return None
        return Failure(Status.CRASH, "its process closed the connection", child.seconds())

    def _timed(self, child: Child) -> Failure | None:
        if child.allowed is None or not child.is_busy or child.left(child.allowed) > 0:
            return None
        return too_long(child.allowed, child.seconds())

    def _weighed(self, child: Child) -> Failure | None:
        limit = self._limits.trial_bytes
        if limit is None or not child.is_busy:
            return None
        allowed = limit + child.shared.held
        taken = self._trees.taken(child.process, allowed)
        if taken:  # 0 if the process has just ended
            child.taken = taken - child.shared.held
        return too_large(limit, child.taken, child.seconds()) if taken > allowed else None

    def _bury(self) -> None:
        """Reap the workers that have ended, kill what they have left behind, and report them."""
        ended_children = []
        for pid in list(self._children):
            gone, status = os.waitpid(pid, os.WNOHANG)
            if gone:
                ended_children.append((self._children.pop(pid), os.waitstatus_to_exitcode(status)))
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
        end_children(self._children)
        for child, code in ended_children:
            failure = self._epitaph(child, code)
            # A worker that died by an external signal was not necessarily killed because of its job.
            is_final = child.verdict is not None or -code not in FOREIGN
            self._tell(Ended(child.token, child.sequence, failure, is_final))

    def _epitaph(self, child: Child, code: int) -> Failure | None:
        """Return the failure of the job that a worker was running when it ended, None if it was idle."""
        if not child.is_busy or not child.has_begun:
            return None
        if child.verdict is not None:
            # If it has finished that job and started another one meanwhile, the other one is not the cause.
            return child.verdict if child.judged == child.sequence else None
        if code == -signal.SIGKILL:
            is_memory_out = self._memory_kills.are_more()
            return killed(self._limits.trial_bytes, child.taken, child.seconds(), is_memory_out=is_memory_out)
        return ended(code, child.seconds())
