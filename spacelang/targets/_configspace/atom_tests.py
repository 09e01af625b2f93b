"""Atoms of conditions and constraints as tests of ConfigSpace hyperparameters."""

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import Final, Literal, assert_never

from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain, members
from spacelang.ir.expr import Compare, Constant, Expr, Reference, is_true, references
from spacelang.ir.partial_evaluation import UNKNOWN, partially_evaluate
from spacelang.ir.value import Value
from spacelang.reductions.domains import MemberRenamingReduction
from spacelang.reductions.questions import FixedPiece
from spacelang.solver.atoms import cut_points_of, distinguished_cells
from spacelang.solver.domain_pieces import join_pieces
from spacelang.targets._configspace.normal_form import (
    NEVER,
    FlatValue,
    InexpressibleError,
    MembershipTest,
    NormalForm,
    PairRelation,
    ThresholdTest,
    conjunction,
    disjunction,
)
from spacelang.targets._configspace.pieces import (
    MAX_LISTED,
    EncodedDomain,
    ExactIntegerReduction,
    FlatHyperparameter,
    HyperparameterPiece,
    ScaledRangeReduction,
)
from spacelang.targets._configspace.range_support import round_decimals

MAX_JOINT_VALUES: Final = 4_000
"""The maximum number of joint values of several hyperparameters that are enumerated for one comparison."""

MIN_RELATIVE_WIDTH: Final = 1e-9
"""A range of floats narrower than this, relative to the size of its numbers, is not compared with numbers."""

_SIGN_FOR_TRUTH: Final[Mapping[tuple[str, bool], Literal["<", "<=", ">", ">=", "=="]]] = {
    ("<", True): "<", ("<=", True): "<=", (">", True): ">", (">=", True): ">=", ("==", True): "==",
    ("<", False): ">=", ("<=", False): ">", (">", False): "<=", (">=", False): "<", ("!=", False): "==",
}  # fmt: skip


def atom_normal_form(
    atom: Expr, truth: bool, codes: Mapping[str, EncodedDomain], activity: Mapping[str, NormalForm]
) -> NormalForm:
    """Return where an atom has a truth value and all hyperparameters that it names are active.

    Raises InexpressibleError if ConfigSpace cannot express that.
    """
    named = references(atom)
    if len(named) == 1:
        return unary_atom_form(codes[named[0]], atom, truth, activity)
    relation = _pair_relation(atom, truth, codes)
    if relation is not None:
        return (frozenset((relation,)),)
    return _enumerated_form(atom, truth, codes, activity)


def membership_form(
    parameter: FlatHyperparameter, values: Iterable[FlatValue], activity: Mapping[str, NormalForm]
) -> NormalForm:
    """Return where a finite hyperparameter is active and has one of the given values."""
    chosen, active = frozenset(values) & frozenset(parameter.choices), activity[parameter.name]
    if not chosen or active == NEVER:
        return NEVER
    return active if len(chosen) == len(parameter.choices) else (frozenset((MembershipTest(parameter.name, chosen),)),)


def unary_atom_form(coded: EncodedDomain, atom: Expr, truth: bool, activity: Mapping[str, NormalForm]) -> NormalForm:
    """Return where a hyperparameter is active and gives a truth value to an atom over it alone."""

    def is_wanted(value: Value) -> bool:
        return is_true(atom, lambda _: value) is truth

    found = []
    for place, piece in enumerate(coded.pieces):
        match piece:
            case FixedPiece():
                assert coded.selector is not None
                labels = [coded.selector.choices[place]] if is_wanted(piece.value) else []
                found.append(membership_form(coded.selector, labels, activity))
            case HyperparameterPiece(reduction=MemberRenamingReduction() as renamed, parameter=parameter):
                pairs = zip(members(renamed.part), parameter.choices, strict=True)
                found.append(membership_form(parameter, [choice for v, choice in pairs if is_wanted(v)], activity))
            case HyperparameterPiece():
                cut = _cells_of(piece.part, atom)
                wanted = [cell for cell in cut if is_wanted(cell.middle)]
                found.append(_cells_form(piece, wanted, len(cut), activity))
            case _:
                assert_never(piece)
    return disjunction(*found)


def _cells_of(part: SimpleDomain, atom: Expr) -> tuple[SimpleDomain, ...]:
    if cut_points_of(atom) is None and (part.size is None or part.size > MAX_JOINT_VALUES):
        raise InexpressibleError
    return distinguished_cells(part, (atom,))


def _cells_form(
    piece: HyperparameterPiece, wanted: list[SimpleDomain], count: int, activity: Mapping[str, NormalForm]
) -> NormalForm:
    """Return where the value of a range lies in some of its cells."""
    if not wanted or activity[piece.name] == NEVER:
        return NEVER
    if len(wanted) == count:
        return activity[piece.name]
    # ConfigSpace compares the logarithms of integers, which have rounding errors.
    if (piece.parameter.log and not isinstance(piece.reduction, ScaledRangeReduction)) or _is_narrow(piece.parameter):
        raise InexpressibleError
    found = join_pieces(piece.part, wanted)
    runs = found.parts if not isinstance(found, Grid | Real | Categorical) else (found,)
    return disjunction(*(_run_form(piece, run) for run in runs))


def _is_narrow(parameter: FlatHyperparameter) -> bool:
    """Return True if a range is so narrow that the rounding of ConfigSpace spoils comparisons."""
    largest = max(1.0, abs(parameter.lower), abs(parameter.upper))
    return parameter.kind.endswith("float") and parameter.upper - parameter.lower < MIN_RELATIVE_WIDTH * largest


def _run_form(piece: HyperparameterPiece, run: SimpleDomain) -> NormalForm:
    part = piece.part
    if run.size == 1:
        return (frozenset((ThresholdTest(piece.name, "==", _scaled_number(piece, run.middle)),)),)
    found: list[NormalForm] = []
    if isinstance(run, Grid):
        found += _integer_bounds(piece.parameter, _scaled_number(piece, run.least), _scaled_number(piece, run.greatest))
    else:
        assert isinstance(run, Real)
        assert isinstance(part, Real)
        if (run.lower, run.lower_open) != (part.lower, part.lower_open):
            found.append(_bound_form(piece, ">", run.lower, run.lower_open))
        if (run.upper, run.upper_open) != (part.upper, part.upper_open):
            found.append(_bound_form(piece, "<", run.upper, run.upper_open))
    return conjunction(*found)


def _integer_bounds(parameter: FlatHyperparameter, first: float, last: float) -> Iterator[NormalForm]:
    if first > parameter.lower:
        yield (frozenset((ThresholdTest(parameter.name, ">", first - 1),)),)
    if last < parameter.upper:
        yield (frozenset((ThresholdTest(parameter.name, "<", last + 1),)),)


def _bound_form(piece: HyperparameterPiece, sign: Literal["<", ">"], number: float, is_open: bool) -> NormalForm:
    limit = _scaled_number(piece, number)
    strict: NormalForm = (frozenset((ThresholdTest(piece.name, sign, limit),)),)
    return strict if is_open else disjunction(strict, (frozenset((ThresholdTest(piece.name, "==", limit),)),))


def _scaled_number(piece: HyperparameterPiece, value: Value) -> float:
    """Return a number in the units of a hyperparameter, rounded as ConfigSpace rounds its values."""
    number = piece.reduction.encode(value)
    assert isinstance(number, int | float)
    if not isinstance(piece.reduction, ScaledRangeReduction):
        return number
    found = round_decimals(number)
    return min(max(found, piece.parameter.lower), piece.parameter.upper)


def _pair_relation(atom: Expr, truth: bool, codes: Mapping[str, EncodedDomain]) -> PairRelation | None:
    """Return the comparison of two numeric hyperparameters that are encoded unchanged, else None."""
    match atom:
        case Compare(left=Reference() as left, right=Reference() as right):
            names = [_unchanged_name(codes[reference.address]) for reference in (left, right)]
            sign = _SIGN_FOR_TRUTH.get((atom.relation, truth))
            if sign is None or names[0] is None or names[1] is None:
                return None
            return PairRelation(names[0], sign, names[1])
        case _:
            return None


def _unchanged_name(coded: EncodedDomain) -> str | None:
    match coded.pieces:
        case (HyperparameterPiece(name=name, reduction=ExactIntegerReduction() | ScaledRangeReduction(exponent=0)),):
            return name
        case _:
            return None


def _enumerated_form(
    atom: Expr, truth: bool, codes: Mapping[str, EncodedDomain], activity: Mapping[str, NormalForm]
) -> NormalForm:
    """Return where an atom has a truth value, by enumerating the values of all but one hyperparameter."""
    named = sorted(references(atom), key=lambda address: codes[address].domain.size or float("inf"))
    found: list[NormalForm] = []
    listed = [[*_listed_values(codes[address])] for address in named[:-1]]
    if prod(map(len, listed)) > MAX_JOINT_VALUES:
        raise InexpressibleError
    address, values = named[0], listed[0]
    for value in values:
        rest = partially_evaluate(atom, lambda asked, value=value: value if asked == address else UNKNOWN)  # type: ignore[misc]
        same = Compare("==", Reference(address), Constant(value))
        here = unary_atom_form(codes[address], same, True, activity)
        if len(named) == 2:
            there = unary_atom_form(codes[named[1]], rest, truth, activity)
        else:
            there = _enumerated_form(rest, truth, codes, activity)
        found.append(conjunction(here, there))
    return disjunction(*found)


def _listed_values(coded: EncodedDomain) -> Iterator[Value]:
    for piece in coded.pieces:
        is_listed = isinstance(piece, FixedPiece) or isinstance(piece.reduction, MemberRenamingReduction)
        if not is_listed and (piece.part.size is None or piece.part.size > MAX_LISTED):
            raise InexpressibleError
        yield from members(piece.part)
