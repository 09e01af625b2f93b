"""The member of a space that is nearest to a configuration that is none, and what has to be changed for it."""

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
"""So many numbers of a domain are tried one by one, the closest first."""


@dataclass(frozen=True, slots=True)
class Change:
    """A key whose value has to be another one; None stands for a key that one of the two does not have."""

    key: str
    given: tuple[Value] | None
    needed: tuple[Value] | None


@dataclass(frozen=True, slots=True)
class Nearest:
    """Why a configuration is no member, the nearest one that is, and where the two differ; a member has no reason."""

    reasons: tuple[Exclusion, ...]
    member: Configuration
    changes: tuple[Change, ...]


def nearest(structures: Structures, given: Configuration) -> Nearest:
    """The member that is nearest to a configuration: itself, if it is one.

    As few decisions as possible take another alternative; of several such ways, one that keeps some decision each, the
    one that changes the fewest given keys; and then as few hyperparameters as possible take another value: a number the
    closest one that the others let it be (of more than `MOST` numbers, one with none between it and the given one),
    what is new its default. What the space does not know is left out. Raises ValueError for a space without any
    configuration.
    """
    if not structures.count:
        raise ValueError("the space has no configuration")
    space = structures.space
    reasons = exclusions(space, given)
    member = _nearest(space, given) if reasons else given
    return Nearest(reasons, member, tuple(each for each in _changes(given, member) if not _is_alike(each)))


def _nearest(space: Space, given: Configuration) -> Configuration:
    """What is nearest to the default is known: so the configuration is made the default."""
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
    """The member, where each number that has to be another one is close to that."""

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
    """The number that holds and is closest to the wanted one; `kept` holds."""
    numbers = filter(is_number, (each for part in parts(domain) for each in members(part)))
    closer = [each for each in numbers if _distance(wanted, each) < _distance(wanted, kept)]
    return next(filter(holds, sorted(closer, key=partial(_distance, wanted))), kept)


def _halved(domain: Domain, wanted: Value, kept: Value, holds: Callable[[Value], bool]) -> Value:
    """A number that holds while the next one on the way to the wanted one does not; `kept` holds."""
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
    """Rounded once: the sum of two floats may be none."""
    assert isinstance(one, int | float)
    assert isinstance(other, int | float)
    middle = (Fraction(one) + Fraction(other)) / 2
    return int(middle) if isinstance(one, int) and isinstance(other, int) else float(middle)


def _number(value: Value, domain: Domain) -> Value:
    """The number of a domain that is closest to a value; None where that is no number."""
    if not is_number(value) or (isinstance(value, float) and isnan(value)):
        return None
    found = domain.find(value)
    drawn = drawn_in(value, domain) if isinstance(found, Missing) else found
    return None if isinstance(drawn, Missing) else drawn


def _loss(given: Configuration, member: Configuration) -> tuple[int, int, int]:
    """How many of the given keys are changed, how many of these are left out, and how many are new."""
    changes = [each for each in _changes(given, member) if not _is_alike(each)]
    new, out = sum(each.given is None for each in changes), sum(each.needed is None for each in changes)
    return len(changes) - new, out, new


def _kept(structures: Structures, usual: Structure) -> Iterator[Structure]:
    """Each decision of a structure with those that lead to it, where some member takes all of them."""
    for address, branch in usual.items():
        kept = {**dict(structures.space.variables[address].owners), address: branch}
        if all(_is_supported(structures, each, taken) for each, taken in kept.items()):
            yield kept


def _is_supported(structures: Structures, address: str, branch: str) -> bool:
    node = structures.space.variables[address].choice
    return node.places[branch] in structures.supported_branches[address]


def _usual(space: Space, address: str, usual: Structure) -> str:
    """What a decision takes as long as nothing is changed; one that is not reached its default."""
    node = space.variables[address].choice
    return usual.get(address, node.branches[node.default].name)


def _changes(given: Configuration, member: Configuration) -> Iterator[Change]:
    """Every key with its two values."""
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
