"""The Python interface: load a space, compile it for a target, search it, and get a fitted pipeline."""

from spacelang.api.ask_tell import AskAndTell, Suggestion, ask_and_tell
from spacelang.api.experiment import Experiment
from spacelang.api.result import NoSuccessError, RefitError, Result
from spacelang.api.run_search import search
from spacelang.api.space import ImportedSpace, Space, SpaceError, import_space, load, load_for_data, parse

__all__ = [
    "AskAndTell",
    "Experiment",
    "ImportedSpace",
    "NoSuccessError",
    "RefitError",
    "Result",
    "Space",
    "SpaceError",
    "Suggestion",
    "ask_and_tell",
    "import_space",
    "load",
    "load_for_data",
    "parse",
    "search",
]
