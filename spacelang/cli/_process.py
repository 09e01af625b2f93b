"""The process of a command: its exit statuses, signals and limits, and output streams without control characters."""

import os
import re
import signal
import stat
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TextIO, cast

from spacelang.diagnostics.terminal_cells import replace_unprintable

_STYLE: Final = re.compile(r"(\x1b\[[\d;]*m)")  # The escape sequence that sets a style on a terminal
STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR = range(3)  # The descriptors of the standard streams
_LAYOUT: Final = re.compile(r"([\n\t]+)")


class SanitizedStream:
    """A text stream that writes visible signs instead of characters that could control a terminal or reorder a line.

    Colour sequences are written unchanged on a terminal, because those of the program cannot be told from others. Code
    that prints foreign names therefore calls `replace_unprintable` first. All attributes but the writing methods are
    those of the underlying stream `raw`.
    """

    def __init__(self, stream: TextIO) -> None:
        self.raw = stream
        self.ignores_closed_reader = False
        self._styled = stream.isatty() or bool(os.environ.get("FORCE_COLOR"))

    def write(self, text: str) -> int:
        """Write a text with its control characters replaced, and return the length of the text."""
        with self._drop_when_closed():
            self.raw.write(sanitize_text(text, styled=self._styled))
        return len(text)

    def flush(self) -> None:
        """Flush the stream, unless it is closed, as after `spacelang lsp`."""
        with self._drop_when_closed():
            if not self.raw.closed:
                self.raw.flush()

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)

    @contextmanager
    def _drop_when_closed(self) -> Iterator[None]:
        """Drop the output once its reader is gone, if `ignores_closed_reader` is set; else pass BrokenPipeError on."""
        try:
            yield
        except BrokenPipeError:
            if not self.ignores_closed_reader:
                raise
            redirect_to_null(self.raw.fileno())


def connect_closed_streams_to_null() -> bool:
    """Connect standard streams that are closed (`>&-`) to the null device; return True if the output was closed.

    Otherwise the next file that is opened, such as a store, would take the place of the stream.
    """
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return False
    is_output_closed = sys.stdout is None
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= STANDARD_ERROR:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or open(STANDARD_INPUT, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(STANDARD_OUTPUT, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(STANDARD_ERROR, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    return is_output_closed


def redirect_to_null(descriptor: int) -> None:
    """Redirect an output stream to the null device, so that Python does not complain about unwritten output at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


def sanitize_text(text: str, *, styled: bool) -> str:
    """Return a text of several lines with control characters replaced; `styled` keeps sequences that set colours."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    parts = _STYLE.split(text) if styled else [text]
    # Parts at odd places are the separators, which `split` keeps.
    for place in range(0, len(parts), 2):
        lines = enumerate(_LAYOUT.split(parts[place]))
        parts[place] = "".join(part if number % 2 else replace_unprintable(part) for number, part in lines)
    return "".join(parts)


@contextmanager
def sanitize_streams() -> Iterator[None]:
    """Replace the standard output and the standard error by `SanitizedStream` streams in the block."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, SanitizedStream(each)) for each in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


@contextmanager
def ignore_closed_output_pipe() -> Iterator[None]:
    """Let the block finish its work even if the reader of the standard output goes away (`… | head`)."""
    stream = sys.stdout
    if isinstance(stream, SanitizedStream):
        stream.ignores_closed_reader = True
    try:
        yield
    finally:
        if isinstance(stream, SanitizedStream):
            stream.ignores_closed_reader = False


def unsanitized_stream(stream: TextIO) -> TextIO:
    """Return the stream below a `SanitizedStream`, for output that moves the cursor and holds no foreign text."""
    return cast(TextIO, getattr(stream, "raw", stream))


def print_file_content(text: str) -> None:
    """Write the text of a file to the standard output, unchanged unless that is a terminal."""
    (sys.stdout if sys.stdout.isatty() else unsanitized_stream(sys.stdout)).write(text)


def seconds_since_process_start() -> float:
    """Return the seconds since this process was started, or 0 if the system does not tell."""
    try:
        # Field 22 counts clock ticks since the boot; the second field, in brackets, may contain spaces.
        fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, LookupError, ValueError):
        import psutil

        age = time.time() - psutil.Process().create_time()
    return max(age, 0.0)


class CommandStartTime:
    """The start of the current command, as a reading of `time.perf_counter`."""

    seconds: float | None = None

    @classmethod
    def record(cls, *, is_process: bool) -> None:
        """Record the start of a command: now, or the start of the process if it runs only this command."""
        cls.seconds = time.perf_counter() - (seconds_since_process_start() if is_process else 0.0)

    @classmethod
    def read(cls) -> float:
        """Return the recorded start of the command, or the present time if none was recorded."""
        return time.perf_counter() if cls.seconds is None else cls.seconds


REPETITION_SECONDS: Final = 0.5
"""Seconds in which a second signal counts as a repetition: `timeout` signals a process and then its group."""


class _Interrupter:
    """A signal handler that raises KeyboardInterrupt.

    Repeated signals within `REPETITION_SECONDS` raise it only once.
    """

    def __init__(self) -> None:
        self._last = -REPETITION_SECONDS

    def __call__(self, number: int, _: object) -> None:
        if number == getattr(signal, "SIGHUP", None):
            _drop_closed_terminals()
        now = time.monotonic()
        if now - self._last >= REPETITION_SECONDS:
            self._last = now
            raise KeyboardInterrupt


def _drop_closed_terminals() -> None:
    """Redirect the output streams to the null device if they were a terminal, which was closed."""
    for descriptor in (STANDARD_OUTPUT, STANDARD_ERROR):
        # A null device is not a terminal either, but replacing it changes nothing.
        if stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor):
            redirect_to_null(descriptor)


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM and SIGHUP like Ctrl-C in the block, unless ignored (`nohup`, `&`) or with their own handlers."""
    usual: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    if hasattr(signal, "SIGHUP"):
        usual[signal.SIGHUP] = signal.SIG_DFL
    stop = _Interrupter()
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: handler for number, handler in usual.items() if signal.getsignal(number) == handler}
    try:
        for number in before:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


BAD_INPUT: Final = 1
WRONG_USAGE: Final = 2
NOTHING_SUCCEEDED: Final = 3
INTERRUPTED: Final = 130  # The exit statuses; 0 is success
COMPLETION_VARIABLE: Final = "_SPACELANG_COMPLETE"
"""The environment variable that a shell sets to ask for completions of a line."""


MIN_ADDRESS_SPACE: Final = {"numpy": 256_000_000, "pandas": 512_000_000, "scipy": 512_000_000, "sklearn": 1_000_000_000}
"""The least address space for a command that has imported a package, in bytes: about twice of what an import takes."""
THREAD_ADDRESS_SPACE: Final = 64_000_000  # The address space for each further thread of OpenBLAS, in bytes
MIN_OPEN_FILES: Final = 24  # The least number of open files for a command that imports one of these packages
FILES_HELP: Final = "raise the limit: `ulimit -n 1024`"


class _LimitedImports:
    """An import finder that finds nothing; it raises InputError for packages that need more than the process has."""

    def __init__(self, address_space: float, open_files: float) -> None:
        self._address_space, self._open_files = address_space, open_files

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> None:  # noqa: ARG002
        """Raise InputError if a package must not be imported."""
        least = MIN_ADDRESS_SPACE.get(name, 0)
        if self._address_space >= least and (self._open_files >= MIN_OPEN_FILES or not least):
            return
        from spacelang.runtime.errors import InputError, format_megabytes

        if self._open_files < MIN_OPEN_FILES:
            message = (
                f"this command opens {MIN_OPEN_FILES} files at a time, but the limit of the shell is {self._open_files}"
            )
            raise InputError(message, FILES_HELP)
        limit, needed = map(format_megabytes, (self._address_space, least))
        message = f"`{name}` needs {needed} of address space, but the limit of the shell is {limit}"
        raise InputError(message, "raise the limit with `ulimit -v`; `--trial-limit 4GB` limits the memory of trials")


@contextmanager
def check_limits_for_imports() -> Iterator[None]:
    """Have imports in the block raise InputError if the limits are too small; use one thread if they are tight."""
    space, files = address_space_and_open_file_limits()
    tight = max(MIN_ADDRESS_SPACE.values()) + THREAD_ADDRESS_SPACE * (os.cpu_count() or 1)
    if space >= tight and files >= MIN_OPEN_FILES:
        yield
        return
    from spacelang.runtime.executors._processes.zygote_connection import set_one_thread_environment

    set_one_thread_environment()
    finder = _LimitedImports(space, files)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def address_space_and_open_file_limits() -> tuple[float, float]:
    """Return how many bytes of address space and how many open files this process may have; infinite if unlimited."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return inf, inf
    space, files = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE))
    return tuple(inf if limit == resource.RLIM_INFINITY else limit for limit in (space, files))  # type: ignore[return-value]
