"""Load data sets and tasks of OpenML. Its client downloads and caches the files; this module reads and checks them."""

import hashlib
import math
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pandas as pd

from spacelang.ir.task import Kind
from spacelang.runtime.data.arff import read_arff
from spacelang.runtime.data.csv_files import read_text
from spacelang.runtime.data.openml_client import (
    DATA_FILE,
    DATASETS,
    TASKS,
    TRY_LATER,
    ClientWorkspace,
    DamagedFileError,
    client_workspace,
    is_final,
    to_data_error,
)
from spacelang.runtime.data.openml_splits import read_splits
from spacelang.runtime.data.sparse import SparseTable
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.splits import Split, check_splits

KINDS: Final[dict[int, Kind]] = {1: "classification", 2: "regression"}
"""The supported kinds of tasks by OpenML's task type IDs."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenmlTable:
    """A table from OpenML, its label column, and the columns that are no features.

    `splits` and `kind` are set for a task.
    """

    table: pd.DataFrame | SparseTable
    target: str
    left_out: tuple[str, ...]
    splits: tuple[Split, ...] = ()
    kind: Kind | None = None


def fetch(reference: str, target: str | None = None) -> OpenmlTable:
    """Return the data set `openml:ID` or the task `openml-task:ID`, from the cache if it is there and intact.

    The client's configuration gives the server, the API key and the cache. Raises DataError if the data does not exist,
    cannot be downloaded, or is damaged.
    """
    scheme, _, number = reference.partition(":")
    if not (number.isascii() and number.isdigit() and int(number)):
        raise DataError(f"`{reference}` is not an OpenML ID", f"give a number, as in `{scheme}:31`")
    try:
        return _fetch_once(reference, int(number), target, fresh=False)
    except _CorruptCacheError:
        return _fetch_once(reference, int(number), target, fresh=True)


class _CorruptCacheError(Exception):
    """An error for a cached file that is truncated or damaged and must be downloaded again."""


def _fetch_once(reference: str, number: int, target: str | None, *, fresh: bool) -> OpenmlTable:
    """Load the data with the help of the cache, or without it if `fresh` is True."""
    read = _task if reference.startswith("openml-task") else _dataset
    with client_workspace(fresh=fresh) as (client, room):
        try:
            found = read(client, room, reference, number, target)
        except DataError:
            raise
        except Exception as error:  # noqa: BLE001 - on invalid answers the client raises whatever its libraries do
            if room.copied and not is_final(error, client):
                raise _CorruptCacheError from None
            if isinstance(error, DamagedFileError):
                raise DataError(f"`{reference}`: {error}", TRY_LATER) from None
            # Without the cause, whose text may contain the API key.
            raise to_data_error(error, client, reference, known=bool(room.copied) or fresh) from None
        room.move_to_cache()
        return found


# ---- tasks


def _task(client: Any, room: ClientWorkspace, reference: str, number: int, target: str | None) -> OpenmlTable:
    room.copy_from_cache(TASKS, number)
    folder = room.folder / TASKS / str(number)
    for data in _cached_data_id(folder / "task.xml"):
        room.copy_from_cache(DATASETS, data)
    has_splits = (folder / "datasplits.arff").exists()
    task = client.tasks.get_task(number, download_splits=not has_splits, download_data=False)
    kind = KINDS.get(int(task.task_type_id.value))
    if kind is None:
        raise DataError(
            f"`{reference}` is a task of type `{task.task_type}`",
            f"use a classification or regression task, or only its data: `openml:{task.dataset_id}`",
        )
    if target not in {None, task.target_name}:
        raise DataError(
            f"the label column of `{reference}` is `{task.target_name}`, not `{target}`",
            f"use only its data: `openml:{task.dataset_id}`",
        )
    found = _dataset(client, room, reference, int(task.dataset_id), str(task.target_name))
    return replace(found, splits=_splits(task, folder, len(found.table), reference), kind=kind)


def _cached_data_id(description: Path) -> list[int]:
    """Return the ID of the data set of a cached task, in a list; an empty list if it is not cached."""
    with suppress(OSError, UnicodeDecodeError):
        return [int(each) for each in re.findall(r"data_set_id>\s*(\d+)\s*<", description.read_text("utf-8"))[:1]]
    return []


def _splits(task: Any, folder: Path, rows: int, reference: str) -> tuple[Split, ...]:
    procedure = task.estimation_procedure
    try:
        text = read_text(folder / "datasplits.arff", reference)
        splits = read_splits(text, str(procedure["type"]), procedure["parameters"] or {}, rows)
    except (ValueError, DataError) as error:
        raise DamagedFileError(f"the splits do not match the task: {error}") from None
    check_splits(splits, rows, reference)
    return splits


# ---- data sets


def _dataset(client: Any, room: ClientWorkspace, reference: str, number: int, target: str | None) -> OpenmlTable:
    room.copy_from_cache(DATASETS, number)
    dataset = client.datasets.get_dataset(number, download_data=True)
    file = room.folder / DATASETS / str(number) / DATA_FILE
    is_checked = _check_content(file, dataset.md5_checksum)
    table = _table(file, reference, is_checked=is_checked)
    if not is_checked or file.with_name("qualities.xml").exists():
        _check_rows(client, dataset, len(table))
    columns = [*table.columns] if isinstance(table, pd.DataFrame) else [*table.names]
    label = target or dataset.default_target_attribute
    if label is None or (target is None and label not in columns):
        said = "has no default label column" if label is None else f"has several label columns: `{label}`"
        raise DataError(f"`{reference}` {said}", "choose one with `--target-column`")
    left_out = (
        *_columns_in_field(dataset.row_id_attribute, columns),
        *_columns_in_field(dataset.ignore_attribute, columns),
    )
    return OpenmlTable(table, str(label), tuple(name for name in left_out if name != label))


def _check_content(file: Path, checksum: str | None) -> bool:
    """Return True if there is a checksum; raise DamagedFileError if the file does not match it."""
    if not checksum:
        return False
    content = file.read_bytes()
    # On Windows the client writes CRLF line ends.
    if checksum not in {hashlib.md5(each).hexdigest() for each in (content, content.replace(b"\r\n", b"\n"))}:
        raise DamagedFileError("the data does not match its checksum")
    return True


def _table(file: Path, reference: str, *, is_checked: bool) -> pd.DataFrame | SparseTable:
    try:
        return read_arff(read_text(file, reference), reference)
    except DataError as error:
        if is_checked:
            raise
        raise DamagedFileError(error.message) from None


def _check_rows(client: Any, dataset: Any, rows: int) -> None:
    """Raise DamagedFileError if OpenML reports another number of rows.

    Some data sets have no such number, and the server cannot always be reached. Nothing is checked then.
    """
    from requests.exceptions import RequestException

    with suppress(RequestException, client.exceptions.OpenMLServerException):
        expected = (dataset.qualities or {}).get("NumberOfInstances", math.nan)
        if not math.isnan(expected) and int(expected) != rows:
            raise DamagedFileError(f"the data has {rows} rows instead of {int(expected)}")


def _columns_in_field(names: str | list[str] | None, columns: list[str]) -> list[str]:
    """Return the columns that a field of a description names.

    The field is a name, a list of names, or several names in one text, separated by commas.
    """
    listed = names if isinstance(names, list) else [names or ""]
    each = [part for name in listed for part in ([name] if name in columns else map(str.strip, name.split(",")))]
    return [name for name in each if name in columns]
