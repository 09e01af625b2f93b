"""A connection that sends and receives whole messages over a socket in both directions."""

import socket
import struct
from collections import deque
from contextlib import suppress
from typing import Final

HEADER: Final = struct.Struct("!Q")
"""The header of a message: its length in bytes."""

CHUNK_BYTES: Final = 1 << 18
"""The size of a read, in bytes: more than a socket buffer holds."""

MAX_FILES: Final = 8
"""The maximum number of file descriptors received at once."""


class Channel:
    """One end of a connection; it owns its socket.

    `patience` is the maximum time that sending may block, in seconds, if the receiver does not read; None for no limit.
    """

    def __init__(self, end: socket.socket, patience: float | None = None) -> None:
        self._socket = end
        self._send_timeout = patience
        self._received = bytearray()
        self.received_files: deque[int] = deque()
        """The file descriptors received with messages, in order of arrival."""
        self.is_closed_by_peer = False
        """True once the peer has closed the connection and all that it sent has arrived."""

    def fileno(self) -> int:
        """Return the file descriptor of the socket, -1 once it is closed."""
        return self._socket.fileno()

    def send(self, message: bytes, file: int | None = None) -> None:
        """Send a message, with an open file if one is given. Raises OSError if it does not get through."""
        header = HEADER.pack(len(message))
        self._socket.settimeout(self._send_timeout)
        if file is not None:
            socket.send_fds(self._socket, [header], [file])
            self._socket.sendall(message)
        elif len(message) < CHUNK_BYTES:
            self._socket.sendall(header + message)
        else:
            self._socket.sendall(header)
            self._socket.sendall(message)

    def receive(self) -> bytes:
        """Block until the next message has arrived and return it.

        Raises EOFError if the peer has closed the connection.
        """
        self._socket.settimeout(None)
        while (message := self._pop_message()) is None:
            if self.is_closed_by_peer:
                raise EOFError
            self._read_socket()
        return message

    def receive_available(self) -> list[bytes]:
        """Return the messages that have arrived completely, without blocking."""
        self._socket.settimeout(0)
        with suppress(BlockingIOError):
            while not self.is_closed_by_peer:
                self._read_socket()
        found = []
        while (message := self._pop_message()) is not None:
            found.append(message)
        return found

    def close(self) -> None:
        """Close the connection. Closing again does nothing."""
        self._socket.close()

    def _read_socket(self) -> None:
        try:
            data, files, _, _ = socket.recv_fds(self._socket, CHUNK_BYTES, MAX_FILES)
        except ConnectionError:
            data, files = b"", []
        self.received_files.extend(files)
        self._received += data
        self.is_closed_by_peer = not data

    def _pop_message(self) -> bytes | None:
        if len(self._received) < HEADER.size:
            return None
        (length,) = HEADER.unpack_from(self._received)
        end = HEADER.size + length
        if len(self._received) < end:
            return None
        message = bytes(memoryview(self._received)[HEADER.size : end])
        del self._received[:end]
        return message
