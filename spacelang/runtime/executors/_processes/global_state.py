"""Detect whether a trial has changed the global state of its process.

Random number generators are not checked, because every evaluation seeds them. Changes inside of libraries cannot be
detected.
"""

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
from functools import cache
from typing import Any, Final

from spacelang.runtime.executors._processes import kernel

IDLE_TIMEOUT: Final = 0.05
"""The maximum time for threads to become idle, in seconds of wall-clock time and of CPU time."""

POLL_INTERVAL: Final = 0.001
"""The interval at which threads are polled, in seconds."""

PATCHABLE_MODULES: Final = ("builtins", "copy", "copyreg", "os", "pickle", "random", "time")
"""The modules that are checked for patches: one left behind would affect later trials or the sending of results."""

UNAVAILABLE: Final = object()
"""The state of a library that is not loaded, and of anything that cannot be read."""


class GlobalState:
    """A snapshot of the global state of this process, to detect what a trial has changed.

    It covers modules, threads, handlers and settings, but not random number generators, which every trial seeds.
    The state of a library that is not loaded yet is added when the library is first seen loaded.
    """

    def __init__(self) -> None:
        self._modules = dict(sys.modules)
        self._threads = kernel.thread_ids()
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

        The threads of a pool spin for some milliseconds before they sleep. That takes longer if other processes occupy
        the cores. So a thread that wants a core is granted CPU time (`IDLE_TIMEOUT`), and not only wall-clock time.
        """
        until, most = time.monotonic() + IDLE_TIMEOUT, time.process_time() + IDLE_TIMEOUT
        while active := kernel.thread_ids() - self._threads:
            is_at_work = time.process_time() < most and any(map(kernel.is_runnable_thread, active))
            if all(map(kernel.is_idle_thread, active)) and len(sys._current_frames()) == 1:
                return True
            if time.monotonic() > until and not is_at_work:
                return False
            time.sleep(POLL_INTERVAL)
        return True


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


def _imports() -> object:
    return list(sys.path), list(sys.meta_path), list(sys.path_hooks)


def _streams() -> object:
    return sys.stdin, sys.stdout, sys.stderr


def _patches() -> object:
    return [dict(vars(_loaded_module(name))) for name in PATCHABLE_MODULES], dict(
        _loaded_module("copyreg").dispatch_table
    )


def _warnings() -> object:
    return list(warnings.filters), warnings.showwarning, warnings.formatwarning


def _process_state() -> object:
    limits = [resource.getrlimit(each) for each in _resource_limits()]
    timers = [signal.getitimer(each) for each in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)]
    return limits, timers, os.getpriority(os.PRIO_PROCESS, 0), kernel.process_settings()


@cache
def _resource_limits() -> list[int]:
    return sorted({value for name, value in vars(resource).items() if name.startswith("RLIMIT_")})


def _arithmetic() -> object:
    """Return results that reveal the rounding mode and whether denormal numbers exist.

    Libraries that are compiled for speed disable denormal numbers.
    """
    smallest, one = sys.float_info.min, 1.0
    return smallest / 2 > 0, one + sys.float_info.epsilon / 2, -one - sys.float_info.epsilon / 2, one / 3


def _numpy() -> object:
    numpy = _loaded_module("numpy")
    return numpy.geterr(), numpy.geterrcall(), numpy.getbufsize()


def _pandas() -> object:
    return dict(_flatten(_loaded_module("pandas").options.d))


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
    """Return the loaded libraries that have thread pools.

    They are looked up only once, because the search for them takes long.
    """
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().lib_controllers)


STATE_READERS: Final[Mapping[str, Callable[[], object]]] = {
    "interpreter": _interpreter,
    "imports": _imports,
    "streams": _streams,
    "patches": _patches,
    "warnings": _warnings,
    "environment": os.environ.copy,
    "working directory": os.getcwd,
    "locale": lambda: locale.setlocale(locale.LC_ALL),
    "files": kernel.open_files,
    "process": _process_state,
    "arithmetic": _arithmetic,
    "numpy": _numpy,
    "pandas": _pandas,
    "scikit-learn": lambda: _loaded_module("sklearn").get_config(),
    "joblib": _joblib,
    "thread limits": _thread_limits,
}
"""The parts of the global state by name, with the functions that read them in some microseconds each."""
