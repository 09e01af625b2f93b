"""The nursery: a process that has loaded the evaluation, forks workers that share it, and bounds them.

It is a process of its own because it must not have used threads when it forks, because the deadline of a trial holds
also while the search is busy, and because it stays when the search is killed: then it ends all workers and itself.
Between it and a killed worker no grandchild is lost: the kernel hands it the orphans, and whoever is its child and no
worker is killed.
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
"""How often the memory of trials is looked at, in seconds."""

SOON: Final = 0.001
"""How soon it is looked, at the earliest, whether a job has begun, in seconds."""

REST: Final = 1.0
"""How often it is looked whether the coordinator still lives, in seconds, should a fork of it keep the line open."""

FOREIGN: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
"""The signals that a process dies of only where somebody sends them: no mistake of its own raises them."""

STARTING: Final = 2.0
"""What a worker may take until it begins a job, beyond the limit: it may have to be forked first."""

STOPS: Final = (signal.SIGINT, signal.SIGTERM)
"""By which a user, a terminal or a scheduler stops all processes of a run."""

USUAL: Final = (700, 10, 10)
"""When Python looks for garbage, unless it is told otherwise."""

GRACE: Final = 0.2
"""How long a worker that has hung up may take to end by itself, so that it can be said how it did."""


def main(control: int, lifeline: int, payload: int) -> NoReturn:
    """Serve the coordinator until it hangs up; the descriptors are those that it has left open for this process."""
    code = 1
    try:
        _leave_stopping_to_the_search()
        # Imports make no garbage that is worth looking for.
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
        # Nothing that a worker inherits may run at the end of this process.
        os._exit(code)


def serve(control: socket.socket, lifeline: int, evaluate: Evaluate, environment: Mapping[str, str]) -> NoReturn:
    """What `main` does, in a fork of the coordinator, which has the evaluation already."""
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
        # They are for the search, which ends this process then.
        signal.signal(stop, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _be_as_a_fresh_process(environment: Mapping[str, str]) -> None:
    """Have nothing of the coordinator that a process of its own would not have: no terminal, arguments or main module.

    Else what a trial starts in processes of its own might run the command again.
    """
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.close(nothing)
    os.environ.update({**dict.fromkeys(ONE_THREAD, "1"), **environment})
    sys.argv = ["-c"]
    sys.modules["__main__"] = ModuleType("__main__")
    gc.set_threshold(*USUAL)


def _end_with(lifeline: int) -> None:
    """Be killed when the coordinator ends, also in the midst of an import: there is nothing yet to clean up."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if _is_readable(lifeline):
        raise EOFError


def _live_on(lifeline: int) -> None:
    """Be told when the coordinator ends, no more."""
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
    """A worker as the nursery knows it."""

    token: int
    process: psutil.Process
    shared: SharedNumbers
    sequence: int = 0
    """The last job that it was given."""
    given: float = 0.0
    """When it was; it may have begun it later, or a little before that."""
    allowed: float | None = None
    """The seconds that this job may take."""
    lost: float | None = None
    """When the coordinator lost it."""
    verdict: Failure | None = None
    """Why it was killed."""
    judged: int = 0
    """The job for which it was."""
    taken: float = 0.0
    """The bytes that it took for its last job when that was looked at last."""

    @property
    def is_busy(self) -> bool:
        """Whether it is at the job that it was given; it may be ahead of what the nursery was told."""
        return self.shared.finished < self.sequence

    @property
    def has_begun(self) -> bool:
        """Whether it has begun the job that it was given."""
        return self.shared.begun == self.sequence

    def seconds(self) -> float:
        """Since it began its last job, or was given it, where it has not begun."""
        return time.monotonic() - (self.shared.since if self.has_begun else self.given)

    def left(self, limit: float) -> float:
        """The seconds that it has left of a limit, which runs from when it has begun; until then there is more."""
        # It may begin at any moment: a second look might see another state.
        if self.has_begun:
            return limit - (time.monotonic() - self.shared.since)
        return limit + STARTING - (time.monotonic() - self.given)


class Nursery:
    """Forks, bounds and buries workers."""

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
        """Do what the coordinator orders, until it ends; end all workers then."""
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
        """Take care of orphans, be woken by deaths, and have all that was loaded so far shared with the workers."""
        system.adopt_orphans()
        self._deaths.setblocking(False)
        self._death.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._death.fileno(), warn_on_full_buffer=False)
        # What of it takes long is done here once, not in every worker.
        GlobalState()
        gc.collect()
        # What the collector never visits again it does not write to either: such pages stay shared.
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
                # One that has ended meanwhile is known to the coordinator as one that never had this job.
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
        nursery = os.getpid()
        try:
            with warnings.catch_warnings():
                # Threads that an import has left behind are none of a worker's business.
                warnings.simplefilter("ignore")
                pid = os.fork()
        except OSError as error:
            end.close()
            self._tell(Ended(token, 0, Failure(Status.CRASH, f"no process could be started: {described(error)}")))
            return
        if pid == 0:
            self._become_worker(nursery, end, shared)
        end.close()
        self._children[pid] = Child(token, psutil.Process(pid), shared)

    def _become_worker(self, nursery: int, end: socket.socket, shared: SharedNumbers) -> NoReturn:
        try:
            signal.set_wakeup_fd(-1)
            # What a trial starts may be ended by SIGTERM, as pools of processes do.
            for usual in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(usual, signal.SIG_DFL)
            os.close(self._lifeline)
            for each in (self._channel, self._deaths, self._death):
                each.close()
            self._children.clear()
            room = worker.Room(self._idle, self._limits.trial_bytes)
            worker.main(nursery, Channel(end), self._evaluate, shared, room, isolates=self._isolates)
        finally:
            os._exit(1)

    def _pause(self) -> float:
        """The seconds until something must be looked at."""
        pause = REST
        for child in self._children.values():
            if child.lost is not None:
                pause = min(pause, GRACE)
            if child.is_busy and child.verdict is None:
                if self._limits.trial_bytes is not None:
                    pause = min(pause, POLL)
                if child.allowed is not None:
                    # What has not begun may begin at once.
                    pause = min(pause, max(child.left(child.allowed), 0), max(child.allowed, SOON))
        return pause

    def _bound(self) -> None:
        """Kill what is beyond its limits."""
        now = time.monotonic()
        judges = [self._lost, self._timed]
        if self._limits.trial_bytes is not None and now >= self._next_poll:
            self._next_poll = now + POLL
            self._trees.look()
            judges.append(self._weighed)
        for child in self._children.values():
            verdicts = (judge(child) for judge in judges if child.verdict is None)
            if verdict := next(filter(None, verdicts), None):
                child.verdict, child.judged = verdict, child.sequence
            if child.verdict is not None:
                # Again as often as it takes: it may be about to have children.
                kill_tree(child.process)

    def _lost(self, child: Child) -> Failure | None:
        if child.lost is None or time.monotonic() < child.lost + GRACE:
            return None
        return Failure(Status.CRASH, "its process has hung up", child.seconds())

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
        if taken:  # else it has just been killed
            child.taken = taken - child.shared.held
        return too_large(limit, child.taken, child.seconds()) if taken > allowed else None

    def _bury(self) -> None:
        """Take leave of the workers that have ended, and end what they have left behind."""
        buried = []
        for pid in list(self._children):
            gone, status = os.waitpid(pid, os.WNOHANG)
            if gone:
                buried.append((self._children.pop(pid), os.waitstatus_to_exitcode(status)))
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
        end_children(self._children)
        for child, code in buried:
            failure = self._epitaph(child, code)
            # What did not kill itself was killed by others, for reasons of theirs.
            is_final = child.verdict is not None or -code not in FOREIGN
            self._tell(Ended(child.token, child.sequence, failure, is_final))

    def _epitaph(self, child: Child, code: int) -> Failure | None:
        """What to say of the job that a worker was at when it ended."""
        if not child.is_busy or not child.has_begun:
            return None
        if child.verdict is not None:
            # Where it had finished the job meanwhile and begun another one, that one is not to blame.
            return child.verdict if child.judged == child.sequence else None
        if code == -signal.SIGKILL:
            is_memory_out = self._memory_kills.are_more()
            return killed(self._limits.trial_bytes, child.taken, child.seconds(), is_memory_out=is_memory_out)
        return ended(code, child.seconds())
