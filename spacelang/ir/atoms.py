"""Atoms: the smallest parts of a condition that are true or false, and where along the numbers they change."""

import math
from collections.abc import Iterator

from spacelang.ir.expr import (
    Active,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Is,
    Not,
    Or,
    Reference,
    nodes,
    references,
)
from spacelang.ir.linear import Number, difference
from spacelang.ir.rounding import changes


def atoms_of(expression: Expr) -> Iterator[Expr]:
    """The atoms of a condition that name a hyperparameter."""
    match expression:
        case And() | Or():
            for term in expression.terms:
                yield from atoms_of(term)
        case Not():
            yield from atoms_of(expression.term)
        case Compare() | In() | Reference() | Arithmetic() | Call():
            if references(expression):
                yield expression
        case Is() | Active() | Constant():
            return


def is_related(atom: Expr) -> bool:
    """Whether an atom's truth depends on more than one variable."""
    return len(references(atom)) > 1 or any(isinstance(node, Is | Active) for node in nodes(atom))


def cuts_of(atom: Expr) -> tuple[Number, ...] | None:
    """Where an atom over one hyperparameter may change its truth along the numbers; None where that is not known.

    The numbers are finite and not rounded, of any size.
    """
    match atom:
        case Reference():
            return ()
        case In(item=Reference()):
            return tuple(cut for value in atom.values for cut in _cut(Constant(value)))
        case (
            Compare(left=Reference(), right=Constant() as constant)
            | Compare(left=Constant() as constant, right=Reference())
        ):
            return _cut(constant)
        case Compare():
            form = difference(atom)
            roots = None if form is None else form.roots
            if not roots:
                return roots
            rounded = changes(atom, roots[0])
            return None if rounded is None else (*roots, *rounded)
        case _:
            return None


def _cut(constant: Constant) -> tuple[Number, ...]:
    value = constant.value
    if not isinstance(value, int | float) or isinstance(value, bool):
        return ()
    return () if isinstance(value, float) and not math.isfinite(value) else (value,)
