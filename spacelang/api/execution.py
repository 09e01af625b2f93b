"""Creation of executors, which evaluate the trials of a search, and the limits of a trial."""

from typing import TYPE_CHECKING, Final

from spacelang.api.space import Space
from spacelang.deprecation import plugin_attribute
from spacelang.ir.task import UNLIMITED, Limits, describe_limits
from spacelang.runtime.budget import parse_limits
from spacelang.runtime.executors import EXECUTORS, ONE_WORKER, WorkerSettings

if TYPE_CHECKING:
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.objective import Evaluator

DEFAULT_EXECUTOR: Final = "processes"
"""The default executor."""

CLUSTER_EXECUTOR: Final = "dask"
"""The executor for addresses of a scheduler."""


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
    made = _create_executor(objective, workers, forks=forks)
    try:
        made.ready()
    except BaseException:
        made.close()
        raise
    return made


def use_one_thread() -> None:
    """Make this process and its children use one thread, so that it can fork (see `make_executor`).

    Call it before numerical libraries are imported; those already imported are not affected.
    """
    from spacelang.runtime.executors._processes import forked_zygote

    forked_zygote.use_one_thread()


def _create_executor(objective: "Evaluator", workers: WorkerSettings, *, forks: bool) -> "Executor":
    count, executor = workers.count, workers.executor
    if count < 0 or (executor is not None and count == 0):
        raise ValueError(f"`workers` is {count}: an executor needs at least 1, and 0 is the current process")
    if workers.isolate and count == 0:
        raise ValueError("trials can be isolated in worker processes only: use at least 1 worker")
    if count == 0:
        from spacelang.runtime.executors.here import Here

        return Here(objective.evaluate)
    create = plugin_attribute(EXECUTORS.load(_executor_name(executor)), "create", "hired")
    made: Executor = create(objective.evaluate, workers, forks=forks)
    return made


def _executor_name(executor: str | None) -> str:
    """Return the name of the executor that is meant; anything that is not a name is the address of a dask scheduler."""
    if executor is None:
        return DEFAULT_EXECUTOR
    is_one = executor in EXECUTORS.names() and any(
        hasattr(EXECUTORS.load(executor), each) for each in ("create", "hired")
    )
    return executor if is_one else CLUSTER_EXECUTOR


def trial_limits(space: Space, given: str | None = None) -> Limits:
    """Return the limits of one trial: those in `given`, otherwise those of the task of the space.

    `given` is a text such as `300s 4GB`. Raises ValueError for a text that cannot be parsed.
    """
    if given is not None:
        return parse_limits(given)
    return UNLIMITED if space.task is None else space.task.limits


def unenforced_limits_warning(workers: WorkerSettings) -> str | None:
    """Return a warning if there are limits for trials but no worker processes to enforce them; otherwise None."""
    limits = workers.limits
    is_enforced = workers.count > 0 or workers.executor is not None
    if is_enforced or (limits.trial_seconds is None and limits.trial_bytes is None):
        return None
    line = next(describe_limits(limits))
    return f"`{line}` is not enforced without workers: every trial runs to its end"
