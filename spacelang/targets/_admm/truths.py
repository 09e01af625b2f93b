"""Evaluation of conditions and constraints for many configurations at once."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TypeAlias

import numpy as np

from spacelang.draws.batch import Batch, Column
from spacelang.draws.codes import Array, decoded
from spacelang.ir.expr import INACTIVE, Active, And, Expr, Is, Not, Or, Worth, holds, scope
from spacelang.ir.space import Choice, Constraint, Hyperparameter, Space, Variable

Mark: TypeAlias = tuple[int, object] | int | None
"""A key that distinguishes the values of a variable: (part, code) of a value, the index of a branch, or None."""


class Truths:
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
        self._known: dict[Expr, Array] = {}
        self._told: dict[str, tuple[list[Mark], list[Worth]]] = {}

    @cached_property
    def columns(self) -> Batch:
        """The rows as a batch, with the values of the hyperparameters that are active in them."""
        found = {}
        for node in self._space.hyperparameters:
            column = self._given.get(node.address)
            if column is not None and len(column.rows):
                kept = np.flatnonzero(self.active(node.address)[column.rows])
                if len(kept) == len(column.rows):
                    found[node.address] = column
                elif len(kept):
                    found[node.address] = Column(column.rows[kept], column.values.take(kept))
        return Batch(self._space, self._count, self._decisions, found)

    @cached_property
    def admitted(self) -> Array:
        """True for each row that violates no constraint, a boolean array (count,)."""
        found: Array = np.ones(self._count, bool)
        for constraint in self._space.constraints:
            found &= self.satisfied(constraint)
        return found

    def satisfied(self, constraint: Constraint) -> Array:
        """Return True for each row that satisfies a constraint.

        A constraint applies only to rows in which everything that it names is active.
        """
        applies: Array = np.ones(self._count, bool)
        for address in constraint.scope:
            applies = applies & self.active(address)
        if not applies.any():
            return np.asarray(~applies)
        return np.asarray(~applies | (self.holds(constraint.expression) != constraint.forbidden))

    def active(self, address: str) -> Array:
        """Return True for each row in which a variable is reached and its condition is true."""
        if address not in self._active:
            self._active[address] = self._find_active(self._space.variables[address])
        return self._active[address]

    def holds(self, expression: Expr) -> Array:
        """Return True for each row in which an expression is true."""
        if expression not in self._known:
            self._known[expression] = self._find(expression)
        return self._known[expression]

    def _find_active(self, variable: Variable) -> Array:
        found: Array = np.ones(self._count, bool)
        for owner, branch in variable.owners:
            found = found & self._takes(owner, (branch,))
        if variable.condition is not None and found.any():
            found = found & self.holds(variable.condition)
        return found

    def _takes(self, address: str, branches: tuple[str, ...]) -> Array:
        choice = self._space.variables[address].choice
        found: Array = np.zeros(self._count, bool)
        for branch in branches:  # faster than `isin`, which sorts
            if branch in choice.places:
                found |= self._decisions[address] == choice.places[branch]
        return found

    def _find(self, expression: Expr) -> Array:
        match expression:
            case And():
                return self._joined(expression.terms, np.logical_and, empty=True)
            case Or():
                return self._joined(expression.terms, np.logical_or, empty=False)
            case Not():
                return ~self.holds(expression.term)
            case Is():
                return self._takes(expression.address, expression.branches)
            case Active():
                return self.active(expression.address)
            case _:
                return self._atom(expression)

    def _joined(self, terms: tuple[Expr, ...], join: Callable[[Array, Array], Array], *, empty: bool) -> Array:
        found: Array = np.full(self._count, empty)
        for term in terms:
            found = join(found, self.holds(term))
        return found

    def _atom(self, atom: Expr) -> Array:
        names = scope(atom)
        told = [self._worths(name) for name in names]
        known: dict[tuple[Mark, ...], bool] = {}
        found: list[bool] = []
        for row, marks in enumerate(zip(*(marks for marks, _ in told), strict=True)):
            if marks not in known:
                worths = {name: values[row] for name, (_, values) in zip(names, told, strict=True)}
                known[marks] = holds(atom, worths.__getitem__)
            found.append(known[marks])
        return np.array(found, bool) if names else np.full(self._count, holds(atom, lambda _: INACTIVE))

    def _worths(self, address: str) -> tuple[list[Mark], list[Worth]]:
        """Return the value of a variable in each row, and a hashable mark that distinguishes different values."""
        if address not in self._told:
            node = self._space.variables[address].node
            self._told[address] = self._taken(node) if isinstance(node, Choice) else self._valued(node)
        return self._told[address]

    def _taken(self, choice: Choice) -> tuple[list[Mark], list[Worth]]:
        places = self._decisions[choice.address].tolist()
        names = [branch.name for branch in choice.branches]
        return places, [INACTIVE if place < 0 else names[place] for place in places]

    def _valued(self, node: Hyperparameter) -> tuple[list[Mark], list[Worth]]:
        marks: list[Mark] = [None] * self._count
        worths: list[Worth] = [INACTIVE] * self._count
        column = self._given.get(node.address)
        if column is None:
            return marks, worths
        kept = np.flatnonzero(self.active(node.address)[column.rows])
        codes = column.values.take(kept)
        places = [0] * len(kept) if codes.parts is None else codes.parts.tolist()
        values = decoded(node.domain, codes)
        for row, mark, value in zip(
            column.rows[kept].tolist(), zip(places, codes.codes.tolist(), strict=True), values, strict=True
        ):
            marks[row], worths[row] = mark, value
        return marks, worths
