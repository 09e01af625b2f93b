"""What a point that failed is worth to a sub-problem of ADMM."""

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest augmented value and the largest penalty that a sub-problem has seen so far."""

    value: float = -inf
    penalty: float = 0.0

    def seen(self, value: float, penalty: float) -> "Worst":
        """The same after a success: its augmented value, and how much of it is penalties."""
        return Worst(max(self.value, value), max(self.penalty, penalty))

    @property
    def failure(self) -> float:
        """The augmented value of a failure: behind every success, also where the first ones fail."""
        return max(self.value, 1.0 + self.penalty)
