"""Executors, which evaluate the trials of a search, the limits of a trial, and checks of a store."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacelang.api.space import Space
from spacelang.deprecation import plugin_attribute
from spacelang.ir.task import UNLIMITED, Limits, describe_limits
from spacelang.runtime.budget import parse_trial_limits
from spacelang.runtime.ensembles import DEFAULT_VOTES
from spacelang.runtime.executors import EXECUTORS, ONE_WORKER, WorkerSettings, wait_until_ready

if TYPE_CHECKING:
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.objective import Evaluator


def make_executor(objective: "Evaluator", workers: WorkerSettings = ONE_WORKER, *, forks: bool = False) -> "Executor":
    """Create an executor for an objective and return it when it is ready; the caller closes it.

    By default the workers are processes of this machine. With 0 workers, trials run in the current process, without any
    limits.

    `WorkerSettings.executor` is the name of an executor or an address. A name is that of a module in
    `spacelang.runtime.executors` or of an entry point; `dask` starts a local cluster. An address such as
    `tcp://HOST:PORT` is that of a running dask scheduler. With `forks`, all processes are forked from the current one
    if it has only ever used one thread, so that nothing is imported twice.

    Raises the runtime's InputError if the executor cannot start. Raises ValueError for an invalid number of workers,
    and for 0 workers with `isolate`.
    """
    count, name = workers.count, workers.executor
    if count < 0 or (name is not None and count == 0):
        raise ValueError(f"`workers` is {count}: an executor needs at least 1, and 0 is the current process")
    if workers.isolate and count == 0:
        raise ValueError("trials can be isolated in worker processes only: use at least 1 worker")
    if count == 0:
        from spacelang.runtime.executors.in_process import InProcess

        made: Executor = InProcess(objective.evaluate)
    else:
        creates = ("create", "hired")
        if name is None:
            name = "processes"
        elif name not in EXECUTORS.names() or not any(hasattr(EXECUTORS.load(name), each) for each in creates):
            name = "dask"  # anything that is not a name is the address of a scheduler
        made = plugin_attribute(EXECUTORS.load(name), *creates)(objective.evaluate, workers, forks=forks)
    try:
        wait_until_ready(made)
    except BaseException:
        made.close()
        raise
    return made


def use_one_thread() -> None:
    """Make this process and its children use one thread, so that it can fork; call it before numerical imports."""
    from spacelang.runtime.executors._processes import zygote_connection

    zygote_connection.set_one_thread_environment()


def trial_limits(space: Space, given: str | None = None) -> Limits:
    """Return the limits of a trial: those in `given`, such as `300s 4GB`, or else the task's; raises ValueError."""
    if given is not None:
        return parse_trial_limits(given)
    return UNLIMITED if space.task is None else space.task.limits


def worker_settings(space: Space, options: Mapping[str, Any]) -> WorkerSettings:
    """Return the settings of the workers that the options of a run describe; raises ValueError for invalid limits."""
    limits = trial_limits(space, options["trial_limit"])
    return WorkerSettings(options["workers"], options.get("executor"), limits, options.get("isolate", False))


def unenforced_limits_warning(workers: WorkerSettings) -> str | None:
    """Return a warning if there are limits for trials but no worker processes to enforce them; otherwise None."""
    limits = workers.limits
    is_enforced = workers.count > 0 or workers.executor is not None
    if is_enforced or (limits.trial_seconds is None and limits.trial_bytes is None):
        return None
    limit = next(describe_limits(limits))
    return f"`{limit}` is not enforced without workers: every trial runs to its end"


def choose_number_of_ensemble_votes(
    given: int | None, chosen: str, store: str | PathLike[str] | None, *, resume: bool
) -> int | None:
    """Return the number of votes of the ensemble of a run; None for a run without an ensemble.

    If no number is `given`, it is `DEFAULT_VOTES` for a run whose space was `chosen` by default (a resumed one must
    also have predictions in its store), and None for any other run. The number 0 means no ensemble. Raises ValueError
    for a negative number, and StoreError if an ensemble is asked for that cannot be built.
    """
    from spacelang.runtime.storage.store_errors import StoreError

    if given is not None and given < 0:
        raise ValueError(f"`ensemble` is {given}: give at least 1 vote, or 0 for no ensemble")
    if given == 0 or (given is None and not chosen):
        return None
    try:
        if resume:
            check_store_has_predictions(store)
    except StoreError:
        if given is not None:
            raise
        return None
    return DEFAULT_VOTES if given is None else given


def check_store_for_resume(store: str | PathLike[str] | None, *, resume: bool) -> None:
    """Raise ValueError if a run is to be resumed without its store."""
    if resume and store is None:
        raise ValueError("nothing to resume: give the `store` of the run")


def check_store_has_predictions(path: str | PathLike[str] | None) -> None:
    """Raise StoreError if an existing store lacks the predictions from which an ensemble is selected."""
    from spacelang.runtime.storage.store import Store, StoreError, is_missing_or_empty

    if path is None or is_missing_or_empty(Path(path)):
        return
    with Store.read(Path(path)) as run:
        keeps_them = run.header.settings.get("predictions") == "true"
    if not keeps_them:
        what = f"`{path}` contains no predictions of trials, which the selection of an ensemble needs"
        raise StoreError(what, "search again with `--ensemble` and a new store")
