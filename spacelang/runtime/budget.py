"""Budgets of a search in seconds and trials, and parsers for durations and the limits of a trial."""

import math
import re
from dataclasses import dataclass
from typing import Final

from spacelang.ir.task import BYTES, SECONDS, Limits, to_base_unit

UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
"""Seconds in each unit of a duration."""
_DURATION: Final = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|min|m|h|)\s*")
_LIMIT: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]+)")


@dataclass(frozen=True, slots=True)
class Budget:
    """A positive limit on the seconds and the number of trials of a search; None is no limit.

    `answer_seconds` limits the seconds until the answer of the run: its start, the search and the work after the search
    together.
    """

    seconds: float | None = None
    trials: int | None = None
    answer_seconds: float | None = None

    def __post_init__(self) -> None:
        for seconds in (self.seconds, self.answer_seconds):
            if seconds is not None and not seconds > 0:
                raise ValueError(f"the time budget is {seconds:g} seconds, but it must be positive")
        if self.trials is not None and self.trials < 1:
            raise ValueError(f"the budget is {self.trials} trials, but it must be at least 1")

    @property
    def smaller_seconds_limit(self) -> float | None:
        """The smaller one of `seconds` and `answer_seconds`; None if both are None."""
        return min((each for each in (self.seconds, self.answer_seconds) if each is not None), default=None)

    def with_merged_time_limits(self) -> "Budget":
        """Return a budget whose `seconds` is the smaller time limit, for a search without work before or after it."""
        return Budget(self.smaller_seconds_limit, self.trials)

    def seconds_left(self, seconds: float, reserve: float = 0.0) -> float | None:
        """Return the seconds that the search may still take after it took `seconds`; None without a limit.

        `reserve` are the seconds of `answer_seconds` that go to other work than the search, before or after it.
        """
        answer = None if self.answer_seconds is None else self.answer_seconds - reserve
        limits = [each for each in (self.seconds, answer) if each is not None]
        return max(0.0, min(limits) - seconds) if limits else None

    def trials_left(self, trials: int) -> int | None:
        """Return how many more trials may start after this many; None without a limit on trials."""
        return None if self.trials is None else max(0, self.trials - trials)


UNLIMITED_BUDGET: Final = Budget()  # The budget without any limit


def parse_duration(text: str) -> float:
    """Return the positive seconds in `500ms`, `30s`, `2m`, `1.5h` or `30`; raise ValueError for any other text."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not a duration such as `500ms`, `30s`, `2m` or `1.5h`")
    number, unit = match.groups()
    seconds = float(number) * UNITS[unit]
    if seconds == 0 or not math.isfinite(seconds):
        raise ValueError(f"`{text}` is not a positive, finite duration")
    return seconds


ROUND_DURATIONS: Final = ("10s", "20s", "30s", "1m", "2m", "5m", "10m", "20m", "30m", "1h", "2h", "4h", "8h", "24h")
"""The durations that are suggested to users, ascending."""


def round_duration(seconds: float) -> str:
    """Return the shortest of some round durations, such as `5m`, that is at least so many seconds, as text.

    Longer durations than all of these are rounded up to whole days, written in hours.
    """
    fitting = (text for text in ROUND_DURATIONS if parse_duration(text) >= seconds)
    return next(fitting, f"{24 * math.ceil(seconds / 86_400)}h")


def parse_trial_limits(text: str) -> Limits:
    """Return the positive limits in `300s`, `4GB` or `300s 4GB`; raise ValueError for any other text."""
    found: dict[str, float] = {}
    for number, unit in _LIMIT.findall(text):
        kind, units = ("trial_seconds", SECONDS) if unit in SECONDS else ("trial_bytes", BYTES)
        if unit not in units or kind in found:
            break
        found[kind] = to_base_unit(float(number), units[unit])
    if _LIMIT.sub("", text).strip() or not found or len(found) < len(_LIMIT.findall(text)):
        raise ValueError(f"`{text}` is not a limit such as `300s`, `4GB` or `300s 4GB`")
    if not all(0 < limit < math.inf for limit in found.values()):
        raise ValueError(f"`{text}` is not a positive, finite limit")
    return Limits(**found)
