"""Optimizers: one file is one algorithm; each is a generator that asks for trials and reads like its paper."""

from enum import StrEnum
from typing import Any, ClassVar, Protocol

from spacelang.ir.asking import Search
from spacelang.ir.problem import Problem
from spacelang.ir.space import Space
from spacelang.plugins import Plugins

OPTIMIZERS = Plugins("spacelang.optimizers", "spacelang.optimizers")
"""Every optimizer by its name; each loads to a class that fits `Optimizer`."""


class Optimizer(Protocol):
    """An optimizer: a frozen dataclass whose fields are its options.

    It may declare `needs_training_loss: ClassVar[bool]`: trials shall have their training loss, where that can be
    measured; and `draws_configurations: ClassVar[bool]`: its `hyperparameters=sample` gives a pipeline many values, not
    one.

    It may have `form(structures)`, the `Lowered` form of a space on which it searches: what that approximates is said,
    and what it refuses, or what is missing for it, ends a run before it begins (RefusedError, OptionError,
    MissingLibraryError). It may have `check_initial(initial)`, which raises OptionError where those configurations are
    not what it can begin with.
    """

    paper: ClassVar[str]

    def search(self, problem: Problem) -> Search:
        """Asks for the trials of one run (see `spacelang.ir.asking`).

        It depends on nothing but the problem and what it is told, and returns when there is nothing left to ask for.
        Raises UndecidableError before the first request where the constraints of the space cannot be decided, and
        UnlikelyError where values that satisfy them are not found.
        """


class Hyperparameters(StrEnum):
    """What becomes of the hyperparameters of a space in a search."""

    SEARCHED = "searched"
    """Pipelines are tried with many values of them; or there are none."""
    ONCE = "once"
    """They are drawn once for each pipeline."""
    DEFAULT = "default"
    """They are kept at their defaults."""


def hyperparameters_in(space: Space, optimizer: Any) -> Hyperparameters:
    """What becomes of the hyperparameters of a space by its option `hyperparameters`, where an optimizer has that."""
    rule = getattr(optimizer, "hyperparameters", None) if space.hyperparameters else None
    if rule == "default":
        return Hyperparameters.DEFAULT
    draws = getattr(optimizer, "draws_configurations", False)
    return Hyperparameters.ONCE if rule == "sample" and not draws else Hyperparameters.SEARCHED


SEARCHES_THEM = "mosaic"
"""The default optimizer of spaces that have hyperparameters: of eight the one ahead (see `examples/default`)."""

DRAWS_THEM = "hyperband"
"""That of those with integers that no float tells apart, which models do not take, and where nothing is fitted.

Which one is ahead without data was not judged, and a model takes longer than many a function.
"""

SELECTS = "blds"
"""The default optimizer of the others."""


def default_optimizer(space: Space, *, has_data: bool = True, has_defaults_only: bool = False) -> str:
    """The name of the optimizer of a search that names none: one that searches what the space has.

    `has_data` says that trials are pipelines that are fitted, `has_defaults_only` that nothing else than the defaults
    of hyperparameters can be tried.
    """
    from spacelang.codings.limits import unheld

    if not space.hyperparameters or has_defaults_only:
        return SELECTS
    return SEARCHES_THEM if has_data and not any(unheld(space)) else DRAWS_THEM
