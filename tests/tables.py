"""Loss tables made by hand: of any space, from any function."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from spacelang.api.experiment import Experiment, PreparedExperiment
from spacelang.api.space import Space as Loaded
from spacelang.bench.table_search import LossTableData
from spacelang.bench.tables import (
    MAX_TRIALS,
    Extent,
    LossTable,
    TableMetadata,
    TabulationSearch,
    build_table_or_count_missing,
)
from spacelang.bench.tables.table_files import read_table, write_table
from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Status, Trial
from spacelang.solver.counting import Structures
from spacelang.testing.driving import drive_search, hash_loss

SIZES = (100, 200, 350)


def recorded(request: Request) -> Trial:
    """A trial that depends on nothing but the request: a third of all fail, and none takes more than a second."""
    number = crc32(f"{request.configuration.identity} {request.fidelity}".encode())
    loss, cost = number / 2**32, number % 997 / 1000
    if loss < 1 / 3:
        return Trial(request, None, cost, Status.ERROR, f"reason {number % 2}")
    return Trial(request, loss, cost, training_loss=loss / 2 if loss < 2 / 3 else None)


def trials(space: Space, hyperparameters: Extent = "all", sizes: tuple[int, ...] = SIZES) -> list[Request]:
    """Everything that a table of the space is asked for."""
    search = TabulationSearch(sizes, hyperparameters).search(Problem(space, sizes[-1], np.random.default_rng(0)))
    return [*drive_search(search, hash_loss, MAX_TRIALS).requests]


def table_of(
    space: Space,
    evaluate: Callable[[Request], Trial] = recorded,
    *,
    hyperparameters: Extent = "all",
    sizes: tuple[int, ...] = SIZES,
    **facts: object,
) -> LossTable:
    """The table of an evaluation over a finite space."""
    answers = [evaluate(request) for request in trials(space, hyperparameters, sizes)]
    said = replace(TableMetadata(hyperparameters=hyperparameters), **facts)  # type: ignore[arg-type]
    bounds = [each.bound.name for each in answers[0].constraints]
    made = build_table_or_count_missing(Structures(space), answers, sizes, said, bounds)
    assert isinstance(made, LossTable)
    return made


def kept(table: LossTable, path: Path) -> LossTable:
    """The same table, written and read."""
    write_table(table, path)
    return read_table(path)


def loaded(space: Space) -> Loaded:
    """A space as programs hold it."""
    return Loaded(space, Structures(space))


def on_table(
    space: Loaded, table: LossTable, name: str, options: Mapping[str, object] | None = None, **said: Any
) -> PreparedExperiment:
    """A run on a table by the optimizer of a name, in the time of the table."""
    return Experiment(space=space, data=LossTableData(table), **said).with_optimizer(name, options).prepare()
