"""Exact draws from a region by rejection: boxes cover it, and are halved until enough draws are accepted."""

from typing import Final

import numpy as np
from numpy.random import Generator

from spacelang.sampling.tied_cells import TiedCells
from spacelang.sampling.value_codes import Array

MAX_BOXES: Final = 8_192
MAX_HALVINGS: Final = 60
"""The maximum number of rounds in which boxes are halved; shares have 53 bits."""
PILOT_DRAWS: Final = 512
"""The number of draws by which each round estimates the acceptance rate."""
MIN_ACCEPTED: Final = 0.2
"""The minimum acceptance rate: one draw in five."""
TARGET_ACCEPTANCE: Final = 0.25
"""The acceptance rate at which halving stops; it is larger than the minimum, because it is estimated."""


class BoxRegion:
    """A region of any shape, covered by boxes of shares; draws from the boxes are accepted inside the region."""

    is_approximate = False
    target_acceptance = TARGET_ACCEPTANCE

    def __init__(self, tied: TiedCells) -> None:
        """Halve the boxes of the greatest mass, until enough draws are accepted or there are too many boxes."""
        self.tied = tied
        self.lower, self.upper = np.zeros((1, self.box_dimension)), np.ones((1, self.box_dimension))
        self.masses = self.bounds(self.lower, self.upper)
        rng = np.random.default_rng(0)  # estimates must not depend on the random state of the user
        for _ in range(MAX_HALVINGS):
            if not self._can_be_halved() or self._acceptance_rate(rng) >= self.target_acceptance:
                break
            self._halve_boxes()
        self._sums, self.mass = np.cumsum(self.masses), float(self.masses.sum())

    def _can_be_halved(self) -> bool:
        return len(self.tied.rows.constants) > 0 and 0 < len(self.masses) < MAX_BOXES

    @property
    def box_dimension(self) -> int:
        """The number of shares that the boxes cover."""
        return self.tied.dimension

    def bounds(self, lower: Array, upper: Array) -> Array:
        """Return an upper bound of the mass of the region in each box; 0 for boxes outside the region."""
        outside = (self.tied.rows.lower_bounds(*self.number_ends(lower, upper)) > 0).any(axis=1)
        volumes: Array = np.where(outside, 0.0, np.prod(upper - lower, axis=1))
        return volumes

    def number_ends(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return the ends of the numbers in boxes with the given ends of shares, each (boxes, dimension)."""
        return self.tied.numbers(lower), self.tied.numbers(upper)

    def sensitivities(self, lower: Array, upper: Array) -> Array:
        """Return by how much each share changes the inequalities within the boxes, relative to all shares."""
        first, last = self.number_ends(lower, upper)
        with np.errstate(all="ignore"):
            changes = np.abs(self.tied.rows.factors)[None] * (last - first)[:, None, :]
            relative = changes / changes.sum(axis=2, keepdims=True)
        found: Array = np.nan_to_num(relative).sum(axis=1)[:, : self.box_dimension]
        return found + 1e-3 * (upper - lower)

    def points(self, lower: Array, upper: Array, boxes: Array, rng: Generator) -> tuple[Array, Array]:
        """Return one point (shares) in each of the given boxes, and True where it is not rejected."""
        shares = lower + (upper - lower) * rng.random((len(boxes), self.box_dimension))
        return shares, np.ones(len(boxes), bool)

    def draw(self, count: int, rng: Generator) -> tuple[Array, Array]:
        """Return shares of shape (count, dimension) from the cover, and True where they are in the region."""
        if not self.mass:
            return np.full((count, self.tied.dimension), 0.5), np.zeros(count, bool)
        boxes = np.minimum(
            np.searchsorted(self._sums, rng.random(count) * self._sums[-1], "right"), len(self._sums) - 1
        )
        shares, accepted = self.points(self.lower[boxes], self.upper[boxes], boxes, rng)
        accepted &= self.tied.are_members(self.tied.codes(shares), count)
        return shares, accepted

    def _acceptance_rate(self, rng: Generator) -> float:
        self._sums, self.mass = np.cumsum(self.masses), float(self.masses.sum())
        return float(self.draw(PILOT_DRAWS, rng)[1].mean())

    def _halve_boxes(self) -> None:
        order = np.argsort(-self.masses, kind="stable")
        # Boxes of much smaller mass than others are left as they are.
        is_large = self.masses[order] >= self.masses[order[0]] / 4
        chosen, rest = order[is_large], order[~is_large]
        lower, upper = self.lower[chosen], self.upper[chosen]
        axes = self.sensitivities(lower, upper).argmax(axis=1)
        rows = np.arange(len(chosen))
        middle = (lower[rows, axes] + upper[rows, axes]) / 2
        first_upper, second_lower = upper.copy(), lower.copy()
        first_upper[rows, axes], second_lower[rows, axes] = middle, middle
        lower, upper = np.concatenate((lower, second_lower)), np.concatenate((first_upper, upper))
        masses = self.bounds(lower, upper)
        inside = masses > 0
        self.lower = np.concatenate((self.lower[rest], lower[inside]))
        self.upper = np.concatenate((self.upper[rest], upper[inside]))
        self.masses = np.concatenate((self.masses[rest], masses[inside]))
