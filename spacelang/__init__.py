"""spacelang: one small language for machine-learning search spaces, and a compiler that hands them to any optimizer."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacelang.api import (
        Asked,
        ImportedSpace,
        Result,
        Space,
        SpaceError,
        ask_and_tell,
        import_space,
        load,
        parse,
        search,
    )
    from spacelang.ir.configuration import Configuration

__version__ = "0.1.0"
__all__ = [
    "Asked",
    "Configuration",
    "ImportedSpace",
    "Result",
    "Space",
    "SpaceError",
    "ask_and_tell",
    "import_space",
    "load",
    "parse",
    "search",
]

_HOMES = {"Configuration": "spacelang.ir.configuration"}


def __getattr__(name: str) -> Any:
    # Names are imported when they are used: the command line starts without what a command does not need.
    if name in __all__:
        return getattr(import_module(_HOMES.get(name, "spacelang.api")), name)
    raise AttributeError(f"module `spacelang` has no attribute `{name}`")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
