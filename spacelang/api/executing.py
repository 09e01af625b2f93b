"""Where the trials of a search are evaluated, and what each of them may take."""

from typing import TYPE_CHECKING, Any, Final

from spacelang.api.space import Space
from spacelang.ir.task import UNLIMITED, Limits, describe_limits
from spacelang.runtime.executors import ONE, Workers

if TYPE_CHECKING:
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.objective import Evaluating

DASK: Final = "dask"
"""The executor that starts a cluster of its own on this machine."""


def make_executor(objective: "Evaluating", workers: Workers = ONE, *, forks: bool = False) -> "Executor":
    """What evaluates the trials of an objective, and is ready to; whoever asks for it closes it.

    Without an `executor` its workers are processes of this machine; with 0 of them it is this very process, which
    bounds nothing. `dask` starts a local cluster, an address such as `tcp://HOST:PORT` is that of a running scheduler.
    With `forks` all processes are forked from this one if it has used one thread alone, so that nothing is imported
    twice. Raises the runtime's InputError where that cannot be, ValueError for a number of workers that none can be, or
    that isolates nothing.
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
    asked: dict[str, Any] = {"workers": count, "limits": workers.limits, "isolate": workers.isolate}
    if executor is not None:
        from spacelang.runtime.executors.dask import Dask

        return Dask(objective.evaluate, **asked, address=None if executor == DASK else executor)
    if count == 0:
        from spacelang.runtime.executors.here import Here

        return Here(objective.evaluate)
    from spacelang.runtime.executors.processes import Processes

    return Processes(objective.evaluate, **asked, forks=forks)


def trial_limits(space: Space, given: str | None = None) -> Limits:
    """What one trial may take: as `given` (`300s 4GB`), else as the task of the space says.

    Raises ValueError for a text that says nothing of the kind.
    """
    from spacelang.runtime.budget import parse_limits

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
