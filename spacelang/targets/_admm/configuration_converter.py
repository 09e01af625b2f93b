"""Conversions between configurations and ADMM points, and vectorized tests of conditions and constraints."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np

from spacelang.deprecation import renamed_attributes
from spacelang.encodings.mixed_integer_encoding import MixedIntegerEncoding
from spacelang.ir.configuration import Configuration
from spacelang.ir.expr import (
    INACTIVE,
    ActivityTest,
    And,
    BranchTest,
    Expr,
    ExpressionValue,
    Not,
    Or,
    is_true,
    mentioned_addresses,
)
from spacelang.ir.space import Choice, Constraint, Hyperparameter, Space, Variable
from spacelang.sampling.batch_builder import (
    BatchBuilder,
    ConfigurationBatch,
    SparseColumn,
    encode_values,
    join_column_pieces,
)
from spacelang.sampling.value_codes import Array, ValueCodes, decode_values
from spacelang.targets._admm.layout import (
    IndicatorVariable,
    OneHotBlock,
    StepOrderDecision,
    ThetaColumns,
    VariableLayout,
)
from spacelang.targets._admm.points import AdmmPoint, AdmmPoints, VariableMask

ValueKey: TypeAlias = tuple[int, object] | int | None
"""A key that distinguishes the values of a variable: (part, code) of a value, the index of a branch, or None."""
Columns: TypeAlias = Sequence[ThetaColumns]
ValuePieces: TypeAlias = dict[str, list[tuple[Array, ValueCodes]]]
"""The values of hyperparameters by address, in pieces of some rows each."""


class BatchConstraintTruths:
    """The truth of a space's conditions and constraints in each row of a batch.

    And, or, not and tests of decisions are operations on arrays; any other test is evaluated once for each combination
    of values.
    """

    def __init__(
        self, space: Space, count: int, decisions: Mapping[str, Array], given: Mapping[str, SparseColumn]
    ) -> None:
        """Prepare the evaluation of `count` rows.

        `decisions` has the branch indices of each decision by address (-1 where it is not reached), and `given` the
        values of each hyperparameter by address. Values where it is inactive are ignored.
        """
        self._space, self._count, self._decisions, self._given = space, count, decisions, given
        self._active: dict[str, Array] = {}
        self._cached_truths: dict[Expr, Array] = {}
        self._cached_values: dict[str, tuple[list[ValueKey], list[ExpressionValue]]] = {}

    @cached_property
    def batch(self) -> ConfigurationBatch:
        """The rows as a batch of configurations, with only the values of active hyperparameters."""
        found = {}
        for node in self._space.hyperparameters:
            column = self._given.get(node.address)
            if column is not None and len(column.rows):
                kept = np.flatnonzero(self.is_active(node.address)[column.rows])
                if len(kept) == len(column.rows):
                    found[node.address] = column
                elif len(kept):
                    found[node.address] = SparseColumn(column.rows[kept], column.values.take(kept))
        return ConfigurationBatch(self._space, self._count, self._decisions, found)

    @cached_property
    def is_admitted(self) -> Array:
        """True for each row that violates no constraint, a boolean array (count,)."""
        found: Array = np.ones(self._count, bool)
        for constraint in self._space.constraints:
            found &= self.is_satisfied(constraint)
        return found

    def is_satisfied(self, constraint: Constraint) -> Array:
        """Return True for each row that satisfies a constraint, or in which a hyperparameter in it is inactive."""
        applies: Array = np.ones(self._count, bool)
        for address in constraint.scope:
            applies = applies & self.is_active(address)
        if not applies.any():
            return np.asarray(~applies)
        return np.asarray(~applies | (self.is_true(constraint.expression) != constraint.forbidden))

    def is_active(self, address: str) -> Array:
        """Return True for each row in which a variable is reached and its condition is true."""
        if address not in self._active:
            self._active[address] = self._compute_active(self._space.variables[address])
        return self._active[address]

    def is_true(self, expression: Expr) -> Array:
        """Return True for each row in which an expression is true."""
        if expression not in self._cached_truths:
            self._cached_truths[expression] = self._evaluate(expression)
        return self._cached_truths[expression]

    def _compute_active(self, variable: Variable) -> Array:
        found: Array = np.ones(self._count, bool)
        for owner, branch in variable.owners:
            found = found & self._has_branch(owner, (branch,))
        if variable.condition is not None and found.any():
            found = found & self.is_true(variable.condition)
        return found

    def _has_branch(self, address: str, branches: tuple[str, ...]) -> Array:
        choice = self._space.variables[address].choice
        found: Array = np.zeros(self._count, bool)
        for branch in branches:  # faster than `isin`, which sorts
            if branch in choice.branch_indices:
                found |= self._decisions[address] == choice.branch_indices[branch]
        return found

    def _evaluate(self, expression: Expr) -> Array:
        match expression:
            case And() | Or():
                is_all = isinstance(expression, And)
                terms = [np.full(self._count, is_all), *map(self.is_true, expression.terms)]
                return np.asarray(np.all(terms, axis=0) if is_all else np.any(terms, axis=0))
            case Not():
                return ~self.is_true(expression.term)
            case BranchTest():
                return self._has_branch(expression.address, expression.branches)
            case ActivityTest():
                return self.is_active(expression.address)
            case _:
                return self._evaluate_atom(expression)

    def _evaluate_atom(self, atom: Expr) -> Array:
        names = mentioned_addresses(atom)
        told = [self._values_with_keys(name) for name in names]
        known: dict[tuple[ValueKey, ...], bool] = {}
        found: list[bool] = []
        for row, marks in enumerate(zip(*(marks for marks, _ in told), strict=True)):
            if marks not in known:
                worths = {name: values[row] for name, (_, values) in zip(names, told, strict=True)}
                known[marks] = is_true(atom, worths.__getitem__)
            found.append(known[marks])
        return np.array(found, bool) if names else np.full(self._count, is_true(atom, lambda _: INACTIVE))

    def _values_with_keys(self, address: str) -> tuple[list[ValueKey], list[ExpressionValue]]:
        """Return two lists with an entry for each row: hashable keys that differ for different values, and values."""
        if address not in self._cached_values:
            node = self._space.variables[address].node
            if isinstance(node, Choice):
                places = self._decisions[address].tolist()
                self._cached_values[address] = places, [INACTIVE if p < 0 else node.branches[p].name for p in places]
            else:
                self._cached_values[address] = self._hyperparameter_values(node)
        return self._cached_values[address]

    def _hyperparameter_values(self, node: Hyperparameter) -> tuple[list[ValueKey], list[ExpressionValue]]:
        marks: list[ValueKey] = [None] * self._count
        worths: list[ExpressionValue] = [INACTIVE] * self._count
        column = self._given.get(node.address)
        if column is None:
            return marks, worths
        kept = np.flatnonzero(self.is_active(node.address)[column.rows])
        codes = column.values.take(kept)
        places = [0] * len(kept) if codes.parts is None else codes.parts.tolist()
        known = zip(zip(places, codes.codes.tolist(), strict=True), decode_values(node.domain, codes), strict=True)
        for row, (mark, value) in zip(column.rows[kept].tolist(), known, strict=True):
            marks[row], worths[row] = mark, value
        return marks, worths


@renamed_attributes(owned="variables_of_selected_alternatives")
class ConfigurationConverter:
    """The conversions between the configurations of a space and ADMM points with a given layout."""

    def __init__(self, space: Space, layout: VariableLayout) -> None:
        self.space, self.layout = space, layout
        self.blocks: tuple[OneHotBlock, ...] = layout.blocks
        self.orders: tuple[StepOrderDecision, ...] = layout.orders
        self.theta_c, self.theta_d = layout.theta_c, layout.theta_d
        self.choices = {choice.address: choice for choice in space.decisions}

    def encode(self, configuration: Configuration) -> AdmmPoint:
        """Return the point of a member of the space; inactive variables have their defaults in it."""
        return self.encode_all([configuration])[0]

    def encode_all(self, configurations: Sequence[Configuration] | ConfigurationBatch) -> AdmmPoints:
        """Return the points of several members, in the same order; see `encode`."""
        given = configurations
        columns = given if isinstance(given, ConfigurationBatch) else self._tabulator.build(given)
        points = self.points_with_default_theta(len(columns))
        unreached = np.full(len(columns), -1)
        decisions = {address: columns.decisions.get(address, unreached) for address in self.choices}
        for order, matrices in zip(self.orders, points.orders, strict=True):
            places = decisions[order.address]
            matrices[...] = order.matrices[np.where(places < 0, order.default, places)]
        self._write(points, self.layout.always, columns, decisions, None)
        for block in self.blocks:
            numbers = self._alternative_indices(block, columns, decisions)
            points.z[np.arange(len(points)), block.start + numbers] = 1
            for number, alternative in enumerate(block.alternatives):
                alone = len(block.alternatives_by_branch[alternative.branch_index]) == 1
                self._write(points, alternative.columns, columns, decisions, None if alone else numbers == number)
        return points

    def points_with_default_theta(self, count: int) -> AdmmPoints:
        """Return `count` points with zeros in z and orders, and the defaults in theta."""
        theta_c, theta_d = (np.tile(box.default, (count, 1)) for box in (self.theta_c, self.theta_d))
        orders = tuple(np.zeros((count, order.size, order.size), np.int8) for order in self.orders)
        return AdmmPoints(np.zeros((count, self.layout.width), np.int8), theta_c, theta_d, orders)

    def _alternative_indices(
        self, block: OneHotBlock, columns: ConfigurationBatch, decisions: Mapping[str, Array]
    ) -> Array:
        places = decisions[block.address]
        found = np.zeros(len(places), np.int64)
        for place, numbers in block.alternatives_by_branch.items():
            found[places == place] = numbers[0]
            for number in numbers[1:]:
                alternative = block.alternatives[number]
                rows = np.flatnonzero(places == place)
                found[rows[self._is_taken(alternative, rows, columns, decisions)]] = number
        return found

    def _is_taken(
        self, way: IndicatorVariable, rows: Array, columns: ConfigurationBatch, decisions: Mapping[str, Array]
    ) -> Array:
        """Return True for each of the given rows whose configuration belongs to an alternative of z.

        All of these rows must take the branch of the alternative.
        """
        taken: Array = np.ones(len(rows), bool)
        for address, branch in way.case.branches.items():
            place = -1 if branch is None else self.choices[address].branch_indices[branch]
            taken &= decisions[address][rows] == place
        for address, coding in way.restrictions:
            column = columns.hyperparameters.get(address)
            inside: Array = np.zeros(len(columns), bool)
            if column is not None:
                inside[column.rows] = coding.contains(column.values) if coding else True
            taken &= inside[rows] if coding else ~inside[rows]
        return taken

    def _write(
        self,
        points: AdmmPoints,
        slots: Columns,
        columns: ConfigurationBatch,
        decisions: Mapping[str, Array],
        mine: Array | None,
    ) -> None:
        for slot in slots:
            if slot.address in self.choices:
                places = decisions[slot.address]
                rows = np.flatnonzero(places >= 0 if mine is None else (places >= 0) & mine)
                points.theta_d[rows, slot.integer_column] = places[rows]
            elif slot.address in columns.hyperparameters:
                column = columns.hyperparameters[slot.address]
                rows, values = column.rows, column.values
                if mine is not None:
                    kept = np.flatnonzero(mine[rows])
                    rows, values = rows[kept], values.take(kept)
                write_values(points, slot, slot.coding, rows, values)

    @cached_property
    def _tabulator(self) -> BatchBuilder:
        return BatchBuilder(self.space)

    def decode(self, point: AdmmPoint) -> Configuration:
        """Return the configuration of a point that `accepts` accepts, which is not checked here.

        Values of theta are rounded to the nearest members of D (3.5 to 4).
        """
        return self.decode_all(AdmmPoints.stack([point]))[0]

    def decode_all(self, points: AdmmPoints | Sequence[AdmmPoint]) -> list[Configuration]:
        """Return the configurations of points, in their order; see `decode`."""
        return self.to_batch(points).configurations()

    def to_batch(self, points: AdmmPoints | Sequence[AdmmPoint]) -> ConfigurationBatch:
        """Return the configurations of points as a batch; see `decode`."""
        return self.evaluate_constraints(self._with_nearest_theta(self.to_points(points))).batch

    def _with_nearest_theta(self, points: AdmmPoints) -> AdmmPoints:
        nearest = self.theta_c.nearest(points.theta_c), self.theta_d.nearest(points.theta_d)
        return AdmmPoints(points.z, *nearest, points.orders)

    def active_mask(self, point: AdmmPoint) -> VariableMask:
        """Return the mask of the active variables of a point, with z and orders of 0 and 1; shapes (C,) and (D,)."""
        found = self.active_masks(AdmmPoints.stack([point]))
        return VariableMask(found.theta_c[0], found.theta_d[0], tuple(order[0] for order in found.orders))

    def active_masks(self, points: AdmmPoints | Sequence[AdmmPoint]) -> VariableMask:
        """Return the mask of the active variables of many points: shapes (n, C), (n, D), and (n,) for each order."""
        points = self._with_nearest_theta(self.to_points(points))
        truths, count = self.evaluate_constraints(points), len(points)
        theta_c, theta_d = np.zeros((count, len(self.theta_c)), bool), np.zeros((count, len(self.theta_d)), bool)
        for slot, taken in self._columns_with_rows(points):
            active = truths.is_active(slot.address) & taken
            if slot.integer_column is None:
                theta_c[:, slot.number_columns] = active[:, None]
                continue
            theta_d[:, slot.integer_column] = active
            for piece, column in zip(slot.coding.continuous_pieces, slot.number_columns, strict=True):
                theta_c[:, column] = active & (points.theta_d[:, slot.integer_column] == piece.first).astype(bool)
        return VariableMask(theta_c, theta_d, tuple(truths.is_active(order.address) for order in self.orders))

    def variables_of_selected_alternatives(self, point: AdmmPoint) -> VariableMask:
        """Return the mask of all variables that belong to the alternatives that z selects, active or not.

        It also has the variables that belong to every pipeline.
        """
        ways = [(block.stage, block.alternatives[int(point.z[block.columns].argmax())]) for block in self.blocks]
        names = {None, *((stage, way.name) for stage, way in ways)}
        branches = {None, *((stage, way.branch) for stage, way in ways)}
        theta_c, theta_d = (np.array([o in names for o in box.owners], bool) for box in (self.theta_c, self.theta_d))
        return VariableMask(theta_c, theta_d, tuple(np.array(order.owner in branches) for order in self.orders))

    def _columns_with_rows(self, points: AdmmPoints) -> Iterator[tuple[ThetaColumns, Array]]:
        always: Array = np.ones(len(points), bool)
        yield from ((slot, always) for slot in self.layout.always)
        for block in self.blocks:
            for number, alternative in enumerate(block.alternatives):
                taken = points.z[:, block.start + number] == 1
                yield from ((slot, taken) for slot in alternative.columns)

    def evaluate_constraints(self, points: AdmmPoints) -> BatchConstraintTruths:
        """Return an object that evaluates conditions and constraints at many points.

        z and orders must contain only 0 and 1, and theta must be in D.
        """
        decisions: dict[str, Array] = {}
        pieces: ValuePieces = {}
        for order, matrices in zip(self.orders, points.orders, strict=True):
            decisions[order.address] = order.nearest_order_indices(matrices)
        self._read_columns(points, self.layout.always, np.arange(len(points)), decisions, pieces)
        for block in self.blocks:
            numbers = points.z[:, block.columns].argmax(axis=1)
            places = np.array([alternative.branch_index for alternative in block.alternatives])
            decisions[block.address] = places[numbers]
            for number in np.unique(numbers).tolist():
                rows, alternative = np.flatnonzero(numbers == number), block.alternatives[number]
                self._apply_case(alternative, rows, len(points), decisions, pieces)
                self._read_columns(points, alternative.columns, rows, decisions, pieces)
        reached = self._reached_decisions(decisions, len(points))
        given = {a: join_column_pieces(found) for a, found in pieces.items()}
        return BatchConstraintTruths(self.space, len(points), reached, given)

    def _apply_case(
        self, alternative: IndicatorVariable, rows: Array, count: int, decisions: dict[str, Array], pieces: ValuePieces
    ) -> None:
        for address, branch in alternative.case.branches.items():
            if branch is not None:
                decisions.setdefault(address, np.full(count, -1))[rows] = self.choices[address].branch_indices[branch]
        for address, value in alternative.case.fixed_values.items():
            node = self.space.variables[address].hyperparameter
            codes = encode_values(node.domain, [value]).take(np.zeros(len(rows), np.int64))
            pieces.setdefault(address, []).append((rows, codes))

    def _read_columns(
        self, points: AdmmPoints, slots: Columns, rows: Array, decisions: dict[str, Array], pieces: ValuePieces
    ) -> None:
        for slot in slots:
            if slot.address in self.choices:
                places = points.theta_d[rows, slot.integer_column].astype(np.int64)
                decisions.setdefault(slot.address, np.full(len(points), -1))[rows] = places
            else:
                whole = None if slot.integer_column is None else points.theta_d[rows, slot.integer_column]
                numbers = [points.theta_c[rows, column] for column in slot.number_columns]
                pieces.setdefault(slot.address, []).append((rows, slot.coding.decode(whole, numbers)))

    def _reached_decisions(self, decisions: Mapping[str, Array], count: int) -> dict[str, Array]:
        """Return the branch indices of all decisions, with -1 in the rows where their owners are not taken."""
        found: dict[str, Array] = {}
        for address in self.choices:
            places = decisions.get(address, np.full(count, -1))
            for owner, branch in self.space.variables[address].owners:
                places = np.where(found[owner] == self.choices[owner].branch_indices[branch], places, -1)
            found[address] = places
        return found

    def to_points(self, points: AdmmPoints | Sequence[AdmmPoint]) -> AdmmPoints:
        """Return points as one batch of arrays; a batch is returned unchanged."""
        if isinstance(points, AdmmPoints):
            return points
        return AdmmPoints.stack(points) if len(points) else self.points_with_default_theta(0)


def write_values(
    points: AdmmPoints, slot: ThetaColumns, coding: MixedIntegerEncoding, rows: Array, values: ValueCodes
) -> None:
    """Write the codes of a variable's values into its columns of theta, in the given rows of `points`."""
    whole, numbers = coding.encode(values)
    if slot.integer_column is not None:
        points.theta_d[rows, slot.integer_column] = whole
    for column, found in zip(slot.number_columns, numbers, strict=True):
        known = ~np.isnan(found)
        points.theta_c[rows[known], column] = found[known]
