"""Advice for a search that has tried little besides its starting points."""

from dataclasses import dataclass
from typing import Final

from spacelang.ir.configuration import Configuration
from spacelang.runtime.budget import Budget, round_duration
from spacelang.runtime.history import EndReason, Outcome

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
