"""The limits of a stored run on its time and its trials: those with which it was resumed last, or its first ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from spacelang.runtime.budget import parse_duration, round_duration
from spacelang.runtime.storage.records import LIMIT_FLAGS

if TYPE_CHECKING:
    from spacelang.runtime.storage.stored_run import StoredRun

LIMITS: Final = ("time", "search_time", "trials")  # The names of the options with the flags `LIMIT_FLAGS`
TIMES: Final = 2  # The suggested budget is at least so many times what a run has used


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of a run.

    `options` are the options that the user gave, by name. `seconds` (wall-clock time) and `trials` are the limits that
    follow from them and the task; None is no limit.
    """

    options: Mapping[str, Any]
    seconds: float | None
    trials: int | None

    def are_used_up_by(self, run: "StoredRun") -> bool:
        """Return True if the run cannot continue without a larger limit."""
        return self._has_all_trials(run) or (self.seconds is not None and run.seconds >= self.seconds)

    def doubled(self, run: "StoredRun") -> str:
        """Return the options for at least twice the limits that a run has used up."""
        found = [f"--trials {TIMES * max(self.trials or 0, run.count)}"] if self._has_all_trials(run) else []
        if not found or (self.seconds is not None and run.seconds >= self.seconds):
            time = round_duration(TIMES * max(run.seconds, self.seconds or 0.0))
            flags = [name.replace("_", "-") for name in LIMITS if name in self.options and name != "trials"]
            found += [f"--{flag} {time}" for flag in flags or ["time"]]
        return " ".join(found)

    def _has_all_trials(self, run: "StoredRun") -> bool:
        return self.trials is not None and run.count >= self.trials


def limits_of(run: "StoredRun") -> RunLimits:
    """Return the limits of a run; the store may be a foreign file with any text in it."""
    options = dict(_valid_options(run.limits))
    seconds = min((parse_duration(each) for name, each in options.items() if name != "trials"), default=None)
    if run.changed_limits is not None:
        return RunLimits(options, seconds, options.get("trials"))
    workers = (run.sessions[0].workers if run.sessions else None) or 1
    budget = run.header.budget
    return RunLimits(options, None if budget.seconds is None else budget.seconds / workers, budget.trials)


def _valid_options(texts: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for name, flag in zip(LIMITS, LIMIT_FLAGS, strict=True):
        if (text := texts.get(flag)) is None:
            continue
        if flag == "trials":
            if text.isdecimal() and int(text):
                yield name, int(text)
            continue
        try:
            parse_duration(text)
        except ValueError:
            continue
        yield name, text
