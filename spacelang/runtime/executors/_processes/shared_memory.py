"""Numbers in memory that a worker and the zygote share, so that the zygote needs no messages."""

import mmap
from ctypes import Structure, c_double, c_int64


class SharedWorkerState(Structure):
    """The state of one worker in shared memory; `make_shared_worker_state` creates it before the worker is forked.

    - `begun` is the number of the last job that the worker has started.
    - `since` is when it did, by the monotonic clock, which all processes share.
    - `finished` is the number of the last job whose result is complete and about to be sent.
    - `held` is the memory that it held between jobs beyond that of an idle worker, in bytes.
    """

    _fields_ = (("begun", c_int64), ("since", c_double), ("finished", c_int64), ("held", c_int64))

    begun: int
    since: float
    finished: int
    held: int


def make_shared_worker_state() -> SharedWorkerState:
    """Return new numbers in anonymous shared memory, which is freed with the object."""
    return SharedWorkerState.from_buffer(mmap.mmap(-1, mmap.PAGESIZE))
