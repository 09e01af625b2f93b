"""Optimizers: the plug-in protocol, the registry and the default. One module holds one algorithm."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, ClassVar, Protocol

from spacelang.ir.search_protocol import Problem, Search
from spacelang.ir.space import Space
from spacelang.ir.task import Cost
from spacelang.plugins import PluginRegistry

OPTIMIZERS = PluginRegistry("spacelang.optimizers", "spacelang.optimizers")
"""The optimizers by name; each entry loads a class that implements `Optimizer`."""


class Optimizer(Protocol):
    """An optimizer: a frozen dataclass whose fields are its options.

    An optimizer may declare four class variables. `needs_training_loss: ClassVar[bool]` requests the training loss of
    each trial, where it can be measured. `draws_configurations: ClassVar[bool]` says that `hyperparameters=sample`
    tries many values per pipeline, not one. `is_independent_of_workers: ClassVar[bool]` says that several workers
    evaluate the same trials as one, whichever ends first, apart from speculative ones that are not used.
    `takes_several_objectives: ClassVar[bool]`, or a property, says that the optimizer searches for a Pareto front by
    `Trial.objectives` if `Problem.objectives` is greater than 1; runs of others with several objectives are refused.

    An optimizer may have a method `form(structures)`. It returns the `LoweringResult` of compiling the space for the
    optimizer. Its report lists every approximation. It may raise RefusedError, OptionError or MissingLibraryError,
    which stop a run before it starts.

    An optimizer may have a method `check_initial(initial)`. It raises OptionError if the search cannot start from these
    configurations.
    """

    paper: ClassVar[str]

    def search(self, problem: Problem) -> Search:
        """Run the search coroutine of one run, which yields requests for trials (see `spacelang.ir.search_protocol`).

        The search depends only on the problem and the events that it receives. It returns when there is nothing left to
        request. Raises `TooManyConnectedVariablesError` before the first request if constraints tie too many decisions,
        and `SamplingFailedError` if no values that satisfy them are found.
        """


class HyperparameterMode(StrEnum):
    """The treatment of a space's hyperparameters in a search."""

    SEARCHED = "searched"  # Many values are tried per pipeline, or the space has no hyperparameters
    ONCE = "once"  # They are drawn once per pipeline
    DEFAULT = "default"  # They keep their default values


def hyperparameter_mode(space: Space, optimizer: Any) -> HyperparameterMode:
    """Return how an optimizer treats hyperparameters: its option, or `SEARCHED` without option or hyperparameters."""
    rule = getattr(optimizer, "hyperparameters", None) if space.hyperparameters else None
    if rule == "default":
        return HyperparameterMode.DEFAULT
    draws = getattr(optimizer, "draws_configurations", False)
    return HyperparameterMode.ONCE if rule == "sample" and not draws else HyperparameterMode.SEARCHED


def reproducibility_sentence(optimizer: Any, objectives: Iterable[str] = ()) -> str:
    """Return a sentence on what searches with equal seeds have in common; `objectives` names several objectives."""
    if getattr(optimizer, "is_independent_of_workers", False):
        same = "equal seeds give the same trials with any number of workers (in the same order with one)"
        return f"{same}, unless a time limit decides"
    if {Cost.LATENCY.value, Cost.FIT.value}.intersection(objectives):
        return "equal seeds give different trials, because measured times are objectives"
    return "equal seeds give the same trials with one worker, but not with several, unless a time limit decides"


DEFAULT_OPTIMIZER = "auto"  # The optimizer of a search that names none
DEFAULT_FOR_PIPELINES = "blds"  # The optimizer if only the default values of hyperparameters can be evaluated


def default_optimizer(*, has_defaults_only: bool = False) -> str:
    """Return the name of the optimizer that is used if a search names none.

    `has_defaults_only` is true if only the default values of hyperparameters can be evaluated.
    """
    return DEFAULT_FOR_PIPELINES if has_defaults_only else DEFAULT_OPTIMIZER
