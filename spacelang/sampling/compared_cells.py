"""Cells of ranges that comparisons connect, and the conversion of quantile levels in [0, 1] to their values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, Literal

import numpy as np

from spacelang.grouping import group_by_key
from spacelang.ir import expr
from spacelang.ir.domain import Domain, Grid, Real, SimpleDomain, parts
from spacelang.ir.domain_properties import is_exact_as_floats
from spacelang.ir.prior import Prior
from spacelang.sampling.draw_acceptance import JointValues, evaluate_comparison
from spacelang.sampling.independent_sampling import MAX_VECTORIZED_GRID
from spacelang.sampling.prior_draws import prior_quantiles
from spacelang.sampling.unit_scale import (
    is_narrow_on_logarithms,
    linear_parameters,
    linear_unit_scale,
    log_parameters,
    log_unit_scale,
    unit_scale,
)
from spacelang.sampling.value_codes import (
    Array,
    ValueCodes,
    code_dtype,
    codes_of_members_at,
    nearest_float,
    part_index_and_code,
)
from spacelang.solver.domain_cells import log_ratio, log_uniform_length
from spacelang.solver.linear_inequalities import inequalities_for, linear_difference

ROUNDING_MARGIN: Final = 1e-9
"""The relative error of sums that is assumed when a box is discarded; rounding errors are far smaller."""


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """A cell of the domain of a hyperparameter, and its prior if draws follow one."""

    domain: Domain
    cell: SimpleDomain
    prior: Prior | None


@dataclass(frozen=True, slots=True, eq=False)
class LinearInequalities:
    """Inequalities over k numbers: `factors` (rows, k) times the numbers, plus `constants` (rows,), is at most 0."""

    factors: Array
    constants: Array

    def lower_bounds(self, lower: Array, upper: Array) -> Array:
        """Return a lower bound of the left side of every row in boxes with the given ends, shape (boxes, rows)."""
        with np.errstate(all="ignore"):
            products = lower[:, None, :] * self.factors, upper[:, None, :] * self.factors
            size = np.maximum(np.abs(products[0]), np.abs(products[1])).sum(axis=2) + np.abs(self.constants)
            found: Array = np.minimum(*products).sum(axis=2) + self.constants - ROUNDING_MARGIN * size
        return found


class ComparedCells:
    """Ranges in one cell each, and the truths of the comparisons that tie them.

    A point has one coordinate, its share, for each cell of more than one value, in the order of `names`. A share is a
    quantile level in [0, 1]: the values for uniform shares have the distribution of draws. The probability of a set of
    points is therefore its volume.
    """

    def __init__(self, cells: Mapping[str, ComparedCell], required: Sequence[tuple[expr.Compare, bool]]) -> None:
        self.cells = cells
        self.required = required
        self.names = tuple(name for name, each in cells.items() if each.cell.size != 1)
        self._domains = {name: each.domain for name, each in cells.items()}
        self._parts = {name: part_index_and_code(each.domain, each.cell.representative) for name, each in cells.items()}
        self._quantiles = {name: quantile_function(cells[name]) for name in self.names}

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return len(self.names)

    def numbers_from_shares(self, shares: Array) -> Array:
        """Return the numbers at the given shares (quantile levels); both arrays have the shape (points, dimension)."""
        rows = np.ascontiguousarray(shares.T)
        found = np.empty(rows.shape)
        for places, numbers_at in self._number_functions:
            found[places] = numbers_at(rows[places])
        return np.ascontiguousarray(found.T)

    @cached_property
    def _number_functions(self) -> list[tuple[Any, Callable[[Array], Array]]]:
        """Functions from rows of shares to numbers, each with the places of its rows.

        Ranges of one scale are computed together, which is much faster than one after the other.
        """
        places = group_by_key((_joint_scale(self.cells[name]), place) for place, name in enumerate(self.names))
        found: list[tuple[Any, Callable[[Array], Array]]] = [
            (place, self._quantiles[self.names[place]]) for place in places.pop(None, ())
        ]
        for scale, several in places.items():
            cells = [self.cells[self.names[place]].cell for place in several]
            found.append((np.array(several), _joint_quantiles(cells, is_log=scale == "log")))
        return found

    def codes_from_shares(self, shares: Array) -> dict[str, ValueCodes]:
        """Return the codes of the values of all cells, by address, for shares of shape (points, dimension)."""
        count, found = len(shares), {}
        for name, each in self.cells.items():
            part, code = self._parts[name]
            kind = code_dtype(each.domain)
            known = self._quantiles.get(name)
            codes = (
                np.full(count, code, kind)
                if known is None
                else known(shares[:, self.names.index(name)]).astype(kind, copy=False)
            )
            found[name] = ValueCodes(codes, np.full(count, part, np.int8) if len(parts(each.domain)) > 1 else None)
        return found

    def satisfy_comparisons(self, codes: Mapping[str, ValueCodes], count: int) -> Array:
        """Return a boolean array of shape (count,): True where all comparisons have the required truths."""
        found = np.ones(count, bool)
        for atom, truth in self.required:
            found &= evaluate_comparison(atom, JointValues(self._domains, codes, count)) == truth
        return found

    @cached_property
    def inequalities_of_shares(self) -> list[tuple[Array, float] | None]:
        """The factors and the constant of each of the `inequalities` in terms of shares; None if it is not linear.

        Comparisons of two ranges under `log` without a constant, such as `a <= 2 * b`, are linear in their logarithms.
        """
        return [*map(self._in_terms_of_shares, self.inequalities.factors, self.inequalities.constants.tolist())]

    def _in_terms_of_shares(self, factors: Array, constant: float) -> tuple[Array, float] | None:
        places = np.flatnonzero(factors)
        cells = [self.cells[self.names[place]] for place in places.tolist()]
        linear = _linear_in_shares(cells, factors[places], constant)
        if linear is None:
            return None
        found = np.zeros(self.dimension)
        found[places] = linear[0]
        return found, linear[1]

    def inequality_excess(self, numbers: Array) -> Array:
        """Return the left side of each inequality, shape (points, inequalities): positive where a point violates it."""
        found: Array = numbers @ self.inequalities.factors.T + self.inequalities.constants
        return found

    @cached_property
    def inequalities(self) -> LinearInequalities:
        """The inequalities that the comparisons require. `!=` is left out, because almost all points satisfy it."""
        factors, constants = [], []
        for atom, truth in self.required:
            form = linear_difference(atom)
            systems = () if form is None else inequalities_for(atom.relation, form, truth)
            for row in systems[0] if len(systems) == 1 else ():
                numbers = {name: float(factor) for name, factor in row.factors.items()}
                factors.append([numbers.get(name, 0.0) for name in self.names])
                fixed = (name for name in numbers if name not in self._quantiles)
                constants.append(
                    float(row.constant)
                    + sum(numbers[name] * nearest_float(self.cells[name].cell.representative) for name in fixed)
                )
        return LinearInequalities(np.array(factors).reshape(len(factors), self.dimension), np.array(constants))


def _linear_in_shares(cells: Sequence[ComparedCell], factors: Array, constant: float) -> tuple[Array, float] | None:
    """Return the factors and the constant of an inequality in terms of shares, or None if it is not linear in them."""
    ranges = [each.cell for each in cells if isinstance(each.cell, Real)]
    if len(ranges) == len(cells) == 2 and not constant and factors.prod() < 0:
        if cells[0] == cells[1] and not factors.sum():
            return factors, 0.0
        if all(each.log for each in ranges) and all(each.prior is None for each in cells):
            signs = np.sign(factors)
            lengths = np.array([log_ratio(each.lower, each.upper) for each in ranges])
            starts = np.log(np.abs(factors)) + np.log([each.lower for each in ranges])
            return signs * lengths, float(signs @ starts)
    if len(ranges) < len(cells) or any(each.log for each in ranges) or any(each.prior is not None for each in cells):
        return None
    lower, upper = np.array([each.lower for each in ranges]), np.array([each.upper for each in ranges])
    return factors * (upper - lower), float(constant + factors @ lower)


def can_be_computed_from_shares(each: ComparedCell) -> bool:
    """Return True if the values of a cell can be computed from shares.

    That is so if floats represent them exactly; grids of too many floats are excluded, too.
    """
    place, _ = part_index_and_code(each.domain, each.cell.representative)
    part = parts(each.domain)[place]
    if isinstance(part, Grid) and not part.is_integral and part.size > MAX_VECTORIZED_GRID:
        return False
    return code_dtype(each.domain) is not object and (not isinstance(part, Grid) or is_exact_as_floats(part))


def quantile_function(each: ComparedCell) -> Callable[[Array], Array]:
    """Return the quantile function of a cell of more than one number: from shares to codes, nondecreasing."""
    place, _ = part_index_and_code(each.domain, each.cell.representative)
    part, cell = parts(each.domain)[place], each.cell
    if isinstance(cell, Real):
        assert isinstance(part, Real)
        return partial(_real_quantiles, cell, part, each.prior)
    assert isinstance(cell, Grid)
    assert isinstance(part, Grid)
    return partial(_grid_quantiles, cell, part, each.prior)


def _joint_scale(each: ComparedCell) -> Literal["linear", "log"] | None:
    """Return the scale of a continuous range, or None if its numbers are not computed together with others."""
    cell = each.cell
    if not isinstance(cell, Real) or each.prior is not None or isinstance(cell.lower, int):
        return None
    if cell.log:
        return None if is_narrow_on_logarithms(cell.lower, cell.upper) else "log"
    return "linear" if np.isfinite(cell.upper - cell.lower) else None


def _joint_quantiles(cells: Sequence[SimpleDomain], *, is_log: bool) -> Callable[[Array], Array]:
    """Return the quantile function of several ranges of one scale; shares and codes have the shape (ranges, points)."""
    ranges = [cell for cell in cells if isinstance(cell, Real)]
    parameters = log_parameters if is_log else linear_parameters
    ends = np.array([(*parameters(each.lower, each.upper), each.least, each.greatest) for each in ranges])
    first, second, least, greatest = ends.T[:, :, None]
    scale = log_unit_scale(first, second, np) if is_log else linear_unit_scale(first, second)
    return lambda shares: np.clip(scale.from_unit(shares), least, greatest)


def _real_quantiles(cell: Real, part: Real, prior: Prior | None, shares: Array) -> Array:
    if prior is not None:
        numbers = prior_quantiles(shares, part, prior, cell)
    elif cell.log or np.isfinite(cell.upper - cell.lower):
        numbers = unit_scale(cell.lower, cell.upper, log=cell.log, functions=np).from_unit(shares)
    else:
        numbers = cell.lower * (1 - shares) + cell.upper * shares
    found: Array = np.clip(numbers, cell.least, cell.greatest)
    return found


def _grid_quantiles(cell: Grid, part: Grid, prior: Prior | None, shares: Array) -> Array:
    first, last = part.index_of(cell.least), part.index_of(cell.greatest)
    if prior is not None:
        indices = np.rint((prior_quantiles(shares, part, prior, cell) - float(part.lower)) / float(part.step))
    elif cell.log:
        below = min(cell.step, cell.lower) / 2
        distances = (cell.lower - below) * np.expm1(shares * log_uniform_length(cell)) - below
        indices = first + np.rint(distances / cell.step)
    else:
        indices = first + np.floor(shares * cell.size)
    return codes_of_members_at(part, np.clip(indices, first, last))
