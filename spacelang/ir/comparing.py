"""The truth of linear comparisons for many values at once, equal to what one by one evaluation says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from spacelang.ir.codes import EXACT, Array, Codes, decoded, nearest_float, numbers
from spacelang.ir.domain import Domain
from spacelang.ir.expr import INACTIVE, Arithmetic, Call, Compare, Constant, Expr, Reference, Worth, holds, references

_RELATIONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_OPERATIONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}


@dataclass(frozen=True, slots=True)
class Rows:
    """Values of some hyperparameters, entry by entry, where all of them are active."""

    domains: Mapping[str, Domain]
    codes: Mapping[str, Codes]
    count: int


def truths(atom: Compare, rows: Rows) -> Array:
    """Whether a linear comparison holds, for each entry.

    Floats do what one by one evaluation does unless integers beyond their precision appear: such entries, and those
    that are no numbers, are evaluated one by one.
    """
    values = {address: numbers(rows.domains[address], rows.codes[address]) for address in references(atom)}
    doubtful = np.zeros(rows.count, bool)
    with np.errstate(all="ignore"):
        left, right = (_value(side, values, doubtful) for side in (atom.left, atom.right))
        found: Array = np.broadcast_to(_RELATIONS[atom.relation](left, right), rows.count).copy()
    for entry in np.flatnonzero(doubtful).tolist():
        found[entry] = holds(atom, _lookup(rows, entry))
    return found


def _value(expression: Expr, values: Mapping[str, Array], doubtful: Array) -> Array:
    match expression:
        case Constant():
            found = np.array(nearest_float(expression.value))
        case Reference():
            found = values[expression.address]
        case Arithmetic():
            left, right = (_value(side, values, doubtful) for side in (expression.left, expression.right))
            found = _OPERATIONS[expression.operation](left, right)
        case Call(arguments=(argument,)):  # `min` or `max` of one
            found = _value(argument, values, doubtful)
        case _:
            raise ValueError("not a linear expression")
    doubtful |= ~(np.abs(found) < EXACT)  # NaN too
    return found


def _lookup(rows: Rows, entry: int) -> Callable[[str], Worth]:
    def value_at(address: str) -> Worth:
        if address not in rows.codes:
            return INACTIVE
        return decoded(rows.domains[address], rows.codes[address].take(np.array([entry])))[0]

    return value_at
