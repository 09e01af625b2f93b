"""What a search has said of a request beside its configuration and fidelity, in a table of its own as few searches do.

It is written in the transaction of its trial, and the digest of that is over it too.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final

from spacelang.runtime.storing.store_predictions import add_table, has_table
from spacelang.runtime.storing.stored import REQUESTS, Row

NAME: Final = "requests"


def insert(connection: sqlite3.Connection, trial: int, said: Row) -> None:
    """Add what was said of the request of a trial, with the table if it is the first."""
    if not has_table(connection, NAME):
        add_table(connection, REQUESTS)
    connection.execute("INSERT INTO requests VALUES (?, ?, ?, ?)", (trial, *said))


def find(connection: sqlite3.Connection, trials: Sequence[int]) -> dict[int, Row]:
    """What was said of the requests of consecutive trials that have been read, without the numbers of these."""
    if not trials or not has_table(connection, NAME):
        return {}
    query = "SELECT * FROM requests WHERE trial BETWEEN ? AND ?"
    return {trial: tuple(said) for trial, *said in connection.execute(query, (trials[0], trials[-1]))}


def numbers(connection: sqlite3.Connection) -> Iterator[int]:
    """The trials of whose requests anything was said."""
    if has_table(connection, NAME):
        yield from (trial for (trial,) in connection.execute("SELECT trial FROM requests").fetchall())
