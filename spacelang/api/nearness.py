"""Search for the member of a space that is nearest to an invalid configuration, and the changes that it needs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isnan
from typing import Final

from spacelang.analysis.domains import drawn_in
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Domain, Missing, members, parts
from spacelang.ir.membership import Exclusion, exclusion, exclusions
from spacelang.ir.rebuilding import rebuilt
from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.ir.value import Value, is_number, same
from spacelang.ir.walk import Structure, default_structure, hyperparameters_of
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import Completer

MOST: Final = 1_000
"""Up to this size, the numbers of a domain are tried one by one, the closest first."""


@dataclass(frozen=True, slots=True)
class Change:
    """A key with its given and its needed value; None means that the key is absent on that side."""

    key: str
    given: tuple[Value] | None
    needed: tuple[Value] | None


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest member to a configuration, why the configuration is not a member, and the keys that differ.

    `reasons` is empty if the configuration is a member.
    """

    reasons: tuple[Exclusion, ...]
    member: Configuration
    changes: tuple[Change, ...]


def nearest(structures: Structures, given: Configuration) -> Nearest:
    """Return the member of a space that is nearest to a configuration.

    Distance is compared in this order:

    1. the number of decisions with another alternative;
    2. among structures that each keep some decision of the configuration, the number of given keys that change;
    3. the number of hyperparameters with another value.

    A number becomes the closest one that the other values allow. In domains with more than 1,000 numbers it is found by
    bisection, so it may be only locally closest. New keys get their defaults; unknown keys are dropped. Raises
    ValueError for an empty space.
    """
    if not structures.count:
        raise ValueError("the space is empty: it has no configuration")
    space = structures.space
    reasons = exclusions(space, given)
    member = _nearest(space, given) if reasons else given
    return Nearest(reasons, member, tuple(each for each in _changes(given, member) if not _is_alike(each)))


def _nearest(space: Space, given: Configuration) -> Configuration:
    """Return the nearest member, found by making the configuration the default of the space.

    The solver already finds the member that is nearest to the default.
    """
    root = rebuilt(space.root, partial(_with_default, given), partial(_decided, given))
    structures = Structures(replace(space, root=root))
    usual, completer = default_structure(structures.space), Completer(structures)
    ways = [structures.nearest(kept) for kept in ({}, *_kept(structures, usual))]

    def changed(way: Structure) -> int:
        return sum(branch != _usual(structures.space, address, usual) for address, branch in way.items())

    fewest = min(map(changed, ways))
    found = [completer.complete(way) for way in ways if changed(way) == fewest]
    return _closer(space, given, min(found, key=partial(_loss, given)))


def _closer(space: Space, given: Configuration, member: Configuration) -> Configuration:
    """Return the member with every changed number moved as close as possible to the given one."""

    def holds(key: str, value: Value) -> bool:
        return exclusion(space, Configuration({**member, key: value})) is None

    for key, node in hyperparameters_of(space, member).items():
        wanted = _number(given.get(key), node.domain)
        if wanted is not None and is_number(member[key]) and not same(wanted, member[key]):
            has_few = node.domain.size is not None and node.domain.size <= MOST
            closest = (_tried if has_few else _halved)(node.domain, wanted, member[key], partial(holds, key))
            member = Configuration({**member, key: closest})
    return member


def _tried(domain: Domain, wanted: Value, kept: Value, holds: Callable[[Value], bool]) -> Value:
    """Return the closest number to `wanted` that holds, trying every closer one; `kept` is known to hold."""
    numbers = filter(is_number, (each for part in parts(domain) for each in members(part)))
    closer = [each for each in numbers if _distance(wanted, each) < _distance(wanted, kept)]
    return next(filter(holds, sorted(closer, key=partial(_distance, wanted))), kept)


def _halved(domain: Domain, wanted: Value, kept: Value, holds: Callable[[Value], bool]) -> Value:
    """Return a number that holds, found by bisection between `kept`, which holds, and `wanted`."""
    tried = wanted
    while not same(tried, kept):
        if holds(tried):
            kept = tried
        else:
            wanted = tried
        tried = _number(_middle(kept, wanted), domain)
        if same(tried, wanted):
            break
    return kept


def _distance(one: Value, other: Value) -> Fraction:
    assert isinstance(one, int | float)
    assert isinstance(other, int | float)
    return abs(Fraction(one) - Fraction(other))


def _middle(one: Value, other: Value) -> Value:
    """Return the midpoint, computed exactly and rounded once, because the sum of two floats may overflow."""
    assert isinstance(one, int | float)
    assert isinstance(other, int | float)
    middle = (Fraction(one) + Fraction(other)) / 2
    return int(middle) if isinstance(one, int) and isinstance(other, int) else float(middle)


def _number(value: Value, domain: Domain) -> Value:
    """Return the number of a domain that is closest to a value; None if the value is not a number."""
    if not is_number(value) or (isinstance(value, float) and isnan(value)):
        return None
    found = domain.find(value)
    drawn = drawn_in(value, domain) if isinstance(found, Missing) else found
    return None if isinstance(drawn, Missing) else drawn


def _loss(given: Configuration, member: Configuration) -> tuple[int, int, int]:
    """Return how many given keys change, how many of these are dropped, and how many keys are new."""
    changes = [each for each in _changes(given, member) if not _is_alike(each)]
    new, out = sum(each.given is None for each in changes), sum(each.needed is None for each in changes)
    return len(changes) - new, out, new


def _kept(structures: Structures, usual: Structure) -> Iterator[Structure]:
    """Yield, for each decision of a structure, that decision with its ancestors, if some member takes all of them."""
    for address, branch in usual.items():
        kept = {**dict(structures.space.variables[address].owners), address: branch}
        if all(_is_supported(structures, each, taken) for each, taken in kept.items()):
            yield kept


def _is_supported(structures: Structures, address: str, branch: str) -> bool:
    node = structures.space.variables[address].choice
    return node.places[branch] in structures.supported_branches[address]


def _usual(space: Space, address: str, usual: Structure) -> str:
    """Return the branch that a decision takes if nothing is changed; for unreached decisions, the default."""
    node = space.variables[address].choice
    return usual.get(address, node.branches[node.default].name)


def _changes(given: Configuration, member: Configuration) -> Iterator[Change]:
    """Yield every key with both of its values, whether they differ or not."""
    return (Change(key, _at(given, key), _at(member, key)) for key in sorted({*given, *member}))


def _with_default(given: Configuration, node: Hyperparameter) -> Hyperparameter:
    if node.key not in given:
        return node
    found = node.domain.find(given[node.key])
    default = drawn_in(given[node.key], node.domain) if isinstance(found, Missing) else found
    return node if isinstance(default, Missing) else replace(node, default=default)


def _decided(given: Configuration, choice: Choice) -> Choice:
    taken = given.get(choice.key)
    return (
        replace(choice, default=choice.places[taken]) if isinstance(taken, str) and taken in choice.places else choice
    )


def _at(values: Configuration, key: str) -> tuple[Value] | None:
    return (values[key],) if key in values else None


def _is_alike(change: Change) -> bool:
    if change.given is None or change.needed is None:
        return False
    return same(change.given[0], change.needed[0])
