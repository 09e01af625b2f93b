"""Approximate random draws by hit-and-run from a region of many ranges that comparisons connect.

A step of hit-and-run moves a point to a uniform position on a random line through it, within the region (Smith,
Efficient Monte Carlo Procedures for Generating Points Uniformly Distributed over Bounded Regions, Operations Research
1984). The first points are found by multilevel splitting: the region is the last of a sequence of smaller and smaller
sets, each of which contains half of the points in the set before it.
"""

from typing import Final

import numpy as np
from numpy.random import Generator

from spacelang.sampling.compared_cells import ComparedCells
from spacelang.sampling.value_codes import Array

STEPS_PER_RANGE: Final = 25
"""The number of hit-and-run steps of each draw, per tied range."""
POINTS: Final = 512
"""The number of points of multilevel splitting. Draws start at these points."""
STEPS_PER_LEVEL: Final = 12
MAX_LEVELS: Final = 200
"""The maximum number of levels; each halves the probability."""
MAX_SHRINKINGS: Final = 40
"""The maximum number of times that an interval of a line is shrunk before the point stays where it is."""


class HitAndRunRegion:
    """A region of many ranges that comparisons connect; `log_mass` is an estimate, and draws are approximate."""

    is_approximate = True

    def __init__(self, tied: ComparedCells) -> None:
        """Find points in the region; `log_mass` is -inf if there are none."""
        self._tied = tied
        rng = np.random.default_rng(0)  # estimates must not depend on the random state of the user
        self._points = rng.random((POINTS, tied.dimension))
        self._limits = _SparseInequalities.of_shares(tied)
        self._sizes = np.maximum(np.abs(self._excess(self._points)).mean(axis=0), np.finfo(float).tiny)
        self._steps = STEPS_PER_RANGE * tied.dimension
        self.log_mass = 0.0
        self._split(rng)

    def _excess(self, shares: Array) -> Array:
        """Return the left side of each inequality, shape (points, inequalities): positive where a point violates it."""
        if self._limits is None:
            return self._tied.inequality_excess(self._tied.numbers_from_shares(shares))
        return self._limits.excess(shares)

    def _split(self, rng: Generator) -> None:
        for _ in range(MAX_LEVELS):
            violations = (self._excess(self._points) / self._sizes).max(axis=1)  # 0 or less in the region
            level = max(float(np.median(violations)), 0.0)
            kept = violations <= level
            if level > 0 and kept.all():  # all points are the same: the region has no volume
                break
            self.log_mass += float(np.log(kept.mean()))
            self._points = self._points[kept][rng.integers(kept.sum(), size=POINTS)]
            self._points = self._hit_and_run(self._points, level, STEPS_PER_LEVEL, rng)
            if level == 0:
                self._points = self._hit_and_run(self._points, level, self._steps, rng)
                return
        self.log_mass = -np.inf

    def draw(self, count: int, rng: Generator) -> tuple[Array, Array]:
        """Return shares of shape (count, dimension), and True for those in the region."""
        starts = self._points[rng.integers(POINTS, size=count)]
        if self.log_mass == -np.inf:
            return starts, np.zeros(count, bool)
        shares = self._hit_and_run(starts, 0.0, self._steps, rng)
        return shares, self._tied.satisfy_comparisons(self._tied.codes_from_shares(shares), count)

    def _hit_and_run(self, points: Array, level: float, steps: int, rng: Generator) -> Array:
        """Return points after hit-and-run steps within the points whose violation is at most `level`."""
        points, count = points.copy(), len(points)
        spread = self._points.std(axis=0) + 1e-12
        for step in range(steps):
            if step % 2:
                directions = rng.standard_normal(points.shape) * spread
            else:  # the difference of two points follows the shape of the region
                pairs = rng.integers(POINTS, size=(2, count))
                directions = self._points[pairs[0]] - self._points[pairs[1]]
            self._move_along(points, directions, level, rng)
        return points

    def _move_along(self, points: Array, directions: Array, level: float, rng: Generator) -> None:
        """Move each point along a line through it to a uniform position in the region; `points` is modified."""
        lower, upper = _chord_of_cube(points, directions)
        if self._limits is not None:
            rest = level * self._sizes - self._limits.excess(points)
            first, last = _chord(self._limits.products(directions), rest)
            lower, upper = np.maximum(lower, first), np.minimum(upper, last)
        waiting = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper) & (lower <= upper))
        for _ in range(MAX_SHRINKINGS):
            if not len(waiting):
                break
            places = lower[waiting] + (upper[waiting] - lower[waiting]) * rng.random(len(waiting))
            tried = np.clip(points[waiting] + places[:, None] * directions[waiting], 0, 1)
            good = (self._excess(tried) <= level * self._sizes).all(axis=1)
            points[waiting[good]] = tried[good]
            waiting, places = waiting[~good], places[~good]
            is_below = places < 0
            lower[waiting] = np.where(is_below, places, lower[waiting])
            upper[waiting] = np.where(is_below, upper[waiting], places)


class _SparseInequalities:
    """Linear inequalities of shares, each of which usually names a few of many ranges.

    Products with a full matrix would take most of the time. They would also use all cores, which is slow if other
    processes need them.
    """

    def __init__(self, factors: Array, constants: Array) -> None:
        """Store the factors other than 0 of each row, with zeros after them in rows that have fewer than others."""
        length = int((factors != 0).sum(axis=1).max())
        self._places = np.argsort(factors == 0, axis=1, kind="stable")[:, :length].T
        self._factors = np.take_along_axis(factors.T, self._places, axis=0)
        self._constants = constants

    @classmethod
    def of_shares(cls, tied: ComparedCells) -> "_SparseInequalities | None":
        """Return the inequalities of cells, or None if they are not linear in shares."""
        rows = [row for row in tied.inequalities_of_shares if row is not None]
        if len(rows) < len(tied.inequalities_of_shares):
            return None
        return cls(np.array([factors for factors, _ in rows]), np.array([constant for _, constant in rows]))

    def products(self, shares: Array) -> Array:
        """Return the sums of factors times shares, shape (points, inequalities)."""
        found = np.zeros((len(shares), self._places.shape[1]))
        for places, factors in zip(self._places, self._factors, strict=True):
            found += shares[:, places] * factors
        return found

    def excess(self, shares: Array) -> Array:
        """Return the left side of each inequality, shape (points, inequalities): positive where a point violates it."""
        return self.products(shares) + self._constants


def _chord_of_cube(points: Array, directions: Array) -> tuple[Array, Array]:
    """Return the least and greatest t for which `points + t * directions` are in the unit cube, each (points,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        to_start, to_end = -points / directions, (1 - points) / directions
    # NaN: the point lies in a face of the cube and does not leave it.
    lower: Array = np.fmin(to_start, to_end).max(axis=1)
    upper: Array = np.fmax(to_start, to_end).min(axis=1)
    return lower, upper


def _chord(speeds: Array, limits: Array) -> tuple[Array, Array]:
    """Return the least and greatest t with `speeds * t <= limits` in all columns, each of shape (points,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = limits / speeds
    lower: Array = np.where(speeds < 0, times, -np.inf).max(axis=1)
    upper: Array = np.where(speeds > 0, times, np.inf).min(axis=1)
    return lower, upper
