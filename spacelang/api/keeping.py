"""Runs that are kept in a file, whatever their trials are evaluated on."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from spacelang.ir.problem import Terms
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._fidelity import rungs
from spacelang.runtime.errors import OtherSearchError
from spacelang.runtime.objective import Graded

if TYPE_CHECKING:
    from spacelang.api.experiment import Prepared
    from spacelang.runtime.storing.store import Store


@contextmanager
def keeping(
    prepared: "Prepared", path: str | PathLike[str] | None, terms: Terms, *, resume: bool
) -> "Iterator[Store | None]":
    """The store of a run that is kept in a file, for as long as the run goes on; None where it is kept nowhere.

    With `resume` the run in the file goes on; a file that is not there yet, or empty, begins one on these `terms`.
    Raises StoreError where the file cannot be used or holds another run, and, before anything is kept, InputError where
    the optimizer will ask for fidelities that the objective does not have, and where it cannot search the space;
    OptionError where it cannot begin with the configurations of the terms.
    """
    check_rungs(prepared)
    _ = prepared.searched  # raises what keeps the optimizer from searching
    if (check := getattr(prepared.optimizer.plugin, "check_initial", None)) is not None and not resume:
        check(terms.initial or ())
    if path is None:
        yield None
        return
    from spacelang.runtime.storing.store import Store, is_blank

    place = Path(path)
    make = Store.create if not resume or is_blank(place) else Store.open
    with make(place, prepared.header(terms), durable=not prepared.objective.is_cheap) as store:
        if prepared.experiment.ensemble is not None:
            store.ask(prepared.experiment.ensemble)
        try:
            yield store
        except OtherSearchError as error:
            raise store.refused(error.trial) from error


def check_predictions(path: str | PathLike[str] | None) -> None:
    """Raise StoreError where a run that is to go on keeps no predictions, so that no ensemble can be chosen."""
    from spacelang.runtime.storing.store import Store, StoreError, is_blank

    if path is None or is_blank(Path(path)):
        return
    with Store.read(Path(path)) as run:
        keeps_them = run.header.settings.get("predictions") == "true"
    if not keeps_them:
        what = f"`{path}` keeps no predictions, by which the members of an ensemble are chosen"
        raise StoreError(what, "search again with `--ensemble`, and another store")


def check_rungs(prepared: "Prepared") -> None:
    """Raise InputError where the fidelity grid of an optimizer has fidelities that the objective does not have.

    An optimizer that has other rungs than that grid says them by a method `rungs`, or is found out when it asks.
    """

    optimizer, objective = prepared.optimizer.plugin, prepared.objective
    if not isinstance(objective, Graded):
        return
    size, names = objective.training_size, {option.name for option in OPTIMIZERS.options(type(optimizer))}
    if hasattr(optimizer, "rungs"):
        objective.check_sizes(optimizer.rungs(size))
    elif {"b", "eta"} <= names and getattr(optimizer, "rung_rule", "grid") == "grid":
        objective.check_sizes(rungs(size, optimizer.b, optimizer.eta))
