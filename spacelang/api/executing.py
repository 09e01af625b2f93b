"""Where the trials of a search are evaluated, and what each of them may take."""

from typing import TYPE_CHECKING, Final

from spacelang.api.space import Space
from spacelang.ir.task import UNLIMITED, Limits, describe_limits
from spacelang.runtime.budget import parse_limits
from spacelang.runtime.executors import EXECUTORS, ONE, Workers

if TYPE_CHECKING:
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.objective import Evaluating

PROCESSES: Final = "processes"
"""The executor where none is named."""

DASK: Final = "dask"
"""The executor that addresses are for."""


def make_executor(objective: "Evaluating", workers: Workers = ONE, *, forks: bool = False) -> "Executor":
    """What evaluates the trials of an objective, and is ready to; whoever asks for it closes it.

    Without an `executor` its workers are processes of this machine; with 0 of them it is this very process, which
    bounds nothing. An executor is named as its file, or as the entry point of another package: `dask` starts a local
    cluster; an address such as `tcp://HOST:PORT` is that of a running scheduler. With `forks` all processes are forked
    from this one if it has used one thread alone, so that nothing is imported twice. Raises the runtime's InputError
    where that cannot be, ValueError for a number of workers that none can be, or that isolates nothing.
    """
    made = _made(objective, workers, forks=forks)
    try:
        made.ready()
    except BaseException:
        made.close()
        raise
    return made


def use_one_thread() -> None:
    """Have this process, and all that it starts, use one thread, for `forks`: before anything that counts is imported.

    What has been imported goes on as it is.
    """
    from spacelang.runtime.executors._processes import forked

    forked.use_one_thread()


def _made(objective: "Evaluating", workers: Workers, *, forks: bool) -> "Executor":
    count, executor = workers.count, workers.executor
    if count < 0 or (executor is not None and count == 0):
        raise ValueError(f"{count} workers evaluate nothing")
    if workers.isolate and count == 0:
        raise ValueError("without workers trials are not isolated from each other")
    if count == 0:
        from spacelang.runtime.executors.here import Here

        return Here(objective.evaluate)
    hiring = EXECUTORS.load(_name(executor))
    made: Executor = hiring.hired(objective.evaluate, workers, forks=forks)
    return made


def _name(executor: str | None) -> str:
    """The executor that is meant: what is none is the address of a cluster."""
    if executor is None:
        return PROCESSES
    is_one = executor in EXECUTORS.names() and hasattr(EXECUTORS.load(executor), "hired")
    return executor if is_one else DASK


def trial_limits(space: Space, given: str | None = None) -> Limits:
    """What one trial may take: as `given` (`300s 4GB`), else as the task of the space says.

    Raises ValueError for a text that says nothing of the kind.
    """

    if given is not None:
        return parse_limits(given)
    return UNLIMITED if space.task is None else space.task.limits


def unenforced(workers: Workers) -> str | None:
    """In words, what nothing enforces where trials are evaluated in the search's own process; None if there is none."""
    limits = workers.limits
    is_enforced = workers.count > 0 or workers.executor is not None
    if is_enforced or (limits.trial_seconds is None and limits.trial_bytes is None):
        return None
    line = next(describe_limits(limits))
    return f"`{line}` is not enforced without workers: every trial runs to its end"
