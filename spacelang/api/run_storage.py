"""Opening of the store of a run, and checks before a run starts."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from spacelang.ir.problem import StartConditions
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._fidelity import rungs
from spacelang.runtime.errors import DifferentSearchError
from spacelang.runtime.objective import FixedFidelitySetObjective

if TYPE_CHECKING:
    from spacelang.api.experiment import PreparedExperiment
    from spacelang.runtime.storage.store import Store


@contextmanager
def open_run_store(
    prepared: "PreparedExperiment", path: str | PathLike[str] | None, terms: StartConditions, *, resume: bool
) -> "Iterator[Store | None]":
    """Open the store of a run as a context manager; it yields None if there is no path.

    With `resume` the run in the file is continued. If the file is missing or empty, a new run is created with `terms`.

    Raises StoreError if the file cannot be used or holds another run. Before anything is saved, raises InputError if
    the optimizer will request a fidelity that the objective does not have, or cannot search the space. Raises
    OptionError if the optimizer cannot start from the initial configurations.
    """
    check_rungs(prepared)
    _ = prepared.search_coverage  # raises if the optimizer cannot search the space
    if (check := getattr(prepared.optimizer.plugin, "check_initial", None)) is not None and not resume:
        check(terms.initial or ())
    if path is None:
        yield None
        return
    from spacelang.runtime.storage.store import Store, is_blank

    place = Path(path)
    make = Store.create if not resume or is_blank(place) else Store.open
    with make(place, prepared.header(terms), durable=not prepared.objective.is_cheap) as store:
        if prepared.experiment.ensemble is not None:
            store.store_ensemble_request(prepared.experiment.ensemble)
        try:
            yield store
        except DifferentSearchError as error:
            raise store.close_as_refused(error.trial) from error


def check_stored_predictions(path: str | PathLike[str] | None) -> None:
    """Raise StoreError if an existing store has no predictions, from which an ensemble could be selected."""
    from spacelang.runtime.storage.store import Store, StoreError, is_blank

    if path is None or is_blank(Path(path)):
        return
    with Store.read(Path(path)) as run:
        keeps_them = run.header.settings.get("predictions") == "true"
    if not keeps_them:
        what = f"`{path}` has no predictions to select an ensemble by"
        raise StoreError(what, "search again with `--ensemble` and a new store")


def check_rungs(prepared: "PreparedExperiment") -> None:
    """Raise InputError if an optimizer will request fidelities that the objective does not have.

    The rungs are those of the grid of `b` and `eta`, or those that the method `rungs` of the optimizer returns. Other
    optimizers are not checked in advance.
    """
    optimizer, objective = prepared.optimizer.plugin, prepared.objective
    if not isinstance(objective, FixedFidelitySetObjective):
        return
    size, names = objective.training_size, {option.name for option in OPTIMIZERS.options(type(optimizer))}
    if hasattr(optimizer, "rungs"):
        objective.check_fidelities(optimizer.rungs(size))
    elif {"b", "eta"} <= names and getattr(optimizer, "rung_rule", "grid") == "grid":
        objective.check_fidelities(rungs(size, optimizer.b, optimizer.eta))
