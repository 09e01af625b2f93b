"""A small language for machine-learning search spaces, and a compiler that hands them to any optimizer."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacelang.api import (
        AskAndTell,
        Experiment,
        ImportedSpace,
        NoSuccessError,
        RefitError,
        Result,
        SeveralObjectivesError,
        Space,
        SpaceError,
        Suggestion,
        ask_and_tell,
        import_space,
        load,
        parse,
        resume,
        search,
    )
    from spacelang.api.search_cv import SpaceSearchCV
    from spacelang.bench import Comparison, compare, search_table
    from spacelang.ir.configuration import Configuration
    from spacelang.runtime.listeners import FinishedTrial
    from spacelang.runtime.scoring.user_functions import Constraint

__version__ = "0.3.0"
__all__ = [
    "AskAndTell", "Comparison", "Configuration", "Constraint", "Experiment", "FinishedTrial", "ImportedSpace",
    "NoSuccessError", "RefitError", "Result", "SeveralObjectivesError", "Space", "SpaceError",
    "SpaceSearchCV", "Suggestion", "ask_and_tell", "compare", "import_space", "load", "parse", "resume", "search",
    "search_table",
]  # fmt: skip
_HOMES = {
    "SpaceSearchCV": "spacelang.api.search_cv",
    "Configuration": "spacelang.ir.configuration",
    "FinishedTrial": "spacelang.runtime.listeners",
    "Constraint": "spacelang.runtime.scoring.user_functions",
    **dict.fromkeys(("Comparison", "compare", "search_table"), "spacelang.bench"),
}


def __getattr__(name: str) -> Any:
    # Names are imported on first use, so that a command of the command line imports only what it needs.
    if name in __all__:
        return getattr(import_module(_HOMES.get(name, "spacelang.api")), name)
    if name == "Asked":
        from spacelang.deprecation import warn_renamed

        warn_renamed("spacelang.Asked", "Suggestion")
        return __getattr__("Suggestion")
    raise AttributeError(f"module `spacelang` has no attribute `{name}`")


def __dir__() -> list[str]:
    return sorted(__all__)
