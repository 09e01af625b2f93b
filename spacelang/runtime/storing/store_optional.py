"""Tables that few stores have: each is made when something is written to it first.

What a search has said of a request beside its configuration and fidelity is in one, the predictions of trials are in
another. Both are written in the transaction of their trial, and the digest of that is over them too: neither can be
lost or changed without the other. Others have what a run was asked for, or came to, beside its trials.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spacelang.runtime.storing.stored import ENSEMBLES, LAYOUTS, PREDICTIONS, REQUESTS, TEST, TEST_BOUNDS, Row


@dataclass(frozen=True, slots=True)
class OptionalTable:
    """Such a table: its name, and the statement that makes it."""

    name: str
    layout: str

    def is_in(self, connection: sqlite3.Connection) -> bool:
        """Whether a store has it."""
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return connection.execute(query, (self.name,)).fetchone() is not None

    def rows(self, connection: sqlite3.Connection, query: str, values: Row = ()) -> list[Row]:
        """What a query finds in it; nothing where there is no such table."""
        return connection.execute(query, values).fetchall() if self.is_in(connection) else []

    def of(self, connection: sqlite3.Connection, columns: str, trials: Sequence[int]) -> dict[int, Row]:
        """Some columns for those of consecutive trials that have a row; what was written later is there, too."""
        if not trials:
            return {}
        query = f"SELECT trial, {columns} FROM {self.name} WHERE trial BETWEEN ? AND ?"
        return {trial: tuple(row) for trial, *row in self.rows(connection, query, (trials[0], trials[-1]))}

    def trials(self, connection: sqlite3.Connection) -> Iterator[int]:
        """The trials that have a row."""
        return (trial for (trial,) in self.rows(connection, f"SELECT trial FROM {self.name}"))

    def add(self, connection: sqlite3.Connection, *rows: Row) -> None:
        """Add rows, with the table if they are the first."""
        if not self.is_in(connection):
            self._make(connection)
        connection.executemany(f"INSERT INTO {self.name} VALUES ({','.join('?' * len(rows[0]))})", rows)

    def hold(self, connection: sqlite3.Connection, *rows: Row) -> None:
        """Have these rows in place of those that were there; for none no table is made."""
        if self.is_in(connection):
            connection.execute(f"DELETE FROM {self.name}")
        if rows:
            self.add(connection, *rows)

    def _make(self, connection: sqlite3.Connection) -> None:
        """Make the table; the store is one of another version then."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        wanted = {*LAYOUTS[version], self.layout}
        connection.execute(self.layout)
        (version,) = [version for version, layout in LAYOUTS.items() if {*layout} == wanted]
        connection.execute(f"PRAGMA user_version={version}")


SAID: Final = OptionalTable("requests", REQUESTS)
PREDICTED: Final = OptionalTable("predictions", PREDICTIONS)
TESTED: Final = OptionalTable("test", TEST)
TEST_REACHED: Final = OptionalTable("test_bounds", TEST_BOUNDS)
ASKED: Final = OptionalTable("ensembles", ENSEMBLES)
