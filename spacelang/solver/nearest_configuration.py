"""The nearest member to an invalid configuration with the needed changes; configurations adapted to bound spaces."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isnan
from typing import Final

from spacelang.frozen import frozen
from spacelang.grouping import group_by_key
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Domain, NotFound, contains, members, parts
from spacelang.ir.domain_properties import nearest_value
from spacelang.ir.expr import mentioned_addresses
from spacelang.ir.membership import ExclusionReason, all_exclusions, first_exclusion, is_violated, member_or_exclusion
from spacelang.ir.space import TUPLE_NAME, Choice, Context, Hyperparameter, Space, Variable
from spacelang.ir.tuple_parameters import element_name, length_name
from spacelang.ir.value import Value, are_same_value, is_number
from spacelang.ir.walk import Assignment, Structure, default_structure, hyperparameters_of, rebuild_tree
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
    deciding = {address for condition in space.conditions.values() for address in mentioned_addresses(condition)}
    rules = group_by_key((address, constraint) for constraint in space.constraints for address in constraint.scope)

    def holds(node: Hyperparameter, value: Value) -> bool:
        changed = Configuration({**member, node.key: value})
        if node.address in deciding:
            return first_exclusion(space, changed) is None
        # The same hyperparameters stay active, so that only constraints that name this one may fail.
        assignment = Assignment.from_configuration(space, changed)
        return not any(is_violated(constraint, assignment) for constraint in rules.get(node.address, ()))

    for key, node in hyperparameters_of(space, member).items():
        wanted = _closest_in_domain(given.get(key), node.domain)
        if wanted is not None and is_number(member[key]) and not are_same_value(wanted, member[key]):
            has_few = node.domain.size is not None and node.domain.size <= MAX_ENUMERATED
            closest = (_closest_by_enumeration if has_few else _closest_by_bisection)(
                node.domain, wanted, member[key], partial(holds, node)
            )
            member = Configuration({**member, key: closest})
    return member


def _closest_by_enumeration(domain: Domain, wanted: Value, kept: Value, holds: Callable[[Value], bool]) -> Value:
    """Return the number of a domain closest to `wanted` for which `holds` is true, else `kept`.

    All numbers closer than `kept` are tried.
    """
    numbers = filter(is_number, (each for part in parts(domain) for each in members(part)))
    closer = [each for each in numbers if _distance(wanted, each) < _distance(wanted, kept)]
    return next(filter(holds, sorted(closer, key=partial(_distance, wanted))), kept)


def _closest_by_bisection(domain: Domain, wanted: Value, kept: Value, holds: Callable[[Value], bool]) -> Value:
    """Return a number for which `holds` is true, found by bisection between `kept` and `wanted`.

    `holds(kept)` must be true. The result may be only locally the closest number to `wanted`.
    """
    tried = wanted
    while not are_same_value(tried, kept):
        if holds(tried):
            kept = tried
        else:
            wanted = tried
        tried = _closest_in_domain(_midpoint(kept, wanted), domain)
        if are_same_value(tried, wanted):
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


def _kept_decisions(structures: Structures, taken_branches: Structure) -> Iterator[Structure]:
    """Yield, for each decision of a structure, its branch together with the branches that lead to it.

    Decisions are left out if no configuration takes one of these branches.
    """
    for address, branch in taken_branches.items():
        kept = {**dict(structures.space.variables[address].owners), address: branch}
        nodes = ((each, structures.space.variables[each].choice, taken) for each, taken in kept.items())
        if all(node.branch_indices[taken] in structures.supported_branches[each] for each, node, taken in nodes):
            yield kept


def _changes(given: Configuration, member: Configuration) -> list[KeyChange]:
    """Return the keys that differ, in order."""
    same = {key for key in given if key in member and are_same_value(given[key], member[key])}
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
    """Return a decision whose default is the alternative in `given`, if it has that alternative.

    A number of uses that a chain does not have becomes the closest one.
    """
    taken = str(given.get(choice.key))
    if taken not in choice.branch_indices and choice.address in chains and re.fullmatch(r"\d{1,9}", taken):
        taken = min(choice.branch_indices, key=lambda number: abs(int(number) - int(taken)))
    return replace(choice, default=choice.branch_indices[taken]) if taken in choice.branch_indices else choice


@frozen
class AdaptedConfiguration:
    """A member of a bound space, made from another configuration.

    `dropped` are the keys that were taken away because they have no meaning for the data. `changes` are the other keys
    that differ; they are empty if the rest of the configuration is a member.
    """

    member: Configuration
    dropped: tuple[str, ...] = ()
    changes: tuple[KeyChange, ...] = ()


def keys_without_meaning(space: Space, configuration: Configuration) -> tuple[str, ...]:
    """Return the sorted keys of a configuration that the space lost when it was bound to its data.

    Of a key that several alternatives share, only the use counts whose alternatives the configuration takes.
    """
    if not space.dropped:
        return ()
    keys = {each.address: each.key for each in space.dropped}
    keys |= {address: variable.key for address, variable in space.variables.items()}
    lost = {
        each.key
        for each in space.dropped
        if each.address not in space.variables
        and all(configuration.view.get(keys[address]) == branch for address, branch in each.owners)
    }
    lost |= {whole for key in lost if isinstance(configuration.view.get(whole := owning_tuple_key(key)), tuple)}
    return tuple(sorted(lost & _inactive_keys(space, configuration)))


def owning_tuple_key(key: str) -> str:
    """Return the key of the tuple of which a key is the length or an element; otherwise the key itself.

    >>> owning_tuple_key("mlp.layers.length"), owning_tuple_key("mlp.layers[2]"), owning_tuple_key("mlp.alpha")
    ('mlp.layers', 'mlp.layers', 'mlp.alpha')
    """
    whole, bracket, _ = key.rpartition("[")
    return whole if bracket else key.removesuffix(length_name(""))


def expand_tuple_values(space: Space, configuration: Configuration) -> Configuration:
    """Return a configuration with the length and elements of each tuple that it has as a plain value.

    >>> import spacelang as sl
    >>> space = sl.parse("stage mlp = MLPClassifier { hidden_layer_sizes : tuple[1, 3] of int[16, 512] = (100,) }")
    >>> expand_tuple_values(space.checked, sl.Configuration({"mlp.hidden_layer_sizes": (64, 32)})).to_dict()
    {'mlp.hidden_layer_sizes.length': 2, 'mlp.hidden_layer_sizes[1]': 64, 'mlp.hidden_layer_sizes[2]': 32}

    A configuration that also has one of these keys is left as it is.
    """
    values = dict(configuration.items())
    for parameter in {each.address: each for each in space.tuples.values()}.values():
        length = space.variables.get(parameter.length)
        if length is None or not _is_reached(space, length, configuration):
            continue
        whole = owning_tuple_key(length.key)
        value = values.get(whole)
        choice = None if parameter.choice is None else space.variables[parameter.choice].hyperparameter
        if not isinstance(value, tuple) or (choice is not None and contains(choice.domain, value)):
            continue
        elements = value[: len(parameter.elements)]  # more of them are excluded by their number
        members: dict[str, Value] = {element_name(whole, place): each for place, each in enumerate(elements, start=1)}
        members[length.key] = len(value)
        if members.keys() & values.keys():
            continue
        del values[whole]
        if choice is not None:
            values[whole] = TUPLE_NAME
        values |= members
    return Configuration(values)


def _is_reached(space: Space, variable: Variable, configuration: Configuration) -> bool:
    taken = ((space.variables[decision].key, branch) for decision, branch in variable.owners)
    return all(configuration.view.get(key) == branch for key, branch in taken)


def dropped_keys_sentence(keys: Iterable[str]) -> str:
    """Return the sentence for users that keys of configurations were ignored."""
    return f"ignored keys that have no meaning for this data: {', '.join(f'`{key}`' for key in keys)}"


def _inactive_keys(space: Space, configuration: Configuration) -> set[str]:
    """Return the keys of a configuration that belong to no decision or hyperparameter that it reaches in the space."""
    reached: set[str] = set()
    waiting: list[Context] = [()]
    while waiting:
        for variable in space.by_context.get(waiting.pop(), ()):
            reached.add(variable.key)
            branch = configuration.view.get(variable.key)
            if isinstance(variable.node, Choice) and isinstance(branch, str):
                waiting.append((*variable.owners, (variable.address, branch)))
    return {key for key in configuration if key not in reached}


def drop_keys_without_meaning(space: Space, configuration: Configuration) -> tuple[Configuration, tuple[str, ...]]:
    """Return the configuration with the keys of the space, and the keys without meaning that were taken away.

    Tuples are written by their length and elements, and keys that have no meaning for the data are taken away.
    """
    written = expand_tuple_values(space, configuration)
    dropped = keys_without_meaning(space, written)
    if not dropped:
        return written, ()
    return Configuration({key: value for key, value in written.items() if key not in dropped}), dropped


def member_without_dropped_keys(space: Space, configuration: Configuration) -> AdaptedConfiguration | ExclusionReason:
    """Return the configuration as a member of the space (see `drop_keys_without_meaning`), or why it is none."""
    rest, dropped = drop_keys_without_meaning(space, configuration)
    member = member_or_exclusion(space, rest)
    return member if isinstance(member, ExclusionReason) else AdaptedConfiguration(member, dropped)


def adapt_to_data(structures: Structures, configuration: Configuration) -> AdaptedConfiguration:
    """Return the nearest member of a bound space to a configuration of the unbound space, or of one for other data.

    Keys that have no meaning for the data are taken away. If the rest is no member, such as a number outside of a range
    that depends on the data, it is changed as little as possible (see `nearest_member`). Raises ValueError for an empty
    space.

    >>> from spacelang.solver.counting import Structures
    >>> import spacelang as sl
    >>> space = sl.parse("pipeline = columns(numeric: PCA { n_components : int[1, n_numeric] }, text: TfidfVectorizer "
    ...                  "{ min_df : int[1, 5] }) -> Ridge", bind={"n_numeric": 4, "n_text": 0})
    >>> found = adapt_to_data(space.counted, sl.Configuration({"PCA.n_components": 9, "TfidfVectorizer.min_df": 2}))
    >>> found.member.to_dict(), found.dropped
    ({'PCA.n_components': 4}, ('TfidfVectorizer.min_df',))
    """
    rest, dropped = drop_keys_without_meaning(structures.space, configuration)
    found = nearest_member(structures, rest)
    return AdaptedConfiguration(found.member, dropped, found.changes)
