"""Budgets: how long a search may go on, and what a single trial of it may take."""

import math
import re
from dataclasses import dataclass
from typing import Final

from spacelang.ir.task import BYTES, SECONDS, Limits, in_unit

UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
"""Seconds in each unit of a duration."""

_DURATION: Final = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|min|m|h|)\s*")


@dataclass(frozen=True, slots=True)
class Budget:
    """At most so many seconds and so many trials; None is no limit.

    Raises ValueError for a limit that is not positive.
    """

    seconds: float | None = None
    trials: int | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds > 0:
            raise ValueError(f"a budget of {self.seconds:g} seconds allows nothing")
        if self.trials is not None and self.trials < 1:
            raise ValueError(f"a budget of {self.trials} trials allows nothing")

    def is_exhausted(self, seconds: float, trials: int) -> bool:
        """Whether no further evaluation may start after so many seconds and so many trials."""
        out_of_time = self.seconds is not None and seconds >= self.seconds
        return out_of_time or (self.trials is not None and trials >= self.trials)

    def seconds_left(self, seconds: float) -> float | None:
        """How long the search may still go on after so many seconds; None where nothing limits it."""
        return None if self.seconds is None else max(0.0, self.seconds - seconds)

    def trials_left(self, trials: int) -> int | None:
        """How many evaluations may still start after so many trials; None where nothing limits them."""
        return None if self.trials is None else max(0, self.trials - trials)


ENDLESS: Final = Budget()
"""The budget that nothing exhausts."""


def parse_duration(text: str) -> float:
    """Seconds from `500ms`, `30s`, `2m`, `1.5h` or a plain number of seconds.

    Raises ValueError, with a message for people, for another text and for nothing at all.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not a duration such as `500ms`, `30s`, `2m` or `1.5h`")
    number, unit = match.groups()
    seconds = float(number) * UNITS[unit]
    if seconds == 0 or not math.isfinite(seconds):
        raise ValueError(f"`{text}` is not a duration in which anything can be done")
    return seconds


_LIMIT: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]+)")


def parse_limits(text: str) -> Limits:
    """The limits of a trial from `300s`, `4GB` or `300s 4GB`: as the language writes them after `limit trial`.

    Raises ValueError, with a message for people, for another text and for nothing at all.
    """
    found: dict[str, float] = {}
    for number, unit in _LIMIT.findall(text):
        kind, units = ("trial_seconds", SECONDS) if unit in SECONDS else ("trial_bytes", BYTES)
        if unit not in units or kind in found:
            break
        found[kind] = in_unit(float(number), units[unit])
    if _LIMIT.sub("", text).strip() or not found or len(found) < len(_LIMIT.findall(text)):
        raise ValueError(f"`{text}` is no limit such as `300s`, `4GB` or `300s 4GB`")
    if not all(0 < limit < math.inf for limit in found.values()):
        raise ValueError(f"`{text}` is no limit within which anything can be done")
    return Limits(**found)
