"""Trials and sessions as a store keeps them, and the tables that they are rows of.

A file is a promise to later versions: what these tables mean does not change without a new version. A version is a sum:
of `VERSION`, and of what stands in `WHEN_NEEDED` for every table that not all stores have.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from itertools import combinations
from math import inf, isfinite, isnan, nan
from typing import Any, Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import AnyBound
from spacelang.ir.trial import Measurement, Memo, Request, Status, Trial
from spacelang.runtime.history import Record

APPLICATION: Final = 0x53504C47
"""The mark of SQLite files that are stores: SPLG."""

VERSION: Final = 8
"""Of the tables that every store has; those before it were of runs whose searches were told of trials in rounds."""

FORMER: Final = {"failed": Status.ERROR.value}
"""What the first stores said where there are several words now."""

METRICS: Final = "metrics"
"""The setting in a header that lists, as JSON, the metrics beside the loss."""

Row: TypeAlias = tuple[Any, ...]
"""What SQLite takes and gives."""

Named: TypeAlias = tuple[tuple[str, float], ...]
"""Numbers with their names, in an order; nan is unknown."""


class RunState(StrEnum):
    """What has become of a run."""

    RUNNING = "running"
    FINISHED = "finished"
    """It used up its budget or its space."""
    INTERRUPTED = "interrupted"
    """It ended early and in order."""
    KILLED = "killed"
    """Its last session has no end, and nobody is writing to it."""
    UNKNOWN = "unknown"
    """Running or killed: the file may only be read, so that no lock tells."""


@dataclass(frozen=True, slots=True)
class Session:
    """One process of a run: `started` and `ended` in UTC, `began` and `seconds` in seconds of the run.

    What a session that was killed never wrote is None: when and why it ended, and how many trials there were then.
    `after` is how many there were before it, `workers` with how many it went on from these; None where it never did.
    """

    number: int
    started: str
    process: int
    began: float
    versions: Mapping[str, str]
    ended: str | None = None
    ending: str | None = None
    seconds: float | None = None
    trials: int | None = None
    after: int = 0
    workers: int | None = None


# ---- tables

_HEADER: Final = "CREATE TABLE header (name TEXT PRIMARY KEY, value TEXT NOT NULL)"

_SESSIONS: Final = (
    "CREATE TABLE sessions (session INTEGER PRIMARY KEY, started TEXT NOT NULL, process INTEGER NOT NULL, "
    "began REAL NOT NULL, versions TEXT NOT NULL, ended TEXT, ending TEXT, seconds REAL, trials INTEGER, {more}"
    "digest BLOB NOT NULL)"
)

_TRIALS: Final = (
    "CREATE TABLE trials (trial INTEGER PRIMARY KEY, status TEXT NOT NULL, loss REAL, fidelity INTEGER, "
    "cost REAL NOT NULL, cost_alone REAL NOT NULL, started REAL NOT NULL, finished REAL NOT NULL, "
    "feasible INTEGER NOT NULL, excess REAL NOT NULL, training_loss REAL, worker TEXT NOT NULL, "
    "attempts INTEGER NOT NULL, reason TEXT NOT NULL, constraints TEXT NOT NULL, metrics TEXT NOT NULL, "
    "configuration TEXT NOT NULL, {more}digest BLOB NOT NULL)"
)

TABLES: Final = (
    _HEADER,
    _SESSIONS.format(more="after INTEGER NOT NULL, workers INTEGER, "),
    _TRIALS.format(more="workers INTEGER NOT NULL, early INTEGER NOT NULL, "),
)
"""The digest of a row is over all that is before it: of the trials together with that of the trial before.

With predictions that of a trial is over theirs as well, which is not in its row, and behind the row over what was said
of its request, where anything was.
"""

IN_ROUNDS: Final = (_HEADER, _SESSIONS.format(more=""), _TRIALS.format(more="identity BLOB NOT NULL UNIQUE, "))
"""The same in stores of the time when searches were told of trials in rounds."""

PREDICTIONS: Final = (
    "CREATE TABLE predictions (trial INTEGER PRIMARY KEY, digest BLOB NOT NULL, shape TEXT NOT NULL, "
    "numbers BLOB NOT NULL)"
)
"""`numbers` are 64-bit floats, the lowest byte first, row after row; `shape` is JSON."""

TEST: Final = (
    "CREATE TABLE test (trial INTEGER PRIMARY KEY, loss REAL, low REAL, high REAL, rows INTEGER NOT NULL, "
    "reason TEXT NOT NULL, digest BLOB NOT NULL)"
)
"""It has one row at most, for the trial whose pipeline was tested last."""

REQUESTS: Final = (
    "CREATE TABLE requests (trial INTEGER PRIMARY KEY, proposal INTEGER, seconds REAL, memo TEXT NOT NULL)"
)
"""`memo` is JSON. It has no row for requests of which a search says no more than their configuration and fidelity."""

TEST_BOUNDS: Final = (
    "CREATE TABLE test_bounds (place INTEGER PRIMARY KEY, bound TEXT NOT NULL, value REAL, low REAL, high REAL, "
    "reason TEXT NOT NULL, digest BLOB NOT NULL)"
)
"""What the pipeline of `test` reaches of each bound on the test rows, in their order; `bound` is JSON."""

ENSEMBLES: Final = "CREATE TABLE ensembles (session INTEGER PRIMARY KEY, votes INTEGER NOT NULL, digest BLOB NOT NULL)"
"""It has a row for each session that was asked for an ensemble: of how many votes."""

WHEN_NEEDED: Final = {PREDICTIONS: 16, TEST: 32, REQUESTS: 64, TEST_BOUNDS: 128, ENSEMBLES: 256}
"""The tables that are made when they are needed first, and what the version of a store is higher by that has them."""

FORMER_LAYOUTS: Final = {
    1: IN_ROUNDS,
    2: (*IN_ROUNDS, PREDICTIONS),
    3: (*IN_ROUNDS, TEST),
    4: (*IN_ROUNDS, PREDICTIONS, TEST),
}
"""The tables of the versions that are read, and that no run goes on with."""

LAYOUTS: Final = FORMER_LAYOUTS | {
    VERSION + sum(map(WHEN_NEEDED.__getitem__, more)): (*TABLES, *more)
    for count in range(len(WHEN_NEEDED) + 1)
    for more in combinations(WHEN_NEEDED, count)
}
"""The tables of every version, in any order."""

DIGEST: Final = 16
"""Bytes of a digest: enough against accidents, which is all that it is against."""


COLUMNS: Final = 19
"""So many columns the row of a trial has; what was said of its request comes behind them."""

NOTHING_SAID: Final[Row] = (None, None, "[]")
"""What stands there where nothing was."""

_MAYBE_REAL: Final = (float, type(None))
_MAYBE_INFINITE: Final = (float, type(None), float)
_MAYBE_INTEGER: Final = (int, type(None))
_MAYBE_TEXT: Final = (str, type(None))

OF_TRIALS: Final = (
    *(int, str, _MAYBE_REAL, _MAYBE_INTEGER),
    *(float, float, float, float, int, _MAYBE_INFINITE, _MAYBE_REAL),
    *(str, int, str, str, str, str, int, int),
    *(_MAYBE_INTEGER, _MAYBE_INFINITE, str),
)
"""The kinds of what stands in the row of a trial, with what was said of its request."""

OF_SESSIONS: Final = (int, str, int, float, str, *(_MAYBE_TEXT,) * 2, _MAYBE_REAL, _MAYBE_INTEGER, int, _MAYBE_INTEGER)
OF_ENSEMBLES: Final = (int, int)
OF_TESTS: Final = (int, *(_MAYBE_REAL,) * 3, int, str)
OF_TEST_BOUNDS: Final = (int, str, *(_MAYBE_INFINITE,) * 3, str)


def must_be(row: Row, kinds: Sequence[type | tuple[type, ...]]) -> None:
    """Raise TypeError for a row that has something of another kind: to SQLite the type of a column is a wish."""
    for value, kind in zip(row, kinds, strict=False):
        if not isinstance(value, kind) or (value in _INFINITIES and kind is not _MAYBE_INFINITE):
            raise TypeError(f"there is `{value!r:.20}` in the place of a {_named_kind(kind)}")


_INFINITIES: Final = (inf, -inf)


def _named_kind(kind: type | tuple[type, ...]) -> str:
    first = kind if isinstance(kind, type) else kind[0]
    return {int: "whole number", float: "number"}.get(first, "text")


def row_of(record: Record) -> Row:
    """The row of a trial but for its digest, with what was said of its request; its predictions are not in it.

    Raises ValueError for a number that is none where one must be, and for a memo of other things than it may have.
    """
    trial, request = record.trial, record.trial.request
    numbers = (trial.cost, trial.seconds_alone, record.started, record.finished)
    if not all(map(isfinite, (*numbers, trial.loss or 0.0))):
        raise ValueError(f"trial {record.index} has a loss or a time that is not finite")
    return (
        int(record.index),
        trial.status.value,
        _real(trial.loss),
        None if request.fidelity is None else int(request.fidelity),
        *map(_real, numbers),
        int(trial.is_feasible),
        _real(trial.excess),
        _real(trial.training_loss),
        writable(record.worker),
        int(record.attempts),
        writable(trial.reason),
        _named_text((each.bound.name, each.value) for each in trial.constraints),
        _named_text(trial.metrics),
        # In ASCII, as not every string is text that files can hold.
        json.dumps(request.configuration.to_dict(), sort_keys=True),
        int(record.workers),
        int(record.is_early),
        record.proposal,
        _real(request.seconds),
        _memo_text(record.index, request.memo),
    )


def renewed(row: Row) -> Row:
    """A row of the trials of a store in `IN_ROUNDS` as it would be in another one."""
    return (*row[:17], 1, 0, row[-1])


def record_of(row: Row, bounds: Sequence[AnyBound] = ()) -> Record:
    """The trial of a row with what was said of its request, as its run had it, but for the predictions.

    `bounds` are those that the run is subject to, in their order. Raises ValueError or TypeError for what no trial is.
    """
    must_be(row, OF_TRIALS)
    (index, status, loss, fidelity, cost, cost_alone, started, finished, _, _, training_loss) = row[:11]
    (worker, attempts, reason, constraints, metrics, configuration, workers, early) = row[11:COLUMNS]
    proposal, seconds, memo = row[COLUMNS:]
    measured = [value for _, value in _named(constraints)]
    trial = Trial(
        Request(Configuration.from_json(configuration), fidelity, seconds, tuple(json.loads(memo))),
        loss,
        cost,
        status_of(status),
        reason,
        tuple(Measurement(*each) for each in zip(bounds, measured, strict=True)) if measured else (),
        None if cost_alone == cost else cost_alone,
        _named(metrics),
        training_loss,
    )
    return Record(index, trial, started, finished, worker, attempts, workers, bool(early), proposal)


def status_of(word: str) -> Status:
    """How a trial ended, by the word of a store; raises ValueError for another."""
    return Status(FORMER.get(word, word))


def session_row(session: Session) -> Row:
    """The row of a session with its digest."""
    return marked(
        (
            session.number,
            session.started,
            session.process,
            float(session.began),
            json.dumps(dict(session.versions), sort_keys=True),
            session.ended,
            session.ending,
            None if session.seconds is None else float(session.seconds),
            session.trials,
            session.after,
            session.workers,
        )
    )


def session_of(row: Row) -> Session:
    """The session of a row, whose digest follows; raises ValueError where that is another one."""
    number, started, process, began, versions, *more = unmarked(row, OF_SESSIONS, f"session {row[0]}")
    known = json.loads(versions)
    if not isinstance(known, dict):
        raise TypeError("the versions of a session have no names")
    return Session(number, started, process, began, {name: str(each) for name, each in known.items()}, *more)


def digest(before: bytes, values: Iterable[object]) -> bytes:
    """The digest of a row; `before` ties it to what is before it."""
    text = json.dumps([each.hex() if isinstance(each, bytes) else each for each in values])
    return blake2b(before + text.encode(), digest_size=DIGEST).digest()


def marked(row: Row) -> Row:
    """A row with its digest behind it."""
    return (*row, digest(b"", row))


def unmarked(row: Row, kinds: Sequence[type | tuple[type, ...]], what: str) -> Row:
    """A row without its digest; raises ValueError where that is another one, and TypeError as `must_be`."""
    if marked(row[:-1]) != row:
        raise ValueError(f"{what} is not what was written")
    must_be(row[:-1], kinds)
    return row[:-1]


def writable(text: str) -> str:
    """The text with escapes for what is in no file of text: halves of characters, as names of files may have them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _real(number: float | None) -> float | None:
    # 0 for -0, as SQLite does it; what is not a number is nothing to it.
    return None if number is None or isnan(number) else float(number) + 0.0


def _memo_text(index: int, memo: Memo) -> str:
    """A memo as JSON: a float is written with as many digits as tell it from all others."""
    if not all(isinstance(each, (float, int, str)) for each in memo):
        raise ValueError(f"the memo of trial {index} has more in it than numbers and texts")
    return json.dumps([*memo])


def _named_text(named: Iterable[tuple[str, float]]) -> str:
    return json.dumps([[name, _number(float(value))] for name, value in named])


def _number(value: float) -> object:
    """JSON has no other words for them."""
    return value if isfinite(value) else None if isnan(value) else str(value)


def _named(text: str) -> Named:
    found = [(name, nan if value is None else float(value)) for name, value in json.loads(text)]
    if not all(isinstance(name, str) for name, _ in found):
        raise TypeError("a number has something as its name that is no text")
    return tuple(found)
