"""The configurations of a table: all of a finite space, or each pipeline at its default hyperparameters."""

from collections.abc import Iterator
from math import prod
from typing import Literal, TypeAlias

from spacelang.bench.tables import StageProduct
from spacelang.ir.configuration import Configuration
from spacelang.runtime.errors import InputError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter
from spacelang.solver.numbering import ConfigurationNumbers, structure_at

Extent: TypeAlias = Literal["all", "default"]
"""The hyperparameters in a table: all their values, or only their defaults."""

DEFAULTS_ONLY_HELP = "`--hyperparameters default` includes each pipeline only at its default hyperparameters"


def count_configurations(structures: Structures, hyperparameters: Extent) -> int:
    """Return the number of configurations; raises InputError with the reason if it is infinite."""
    if hyperparameters == "default":
        return structures.count
    try:
        return ConfigurationNumbers(structures).count
    except ValueError as error:
        pipelines = f"{structures.count:,} pipelines" if structures.count != 1 else "1 pipeline"
        reason = str(error).partition(": ")[2] or str(error)
        message = f"`{structures.space.name}` cannot be listed ({pipelines}, but {reason})"
        raise InputError(message, DEFAULTS_ONLY_HELP) from error


def configurations(structures: Structures, hyperparameters: Extent) -> Iterator[Configuration]:
    """Return an iterator over all configurations, in the order of the text.

    Raises as `count_configurations` does.
    """
    if hyperparameters == "default":
        completer = DefaultCompleter(structures)
        return (completer.complete(structure_at(structures, number)) for number in range(structures.count))
    wanted = count_configurations(structures, hyperparameters)
    numbers = ConfigurationNumbers(structures)
    return (numbers.configuration_at(number) for number in range(wanted))


def stage_product_of(structures: Structures) -> StageProduct | None:
    """Return the stages of a space that is a plain product of them, else None."""
    space = structures.space
    if space.hyperparameters or len(space.stages) < len(space.decisions) or not space.stages:
        return None
    axes = StageProduct(
        tuple(tuple(branch.name for branch in stage.branches) for stage in space.stages),
        tuple(stage.key for stage in space.stages),
    )
    return axes if structures.count == prod(axes.shape) else None
