"""Random draws from a region: the values in given cells for which comparisons are true or false as required.

Plain rejection sampling needs very many draws if the region is a small part of its cells. The following methods accept
at least one draw in five:

- For a simplex, such as `a + b + c <= 1`, draws have a closed form.
- For two to four ranges, boxes cover the region and are halved until one draw in five is accepted. If possible, the
  last range is not covered, but drawn from its conditional distribution given the others. Draws are exact, because
  those outside of the region are rejected.
- For more ranges, comparisons of two continuous ranges that connect these like a forest are satisfied by the draws of
  each range, given its parent (`order_forest_region.py`). Draws that violate other comparisons are rejected.
- If this would reject too many draws, hit-and-run is used, which is approximate (`hit_and_run.py`).
"""

import math
from typing import Final, Protocol

import numpy as np
from numpy.random import Generator

from spacelang.ir.domain import Real
from spacelang.sampling.compared_cells import ROUNDING_MARGIN, ComparedCells
from spacelang.sampling.hit_and_run import HitAndRunRegion
from spacelang.sampling.order_forest_region import OrderForestRegion
from spacelang.sampling.unit_scale import unit_scale
from spacelang.sampling.value_codes import Array
from spacelang.solver.constraint_network_compiler import MAX_EXACT_RANGES
from spacelang.solver.domain_cells import log_ratio


class Region(Protocol):
    """A protocol for regions: the values in given cells for which comparisons are true or false as required."""

    @property
    def log_mass(self) -> float:
        """Return the logarithm of the probability that a draw from the cells lies in the cover of the region.

        It is an estimate if `is_approximate`.
        """

    is_approximate: bool

    def draw(self, count: int, rng: Generator) -> tuple[Array, Array]:
        """Return points as shares (see `ComparedCells`), shape (count, dimension), and True for those in the region."""


def make_region(tied: ComparedCells) -> Region:
    """Return the region of cells that comparisons connect, with the best method for its draws.

    The method depends on the number and kind of the ranges; see the module.
    """
    simplex = SimplexRegion.find_in_cells(tied)
    if simplex is not None:
        return simplex
    if tied.dimension > MAX_EXACT_RANGES and len(tied.inequalities.constants):
        forest = OrderForestRegion.find_in_cells(tied)
        is_good = forest is not None and forest.draw(PILOT_DRAWS, np.random.default_rng(0))[1].mean() >= MIN_ACCEPTED
        return forest if forest is not None and is_good else HitAndRunRegion(tied)
    last = next((name for name in tied.names if can_be_drawn_last(tied, name)), None)
    return BoxRegion(tied) if last is None or tied.dimension == 1 else SlabRegion(tied, last)


class SimplexRegion:
    """A region of continuous ranges with a bounded sum, such as `a + 2 * b <= 1`, where no upper end is reached."""

    is_approximate = False

    def __init__(self, widths: Array) -> None:
        """Store `widths`: the largest share of each range, which it has if all others have their least values."""
        self._widths = widths
        self.log_mass = float(np.log(widths / np.arange(1, len(widths) + 1)).sum())

    @classmethod
    def find_in_cells(cls, tied: ComparedCells) -> "SimplexRegion | None":
        """Return the region of cells if it is a simplex, else None."""
        cells = [tied.cells[name] for name in tied.names]
        ranges = [
            each.cell for each in cells if isinstance(each.cell, Real) and each.prior is None and not each.cell.log
        ]
        if len(tied.required) != 1 or len(tied.inequalities.constants) != 1 or len(ranges) < len(cells):
            return None
        (factors,), (constant,) = tied.inequalities.factors, tied.inequalities.constants
        lower, upper = np.array([each.lower for each in ranges]), np.array([each.upper for each in ranges])
        left = -(constant + factors @ lower)
        if left <= 0 or (factors <= 0).any():
            return None
        widths = left / factors / (upper - lower)
        return cls(np.minimum(widths, 1)) if (widths <= 1 + 1e-12).all() else None

    def draw(self, count: int, rng: Generator) -> tuple[Array, Array]:
        """Return shares with the uniform distribution on the simplex (flat Dirichlet), and True for each of them."""
        spacings = rng.standard_exponential((count, len(self._widths) + 1))
        return np.minimum(spacings[:, :-1] / spacings.sum(axis=1, keepdims=True) * self._widths, 1), np.ones(
            count, bool
        )


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

    def __init__(self, tied: ComparedCells) -> None:
        """Halve the boxes of the greatest mass, until enough draws are accepted or there are too many boxes."""
        self.tied = tied
        self.lower, self.upper = np.zeros((1, self.box_dimension)), np.ones((1, self.box_dimension))
        self.masses = self.mass_upper_bounds(self.lower, self.upper)
        rng = np.random.default_rng(0)  # estimates must not depend on the random state of the user
        for _ in range(MAX_HALVINGS):
            if not self._can_be_halved() or self._acceptance_rate(rng) >= self.target_acceptance:
                break
            self._halve_boxes()
        self._sums = np.cumsum(self.masses)

    def _can_be_halved(self) -> bool:
        return len(self.tied.inequalities.constants) > 0 and 0 < len(self.masses) < MAX_BOXES

    @property
    def log_mass(self) -> float:
        """The logarithm of the mass of all boxes, which cover the region."""
        return math.log(self._sums[-1]) if self.masses.any() else -math.inf

    @property
    def box_dimension(self) -> int:
        """The number of shares that the boxes cover."""
        return self.tied.dimension

    def mass_upper_bounds(self, lower: Array, upper: Array) -> Array:
        """Return an upper bound of the mass of the region in each box; 0 for boxes outside the region."""
        outside = (self.tied.inequalities.lower_bounds(*self.number_bounds(lower, upper)) > 0).any(axis=1)
        volumes: Array = np.where(outside, 0.0, np.prod(upper - lower, axis=1))
        return volumes

    def number_bounds(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return the ends of the numbers in boxes with the given ends of shares, each (boxes, dimension)."""
        return self.tied.numbers_from_shares(lower), self.tied.numbers_from_shares(upper)

    def sensitivities(self, lower: Array, upper: Array) -> Array:
        """Return by how much each share changes the inequalities within the boxes, relative to all; (boxes, shares).

        The side with the greatest number is halved. A little of the width of a side is added, which decides ties.
        """
        first, last = self.number_bounds(lower, upper)
        with np.errstate(all="ignore"):
            changes = np.abs(self.tied.inequalities.factors)[None] * (last - first)[:, None, :]
            relative = changes / changes.sum(axis=2, keepdims=True)
        found: Array = np.nan_to_num(relative).sum(axis=1)[:, : self.box_dimension]
        return found + 1e-3 * (upper - lower)

    def draw_points_in_boxes(self, lower: Array, upper: Array, boxes: Array, rng: Generator) -> tuple[Array, Array]:
        """Return one point (shares) in each of the given boxes, and True where it is not rejected."""
        shares = lower + (upper - lower) * rng.random((len(boxes), self.box_dimension))
        return shares, np.ones(len(boxes), bool)

    def draw(self, count: int, rng: Generator) -> tuple[Array, Array]:
        """Return shares of shape (count, dimension) from the cover, and True where they are in the region."""
        if not self.masses.any():
            return np.full((count, self.tied.dimension), 0.5), np.zeros(count, bool)
        boxes = np.minimum(
            np.searchsorted(self._sums, rng.random(count) * self._sums[-1], "right"), len(self._sums) - 1
        )
        shares, accepted = self.draw_points_in_boxes(self.lower[boxes], self.upper[boxes], boxes, rng)
        accepted &= self.tied.satisfy_comparisons(self.tied.codes_from_shares(shares), count)
        return shares, accepted

    def _acceptance_rate(self, rng: Generator) -> float:
        self._sums = np.cumsum(self.masses)
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
        masses = self.mass_upper_bounds(lower, upper)
        inside = masses > 0
        self.lower = np.concatenate((self.lower[rest], lower[inside]))
        self.upper = np.concatenate((self.upper[rest], upper[inside]))
        self.masses = np.concatenate((self.masses[rest], masses[inside]))


TARGET_OF_TWO_RANGES: Final = 0.9
"""The acceptance rate at which halving stops for two tied ranges, whose boxes are intervals and cost little."""


def can_be_drawn_last(tied: ComparedCells, name: str) -> bool:
    """Return True if a range can be drawn last: it is continuous, without a prior, and occurs in an inequality."""
    each = tied.cells[name]
    is_finite = isinstance(each.cell, Real) and math.isfinite(each.cell.upper - each.cell.lower)
    return is_finite and each.prior is None and bool(tied.inequalities.factors[:, tied.names.index(name)].any())


class SlabRegion(BoxRegion):
    """A region covered by slabs: boxes of all shares but the last one, which lies between linear bounds.

    The other shares are drawn first, and accepted in proportion to the length that they leave for the last range. The
    last range is then drawn uniformly (on its scale) between its bounds.
    """

    def __init__(self, tied: ComparedCells, last: str) -> None:
        """Cover the region; `last` is the name of the range that is drawn last."""
        self.last = tied.names.index(last)
        self.target_acceptance = TARGET_OF_TWO_RANGES if tied.dimension == 2 else TARGET_ACCEPTANCE
        cell = tied.cells[last].cell
        assert isinstance(cell, Real)
        self._ends = cell.lower, cell.upper
        self._scale = unit_scale(cell.lower, cell.upper, log=cell.log, functions=np)
        self._is_log = cell.log
        factors = tied.inequalities.factors[:, self.last]
        self._others = [place for place in range(tied.dimension) if place != self.last]
        with np.errstate(all="ignore"):
            slopes = -tied.inequalities.factors[:, self._others] / factors[:, None]
            starts = -tied.inequalities.constants / factors
        still = np.zeros((1, len(self._others)))
        # The bounds of the last range are linear functions of the others; the ends of its cell are constant bounds.
        self._upper_slopes = np.concatenate((still, slopes[factors > 0]))
        self._upper_starts = np.concatenate(([cell.upper], starts[factors > 0]))
        self._lower_slopes = np.concatenate((still, slopes[factors < 0]))
        self._lower_starts = np.concatenate(([cell.lower], starts[factors < 0]))
        super().__init__(tied)

    @property
    def box_dimension(self) -> int:
        """The number of shares that the boxes cover: all but one."""
        return self.tied.dimension - 1

    def number_bounds(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return the ends of the numbers in slabs, each (boxes, dimension); the last range has the ends of its cell."""
        return self.tied.numbers_from_shares(self._with_last(lower, 0.0)), self.tied.numbers_from_shares(
            self._with_last(upper, 1.0)
        )

    def _with_last(self, shares: Array, last: float | Array) -> Array:
        found = np.empty((len(shares), self.tied.dimension))
        found[:, self._others], found[:, self.last] = shares, last
        return found

    def sensitivities(self, lower: Array, upper: Array) -> Array:
        """Return by how much each share changes the bounds of the last range, relative to all; (boxes, shares).

        A little of the width of a side is added, which decides ties.
        """
        first, last = (ends[:, self._others] for ends in self.number_bounds(lower, upper))
        slopes = np.concatenate((self._upper_slopes, self._lower_slopes))
        with np.errstate(all="ignore"):
            changes = np.abs(slopes)[None] * (last - first)[:, None, :]
            relative = changes / changes.sum(axis=2, keepdims=True)
        found: Array = np.nan_to_num(relative).sum(axis=1) + 1e-3 * (upper - lower)
        return found

    def mass_upper_bounds(self, lower: Array, upper: Array) -> Array:
        """Return an upper bound of the mass in each slab: its volume times the greatest length of the last range."""
        volumes = super().mass_upper_bounds(lower, upper)
        first, last = (ends[:, self._others] for ends in self.number_bounds(lower, upper))
        highest = _extreme(self._upper_slopes, self._upper_starts, first, last, np.maximum).min(axis=1)
        lowest = _extreme(self._lower_slopes, self._lower_starts, first, last, np.minimum).max(axis=1)
        hull = self._length(lowest, highest)
        # The width between two linear bounds is linear itself, so its bound is good even where the bounds are steep.
        slopes = (self._upper_slopes[:, None] - self._lower_slopes[None]).reshape(-1, len(self._others))
        starts = (self._upper_starts[:, None] - self._lower_starts[None]).ravel()
        widths = _extreme(slopes, starts, first, last, np.maximum).min(axis=1)
        with np.errstate(all="ignore"):
            lengths = np.minimum(hull, widths * self._greatest_density(lowest))
        found: Array = volumes * np.nan_to_num(np.clip(lengths, 0, 1), nan=1.0) * (1 + ROUNDING_MARGIN)
        return found

    def _greatest_density(self, lowest: Array) -> Array:
        """Return the greatest density of the last range, on its scale, among the numbers above `lowest`."""
        start, end = self._ends
        if not self._is_log:
            return np.full(len(lowest), 1 / (end - start))
        density: Array = 1 / (np.clip(lowest, start, end) * log_ratio(start, end))
        return density

    def _length(self, lower: Array, upper: Array) -> Array:
        first, last = (self._scale.to_unit(np.clip(each, *self._ends)) for each in (lower, upper))
        found: Array = np.where(upper >= lower, np.clip(last - first, 0, 1), 0.0)
        return found

    def draw_points_in_boxes(self, lower: Array, upper: Array, boxes: Array, rng: Generator) -> tuple[Array, Array]:
        """Return one point (shares) for each of the given slabs, and True for each one that is accepted.

        The probability of acceptance is proportional to the length of the interval that the last range may take there.
        """
        others = lower + (upper - lower) * rng.random((len(boxes), self.box_dimension))
        numbers = self.tied.numbers_from_shares(self._with_last(others, 0.5))[:, self._others]
        least = (numbers @ self._lower_slopes.T + self._lower_starts).max(axis=1)
        greatest = (numbers @ self._upper_slopes.T + self._upper_starts).min(axis=1)
        first, last = (np.clip(self._scale.to_unit(np.clip(e, *self._ends)), 0, 1) for e in (least, greatest))
        lengths = np.where(greatest >= least, last - first, 0.0)
        volumes = np.prod(upper - lower, axis=1)
        with np.errstate(all="ignore"):
            accepted = rng.random(len(boxes)) * self.masses[boxes] <= lengths * volumes
        return self._with_last(others, first + lengths * rng.random(len(boxes))), accepted & (lengths > 0)


def _extreme(slopes: Array, starts: Array, first: Array, last: Array, choose: np.ufunc) -> Array:
    """Return the maxima (or minima, as `choose` says) of linear functions in boxes, shape (boxes, functions)."""
    with np.errstate(all="ignore"):
        found: Array = choose(slopes[None] * first[:, None, :], slopes[None] * last[:, None, :]).sum(axis=2) + starts
    return found
