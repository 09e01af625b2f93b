"""Trials and sessions as a store keeps them, and the tables that they are rows of.

A file is a promise to later versions: what these tables mean does not change without a new `VERSION`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from math import isfinite, isnan, nan
from typing import Any, Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import AnyBound
from spacelang.ir.trial import Measurement, Request, Status, Trial

APPLICATION: Final = 0x53504C47
"""The mark of SQLite files that are stores: SPLG."""

VERSION: Final = 1
"""Of the tables: what an older reader would misread raises it."""

WITH_PREDICTIONS: Final = 2
"""The version of a store that has predictions."""

WITH_TEST: Final = 3
"""The version of a store that has a score on test rows."""

WITH_BOTH: Final = 4
"""The version of a store that has both."""

FORMER: Final = {"failed": Status.ERROR.value}
"""What the first stores said where there are several words now."""

METRICS: Final = "metrics"
"""The setting in a header that lists, as JSON, the metrics beside the loss."""

Named: TypeAlias = tuple[tuple[str, float], ...]
"""Numbers with their names, in an order; nan is unknown."""

Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A finished trial: `index` counts from 1; `started` and `finished` are seconds of the run, over all its sessions.

    `status` is the value of a `Status`. `cost` are the seconds that the optimizer was charged, `cost_alone` those that
    the trial would have taken without what it shared. `constraints` has what was measured for every bound, `metrics`
    what was recorded beside the loss; `excess` is by how much bounds are broken, as a `Trial` says it. `worker` says
    who evaluated it, `attempts` how often it was begun. Predictions are not here: the store has them by the index.
    """

    index: int
    configuration: Configuration
    fidelity: int | None
    loss: float | None
    status: str
    reason: str = ""
    cost: float = 0.0
    cost_alone: float = 0.0
    started: float = 0.0
    finished: float = 0.0
    constraints: Named = ()
    feasible: bool = True
    excess: float = 0.0
    metrics: Named = ()
    training_loss: float | None = None
    worker: str = ""
    attempts: int = 1

    def trial(self, bounds: Sequence[AnyBound] = (), predictions: Any = None) -> Trial:
        """What the optimizer was told, without predictions unless they are given.

        `bounds` are those that the run is subject to, in the order in which its header has them.
        """
        pairs = zip(bounds, self.constraints, strict=True) if self.constraints else ()
        return Trial(
            Request(self.configuration, self.fidelity),
            self.loss,
            self.cost,
            Status(self.status),
            self.reason,
            tuple(Measurement(bound, value) for bound, (_, value) in pairs),
            None if self.cost_alone == self.cost else self.cost_alone,
            self.metrics,
            self.training_loss,
            predictions,
        )


def stored(
    index: int, trial: Trial, started: float, finished: float, *, worker: str = "", attempts: int = 1
) -> StoredTrial:
    """A trial as it is stored, but for its predictions; without anything shared it costs alone what it cost."""
    return StoredTrial(
        index=index,
        configuration=trial.request.configuration,
        fidelity=trial.request.fidelity,
        loss=trial.loss,
        status=trial.status.value,
        reason=trial.reason,
        cost=trial.cost,
        cost_alone=trial.cost if trial.cost_alone is None else trial.cost_alone,
        started=started,
        finished=finished,
        constraints=tuple((each.bound.name, each.value) for each in trial.constraints),
        feasible=trial.is_feasible,
        excess=trial.excess,
        metrics=trial.metrics,
        training_loss=trial.training_loss,
        worker=worker,
        attempts=attempts,
    )


class State(StrEnum):
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


# ---- tables

TABLES: Final = (
    "CREATE TABLE header (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE sessions (session INTEGER PRIMARY KEY, started TEXT NOT NULL, process INTEGER NOT NULL, "
    "began REAL NOT NULL, versions TEXT NOT NULL, ended TEXT, ending TEXT, seconds REAL, trials INTEGER, "
    "digest BLOB NOT NULL)",
    "CREATE TABLE trials (trial INTEGER PRIMARY KEY, status TEXT NOT NULL, loss REAL, fidelity INTEGER, "
    "cost REAL NOT NULL, cost_alone REAL NOT NULL, started REAL NOT NULL, finished REAL NOT NULL, "
    "feasible INTEGER NOT NULL, excess REAL NOT NULL, training_loss REAL, worker TEXT NOT NULL, "
    "attempts INTEGER NOT NULL, reason TEXT NOT NULL, constraints TEXT NOT NULL, metrics TEXT NOT NULL, "
    "configuration TEXT NOT NULL, identity BLOB NOT NULL UNIQUE, digest BLOB NOT NULL)",
)
"""The digest of a row is over all that is before it: of the trials together with that of the trial before.

With predictions that of a trial is over theirs as well, which is not in its row.
"""

PREDICTIONS: Final = (
    "CREATE TABLE predictions (trial INTEGER PRIMARY KEY, digest BLOB NOT NULL, shape TEXT NOT NULL, "
    "numbers BLOB NOT NULL)"
)
"""Made when it is needed first. `numbers` are 64-bit floats, the lowest byte first, row after row; `shape` is JSON."""

TEST: Final = (
    "CREATE TABLE test (trial INTEGER PRIMARY KEY, loss REAL, low REAL, high REAL, rows INTEGER NOT NULL, "
    "reason TEXT NOT NULL, digest BLOB NOT NULL)"
)
"""Made when it is needed first; it has one row at most, for the trial whose pipeline was tested last."""

LAYOUTS: Final = {
    VERSION: TABLES,
    WITH_PREDICTIONS: (*TABLES, PREDICTIONS),
    WITH_TEST: (*TABLES, TEST),
    WITH_BOTH: (*TABLES, PREDICTIONS, TEST),
}
"""The tables of every version, in any order."""

DIGEST: Final = 16
"""Bytes of a digest: enough against accidents, which is all that it is against."""


def row_of(trial: StoredTrial, training_size: int) -> Row:
    """The row of a trial but for its digest; raises ValueError for a number that is none where one must be."""
    numbers = (trial.cost, trial.cost_alone, trial.started, trial.finished, trial.loss or 0.0)
    if not all(map(isfinite, numbers)):
        raise ValueError(f"trial {trial.index} has a loss or a time that is not finite")
    return (
        int(trial.index),
        writable(trial.status),
        _real(trial.loss),
        None if trial.fidelity is None else int(trial.fidelity),
        *map(_real, (trial.cost, trial.cost_alone, trial.started, trial.finished)),
        int(trial.feasible),
        _real(trial.excess),
        _real(trial.training_loss),
        writable(trial.worker),
        int(trial.attempts),
        writable(trial.reason),
        _named_text(trial.constraints),
        _named_text(trial.metrics),
        # In ASCII, as not every string is text that files can hold.
        json.dumps(trial.configuration.to_dict(), sort_keys=True),
        _identity(trial, training_size),
    )


def trial_of(row: Row) -> StoredTrial:
    """The trial of a row, whose digest may follow; raises ValueError or TypeError for what no trial is."""
    (index, status, loss, fidelity, cost, cost_alone, started, finished, feasible, excess, training_loss) = row[:11]
    (worker, attempts, reason, constraints, metrics, configuration) = row[11:17]
    return StoredTrial(
        index,
        Configuration.from_json(configuration),
        fidelity,
        loss,
        FORMER.get(str(status)) or status,
        reason,
        cost,
        cost_alone,
        started,
        finished,
        _named(constraints),
        bool(feasible),
        excess,
        _named(metrics),
        training_loss,
        worker,
        attempts,
    )


def session_row(session: Session) -> Row:
    """The row of a session with its digest."""
    row = (
        session.number,
        session.started,
        session.process,
        float(session.began),
        json.dumps(dict(session.versions), sort_keys=True),
        session.ended,
        session.ending,
        None if session.seconds is None else float(session.seconds),
        session.trials,
    )
    return (*row, digest(b"", row))


def session_of(row: Row) -> Session:
    """The session of a row, whose digest follows; raises ValueError where that is another one."""
    if digest(b"", row[:-1]) != row[-1]:
        raise ValueError(f"session {row[0]} is not what was written")
    number, started, process, began, versions, ended, ending, seconds, trials = row[:-1]
    return Session(number, started, process, began, json.loads(versions), ended, ending, seconds, trials)


def digest(before: bytes, values: Iterable[object]) -> bytes:
    """The digest of a row; `before` ties it to what is before it."""
    text = json.dumps([each.hex() if isinstance(each, bytes) else each for each in values])
    return blake2b(before + text.encode(), digest_size=DIGEST).digest()


def writable(text: str) -> str:
    """The text with escapes for what is in no file of text: halves of characters, as names of files may have them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _identity(trial: StoredTrial, training_size: int) -> bytes:
    """What only one trial of a run has; all training rows are the same fidelity however they were asked for."""
    fidelity = None if trial.fidelity is None or trial.fidelity >= training_size else int(trial.fidelity)
    return digest(b"", [trial.configuration.identity, fidelity])


def _real(number: float | None) -> float | None:
    # 0 for -0, as SQLite does it; what is not a number is nothing to it.
    return None if number is None or isnan(number) else float(number) + 0.0


def _named_text(named: Named) -> str:
    return json.dumps([[name, _number(float(value))] for name, value in named])


def _number(value: float) -> object:
    """JSON has no other words for them."""
    return value if isfinite(value) else None if isnan(value) else str(value)


def _named(text: str) -> Named:
    return tuple([(name, nan if value is None else float(value)) for name, value in json.loads(text)])
