"""The effort of a run: its trials and their seconds, by part of the optimizer `auto` and by learner."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from spacelang.runtime.history import TrialRecord
from spacelang.text import count_with_noun

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
