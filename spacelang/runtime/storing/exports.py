"""The trials of a store as a table, and as a file for other programs."""

import json
from importlib.util import find_spec
from math import isnan, nan
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import pandas as pd

from spacelang.draws.codes import EXACT
from spacelang.files import replacing
from spacelang.ir.domain import literal
from spacelang.ir.value import Value, is_number
from spacelang.runtime.history import Record
from spacelang.runtime.storing.store import StoredRun
from spacelang.runtime.storing.store_faults import StoreError
from spacelang.runtime.storing.stored import METRICS

SUFFIXES: Final = (".csv", ".csv.gz", ".parquet")

FIXED: Final = {
    "trial": ("int64", attrgetter("index")),
    "status": ("object", attrgetter("trial.status.value")),
    "loss": ("float64", attrgetter("trial.loss")),
    "fidelity": ("Int64", attrgetter("trial.request.fidelity")),
    "cost": ("float64", attrgetter("trial.cost")),
    "cost_alone": ("float64", attrgetter("trial.seconds_alone")),
    "started": ("float64", attrgetter("started")),
    "finished": ("float64", attrgetter("finished")),
    "feasible": ("bool", attrgetter("trial.is_feasible")),
    "training_loss": ("float64", attrgetter("trial.training_loss")),
    "worker": ("object", attrgetter("worker")),
    "attempts": ("int64", attrgetter("attempts")),
    "early": ("bool", attrgetter("is_early")),
    "reason": ("object", attrgetter("trial.reason")),
}
"""The columns that every run has: of which type they are, and where records have them."""


def frame(run: StoredRun) -> pd.DataFrame:
    """One row a trial: what is known of it, then `constraint.NAME`, `metric.NAME` and `configuration.KEY`.

    Every metric that the run records has a column, also where no trial has it. Seconds, losses, metrics and what is
    bounded are floats. A key that is not active in a trial is missing there. A key has the type of its values where
    they are all integers, numbers, texts or truth values; else it holds them as they are, `None` for the value `none`
    among them, and `nan` where it is not active.
    """
    rows, values = [], []
    for record in run.records():
        rows.append(_row(record))
        values.append(record.trial.request.configuration.view)
    recorded = [f"metric.{name}" for name in json.loads(run.header.settings.get(METRICS, "[]"))]
    measured = list(dict.fromkeys([*_names(rows), *recorded]))
    types = {name: kind for name, (kind, _) in FIXED.items()} | dict.fromkeys(measured, "float64")
    table = pd.DataFrame(rows, columns=[*types]).astype(types)
    keys = sorted({key for each in values for key in each})
    columns = {f"configuration.{key}": _column([each.get(key, _INACTIVE) for each in values]) for key in keys}
    return pd.concat([table, pd.DataFrame(columns, index=table.index)], axis=1)


def export(run: StoredRun, path: Path) -> None:
    """Write the table to a `.csv`, `.csv.gz` or `.parquet` file, in place of what is there.

    Keys whose values are of several kinds are written as the language writes them, so that `none` is told from a key
    that is not active: `none`, `0.5`, `sqrt`. Raises StoreError for another suffix, where a library is missing, and
    where the file cannot be written: then the old one is still there.
    """
    suffix = next((known for known in SUFFIXES if path.name.lower().endswith(known)), None)
    if suffix is None:
        raise StoreError(f"`{path}` is no kind of table", f"name a file that ends in {', '.join(SUFFIXES)}")
    if suffix == ".parquet" and find_spec("pyarrow") is None:
        raise StoreError(f"`{path}` needs `pyarrow`", "install `spacelang[parquet]`, or export to `.csv.gz`")
    table = _flat(frame(run))
    # Without the time in the archive equal tables are equal files.
    packed: Any = {"method": "gzip", "mtime": 1} if suffix == ".csv.gz" else None
    try:
        with replacing(path) as new:
            if suffix == ".parquet":
                table.to_parquet(new, engine="pyarrow", index=False)
            else:
                table.to_csv(new, index=False, compression=packed)
    except OSError as error:
        raise StoreError(f"`{path}` cannot be written: {error.strerror or error}", "choose another place") from error


_INACTIVE: Final = object()


def _row(record: Record) -> dict[str, object]:
    trial = record.trial
    return {
        **{name: of(record) for name, (_, of) in FIXED.items()},
        **{f"constraint.{each.bound.name}": each.value for each in trial.constraints},
        **{f"metric.{name}": value for name, value in trial.metrics},
    }


def _names(rows: list[dict[str, object]]) -> list[str]:
    """What is measured in some trials, in the order in which it first is."""
    return list(dict.fromkeys(name for row in rows for name in row if name not in FIXED))


def _column(values: list[Any]) -> "pd.Series[Any]":
    """The values of a key, of the type that suits them all; raises nothing."""
    active = [value for value in values if value is not _INACTIVE]
    kind = _kind(active)
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


def _kind(values: list[Value]) -> str:
    if all(isinstance(value, bool) for value in values):
        return "boolean"
    if all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 for value in values):
        return "Int64"
    if all(is_number(value) and (isinstance(value, float) or abs(value) < EXACT) for value in values):  # type: ignore[arg-type]
        return "float64"
    return "object"


def _flat(table: pd.DataFrame) -> pd.DataFrame:
    """The same with the texts of values where those of a key are not all texts."""
    mixed = [
        name
        for name in table.columns
        if name not in FIXED and table[name].dtype == "object" and not all(map(_is_text, table[name]))
    ]
    return table.assign(**{name: pd.Series(list(map(_written, table[name])), dtype="object") for name in mixed})


def _is_text(value: object) -> bool:
    return isinstance(value, str) or _is_gap(value)


def _written(value: Any) -> Any:
    return nan if _is_gap(value) else literal(value)


def _is_gap(value: object) -> bool:
    return isinstance(value, float) and isnan(value)
