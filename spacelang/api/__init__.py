"""The Python interface: text to space, to a target's form, to trials, to a fitted pipeline, in a few calls."""

from spacelang.api.asking import AskAndTell, Asked, ask_and_tell
from spacelang.api.comparing import Comparison, compare
from spacelang.api.executing import make_executor, trial_limits, unenforced
from spacelang.api.keeping import keeping
from spacelang.api.result import NoSuccessError, RefitError, Result
from spacelang.api.searching import (
    Recorded,
    bound_by,
    configure_optimizer,
    make_objective,
    needs_training_loss,
    run,
    search,
    with_fidelity,
)
from spacelang.api.space import ImportedSpace, Space, SpaceError, import_space, load, load_for_data, parse
from spacelang.api.tabulating import search_table, table_objective

__all__ = [
    "AskAndTell",
    "Asked",
    "Comparison",
    "ImportedSpace",
    "NoSuccessError",
    "Recorded",
    "RefitError",
    "Result",
    "Space",
    "SpaceError",
    "ask_and_tell",
    "bound_by",
    "compare",
    "configure_optimizer",
    "import_space",
    "keeping",
    "load",
    "load_for_data",
    "make_executor",
    "make_objective",
    "needs_training_loss",
    "parse",
    "run",
    "search",
    "search_table",
    "table_objective",
    "trial_limits",
    "unenforced",
    "with_fidelity",
]
