"""Search for the member of a space that is nearest to an invalid configuration, and the changes that it needs."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isnan
from typing import Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Domain, NotFound, members, nearest_value, parts
from spacelang.ir.membership import ExclusionReason, all_exclusions, first_exclusion
from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.ir.value import Value, are_same, is_number
from spacelang.ir.walk import Structure, default_structure, hyperparameters_of, rebuild_tree
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter

MAX_ENUMERATED: Final = 1_000  # Up to this size, the numbers of a domain are tried one by one, the closest first


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A key with its given and its needed value; None means that the key is absent on that side."""

    key: str
    given: tuple[Value] | None
    needed: tuple[Value] | None


@dataclass(frozen=True, slots=True)
class NearestMember:
    """The nearest member to a configuration, why the configuration is none (`reasons`), and the keys that differ.

    `reasons` and `changes` are empty if the configuration is a member.
    """

    reasons: tuple[ExclusionReason, ...]
    member: Configuration
    changes: tuple[KeyChange, ...]


def nearest_member(structures: Structures, given: Configuration) -> NearestMember:
    """Return the member of a space that is nearest to a configuration.

    Distance is compared in this order:

    1. the number of decisions with another alternative;
    2. among structures that each keep some decision of the configuration, the number of given keys that change;
    3. the number of hyperparameters with another value.

    A number becomes the closest one that the other values allow. In domains with more than 1,000 numbers it is found by
    bisection, so it may be only locally closest. A number of uses that a chain does not have becomes the closest one.
    New keys get their defaults; unknown keys are dropped. Raises ValueError for an empty space.
    """
    if not structures.count:
        raise ValueError("the space is empty: it has no configuration")
    space = structures.space
    reasons = all_exclusions(space, given)
    member = _member_by_decisions(space, given) if reasons else given
    return NearestMember(reasons, member, tuple(_changes(given, member)))


def _member_by_decisions(space: Space, given: Configuration) -> Configuration:
    """Return the nearest member: the solver finds it if the configuration is made the default of the space."""
    root = rebuild_tree(space.root, partial(_with_default_from, given), partial(_with_branch_from, given, space.chains))
    structures = Structures(replace(space, root=root))
    usual, completer = default_structure(structures.space), DefaultCompleter(structures)
    ways = [structures.nearest_structure(kept) for kept in ({}, *_kept_decisions(structures, usual))]

    def default_branch(address: str) -> str:
        node = structures.space.variables[address].choice
        return usual.get(address, node.branches[node.default].name)  # unreached decisions have their default

    def changed(way: Structure) -> int:
        return sum(branch != default_branch(address) for address, branch in way.items())

    fewest = min(map(changed, ways))
    found = [completer.complete(way) for way in ways if changed(way) == fewest]
    return _with_closest_numbers(space, given, min(found, key=partial(_change_counts, given)))


def _with_closest_numbers(space: Space, given: Configuration, member: Configuration) -> Configuration:
    """Return the member with every changed number moved as close as possible to the given one."""

    def holds(key: str, value: Value) -> bool:
        return first_exclusion(space, Configuration({**member, key: value})) is None

    for key, node in hyperparameters_of(space, member).items():
        wanted = _closest_in_domain(given.get(key), node.domain)
        if wanted is not None and is_number(member[key]) and not are_same(wanted, member[key]):
            has_few = node.domain.size is not None and node.domain.size <= MAX_ENUMERATED
            closest = (_closest_by_enumeration if has_few else _closest_by_bisection)(
                node.domain, wanted, member[key], partial(holds, key)
            )
            member = Configuration({**member, key: closest})
    return member


def _closest_by_enumeration(domain: Domain, wanted: Value, kept: Value, holds: Callable[[Value], bool]) -> Value:
    """Return the closest number to `wanted` that holds, trying every closer one; `kept` is known to hold."""
    numbers = filter(is_number, (each for part in parts(domain) for each in members(part)))
    closer = [each for each in numbers if _distance(wanted, each) < _distance(wanted, kept)]
    return next(filter(holds, sorted(closer, key=partial(_distance, wanted))), kept)


def _closest_by_bisection(domain: Domain, wanted: Value, kept: Value, holds: Callable[[Value], bool]) -> Value:
    """Return a number that holds, found by bisection between `kept`, which holds, and `wanted`."""
    tried = wanted
    while not are_same(tried, kept):
        if holds(tried):
            kept = tried
        else:
            wanted = tried
        tried = _closest_in_domain(_midpoint(kept, wanted), domain)
        if are_same(tried, wanted):
            break
    return kept


def _distance(one: Value, other: Value) -> Fraction:
    assert isinstance(one, int | float)
    assert isinstance(other, int | float)
    return abs(Fraction(one) - Fraction(other))


def _midpoint(one: Value, other: Value) -> Value:
    """Return the midpoint, computed exactly and rounded once, because the sum of two floats may overflow."""
    assert isinstance(one, int | float)
    assert isinstance(other, int | float)
    middle = (Fraction(one) + Fraction(other)) / 2
    return int(middle) if isinstance(one, int) and isinstance(other, int) else float(middle)


def _closest_in_domain(value: Value, domain: Domain) -> Value:
    """Return the number of a domain that is closest to a value; None if the value is not a number."""
    if not is_number(value) or (isinstance(value, float) and isnan(value)):
        return None
    found = _closest(value, domain)
    return None if isinstance(found, NotFound) else found


def _closest(value: Value, domain: Domain) -> Value | NotFound:
    found = domain.find(value)
    return nearest_value(value, domain) if isinstance(found, NotFound) else found


def _change_counts(given: Configuration, member: Configuration) -> tuple[int, int, int]:
    """Return how many given keys change, how many of these are dropped, and how many keys are new."""
    changes = _changes(given, member)
    new, out = sum(each.given is None for each in changes), sum(each.needed is None for each in changes)
    return len(changes) - new, out, new


def _kept_decisions(structures: Structures, usual: Structure) -> Iterator[Structure]:
    """Yield the branches of each decision in `usual` and of those above it, if at least one member takes them all."""
    for address, branch in usual.items():
        kept = {**dict(structures.space.variables[address].owners), address: branch}
        nodes = ((each, structures.space.variables[each].choice, taken) for each, taken in kept.items())
        if all(node.branch_indices[taken] in structures.supported_branches[each] for each, node, taken in nodes):
            yield kept


def _changes(given: Configuration, member: Configuration) -> list[KeyChange]:
    """Return the keys that differ, in order."""
    same = {key for key in given if key in member and are_same(given[key], member[key])}
    return [
        KeyChange(key, (given[key],) if key in given else None, (member[key],) if key in member else None)
        for key in sorted({*given, *member} - same)
    ]


def _with_default_from(given: Configuration, node: Hyperparameter) -> Hyperparameter:
    if node.key not in given:
        return node
    default = _closest(given[node.key], node.domain)
    return node if isinstance(default, NotFound) else replace(node, default=default)


def _with_branch_from(given: Configuration, chains: Collection[str], choice: Choice) -> Choice:
    """Return a decision whose default is the given alternative; an unknown number of uses becomes the closest one."""
    taken = str(given.get(choice.key))
    if taken not in choice.branch_indices and choice.address in chains and re.fullmatch(r"\d{1,9}", taken):
        taken = min(choice.branch_indices, key=lambda number: abs(int(number) - int(taken)))
    return replace(choice, default=choice.branch_indices[taken]) if taken in choice.branch_indices else choice
