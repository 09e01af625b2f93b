"""Atoms, the smallest true-or-false parts of a condition, and the cells of a domain that they distinguish."""

from collections.abc import Iterator, Sequence

from spacelang.ir.domain import Domain, SimpleDomain, parts
from spacelang.ir.expr import (
    Active,
    Compare,
    Constant,
    Expr,
    In,
    Is,
    Reference,
    is_true,
    logical_atoms,
    nodes,
    references,
)
from spacelang.ir.rationals import Rational, to_rational
from spacelang.ir.value import Value, identity_key
from spacelang.solver.cells import MAX_ENUMERATED, cut_into_cells, singleton_cells
from spacelang.solver.linear import difference


def atoms_of(expression: Expr) -> Iterator[Expr]:
    """Return an iterator over the atoms of a condition that use the value of a hyperparameter."""
    return (leaf for leaf in logical_atoms(expression) if references(leaf))


def is_multivariate(atom: Expr) -> bool:
    """Return True if the truth of an atom depends on more than one variable."""
    return len(references(atom)) > 1 or any(isinstance(node, Is | Active) for node in nodes(atom))


def is_always_decidable(expression: Expr) -> bool:
    """Return True if each atom uses a single hyperparameter and its cut points are known, so it is decidable."""
    return not any(is_multivariate(atom) or cut_points_of(atom) is None for atom in atoms_of(expression))


def cut_points_of(atom: Expr) -> tuple[Rational, ...] | None:
    """Return the numbers at which an atom over one hyperparameter may change its truth.

    The result is None if they are not known.
    """
    match atom:
        case Reference():
            return ()
        case In(item=Reference()):
            return tuple(cut for value in atom.values for cut in _cut_point(value))
        case (
            Compare(left=Reference(), right=Constant() as constant)
            | Compare(left=Constant() as constant, right=Reference())
        ):
            return _cut_point(constant.value)
        case Compare():
            form = difference(atom)
            return None if form is None else form.roots
        case _:
            return None


def can_be_cut(domain: Domain, atom: Expr) -> bool:
    """Return True if the cut points of an atom over one hyperparameter are known, or its domain is small."""
    return cut_points_of(atom) is not None or (domain.size is not None and domain.size <= MAX_ENUMERATED)


def distinguished_cells(domain: Domain, atoms: Sequence[Expr], *, by_value: bool = False) -> tuple[SimpleDomain, ...]:
    """Return the cells into which atoms over a single hyperparameter divide its domain.

    Every atom must pass `can_be_cut`. With `by_value`, each value of a categorical set gets a cell of its own.
    """
    if not atoms and not by_value:
        return parts(domain)
    cuts = [cut_points_of(atom) for atom in atoms]
    if None in cuts:
        return singleton_cells(domain)

    def signature(value: Value) -> tuple[object, ...]:
        return (*(is_true(atom, lambda _: value) for atom in atoms), identity_key(value) if by_value else None)

    return cut_into_cells(domain, [place for places in cuts for place in places or ()], signature)


def _cut_point(value: Value) -> tuple[Rational, ...]:
    number = to_rational(value)
    return () if number is None else (number,)
