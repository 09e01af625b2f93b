"""Tests of joint draws: vectorized evaluation of comparisons and expressions, and which draws agree with the states.

Comparisons that rounding errors could decide are evaluated exactly.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from spacelang.ir import expr
from spacelang.ir.domain import Domain, Grid, Real
from spacelang.ir.domain_properties import EXACT_INTEGER_LIMIT
from spacelang.ir.expr import references
from spacelang.ir.space import Hyperparameter
from spacelang.ir.value import is_number
from spacelang.sampling.value_codes import Array, ValueCodes, decode_values, nearest_float, to_floats
from spacelang.solver.constraint_network import ConstraintNetwork

_COMPARISON_FUNCTIONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
_ARITHMETIC_FUNCTIONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.power,
}  # fmt: skip
RELATIVE_ERROR_BOUND: Final = 2.0**-50
"""An upper bound of the relative error of each number and each operation of a comparison.

One rounding changes its result by at most 2^-53 of it. Products of rounding errors are far smaller than the margin.
"""
RAREST_SHARE: Final = 1e-4  # A space is refused if a smaller share of the draws is kept
FIRST_DRAWS: Final = 2_000  # The number of draws after which most shares are known
MEASURED_DRAWS: Final = 30_000  # The maximum number of draws by which a share is measured
ENOUGH_KEPT: Final = 100  # A share is known as soon as this number of draws is kept


@dataclass(frozen=True, slots=True)
class JointValues:
    """Values of hyperparameters, all active: `domains` and `codes` by address, each code of `count` entries."""

    domains: Mapping[str, Domain]
    codes: Mapping[str, ValueCodes]
    count: int


def evaluate_comparison(atom: expr.Compare, rows: JointValues) -> Array:
    """Return a boolean array of shape (count,): for each entry, whether a linear comparison is true."""
    values = {address: to_floats(rows.domains[address], rows.codes[address]) for address in expr.references(atom)}
    with np.errstate(all="ignore"):
        (left, size), (right, other) = (_value_and_magnitude(side, values) for side in (atom.left, atom.right))
        found: Array = np.broadcast_to(_COMPARISON_FUNCTIONS[atom.relation](left, right), rows.count).copy()
        rounded = RELATIVE_ERROR_BOUND * sum(1 for _ in expr.nodes(atom)) * (size + other)
        is_clear = np.abs(left - right) > rounded  # not with NaN
        is_clear = np.broadcast_to(is_clear | _is_exact_in_integers(atom, values, size + other), rows.count)
    for entry in np.flatnonzero(~is_clear).tolist():
        found[entry] = expr.is_true(atom, _lookup_at_entry(rows, entry))
    return found


def evaluate_expression(expression: expr.Expr, rows: JointValues) -> Array:
    """Return a boolean array of shape (count,): for each entry, whether an expression of any kind is true."""
    if isinstance(expression, expr.Compare) and _is_vectorizable(expression, rows.domains):
        return evaluate_comparison(expression, rows)
    truths = (expr.is_true(expression, _lookup_at_entry(rows, entry)) for entry in range(rows.count))
    return np.fromiter(truths, bool, rows.count)


def _is_vectorizable(comparison: expr.Compare, domains: Mapping[str, Domain]) -> bool:
    """Return True if a comparison has only arithmetic over numbers."""
    return all(isinstance(domains[address], Real | Grid) for address in expr.references(comparison)) and all(
        isinstance(node, expr.Compare | expr.Arithmetic | expr.Reference)
        or (isinstance(node, expr.Constant) and is_number(node.value))
        for node in expr.nodes(comparison)
    )


def _is_exact_in_integers(atom: expr.Compare, values: Mapping[str, Array], size: Array) -> Array:
    """Return True for entries whose numbers are integers that floats represent exactly; never with a division."""
    found: Array = size < EXACT_INTEGER_LIMIT
    for node in expr.nodes(atom):
        if isinstance(node, expr.Constant):
            found = found & (nearest_float(node.value) % 1 == 0)
        elif isinstance(node, expr.Reference):
            found = found & (values[node.address] % 1 == 0)
        elif isinstance(node, expr.Arithmetic) and node.operation in {"/", "**"}:
            return np.array(False)
    return found


def _value_and_magnitude(expression: expr.Expr, values: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the value of an expression, and the sum of the magnitudes of its terms, which bounds rounding errors."""
    match expression:
        case expr.Constant():
            found = np.array(nearest_float(expression.value))
        case expr.Reference():
            found = values[expression.address]
        case expr.Arithmetic():
            (left, size), (right, other) = (
                _value_and_magnitude(side, values) for side in (expression.left, expression.right)
            )
            return _ARITHMETIC_FUNCTIONS[expression.operation](left, right), _result_magnitude(
                expression.operation, size, other, left, right
            )
        case expr.Call(arguments=(argument,)):  # `min` or `max` of one
            return _value_and_magnitude(argument, values)
        case _:
            raise ValueError("not a linear expression")
    return found, np.abs(found)


def _result_magnitude(operation: expr.Operation, size: Array, other: Array, left: Array, right: Array) -> Array:
    """Return the magnitude of the result of an operation on operands of two magnitudes.

    `left` and `right` are the values of the operands. A divisor may be far smaller than the terms it was computed
    from; its rounding error then dominates the error of the quotient.
    """
    match operation:
        case "+" | "-":
            return size + other
        case "*":
            return size * other
        case "/":
            weighted: Array = size * other / right**2
            return weighted
        case "**":
            # The relative errors of the base and of the exponent grow by |b| and |ln a|; the factor 2 covers the rest.
            base = np.abs(left)
            power: Array = 2 * base**right * (1 + np.abs(right) * size / base + other * np.abs(np.log(base)))
            return power


def _lookup_at_entry(rows: JointValues, entry: int) -> Callable[[str], expr.ExpressionValue]:
    def value_at(address: str) -> expr.ExpressionValue:
        if address not in rows.codes:
            return expr.INACTIVE
        return decode_values(rows.domains[address], rows.codes[address].take(np.array([entry])))[0]

    return value_at


@dataclass(frozen=True, slots=True)
class AcceptanceRate:
    """A number of draws, and how many of them were `kept` because they pass all tests."""

    kept: int
    drawn: int

    @property
    def rate(self) -> float:
        """The share of the draws that were kept."""
        return self.kept / self.drawn

    @property
    def is_too_small(self) -> bool:
        """True if draws pass the tests so rarely that the space is refused."""
        return self.rate < RAREST_SHARE


class DrawTest:
    """A test whether drawn values agree with the truths that the states of a network assume."""

    def __init__(self, network: ConstraintNetwork) -> None:
        """Prepare the test; it needs the hyperparameters of the network only."""
        self._ranges, self._tested = network.ranges, network.tested
        self._domains: Mapping[str, Domain] = {
            member.address: member.node.domain for member in network.members if isinstance(member.node, Hyperparameter)
        }
        self._numeric = {a: np.array([is_number(c.representative) for c in mine]) for a, mine in network.cells.items()}

    def passes(self, states: Mapping[str, Array], codes: Mapping[str, ValueCodes], count: int) -> Array:
        """Return a boolean array: True where the values of all active hyperparameters agree with the states."""
        agreeing = np.ones(count, bool)
        for name, atom in self._ranges.items():
            compared = agreeing.copy()
            for address in references(atom):
                compared &= (states[address] >= 0) & self._numeric[address][states[address]]
            rows = np.flatnonzero(compared)
            agreeing[rows] = evaluate_comparison(atom, self._values(references(atom), codes, rows)) == (
                states[name][rows] == 1
            )
        for name, tested in self._tested.items():
            known = agreeing.copy()
            for address in references(tested):
                known &= states[address] >= 0
            rows = np.flatnonzero(known)
            found = evaluate_expression(tested, self._values(references(tested), codes, rows))
            agreeing[rows] = found == (states[name][rows] == 1)
        return agreeing

    def _values(self, addresses: tuple[str, ...], codes: Mapping[str, ValueCodes], rows: Array) -> JointValues:
        return JointValues(self._domains, {address: codes[address].take(rows) for address in addresses}, len(rows))
