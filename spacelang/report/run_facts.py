"""Facts of a run for its summary and its JSON document: settings, what is not searched, starting points, effort."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from spacelang.errors import MissingLibraryError
from spacelang.ir.configuration import Configuration
from spacelang.ir.repeated_stages import keep_uses_only_in_longest_alternative
from spacelang.ir.space import Space
from spacelang.ir.trial import LossName
from spacelang.ir.validation import Validation
from spacelang.ir.walk import hyperparameters_of
from spacelang.optimizers import DEFAULT_OPTIMIZER, HyperparameterMode, hyperparameter_mode
from spacelang.plugins import OptionError
from spacelang.report.trial_results import HeldOutSummary
from spacelang.runtime.budget import Budget, round_duration
from spacelang.runtime.errors import InputError
from spacelang.runtime.history import EndReason, Outcome, TrialRecord
from spacelang.runtime.objective import PositiveClass
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import Construct, Preservation, RefusedError, ReportEntry
from spacelang.text import count_with_noun

if TYPE_CHECKING:
    from spacelang.runtime.ensembles.construction import Ensemble
    from spacelang.runtime.final_fit import FinalFit

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
    """The treatment of hyperparameters in a search, and the features of the space that its optimizer approximates.

    `remedy` is a text on how to search the hyperparameters that this search does not; empty if nothing helps. `initial`
    are the configurations given to the run. `lost` describes the features of the space that the optimizer's compiled
    space cannot represent.
    """

    space: Space
    hyperparameters: HyperparameterMode
    remedy: str = ""
    initial: tuple[Configuration, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def unsearched_hyperparameters_sentence(self) -> str:
        """A sentence on the hyperparameters that are not searched; empty if all are."""
        each_once = replace(self.space, root=keep_uses_only_in_longest_alternative(self.space.root))
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
        """Return the keys of the configuration's hyperparameters that the search kept exactly at their defaults.

        There are none for one of the initial configurations.
        """
        return [key for key, mark in self.value_remarks(configuration).items() if mark == "default"]

    def end_reason_text(self, ended: EndReason) -> str:
        """Return the reason why the run ended, in words."""
        exhausted = EXHAUSTED_ENDINGS.get(self.hyperparameters) if ended is EndReason.EXHAUSTED else None
        return exhausted or ENDINGS[ended]


def make_search_coverage(optimizer: Any, space: Space, *, has_defaults_only: bool = False) -> SearchCoverage:
    """Return how an optimizer treats the hyperparameters of a space, and which features of the space it loses.

    `has_defaults_only` is True for a loss table of pipelines with default hyperparameters. Raises InputError as
    `unsupported_features` does.
    """
    hyperparameters = hyperparameter_mode(space, optimizer)
    remedy = "" if has_defaults_only else _remedy(hyperparameters, getattr(optimizer, "draws_configurations", False))
    return SearchCoverage(space, hyperparameters, remedy, lost=unsupported_features(optimizer, space))


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
        reason = "; ".join(map(_entry_text, _entries_with(Preservation.REFUSED, error.report)))
        message = f"`{name}` cannot search `{space.name}`: {reason}"
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


@dataclass(frozen=True)
class FinalWorkResult:
    """The work around a search: the start, the fit on all rows, the ensemble, and the seconds left of the time limit.

    `notes` are sentences on what is missing, such as an interrupted fit. `start_seconds` are those before the search,
    such as for reading the data; None if they are unknown.
    """

    finale: "FinalFit | None" = None
    ensemble: "Ensemble | None" = None
    notes: tuple[str, ...] = ()
    seconds_left: float | None = None
    start_seconds: float | None = None


NO_FINAL_WORK: Final = FinalWorkResult()


RESERVE: Final = 1.5  # The advised budget is so many times what the wanted trials would have taken


@dataclass(frozen=True, slots=True)
class StartingPointsAndBudget:
    """The configurations with which an optimizer starts, and the budget and the workers of the search.

    A search should try at least as many further configurations as it has starting points.
    """

    configurations: tuple[Configuration, ...]
    budget: Budget
    workers: int = 1
    processors: int = 1

    def budget_advice(self, outcome: Outcome) -> str:
        """Return a sentence on what was tried and what would help; empty if the budget was large enough."""
        evaluated, further = self._counts(outcome)
        if not (option := self.larger_budget_option(outcome)):
            return ""
        total = len(self.configurations)
        sentence = f"{evaluated} of {total} starting points {'was' if evaluated == 1 else 'were'} evaluated"
        if evaluated == total:
            points = "The only starting point was" if total == 1 else f"All {total} starting points were"
            others = f"only {further} other configuration{'' if further == 1 else 's'}" if further else "nothing else"
            sentence = f"{points} evaluated, but {others}"
        workers = f" or `--workers {self.processors}`" if self.workers < self.processors and "time" in option else ""
        return f"{sentence}: run with `{option}`{workers}."

    def larger_budget_option(self, outcome: Outcome) -> str:
        """Return the option, such as `--time 5m`, for a budget that is large enough; empty if this one was."""
        total, (evaluated, further) = len(self.configurations), self._counts(outcome)
        if outcome.ended is not EndReason.BUDGET or further >= total:
            return ""
        times = RESERVE * 2 * total / max(evaluated + further, 1)
        seconds, trials = self.budget.smaller_seconds_limit, self.budget.trials
        if trials is not None and len(outcome.records) >= trials:
            return f"--trials {round(times * trials)}"
        return "" if seconds is None else f"--time {round_duration(times * seconds)}"

    def _counts(self, outcome: Outcome) -> tuple[int, int]:
        """Return two numbers of different configurations tried: those that are starting points, and all others."""
        tried = {each.trial.request.configuration for each in outcome.records}
        evaluated = len(tried.intersection(self.configurations))
        return evaluated, len(tried) - evaluated


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts of a run that its outcome does not contain.

    `store` is None if the run is not stored. `learner_key` is the key of the decision by which time is listed, if any.
    `held_out` and `starting_points` are None if they are unknown.
    """

    optimizer: str
    seed: int
    metric: LossName
    training_size: int
    preparation: str = ""
    store: str | None = None
    validation: Validation | None = None
    searched: SearchCoverage | None = None
    positive: PositiveClass | None = None
    learner_key: str = ""
    equal_seeds: str = ""  # What runs with the same seed have in common
    held_out: HeldOutSummary | None = None
    starting_points: StartingPointsAndBudget | None = None
    objectives: tuple[LossName, ...] = ()  # The names of several objectives

    def loss_interval(self, loss: float) -> tuple[float | None, float | None]:
        """Return the ends of the 95 % interval of a loss on held-out rows; two Nones if it is unknown."""
        return (None, None) if self.held_out is None else self.held_out.interval_ends(loss)


OPTIMIZER: Final = "auto"  # The optimizer whose requests say which part of it they come from
PARTS: Final[Mapping[str, str]] = {
    "initial": "given as initial configurations",
    "portfolio": "from the starting points",
    "race": "from the race on more rows",
    "model": "proposed by the model",
    "chance": "drawn at random",
}
"""The parts of `auto`, each as it is described to users."""
MAX_LEARNERS: Final = 4  # The maximum number of learners that are listed by themselves


@dataclass(frozen=True, slots=True)
class TrialCountAndSeconds:
    """A number of trials, and the seconds that they took together."""

    trials: int
    seconds: float


def effort_by_part_of_auto(optimizer: str, records: Iterable[TrialRecord]) -> dict[str, TrialCountAndSeconds]:
    """Return trials and seconds of each part of `auto` that had a trial, in the order of `PARTS`.

    Empty for any other optimizer.
    """
    if optimizer != OPTIMIZER:
        return {}
    found = _efforts(records, lambda record: str((record.trial.request.memo or ("initial",))[0]))
    return {part: found[part] for part in PARTS if part in found}


def effort_by_learner(key: str, records: Iterable[TrialRecord]) -> dict[str, TrialCountAndSeconds]:
    """Return trials and seconds for each alternative of the decision `key`, most seconds first.

    Empty if `key` is "".
    """
    if not key:
        return {}
    found = _efforts(records, lambda record: str(record.trial.request.configuration.get(key, "other")))
    return dict(sorted(found.items(), key=lambda item: -item[1].seconds))


def describe_parts_of_auto(parts: Mapping[str, TrialCountAndSeconds]) -> str:
    """Return where the trials came from, such as `7 proposed by the model, 2 drawn at random`; empty if unknown."""
    return ", ".join(f"{each.trials} {PARTS[part]}" for part, each in parts.items())


def describe_learner_seconds(learners: Mapping[str, TrialCountAndSeconds]) -> str:
    """Return the seconds spent on each learner, such as `boosting 3.0 s, 2 others 1.0 s`; empty for one learner."""
    if len(learners) < 2:
        return ""
    shown, others = [*learners.items()][:MAX_LEARNERS], [*learners.values()][MAX_LEARNERS:]
    times = [f"{name} {each.seconds:.1f} s" for name, each in shown]
    if others:
        times.append(f"{count_with_noun(len(others), 'other')} {sum(each.seconds for each in others):.1f} s")
    return ", ".join(times)


def _efforts(records: Iterable[TrialRecord], name_of: Callable[[TrialRecord], str]) -> dict[str, TrialCountAndSeconds]:
    found: dict[str, TrialCountAndSeconds] = {}
    for record in records:
        name = name_of(record)
        before = found.get(name, TrialCountAndSeconds(0, 0.0))
        # A trial that was taken over from another run took no time of this one.
        seconds = record.trial.cost if record.finished > 0 else 0.0
        found[name] = TrialCountAndSeconds(before.trials + 1, before.seconds + seconds)
    return found
