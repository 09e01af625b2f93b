"""Conditions and forbidden clauses of ConfigSpace in disjunctive normal form.

A normal form (`Ways`) is a tuple of conjunctions (`Way`), each a set of tests. It holds where all tests of at least one
conjunction hold.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal, TypeAlias

FlatValue: TypeAlias = str | bool | int | float
"""A value of a finite ConfigSpace hyperparameter, or a bound of a numeric one."""

MOST_WAYS: Final = 120
"""The maximum number of conjunctions in a normal form; with more, the network is unfolded instead."""


@dataclass(frozen=True, slots=True)
class Among:
    """A test that a finite hyperparameter is active and has one of some, but not all, of its values."""

    name: str
    values: frozenset[FlatValue]


@dataclass(frozen=True, slots=True)
class Threshold:
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


Test: TypeAlias = Among | Threshold | PairRelation
Way: TypeAlias = frozenset[Test]
Ways: TypeAlias = tuple[Way, ...]
ALWAYS: Final[Ways] = (frozenset(),)
NEVER: Final[Ways] = ()


class UnsayableError(Exception):
    """An error for something that ConfigSpace cannot express in conditions or clauses, or not in few enough."""


def either(*several: Ways) -> Ways:
    """Return the disjunction of normal forms; raise UnsayableError if it is too large."""
    return _simplified(way for ways in several for way in ways)


def both(*several: Ways) -> Ways:
    """Return the conjunction of normal forms; raise UnsayableError if it is too large."""
    found: Ways = ALWAYS
    for ways in several:
        if ways != ALWAYS:
            if len(found) * len(ways) > MOST_WAYS**2:
                raise UnsayableError
            found = _simplified(way for pair in product(found, ways) if (way := _joined(*pair)) is not None)
    return found


def names_of(way: Way) -> frozenset[str]:
    """Return the hyperparameters that a conjunction tests."""
    return frozenset(name for test in way for name in _named(test))


def trimmed(way: Way, activity: Mapping[str, Ways]) -> Way:
    """Return a conjunction without tests that follow from another tested hyperparameter being active."""
    kept = set(way)
    for test in sorted(way, key=_named):
        others = {name for other in kept - {test} for name in _named(other)}
        if isinstance(test, Among) and any(_implies(name, test, activity) for name in others):
            kept.discard(test)
    return frozenset(kept)


def completed(way: Way, activity: Mapping[str, Ways]) -> Ways:
    """Return a conjunction together with the conditions under which its hyperparameters are active.

    These are added recursively, up to hyperparameters that are always active.
    """
    found: Ways = (way,)
    seen: set[str] = set()
    while open_ := sorted({name for one in found for name in names_of(one)} - seen):
        for name in open_:
            seen.add(name)
            found = _with(found, name, activity[name])
    return found


def _with(ways: Ways, name: str, active: Ways) -> Ways:
    return either(*(both((way,), active) if name in names_of(way) else (way,) for way in ways))


def _implies(name: str, test: Among, activity: Mapping[str, Ways]) -> bool:
    """Return True if a hyperparameter is active only where a test holds."""
    ways = activity[name]
    return bool(ways) and ways != ALWAYS and all(_contains(way, test, activity) for way in ways)


def _contains(way: Way, test: Among, activity: Mapping[str, Ways]) -> bool:
    return _follows(test, way) or any(_implies(name, test, activity) for name in names_of(way) if name != test.name)


def _named(test: Test) -> tuple[str, ...]:
    return (test.left, test.right) if isinstance(test, PairRelation) else (test.name,)


def _joined(left: Way, right: Way) -> Way | None:
    """Return the conjunction of two conjunctions, or None if they contradict each other."""
    among: dict[str, frozenset[FlatValue]] = {}
    others: list[Test] = []
    for test in (*left, *right):
        if isinstance(test, Among):
            among[test.name] = among[test.name] & test.values if test.name in among else test.values
            if not among[test.name]:
                return None
        else:
            others.append(test)
    return frozenset((*(Among(name, values) for name, values in among.items()), *others))


def _simplified(ways: Iterable[Way]) -> Ways:
    """Return the same normal form with fewer conjunctions.

    Duplicates and conjunctions that others include are removed. Conjunctions that differ in the values of one
    hyperparameter are merged.
    """
    found = list(dict.fromkeys(ways))
    if len(found) > MOST_WAYS**2:
        raise UnsayableError
    changed = len(found) > 1
    while changed:
        merged = _merged(found)
        changed = len(merged) < len(found)
        found = merged
    found = [way for way in found if not any(other is not way and _includes(other, way) for other in found)]
    if len(found) > MOST_WAYS:
        raise UnsayableError
    return tuple(found)


def _merged(ways: list[Way]) -> list[Way]:
    """Merge conjunctions that differ only in the values of one hyperparameter."""
    for name in sorted({test.name for way in ways for test in way if isinstance(test, Among)}):
        alike: dict[Way, frozenset[FlatValue]] = {}
        left: list[Way] = []
        for way in ways:
            own = next((test for test in way if isinstance(test, Among) and test.name == name), None)
            if own is None:
                left.append(way)
            else:
                rest = way - {own}
                alike[rest] = alike.get(rest, frozenset()) | own.values
        if len(left) + len(alike) < len(ways):
            return [*left, *(rest | {Among(name, values)} for rest, values in alike.items())]
    return ways


def _includes(wide: Way, narrow: Way) -> bool:
    """Return True if a wide conjunction holds wherever a narrow one does, and they are not equal."""
    return wide != narrow and all(_follows(test, narrow) for test in wide)


def _follows(test: Test, way: Way) -> bool:
    if test in way:
        return True
    return isinstance(test, Among) and any(
        isinstance(own, Among) and own.name == test.name and own.values <= test.values for own in way
    )
