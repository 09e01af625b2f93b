"""Runs that are kept in a file: the journal of each, whatever its trials are evaluated on."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacelang.api.space import Space
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import NO_TERMS, Allowance, Terms
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._fidelity import rungs
from spacelang.plugins import at_defaults, facts

if TYPE_CHECKING:
    from spacelang.runtime.objective import Aim
    from spacelang.runtime.storing.header import Header
    from spacelang.runtime.storing.store import Store


@contextmanager
def keeping(
    path: str | PathLike[str] | None,
    space: Space,
    optimizer: tuple[str, Any],
    objective: "Aim",
    *,
    seed: int,
    resume: bool,
    terms: Terms = NO_TERMS,
) -> "Iterator[Store | None]":
    """The journal of a run that is kept in a file, for as long as the run goes on; None where it is kept nowhere.

    With `resume` the run in the file goes on; a file that is not there yet, or empty, begins one on these `terms`. The
    optimizer comes with its name. Raises StoreError where the file cannot be used or holds another run, and, before
    anything is kept, InputError where the optimizer will ask for fidelities that the objective does not have, and where
    it cannot search the space; OptionError where it cannot begin with the configurations of the terms.
    """
    from spacelang.report.searched import lost_by

    check_rungs(optimizer[1], objective)
    lost_by(optimizer[1], space.checked)
    if (check := getattr(optimizer[1], "check_initial", None)) is not None and not resume:
        check(terms.initial or ())
    if path is None:
        yield None
        return
    from spacelang.runtime.errors import OtherSearchError
    from spacelang.runtime.storing.store import Store, is_blank

    place = Path(path)
    make = Store.create if not resume or is_blank(place) else Store.open
    with make(place, header_of(space, optimizer, objective, seed, terms), durable=not objective.is_cheap) as store:
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
        raise StoreError(what, "search again with `--ensemble`, or `ensemble=`, and another store")


def header_of(
    space: Space, optimizer: tuple[str, Any], objective: "Aim", seed: int, terms: Terms = NO_TERMS
) -> "Header":
    """What the run of an optimizer, given with its name, is of."""
    from spacelang.runtime.objective import Described
    from spacelang.runtime.storing.header import make_header

    name, configured = optimizer
    return make_header(
        space.checked,
        objective.facts,
        metric=objective.metric.formula,
        validation=objective.validation,
        bounds=objective.bounds,
        scale=objective.scale,
        training_size=objective.training_size,
        seed=seed,
        optimizer=name,
        options=facts(configured),
        at_defaults=at_defaults(configured),
        settings=objective.further,
        terms=terms,
        meta_features=objective.meta_features if isinstance(objective, Described) else None,
    )


def terms_of(
    time: str | float | None, trials: int | None, workers: int, initial: tuple[Configuration, ...] | None = None
) -> Terms:
    """With what a run of so many workers begins; raises ValueError for a text that is no time."""
    from spacelang.runtime.budget import parse_duration

    seconds = parse_duration(time) if isinstance(time, str) else time
    return Terms(initial, Allowance(None if seconds is None else seconds * max(workers, 1), trials))


def begun_with(terms: Terms, journal: "Store | None") -> tuple[Configuration, ...]:
    """The configurations that a run began with: those of its journal, where it has one."""
    return (terms if journal is None else journal.terms).initial or ()


def check_rungs(optimizer: Any, objective: "Aim") -> None:
    """Raise InputError where the fidelity grid of an optimizer has fidelities that the objective does not have.

    An optimizer that has other rungs than that grid says them by a method `rungs`, or is found out when it asks.
    """
    from spacelang.runtime.objective import Graded

    if not isinstance(objective, Graded):
        return
    size, names = objective.training_size, {option.name for option in OPTIMIZERS.options(type(optimizer))}
    if hasattr(optimizer, "rungs"):
        objective.check_sizes(optimizer.rungs(size))
    elif {"b", "eta"} <= names and getattr(optimizer, "rung_rule", "grid") == "grid":
        objective.check_sizes(rungs(size, optimizer.b, optimizer.eta))
