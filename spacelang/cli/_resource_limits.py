"""Refuse imports for which the limits of the shell (`ulimit`) are too small: they would hang, or fail without a reason.

OpenBLAS, which NumPy and SciPy load, repeats a failed allocation for ever.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from types import ModuleType
from typing import Final

MIN_ADDRESS_SPACE: Final = {"numpy": 256_000_000, "pandas": 512_000_000, "scipy": 512_000_000, "sklearn": 1_000_000_000}
"""The least address space for a command that has imported a package, in bytes: about twice of what an import takes."""
THREAD_ADDRESS_SPACE: Final = 64_000_000  # The address space for each further thread of OpenBLAS, in bytes
MIN_OPEN_FILES: Final = 24  # The least number of open files for a command that imports one of these packages
FILES_HELP: Final = "raise the limit: `ulimit -n 1024`"


class _LimitedImports:
    """A finder of modules that finds nothing, and raises InputError for packages that need more than the limits."""

    def __init__(self, address_space: float, open_files: float) -> None:
        self._address_space, self._open_files = address_space, open_files

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> None:  # noqa: ARG002
        """Raise InputError if a package must not be imported."""
        least = MIN_ADDRESS_SPACE.get(name, 0)
        if self._address_space >= least and (self._open_files >= MIN_OPEN_FILES or not least):
            return
        from spacelang.runtime.errors import InputError, format_megabytes

        if self._open_files < MIN_OPEN_FILES:
            message = f"a process may open only {self._open_files} files here, fewer than the {MIN_OPEN_FILES} it needs"
            raise InputError(message, FILES_HELP)
        limit, needed = map(format_megabytes, (self._address_space, least))
        message = f"a process may use only {limit} of address space here, and `{name}` needs {needed}"
        raise InputError(message, "raise the limit with `ulimit -v`; `--trial-limit 4GB` limits the memory of trials")


@contextmanager
def limited_imports() -> Iterator[None]:
    """Have imports in the block raise InputError if the limits are too small; use one thread if they are tight."""
    space, files = soft_limits()
    tight = max(MIN_ADDRESS_SPACE.values()) + THREAD_ADDRESS_SPACE * (os.cpu_count() or 1)
    if space >= tight and files >= MIN_OPEN_FILES:
        yield
        return
    from spacelang.runtime.executors._processes.zygote_connection import use_one_thread

    use_one_thread()
    finder = _LimitedImports(space, files)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def soft_limits() -> tuple[float, float]:
    """Return how many bytes of address space and how many open files this process may have; infinite if unlimited."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return inf, inf
    space, files = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE))
    return tuple(inf if limit == resource.RLIM_INFINITY else limit for limit in (space, files))  # type: ignore[return-value]
