"""What the trials of a process have in common without meaning to, and whether one has left it as it was.

Generators of random numbers are missing, since an evaluation seeds them; and the insides of libraries, which nobody
else knows.
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

from spacelang.runtime.executors._processes import system

SETTLING: Final = 0.05
"""How long threads may take to end whose work is done, in seconds; as much of a core, where they compute."""

BLINK: Final = 0.001
"""How often it is looked whether they have, in seconds."""

PATCHED: Final = ("builtins", "copy", "copyreg", "os", "pickle", "random", "time")
"""Modules in which a patch that is left behind reaches every trial, or its answer on the way to the search."""

UNSEEN: Final = object()
"""What there is to see of a library that is not loaded, or of anything that cannot be looked at."""


class GlobalState:
    """The state of this process at the moment when this is made; of a library, when it is first seen to be loaded."""

    def __init__(self) -> None:
        self._modules = dict(sys.modules)
        self._threads = system.threads()
        self._before = {name: _seen(look) for name, look in LOOKS.items()}

    def changed(self) -> str | None:
        """What is not as it was, in a word or two; None where everything is."""
        for name, look in LOOKS.items():
            before, now = self._before[name], _seen(look)
            if before is UNSEEN:
                self._before[name] = now
            elif not _is_equal(before, now):
                return name
        if not self._are_modules_there():
            return "modules"
        return None if self._are_threads_gone() else "threads"

    def _are_modules_there(self) -> bool:
        """Whether no module has gone or given its place to another one; new ones may come."""
        if self._modules == sys.modules:
            return True
        before, self._modules = self._modules, dict(sys.modules)
        return before.items() <= self._modules.items()

    def _are_threads_gone(self) -> bool:
        """Whether no thread is left that could do anything by itself.

        A pool of threads turns in circles for some milliseconds before it sleeps. Where other processes have the cores,
        that takes as long as these like: so who wants a core is given some time on it, and not some time.
        """
        until, most = time.monotonic() + SETTLING, time.process_time() + SETTLING
        while active := system.threads() - self._threads:
            is_at_work = time.process_time() < most and any(map(system.wants_a_core, active))
            if all(map(system.waits_for_work, active)) and len(sys._current_frames()) == 1:
                return True
            if time.monotonic() > until and not is_at_work:
                return False
            time.sleep(BLINK)
        return True


def _seen(look: Callable[[], object]) -> object:
    try:
        return look()
    except Exception:  # noqa: BLE001 - whatever strangers have made of what is looked at
        return UNSEEN


def _is_equal(before: object, now: object) -> bool:
    try:
        return bool(before == now)
    except Exception:  # noqa: BLE001 - as above
        return False


def _library(name: str) -> Any:
    """A module that is loaded; raises KeyError for one that is not, and loads none."""
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
    return [dict(vars(_library(name))) for name in PATCHED], dict(_library("copyreg").dispatch_table)


def _warnings() -> object:
    return list(warnings.filters), warnings.showwarning, warnings.formatwarning


def _process() -> object:
    limits = [resource.getrlimit(each) for each in _limits()]
    timers = [signal.getitimer(each) for each in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)]
    return limits, timers, os.getpriority(os.PRIO_PROCESS, 0), system.settings()


@cache
def _limits() -> list[int]:
    return sorted({value for name, value in vars(resource).items() if name.startswith("RLIMIT_")})


def _arithmetic() -> object:
    """How this process rounds, and whether it knows denormal numbers: libraries built for speed switch them off."""
    smallest, one = sys.float_info.min, 1.0
    return smallest / 2 > 0, one + sys.float_info.epsilon / 2, -one - sys.float_info.epsilon / 2, one / 3


def _numpy() -> object:
    numpy = _library("numpy")
    return numpy.geterr(), numpy.geterrcall(), numpy.getbufsize()


def _pandas() -> object:
    return dict(_flat(_library("pandas").options.d))


def _flat(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _joblib() -> object:
    backend, workers = _library("joblib").parallel.get_active_backend()
    return type(backend), workers


def _thread_limits() -> object:
    _library("threadpoolctl")
    return [library.num_threads for library in thread_pools()]


@cache
def thread_pools() -> tuple[Any, ...]:
    """The libraries with pools of threads that were loaded when this was asked first: looking for them takes long."""
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().lib_controllers)


LOOKS: Final[Mapping[str, Callable[[], object]]] = {
    "interpreter": _interpreter,
    "imports": _imports,
    "streams": _streams,
    "patches": _patches,
    "warnings": _warnings,
    "environment": os.environ.copy,
    "working directory": os.getcwd,
    "locale": lambda: locale.setlocale(locale.LC_ALL),
    "files": system.open_files,
    "process": _process,
    "arithmetic": _arithmetic,
    "numpy": _numpy,
    "pandas": _pandas,
    "scikit-learn": lambda: _library("sklearn").get_config(),
    "joblib": _joblib,
    "thread limits": _thread_limits,
}
"""What is looked at: each costs some microseconds."""
