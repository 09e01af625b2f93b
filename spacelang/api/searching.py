"""A search of a space on data: which optimizer, on what, how long, and what was found."""

import time as _time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacelang.api.space import Space, load_for_data
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import UNLIMITED, CrossValidation, Goal, Task, Validation, describe_limits
from spacelang.optimizers import OPTIMIZERS

if TYPE_CHECKING:
    import pandas as pd

    from spacelang.runtime.loop import Journal, Listener, Outcome
    from spacelang.runtime.objective import Objective


def search(  # noqa: PLR0913 - each says one thing about a run
    space: Space | str | PathLike[str],
    features: Any,
    target: Any,
    *,
    optimizer: str = "blds",
    optimizer_options: Mapping[str, Any] | None = None,
    metric: str | None = None,
    validate: str | None = None,
    time: str | float | None = None,
    trials: int | None = None,
    seed: int = 0,
    allow: Iterable[str] = (),
    bind: Mapping[str, int] | None = None,
    store: str | PathLike[str] | None = None,
    resume: bool = False,
    listener: "Listener | None" = None,
) -> "Result":
    """Search a space on data: n rows of features (a DataFrame or an n x d array) and n labels.

    `metric` names a scikit-learn scorer, `validate` is `holdout(0.3)` or `cv(5)`. What is not given is as the task of
    the space says. `allow` is as for `load`. The symbols of the space are bound by the data, except those that `bind`
    or the space binds already (see `bound_by`). At least one of `time` (`"60s"` or seconds) and `trials`, or a
    `limit run` of the task, limits the search unless the space is exhausted first. With `store` every trial is kept in
    that file as it ends; with `resume` the run that it holds goes on, its trials replayed. Raises SpaceError,
    UnknownPluginError, OptionError, ValueError for a text that is no validation or time, and the runtime's InputError
    for data, metrics and stores.
    """
    from spacelang.runtime.data import make_table
    from spacelang.runtime.split import parse_validation

    loaded = _bound(space, bind) if isinstance(space, Space) else load_for_data(space, allow=allow, bind=bind)
    chosen = with_fidelity(configure_optimizer(optimizer, optimizer_options), loaded, optimizer_options or {})
    validation = None if validate is None else parse_validation(validate)
    table = make_table(features, target)
    objective = make_objective(loaded, table, metric=metric, validation=validation, seed=seed)
    loaded, objective = bound_by(objective, loaded)
    ignored = unenforced(loaded)
    if ignored is not None:
        warnings.warn(ignored, stacklevel=2)
    seconds = loaded.task.limits.run_seconds if time is None and loaded.task is not None else time
    with keeping(store, loaded, (optimizer, chosen), objective, seed=seed, resume=resume) as journal:
        outcome = run(
            loaded, chosen, objective, time=seconds, trials=trials, seed=seed, listener=listener, journal=journal
        )
    return Result(outcome, objective)


@dataclass(frozen=True, eq=False)
class Result:
    """What a search found. `best_pipeline` is fitted on all data, and None where no trial succeeded."""

    outcome: "Outcome" = field(repr=False)
    objective: "Objective" = field(repr=False)

    @property
    def best_configuration(self) -> Configuration | None:
        """The configuration of the incumbent."""
        best = self.outcome.best
        return None if best is None else best.trial.request.configuration

    @property
    def loss(self) -> float | None:
        """The loss of the incumbent on the held-out rows."""
        best = self.outcome.best
        return None if best is None else best.trial.loss

    @cached_property
    def best_pipeline(self) -> Any:
        """The incumbent, fitted on all rows, with the preparation of the data as its first step."""
        configuration = self.best_configuration
        return None if configuration is None else self.objective.refit(configuration)

    @property
    def is_feasible(self) -> bool:
        """Whether the incumbent keeps to all that the task is subject to; false without one."""
        best = self.outcome.best
        return best is not None and best.trial.is_feasible

    @property
    def trials(self) -> "pd.DataFrame":
        """One row a trial: loss, status, reason, cost and time in seconds, training rows, configuration.

        What the task bounds follows, each measure in a column of its name: seconds, bytes, differences of scores.
        """
        import pandas as pd

        measures = [bound.name for bound in self.objective.bounds]
        return pd.DataFrame(
            [
                {
                    "loss": record.trial.loss,
                    "status": record.trial.status.value,
                    "reason": record.trial.reason,
                    "rows": record.trial.request.fidelity or self.objective.training_size,
                    "cost": record.trial.cost,
                    "seconds": record.finished,
                    "configuration": record.trial.request.configuration.to_dict(),
                    **{measured.bound.name: measured.value for measured in record.trial.constraints},
                }
                for record in self.outcome.records
            ],
            columns=["loss", "status", "reason", "rows", "cost", "seconds", "configuration", *measures],
        )

    @property
    def incumbent(self) -> "pd.DataFrame":
        """The incumbent over time: seconds, number of the trial, loss."""
        import pandas as pd

        points = [(point.seconds, point.trial, point.loss) for point in self.outcome.curve]
        return pd.DataFrame(points, columns=["seconds", "trial", "loss"])


def _bound(space: Space, bind: Mapping[str, int] | None) -> Space:
    return space.bind(**bind) if bind else space


def configure_optimizer(name: str, options: Mapping[str, Any] | None = None) -> Any:
    """The optimizer of a name with its options; raises UnknownPluginError and OptionError."""
    return OPTIMIZERS.configure(OPTIMIZERS.load(name), {key: str(value) for key, value in (options or {}).items()})


def with_fidelity(optimizer: Any, space: Space, given: Iterable[str] = ()) -> Any:
    """The optimizer with `b` and `eta` as the task's fidelity says, where it has them and they are not `given`."""
    if space.task is None or space.task.fidelity is None:
        return optimizer
    fidelity = space.task.fidelity
    free = {option.name for option in OPTIMIZERS.options(type(optimizer))} - set(given)
    return replace(
        optimizer, **{name: value for name, value in (("b", fidelity.first), ("eta", fidelity.factor)) if name in free}
    )


def make_objective(
    space: Space, table: Any, *, metric: str | None, seed: int, validation: Validation | None = None
) -> "Objective":
    """What a search over the space minimises on a table of data; raises the runtime's InputError.

    A metric and a validation that are given come before those of the task; without any they are chosen by the data.
    """
    from spacelang.runtime.labels import check_labels
    from spacelang.runtime.library import check_buildable, task_kind
    from spacelang.runtime.objective import DEFAULT_VALIDATION, Objective, Settings

    check_buildable(space.checked.root)
    kind = task_kind(space.checked.root)
    task = space.task or Task(kind)
    goal = task.goal if metric is None else Goal("maximize", metric)
    chosen = validation or task.validation or DEFAULT_VALIDATION
    dataset = check_labels(table, kind, folds=chosen.folds if isinstance(chosen, CrossValidation) else 2)
    return Objective(space.checked, dataset, Settings(goal, chosen, task.bounds, seed))


def bound_by(objective: "Objective", space: Space) -> tuple[Space, "Objective"]:
    """The space for the data of an objective, and the objective over it.

    `n_samples` is the number of rows that a trial at full fidelity trains on, `n_features` the number of columns that
    its pipeline is given, `n_classes` the number of classes. What is bound already stays. Raises SpaceError where the
    space has errors for this data.
    """
    unbound = [name for name, number in space.symbols.items() if number is None]
    if not unbound:
        return space, objective
    bound = space.bind(**{name: objective.symbols[name] for name in unbound if name in objective.symbols})
    return bound, objective.over(bound.checked)


def unenforced(space: Space) -> str | None:
    """In words, which limits of the task a run does not enforce; None where there are none."""
    limits = UNLIMITED if space.task is None else space.task.limits
    if limits.trial_seconds is None and limits.trial_bytes is None:
        return None
    line = next(describe_limits(limits))
    return f"`{line}` is not enforced yet: every trial runs to its end"


@contextmanager
def keeping(
    path: str | PathLike[str] | None,
    space: Space,
    optimizer: tuple[str, Any],
    objective: "Objective",
    *,
    seed: int,
    resume: bool,
) -> "Iterator[Journal | None]":
    """The journal of a run that is kept in a file, for as long as the run goes on; None where it is kept nowhere.

    With `resume` the run in the file goes on; a file that is not there yet, or empty, begins one. The optimizer comes
    with its name. Raises StoreError where the file cannot be used or holds another run.
    """
    if path is None:
        yield None
        return
    from spacelang.runtime.fingerprint import data_facts
    from spacelang.runtime.header import make_header
    from spacelang.runtime.journal import StoredJournal
    from spacelang.runtime.store import Store, is_blank

    dataset, (name, configured) = objective.dataset, optimizer
    header = make_header(
        space.checked,
        data_facts(dataset.name, dataset.features, dataset.labels),
        metric=objective.metric.formula,
        validation=objective.validation,
        bounds=objective.bounds,
        training_size=objective.training_size,
        seed=seed,
        optimizer=name,
        options=asdict(configured),
    )
    place = Path(path)
    begins = not resume or is_blank(place)
    with Store.create(place, header) if begins else Store.open(place, header) as store:
        yield StoredJournal(store, objective.bounds)


def run(
    space: Space,
    optimizer: Any,
    objective: "Objective",
    *,
    time: str | float | None,
    trials: int | None,
    seed: int,
    listener: "Listener | None" = None,
    journal: "Journal | None" = None,
) -> "Outcome":
    """Run a configured optimizer; raises ValueError for a budget that allows nothing."""
    from numpy.random import default_rng

    from spacelang.runtime.budget import Budget, parse_duration
    from spacelang.runtime.loop import run as drive

    seconds = parse_duration(time) if isinstance(time, str) else time
    return drive(
        optimizer.search(space.checked, objective.training_size, default_rng(seed)),
        objective.evaluate,
        Budget(seconds, trials),
        clock=_time.perf_counter,
        training_size=objective.training_size,
        listener=listener,
        journal=journal,
    )
