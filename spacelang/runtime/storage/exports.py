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
from spacelang.runtime.storage.trial_columns import trials_frame

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
    `none` differs from an inactive parameter. Raises StoreError for another suffix, for a missing library, and if the
    file cannot be written; an existing file is unchanged then.
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
                table.reset_index().to_json(new, orient="records", lines=True, double_precision=15)
            else:
                table.to_csv(new, compression=packed)
    except OSError as error:
        raise StoreError(f"`{path}` cannot be written: {error.strerror or error}", "choose another place") from error


def _with_literals(table: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    mixed = [name for name in table.columns if name.startswith("param_") and table[name].dtype == "object"]
    return table.assign(
        **{name: [pd.NA if each is pd.NA else literal(each) for each in table[name]] for name in mixed}
    ).astype(dict.fromkeys(mixed, "string"))
