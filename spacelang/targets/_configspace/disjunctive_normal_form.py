"""Conditions, constraints and forbidden clauses of ConfigSpace in disjunctive normal form.

A normal form (`NormalForm`) is a tuple of conjunctions (`Conjunction`), each a set of tests. It holds where all tests
of at least one conjunction hold. The argument `activity` has, for each ConfigSpace hyperparameter by name, the
condition under which it is active.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final, Literal, TypeAlias

from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain, members
from spacelang.ir.expr import Compare, Constant, Expr, Reference, is_true, references
from spacelang.ir.partial_evaluation import UNKNOWN, partially_evaluate
from spacelang.ir.value import Value
from spacelang.reductions.domain_reductions import MemberRenamingReduction, ScaledRangeReduction
from spacelang.reductions.space_questions import FixedPiece
from spacelang.solver.domain_cells import cut_points_of, join_cells, split_at_atoms
from spacelang.targets._configspace import encoded_domains as cs

MAX_CONJUNCTIONS: Final = 120
"""The maximum number of conjunctions in a normal form; with more, the network is unfolded instead."""


@dataclass(frozen=True, slots=True)
class MembershipTest:
    """A test that a finite hyperparameter is active and has one of some, but not all, of its values."""

    name: str
    values: frozenset[cs.FlatValue]


@dataclass(frozen=True, slots=True)
class ThresholdTest:
    """A test that a numeric hyperparameter is active and less than, greater than or equal to a number."""

    name: str
    sign: Literal["<", ">", "=="]
    number: float


@dataclass(frozen=True, slots=True)
class PairRelation:
    """A test that two numeric hyperparameters are active and are in a relation, such as `<`.

    ConfigSpace can express it in forbidden clauses only, not in conditions.
    """

    left: str
    sign: Literal["<", "<=", ">", ">=", "=="]
    right: str


Test: TypeAlias = MembershipTest | ThresholdTest | PairRelation
Conjunction: TypeAlias = frozenset[Test]
NormalForm: TypeAlias = tuple[Conjunction, ...]
ALWAYS: Final[NormalForm] = (frozenset(),)
NEVER: Final[NormalForm] = ()


class InexpressibleError(Exception):
    """An error for something that ConfigSpace cannot express by conditions or clauses, or only by too many."""


def disjunction(*several: NormalForm) -> NormalForm:
    """Return the disjunction of normal forms; raise InexpressibleError if it is too large."""
    return _simplified(way for ways in several for way in ways)


def conjunction(*several: NormalForm) -> NormalForm:
    """Return the conjunction of normal forms; raise InexpressibleError if it is too large."""
    found: NormalForm = ALWAYS
    for ways in several:
        if ways != ALWAYS:
            if len(found) * len(ways) > MAX_CONJUNCTIONS**2:
                raise InexpressibleError
            found = _simplified(way for pair in product(found, ways) if (way := _conjoin(*pair)) is not None)
    return found


def tested_names(way: Conjunction) -> frozenset[str]:
    """Return the names of the hyperparameters that a conjunction tests."""
    return frozenset(name for test in way for name in _test_names(test))


def without_implied_tests(way: Conjunction, activity: Mapping[str, NormalForm]) -> Conjunction:
    """Return a conjunction without the membership tests that are true whenever another tested one is active."""
    kept = set(way)
    for test in sorted(way, key=_test_names):
        others = {name for other in kept - {test} for name in _test_names(other)}
        if isinstance(test, MembershipTest) and any(_implies(name, test, activity) for name in others):
            kept.discard(test)
    return frozenset(kept)


def with_activity_conditions(way: Conjunction, activity: Mapping[str, NormalForm]) -> NormalForm:
    """Return a conjunction joined with the conditions of the hyperparameters that it tests.

    These conditions test further hyperparameters, whose conditions are added too, and so on.
    """
    found: NormalForm = (way,)
    seen: set[str] = set()
    while open_ := sorted({name for one in found for name in tested_names(one)} - seen):
        for name in open_:
            seen.add(name)
            active = activity[name]
            found = disjunction(*(conjunction((w,), active) if name in tested_names(w) else (w,) for w in found))
    return found


def _implies(name: str, test: MembershipTest, activity: Mapping[str, NormalForm]) -> bool:

    def contains(way: Conjunction) -> bool:
        others = tested_names(way) - {test.name}
        return _implies_test(test, way) or any(_implies(other, test, activity) for other in others)

    return bool(activity[name]) and activity[name] != ALWAYS and all(map(contains, activity[name]))


def _test_names(test: Test) -> tuple[str, ...]:
    return (test.left, test.right) if isinstance(test, PairRelation) else (test.name,)


def _conjoin(left: Conjunction, right: Conjunction) -> Conjunction | None:
    """Return the conjunction of two conjunctions, or None if no value of a hyperparameter satisfies both."""
    among: dict[str, frozenset[cs.FlatValue]] = {}
    others: list[Test] = []
    for test in (*left, *right):
        if isinstance(test, MembershipTest):
            among[test.name] = among[test.name] & test.values if test.name in among else test.values
            if not among[test.name]:
                return None
        else:
            others.append(test)
    return frozenset((*(MembershipTest(name, values) for name, values in among.items()), *others))


def _simplified(ways: Iterable[Conjunction]) -> NormalForm:
    """Return an equivalent, shorter normal form; raise InexpressibleError if it is too large.

    Conjunctions that imply another one are dropped, and those that differ in one hyperparameter are merged.
    """
    found = list(dict.fromkeys(ways))
    if len(found) > MAX_CONJUNCTIONS**2:
        raise InexpressibleError
    changed = len(found) > 1
    while changed:
        merged = _merge(found)
        changed = len(merged) < len(found)
        found = merged
    found = [w for w in found if not any(wide != w and all(_implies_test(t, w) for t in wide) for wide in found)]
    if len(found) > MAX_CONJUNCTIONS:
        raise InexpressibleError
    return tuple(found)


def _merge(ways: list[Conjunction]) -> list[Conjunction]:
    for name in sorted({test.name for way in ways for test in way if isinstance(test, MembershipTest)}):
        alike: dict[Conjunction, frozenset[cs.FlatValue]] = {}
        left: list[Conjunction] = []
        for way in ways:
            own = next((test for test in way if isinstance(test, MembershipTest) and test.name == name), None)
            if own is None:
                left.append(way)
            else:
                rest = way - {own}
                alike[rest] = alike.get(rest, frozenset()) | own.values
        if len(left) + len(alike) < len(ways):
            return [*left, *(rest | {MembershipTest(name, values)} for rest, values in alike.items())]
    return ways


def _implies_test(test: Test, way: Conjunction) -> bool:
    if test in way or not isinstance(test, MembershipTest):
        return test in way
    return any(isinstance(own, MembershipTest) and own.name == test.name and own.values <= test.values for own in way)


MAX_JOINT_VALUES: Final = 4_000
"""The maximum number of joint values of several hyperparameters that are enumerated for one comparison."""
MIN_RELATIVE_WIDTH: Final = 1e-9
"""A range of floats narrower than this, relative to the size of its numbers, is not compared with numbers."""
LOG_MARGIN: Final = 1e-8
"""The relative distance of a limit to a logarithmic integer.

It exceeds the rounding errors of logarithms by far, and is less than 1e-5, the tolerance for integers in ConfigSpace.
"""
LOG_DECIMALS: Final = 9  # The number of decimals of such a limit
MAX_LOG_INTEGER: Final = 10**7
"""The largest logarithmic integer that is compared: the next one is farther away than ten times `LOG_MARGIN`."""
_SIGN_FOR_TRUTH: Final[Mapping[tuple[str, bool], Literal["<", "<=", ">", ">=", "=="]]] = {
    ("<", True): "<", ("<=", True): "<=", (">", True): ">", (">=", True): ">=", ("==", True): "==",
    ("<", False): ">=", ("<=", False): ">", (">", False): "<=", (">=", False): "<", ("!=", False): "==",
}  # fmt: skip


def atom_normal_form(
    atom: Expr, truth: bool, codes: Mapping[str, cs.EncodedDomain], activity: Mapping[str, NormalForm]
) -> NormalForm:
    """Return the normal form of: the atom has the truth value `truth`, and all its hyperparameters are active.

    `codes` has the encoding of each hyperparameter by address. May raise InexpressibleError.
    """
    named = references(atom)
    if isinstance(atom, Constant):
        return ALWAYS if atom.value is truth else disjunction()
    if len(named) == 1:
        return unary_atom_form(codes[named[0]], atom, truth, activity)
    relation = _pair_relation(atom, truth, codes)
    return _enumerated_form(atom, truth, codes, activity) if relation is None else (frozenset((relation,)),)


def membership_form(
    parameter: cs.FlatHyperparameter, values: Iterable[cs.FlatValue], activity: Mapping[str, NormalForm]
) -> NormalForm:
    """Return the normal form of: a finite hyperparameter is active and has one of the given values."""
    chosen, active = frozenset(values) & frozenset(parameter.choices), activity[parameter.name]
    if not chosen or active == NEVER:
        return NEVER
    return active if len(chosen) == len(parameter.choices) else (frozenset((MembershipTest(parameter.name, chosen),)),)


def unary_atom_form(coded: cs.EncodedDomain, atom: Expr, truth: bool, activity: Mapping[str, NormalForm]) -> NormalForm:
    """Return the normal form of: a hyperparameter is active, and an atom about it alone has the truth `truth`."""

    def is_wanted(value: Value) -> bool:
        return is_true(atom, lambda _: value) is truth

    found = []
    for place, piece in enumerate(coded.pieces):
        match piece:
            case FixedPiece():
                assert coded.selector is not None
                labels = [coded.selector.choices[place]] if is_wanted(piece.value) else []
                found.append(membership_form(coded.selector, labels, activity))
            case cs.HyperparameterPiece(reduction=MemberRenamingReduction() as renamed, parameter=parameter):
                pairs = zip(members(renamed.part), parameter.choices, strict=True)
                found.append(membership_form(parameter, [choice for v, choice in pairs if is_wanted(v)], activity))
            case cs.HyperparameterPiece():
                size = piece.part.size
                if cut_points_of(atom) is None and (size is None or size > MAX_JOINT_VALUES):
                    raise InexpressibleError
                cut = split_at_atoms(piece.part, (atom,))
                wanted = [cell for cell in cut if is_wanted(cell.representative)]
                found.append(_cells_form(piece, wanted, len(cut), activity))
    return disjunction(*found)


def has_exact_thresholds(part: SimpleDomain) -> bool:
    """Return True unless the domain is a logarithmic range of integers, some of them above `MAX_LOG_INTEGER`.

    ConfigSpace cannot compare the numbers of such a range exactly.
    """
    return not isinstance(part, Grid) or not part.log or part.greatest <= MAX_LOG_INTEGER


def _cells_form(
    piece: cs.HyperparameterPiece, wanted: list[SimpleDomain], count: int, activity: Mapping[str, NormalForm]
) -> NormalForm:
    if not wanted or activity[piece.name] == NEVER:
        return NEVER
    if len(wanted) == count:
        return activity[piece.name]
    own = piece.parameter
    # In narrow ranges, the rounding errors of ConfigSpace count.
    is_narrow = own.upper - own.lower < MIN_RELATIVE_WIDTH * max(1.0, abs(own.lower), abs(own.upper))
    if (own.kind.endswith("float") and is_narrow) or not has_exact_thresholds(piece.part):
        raise InexpressibleError
    found = join_cells(piece.part, wanted)
    runs = found.parts if not isinstance(found, Grid | Real | Categorical) else (found,)
    return disjunction(*(_run_form(piece, run) for run in runs))


def _run_form(piece: cs.HyperparameterPiece, run: SimpleDomain) -> NormalForm:
    part, own = piece.part, piece.parameter
    if isinstance(run, Grid) and own.log:
        return _log_run_form(own, int(run.least), int(run.greatest))
    if run.size == 1:
        return (frozenset((ThresholdTest(piece.name, "==", _scaled_number(piece, run.representative)),)),)
    found: list[NormalForm] = []
    if isinstance(run, Grid):
        first, last = _scaled_number(piece, run.least), _scaled_number(piece, run.greatest)
        if first > own.lower:
            found.append((frozenset((ThresholdTest(piece.name, ">", first - 1),)),))
        if last < own.upper:
            found.append((frozenset((ThresholdTest(piece.name, "<", last + 1),)),))
    else:
        assert isinstance(run, Real)
        assert isinstance(part, Real)
        if (run.lower, run.lower_open) != (part.lower, part.lower_open):
            found.append(_bound_form(piece, ">", run.lower, run.lower_open))
        if (run.upper, run.upper_open) != (part.upper, part.upper_open):
            found.append(_bound_form(piece, "<", run.upper, run.upper_open))
    return conjunction(*found)


def _log_run_form(own: cs.FlatHyperparameter, first: int, last: int) -> NormalForm:
    """Return the normal form of: a logarithmic integer is from `first` to `last`.

    ConfigSpace compares logarithms, which differ from those of its draws by rounding errors. It accepts thresholds that
    are almost integers, and comparisons with these are exact: `n > 3.99999996` for `n >= 4`.
    """
    found: list[Test] = []
    if first > own.lower:
        found.append(ThresholdTest(own.name, ">", round(first * (1 - LOG_MARGIN), LOG_DECIMALS)))
    if last < own.upper:
        found.append(ThresholdTest(own.name, "<", round(last * (1 + LOG_MARGIN), LOG_DECIMALS)))
    return (frozenset(found),)


def _bound_form(piece: cs.HyperparameterPiece, sign: Literal["<", ">"], number: float, is_open: bool) -> NormalForm:
    limit = _scaled_number(piece, number)
    strict: NormalForm = (frozenset((ThresholdTest(piece.name, sign, limit),)),)
    return strict if is_open else disjunction(strict, (frozenset((ThresholdTest(piece.name, "==", limit),)),))


def _scaled_number(piece: cs.HyperparameterPiece, value: Value) -> float:
    """Return a value as a number of its ConfigSpace hyperparameter, rounded as ConfigSpace rounds its values."""
    number = piece.reduction.encode(value)
    assert isinstance(number, int | float)
    if not isinstance(piece.reduction, ScaledRangeReduction):
        return number
    return min(max(cs.round_like_configspace(number), piece.parameter.lower), piece.parameter.upper)


def _pair_relation(atom: Expr, truth: bool, codes: Mapping[str, cs.EncodedDomain]) -> PairRelation | None:
    """Return the relation by which an atom compares two hyperparameters, or None.

    It is None for any other atom, and if the hyperparameters are not encoded as the numbers themselves.
    """
    if isinstance(atom, Compare) and isinstance(atom.left, Reference) and isinstance(atom.right, Reference):
        first, second = (_unchanged_name(codes[side.address]) for side in (atom.left, atom.right))
        sign = _SIGN_FOR_TRUTH.get((atom.relation, truth))
        if not (sign is None or first is None or second is None):
            return PairRelation(first, sign, second)
    return None


def _unchanged_name(coded: cs.EncodedDomain) -> str | None:
    match coded.pieces:
        case (
            cs.HyperparameterPiece(
                name=name, reduction=cs.UnchangedIntegerReduction() | ScaledRangeReduction(exponent=0)
            ),
        ):
            return name
        case _:
            return None


def _enumerated_form(
    atom: Expr, truth: bool, codes: Mapping[str, cs.EncodedDomain], activity: Mapping[str, NormalForm]
) -> NormalForm:
    """Return the normal form of: the atom has the truth value `truth`, and all its hyperparameters are active.

    It lists the values of all hyperparameters but the one with most values.
    """
    named = sorted(references(atom), key=lambda address: codes[address].domain.size or float("inf"))
    found: list[NormalForm] = []
    listed = [[*_listed_values(codes[address])] for address in named[:-1]]
    if prod(map(len, listed)) > MAX_JOINT_VALUES:
        raise InexpressibleError
    address = named[0]
    for value in listed[0]:
        rest = partially_evaluate(atom, lambda asked, value=value: value if asked == address else UNKNOWN)  # type: ignore[misc]
        same = Compare("==", Reference(address), Constant(value))
        here = unary_atom_form(codes[address], same, True, activity)
        if len(named) == 2:
            there = unary_atom_form(codes[named[1]], rest, truth, activity)
        else:
            there = atom_normal_form(rest, truth, codes, activity)
        found.append(conjunction(here, there))
    return disjunction(*found)


def _listed_values(coded: cs.EncodedDomain) -> Iterator[Value]:
    for piece in coded.pieces:
        is_listed = isinstance(piece, FixedPiece) or isinstance(piece.reduction, MemberRenamingReduction)
        if not is_listed and (piece.part.size is None or piece.part.size > cs.MAX_LISTED):
            raise InexpressibleError
        yield from members(piece.part)
