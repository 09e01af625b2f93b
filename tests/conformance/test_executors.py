"""Every executor does what every executor must do; a new one is a line of `EXECUTORS`."""

import os
from collections.abc import Callable, Iterator

import pytest
from dask_clusters import close_shared, shared

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.task import Limits
from spacelang.runtime.executors import Evaluate, Executor
from spacelang.runtime.executors.dask import Dask
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.executors.processes import Processes
from spacelang.testing import ExecutorConformance, ExecutorLimitsConformance

pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")
"""A worker of dask may close a connection before its handshake has ended, and then leaves the socket open."""

EXECUTORS: dict[str, Callable[[Evaluate, Limits], Executor]] = {
    "here": lambda evaluate, _: InProcess(evaluate),
    "processes-1": lambda evaluate, limits: Processes(evaluate, limits=limits),
    "processes-2": lambda evaluate, limits: Processes(evaluate, workers=2, limits=limits),
    "simulated-1": lambda evaluate, _: SimulatedExecutor(evaluate),
    "simulated-3": lambda evaluate, _: SimulatedExecutor(evaluate, workers=3),
    "dask-in-process": lambda evaluate, limits: Dask(
        evaluate, workers=2, limits=limits, address=shared(processes=False)
    ),
    "dask-processes-2": lambda evaluate, limits: Dask(
        evaluate, workers=2, limits=limits, address=shared(processes=True)
    ),
}
FULL = bool(os.environ.get("SPACELANG_FULL"))

NAMES = tuple(EXECUTORS) if FULL else ("here", "processes-2", "simulated-3", "dask-in-process", "dask-processes-2")
"""In the reduced form those of one worker leave what they do to those of several, which do it as well."""

BOUNDING = tuple(name for name in EXECUTORS if name.startswith(("processes", "dask") if FULL else "processes"))
"""Those that outlive whatever a trial does; below dask workers it is the same that bounds trials as in `processes`."""


@pytest.fixture(scope="module", autouse=True)
def clusters() -> Iterator[None]:
    """Those that tests share end with the last of them."""
    yield
    close_shared()


class Named:
    """An executor of `EXECUTORS`."""

    name: str
    runs_apart: bool

    @pytest.fixture(autouse=True)
    def named(self, name: str) -> None:
        self.name = name
        self.runs_apart = name.startswith("processes")  # as for dask, a cluster may take its time to begin

    def executor(self, evaluate: Evaluate, limits: Limits) -> Executor:
        return EXECUTORS[self.name](evaluate, limits)


@pytest.mark.parametrize("name", NAMES)
class TestExecutors(Named, ExecutorConformance):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDING)
class TestBounding(Named, ExecutorLimitsConformance):
    many = 1000 if FULL else 30
