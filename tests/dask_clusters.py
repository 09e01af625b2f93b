"""Clusters of dask for tests, as a user has them: started by dask itself, and used by their address."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from distributed import LocalCluster

from spacelang.testing.executors import MARK_VARIABLE

OPEN = ExitStack()


@contextmanager
def cluster(workers: int = 2, *, processes: bool = True, threads: int = 1, port: int = 0) -> Iterator[Any]:
    """A cluster on the loopback address, its workers in processes of their own or in this one."""
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=threads,
        processes=processes,
        host="127.0.0.1",
        scheduler_port=port,
        protocol="tcp",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
        silence_logs=100,
        memory_limit=0,
    ) as made:
        yield made


@cache
def shared(*, processes: bool) -> str:
    """The address of a cluster with two workers, until `close_shared`; it is none of the test's own processes."""
    mark = os.environ.pop(MARK_VARIABLE, None)
    try:
        return str(OPEN.enter_context(cluster(processes=processes)).scheduler_address)
    finally:
        if mark is not None:
            os.environ[MARK_VARIABLE] = mark


def close_shared() -> None:
    """End the clusters that tests have shared."""
    shared.cache_clear()
    OPEN.close()
