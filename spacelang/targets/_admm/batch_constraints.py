"""Evaluation of conditions and constraints for many configurations at once."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TypeAlias

import numpy as np

from spacelang.ir.expr import INACTIVE, Active, And, Expr, ExpressionValue, Is, Not, Or, is_true, scope
from spacelang.ir.space import Choice, Constraint, Hyperparameter, Space, Variable
from spacelang.sampling.batch import Batch, Column
from spacelang.sampling.value_codes import Array, decode_values

ValueKey: TypeAlias = tuple[int, object] | int | None
"""A key that distinguishes the values of a variable: (part, code) of a value, the index of a branch, or None."""


class BatchConstraints:
    """The conditions and constraints of a space over rows of decisions and values.

    Logical operators are evaluated on arrays. Every other test is evaluated by the expression evaluator, once for each
    distinct combination of the values that it names.
    """

    def __init__(self, space: Space, count: int, decisions: Mapping[str, Array], given: Mapping[str, Column]) -> None:
        """Create the evaluation of `count` rows.

        `decisions` has the branch index of each row by address, -1 where a decision is not reached. `given` has the
        values of hyperparameters by address. A value matters only in the rows where its hyperparameter is active, and
        there it must be given.
        """
        self._space = space
        self._count = count
        self._decisions = decisions
        self._given = given
        self._active: dict[str, Array] = {}
        self._cached_truths: dict[Expr, Array] = {}
        self._cached_values: dict[str, tuple[list[ValueKey], list[ExpressionValue]]] = {}

    @cached_property
    def batch(self) -> Batch:
        """The rows as a batch, with the values of the hyperparameters that are active in them."""
        found = {}
        for node in self._space.hyperparameters:
            column = self._given.get(node.address)
            if column is not None and len(column.rows):
                kept = np.flatnonzero(self.is_active(node.address)[column.rows])
                if len(kept) == len(column.rows):
                    found[node.address] = column
                elif len(kept):
                    found[node.address] = Column(column.rows[kept], column.values.take(kept))
        return Batch(self._space, self._count, self._decisions, found)

    @cached_property
    def is_admitted(self) -> Array:
        """True for each row that violates no constraint, a boolean array (count,)."""
        found: Array = np.ones(self._count, bool)
        for constraint in self._space.constraints:
            found &= self.is_satisfied(constraint)
        return found

    def is_satisfied(self, constraint: Constraint) -> Array:
        """Return True for each row that satisfies a constraint.

        A constraint applies only to rows in which everything that it names is active.
        """
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
            case And():
                return self._join(expression.terms, np.logical_and, empty=True)
            case Or():
                return self._join(expression.terms, np.logical_or, empty=False)
            case Not():
                return ~self.is_true(expression.term)
            case Is():
                return self._has_branch(expression.address, expression.branches)
            case Active():
                return self.is_active(expression.address)
            case _:
                return self._evaluate_atom(expression)

    def _join(self, terms: tuple[Expr, ...], join: Callable[[Array, Array], Array], *, empty: bool) -> Array:
        found: Array = np.full(self._count, empty)
        for term in terms:
            found = join(found, self.is_true(term))
        return found

    def _evaluate_atom(self, atom: Expr) -> Array:
        names = scope(atom)
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
        """Return the value of a variable in each row, and a hashable mark that distinguishes different values."""
        if address not in self._cached_values:
            node = self._space.variables[address].node
            self._cached_values[address] = (
                self._branch_values(node) if isinstance(node, Choice) else self._hyperparameter_values(node)
            )
        return self._cached_values[address]

    def _branch_values(self, choice: Choice) -> tuple[list[ValueKey], list[ExpressionValue]]:
        places = self._decisions[choice.address].tolist()
        names = [branch.name for branch in choice.branches]
        return places, [INACTIVE if place < 0 else names[place] for place in places]

    def _hyperparameter_values(self, node: Hyperparameter) -> tuple[list[ValueKey], list[ExpressionValue]]:
        marks: list[ValueKey] = [None] * self._count
        worths: list[ExpressionValue] = [INACTIVE] * self._count
        column = self._given.get(node.address)
        if column is None:
            return marks, worths
        kept = np.flatnonzero(self.is_active(node.address)[column.rows])
        codes = column.values.take(kept)
        places = [0] * len(kept) if codes.parts is None else codes.parts.tolist()
        values = decode_values(node.domain, codes)
        for row, mark, value in zip(
            column.rows[kept].tolist(), zip(places, codes.codes.tolist(), strict=True), values, strict=True
        ):
            marks[row], worths[row] = mark, value
        return marks, worths
