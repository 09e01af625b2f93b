"""How many calls each of the two sub-problems of an iteration has.

See spacelang/optimizers/README.md, section "ADMM: schedule".
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schedule:
    """I_t = min(most, first + growth * t) calls in iteration t = 0, 1, 2, ...; without `growth` they are fixed.

    The papers' adaptive ones are F8 and F16, whose growths these are, from 16 up to 128 calls, up to 256 on their
    artificial objective: few calls as long as theta and z are far from each other, later more.
    """

    first: int = 16
    growth: int = 0
    most: int = 128

    def __post_init__(self) -> None:
        """Refuse what would leave an iteration without a call, or later ones with fewer than the first."""
        if not 1 <= self.first <= self.most:
            raise ValueError(f"a schedule from {self.first} up to {self.most} calls has none")
        if self.growth < 0:
            raise ValueError(f"a schedule whose calls grow by {self.growth} ends")

    @classmethod
    def fixed(cls, calls: int) -> "Schedule":
        """The same number of calls in every iteration."""
        return cls(calls, 0, calls)

    def calls(self, iteration: int) -> int:
        """I_t, for each of the two sub-problems; `iteration` counts from 0."""
        return min(self.most, self.first + self.growth * iteration)
