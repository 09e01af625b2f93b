"""The columns of a trial, once: how each is stored in SQLite, and shown in tables, exports and JSON.

A new field of a trial is one entry at the end of `TRIAL_COLUMNS`, with the next version of stores as `since`. The
statement that creates the table of trials, the layouts of all versions, the check of stored rows, `Result.trials`, the
files of `spacelang runs --export` and the JSON of a trial derive from it. Older stores are read and resumed without it.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from spacelang.ir.value import Value, is_number
from spacelang.runtime.history import TrialRecord

if TYPE_CHECKING:
    import pandas as pd

NamedNumbers: TypeAlias = tuple[tuple[str, float], ...]  # Names and numbers in a fixed order; nan is unknown
Kind: TypeAlias = tuple[type, ...]
MAYBE_REAL: Final[Kind] = (float, type(None))
MAYBE_INFINITE: Final[Kind] = (float, type(None), float)
MAYBE_INTEGER: Final[Kind] = (int, type(None))
TEXT: Final[Kind] = (str,)
INTEGER: Final[Kind] = (int,)
REAL: Final[Kind] = (float,)
FIRST_VERSION: Final = 8  # The version of the stores of spacelang 0.2, the oldest that are read
_SQL_TYPES: Final = {
    INTEGER: "INTEGER NOT NULL",
    REAL: "REAL NOT NULL",
    TEXT: "TEXT NOT NULL",
    MAYBE_INTEGER: "INTEGER",
    MAYBE_REAL: "REAL",
    MAYBE_INFINITE: "REAL NOT NULL",
}
_INACTIVE: Final = object()


@dataclass(frozen=True, slots=True)
class TrialColumn:
    """One column of a trial.

    `name` is its name in tables, exports and JSON, and `meaning` its documentation with the unit. `read` gets its value
    from a record; without it, the value is the `field` of the record, into which stored values are read back. `dtype`
    is its pandas type, empty if tables do not have it. `kind` are the types of the stored value, and `stored_as` is the
    name of the column in SQLite if it is another one. `since` is the first version of stores that has the column;
    trials of older ones have the stored value `older`.
    """

    name: str
    kind: Kind
    meaning: str
    dtype: str = ""
    read: Callable[[TrialRecord], object] | None = None
    field: str = ""
    stored_as: str | None = None
    store: Callable[[TrialRecord], object] | None = None  # Converts the value for SQLite, if that is not `read`
    since: int = FIRST_VERSION
    older: object = None

    @property
    def sql_name(self) -> str:
        """The name of the column in SQLite."""
        return self.name if self.stored_as is None else self.stored_as

    def value(self, record: TrialRecord) -> object:
        """Return the value of the column in tables and JSON."""
        return getattr(record, self.field) if self.read is None else self.read(record)

    def sql_value(self, record: TrialRecord) -> object:
        """Return the value that is stored: a string without lone surrogates, 0 for -0, NULL for nan, 0 or 1."""
        value = (self.store or self.value)(record)
        if isinstance(value, str):
            return escape_surrogates(value)
        if value is not None and float in self.kind:
            return as_sqlite_real(value)  # type: ignore[arg-type]
        return value if value is None else int(value)  # type: ignore[call-overload]


TRIAL_COLUMNS: Final = (
    TrialColumn("trial", INTEGER, "the number of the trial, from 1", "int64", field="index"),
    TrialColumn("status", TEXT, "`success`, or how the trial failed", "object", lambda r: r.trial.status.value),
    TrialColumn("loss", MAYBE_REAL, "the loss; missing if the trial failed", "float64", lambda r: r.trial.loss),
    TrialColumn(
        "fidelity",
        MAYBE_INTEGER,
        "the number of training rows or the fidelity of the objective; missing for all rows",
        "Int64",
        lambda r: r.trial.request.fidelity,
    ),
    TrialColumn("cost", REAL, "seconds of work", "float64", lambda r: r.trial.cost),
    TrialColumn(
        "cost_alone",
        REAL,
        "seconds that the trial would have taken without work shared with other trials",
        "float64",
        lambda r: r.trial.seconds_without_sharing,
    ),
    TrialColumn("started", REAL, "when the trial started, in seconds of the run", "float64", field="started"),
    TrialColumn("finished", REAL, "when the trial finished, in seconds of the run", "float64", field="finished"),
    TrialColumn(
        "feasible", INTEGER, "whether the trial satisfies all bounds of the task", "bool", lambda r: r.trial.is_feasible
    ),
    TrialColumn(
        "excess",
        MAYBE_INFINITE,
        "the relative excess over each violated bound, (value - limit) / limit, summed over the bounds",
        read=lambda r: r.trial.excess,
    ),
    TrialColumn(
        "training_loss",
        MAYBE_REAL,
        "the loss on the training rows, if it was recorded",
        "float64",
        lambda r: r.trial.training_loss,
    ),
    TrialColumn("worker", TEXT, "the name of the worker", "object", field="worker"),
    TrialColumn("attempts", INTEGER, "how many times the trial was started", "int64", field="attempts"),
    TrialColumn("reason", TEXT, "why the trial failed", "object", lambda r: r.trial.reason),
    TrialColumn(
        "constraints",
        TEXT,
        "the measured values of the bounds; in tables one column `constraint.NAME` each",
        read=lambda r: {each.bound.name: finite_or_none(each.value) for each in r.trial.constraints},
        store=lambda r: named_numbers_json((each.bound.name, each.value) for each in r.trial.constraints),
    ),
    TrialColumn(
        "metrics",
        TEXT,
        "further scores; in tables one column `metric.NAME` each",
        read=lambda r: {name: finite_or_none(value) for name, value in r.trial.metrics},
        store=lambda r: named_numbers_json(r.trial.metrics),
    ),
    TrialColumn(
        "configuration",
        TEXT,
        "the configuration; in tables one column `param_KEY` for each decision and hyperparameter",
        read=lambda r: {key: to_jsonable(value) for key, value in r.trial.request.configuration.items()},
        # ASCII, because some strings, with lone surrogates, cannot be encoded.
        store=lambda r: json.dumps(r.trial.request.configuration.to_dict(), sort_keys=True),
    ),
    TrialColumn("workers", INTEGER, "the number of workers when the trial ran", field="workers"),
    TrialColumn(
        "speculative",
        INTEGER,
        "whether the trial was started before the optimizer asked for it",
        "bool",
        field="is_speculative",
        stored_as="early",
    ),
    TrialColumn(
        "folds",
        MAYBE_INTEGER,
        "the number of evaluated folds, if the others were left out because the trial was hopeless; missing for all",
        "Int64",
        lambda r: r.trial.folds,
        since=9,
    ),
    TrialColumn(
        "objectives",
        TEXT,
        "the values of several objectives, each minimized; in tables one column `objective.NAME` each",
        read=lambda r: {name: finite_or_none(value) for name, value in r.trial.objectives},
        store=lambda r: named_numbers_json(r.trial.objectives),
        since=10,
        older="[]",
    ),
)
"""All columns in the order of the table of trials."""


def create_statement(columns: Sequence[TrialColumn]) -> str:
    """Return the statement that creates a table of trials, of which the first column is the primary key."""
    key, *others = columns
    more = ", ".join(f"{each.sql_name} {_SQL_TYPES[each.kind]}" for each in others)
    return f"CREATE TABLE trials ({key.sql_name} INTEGER PRIMARY KEY, {more}, digest BLOB NOT NULL)"


VERSION: Final = max(each.since for each in TRIAL_COLUMNS)  # The version of the tables that every store has


def columns_of_version(version: int) -> tuple[TrialColumn, ...]:
    """Return the columns that stores of a version have."""
    return tuple(each for each in TRIAL_COLUMNS if each.since <= version)


TABLE_COLUMNS: Final = tuple(each for each in TRIAL_COLUMNS if each.dtype)
"""The columns of `Result.trials` and of exports that every run has."""
INDEX: Final = TRIAL_COLUMNS[0].name
JSON_COLUMNS: Final = (
    *("trial", "loss", "fidelity", "feasible", "constraints", "metrics", "training_loss", "cost", "finished"),
    "configuration",
)
"""The keys of a trial in the JSON of `show` and `report`."""
_BY_NAME: Final = {each.name: each for each in TRIAL_COLUMNS}


def trial_to_json(record: TrialRecord) -> dict[str, object]:
    """Return a trial as a dictionary that the `json` module can write."""
    return {name: _BY_NAME[name].value(record) for name in JSON_COLUMNS}


def trials_frame(
    records: Iterable[TrialRecord],
    *,
    bounds: Iterable[str] = (),
    metrics: Iterable[str] = (),
    objectives: Iterable[str] = (),
) -> "pd.DataFrame":
    """Return a table with one row for each trial, indexed by its number.

    `TABLE_COLUMNS` come first, then `objective.NAME` for each of several objectives, `constraint.NAME` for each bound,
    `metric.NAME` for each recorded metric (even if no trial has a value), and `param_KEY` for each decision and
    hyperparameter. A parameter has the type `Int64`, `Float64`, `boolean` or `string` if all its values are of one
    kind. Otherwise, and for strings that cannot be encoded, it has the type `object`, with None for the value `none`.
    It is missing (`pd.NA`) where it is inactive.
    """
    import pandas as pd

    known = list(records)
    rows = [{each.name: each.value(record) for each in TABLE_COLUMNS} for record in known]
    prefixes = {"objective": objectives, "constraint": bounds, "metric": metrics}
    measured = dict.fromkeys(f"{prefix}.{name}" for prefix, names in prefixes.items() for name in names)
    for record, row in zip(known, rows, strict=True):
        found = {f"objective.{name}": value for name, value in record.trial.objectives}
        found |= {f"constraint.{each.bound.name}": each.value for each in record.trial.constraints}
        found |= {f"metric.{name}": value for name, value in record.trial.metrics}
        measured |= dict.fromkeys(found)
        row.update(found)
    types = {each.name: each.dtype for each in TABLE_COLUMNS} | dict.fromkeys(measured, "float64")
    table = pd.DataFrame(rows, columns=[*types]).astype(types).set_index(INDEX)
    values = [record.trial.request.configuration.view for record in known]
    keys = sorted({key for each in values for key in each})
    more = {f"param_{key}": _parameter_column([each.get(key, _INACTIVE) for each in values]) for key in keys}
    return pd.concat([table, pd.DataFrame(more).set_index(table.index)], axis=1) if more else table


def _parameter_column(values: Sequence[Any]) -> "pd.Series[Any]":
    import pandas as pd

    kind = _parameter_type([value for value in values if value is not _INACTIVE])
    return pd.Series([pd.NA if value is _INACTIVE else value for value in values], dtype=kind)


def _parameter_type(values: Sequence[Value]) -> Any:
    if all(isinstance(value, bool) for value in values):
        return "boolean"
    if all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 for value in values):
        return "Int64"
    if all(is_number(value) and (isinstance(value, float) or abs(value) < 2**53) for value in values):
        return "Float64"
    is_text = all(isinstance(value, str) and value == escape_surrogates(value) for value in values)
    return "string" if is_text else "object"


def escape_surrogates(text: str) -> str:
    """Escape lone surrogates, which file names may have and which cannot be encoded."""
    return text.encode("utf-8", "backslashreplace").decode()


def as_sqlite_real(number: float | None) -> float | None:
    """Return a number as SQLite holds it: 0 for -0, and None for nan."""
    return None if number is None or isnan(number) else float(number) + 0.0


def finite_or_none(number: float | None) -> float | None:
    """Return the number if it is finite, which JSON can represent, else None."""
    return number if number is not None and isfinite(number) else None


def to_jsonable(value: Value) -> object:
    """Return a value that JSON can represent: numbers such as infinity become strings."""
    if isinstance(value, tuple):
        return [*map(to_jsonable, value)]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def named_numbers_json(named: Iterable[tuple[str, float]]) -> str:
    """Return names and numbers as JSON: nan as null, infinity as a string."""
    return json.dumps(
        [[name, value if isfinite(value) else None if isnan(value) else str(value)] for name, value in named]
    )


def parse_named_numbers(text: str) -> NamedNumbers:
    """Return what `named_numbers_json` wrote; raise TypeError for a name that is not a text."""
    found = [(name, nan if value is None else float(value)) for name, value in json.loads(text)]
    if not all(isinstance(name, str) for name, _ in found):
        raise TypeError("the name of a stored number must be a text")
    return tuple(found)


def values_by_sql_name(row: Sequence[Any]) -> Mapping[str, Any]:
    """Return the stored values of a trial as a mapping from the names of their SQLite columns."""
    return {each.sql_name: value for each, value in zip(TRIAL_COLUMNS, row, strict=True)}


def add_missing_columns(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the row of a trial from an older store, extended by default values of the columns added since."""
    return (*row, *(each.older for each in TRIAL_COLUMNS[len(row) :]))


def trial_record_fields(row: Sequence[Any]) -> dict[str, Any]:
    """Return the stored values that are fields of `TrialRecord`, by their names."""
    found = ((each, value) for each, value in zip(TRIAL_COLUMNS, row, strict=True) if each.field)
    return {each.field: bool(value) if each.dtype == "bool" else value for each, value in found}
