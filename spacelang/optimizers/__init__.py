"""Optimizers: the plug-in protocol, the registry and the default. One module holds one algorithm."""

from enum import StrEnum
from typing import Any, ClassVar, Protocol

from spacelang.ir.asking import Search
from spacelang.ir.problem import Problem
from spacelang.ir.space import Space
from spacelang.plugins import Plugins

OPTIMIZERS = Plugins("spacelang.optimizers", "spacelang.optimizers")
"""The optimizers by name; each entry loads a class that implements `Optimizer`."""


class Optimizer(Protocol):
    """An optimizer: a frozen dataclass whose fields are its options.

    An optimizer may declare two class variables. `needs_training_loss: ClassVar[bool]` requests the training loss of
    each trial, where it can be measured. `draws_configurations: ClassVar[bool]` says that `hyperparameters=sample`
    tries many values per pipeline, not one.

    An optimizer may have a method `form(structures)`. It returns the `Lowered` result of compiling the space for the
    optimizer. Its report lists every approximation. It may raise RefusedError, OptionError or MissingLibraryError,
    which stop a run before it starts.

    An optimizer may have a method `check_initial(initial)`. It raises OptionError if the search cannot start from these
    configurations.
    """

    paper: ClassVar[str]

    def search(self, problem: Problem) -> Search:
        """Run the search coroutine of one run, which yields requests for trials (see `spacelang.ir.asking`).

        The search depends only on the problem and the events that it receives. It returns when there is nothing left to
        request. Raises `UndecidableError` before the first request if the constraints of the space cannot be decided,
        and `UnlikelyError` if no values that satisfy them are found.
        """


class Hyperparameters(StrEnum):
    """The treatment of a space's hyperparameters in a search."""

    SEARCHED = "searched"
    """Many values are tried per pipeline, or the space has no hyperparameters."""
    ONCE = "once"
    """They are drawn once per pipeline."""
    DEFAULT = "default"
    """They keep their default values."""


def hyperparameters_in(space: Space, optimizer: Any) -> Hyperparameters:
    """Return how an optimizer treats the hyperparameters of a space, read from its option `hyperparameters`.

    The result is `SEARCHED` for a space without hyperparameters and for an optimizer without that option.
    """
    rule = getattr(optimizer, "hyperparameters", None) if space.hyperparameters else None
    if rule == "default":
        return Hyperparameters.DEFAULT
    draws = getattr(optimizer, "draws_configurations", False)
    return Hyperparameters.ONCE if rule == "sample" and not draws else Hyperparameters.SEARCHED


SEARCHES_THEM = "mosaic"
"""The default optimizer of spaces with hyperparameters: the best of eight in a comparison (see `examples/default`)."""

DRAWS_THEM = "hyperband"
"""The default for spaces with hyperparameters if trials fit nothing, or if integers are too large for floats.

Models cannot encode such integers. Optimizers were not compared without data, and fitting a model may take longer than
evaluating a function.
"""

SELECTS = "blds"
"""The default optimizer of all other spaces: it selects among pipelines."""


def default_optimizer(space: Space, *, has_data: bool = True, has_defaults_only: bool = False) -> str:
    """Return the name of the optimizer that is used if a search names none.

    `has_data` is true if trials fit pipelines to data. `has_defaults_only` is true if only the default values of
    hyperparameters can be evaluated.
    """
    from spacelang.codings.limits import unheld

    if not space.hyperparameters or has_defaults_only:
        return SELECTS
    return SEARCHES_THEM if has_data and not any(unheld(space)) else DRAWS_THEM
