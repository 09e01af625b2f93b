"""The Python interface: text to space, to a target's form, to trials, to a fitted pipeline, in a few calls."""

from spacelang.api.asking import Asked, ask_and_tell
from spacelang.api.searching import (
    Result,
    bound_by,
    configure_optimizer,
    keeping,
    make_objective,
    run,
    search,
    unenforced,
    with_fidelity,
)
from spacelang.api.space import ImportedSpace, Space, SpaceError, import_space, load, load_for_data, parse

__all__ = [
    "Asked",
    "ImportedSpace",
    "Result",
    "Space",
    "SpaceError",
    "ask_and_tell",
    "bound_by",
    "configure_optimizer",
    "import_space",
    "keeping",
    "load",
    "load_for_data",
    "make_objective",
    "parse",
    "run",
    "search",
    "unenforced",
    "with_fidelity",
]
