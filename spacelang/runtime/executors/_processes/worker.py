"""A worker process, forked by the zygote: it evaluates jobs until a trial has changed its global state."""

import gc
import locale
import os
import resource
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

# Imported by name, so that a trial that patches the modules does not affect the worker.
from pickle import HIGHEST_PROTOCOL, dumps, loads
from time import monotonic
from typing import Any, Final, NoReturn

import psutil

from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.errors import Failure, InputError, describe_exception, exception_failure
from spacelang.runtime.executors import Evaluate
from spacelang.runtime.executors._processes import communication, operating_system
from spacelang.runtime.executors._processes.communication import Answer, Channel
from spacelang.runtime.executors._processes.process_tree import (
    kill_children,
    reap_and_check_for_children,
    resident_bytes,
)

TRIM_DIVISOR: Final = 16
"""A worker trims its memory if it holds more than 1 / `TRIM_DIVISOR` of a trial's memory beyond its caches."""
REPLACE_DIVISOR: Final = 2
"""A worker is replaced if it still holds more than 1 / `REPLACE_DIVISOR` of a trial's memory beyond its caches."""
IDLE_TIMEOUT: Final = 0.05  # The maximum time for threads to become idle, in seconds of wall-clock time and of CPU time
POLL_INTERVAL: Final = 0.001  # The interval at which threads are polled, in seconds
PATCHABLE_MODULES: Final = ("builtins", "copy", "copyreg", "os", "pickle", "random", "time")
"""The modules that are checked for patches: one left behind would affect later trials or the sending of results."""
UNAVAILABLE: Final = object()  # The state of a library that is not loaded, and of anything that cannot be read


class GlobalStateSnapshot:
    """A snapshot of the global state of this process, to detect what a trial has changed.

    It covers modules, threads, handlers and settings, but not random number generators, which every trial seeds.
    The state of a library that is not loaded yet is added when the library is first seen loaded.
    """

    def __init__(self) -> None:
        self._modules = dict(sys.modules)
        self._threads = operating_system.thread_ids()
        self._before = {name: _read_state(read) for name, read in STATE_READERS.items()}

    def first_change(self) -> str | None:
        """Return the name of a part of the state that has changed, None if there is none."""
        for name, read in STATE_READERS.items():
            before, now = self._before[name], _read_state(read)
            if before is UNAVAILABLE:
                self._before[name] = now
            elif not _is_equal(before, now):
                return name
        if not self._are_modules_unchanged():
            return "modules"
        return None if self._are_new_threads_idle() else "threads"

    def _are_modules_unchanged(self) -> bool:
        """Return True if no module was removed or replaced; new modules are allowed."""
        if self._modules == sys.modules:
            return True
        before, self._modules = self._modules, dict(sys.modules)
        return before.items() <= self._modules.items()

    def _are_new_threads_idle(self) -> bool:
        """Return True once no new thread is left that could do anything by itself.

        The threads of a pool spin before they sleep, for longer if other processes occupy the cores. So a thread that
        wants a core is granted CPU time (`IDLE_TIMEOUT`), and not only wall-clock time.
        """
        until, most = time.monotonic() + IDLE_TIMEOUT, time.process_time() + IDLE_TIMEOUT
        while active := operating_system.thread_ids() - self._threads:
            is_at_work = time.process_time() < most and any(map(operating_system.is_runnable_thread, active))
            if all(map(operating_system.is_idle_thread, active)) and len(sys._current_frames()) == 1:
                return True
            if time.monotonic() > until and not is_at_work:
                return False
            time.sleep(POLL_INTERVAL)
        return True


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """The memory of an idle worker (`idle`) and the limit of a trial (`limit`, None for no limit), in bytes."""

    idle: int
    limit: float | None


def main(
    zygote_pid: int,
    channel: Channel,
    evaluate: Evaluate,
    shared: communication.SharedWorkerState,
    memory: MemoryLimits,
    *,
    isolates: bool = False,
) -> NoReturn:
    """Evaluate jobs, one if it `isolates`, until the coordinator disconnects; `zygote_pid` has forked this process."""
    os.setsid()
    operating_system.die_with_parent()
    if os.getppid() != zygote_pid:
        os._exit(0)
    operating_system.adopt_orphans()
    operating_system.prefer_oom_kill()
    operating_system.disable_core_dumps()
    if "numpy" in sys.modules:
        # Else all workers would draw the same numbers if an evaluation does not seed NumPy's global generator.
        sys.modules["numpy"].random.seed()
    worker = Worker(evaluate, shared, memory, None if isolates else GlobalStateSnapshot())
    with suppress(EOFError):
        while worker.serve_next_job(channel):
            pass
    os._exit(0)


class Worker:
    """An evaluator of jobs in a worker process.

    The process can be used for another job as long as its global state equals `state`; if that is None, never.
    """

    def __init__(
        self,
        evaluate: Evaluate,
        shared: communication.SharedWorkerState,
        memory: MemoryLimits,
        state: GlobalStateSnapshot | None,
    ) -> None:
        self._evaluate, self._state, self._shared, self._memory = evaluate, state, shared, memory
        self._process = psutil.Process()
        self._initial_cached_bytes = cached_bytes(evaluate)

    def serve_next_job(self, channel: Channel) -> bool:
        """Do the next job; return True if this worker can do another one. Raises EOFError if no job comes."""
        message = channel.receive()
        (sequence,) = communication.REQUEST_HEADER.unpack_from(message)
        self._shared.since = monotonic()
        self._shared.begun = sequence
        answer = pickle_answer(evaluate_request(self._evaluate, message[communication.REQUEST_HEADER.size :]))
        if os.getpid() != self._process.pid:
            os._exit(0)  # a fork made by the evaluation, which has returned here as well
        # A library whose helper processes were killed fails at its next call, so this worker takes no other job.
        leaves_processes = reap_and_check_for_children()
        if leaves_processes:
            kill_children()
        is_changed = leaves_processes or self._state is None or self._state.first_change() is not None
        must_exit = is_changed or self._holds_too_much_memory(len(answer))
        self._shared.finished = sequence
        channel.send(communication.ANSWER_HEADER.pack(sequence, must_exit) + answer)
        return not must_exit

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
            operating_system.trim_memory()
            size = resident_bytes(self._process)
        self._shared.held = max(size - leaving - self._memory.idle, 0)
        return size - expected > available / REPLACE_DIVISOR


def cached_bytes(evaluate: Evaluate) -> int:
    """Return the bytes that an evaluation caches between requests: its attribute `cached_bytes`, or 0 without one.

    If the evaluation is a bound method, the attribute is that of its object.
    """
    owner = getattr(evaluate, "__self__", evaluate)
    old = getattr(owner, "kept_bytes", 0)  # the name of the attribute up to version 0.2
    return int(getattr(owner, "cached_bytes", old))


def evaluate_request(evaluate: Evaluate, request: bytes) -> Answer:
    """Evaluate a pickled request and return the answer; it never raises."""
    try:
        work = loads(request)
    except Exception as error:  # noqa: BLE001 - an earlier trial may have broken unpickling
        reason = f"the request of the trial cannot be read by the worker: {describe_exception(error)}"
        return communication.TransmissionFailure(Failure(Status.ERROR, reason))
    started = time.perf_counter()
    try:
        result: Any = evaluate(work)
    except InputError as error:
        return error
    except BaseException as error:  # noqa: BLE001 - the worker survives whatever a user's pipeline raises
        return exception_failure(error, time.perf_counter() - started)
    if isinstance(work, Request) and not isinstance(result, Trial):
        return Failure(Status.ERROR, f"the evaluation returned `{type(result).__name__}` instead of a trial")
    return result


def pickle_answer(answer: Answer) -> bytes:
    """Pickle an answer; if that fails pickle a substitute with the reason, and if that fails return no bytes."""
    seconds = float(getattr(answer, "cost", 0.0))
    try:
        return dumps(answer, HIGHEST_PROTOCOL)
    except MemoryError as error:
        substitute: Answer = exception_failure(error, seconds)
    except Exception as error:  # noqa: BLE001 - pickling a user's result can raise anything
        reason = f"the result of the trial cannot be sent to the search: {describe_exception(error)}"
        substitute = communication.TransmissionFailure(Failure(Status.ERROR, reason, seconds))
    try:
        return dumps(substitute)
    except Exception:  # noqa: BLE001 - nothing can be pickled; the search retries a job without a readable answer
        return b""


def _read_state(read: Callable[[], object]) -> object:
    try:
        return read()
    except Exception:  # noqa: BLE001 - a trial may have broken what is read
        return UNAVAILABLE


def _is_equal(before: object, now: object) -> bool:
    try:
        return bool(before == now)
    except Exception:  # noqa: BLE001 - comparing objects of a trial can raise anything
        return False


def _loaded_module(name: str) -> Any:
    """Return a loaded module; raise KeyError, and import nothing, if it is not loaded."""
    return sys.modules[name]


def _interpreter() -> object:
    hooks = sys.excepthook, sys.unraisablehook, threading.excepthook, sys.gettrace(), sys.getprofile()
    collection = gc.isenabled(), gc.get_threshold(), tuple(gc.callbacks)
    return sys.getrecursionlimit(), threading.stack_size(), hooks, collection


def _patches() -> object:
    modules = [dict(vars(_loaded_module(name))) for name in PATCHABLE_MODULES]
    return modules, dict(_loaded_module("copyreg").dispatch_table)


def _process_state() -> object:
    limits = [resource.getrlimit(each) for each in _resource_limits()]
    timers = [signal.getitimer(each) for each in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)]
    return limits, timers, os.getpriority(os.PRIO_PROCESS, 0), operating_system.umask_signal_and_core_settings()


@cache
def _resource_limits() -> list[int]:
    return sorted({value for name, value in vars(resource).items() if name.startswith("RLIMIT_")})


def _arithmetic() -> object:
    """Return results that reveal the rounding mode, and denormal numbers, which code compiled for speed disables."""
    smallest, one = sys.float_info.min, 1.0
    return smallest / 2 > 0, one + sys.float_info.epsilon / 2, -one - sys.float_info.epsilon / 2, one / 3


def _numpy() -> object:
    numpy = _loaded_module("numpy")
    return numpy.geterr(), numpy.geterrcall(), numpy.getbufsize()


def _flatten(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _joblib() -> object:
    backend, workers = _loaded_module("joblib").parallel.get_active_backend()
    return type(backend), workers


def _thread_limits() -> object:
    _loaded_module("threadpoolctl")
    return [library.num_threads for library in thread_pools()]


@cache
def thread_pools() -> tuple[Any, ...]:
    """Return the loaded libraries with thread pools, looked up only once, because that takes long."""
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().lib_controllers)


STATE_READERS: Final[Mapping[str, Callable[[], object]]] = {
    "interpreter": _interpreter,
    "imports": lambda: (list(sys.path), list(sys.meta_path), list(sys.path_hooks)),
    "streams": lambda: (sys.stdin, sys.stdout, sys.stderr),
    "patches": _patches,
    "warnings": lambda: (list(warnings.filters), warnings.showwarning, warnings.formatwarning),
    "environment": os.environ.copy,
    "working directory": os.getcwd,
    "locale": lambda: locale.setlocale(locale.LC_ALL),
    "files": operating_system.inodes_by_descriptor,
    "process": _process_state,
    "arithmetic": _arithmetic,
    "numpy": _numpy,
    "pandas": lambda: dict(_flatten(_loaded_module("pandas").options.d)),
    "scikit-learn": lambda: _loaded_module("sklearn").get_config(),
    "joblib": _joblib,
    "thread limits": _thread_limits,
}
"""The parts of the global state by name, with the functions that read them in some microseconds each."""
