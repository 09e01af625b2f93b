"""Find the row of a configuration in a table, and refuse tables of other pipelines."""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Final, TypeAlias

from spacelang.bench.tables import ConfigurationList, LossTable, StageProduct
from spacelang.bench.tables.configurations import configurations
from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.ir.walk import structure_of
from spacelang.runtime.errors import DataError
from spacelang.serialization.definition import from_json
from spacelang.serialization.difference import Aspect, Difference, differences
from spacelang.serialization.json_fields import DefinitionError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter

RowLookup: TypeAlias = Callable[[Configuration], int | None]
"""A function that returns the row of a configuration in a table, or None if the table does not have it."""

PIPELINE_ASPECTS: Final = (Aspect.OPERATOR, Aspect.FIXED, Aspect.PIPELINE)
"""The aspects of a space that decide which pipeline a configuration stands for."""

MAX_LISTED: Final = 3
"""The largest number of differences in a message."""


def row_lookup(table: LossTable, structures: Structures) -> RowLookup:
    """Return a function that maps a configuration of the space to its row in the table.

    Raises DataError, with the differences, unless the table has all pipelines of the space, at least at their default
    hyperparameters. The pipelines must also have the same meaning, as far as the table records it.
    """
    _check_same_pipelines(table, structures.space)
    match table.pipelines:
        case StageProduct() as axes:
            return _stage_row_lookup(table, axes, structures)
        case ConfigurationList() as listed:
            places = {each.digest: row for row, each in enumerate(listed.configurations)}
            _check_members(table, structures, places)
            return lambda configuration: places.get(configuration.digest)


# ---- the meaning of configurations


def _check_same_pipelines(table: LossTable, space: Space) -> None:
    """Raise DataError if the same configuration means another pipeline in the space than in the table."""
    if not table.metadata.definition:
        return
    try:
        origin = from_json(json.loads(table.metadata.definition))
    except (DefinitionError, ValueError, RecursionError) as error:
        message = f"this version cannot read the space that the table `{table.name}` was made from"
        raise DataError(message, "make the table again with `spacelang tabulate`") from error
    found = [each for each in differences(origin, space) if _changes_pipelines(each)]
    if found:
        shown = "; ".join(map(_describe, found[:MAX_LISTED]))
        more = f"; {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
        message = f"the pipelines of the table `{table.name}` differ from those of `{space.name}`: {shown}{more}"
        raise DataError(message, "search the space that the table was made from, or make a table of this space")


def _changes_pipelines(difference: Difference) -> bool:
    added = difference.aspect is Aspect.HYPERPARAMETER and difference.first is None
    return difference.aspect in PIPELINE_ASPECTS or added


def _describe(difference: Difference) -> str:
    place = f"{difference.aspect.value} of `{difference.path}`" if difference.path else difference.aspect.value
    first, second = ("nothing" if each is None else f"`{each}`" for each in (difference.first, difference.second))
    return f"{place} is {first} in the table and {second} in the space"


# ---- one dimension per stage


def _stage_row_lookup(table: LossTable, axes: StageProduct, structures: Structures) -> RowLookup:
    space = structures.space
    _check_stages(table, axes, space)
    keys = axes.stages or tuple(stage.key for stage in space.stages)
    strides = [1]
    for length in reversed(axes.shape[1:]):
        strides.insert(0, strides[0] * length)
    places = [
        (key, {name: place * stride for place, name in enumerate(names)})
        for key, names, stride in zip(keys, axes.alternatives, strides, strict=True)
    ]
    usual = DefaultCompleter(structures) if space.hyperparameters else None

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


def _check_stages(table: LossTable, axes: StageProduct, space: Space) -> None:
    stages = {stage.key: stage for stage in space.stages}
    keys = axes.stages or tuple(stages)
    if len(space.decisions) > len(stages):
        inner = next(each for each in space.decisions if each.key not in stages)
        message = f"the table `{table.name}` has no decisions inside alternatives, but the space has `{inner.key}`"
        raise DataError(message)
    if len(axes.alternatives) != len(stages) or set(keys) != set(stages):
        named = f" ({_join_names(axes.stages)})" if axes.stages else ""
        message = f"the table `{table.name}` has {len(axes.alternatives)} stages{named}"
        raise DataError(f"{message}, but the space `{space.name}` has {len(stages)} ({_join_names(stages)})")
    lacking: list[str] = []
    for key, names in zip(keys, axes.alternatives, strict=True):
        lacking.extend(f"`{branch.name}` of `{key}`" for branch in stages[key].branches if branch.name not in names)
    if lacking:
        _refuse_missing(table, space, len(lacking), lacking)


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _refuse_missing(table: LossTable, space: Space, number: int, lacking: Iterable[str]) -> None:
    shown = list(islice(lacking, MAX_LISTED))
    more = f" and {number - len(shown):,} more" if number > len(shown) else ""
    message = f"the space `{space.name}` has what the table `{table.name}` lacks: {', '.join(shown)}{more}"
    raise DataError(message, "remove it from the space, or make a table of the space with `spacelang tabulate`")


# ---- a list


def _check_members(table: LossTable, structures: Structures, places: Mapping[bytes, int]) -> None:
    """Raise DataError unless the table has the configurations of the space.

    All configurations are checked if the table has all values of hyperparameters. Otherwise each pipeline is checked at
    its defaults.
    """
    size, space = structures.configuration_count, structures.space
    everything = size is not None and table.metadata.hyperparameters == "all"
    wanted = size if everything and size is not None else structures.count
    if wanted > len(places):
        what = "configurations" if everything else "pipelines"
        message = f"the space `{space.name}` has {wanted:,} {what}, the table `{table.name}` only {len(places):,}"
        raise DataError(message, "make a table of the space with `spacelang tabulate`")
    members = configurations(structures, "all" if everything else "default")
    lacking = [each for each in members if each.digest not in places]
    if lacking:
        _refuse_missing(table, space, len(lacking), (f"`{each.identity}`" for each in lacking))
