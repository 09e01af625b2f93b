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
from spacelang.runtime.executors._processes import kernel
from spacelang.runtime.executors._processes.channel import Channel
from spacelang.runtime.executors._processes.global_state import GlobalState
from spacelang.runtime.executors._processes.memory import resident_bytes
from spacelang.runtime.executors._processes.messages import ANSWER_HEADER, REQUEST_HEADER, Answer, TransmissionFailure
from spacelang.runtime.executors._processes.process_tree import has_children, kill_children
from spacelang.runtime.executors._processes.shared_memory import SharedWorkerState
from spacelang.runtime.failures import Failure, describe_exception, exception_failure

TRIM_DIVISOR: Final = 16
"""A worker trims its memory if it holds more than 1 / `TRIM_DIVISOR` of a trial's memory beyond its caches."""

REPLACE_DIVISOR: Final = 2
"""A worker is replaced if it still holds more than 1 / `REPLACE_DIVISOR` of a trial's memory beyond its caches."""


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """The memory of an idle worker, and the limit of a trial, in bytes; None for no limit."""

    idle: int
    limit: float | None


def main(
    zygote_pid: int,
    channel: Channel,
    evaluate: Evaluate,
    shared: SharedWorkerState,
    room: MemoryLimits,
    *,
    isolates: bool = False,
) -> NoReturn:
    """Evaluate jobs until the coordinator disconnects; `zygote_pid` is the process that forked this one.

    With `isolates` the process exits after one job.
    """
    os.setsid()
    kernel.die_with_parent()
    if os.getppid() != zygote_pid:
        os._exit(0)
    kernel.adopt_orphans()
    kernel.prefer_oom_kill()
    kernel.disable_core_dumps()
    if "numpy" in sys.modules:
        # Else all workers would draw the same numbers if an evaluation does not seed NumPy's global generator.
        sys.modules["numpy"].random.seed()
    worker = Worker(evaluate, shared, room, None if isolates else GlobalState())
    with suppress(EOFError):
        while worker.serve_next_job(channel):
            pass
    os._exit(0)


class Worker:
    """An evaluator of jobs, which reports after each job whether its process can be used for another one.

    It can as long as the global state is unchanged. Without a `state` to compare, it never can.
    """

    def __init__(
        self, evaluate: Evaluate, shared: SharedWorkerState, room: MemoryLimits, state: GlobalState | None
    ) -> None:
        self._evaluate = evaluate
        self._state = state
        self._shared = shared
        self._memory = room
        self._process = psutil.Process()
        self._initial_cached_bytes = cached_bytes(evaluate)

    def serve_next_job(self, channel: Channel) -> bool:
        """Do the next job; return True if this worker can do another one. Raises EOFError if no job comes."""
        message = channel.receive()
        (sequence,) = REQUEST_HEADER.unpack_from(message)
        self._shared.since = monotonic()
        self._shared.begun = sequence
        answer = pickle_answer(evaluate_request(self._evaluate, message[REQUEST_HEADER.size :]))
        if os.getpid() != self._process.pid:
            os._exit(0)  # a fork made by the evaluation, which has returned here as well
        # A library whose helper processes were killed fails at its next call, so this worker takes no other job.
        must_exit = (
            self._kill_leftover_processes()
            or self._has_global_state_changed()
            or self._holds_too_much_memory(len(answer))
        )
        self._shared.finished = sequence
        channel.send(ANSWER_HEADER.pack(sequence, must_exit) + answer)
        return not must_exit

    def _kill_leftover_processes(self) -> bool:
        """Kill the processes that an evaluation has left behind; return True if there were any."""
        if not has_children():
            return False
        kill_children()
        return True

    def _has_global_state_changed(self) -> bool:
        """Return True if an evaluation has changed the global state, or if no other job may follow."""
        return self._state is None or self._state.first_change() is not None

    def _holds_too_much_memory(self, leaving: int) -> bool:
        """Return True if this process holds much more memory than intended; `leaving` bytes are about to be sent."""
        if self._memory.limit is None:
            return False
        cached = max(cached_bytes(self._evaluate) - self._initial_cached_bytes, 0)
        available = self._memory.limit - self._memory.idle
        expected = self._memory.idle + leaving + cached
        size = resident_bytes(self._process)
        if size - expected > available / TRIM_DIVISOR:
            gc.collect()
            kernel.trim_memory()
            size = resident_bytes(self._process)
        self._shared.held = max(size - leaving - self._memory.idle, 0)
        return size - expected > available / REPLACE_DIVISOR


def cached_bytes(evaluate: Evaluate) -> int:
    """Return the number of bytes that an evaluation caches between requests: its attribute `cached_bytes`, or 0.

    For a method the attribute is that of its object.
    """
    owner = getattr(evaluate, "__self__", evaluate)
    old = getattr(owner, "kept_bytes", 0)  # the name of the attribute up to version 0.2
    return int(getattr(owner, "cached_bytes", old))


def evaluate_request(evaluate: Evaluate, request: bytes) -> Answer:
    """Evaluate a pickled request and return the answer; it never raises."""
    try:
        unpickled: Request = loads(request)
    except Exception as error:  # noqa: BLE001 - an earlier trial may have broken unpickling
        return TransmissionFailure(
            Failure(Status.ERROR, f"the request of the trial cannot be read by the worker: {describe_exception(error)}")
        )
    started = time.perf_counter()
    try:
        trial: Any = evaluate(unpickled)
    except InputError as error:
        return error
    except BaseException as error:  # noqa: BLE001 - the worker survives whatever a user's pipeline raises
        return exception_failure(error, time.perf_counter() - started)
    if not isinstance(trial, Trial):
        return Failure(Status.ERROR, f"the evaluation returned `{type(trial).__name__}` instead of a trial")
    return trial


def pickle_answer(answer: Answer) -> bytes:
    """Pickle an answer; if that fails pickle a substitute with the reason, and if that fails return no bytes."""
    try:
        return dumps(answer, HIGHEST_PROTOCOL)
    except MemoryError as error:
        substitute: Answer = exception_failure(error, _answer_seconds(answer))
    except Exception as error:  # noqa: BLE001 - pickling a user's result can raise anything
        reason = f"the result of the trial cannot be sent to the search: {describe_exception(error)}"
        substitute = TransmissionFailure(Failure(Status.ERROR, reason, _answer_seconds(answer)))
    try:
        return dumps(substitute)
    except Exception:  # noqa: BLE001 - nothing can be pickled; the search retries a job without a readable answer
        return b""


def _answer_seconds(answer: Answer) -> float:
    return answer.cost if isinstance(answer, Trial) else 0.0
