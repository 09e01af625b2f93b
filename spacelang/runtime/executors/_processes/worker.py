"""A worker process, forked by the zygote: it evaluates one job after another until it is killed."""

import gc
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass

# Imported by name, so that a trial that patches the modules does not affect the worker.
from pickle import HIGHEST_PROTOCOL, dumps, loads
from time import monotonic
from typing import Any, Final, NoReturn

import psutil

from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import Evaluate
from spacelang.runtime.executors._processes import system
from spacelang.runtime.executors._processes.channel import Channel
from spacelang.runtime.executors._processes.family import end_children, has_children
from spacelang.runtime.executors._processes.global_state import GlobalState
from spacelang.runtime.executors._processes.memory import resident
from spacelang.runtime.executors._processes.messages import RESULT, TASK, Answer, Garbled
from spacelang.runtime.executors._processes.shared import SharedNumbers
from spacelang.runtime.failures import Failure, described, raised

WORTH_TIDYING: Final = 16
"""A worker trims its memory if it holds more than 1 / `WORTH_TIDYING` of a trial's memory beyond its caches."""

WORTH_REPLACING: Final = 2
"""A worker is replaced if it still holds more than 1 / `WORTH_REPLACING` of a trial's memory beyond its caches."""


@dataclass(frozen=True, slots=True)
class Room:
    """The memory of an idle worker, and the limit of a trial, in bytes; None for no limit."""

    idle: int
    limit: float | None


def main(
    zygote_pid: int, channel: Channel, evaluate: Evaluate, shared: SharedNumbers, room: Room, *, isolates: bool = False
) -> NoReturn:
    """Evaluate jobs until the coordinator disconnects; `zygote_pid` is the process that forked this one.

    With `isolates` the process exits after one job.
    """
    os.setsid()
    system.die_with_parent()
    if os.getppid() != zygote_pid:
        os._exit(0)
    system.adopt_orphans()
    system.go_first()
    system.leave_no_core()
    if "numpy" in sys.modules:
        # Else all workers would draw the same numbers if an evaluation does not seed NumPy's global generator.
        sys.modules["numpy"].random.seed()
    worker = Worker(evaluate, shared, room, None if isolates else GlobalState())
    with suppress(EOFError):
        while worker.work(channel):
            pass
    os._exit(0)


class Worker:
    """An evaluator of jobs, which reports after each job whether its process can be used for another one.

    It can as long as the global state is unchanged. Without a `state` to compare, it never can.
    """

    def __init__(self, evaluate: Evaluate, shared: SharedNumbers, room: Room, state: GlobalState | None) -> None:
        self._evaluate = evaluate
        self._state = state
        self._shared = shared
        self._room = room
        self._process = psutil.Process()
        self._kept = kept_bytes(evaluate)

    def work(self, channel: Channel) -> bool:
        """Do the next job; return True if this worker can do another one. Raises EOFError if no job comes."""
        message = channel.receive()
        (sequence,) = TASK.unpack_from(message)
        self._shared.since = monotonic()
        self._shared.begun = sequence
        answer = packed(answered(self._evaluate, message[TASK.size :]))
        if os.getpid() != self._process.pid:
            os._exit(0)  # a fork made by the evaluation, which has returned here as well
        # A library whose helper processes were killed fails at its next call, so this worker takes no other job.
        must_exit = self._end_others() or self._has_changed() or self._is_full(len(answer))
        self._shared.finished = sequence
        channel.send(RESULT.pack(sequence, must_exit) + answer)
        return not must_exit

    def _end_others(self) -> bool:
        """Kill the processes that an evaluation has left behind; return True if there were any."""
        if not has_children():
            return False
        end_children()
        return True

    def _has_changed(self) -> bool:
        """Return True if an evaluation has changed the global state, or if no other job may follow."""
        return self._state is None or self._state.changed() is not None

    def _is_full(self, leaving: int) -> bool:
        """Return True if this process holds much more memory than intended; `leaving` bytes are about to be sent."""
        if self._room.limit is None:
            return False
        cached = max(kept_bytes(self._evaluate) - self._kept, 0)
        available = self._room.limit - self._room.idle
        expected = self._room.idle + leaving + cached
        size = resident(self._process)
        if size - expected > available / WORTH_TIDYING:
            gc.collect()
            system.give_back_memory()
            size = resident(self._process)
        self._shared.held = max(size - leaving - self._room.idle, 0)
        return size - expected > available / WORTH_REPLACING


def kept_bytes(evaluate: Evaluate) -> int:
    """Return the number of bytes that an evaluation caches between requests: its attribute `kept_bytes`, or 0.

    For a method the attribute is that of its object.
    """
    owner = getattr(evaluate, "__self__", evaluate)
    return int(getattr(owner, "kept_bytes", 0))


def answered(evaluate: Evaluate, request: bytes) -> Answer:
    """Evaluate a pickled request and return the answer; it never raises."""
    try:
        unpickled: Request = loads(request)
    except Exception as error:  # noqa: BLE001 - an earlier trial may have broken unpickling
        return Garbled(Failure(Status.ERROR, f"its request cannot be read by the worker: {described(error)}"))
    started = time.perf_counter()
    try:
        trial: Any = evaluate(unpickled)
    except InputError as error:
        return error
    except BaseException as error:  # noqa: BLE001 - the worker survives whatever a user's pipeline raises
        return raised(error, time.perf_counter() - started)
    if not isinstance(trial, Trial):
        return Failure(Status.ERROR, f"the evaluation returned `{type(trial).__name__}` instead of a trial")
    return trial


def packed(answer: Answer) -> bytes:
    """Pickle an answer; if that fails pickle a substitute with the reason, and if that fails return no bytes."""
    try:
        return dumps(answer, HIGHEST_PROTOCOL)
    except MemoryError as error:
        substitute: Answer = raised(error, _seconds(answer))
    except Exception as error:  # noqa: BLE001 - pickling a user's result can raise anything
        reason = f"its result cannot be sent to the search: {described(error)}"
        substitute = Garbled(Failure(Status.ERROR, reason, _seconds(answer)))
    try:
        return dumps(substitute)
    except Exception:  # noqa: BLE001 - nothing can be pickled; the search retries a job without a readable answer
        return b""


def _seconds(answer: Answer) -> float:
    return answer.cost if isinstance(answer, Trial) else 0.0
