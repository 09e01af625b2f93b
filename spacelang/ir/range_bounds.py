"""Bounds that name hyperparameters: constraints that a text has as an end of a range (see `Constraint.bound`).

A bound compares a hyperparameter with an expression, its limit. Texts and their constraints for `hi`:

    hi : int[lo, 100]          require lo <= hi                           lower bound
    hi : float[0, 1 - a)       require hi < 1 - a                         upper bound
    hi : {0} | int[lo, 100]    forbid lo > hi and not hi in {0}           in a union, other parts are excepted
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from spacelang.frozen import frozen
from spacelang.ir.domain import (
    Categorical,
    Domain,
    Grid,
    Real,
    Union,
    contains,
    describe,
    describe_range,
    literal,
    parts,
)
from spacelang.ir.expr import And, Compare, Constant, Expr, In, Not, Or, Reference, logical_atoms, references
from spacelang.ir.space import Constraint, Space
from spacelang.ir.value import Value
from spacelang.text import NO_SPAN


@frozen
class RangeBound:
    """A bound of one range of a hyperparameter: that at index `part` of its domain; `is_open` excludes the limit.

    `constraints` are those that the bound replaces in a text: one, or one for each use of a chain.
    """

    address: str
    part: int
    is_lower: bool
    is_open: bool
    limit: Expr
    constraints: tuple[Constraint, ...]


def range_bounds(space: Space) -> Mapping[str, tuple[RangeBound, ...]]:
    """Return the bounds by the address of the bounded hyperparameter, at most one for each end of a range."""
    found: dict[str, dict[tuple[int, bool], RangeBound]] = {}
    for constraint in space.constraints:
        bound = _range_bound(constraint, space) if constraint.bound else None
        if bound is not None:
            found.setdefault(bound.address, {}).setdefault((bound.part, bound.is_lower), bound)
    return {address: tuple(several.values()) for address, several in found.items()}


def describe_with_bounds(domain: Domain, bounds: Sequence[RangeBound], show: Callable[[Expr], str]) -> str:
    """Return a domain in the syntax of the language, with bounds as they are written; `show` prints their limits."""
    found = []
    for place, part in enumerate(parts(domain)):
        if isinstance(part, Categorical):
            found.append(describe(part))
            continue
        opens = (False, False) if isinstance(part, Grid) else (part.lower_open, part.upper_open)
        ends = {True: (literal(part.lower), opens[0]), False: (literal(part.upper), opens[1])}
        ends |= {each.is_lower: (show(each.limit), each.is_open) for each in bounds if each.part == place}
        found.append(describe_range(part, ends[True], ends[False]))
    return " | ".join(found)


def bounded_address(constraint: Constraint) -> str | None:
    """Return the address of the hyperparameter that a constraint bounds, or None if it is written as a constraint."""
    if not constraint.bound:
        return None
    terms = constraint.expression.terms if isinstance(constraint.expression, And | Or) else (constraint.expression,)
    compared = [term for term in terms if isinstance(term, Compare)][:1]
    if not compared:
        # The tests of a `count` in the bound are around the comparisons, which have the span of the bound.
        compared = [term for term in logical_atoms(constraint.expression) if isinstance(term, Compare)]
        compared = [term for term in compared if term.span == constraint.span != NO_SPAN]
    several = (term.right if constraint.bound == "lower" else term.left for term in compared)
    return next((own.address for own in several if isinstance(own, Reference)), None)


def _range_bound(constraint: Constraint, space: Space) -> RangeBound | None:
    """Return the bound that a constraint stands for, or None if its expression no longer has the form of one."""
    first, *others = constraint.expression.terms if isinstance(constraint.expression, And) else (constraint.expression,)
    if not isinstance(first, Compare) or first.relation not in _RELATIONS[constraint.forbidden]:
        return None
    own, limit = (first.right, first.left) if constraint.bound == "lower" else (first.left, first.right)
    if not isinstance(own, Reference) or own.address not in space.variables or own.address in references(limit):
        return None
    domain = space.variables[own.address].hyperparameter.domain
    if isinstance(domain, Union) is not constraint.forbidden:
        return None
    part = _part_of(domain, others, own.address)
    is_open = _RELATIONS[constraint.forbidden][first.relation]
    if part is None:
        return None
    return RangeBound(own.address, part, constraint.bound == "lower", is_open, limit, (constraint,))


_RELATIONS: Mapping[bool, Mapping[str, bool]] = {False: {"<": True, "<=": False}, True: {">=": True, ">": False}}
"""Whether a comparison excludes the limit, by `forbidden` and the sign of the comparison."""


def _part_of(domain: Domain, exceptions: list[Expr], address: str) -> int | None:
    """Return the index of the only range of a domain that is not among the exceptions, or None."""
    if not isinstance(domain, Union):
        return 0 if isinstance(domain, Grid | Real) and not exceptions else None
    if any(not isinstance(each, Not) or references(each) != (address,) for each in exceptions):
        return None
    excepted = {place for each in exceptions for place in _parts_in(domain, each)}
    left = [place for place, part in enumerate(domain.parts) if isinstance(part, Grid | Real) and place not in excepted]
    return left[0] if len(left) == 1 else None


def _parts_in(domain: Union, exception: Expr) -> Iterator[int]:
    """Yield the indices of the parts of a union that contain a number of an exception."""
    numbers: list[Value] = []
    for atom in logical_atoms(exception):
        if isinstance(atom, In):
            numbers += atom.values
        elif isinstance(atom, Compare):
            numbers += [side.value for side in (atom.left, atom.right) if isinstance(side, Constant)]
    for place, part in enumerate(domain.parts):
        if any(contains(part, number) for number in numbers):
            yield place
