"""Searches that are answered from a table of known losses, and how such a table is made."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacelang.api.boxing import Boxed
from spacelang.api.executing import trial_limits
from spacelang.api.experiment import Data, Experiment, seconds_of
from spacelang.api.initial import Initial, read_initial
from spacelang.api.result import Result, succeeded
from spacelang.api.rows import Rows
from spacelang.api.space import Space, opened
from spacelang.forms.definition import to_json
from spacelang.ir.task import describe_validation
from spacelang.optimizers._fidelity import rungs
from spacelang.runtime.boxes import ARTIFICIAL
from spacelang.runtime.budget import Budget
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import Workers
from spacelang.runtime.objective import Aim, Evaluating
from spacelang.runtime.storing.header import versions

if TYPE_CHECKING:
    from spacelang.bench.tables import LossTable
    from spacelang.bench.tables.listing import Extent
    from spacelang.bench.tables.objective import TableObjective
    from spacelang.bench.tables.tabulation import Shortfall, Tabulate
    from spacelang.runtime.data.reading import Reading
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.history import Outcome
    from spacelang.runtime.listening import Listener

TABLE = "table:"
"""How the name of data begins that is a table of known losses."""


def search_table(  # noqa: PLR0913 - each says one thing about a run
    space: Space | str | PathLike[str],
    table: str | PathLike[str],
    *,
    optimizer: str | None = None,
    optimizer_options: Mapping[str, Any] | None = None,
    time: str | float | None = None,
    trials: int | None = None,
    seed: int = 0,
    allow: Iterable[str] = (),
    bind: Mapping[str, int] | None = None,
    store: str | PathLike[str] | None = None,
    resume: bool = False,
    workers: int = 1,
    trial_limit: str | None = None,
    initial: Initial | None = None,
    listener: "Listener | None" = None,
) -> Result:
    """Search a space on a table of known losses and costs (see `bench.tables`), in seconds instead of hours.

    All seconds are recorded ones: those of `time`, of the incumbents and of trials. With several `workers` trials end
    as they would have ended with so many. A trial on fewer rows must be one of the table's rungs. The result has no
    fitted pipeline, as there is no data; all else is as `search` says. Without a name the optimizer is `blds` where the
    table has default hyperparameters only, and `initial` may have no others.

    Raises NoSuccessError, which holds the result, where no trial succeeded; SpaceError, UnknownPluginError,
    OptionError, ValueError for a text that is no time or limit, and the runtime's InputError for a file that is no
    table, one of other pipelines, rows that it does not have, and stores.
    """

    loaded = opened(space, allow, bind)
    experiment = Experiment(
        space=loaded,
        data=data_of(f"{TABLE}{str(table).removeprefix(TABLE)}"),
        budget=Budget(seconds_of(loaded, time), trials),
        seed=seed,
        workers=Workers(workers, limits=trial_limits(loaded, trial_limit)),
        initial=None if initial is None else read_initial(initial),
    )
    prepared = experiment.by(optimizer, optimizer_options).prepared()
    crew = prepared.crew()
    return succeeded(prepared.run(crew, initial=prepared.initial(), store=store, resume=resume, listener=listener))


@dataclass(frozen=True, eq=False)
class Losses(Data):
    """A table of known losses: runs take the time that it has recorded."""

    table: "LossTable"

    @property
    def has_defaults_only(self) -> bool:
        """Whether it has pipelines with default hyperparameters only."""
        return self.table.has_defaults_only

    def over(self, experiment: Experiment) -> "tuple[Space, TableObjective]":
        """The space for the data that the table was made of, and what is minimised on the table."""
        from spacelang.bench.tables.objective import TableObjective

        space, table = experiment.space, self.table
        unbound = [name for name, number in space.symbols.items() if number is None]
        unknown = [name for name in unbound if name not in table.facts.symbols]
        if unknown:
            message = f"the table `{table.name}` does not say how large its data was: `{unknown[0]}` is not known"
            raise InputError(message, f"say it: `--bind {unknown[0]}=…`")
        bound = space.bind(**{name: table.facts.symbols[name] for name in unbound}) if unbound else space
        return bound, TableObjective(bound.counted, table, limits=experiment.workers.limits)

    def crew(self, aim: "Aim", workers: Workers, *, forks: bool = False) -> "Executor":  # noqa: ARG002 - no process
        """Workers that take the seconds of the table."""
        from spacelang.bench.simulated import Simulated

        assert isinstance(aim, Evaluating)
        # A simulated worker takes nobody's place: without any there is one, too.
        return Simulated(aim.evaluate, workers=max(workers.count, 1))


def data_of(reference: str, target_column: str | None = None, reading: "Reading | None" = None) -> Data:
    """What `--data` names: a table of known losses, an artificial box, else rows, read so; raises InputError."""
    if reference.startswith(ARTIFICIAL):
        return Boxed(reference)
    if reference.startswith(TABLE):
        from spacelang.bench.tables.reading import read_table

        return Losses(read_table(Path(reference.removeprefix(TABLE))))
    from spacelang.runtime.data.loading import load_dataset
    from spacelang.runtime.data.reading import PLAIN

    return Rows(load_dataset(reference, target_column, reading or PLAIN))


# ---- making a table


def tabulation(
    space: Space,
    training_size: int,
    *,
    hyperparameters: "Extent" = "all",
    b: int | None = None,
    eta: float | None = None,
) -> "tuple[Tabulate, int]":
    """The search that asks for every trial of a table of the space, and how many these are.

    The rungs are the fidelity grid of `b` and `eta` up to all training rows; what is not given is as the task says, or
    as the optimizers have it. Raises InputError for a space of which no table can be made, OptionError for no grid.
    """
    from spacelang.bench.tables.tabulation import Tabulate, check_size
    from spacelang.optimizers._settings import check_grid

    said = None if space.task is None else space.task.fidelity
    first = b if b is not None else 100 if said is None else said.first
    factor = eta if eta is not None else 2.0 if said is None else said.factor
    check_grid(first, factor)
    sizes = rungs(training_size, first, factor)
    return Tabulate(sizes, hyperparameters), check_size(space.counted, hyperparameters, len(sizes))


def table_of(
    space: Space,
    objective: "DataObjective",
    tabulate: "Tabulate",
    outcome: "Outcome",
    *,
    seed: int,
) -> "LossTable | Shortfall":
    """The table of all trials of a tabulation, or how many of them are missing.

    Costs are what a trial takes alone: without what it shared with others.
    """
    import json

    from spacelang.bench.tables import Facts
    from spacelang.bench.tables.tabulation import tabulated

    facts = Facts(
        space=space.name,
        definition=json.dumps(to_json(space.checked), sort_keys=True, separators=(",", ":")),
        data=objective.dataset.name,
        metric=objective.metric.name,
        formula=objective.metric.formula,
        validation=describe_validation(objective.validation),
        preparation=objective.preparation.sentence,
        hyperparameters=tabulate.hyperparameters,
        seed=seed,
        constant=objective.constant,
        symbols=objective.symbols,
        versions=versions(),
    )
    trials = (record.trial for record in outcome.records)
    bounds = [bound.name for bound in objective.bounds]
    return tabulated(space.counted, trials, tabulate.sizes, facts, bounds)
