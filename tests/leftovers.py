"""What a trial may leave behind in its process: deeds that succeed themselves, and that others would suffer from."""

import builtins
import copyreg
import ctypes
import gc
import os
import pickle
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
import pandas as pd
import sklearn
from threadpoolctl import threadpool_limits

from spacelang.ir.trial import Trial

KEPT: list[Any] = []
"""What is not to be collected."""


def refuse(*given: Any, **named: Any) -> Any:
    raise RuntimeError("somebody else has broken this")


def crash_later() -> None:
    time.sleep(0.3)
    ctypes.string_at(0)


def leave_a_thread() -> None:
    threading.Thread(target=crash_later, daemon=True).start()


def leave_a_thread_of_c() -> None:
    """In the C library, and with nothing of Python's."""
    c = ctypes.CDLL(None)
    identifier = ctypes.c_ulong()
    c.pthread_create(ctypes.byref(identifier), None, ctypes.cast(c.sleep, ctypes.c_void_p), ctypes.c_void_p(30))


def leave_an_alarm() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.3)


def leak_a_file() -> None:
    KEPT.append(socket.socket())


def close_files() -> None:
    """The input, the output and the errors, in whose places the next files that are opened come to stand."""
    for descriptor in range(3):
        os.close(descriptor)


def swap_a_file() -> None:
    other = os.open("/", os.O_RDONLY)
    os.dup2(other, 1)
    os.close(other)


def break_pickles_of_trials() -> None:
    """That of the one who does this as well."""
    copyreg.pickle(Trial, refuse)


def flush_small_numbers() -> None:
    """Set the bits of the processor that libraries set which were compiled for speed."""
    code = b"\x0f\xae\x1f\x81\x0f\x40\x80\x00\x00\x0f\xae\x17\xc3"  # stmxcsr [rdi]; or [rdi], 0x8040; ldmxcsr; ret
    page = ctypes.CDLL(None).mmap
    page.restype, page.argtypes = ctypes.c_void_p, [ctypes.c_void_p, *[ctypes.c_size_t] * 5]
    place = page(None, 4096, 7, 0x22, 2**64 - 1, 0)
    ctypes.memmove(place, code, len(code))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(place)(ctypes.addressof(ctypes.create_string_buffer(64)))


def leave_a_pool_of_threads() -> None:
    """As libraries do that compute by several threads: they wait for the next time, and do nothing until then."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    with threadpool_limits(2, user_api="openmp"):
        HistGradientBoostingClassifier(max_iter=1).fit(np.arange(300.0).reshape(100, 3), np.arange(100) % 2)
    assert len(os.listdir("/proc/self/task")) > threading.active_count()  # noqa: PTH208


def leave_a_child() -> None:
    KEPT.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"]))


LEFTOVERS: dict[str, Callable[[], Any]] = {
    "numpy's errors": lambda: np.seterr(all="raise"),
    "numpy's error handler": lambda: np.seterrcall(refuse),
    "numpy's buffer": lambda: np.setbufsize(16),
    "a filter of warnings": lambda: warnings.simplefilter("error"),
    "how warnings are shown": lambda: setattr(warnings, "showwarning", refuse),
    "a thread": leave_a_thread,
    "a thread of C": leave_a_thread_of_c,
    "an alarm": leave_an_alarm,
    "a signal that is ignored": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    "a signal that is blocked": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]),
    "a file": leak_a_file,
    "closed files": close_files,
    "another file": swap_a_file,
    "the working directory": lambda: os.chdir("/"),
    "the environment": lambda: os.environ.update(OMP_NUM_THREADS="7"),
    "the umask": lambda: os.umask(0o777),
    "a limit": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, resource.getrlimit(resource.RLIMIT_NOFILE)[1])),
    "the priority": lambda: os.nice(5),
    "scikit-learn's configuration": lambda: sklearn.set_config(transform_output="pandas"),
    "an option of pandas": lambda: pd.set_option("display.precision", 1),
    "joblib's backend": lambda: joblib.parallel_config(backend="threading", n_jobs=3),
    "thread limits": lambda: threadpool_limits(3),
    "broken pickles of others": lambda: copyreg.pickle(socket.socket, refuse),
    "a patch of pickle": lambda: setattr(pickle, "dumps", refuse),
    "a patch of what is built in": lambda: setattr(builtins, "sorted", refuse),
    "a patch of random": lambda: setattr(random, "random", refuse),
    "a module less": lambda: sys.modules.pop("sklearn.base"),
    "another output": lambda: setattr(sys, "stdout", None),
    "the path": lambda: sys.path.insert(0, "/nowhere"),
    "the depth of calls": lambda: sys.setrecursionlimit(90),
    "the stack of threads": lambda: threading.stack_size(1 << 16),
    "a trace": lambda: sys.settrace(lambda *_: None),
    "no garbage collection": gc.disable,
    "how numbers are rounded": lambda: ctypes.CDLL("libm.so.6").fesetround(0x800),
    "no denormal numbers": flush_small_numbers,
    "a child": leave_a_child,
}
