"""Cells: the parts into which a domain is split where an atom of a constraint may change its truth.

A cell is itself a domain. All its values agree on every atom that uses only this hyperparameter, so one value
represents all of them. A range of a million integers needs only about as many cells as the constants it is compared
with.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Final, assert_never

from spacelang.grouping import group_by_key
from spacelang.ir import expr
from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, Union, contains, members, parts
from spacelang.ir.domain_properties import subgrid
from spacelang.ir.value import Rational, Value, identity_key, to_fraction, to_rational
from spacelang.solver.linear_inequalities import LinearSum, linear_difference, linear_form

Signature = Callable[[Value], tuple[object, ...]]
"""A function that returns a key of a value; an expression cannot distinguish values with equal keys."""
MAX_ENUMERATED = 10_000
"""The maximum size of a domain that is enumerated because an atom relates several hyperparameters."""


def split_into_cells(domain: Domain, cuts: Sequence[Rational], signature: Signature) -> tuple[SimpleDomain, ...]:
    """Split a domain into disjoint cells that make it up: ranges at the numbers `cuts`, sets by the signature.

    Values of a set with the same `signature` share a cell.
    """
    return tuple(cell for part in parts(domain) for cell in _cells_of(part, sorted(set(cuts)), signature))


def singleton_cells(domain: Domain) -> tuple[SimpleDomain, ...]:
    """Return one cell for each value of a finite domain."""
    return tuple(Categorical((value,)) for part in parts(domain) for value in members(part))


def probability_of_cell(cell: SimpleDomain, domain: Domain) -> float:
    """Return the probability of a cell of `domain` under the default distribution.

    Each part of a union is equally likely; a range is log-uniform under `log`, and otherwise uniform. Raise ValueError
    if the cell does not lie in the domain.
    """
    for part in parts(domain):
        share = _share_of_length(cell, part) if part.size is None else _share_of_members(cell, part)
        if share is not None:
            return share / len(parts(domain))
    raise ValueError("the given piece of a domain does not lie in this domain")


def _cells_of(part: SimpleDomain, cuts: Sequence[Rational], signature: Signature) -> list[SimpleDomain]:
    match part:
        case Categorical():
            alike = group_by_key((signature(value), value) for value in part.values)
            return [Categorical(tuple(values)) for values in alike.values()]
        case Grid():
            return list(_cut_grid(part, cuts))
        case Real():
            return list(_cut_interval(part, cuts))


def _cut_grid(part: Grid, cuts: Sequence[Rational]) -> list[SimpleDomain]:
    """Return the parts of a grid between the numbers `cuts`; a member that equals one of them is a part of its own."""
    size = part.size
    bounds = {0, size}
    for cut in cuts:
        above = _first_index_from(part, cut)
        bounds.add(above)
        if above < size and to_fraction(part.value_at(above)) == cut:
            bounds.add(above + 1)
    return [subgrid(part, start, end - 1) for start, end in pairwise(sorted(bounds))]


def _first_index_from(part: Grid, cut: Rational) -> int:
    """Return the index of the first member >= `cut`, or the size if there is none.

    `bisect` cannot use Python's large integers.
    """
    first, end = 0, part.size
    while first < end:
        middle = (first + end) // 2
        if to_fraction(part.value_at(middle)) < cut:
            first = middle + 1
        else:
            end = middle
    return first


def _cut_interval(part: Real, cuts: Sequence[Rational]) -> list[SimpleDomain]:
    """Return the open intervals between the numbers `cuts`, and each of these as a point, without empty intervals.

    The numbers are rounded to floats.
    """
    inner = sorted({float(cut) + 0.0 for cut in cuts if to_fraction(part.lower) <= cut <= to_fraction(part.upper)})
    result: list[SimpleDomain] = []
    lower, lower_open = part.lower, part.lower_open
    for cut in inner:
        before = replace(part, lower=lower, lower_open=lower_open, upper=cut, upper_open=True)
        if contains(before, before.representative):
            result.append(before)
        inside = (cut > part.lower or not part.lower_open) and (cut < part.upper or not part.upper_open)
        if inside:
            result.append(replace(part, lower=cut, upper=cut, lower_open=False, upper_open=False))
        lower, lower_open = cut, True
    after = replace(part, lower=lower, lower_open=lower_open)
    return [*result, after] if contains(after, after.representative) else result


def _share_of_members(cell: SimpleDomain, part: SimpleDomain) -> float | None:
    if cell.size is None or not contains(part, cell.representative):
        return None
    if isinstance(part, Grid) and part.log:
        lower, upper = (cell.lower, cell.upper) if isinstance(cell, Grid) else (cell.representative,) * 2
        return log_uniform_probability(lower, upper, part)  # type: ignore[arg-type]
    assert part.size is not None
    return cell.size / part.size


def log_uniform_probability(lower: float, upper: float, part: Grid) -> float:
    """Return the log-uniform probability of the grid members from `lower` to `upper`, both included."""
    start = 2 * part.lower - min(part.step, part.lower) if lower == part.lower else 2 * lower - part.step
    return log_ratio(start, 2 * upper + part.step) / log_uniform_length(part)


def log_uniform_length(part: Grid) -> float:
    """Return the difference of the two `log_uniform_ends`, accurate even if they are almost equal."""
    doubled = 2 * part.lower - min(part.step, part.lower), 2 * part.upper + part.step  # integers, so nothing is rounded
    return log_ratio(*doubled)


def log_ratio(lower: float, upper: float) -> float:
    """Return log(upper / lower) for positive numbers; it is nonzero for different numbers, however close."""
    return math.log(upper) - math.log(lower) if upper > 2 * lower else math.log1p((upper - lower) / lower)


def log_uniform_ends(part: Grid) -> tuple[float, float]:
    """Return the logarithms of the ends of the interval of a log-uniform draw: half a step around each member.

    Below the smallest member it is at most half of that member, so that the end stays positive.
    """
    return math.log(part.lower - min(part.step, part.lower) / 2), math.log(part.upper + part.step / 2)


def _share_of_length(cell: SimpleDomain, part: SimpleDomain) -> float | None:
    if not isinstance(cell, Real) or not isinstance(part, Real) or cell.lower < part.lower or cell.upper > part.upper:
        return None
    if part.log:
        return log_ratio(cell.lower, cell.upper) / log_ratio(part.lower, part.upper)
    return (cell.upper - cell.lower) / (part.upper - part.lower)


def hyperparameter_atoms(expression: expr.Expr) -> Iterator[expr.Expr]:
    """Return an iterator over the atoms of a condition that use the value of a hyperparameter."""
    return (leaf for leaf in expr.logical_atoms(expression) if expr.references(leaf))


def is_multivariate(atom: expr.Expr) -> bool:
    """Return True if an atom depends on several hyperparameters, or also on a decision or on activity."""
    return len(expr.references(atom)) > 1 or any(
        isinstance(node, expr.BranchTest | expr.ActivityTest) for node in expr.nodes(atom)
    )


def is_always_decidable(expression: expr.Expr) -> bool:
    """Return True if each atom with a hyperparameter has only one, and it is known where its truth may change."""
    return all(map(_is_decidable_atom, expr.logical_atoms(expression)))


def _is_decidable_atom(atom: expr.Expr) -> bool:
    match atom:
        case expr.BranchTest() | expr.ActivityTest() | expr.Reference() | expr.In(item=expr.Reference()):
            return True
        case expr.Compare(left=expr.Reference(), right=expr.Constant()):
            return True
        case _:
            return not expr.references(atom) or not (is_multivariate(atom) or cut_points_of(atom) is None)


def cut_points_of(atom: expr.Expr) -> tuple[Rational, ...] | None:
    """Return the numbers at which an atom over one hyperparameter may change its truth, or None if unknown."""
    match atom:
        case expr.Reference():
            return ()
        case expr.In(item=expr.Reference()):
            return tuple(cut for value in atom.values for cut in _cut_point(value))
        case (
            expr.Compare(left=expr.Reference(), right=expr.Constant() as constant)
            | expr.Compare(left=expr.Constant() as constant, right=expr.Reference())
        ):
            return _cut_point(constant.value)
        case expr.Compare():
            form = linear_difference(atom)
            return _cut_points_of_power(atom) if form is None else form.roots
        case _:
            return None


MAX_EXPONENT: Final = 64
MAX_POWER: Final = 10**30  # Larger roots would need more digits


def _cut_points_of_power(atom: expr.Compare) -> tuple[Rational, ...] | None:
    """Return the cut points of a comparison of `x ** n` with a constant, for a whole n above 0; None for another one.

    An irrational root lies between two neighbouring floats, and between two integers; all of these are cut points.
    """
    for power, other in ((atom.left, atom.right), (atom.right, atom.left)):
        match power, linear_form(other):
            case (
                expr.Arithmetic(operation="**", left=expr.Reference(), right=expr.Constant(value=int(exponent))),
                LinearSum(factors=factors, constant=level),
            ) if not factors and 0 < exponent <= MAX_EXPONENT and abs(level) <= MAX_POWER:
                return _points_around_roots(level, exponent)
            case _:
                continue
    return None


def _points_around_roots(level: Fraction, exponent: int) -> tuple[Rational, ...]:
    with localcontext(prec=60):
        size = Decimal(abs(level.numerator)) / level.denominator
        root = size ** (Decimal(1) / exponent) if size else size
    near = float(root)
    around = [to_fraction(each) for each in (near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf))]
    points = [*around, Fraction(math.floor(root)), Fraction(math.ceil(root))]
    if exponent % 2:
        return tuple(points if level >= 0 else [-point for point in points])
    return () if level < 0 else (*points, *(-point for point in points))


def can_be_split(domain: Domain, atom: expr.Expr) -> bool:
    """Return True if an atom over one hyperparameter can split its domain: its cut points are known, or it is small."""
    return cut_points_of(atom) is not None or (domain.size is not None and domain.size <= MAX_ENUMERATED)


def split_at_atoms(domain: Domain, atoms: Sequence[expr.Expr], *, by_value: bool = False) -> tuple[SimpleDomain, ...]:
    """Split a domain into cells in which no atom changes its truth; with `by_value`, each value of a set is a cell."""
    if not atoms and not by_value:
        return parts(domain)
    cuts = [cut_points_of(atom) for atom in atoms]
    if None in cuts:
        return singleton_cells(domain)

    def signature(value: Value) -> tuple[object, ...]:
        return (*(expr.is_true(atom, lambda _: value) for atom in atoms), identity_key(value) if by_value else None)

    return split_into_cells(domain, [place for places in cuts for place in places or ()], signature)


def _cut_point(value: Value) -> tuple[Rational, ...]:
    number = to_rational(value)
    return () if number is None else (number,)


def join_cells(domain: Domain, pieces: Sequence[SimpleDomain]) -> Domain:
    """Return the union of some cells of `domain` as one domain, with the order, scale and steps of `domain`."""
    found = [
        part
        for whole in parts(domain)
        for part in _joined_part(whole, [each for each in pieces if contains(whole, each.representative)])
    ]
    if tuple(found) == parts(domain):
        return domain
    return found[0] if len(found) == 1 else Union(tuple(found))


def _joined_part(whole: SimpleDomain, pieces: Sequence[SimpleDomain]) -> list[SimpleDomain]:
    if not pieces:
        return []
    match whole:
        case Categorical():
            values = tuple(value for value in whole.values if any(contains(piece, value) for piece in pieces))
            return [type(whole)(values)]
        case Grid():
            return _join_grid(whole, pieces)
        case Real():
            return _join_intervals(whole, pieces)
        case _:
            assert_never(whole)


def _join_grid(whole: Grid, pieces: Sequence[SimpleDomain]) -> list[SimpleDomain]:
    ends = sorted((whole.index_of(p.value_at(0)), whole.index_of(p.value_at(p.last_index))) for p in pieces)
    runs = [ends[0]]
    for first, last in ends[1:]:
        runs[-1:] = [(runs[-1][0], last)] if first == runs[-1][1] + 1 else [runs[-1], (first, last)]
    every = 0, whole.last_index
    return [whole if ends == every else subgrid(whole, *ends) for ends in runs]


def _join_intervals(whole: Real, pieces: Sequence[SimpleDomain]) -> list[SimpleDomain]:
    """Return the intervals with those merged that touch each other; a point is an interval of length 0."""
    spans = sorted(map(_as_interval, pieces), key=lambda span: (span.lower, span.lower_open, span.upper))
    found = [spans[0]]
    for span in spans[1:]:
        last = found[-1]
        if _are_adjacent(last, span):
            found[-1] = replace(last, upper=span.upper, upper_open=span.upper_open)
        else:
            found.append(span)
    if len(found) == 1 and (found[0].least, found[0].greatest) == (whole.least, whole.greatest):
        return [whole]
    return [replace(span, log=whole.log) for span in found]


def _are_adjacent(left: Real, right: Real) -> bool:
    """Return True if no float lies between two disjoint intervals, of which `left` ends first."""
    if left.upper == right.lower:
        return not (left.upper_open and right.lower_open)
    return right.least == math.nextafter(left.greatest, math.inf)


def _as_interval(piece: SimpleDomain) -> Real:
    match piece:
        case Real():
            return piece
        case Categorical():
            assert isinstance(piece.representative, float)
            return Real(piece.representative, piece.representative)
        case Grid():
            raise TypeError("a grid does not lie in a continuous range")
        case _:
            assert_never(piece)
