"""Channels: whole messages over a socket, in both directions, whatever the other side does meanwhile."""

import socket
import struct
from collections import deque
from contextlib import suppress
from typing import Final

HEADER: Final = struct.Struct("!Q")
"""The length of the message that follows."""

CHUNK: Final = 1 << 18
"""More bytes than the system keeps for a receiver at once."""

FILES: Final = 8
"""The most open files that are received at once."""


class Channel:
    """One end of a connection; it owns its socket.

    `patience` is how long sending may be held up by a receiver that does not read, in seconds; None is for ever.
    """

    def __init__(self, end: socket.socket, patience: float | None = None) -> None:
        self._socket = end
        self._patience = patience
        self._received = bytearray()
        self.files: deque[int] = deque()
        """The descriptors of open files that came along with messages, in their order."""
        self.is_over = False
        """Whether the other side has hung up: what it sent before has arrived."""

    def fileno(self) -> int:
        """The descriptor of the socket; -1 once it is closed."""
        return self._socket.fileno()

    def send(self, message: bytes, file: int | None = None) -> None:
        """Send a message, along with an open file if one is given; raises OSError where it does not get through."""
        header = HEADER.pack(len(message))
        self._socket.settimeout(self._patience)
        if file is not None:
            socket.send_fds(self._socket, [header], [file])
            self._socket.sendall(message)
        elif len(message) < CHUNK:
            self._socket.sendall(header + message)
        else:
            self._socket.sendall(header)
            self._socket.sendall(message)

    def receive(self) -> bytes:
        """The next message, waited for; raises EOFError where none comes."""
        self._socket.settimeout(None)
        while (message := self._next()) is None:
            if self.is_over:
                raise EOFError
            self._read()
        return message

    def arrived(self) -> list[bytes]:
        """The messages that have come in full, without waiting."""
        self._socket.settimeout(0)
        with suppress(BlockingIOError):
            while not self.is_over:
                self._read()
        found = []
        while (message := self._next()) is not None:
            found.append(message)
        return found

    def close(self) -> None:
        """Hang up. Closing again does nothing."""
        self._socket.close()

    def _read(self) -> None:
        try:
            data, files, _, _ = socket.recv_fds(self._socket, CHUNK, FILES)
        except ConnectionError:
            data, files = b"", []
        self.files.extend(files)
        self._received += data
        self.is_over = not data

    def _next(self) -> bytes | None:
        if len(self._received) < HEADER.size:
            return None
        (length,) = HEADER.unpack_from(self._received)
        end = HEADER.size + length
        if len(self._received) < end:
            return None
        message = bytes(memoryview(self._received)[HEADER.size : end])
        del self._received[:end]
        return message
