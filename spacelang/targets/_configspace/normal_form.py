"""Conditions and forbidden clauses of ConfigSpace in disjunctive normal form.

A normal form (`NormalForm`) is a tuple of conjunctions (`Conjunction`), each a set of tests. It holds where all tests
of at least one conjunction hold.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal, TypeAlias

FlatValue: TypeAlias = str | bool | int | float
"""A value of a finite ConfigSpace hyperparameter, or a bound of a numeric one."""

MAX_CONJUNCTIONS: Final = 120
"""The maximum number of conjunctions in a normal form; with more, the network is unfolded instead."""


@dataclass(frozen=True, slots=True)
class MembershipTest:
    """A test that a finite hyperparameter is active and has one of some, but not all, of its values."""

    name: str
    values: frozenset[FlatValue]


@dataclass(frozen=True, slots=True)
class ThresholdTest:
    """A test that a numeric hyperparameter is active and less than, greater than or equal to a number."""

    name: str
    sign: Literal["<", ">", "=="]
    number: float


@dataclass(frozen=True, slots=True)
class PairRelation:
    """A test that two numeric hyperparameters are active and have a relation.

    Only forbidden clauses can express it.
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
    """An error for something that ConfigSpace cannot express in conditions or clauses, or not in few enough."""


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
    """Return the hyperparameters that a conjunction tests."""
    return frozenset(name for test in way for name in _test_names(test))


def without_implied_tests(way: Conjunction, activity: Mapping[str, NormalForm]) -> Conjunction:
    """Return a conjunction without tests that follow from another tested hyperparameter being active."""
    kept = set(way)
    for test in sorted(way, key=_test_names):
        others = {name for other in kept - {test} for name in _test_names(other)}
        if isinstance(test, MembershipTest) and any(_implies(name, test, activity) for name in others):
            kept.discard(test)
    return frozenset(kept)


def with_activity_conditions(way: Conjunction, activity: Mapping[str, NormalForm]) -> NormalForm:
    """Return a conjunction together with the conditions under which its hyperparameters are active.

    These are added recursively, up to hyperparameters that are always active.
    """
    found: NormalForm = (way,)
    seen: set[str] = set()
    while open_ := sorted({name for one in found for name in tested_names(one)} - seen):
        for name in open_:
            seen.add(name)
            found = _with_activity(found, name, activity[name])
    return found


def _with_activity(ways: NormalForm, name: str, active: NormalForm) -> NormalForm:
    return disjunction(*(conjunction((way,), active) if name in tested_names(way) else (way,) for way in ways))


def _implies(name: str, test: MembershipTest, activity: Mapping[str, NormalForm]) -> bool:
    """Return True if a hyperparameter is active only where a test holds."""
    ways = activity[name]
    return bool(ways) and ways != ALWAYS and all(_contains(way, test, activity) for way in ways)


def _contains(way: Conjunction, test: MembershipTest, activity: Mapping[str, NormalForm]) -> bool:
    return _implies_test(test, way) or any(
        _implies(name, test, activity) for name in tested_names(way) if name != test.name
    )


def _test_names(test: Test) -> tuple[str, ...]:
    return (test.left, test.right) if isinstance(test, PairRelation) else (test.name,)


def _conjoin(left: Conjunction, right: Conjunction) -> Conjunction | None:
    """Return the conjunction of two conjunctions, or None if they contradict each other."""
    among: dict[str, frozenset[FlatValue]] = {}
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
    """Return the same normal form with fewer conjunctions.

    Duplicates and conjunctions that others include are removed. Conjunctions that differ in the values of one
    hyperparameter are merged.
    """
    found = list(dict.fromkeys(ways))
    if len(found) > MAX_CONJUNCTIONS**2:
        raise InexpressibleError
    changed = len(found) > 1
    while changed:
        merged = _merge(found)
        changed = len(merged) < len(found)
        found = merged
    found = [way for way in found if not any(other is not way and _includes(other, way) for other in found)]
    if len(found) > MAX_CONJUNCTIONS:
        raise InexpressibleError
    return tuple(found)


def _merge(ways: list[Conjunction]) -> list[Conjunction]:
    """Merge conjunctions that differ only in the values of one hyperparameter."""
    for name in sorted({test.name for way in ways for test in way if isinstance(test, MembershipTest)}):
        alike: dict[Conjunction, frozenset[FlatValue]] = {}
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


def _includes(wide: Conjunction, narrow: Conjunction) -> bool:
    """Return True if a wide conjunction holds wherever a narrow one does, and they are not equal."""
    return wide != narrow and all(_implies_test(test, narrow) for test in wide)


def _implies_test(test: Test, way: Conjunction) -> bool:
    if test in way:
        return True
    return isinstance(test, MembershipTest) and any(
        isinstance(own, MembershipTest) and own.name == test.name and own.values <= test.values for own in way
    )
