"""The Python interface: text to space, to a target's form, to trials, to a fitted pipeline, in a few calls."""

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
