"""A stored run for reading, and the data that it names, as far as it may be read because of the store alone.

A store may come from an untrusted source. Without the user, it can only refer to data sets that scikit-learn ships, to
formulas, and to files in the current folder and the folders below it. Arguments of a program, such as a scorer, are
named by the store or must be passed again.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from keyword import iskeyword
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spacelang.ir.task import AnyBound, parse_bound
from spacelang.ir.trial import Status
from spacelang.runtime.black_box import ARTIFICIAL_PREFIX
from spacelang.runtime.data.read_options import DataOptions, parse_data_options
from spacelang.runtime.errors import InputError
from spacelang.runtime.history import Improvement, TrialRecord
from spacelang.runtime.listeners import Closeable
from spacelang.runtime.storage import optional_tables, records
from spacelang.runtime.storage.optional_tables import StoredUnseenScore
from spacelang.runtime.storage.records import LIMIT_FLAGS, Row, RunState, Session
from spacelang.runtime.storage.run_header import SCORER_SETTING, WEIGHTS_SETTING, RunHeader
from spacelang.runtime.storage.store_errors import convert_damage_errors, convert_store_errors, damaged_store_error
from spacelang.runtime.storage.store_file import check_is_readable_store, read_header, state_of_unended_run
from spacelang.runtime.storage.trial_columns import add_missing_columns

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ROWS_PER_QUERY: Final = 1_000  # The number of trials read at a time, so that a reader does not block a run for long
COMPLETE_ENDINGS: Final = ("budget", "exhausted")  # The endings after which a run is complete
RANKED_QUERY: Final = (
    "SELECT trial, loss, feasible, configuration FROM trials WHERE loss IS NOT NULL ORDER BY feasible DESC, excess, "
    "feasible AND fidelity IS NOT NULL AND fidelity < ?, loss, trial"
)
FAILURES_QUERY: Final = (
    "SELECT status, reason, count(*) FROM trials WHERE loss IS NULL GROUP BY status, reason "
    "ORDER BY count(*) DESC, min(trial)"
)
LAST_ENSEMBLE_QUERY: Final = "SELECT * FROM ensembles ORDER BY session DESC LIMIT 1"
FEASIBLE_QUERY: Final = (
    "SELECT finished, trial, loss, fidelity IS NULL OR fidelity >= ? FROM trials "
    "WHERE loss IS NOT NULL AND feasible ORDER BY trial"
)


class StoredRun(Closeable):
    """A store opened for reading, also while its run is active. Raises StoreError if the file is not a store."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        with convert_store_errors(path):
            check_is_readable_store(path, connection)
            self.header, self._header_digest = read_header(path, connection)

    @property
    def count(self) -> int:
        """The number of trials."""
        with convert_store_errors(self.path):
            return int(self._fetch_one("SELECT count(*) FROM trials")[0])

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions of the run in order, one for each process."""
        with convert_store_errors(self.path):
            rows = self._connection.execute("SELECT * FROM sessions ORDER BY session").fetchall()
        with convert_damage_errors(self.path):
            return tuple(map(records.row_to_session, rows))

    @property
    def seconds(self) -> float:
        """The duration of the run over all sessions; a killed session counts up to its last trial."""
        with convert_store_errors(self.path):
            (last,) = self._fetch_one("SELECT coalesce(max(finished), 0) FROM trials")
        with convert_damage_errors(self.path):
            finished = float(last)
        return max([finished, *(each.began if each.seconds is None else each.seconds for each in self.sessions)])

    @property
    def state(self) -> RunState:
        """The state of the run, by the end of its last session: finished or interrupted.

        If that has no end, the run is running or was killed (see `state_of_unended_run`).
        """
        sessions = self.sessions
        ending = sessions[-1].ending if sessions else None
        if ending is None:
            return state_of_unended_run(self.path)
        return RunState.FINISHED if ending in COMPLETE_ENDINGS else RunState.INTERRUPTED

    @property
    def best(self) -> tuple[int, float, bool] | None:
        """The number of the best trial, its loss, and True if it satisfies all bounds; None without a success.

        It is the best trial in the summary of a run. Feasible trials on all training rows come first, then other
        feasible ones, then the one with the smallest violation of bounds.
        """
        with convert_store_errors(self.path):
            found = self._connection.execute(f"{RANKED_QUERY} LIMIT 1", (self.header.training_size,)).fetchone()
        if found is None:
            return None
        trial, loss, feasible, _ = found
        with convert_damage_errors(self.path):
            records.check_column_types((trial, loss, feasible), (int, float, int))
        return trial, loss, bool(feasible)

    def best_trial_numbers(self, count: int) -> tuple[int, ...]:
        """Return the numbers of up to `count` best trials, best first, one for each configuration."""
        found: dict[str, int] = {}
        with (
            convert_store_errors(self.path),
            closing(self._connection.execute(RANKED_QUERY, (self.header.training_size,))) as rows,
        ):
            for trial, _, _, configuration in rows:
                found.setdefault(configuration, trial)
                if len(found) == count:
                    break
        return tuple(found.values())

    @property
    def failure_counts(self) -> Counter[tuple[Status, str]]:
        """The number of failed trials by status and reason, the most frequent first."""
        with convert_store_errors(self.path):
            rows = self._connection.execute(FAILURES_QUERY).fetchall()
        with convert_damage_errors(self.path):
            return Counter({(Status(status), str(reason)): int(count) for status, reason, count in rows})

    @property
    def infeasible_count(self) -> int:
        """The number of trials that succeeded but violate a bound."""
        with convert_store_errors(self.path):
            return int(self._fetch_one("SELECT count(*) FROM trials WHERE loss IS NOT NULL AND NOT feasible")[0])

    @property
    def incumbent_curve(self) -> tuple[Improvement, ...]:
        """The incumbent over time, as in the outcome of the run."""
        with convert_store_errors(self.path):
            rows = self._connection.execute(FEASIBLE_QUERY, (self.header.training_size,)).fetchall()
        with convert_damage_errors(self.path):
            on_all_rows = [row[:3] for row in rows if row[3]]
            return tuple(_incumbents(on_all_rows or [row[:3] for row in rows]))

    @property
    def test_score(self) -> StoredUnseenScore | None:
        """The score of the best pipeline on the test rows; None if it was not tested."""
        with convert_store_errors(self.path), convert_damage_errors(self.path):
            return optional_tables.load_unseen_score(self._connection)

    @property
    def time_note(self) -> str:
        """A sentence on what did not fit into the time of the run; empty if everything did."""
        with convert_store_errors(self.path), convert_damage_errors(self.path):
            return optional_tables.load_time_note(self._connection)

    @property
    def requested_ensemble_votes(self) -> int | None:
        """The number of votes of the ensemble that was last requested; None without one."""
        with convert_store_errors(self.path), convert_damage_errors(self.path):
            for row in optional_tables.ENSEMBLE_TABLE.fetch(self._connection, LAST_ENSEMBLE_QUERY):
                _, votes = records.verify_and_strip_digest(row, records.ENSEMBLE_TYPES, "the requested ensemble")
                if votes < 1:
                    raise ValueError(f"an ensemble needs at least 1 vote, not {votes}")
                return int(votes)
        return None

    @property
    def limits(self) -> dict[str, str]:
        """The options that limit the run now, as texts by flag.

        They are those of the last session that changed them, or else those with which the run was started.
        """
        if (changed := self.changed_limits) is not None:
            return changed
        return {flag: texts[0] for flag, texts in (self.header.asked or {}).items() if flag in LIMIT_FLAGS and texts}

    @property
    def changed_limits(self) -> dict[str, str] | None:
        """The limits that a later session set instead of the first ones; None if none did."""
        with convert_store_errors(self.path), convert_damage_errors(self.path):
            return optional_tables.load_changed_limits(self._connection)

    def records(self) -> Iterator[TrialRecord]:
        """Return an iterator over all trials, without predictions, in order. Raises StoreError at a damaged trial."""
        bounds = self.bounds
        return (self._record(row, bounds) for row in self._rows())

    def record(self, trial: int) -> TrialRecord | None:
        """Return the trial with this number, None if there is none; otherwise like `records`."""
        return next((self._record(row, self.bounds) for row in self._rows(trial - 1, 1)), None)

    def predictions(self, trial: int) -> "npt.NDArray[np.float64] | None":
        """Return the predictions of a trial as in `Trial`, None without any. Raises StoreError if they are damaged."""
        for _ in self._rows(trial - 1, 1):
            with convert_store_errors(self.path):
                table, columns = optional_tables.PREDICTION_TABLE, "digest, shape, numbers"
                found = table.rows_by_trial(self._connection, columns, [trial]).get(trial)
            with convert_damage_errors(self.path, f"the predictions of trial {trial}: "):
                return None if found is None else optional_tables.unpack_predictions(found)
        return None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @property
    def bounds(self) -> tuple[AnyBound, ...]:
        """The bounds of the task. Raises StoreError if they are damaged."""
        with convert_damage_errors(self.path):
            return tuple(map(parse_bound, self.header.bounds))

    def _record(self, row: Row, bounds: tuple[AnyBound, ...]) -> TrialRecord:
        with convert_damage_errors(self.path, f"trial {row[0]} is invalid: "):
            return records.row_to_record(row, bounds)

    def _rows(self, after: int = 0, at_most: int | None = None) -> Iterator[Row]:
        """Yield rows after trial `after` with request columns instead of digests. Raises StoreError if damaged."""
        last, before = after, self._header_digest
        if after:
            with convert_store_errors(self.path):
                found = self._connection.execute("SELECT digest FROM trials WHERE trial = ?", (after,)).fetchone()
            if found is None:
                return
            (before,) = found
        while True:
            with convert_store_errors(self.path):
                rows = self._connection.execute(
                    "SELECT * FROM trials WHERE trial > ? ORDER BY trial LIMIT ?", (last, at_most or ROWS_PER_QUERY)
                ).fetchall()
                numbers = [row[0] for row in rows]
                marks = optional_tables.PREDICTION_TABLE.rows_by_trial(self._connection, "digest", numbers)
                requests = optional_tables.REQUEST_TABLE.rows_by_trial(
                    self._connection, "proposal, seconds, memo", numbers
                )
            for row in rows:
                last += 1
                if row[0] != last:
                    raise damaged_store_error(self.path, f"trial {last} is missing")
                if records.row_digest(before, (*row[:-1], *requests.get(last, ()), *marks.get(last, ()))) != row[-1]:
                    raise damaged_store_error(self.path, f"trial {last} does not match its checksum")
                before = row[-1]
                yield *add_missing_columns(row[:-1]), *requests.get(last, records.DEFAULT_REQUEST_COLUMNS)
            if at_most is not None or len(rows) < ROWS_PER_QUERY:
                return

    def _fetch_one(self, query: str) -> Row:
        row: Row = self._connection.execute(query).fetchone()
        return row


def _incumbents(points: Iterable[tuple[float, int, float]]) -> Iterator[Improvement]:
    """Yield those of the trials, given in order, that were the best so far."""
    least = inf
    for finished, trial, loss in points:
        if loss < least:
            records.check_column_types((finished, trial, loss), (float, int, float))
            least = loss
            yield Improvement(finished, trial, loss)


HARMLESS_PREFIXES: Final = ("sklearn:", ARTIFICIAL_PREFIX)
TABLE_PREFIX: Final = "table:"  # The prefix of references to loss tables, which are files


def stored_data_options(header: RunHeader) -> DataOptions:
    """Return the options of the data in a header; empty ones if they are invalid, as they can be in a foreign file."""
    try:
        return parse_data_options(header.data_options)
    except InputError:
        return DataOptions()


def was_data_passed_by_program(header: RunHeader) -> bool:
    """Return True if the rows were passed by a program, so that the name of the data is no file and no collection."""
    options = stored_data_options(header)
    return bool(header.data.rows) and options.reference is None and not {".", ":"} & {*header.data.name}


def data_reference(header: RunHeader) -> str:
    """Return the data of a run as the user named it, or the name of its file alone for stores of earlier versions."""
    return stored_data_options(header).reference or header.data.name


def readable_data(header: RunHeader) -> str | None:
    """Return the data of a run if it may be read because of the store alone, and exists; otherwise None."""
    names = dict.fromkeys((data_reference(header), header.data.name))
    return next((name for name in names if _is_harmless(name)), None)


def readable_test_file(header: RunHeader) -> str | None:
    """Return the file of test rows if it may be read because of the store alone, and exists; otherwise None."""
    name = stored_data_options(header).test_file
    return name if name is not None and _is_harmless(name) else None


def has_test_file(header: RunHeader) -> bool:
    """Return True if the run had test rows that were not split off from its data: those of a file or of a program."""
    return "test" in header.settings and stored_data_options(header).test is None


def _is_harmless(name: str) -> bool:
    if name.startswith(HARMLESS_PREFIXES):
        return True
    try:
        # Links are not resolved: those in the current folder were made by its user.
        here = Path.cwd()
        path = here / name.removeprefix(TABLE_PREFIX)
        return path.is_relative_to(here) and ".." not in path.parts and path.is_file()
    except (OSError, ValueError):
        return False


METRICS: Final = "sklearn.metrics"  # The module whose functions a store may name without being trusted


def scorer_package(header: RunHeader) -> str | None:
    """Return the package that a user must trust for the scorer of a stored run; None if there is none."""
    try:
        facts = json.loads(header.data_options.get(SCORER_SETTING, "{}"))
        module = str(facts.get("scorer") or facts.get("function") or "").partition(":")[0]
    except (ValueError, AttributeError, RecursionError):
        return None
    package = module.partition(".")[0]
    return package if module != METRICS and package.isidentifier() else None


def python_arguments_to_repeat(header: RunHeader) -> tuple[str, ...]:
    """Return the Python arguments that must be passed again, as the store does not hold them, such as `metric=mine`."""
    names = {SCORER_SETTING: "metric", WEIGHTS_SETTING: "sample_weight"}
    missing = [each for each in names if each in header.settings and each not in header.data_options]
    return tuple(f"{names[each]}={_word(header.settings[each])}" for each in missing)


def scorer_argument(header: RunHeader) -> str:
    """Return the Python argument for passing the scorer of a stored run again: `metric=NAME`."""
    return f"metric={_word(header.settings.get(SCORER_SETTING, ''))}"


def _word(setting: str) -> str:
    """Return the name in a setting if it can stand in Python code, otherwise `…`; the store may be foreign."""
    name = setting.partition(",")[0]
    return name if name.isidentifier() and not iskeyword(name) else "…"
