"""Slots: what a worker lets the nursery see without a message, in memory that both have."""

import mmap
import struct
from typing import Final

NUMBER: Final = struct.Struct("=q")


class Slot:
    """Three numbers of one worker; it is made before the worker is forked."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)

    @property
    def begun(self) -> int:
        """The last job that the worker has begun."""
        return self._read(0)

    @begun.setter
    def begun(self, sequence: int) -> None:
        self._write(0, sequence)

    @property
    def finished(self) -> int:
        """The last job that the worker has finished: its result is made, and on its way."""
        return self._read(1)

    @finished.setter
    def finished(self, sequence: int) -> None:
        self._write(1, sequence)

    @property
    def held(self) -> int:
        """The bytes that the worker held between its jobs, beyond those of an idle one."""
        return self._read(2)

    @held.setter
    def held(self, size: int) -> None:
        self._write(2, size)

    def close(self) -> None:
        """Give the memory back; the other side keeps its own."""
        self._memory.close()

    def _read(self, index: int) -> int:
        (number,) = NUMBER.unpack_from(self._memory, index * NUMBER.size)
        return int(number)

    def _write(self, index: int, number: int) -> None:
        NUMBER.pack_into(self._memory, index * NUMBER.size, number)
