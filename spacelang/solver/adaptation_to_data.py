"""Configurations as users and other spaces write them, as members of a space that may be bound to its data."""

from collections.abc import Iterable

from spacelang.frozen import frozen
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import contains
from spacelang.ir.membership import ExclusionReason, member_or_exclusion
from spacelang.ir.space import TUPLE_NAME, Choice, Context, Space, Variable, element_name, length_name
from spacelang.ir.value import Value
from spacelang.solver.counting import Structures
from spacelang.solver.nearest_configuration import KeyChange, nearest_member


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
    lost |= {whole for key in lost if isinstance(configuration.view.get(whole := tuple_key(key)), tuple)}
    return tuple(sorted(lost & _inactive_keys(space, configuration)))


def tuple_key(key: str) -> str:
    """Return the key of the tuple of which a key is the length or an element; otherwise the key itself.

    >>> tuple_key("mlp.layers.length"), tuple_key("mlp.layers[2]"), tuple_key("mlp.alpha")
    ('mlp.layers', 'mlp.layers', 'mlp.alpha')
    """
    whole, bracket, _ = key.rpartition("[")
    return whole if bracket else key.removesuffix(length_name(""))


def with_tuple_members(space: Space, configuration: Configuration) -> Configuration:
    """Return a configuration with the length and elements of each tuple that it has as a plain value.

    >>> import spacelang as sl
    >>> space = sl.parse("stage mlp = MLPClassifier { hidden_layer_sizes : tuple[1, 3] of int[16, 512] = (100,) }")
    >>> with_tuple_members(space.checked, sl.Configuration({"mlp.hidden_layer_sizes": (64, 32)})).to_dict()
    {'mlp.hidden_layer_sizes.length': 2, 'mlp.hidden_layer_sizes[1]': 64, 'mlp.hidden_layer_sizes[2]': 32}

    A configuration that also has one of these keys is left as it is.
    """
    values = dict(configuration.items())
    for parameter in {each.address: each for each in space.tuples.values()}.values():
        length = space.variables.get(parameter.length)
        if length is None or not _is_reached(space, length, configuration):
            continue
        whole = tuple_key(length.key)
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
    """Return the keys of a configuration that belong to nothing that it reaches in the space."""
    reached: set[str] = set()
    waiting: list[Context] = [()]
    while waiting:
        for variable in space.by_context.get(waiting.pop(), ()):
            reached.add(variable.key)
            branch = configuration.view.get(variable.key)
            if isinstance(variable.node, Choice) and isinstance(branch, str):
                waiting.append((*variable.owners, (variable.address, branch)))
    return {key for key in configuration if key not in reached}


def with_keys_of(space: Space, configuration: Configuration) -> tuple[Configuration, tuple[str, ...]]:
    """Return the configuration with the keys of the space, and the keys without meaning that were taken away.

    Tuples are written by their length and elements, and keys that have no meaning for the data are taken away.
    """
    written = with_tuple_members(space, configuration)
    dropped = keys_without_meaning(space, written)
    if not dropped:
        return written, ()
    return Configuration({key: value for key, value in written.items() if key not in dropped}), dropped


def member_without_dropped_keys(space: Space, configuration: Configuration) -> AdaptedConfiguration | ExclusionReason:
    """Return the configuration as a member of the space (see `with_keys_of`), or why it is none."""
    rest, dropped = with_keys_of(space, configuration)
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
    rest, dropped = with_keys_of(structures.space, configuration)
    found = nearest_member(structures, rest)
    return AdaptedConfiguration(found.member, dropped, found.changes)
