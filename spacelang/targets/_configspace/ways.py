"""Conditions and forbidden clauses as ConfigSpace can say them: ways to hold, each of them several tests at once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal, TypeAlias

FlatValue: TypeAlias = str | bool | int | float
"""A value of a finite hyperparameter of ConfigSpace, or a bound of a numeric one."""

MOST_WAYS: Final = 120
"""So many ways a condition or a constraint may have before the space is unfolded instead."""


@dataclass(frozen=True, slots=True)
class Among:
    """A finite hyperparameter is active and has one of some values, but not any of them."""

    name: str
    values: frozenset[FlatValue]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A numeric hyperparameter is active and less than, greater than or equal to a number."""

    name: str
    sign: Literal["<", ">", "=="]
    number: float


@dataclass(frozen=True, slots=True)
class PairRelation:
    """Two numeric hyperparameters are active and stand so to each other; only forbidden clauses can say it."""

    left: str
    sign: Literal["<", "<=", ">", ">=", "=="]
    right: str


Test: TypeAlias = Among | Threshold | PairRelation
Way: TypeAlias = frozenset[Test]
Ways: TypeAlias = tuple[Way, ...]
ALWAYS: Final[Ways] = (frozenset(),)
NEVER: Final[Ways] = ()


class UnsayableError(Exception):
    """Something that no condition or clause of ConfigSpace says, or only too many of them."""


def either(*several: Ways) -> Ways:
    """Where at least one of several conditions holds."""
    return _simplified(way for ways in several for way in ways)


def both(*several: Ways) -> Ways:
    """Where all of several conditions hold."""
    found: Ways = ALWAYS
    for ways in several:
        if ways != ALWAYS:
            if len(found) * len(ways) > MOST_WAYS**2:
                raise UnsayableError
            found = _simplified(way for pair in product(found, ways) if (way := _joined(*pair)) is not None)
    return found


def names_of(way: Way) -> frozenset[str]:
    """The hyperparameters that a way tests."""
    return frozenset(name for test in way for name in _named(test))


def trimmed(way: Way, activity: Mapping[str, Ways]) -> Way:
    """The way without tests that only say that another one's hyperparameter is active."""
    kept = set(way)
    for test in sorted(way, key=_named):
        others = {name for other in kept - {test} for name in _named(other)}
        if isinstance(test, Among) and any(_implies(name, test, activity) for name in others):
            kept.discard(test)
    return frozenset(kept)


def completed(way: Way, activity: Mapping[str, Ways]) -> Ways:
    """The way with all that makes the hyperparameters active that it tests, up to those that always are."""
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
    """Whether a hyperparameter is active only where a test holds."""
    ways = activity[name]
    return bool(ways) and ways != ALWAYS and all(_contains(way, test, activity) for way in ways)


def _contains(way: Way, test: Among, activity: Mapping[str, Ways]) -> bool:
    return _follows(test, way) or any(_implies(name, test, activity) for name in names_of(way) if name != test.name)


def _named(test: Test) -> tuple[str, ...]:
    return (test.left, test.right) if isinstance(test, PairRelation) else (test.name,)


def _joined(left: Way, right: Way) -> Way | None:
    """Both ways at once; None where no value has both."""
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
    """The same without repetitions, without ways that others include; those that differ in one set are made one."""
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
    """Ways that differ only in the values of one hyperparameter made one."""
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
    """Whether all that holds in the narrow way holds in the wide one; of two that are equal, neither does."""
    return wide != narrow and all(_follows(test, narrow) for test in wide)


def _follows(test: Test, way: Way) -> bool:
    if test in way:
        return True
    return isinstance(test, Among) and any(
        isinstance(own, Among) and own.name == test.name and own.values <= test.values for own in way
    )
