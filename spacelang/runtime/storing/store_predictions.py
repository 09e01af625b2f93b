"""Predictions as a store keeps them: in a table of their own, so that trials stay small.

A trial and its predictions are written in one transaction, and the digest of such a trial is over theirs too: neither
can be lost or changed without the other.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from spacelang.runtime.storing.stored import DIGEST, LAYOUTS, PREDICTIONS, Row

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LARGEST: Final = 10**9 - 10**4
"""The bytes of the longest row that SQLite keeps, less what else is in it."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Predictions as bytes, with their digest."""

    shape: str
    numbers: bytes
    digest: bytes


def pack(predictions: Any) -> Packed:
    """An array of floats as it is stored; raises ValueError for more than `LARGEST` bytes and for what is none."""
    from numpy import ascontiguousarray

    numbers = ascontiguousarray(predictions, "<f8")
    if numbers.nbytes > LARGEST:
        raise ValueError(f"the predictions of a trial are {numbers.nbytes} bytes, more than the {LARGEST} of a row")
    # Of the array that was given: a single number would have got a dimension.
    shape, content = json.dumps(list(getattr(predictions, "shape", numbers.shape))), numbers.tobytes()
    return Packed(shape, content, _digest(shape, content))


def unpack(row: Row) -> "npt.NDArray[np.float64]":
    """The array of a row without the number of its trial; raises ValueError for one that is not what was written."""
    from numpy import float64, frombuffer

    digest, shape, numbers = row
    if _digest(shape, numbers) != digest:
        raise ValueError("they are not what was written")
    return frombuffer(numbers, "<f8").reshape(json.loads(shape)).astype(float64)


def has_table(connection: sqlite3.Connection, name: str = "predictions") -> bool:
    """Whether there are predictions at all, or another table that is made when it is needed first."""
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
    return found.fetchone() is not None


def add_table(connection: sqlite3.Connection, table: str) -> None:
    """Make such a table, which is one of another version then."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    wanted = {*LAYOUTS[version], table}
    connection.execute(table)
    (version,) = [version for version, layout in LAYOUTS.items() if {*layout} == wanted]
    connection.execute(f"PRAGMA user_version={version}")


def insert(connection: sqlite3.Connection, trial: int, packed: Packed) -> None:
    """Add the predictions of a trial in the transaction of that trial, with the table if they are the first."""
    if not has_table(connection):
        add_table(connection, PREDICTIONS)
    values = (trial, packed.digest, packed.shape, packed.numbers)
    connection.execute("INSERT INTO predictions VALUES (?, ?, ?, ?)", values)


def find(connection: sqlite3.Connection, trial: int) -> Row | None:
    """The row of a trial, without its number; None where it has none."""
    if not has_table(connection):
        return None
    query = "SELECT digest, shape, numbers FROM predictions WHERE trial = ?"
    found: Row | None = connection.execute(query, (trial,)).fetchone()
    return found


def marks(connection: sqlite3.Connection, trials: Sequence[int]) -> dict[int, bytes]:
    """The digests of the predictions of consecutive trials that have been read; what was written later is there too."""
    if not trials or not has_table(connection):
        return {}
    query = "SELECT trial, digest FROM predictions WHERE trial BETWEEN ? AND ?"
    return dict(connection.execute(query, (trials[0], trials[-1])))


def numbers(connection: sqlite3.Connection) -> Iterator[int]:
    """The trials that have predictions."""
    if has_table(connection):
        yield from (trial for (trial,) in connection.execute("SELECT trial FROM predictions").fetchall())


def _digest(shape: str, numbers: bytes) -> bytes:
    found = blake2b(shape.encode() + b"\n", digest_size=DIGEST)
    found.update(numbers)
    return found.digest()
