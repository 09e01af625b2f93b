"""Sampling along conditions: hyperparameters that nothing depends on are drawn after what their conditions mention.

Given everything else, such a hyperparameter has its own distribution wherever its condition holds, so nothing has to be
tabulated for it. A joint table would have a row for each pair of a condition and an interval of the hyperparameter that
the conditions compare.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.random import Generator

from spacelang.ir import expr
from spacelang.ir.domain import Categorical, Domain, parts
from spacelang.ir.space import Space, Variable
from spacelang.ir.value import is_number
from spacelang.ir.walk import expressions_of
from spacelang.sampling.draw_acceptance import JointValues, evaluate_comparison
from spacelang.sampling.independent_sampling import ValueSampler
from spacelang.sampling.value_codes import Array, ValueCodes, decode_values
from spacelang.solver.linear_inequalities import linear_difference

MAX_JOINT_MEMBERS: Final = 32
"""The largest number of connected hyperparameters that are all drawn from joint tables.

In larger components, those that nothing depends on are drawn along their conditions. The distribution is the same, but
a seed gives other draws, so small components keep the draws of earlier versions.
"""


def split_off_conditional_variables(space: Space) -> tuple[dict[str, Variable], tuple[Variable, ...]]:
    """Return the variables to draw jointly, by address, and those to draw afterwards along conditions, in their order.

    Each variable to draw afterwards has a condition, and only conditions of later variables mention it. The space must
    have no decisions.
    """
    expressions = expressions_of(space.variables.values(), space.constraints)
    mentions = Counter(address for expression in expressions for address in expr.mentioned_addresses(expression))
    waiting = [each for each in space.variables.values() if each.condition is not None and not mentions[each.address]]
    found: list[Variable] = []
    while waiting:
        variable = waiting.pop()
        found.append(variable)
        assert variable.condition is not None
        for address in expr.mentioned_addresses(variable.condition):
            mentions[address] -= 1
            if not mentions[address] and space.variables[address].condition is not None:
                waiting.append(space.variables[address])
    last = tuple(reversed(found))
    names = {variable.address for variable in last}
    return {address: each for address, each in space.variables.items() if address not in names}, last


class ConditionalSampler:
    """A sampler of hyperparameters in the order in which their conditions mention each other."""

    def __init__(self, variables: Sequence[Variable], value_samplers: Mapping[str, ValueSampler]) -> None:
        """Store the variables.

        They must be ordered so that each condition mentions only earlier variables, or variables whose values are given
        to `draw`.
        """
        self._conditions = [(each.address, each.condition) for each in variables if each.condition is not None]
        self._value_samplers = value_samplers
        self.mentioned = frozenset(
            address for _, condition in self._conditions for address in expr.mentioned_addresses(condition)
        )
        """The addresses whose values `draw` needs, unless it draws them itself."""

    def draw(self, rows: "ConditionEvaluator", rng: Generator) -> Iterator[tuple[str, Array, ValueCodes]]:
        """Yield each address with its active rows and their values; `rows` has what was drawn before."""
        for address, condition in self._conditions:
            active = np.flatnonzero(rows.is_true(condition))
            values = self._value_samplers[address].draw(len(active), rng)
            if address in self.mentioned:
                rows.add(address, active, values)
            yield address, active, values


class ConditionEvaluator:
    """An evaluator of conditions on the values of several rows, which are added one hyperparameter after another."""

    def __init__(self, domains: Mapping[str, Domain], count: int) -> None:
        self._domains = domains
        self._count = count
        self._active: dict[str, Array] = {}
        self._codes: dict[str, ValueCodes] = {}

    def add(self, address: str, active: Array, values: ValueCodes) -> None:
        """Add a hyperparameter: the rows in which it is active, and its value in each of them."""
        self._active[address] = np.zeros(self._count, bool)
        self._active[address][active] = True
        self._codes[address] = ValueCodes(
            self._in_rows(active, values.codes), None if values.parts is None else self._in_rows(active, values.parts)
        )

    def _in_rows(self, active: Array, found: Array) -> Array:
        whole = np.zeros(self._count, found.dtype)
        whole[active] = found
        return whole

    def is_true(self, expression: expr.Expr) -> Array:
        """Return a boolean array: True for the rows in which an expression holds."""
        match expression:
            case expr.And():
                return self._all_true(map(self.is_true, expression.terms))
            case expr.Or():
                return np.logical_not(self._all_true(np.logical_not(self.is_true(term)) for term in expression.terms))
            case expr.Not():
                return np.logical_not(self.is_true(expression.term))
            case expr.ActivityTest():
                return self._active[expression.address]
            case _:
                return self._is_atom_true(expression)

    def _all_true(self, several: Iterable[Array]) -> Array:
        found = np.ones(self._count, bool)
        for each in several:
            found &= each
        return found

    def _is_atom_true(self, atom: expr.Expr) -> Array:
        """Return a boolean array: True for the rows in which an atom is true; with something inactive, it is false."""
        addresses = expr.references(atom)
        found = np.zeros(self._count, bool)
        rows = np.flatnonzero(self._all_true(self._active[address] for address in addresses))
        values = {address: self._codes[address].take(rows) for address in addresses}
        is_linear = isinstance(atom, expr.Compare) and linear_difference(atom) is not None
        if is_linear and all(_has_only_numbers(self._domains[address]) for address in addresses):
            assert isinstance(atom, expr.Compare)
            found[rows] = evaluate_comparison(atom, JointValues(self._domains, values, len(rows)))
        else:
            found[rows] = self._truth_by_distinct_values(atom, values, len(rows))
        return found

    def _truth_by_distinct_values(self, atom: expr.Expr, values: Mapping[str, ValueCodes], count: int) -> Array:
        """Evaluate an atom once for each different combination of the values that it mentions."""
        keys = np.zeros(count, np.int64)
        for codes in values.values():
            for column in (codes.codes, codes.parts):
                if column is not None:
                    _, places = np.unique(column, return_inverse=True)
                    _, keys = np.unique(keys * (count + 1) + places, return_inverse=True)
        _, examples, places = np.unique(keys, return_index=True, return_inverse=True)
        decoded = {
            address: decode_values(self._domains[address], codes.take(examples)) for address, codes in values.items()
        }
        truths = [
            expr.is_true(atom, lambda address, place=place: decoded[address][place])  # type: ignore[misc]
            for place in range(len(examples))
        ]
        return np.array(truths, bool)[places]


def _has_only_numbers(domain: Domain) -> bool:
    return all(not isinstance(part, Categorical) or all(map(is_number, part.values)) for part in parts(domain))
