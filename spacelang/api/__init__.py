"""The Python interface: load a space, compile it for a target, search it, and get a fitted pipeline."""

from spacelang.api.asking import AskAndTell, Asked, ask_and_tell
from spacelang.api.experiment import Experiment
from spacelang.api.result import NoSuccessError, RefitError, Result
from spacelang.api.searching import search
from spacelang.api.space import ImportedSpace, Space, SpaceError, import_space, load, load_for_data, parse

__all__ = [
    "AskAndTell",
    "Asked",
    "Experiment",
    "ImportedSpace",
    "NoSuccessError",
    "RefitError",
    "Result",
    "Space",
    "SpaceError",
    "ask_and_tell",
    "import_space",
    "load",
    "load_for_data",
    "parse",
    "search",
]
