"""A worker: a process that the nursery has forked; it evaluates one job after the other until it is killed."""

import gc
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass

# Here, whatever a trial puts in their places.
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
"""Freed memory is given back where a worker holds one part in so many of a trial's room more than it means to."""

WORTH_REPLACING: Final = 2
"""A worker is replaced where it still holds one part in so many."""


@dataclass(frozen=True, slots=True)
class Room:
    """The bytes that an idle worker takes, and those that a trial may; None is no limit."""

    idle: int
    limit: float | None


def main(
    nursery: int, channel: Channel, evaluate: Evaluate, shared: SharedNumbers, room: Room, *, isolates: bool = False
) -> NoReturn:
    """Evaluate what comes until the coordinator hangs up; `nursery` is the process that has forked this one."""
    os.setsid()
    system.die_with_parent()
    if os.getppid() != nursery:
        os._exit(0)
    system.adopt_orphans()
    system.go_first()
    system.leave_no_core()
    if "numpy" in sys.modules:
        # Else all workers would draw the same numbers wherever an evaluation does not seed NumPy's global generator.
        sys.modules["numpy"].random.seed()
    worker = Worker(evaluate, shared, room, None if isolates else GlobalState())
    with suppress(EOFError):
        while worker.work(channel):
            pass
    os._exit(0)


class Worker:
    """Evaluates, and tells after each evaluation whether this process is fit for another one.

    It is while the global state is as it was; without one it never is.
    """

    def __init__(self, evaluate: Evaluate, shared: SharedNumbers, room: Room, state: GlobalState | None) -> None:
        self._evaluate = evaluate
        self._state = state
        self._shared = shared
        self._room = room
        self._process = psutil.Process()
        self._kept = kept_bytes(evaluate)

    def work(self, channel: Channel) -> bool:
        """Do the next job; whether this worker is fit for another one. Raises EOFError where none comes."""
        message = channel.receive()
        (sequence,) = TASK.unpack_from(message)
        self._shared.since = monotonic()
        self._shared.begun = sequence
        answer = packed(answered(self._evaluate, message[TASK.size :]))
        if os.getpid() != self._process.pid:
            os._exit(0)  # the evaluation has forked, and the other one returned as well
        # A library that has lost its helpers fails at its next call: no other trial may meet it.
        retires = self._end_others() or self._has_changed() or self._is_full(len(answer))
        self._shared.finished = sequence
        channel.send(RESULT.pack(sequence, retires) + answer)
        return not retires

    def _end_others(self) -> bool:
        """End what an evaluation has left behind; whether there was anything."""
        if not has_children():
            return False
        end_children()
        return True

    def _has_changed(self) -> bool:
        """Whether an evaluation has left this process another one than it was, or none is to follow."""
        return self._state is None or self._state.changed() is not None

    def _is_full(self, leaving: int) -> bool:
        """Whether much more is held than is meant to be; `leaving` bytes are on their way out."""
        if self._room.limit is None:
            return False
        kept = max(kept_bytes(self._evaluate) - self._kept, 0)
        room = self._room.limit - self._room.idle
        meant = self._room.idle + leaving + kept
        size = resident(self._process)
        if size - meant > room / WORTH_TIDYING:
            gc.collect()
            system.give_back_memory()
            size = resident(self._process)
        self._shared.held = max(size - leaving - self._room.idle, 0)
        return size - meant > room / WORTH_REPLACING


def kept_bytes(evaluate: Evaluate) -> int:
    """What an evaluation says that it keeps from one request to the next: its attribute `kept_bytes`, 0 without one.

    That of a method is its object's.
    """
    owner = getattr(evaluate, "__self__", evaluate)
    return int(getattr(owner, "kept_bytes", 0))


def answered(evaluate: Evaluate, request: bytes) -> Answer:
    """What evaluating a pickled request comes to; nothing that it raises gets past this."""
    try:
        wanted: Request = loads(request)
    except Exception as error:  # noqa: BLE001 - whatever an earlier trial has left behind
        return Garbled(Failure(Status.ERROR, f"its request cannot be read by the worker: {described(error)}"))
    started = time.perf_counter()
    try:
        trial: Any = evaluate(wanted)
    except InputError as error:
        return error
    except BaseException as error:  # noqa: BLE001 - the worker outlives whatever a stranger's pipeline raises
        return raised(error, time.perf_counter() - started)
    if not isinstance(trial, Trial):
        return Failure(Status.ERROR, f"it returned no trial but `{type(trial).__name__}`")
    return trial


def packed(answer: Answer) -> bytes:
    """An answer as it is sent; where it cannot be, what is left to say of it, or nothing."""
    try:
        return dumps(answer, HIGHEST_PROTOCOL)
    except MemoryError as error:
        substitute: Answer = raised(error, _seconds(answer))
    except Exception as error:  # noqa: BLE001 - whatever stands in a stranger's result
        reason = f"its result cannot be sent to the search: {described(error)}"
        substitute = Garbled(Failure(Status.ERROR, reason, _seconds(answer)))
    try:
        return dumps(substitute)
    except Exception:  # noqa: BLE001 - nothing can be sent any more; the search repeats what it cannot read
        return b""


def _seconds(answer: Answer) -> float:
    return answer.cost if isinstance(answer, Trial) else 0.0
