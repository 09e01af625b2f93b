"""Shared numbers: what a worker lets the nursery see without a message, in memory that both have."""

import mmap
from ctypes import Structure, c_double, c_int64


class SharedNumbers(Structure):
    """Four numbers of one worker; `shared_numbers` makes it before the worker is forked.

    `begun` is the last job that the worker has begun, `since` when that was, by the clock that all processes have in
    common; `finished` is the last that it has finished, whose result is made and on its way. `held` are the bytes that
    it held between its jobs, beyond those of an idle one.
    """

    _fields_ = (("begun", c_int64), ("since", c_double), ("finished", c_int64), ("held", c_int64))

    begun: int
    since: float
    finished: int
    held: int


def shared_numbers() -> SharedNumbers:
    """Such numbers in memory of its own, which is given back by whoever has no further use for them."""
    return SharedNumbers.from_buffer(mmap.mmap(-1, mmap.PAGESIZE))
