"""The Python interface: load a space, compile it for a target, search it, and get a fitted pipeline."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacelang.api.ask_tell import AskAndTell, Suggestion, ask_and_tell
    from spacelang.api.experiment import Experiment
    from spacelang.api.experiment_run import NoSuccessError
    from spacelang.api.final_fits import RefitError
    from spacelang.api.result import Result
    from spacelang.api.run_search import resume, search
    from spacelang.api.several_objectives import SeveralObjectivesError
    from spacelang.api.space import ImportedSpace, Space, SpaceError, import_space, load, load_for_data, parse

_HOMES = {
    **dict.fromkeys(("AskAndTell", "Suggestion", "ask_and_tell"), "ask_tell"),
    "Experiment": "experiment",
    "RefitError": "final_fits",
    "NoSuccessError": "experiment_run",
    "Result": "result",
    "resume": "run_search",
    "search": "run_search",
    "SeveralObjectivesError": "several_objectives",
}
__all__ = [
    "AskAndTell",
    "Experiment",
    "ImportedSpace",
    "NoSuccessError",
    "RefitError",
    "Result",
    "SeveralObjectivesError",
    "Space",
    "SpaceError",
    "Suggestion",
    "ask_and_tell",
    "import_space",
    "load",
    "load_for_data",
    "parse",
    "resume",
    "search",
]


def __getattr__(name: str) -> Any:
    # Names are imported on first use, so that a command imports only what it needs.
    if name in __all__:
        return getattr(import_module(f"spacelang.api.{_HOMES.get(name, 'space')}"), name)
    raise AttributeError(f"module `spacelang.api` has no attribute `{name}`")
