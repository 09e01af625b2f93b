"""The number of calls that each of the two sub-problems of an iteration has.

See spacelang/optimizers/README.md, section "ADMM: schedule".
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallSchedule:
    """A schedule of I_t = min(most, first + growth * t) calls in iteration t = 0, 1, 2, ...

    With `growth=0` the number of calls is constant. The adaptive schedules F8 and F16 of the papers have a growth of 8
    and 16, from 16 up to 128 calls, or up to 256 on their artificial objective. They spend few calls while theta and z
    are far apart, and more later.
    """

    first: int = 16
    growth: int = 0
    most: int = 128

    def __post_init__(self) -> None:
        """Raise ValueError unless 1 <= first <= most and growth >= 0."""
        if not 1 <= self.first <= self.most:
            raise ValueError(f"a schedule needs 1 <= first <= most, but they are {self.first} and {self.most}")
        if self.growth < 0:
            raise ValueError(f"a schedule needs a growth of at least 0, but it is {self.growth}")

    @classmethod
    def fixed(cls, calls: int) -> "CallSchedule":
        """Return a schedule with the same number of calls in every iteration."""
        return cls(calls, 0, calls)

    def calls(self, iteration: int) -> int:
        """Return I_t, the number of calls of each of the two sub-problems; `iteration` counts from 0."""
        return min(self.most, self.first + self.growth * iteration)
