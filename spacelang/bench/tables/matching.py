"""Which entry of a table a configuration of a space has; a table of other pipelines is refused with what differs."""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Final, TypeAlias

from spacelang.bench.tables import Axes, ListedConfigurations, LossTable
from spacelang.bench.tables.listing import configurations
from spacelang.forms.definition import from_json
from spacelang.forms.difference import Aspect, Difference, differences
from spacelang.forms.json_fields import DefinitionError
from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.ir.walk import structure_of
from spacelang.runtime.errors import DataError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import Completer

Row: TypeAlias = Callable[[Configuration], int | None]
"""The row of a configuration in a table; None where the table does not have it."""

MEANING: Final = (Aspect.OPERATOR, Aspect.FIXED, Aspect.PIPELINE)
"""What makes another pipeline of the same configuration."""

MOST_TOLD: Final = 3
"""So many things that a table does not have are told."""


def rows_of(table: LossTable, structures: Structures) -> Row:
    """The rows of the configurations of a space in a table.

    Raises DataError, with what differs, unless the table has all pipelines of the space, at their default
    hyperparameters at least, and they are the same: as far as the table says what it is of.
    """
    _check_meaning(table, structures.space)
    match table.pipelines:
        case Axes() as axes:
            return _along_axes(table, axes, structures)
        case ListedConfigurations() as listed:
            places = {each.digest: row for row, each in enumerate(listed.configurations)}
            _check_members(table, structures, places)
            return lambda configuration: places.get(configuration.digest)


# ---- what is the same


def _check_meaning(table: LossTable, space: Space) -> None:
    """Raise DataError where the same configuration is another pipeline in the space than it was for the table."""
    if not table.facts.definition:
        return
    try:
        origin = from_json(json.loads(table.facts.definition))
    except (DefinitionError, ValueError, RecursionError) as error:
        message = f"the table `{table.name}` does not say what its pipelines are in the words of this version"
        raise DataError(message, "make it anew: `spacelang tabulate`") from error
    found = [each for each in differences(origin, space) if _tells(each)]
    if found:
        told = "; ".join(map(_told, found[:MOST_TOLD]))
        more = f"; {len(found) - MOST_TOLD} more" if len(found) > MOST_TOLD else ""
        message = f"the pipelines of the table `{table.name}` are others than those of `{space.name}`: {told}{more}"
        raise DataError(message, "search the space that the table was made of, or make a table of this one")


def _tells(difference: Difference) -> bool:
    added = difference.aspect is Aspect.HYPERPARAMETER and difference.first is None
    return difference.aspect in MEANING or added


def _told(difference: Difference) -> str:
    place = f"{difference.aspect.value} of `{difference.path}`" if difference.path else difference.aspect.value
    first, second = ("nothing" if each is None else f"`{each}`" for each in (difference.first, difference.second))
    return f"{place} is {first} there and {second} here"


# ---- a dimension a stage


def _along_axes(table: LossTable, axes: Axes, structures: Structures) -> Row:
    space = structures.space
    _check_axes(table, axes, space)
    keys = axes.stages or tuple(stage.key for stage in space.stages)
    strides = [1]
    for length in reversed(axes.shape[1:]):
        strides.insert(0, strides[0] * length)
    places = [
        (key, {name: place * stride for place, name in enumerate(names)})
        for key, names, stride in zip(keys, axes.alternatives, strides, strict=True)
    ]
    usual = Completer(structures) if space.hyperparameters else None

    def row(configuration: Configuration) -> int | None:
        values: Mapping[str, Any] = configuration.view
        try:
            found = sum([at[values[key]] for key, at in places])
        except KeyError:
            return None
        if usual is not None and configuration != usual.complete(structure_of(space, configuration)):
            return None
        return found

    return row


def _check_axes(table: LossTable, axes: Axes, space: Space) -> None:
    stages = {stage.key: stage for stage in space.stages}
    keys = axes.stages or tuple(stages)
    if len(space.decisions) > len(stages):
        inner = next(each for each in space.decisions if each.key not in stages)
        raise DataError(f"the table `{table.name}` has no decisions inside alternatives, as `{inner.key}` is one")
    if len(axes.alternatives) != len(stages) or set(keys) != set(stages):
        named = f" ({_names(axes.stages)})" if axes.stages else ""
        message = f"the table `{table.name}` is of {len(axes.alternatives)} stages{named}"
        raise DataError(f"{message}, the space `{space.name}` has {len(stages)} ({_names(stages)})")
    lacking: list[str] = []
    for key, names in zip(keys, axes.alternatives, strict=True):
        lacking.extend(f"`{branch.name}` of `{key}`" for branch in stages[key].branches if branch.name not in names)
    if lacking:
        _refuse(table, space, len(lacking), lacking)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _refuse(table: LossTable, space: Space, number: int, lacking: Iterable[str]) -> None:
    told = list(islice(lacking, MOST_TOLD))
    more = f" and {number - len(told):,} more" if number > len(told) else ""
    message = f"the table `{table.name}` lacks what the space `{space.name}` has: {', '.join(told)}{more}"
    raise DataError(message, "leave it out of the space, or make a table of the space with `spacelang tabulate`")


# ---- a list


def _check_members(table: LossTable, structures: Structures, places: Mapping[bytes, int]) -> None:
    """Every configuration is looked for where the table has all values, else every pipeline at its defaults."""
    size, space = structures.configurations, structures.space
    everything = size is not None and table.facts.hyperparameters == "all"
    wanted = size if everything and size is not None else structures.count
    if wanted > len(places):
        what = "configurations" if everything else "pipelines"
        message = f"the space `{space.name}` has {wanted:,} {what}, the table `{table.name}` {len(places):,}"
        raise DataError(message, "make a table of the space with `spacelang tabulate`")
    members = configurations(structures, "all" if everything else "default")
    lacking = [each for each in members if each.digest not in places]
    if lacking:
        _refuse(table, space, len(lacking), (f"`{each.identity}`" for each in lacking))
