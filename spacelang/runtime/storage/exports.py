"""Export the trials of a store as a table, or as a file for other programs."""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spacelang.files import replace_atomically
from spacelang.ir.domain import literal
from spacelang.runtime.storage.records import METRICS_SETTING
from spacelang.runtime.storage.store import StoredRun
from spacelang.runtime.storage.store_errors import StoreError
from spacelang.runtime.storage.trial_columns import escape_surrogates, jsonable, trials_frame

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES: Final = (".csv", ".csv.gz", ".parquet", ".jsonl")


def to_frame(run: StoredRun) -> "pd.DataFrame":
    """Return a table with one row for each trial, indexed by its number (see `trials_frame`)."""
    bounds = [each.name for each in run.bounds]
    return trials_frame(run.records(), bounds=bounds, metrics=_recorded_metrics(run.header.settings))


def _recorded_metrics(settings: Mapping[str, str]) -> list[str]:
    try:
        found = json.loads(settings.get(METRICS_SETTING, "[]"))
    except ValueError:  # A plug-in may use the name for another setting.
        return []
    return list(map(str, found)) if isinstance(found, list) else []


def export_table(run: StoredRun, path: Path) -> None:
    """Write the table to a `.csv`, `.csv.gz`, `.parquet` or `.jsonl` file, and replace an existing one.

    Values of parameters with mixed types are written in the syntax of the language (`none`, `0.5`, `sqrt`), so that
    `none` differs from an inactive parameter. In `.jsonl`, missing values are `null` and infinity is a string.

    Raises StoreError for another suffix, for a missing library, and if the file cannot be written; an existing file is
    unchanged then.
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
                table.reset_index().to_parquet(new, engine="pyarrow", index=False)
            elif suffix == ".jsonl":
                new.write_text(_json_lines(table.reset_index()), encoding="ascii")
            else:
                # A carriage return outside of quotes would end a row.
                table.replace({"\r": r"\\r"}, regex=True).to_csv(new, compression=packed)
    except OSError as error:
        raise StoreError(f"`{path}` cannot be written: {error.strerror or error}", "choose another place") from error


def _json_lines(table: "pd.DataFrame") -> str:
    # Not `to_json`, which rounds to 15 digits.
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return "".join(f"{json.dumps({name: jsonable(value) for name, value in row.items()})}\n" for row in rows)


def _with_literals(table: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    def text(value: Any) -> Any:
        return value if value is pd.NA else escape_surrogates(literal(value))

    mixed = [name for name in table.columns if name.startswith("param_") and table[name].dtype == "object"]
    return table.assign(**{name: pd.array(list(map(text, table[name])), dtype="string") for name in mixed})
