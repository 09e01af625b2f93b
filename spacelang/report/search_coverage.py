"""Describe what a search does not search, before it starts and in its summary."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from spacelang.errors import MissingLibraryError
from spacelang.ir.chains import with_each_use_once
from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.ir.walk import hyperparameters_of
from spacelang.optimizers import DEFAULT_OPTIMIZER, HyperparameterMode, hyperparameter_mode
from spacelang.plugins import OptionError
from spacelang.runtime.errors import InputError
from spacelang.runtime.history import EndReason
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import Construct, Preservation, RefusedError, ReportEntry

ENDINGS = {
    EndReason.BUDGET: "the budget is used up",
    EndReason.EXHAUSTED: "the optimizer has nothing left to try",
    EndReason.INTERRUPTED: "interrupted",
    EndReason.STOPPED: "a callback stopped it",
}
"""The reason why a run ended, in words."""
EXHAUSTED_ENDINGS = {
    HyperparameterMode.DEFAULT: "every pipeline was tried, but only with its default hyperparameters",
    HyperparameterMode.ONCE: "every pipeline was tried, but only with the hyperparameters that were drawn for it",
}
"""The same if an optimizer has tried everything it can, but not the whole space."""


@dataclass(frozen=True, slots=True)
class SearchCoverage:
    """The treatment of hyperparameters in a search, and the features of the space that the optimizer approximates.

    `remedy` says how to search them, and is empty if nothing does. `initial` are the configurations given to the run.
    `lost` describes the features of the space that the optimizer's compiled space cannot represent.
    """

    space: Space
    hyperparameters: HyperparameterMode
    remedy: str = ""
    initial: tuple[Configuration, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def unsearched_hyperparameters_sentence(self) -> str:
        """A sentence on the hyperparameters that are not searched; empty if all are."""
        each_once = replace(self.space, root=with_each_use_once(self.space.root))
        number, name = len(each_once.hyperparameters), self.space.name
        match self.hyperparameters:
            case HyperparameterMode.DEFAULT if number == 1:
                return f"the only hyperparameter of `{name}` is kept at its default"
            case HyperparameterMode.DEFAULT:
                return f"the {number} hyperparameters of `{name}` are kept at their defaults"
            case HyperparameterMode.ONCE if number == 1:
                return f"the only hyperparameter of `{name}` is drawn once for each pipeline"
            case HyperparameterMode.ONCE:
                return f"the {number} hyperparameters of `{name}` are drawn once for each pipeline"
            case _:
                return ""

    def value_remarks(self, configuration: Configuration) -> Mapping[str, str]:
        """Return remarks on values that were not searched, such as `default` or `drawn once`, by key."""
        if self.hyperparameters is HyperparameterMode.SEARCHED:
            return {}
        nodes = hyperparameters_of(self.space, configuration)
        if configuration in self.initial:
            return dict.fromkeys(nodes, "given")
        if self.hyperparameters is HyperparameterMode.ONCE:
            return dict.fromkeys(nodes, "drawn once")
        # A default that a constraint forbids is replaced by a value near it.
        return {
            key: "default" if configuration[key] == node.default else "adjusted default" for key, node in nodes.items()
        }

    def keys_at_default(self, configuration: Configuration) -> list[str]:
        """Return the keys left at defaults that the run does not search; none for an initial configuration."""
        return [key for key, mark in self.value_remarks(configuration).items() if mark == "default"]

    def end_reason_text(self, ended: EndReason) -> str:
        """Return the reason why the run ended, in words."""
        exhausted = EXHAUSTED_ENDINGS.get(self.hyperparameters) if ended is EndReason.EXHAUSTED else None
        return exhausted or ENDINGS[ended]


def coverage_of(
    optimizer: Any, space: Space, *, has_defaults_only: bool = False, initial: tuple[Configuration, ...] = ()
) -> SearchCoverage:
    """Return what an optimizer searches, from `initial` or with defaults only; raise as `unsupported_features` does."""
    hyperparameters = hyperparameter_mode(space, optimizer)
    remedy = "" if has_defaults_only else _remedy(hyperparameters, getattr(optimizer, "draws_configurations", False))
    return SearchCoverage(space, hyperparameters, remedy, initial, unsupported_features(optimizer, space))


HANDLED_BY_RUNS: Final = frozenset({Construct.DEFAULTS.value, Construct.BOUNDS.value})
"""Parts of a space that a compiled space need not have: the run itself measures bounds and evaluates defaults."""


def unsupported_features(optimizer: Any, space: Space) -> tuple[str, ...]:
    """Return the features of the space that the optimizer's compiled space cannot represent, in words.

    It is empty for an optimizer without a compiled space. Raises InputError if a library is missing, if the target
    refuses the space, or if the optimizer finds nothing to search.
    """
    structures = Structures(space)
    if not hasattr(optimizer, "form") or not structures.count:
        return ()
    name = type(optimizer).__name__.lower()
    try:
        report: tuple[ReportEntry, ...] = optimizer.form(structures).report
    except (MissingLibraryError, OptionError) as error:
        raise InputError(error.message, error.help) from error
    except RefusedError as error:
        why = "; ".join(map(_entry_text, _entries_with(Preservation.REFUSED, error.report)))
        message = f"`{name}` cannot search `{space.name}`: {why}"
        raise InputError(message, "try another optimizer; `random` can search any space") from error
    lost = _entries_with(Preservation.APPROXIMATED, report)
    return tuple(_entry_text(entry) for entry in lost if entry.construct not in HANDLED_BY_RUNS)


def _entries_with(status: Preservation, report: Iterable[ReportEntry]) -> Iterator[ReportEntry]:
    return (entry for entry in report if entry.status is status)


def _entry_text(entry: ReportEntry) -> str:
    return f"{entry.construct}{entry.lines_text}: {entry.message}"


def _remedy(hyperparameters: HyperparameterMode, draws_configurations: bool) -> str:
    another = f"`--optimizer {DEFAULT_OPTIMIZER}` searches the hyperparameters"
    match hyperparameters:
        case HyperparameterMode.DEFAULT if draws_configurations:
            return "`--set hyperparameters=sample` searches the hyperparameters"
        case HyperparameterMode.DEFAULT:
            return f"{another}, `--set hyperparameters=sample` draws them once for each pipeline"
        case HyperparameterMode.ONCE:
            return another
        case _:
            return ""
