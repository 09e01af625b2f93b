"""Atoms of conditions and constraints as tests of ConfigSpace hyperparameters."""

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import Final, Literal, assert_never

from spacelang.ir.domain import Categorical, Grid, Real, Simple, members
from spacelang.ir.expr import Compare, Constant, Expr, Reference, holds, references
from spacelang.ir.given import OPEN, given
from spacelang.ir.value import Value
from spacelang.reductions.domains import Renamed
from spacelang.reductions.questions import Only
from spacelang.solver.atoms import cuts_of, told_apart
from spacelang.solver.pieces import joined
from spacelang.targets._configspace.codes import rounded
from spacelang.targets._configspace.pieces import LISTED, Coded, ExactIntegers, FlatHyperparameter, Held, Scaled
from spacelang.targets._configspace.ways import (
    NEVER,
    Among,
    FlatValue,
    PairRelation,
    Threshold,
    UnsayableError,
    Ways,
    both,
    either,
)

MOST_JOINT: Final = 4_000
"""The maximum number of joint values of several hyperparameters that are enumerated for one comparison."""

NARROWEST: Final = 1e-9
"""A range of floats narrower than this, relative to the size of its numbers, is not compared with numbers."""

_MIRRORED: Final[Mapping[tuple[str, bool], Literal["<", "<=", ">", ">=", "=="]]] = {
    ("<", True): "<", ("<=", True): "<=", (">", True): ">", (">=", True): ">=", ("==", True): "==",
    ("<", False): ">=", ("<=", False): ">", (">", False): "<=", (">=", False): "<", ("!=", False): "==",
}  # fmt: skip


def atom_ways(atom: Expr, truth: bool, codes: Mapping[str, Coded], activity: Mapping[str, Ways]) -> Ways:
    """Return where an atom has a truth value and all hyperparameters that it names are active.

    Raises UnsayableError if ConfigSpace cannot express that.
    """
    named = references(atom)
    if len(named) == 1:
        return where(codes[named[0]], atom, truth, activity)
    relation = _relation(atom, truth, codes)
    if relation is not None:
        return (frozenset((relation,)),)
    return _by_value(atom, truth, codes, activity)


def among(parameter: FlatHyperparameter, values: Iterable[FlatValue], activity: Mapping[str, Ways]) -> Ways:
    """Return where a finite hyperparameter is active and has one of the given values."""
    chosen, active = frozenset(values) & frozenset(parameter.choices), activity[parameter.name]
    if not chosen or active == NEVER:
        return NEVER
    return active if len(chosen) == len(parameter.choices) else (frozenset((Among(parameter.name, chosen),)),)


def where(coded: Coded, atom: Expr, truth: bool, activity: Mapping[str, Ways]) -> Ways:
    """Return where a hyperparameter is active and gives a truth value to an atom over it alone."""

    def is_wanted(value: Value) -> bool:
        return holds(atom, lambda _: value) is truth

    found = []
    for place, piece in enumerate(coded.pieces):
        match piece:
            case Only():
                assert coded.selector is not None
                labels = [coded.selector.choices[place]] if is_wanted(piece.value) else []
                found.append(among(coded.selector, labels, activity))
            case Held(reduction=Renamed() as renamed, parameter=parameter):
                pairs = zip(members(renamed.part), parameter.choices, strict=True)
                found.append(among(parameter, [choice for v, choice in pairs if is_wanted(v)], activity))
            case Held():
                cut = _cut(piece.part, atom)
                wanted = [cell for cell in cut if is_wanted(cell.middle)]
                found.append(_within(piece, wanted, len(cut), activity))
            case _:
                assert_never(piece)
    return either(*found)


def _cut(part: Simple, atom: Expr) -> tuple[Simple, ...]:
    if cuts_of(atom) is None and (part.size is None or part.size > MOST_JOINT):
        raise UnsayableError
    return told_apart(part, (atom,))


def _within(piece: Held, wanted: list[Simple], count: int, activity: Mapping[str, Ways]) -> Ways:
    """Return where the value of a range lies in some of its cells."""
    if not wanted or activity[piece.name] == NEVER:
        return NEVER
    if len(wanted) == count:
        return activity[piece.name]
    # ConfigSpace compares the logarithms of integers, which have rounding errors.
    if (piece.parameter.log and not isinstance(piece.reduction, Scaled)) or _is_narrow(piece.parameter):
        raise UnsayableError
    found = joined(piece.part, wanted)
    runs = found.parts if not isinstance(found, Grid | Real | Categorical) else (found,)
    return either(*(_run(piece, run) for run in runs))


def _is_narrow(parameter: FlatHyperparameter) -> bool:
    """Return True if a range is so narrow that the rounding of ConfigSpace spoils comparisons."""
    largest = max(1.0, abs(parameter.lower), abs(parameter.upper))
    return parameter.kind.endswith("float") and parameter.upper - parameter.lower < NARROWEST * largest


def _run(piece: Held, run: Simple) -> Ways:
    part = piece.part
    if run.size == 1:
        return (frozenset((Threshold(piece.name, "==", _number(piece, run.middle)),)),)
    found: list[Ways] = []
    if isinstance(run, Grid):
        found += _integers(piece.parameter, _number(piece, run.least), _number(piece, run.greatest))
    else:
        assert isinstance(run, Real)
        assert isinstance(part, Real)
        if (run.lower, run.lower_open) != (part.lower, part.lower_open):
            found.append(_bound(piece, ">", run.lower, run.lower_open))
        if (run.upper, run.upper_open) != (part.upper, part.upper_open):
            found.append(_bound(piece, "<", run.upper, run.upper_open))
    return both(*found)


def _integers(parameter: FlatHyperparameter, first: float, last: float) -> Iterator[Ways]:
    if first > parameter.lower:
        yield (frozenset((Threshold(parameter.name, ">", first - 1),)),)
    if last < parameter.upper:
        yield (frozenset((Threshold(parameter.name, "<", last + 1),)),)


def _bound(piece: Held, sign: Literal["<", ">"], number: float, is_open: bool) -> Ways:
    limit = _number(piece, number)
    strict: Ways = (frozenset((Threshold(piece.name, sign, limit),)),)
    return strict if is_open else either(strict, (frozenset((Threshold(piece.name, "==", limit),)),))


def _number(piece: Held, value: Value) -> float:
    """Return a number in the units of a hyperparameter, rounded as ConfigSpace rounds its values."""
    number = piece.reduction.encode(value)
    assert isinstance(number, int | float)
    if not isinstance(piece.reduction, Scaled):
        return number
    found = rounded(number)
    return min(max(found, piece.parameter.lower), piece.parameter.upper)


def _relation(atom: Expr, truth: bool, codes: Mapping[str, Coded]) -> PairRelation | None:
    """Return the comparison of two numeric hyperparameters that are encoded unchanged, else None."""
    match atom:
        case Compare(left=Reference() as left, right=Reference() as right):
            names = [_as_is(codes[reference.address]) for reference in (left, right)]
            sign = _MIRRORED.get((atom.relation, truth))
            if sign is None or names[0] is None or names[1] is None:
                return None
            return PairRelation(names[0], sign, names[1])
        case _:
            return None


def _as_is(coded: Coded) -> str | None:
    match coded.pieces:
        case (Held(name=name, reduction=ExactIntegers() | Scaled(exponent=0)),):
            return name
        case _:
            return None


def _by_value(atom: Expr, truth: bool, codes: Mapping[str, Coded], activity: Mapping[str, Ways]) -> Ways:
    """Return where an atom has a truth value, by enumerating the values of all but one hyperparameter."""
    named = sorted(references(atom), key=lambda address: codes[address].domain.size or float("inf"))
    found: list[Ways] = []
    listed = [[*_values(codes[address])] for address in named[:-1]]
    if prod(map(len, listed)) > MOST_JOINT:
        raise UnsayableError
    address, values = named[0], listed[0]
    for value in values:
        rest = given(atom, lambda asked, value=value: value if asked == address else OPEN)  # type: ignore[misc]
        same = Compare("==", Reference(address), Constant(value))
        here = where(codes[address], same, True, activity)
        if len(named) == 2:
            there = where(codes[named[1]], rest, truth, activity)
        else:
            there = _by_value(rest, truth, codes, activity)
        found.append(both(here, there))
    return either(*found)


def _values(coded: Coded) -> Iterator[Value]:
    for piece in coded.pieces:
        is_listed = isinstance(piece, Only) or isinstance(piece.reduction, Renamed)
        if not is_listed and (piece.part.size is None or piece.part.size > LISTED):
            raise UnsayableError
        yield from members(piece.part)
