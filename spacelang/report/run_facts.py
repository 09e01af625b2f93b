"""Facts of a run for its summary and its JSON document: its settings, starting points, effort and final work."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.loss_name import LossName
from spacelang.ir.validation import Validation
from spacelang.report.search_coverage import SearchCoverage
from spacelang.report.trial_results import HeldOutSummary
from spacelang.runtime.budget import Budget, round_duration
from spacelang.runtime.history import EndReason, Outcome, TrialRecord
from spacelang.runtime.objective import PositiveClass
from spacelang.text import count_with_noun

if TYPE_CHECKING:
    from spacelang.runtime.ensembles.construction import Ensemble
    from spacelang.runtime.final_fit import FinalFit


@dataclass(frozen=True)
class FinalWorkResult:
    """The work after a search: the fit on all rows, the ensemble, and the seconds that were left of the time limit.

    `notes` are sentences on what is missing, such as an interrupted fit.
    """

    finale: "FinalFit | None" = None
    ensemble: "Ensemble | None" = None
    notes: tuple[str, ...] = ()
    seconds_left: float | None = None


NO_FINAL_WORK: Final = FinalWorkResult()


RESERVE: Final = 1.5  # The advised budget is so many times what the wanted trials would have taken


@dataclass(frozen=True, slots=True)
class StartingPoints:
    """The configurations with which an optimizer starts, and the budget and the workers of the search.

    A search should try at least as many further configurations as it has starting points.
    """

    configurations: tuple[Configuration, ...]
    budget: Budget
    workers: int = 1
    processors: int = 1

    def advice(self, outcome: Outcome) -> str:
        """Return a sentence on what was tried and what would help; empty if the budget was large enough."""
        evaluated, further = self._counts(outcome)
        if not (option := self.larger_budget(outcome)):
            return ""
        total = len(self.configurations)
        sentence = f"{evaluated} of {total} starting points {'was' if evaluated == 1 else 'were'} evaluated"
        if evaluated == total:
            points = "The only starting point was" if total == 1 else f"All {total} starting points were"
            others = f"only {further} other configuration{'' if further == 1 else 's'}" if further else "nothing else"
            sentence = f"{points} evaluated, but {others}"
        workers = f" or `--workers {self.processors}`" if self.workers < self.processors and "time" in option else ""
        return f"{sentence}: allow `{option}`{workers}."

    def larger_budget(self, outcome: Outcome) -> str:
        """Return the option for a budget that would have been large enough; empty if this one was."""
        total, (evaluated, further) = len(self.configurations), self._counts(outcome)
        if outcome.ended is not EndReason.BUDGET or further >= total:
            return ""
        times = RESERVE * 2 * total / max(evaluated + further, 1)
        seconds, trials = self.budget.smaller_seconds_limit, self.budget.trials
        if trials is not None and len(outcome.records) >= trials:
            return f"--trials {round(times * trials)}"
        return "" if seconds is None else f"--time {round_duration(times * seconds)}"

    def _counts(self, outcome: Outcome) -> tuple[int, int]:
        """Return how many starting points and how many other configurations were tried."""
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
    starting_points: StartingPoints | None = None
    objectives: tuple[LossName, ...] = ()  # The names of several objectives

    def interval(self, loss: float) -> tuple[float | None, float | None]:
        """Return the ends of the 95 % interval of a loss on held-out rows; two Nones if it is unknown."""
        return (None, None) if self.held_out is None else self.held_out.ends(loss)


OPTIMIZER: Final = "auto"  # The optimizer whose requests say which part of it they come from
PARTS: Final[Mapping[str, str]] = {
    "initial": "given as initial configurations",
    "portfolio": "from the portfolio",
    "race": "from the race on more rows",
    "model": "proposed by the model",
    "chance": "drawn at random",
}
"""The parts of `auto`, each as it is described to users."""
MAX_LEARNERS: Final = 4  # The maximum number of learners that are listed by themselves


@dataclass(frozen=True, slots=True)
class Effort:
    """A number of trials, and the seconds that they took together."""

    trials: int
    seconds: float

    def to_json(self) -> dict[str, object]:
        """Return the effort as a JSON object."""
        return {"trials": self.trials, "seconds": self.seconds}


def effort_by_part(optimizer: str, records: Iterable[TrialRecord]) -> dict[str, Effort]:
    """Return the effort of each part of `auto` that had a trial, in the order of `PARTS`; empty for others."""
    if optimizer != OPTIMIZER:
        return {}
    found = _efforts(records, lambda record: str((record.trial.request.memo or ("initial",))[0]))
    return {part: found[part] for part in PARTS if part in found}


def effort_by_learner(key: str, records: Iterable[TrialRecord]) -> dict[str, Effort]:
    """Return the effort of each alternative of the decision `key`, the most expensive first; empty without a key."""
    if not key:
        return {}
    found = _efforts(records, lambda record: str(record.trial.request.configuration.get(key, "other")))
    return dict(sorted(found.items(), key=lambda item: -item[1].seconds))


def describe_parts(parts: Mapping[str, Effort]) -> str:
    """Return where the trials came from, such as `7 from the portfolio, 2 drawn at random`; empty if unknown."""
    return ", ".join(f"{each.trials} {PARTS[part]}" for part, each in parts.items())


def describe_learner_seconds(learners: Mapping[str, Effort]) -> str:
    """Return what the time of trials went into, such as `boosting 3.0 s, 2 others 1.0 s`; empty for one learner."""
    if len(learners) < 2:
        return ""
    shown, others = [*learners.items()][:MAX_LEARNERS], [*learners.values()][MAX_LEARNERS:]
    times = [f"{name} {each.seconds:.1f} s" for name, each in shown]
    if others:
        times.append(f"{count_with_noun(len(others), 'other')} {sum(each.seconds for each in others):.1f} s")
    return ", ".join(times)


def _efforts(records: Iterable[TrialRecord], name_of: Callable[[TrialRecord], str]) -> dict[str, Effort]:
    found: dict[str, Effort] = {}
    for record in records:
        name = name_of(record)
        before = found.get(name, Effort(0, 0.0))
        found[name] = Effort(before.trials + 1, before.seconds + record.trial.cost)
    return found
