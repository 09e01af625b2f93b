"""Export the trials of a store as a table, or as a file for other programs."""

import json
from importlib.util import find_spec
from itertools import chain
from math import isnan, nan
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import pandas as pd

from spacelang.files import replace_atomically
from spacelang.ir.domain import literal
from spacelang.ir.value import Value, is_number
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.records import METRICS_SETTING
from spacelang.runtime.storage.store import StoredRun
from spacelang.runtime.storage.store_errors import StoreError
from spacelang.sampling.value_codes import EXACT_INTEGER_LIMIT

SUFFIXES: Final = (".csv", ".csv.gz", ".parquet")

FIXED_COLUMNS: Final = {
    "trial": ("int64", attrgetter("index")),
    "status": ("object", attrgetter("trial.status.value")),
    "loss": ("float64", attrgetter("trial.loss")),
    "fidelity": ("Int64", attrgetter("trial.request.fidelity")),
    "cost": ("float64", attrgetter("trial.cost")),
    "cost_alone": ("float64", attrgetter("trial.unshared_seconds")),
    "started": ("float64", attrgetter("started")),
    "finished": ("float64", attrgetter("finished")),
    "feasible": ("bool", attrgetter("trial.is_feasible")),
    "training_loss": ("float64", attrgetter("trial.training_loss")),
    "worker": ("object", attrgetter("worker")),
    "attempts": ("int64", attrgetter("attempts")),
    "early": ("bool", attrgetter("is_speculative")),
    "reason": ("object", attrgetter("trial.reason")),
}
"""The columns of every run: their pandas types, and the functions that get their values from a record."""


def to_frame(run: StoredRun) -> pd.DataFrame:
    """Return a table with one row a trial.

    The fixed columns come first, then `constraint.NAME`, `metric.NAME` and `configuration.KEY`. Every metric that the
    run records has a column, even if no trial has a value. Seconds, losses, metrics and constraint values are floats.

    A configuration column has the type of its values if they are all integers, numbers, strings or Booleans. Otherwise
    it has the dtype `object` and holds them as they are, with `None` for the value `none`. Keys that are inactive in a
    trial are missing; in an object column they are `nan`.
    """
    rows, values = [], []
    for record in run.records():
        rows.append(_table_row(record))
        values.append(record.trial.request.configuration.view)
    recorded = [f"metric.{name}" for name in json.loads(run.header.settings.get(METRICS_SETTING, "[]"))]
    measured = [name for name in dict.fromkeys([*chain.from_iterable(rows), *recorded]) if name not in FIXED_COLUMNS]
    types = {name: kind for name, (kind, _) in FIXED_COLUMNS.items()} | dict.fromkeys(measured, "float64")
    table = pd.DataFrame(rows, columns=[*types]).astype(types)
    keys = sorted({key for each in values for key in each})
    columns = {f"configuration.{key}": _make_column([each.get(key, _INACTIVE) for each in values]) for key in keys}
    return pd.concat([table, pd.DataFrame(columns, index=table.index)], axis=1)


def export_table(run: StoredRun, path: Path) -> None:
    """Write the table to a `.csv`, `.csv.gz` or `.parquet` file, and replace an existing one.

    Values of keys with mixed types are written in the syntax of the language (`none`, `0.5`, `sqrt`), so that `none`
    differs from an inactive key. Raises StoreError for another suffix, for a missing library, and if the file cannot be
    written; an existing file is unchanged then.
    """
    suffix = next((known for known in SUFFIXES if path.name.lower().endswith(known)), None)
    if suffix is None:
        raise StoreError(f"`{path}` is not a supported table format", f"name a file ending in {', '.join(SUFFIXES)}")
    if suffix == ".parquet" and find_spec("pyarrow") is None:
        raise StoreError(f"`{path}` needs `pyarrow`", "install `spacelang[parquet]`, or export to `.csv.gz`")
    table = _with_literals(to_frame(run))
    # A fixed time in the archive makes equal tables equal files.
    packed: Any = {"method": "gzip", "mtime": 1} if suffix == ".csv.gz" else None
    try:
        with replace_atomically(path) as new:
            if suffix == ".parquet":
                table.to_parquet(new, engine="pyarrow", index=False)
            else:
                table.to_csv(new, index=False, compression=packed)
    except OSError as error:
        raise StoreError(f"`{path}` cannot be written: {error.strerror or error}", "choose another place") from error


_INACTIVE: Final = object()


def _table_row(record: TrialRecord) -> dict[str, object]:
    trial = record.trial
    return {
        **{name: get(record) for name, (_, get) in FIXED_COLUMNS.items()},
        **{f"constraint.{each.bound.name}": each.value for each in trial.constraints},
        **{f"metric.{name}": value for name, value in trial.metrics},
    }


def _make_column(values: list[Any]) -> "pd.Series[Any]":
    active = [value for value in values if value is not _INACTIVE]
    kind = _column_type(active)
    gaps = [nan if value is _INACTIVE else value for value in values]
    match kind:
        case "Int64" | "boolean" if len(active) < len(values):
            return pd.Series([pd.NA if value is _INACTIVE else value for value in values], dtype=kind)
        case "Int64" | "boolean":
            return pd.Series(gaps, dtype=kind.lower().removesuffix("ean"))
        case "float64":
            return pd.Series(gaps, dtype="float64")
        case _:
            return pd.Series(gaps, dtype="object")


def _column_type(values: list[Value]) -> str:
    if all(isinstance(value, bool) for value in values):
        return "boolean"
    if all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 for value in values):
        return "Int64"
    if all(is_number(value) and (isinstance(value, float) or abs(value) < EXACT_INTEGER_LIMIT) for value in values):  # type: ignore[arg-type]
        return "float64"
    return "object"


def _with_literals(table: pd.DataFrame) -> pd.DataFrame:
    mixed = [
        name
        for name in table.columns
        if name not in FIXED_COLUMNS and table[name].dtype == "object" and not all(map(_is_text, table[name]))
    ]
    literals = {name: [nan if _is_missing(value) else literal(value) for value in table[name]] for name in mixed}
    return table.assign(**{name: pd.Series(values, dtype="object") for name, values in literals.items()})


def _is_text(value: object) -> bool:
    return isinstance(value, str) or _is_missing(value)


def _is_missing(value: object) -> bool:
    return isinstance(value, float) and isnan(value)
