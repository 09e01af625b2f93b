"""Optional tables of a store: each is created when something is first written to it.

One table has the parts of requests other than configuration and fidelity, another the predictions of trials. Both are
written in the transaction of their trial, and its digest covers them: none of them can be lost or changed alone. Other
tables have results of a run other than its trials.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spacelang.runtime.storage.records import ENSEMBLES, LAYOUTS, PREDICTIONS, REQUESTS, TEST, TEST_BOUNDS, Row


@dataclass(frozen=True, slots=True)
class OptionalTable:
    """An optional table: its name, and the statement that creates it."""

    name: str
    layout: str

    def exists_in(self, connection: sqlite3.Connection) -> bool:
        """Return True if the store has the table."""
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return connection.execute(query, (self.name,)).fetchone() is not None

    def fetch(self, connection: sqlite3.Connection, query: str, values: Row = ()) -> list[Row]:
        """Return the result of a query on the table, empty if the store does not have it."""
        return connection.execute(query, values).fetchall() if self.exists_in(connection) else []

    def rows_by_trial(self, connection: sqlite3.Connection, columns: str, trials: Sequence[int]) -> dict[int, Row]:
        """Return some columns for those of these consecutive trials that have a row, by trial.

        They must be consecutive, because the query selects their range. It reads the current state of the store.
        """
        if not trials:
            return {}
        query = f"SELECT trial, {columns} FROM {self.name} WHERE trial BETWEEN ? AND ?"
        return {trial: tuple(row) for trial, *row in self.fetch(connection, query, (trials[0], trials[-1]))}

    def trial_numbers(self, connection: sqlite3.Connection) -> Iterator[int]:
        """Return the numbers of the trials that have a row."""
        return (trial for (trial,) in self.fetch(connection, f"SELECT trial FROM {self.name}"))

    def insert(self, connection: sqlite3.Connection, *rows: Row) -> None:
        """Insert rows; create the table if they are the first ones."""
        if not self.exists_in(connection):
            self._create(connection)
        connection.executemany(f"INSERT INTO {self.name} VALUES ({','.join('?' * len(rows[0]))})", rows)

    def replace_all(self, connection: sqlite3.Connection, *rows: Row) -> None:
        """Replace all rows by these; without rows no table is created."""
        if self.exists_in(connection):
            connection.execute(f"DELETE FROM {self.name}")
        if rows:
            self.insert(connection, *rows)

    def _create(self, connection: sqlite3.Connection) -> None:
        """Create the table, and update the version of the store."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        wanted = {*LAYOUTS[version], self.layout}
        connection.execute(self.layout)
        (version,) = [version for version, layout in LAYOUTS.items() if {*layout} == wanted]
        connection.execute(f"PRAGMA user_version={version}")


REQUEST_TABLE: Final = OptionalTable("requests", REQUESTS)
PREDICTION_TABLE: Final = OptionalTable("predictions", PREDICTIONS)
TEST_TABLE: Final = OptionalTable("test", TEST)
TEST_BOUND_TABLE: Final = OptionalTable("test_bounds", TEST_BOUNDS)
ENSEMBLE_TABLE: Final = OptionalTable("ensembles", ENSEMBLES)
