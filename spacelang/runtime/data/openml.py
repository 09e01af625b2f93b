"""Load data sets and tasks of OpenML. Its client downloads and caches the files; this module reads and checks them."""

import hashlib
import io
import logging
import math
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from spacelang.files import replace_atomically
from spacelang.ir.task import Kind
from spacelang.runtime.data.arff import read_arff
from spacelang.runtime.data.table_files import read_text
from spacelang.runtime.data.tables import SparseTable
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.splits import Split, check_splits
from spacelang.text import count_with_noun

KINDS: Final[dict[int, Kind]] = {1: "classification", 2: "regression"}
"""The supported kinds of tasks by OpenML's task type IDs."""
_DATA: Final = re.compile(r"^@data[^\n]*\n", re.IGNORECASE | re.MULTILINE)
_NAME: Final = re.compile(r"^@attribute\s+['\"]?(\w+)", re.IGNORECASE | re.MULTILINE)
COLUMNS: Final = ("type", "rowid", "repeat", "fold")
COMPLETE_PROCEDURES: Final = frozenset({"crossvalidation", "leaveoneout", "holdout"})
"""The procedures whose splits each use every row, either for training or held out."""
DATASETS: Final = "datasets"
TASKS: Final = "tasks"
DATA_FILE: Final = "dataset.arff"
CACHED_FILES: Final = {
    DATASETS: ("description.xml", "features.xml", "qualities.xml", DATA_FILE),
    TASKS: ("task.xml", "datasplits.arff"),
}
"""The files of the client's cache that are used, by their folders. All of them are text."""
SKIP_PARQUET: Final = "OPENML_SKIP_PARQUET"
"""The environment variable that makes the client download ARFF, the only format with checksums."""
TRY_LATER: Final = "try again later, or give the data as a file"


@dataclass(slots=True)
class OpenmlClientWorkspace:
    """The folder in which the OpenML client works, apart from the permanent cache.

    `folder` is its cache for now, `cache` the permanent one. `copied` are the files that came from the permanent cache;
    if `fresh`, nothing is copied and all is downloaded again.
    """

    folder: Path
    cache: Path
    fresh: bool
    copied: set[Path] = field(default_factory=set)

    def copy_from_cache(self, kind: str, number: int) -> None:
        """Copy the cached files of a data set or a task to the workspace, unless they are there already."""
        for name in () if self.fresh else CACHED_FILES[kind]:
            kept, here = self.cache / kind / str(number) / name, self.folder / kind / str(number) / name
            if kept.is_file() and not here.exists():
                here.parent.mkdir(parents=True, exist_ok=True)
                _copy(kept, here)
                self.copied.add(here)

    def move_to_cache(self) -> None:
        """Move downloads to the permanent cache; if it cannot be written, they are downloaded again next time."""
        for kind, names in CACHED_FILES.items():
            for fetched in (self.folder / kind).glob("*/*"):
                place = self.cache / fetched.relative_to(self.folder)
                if fetched.name in names and not (fetched in self.copied and _is_cached(fetched, place)):
                    with suppress(OSError):
                        place.parent.mkdir(parents=True, exist_ok=True)
                        with replace_atomically(place) as near:
                            shutil.move(fetched, near)


@dataclass(frozen=True, slots=True, eq=False)
class OpenmlTable:
    """A table from OpenML, its label column, the columns that are no features, and the splits and kind of a task."""

    table: pd.DataFrame | SparseTable
    target: str
    left_out: tuple[str, ...]
    splits: tuple[Split, ...] = ()
    kind: Kind | None = None


def fetch_openml(reference: str, target: str | None = None) -> OpenmlTable:
    """Return the data set `openml:ID` or the task `openml-task:ID`.

    Files that are cached and intact are not downloaded again. Raises DataError.
    """
    scheme, _, number = reference.partition(":")
    if not (number.isascii() and number.isdigit() and int(number)):
        raise DataError(f"`{reference}` is not an OpenML ID", f"give a number, as in `{scheme}:31`")
    try:
        return _fetch_once(reference, int(number), target, fresh=False)
    except _CorruptCacheError:
        return _fetch_once(reference, int(number), target, fresh=True)


class _CorruptCacheError(Exception):
    """A cached file is damaged and must be downloaded again."""


def _fetch_once(reference: str, number: int, target: str | None, *, fresh: bool) -> OpenmlTable:
    read = _task if reference.startswith("openml-task") else _dataset
    with open_client_workspace(fresh=fresh) as (client, workspace):
        try:
            found = read(client, workspace, reference, number, target)
        except DataError:
            raise
        except Exception as error:  # noqa: BLE001 - on invalid answers the client raises whatever its libraries do
            if workspace.copied and not is_permanent_error(error, client):
                raise _CorruptCacheError from None
            if isinstance(error, DamagedFileError):
                raise DataError(f"`{reference}`: {error}", TRY_LATER) from None
            # Without the cause, whose text may contain the API key.
            raise to_data_error(error, client, reference, known=bool(workspace.copied) or fresh) from None
        workspace.move_to_cache()
        return found


# ---- tasks


def _task(
    client: Any, workspace: OpenmlClientWorkspace, reference: str, number: int, target: str | None
) -> OpenmlTable:
    workspace.copy_from_cache(TASKS, number)
    folder = workspace.folder / TASKS / str(number)
    for data in _cached_data_id(folder / "task.xml"):
        workspace.copy_from_cache(DATASETS, data)
    has_splits = (folder / "datasplits.arff").exists()
    task = client.tasks.get_task(number, download_splits=not has_splits, download_data=False)
    kind = KINDS.get(int(task.task_type_id.value))
    if kind is None:
        what = f"`{reference}` is a task of type `{task.task_type}`"
        raise DataError(what, f"use a classification or regression task, or only its data: `openml:{task.dataset_id}`")
    if target not in {None, task.target_name}:
        what = f"the label column of `{reference}` is `{task.target_name}`, not `{target}`"
        raise DataError(what, f"use only its data: `openml:{task.dataset_id}`")
    found = _dataset(client, workspace, reference, int(task.dataset_id), str(task.target_name))
    return replace(found, splits=_splits(task, folder, len(found.table), reference), kind=kind)


def _cached_data_id(description: Path) -> list[int]:
    """Return a list with the ID of a task's data set, from its cached `description`; empty if that is not cached."""
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


def _dataset(
    client: Any, workspace: OpenmlClientWorkspace, reference: str, number: int, target: str | None
) -> OpenmlTable:
    workspace.copy_from_cache(DATASETS, number)
    dataset = client.datasets.get_dataset(number, download_data=True)
    file = workspace.folder / DATASETS / str(number) / DATA_FILE
    is_checked = _check_content(file, dataset.md5_checksum)
    table = _table(file, reference, is_checked=is_checked)
    if not is_checked or file.with_name("qualities.xml").exists():
        _check_rows(client, dataset, len(table))
    columns = [*table.columns] if isinstance(table, pd.DataFrame) else [*table.names]
    label = target or dataset.default_target_attribute
    if label is None or (target is None and label not in columns):
        message = f"`{reference}` has several label columns: `{label}`"
        message = f"`{reference}` has no default label column" if label is None else message
        raise DataError(message, "choose one with `--target-column`")
    fields = (dataset.row_id_attribute, dataset.ignore_attribute)
    left_out = [name for field in fields for name in _columns_in_field(field, columns) if name != label]
    return OpenmlTable(table, str(label), tuple(left_out))


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
    """Raise DamagedFileError if OpenML reports another number of rows; it may report none, or be unreachable."""
    from requests.exceptions import RequestException

    with suppress(RequestException, client.exceptions.OpenMLServerException):
        expected = (dataset.qualities or {}).get("NumberOfInstances", math.nan)
        if not math.isnan(expected) and int(expected) != rows:
            raise DamagedFileError(f"the data has {rows} rows instead of {int(expected)}")


def _columns_in_field(names: str | list[str] | None, columns: list[str]) -> list[str]:
    """Return those of `columns` that a field names: by a name, a list of names, or names separated by commas."""
    listed = names if isinstance(names, list) else [names or ""]
    each = [part for name in listed for part in ([name] if name in columns else map(str.strip, name.split(",")))]
    return [name for name in each if name in columns]


def read_splits(text: str, procedure: str, parameters: dict[str, str], rows: int) -> tuple[Split, ...]:
    """Return the splits in an ARFF text, ordered by repeat and fold, each with ascending rows.

    Raise ValueError if they do not fit the table of `rows` rows, or the `procedure` and its `parameters` in the task.
    """
    listed = _parse(text.replace("\r\n", "\n"))
    if listed["rowid"].max() >= rows or listed["rowid"].min() < 0:
        raise ValueError("some splits have row numbers outside the data")
    groups = listed.groupby(["repeat", "fold"], sort=True)
    splits = tuple(
        Split(*(np.sort(part.loc[part["type"] == kind, "rowid"].to_numpy(np.int64)) for kind in ("TRAIN", "TEST")))
        for _, part in groups
    )
    expected = _expected_count(procedure, parameters, rows)
    if expected not in {None, len(splits)}:
        raise ValueError(f"the file of splits has {count_with_noun(len(splits), 'split')} instead of {expected}")
    if procedure in COMPLETE_PROCEDURES and any(len(split.training) + len(split.held_out) != rows for split in splits):
        raise ValueError("some splits do not contain all rows")
    return splits


def _parse(text: str) -> pd.DataFrame:
    """Return a table with a line for each row of each split."""
    parts = _DATA.split(text, maxsplit=1)
    names = [name.lower() for name in _NAME.findall(parts[0])]
    if len(parts) < 2 or not set(COLUMNS) <= set(names):
        raise ValueError("the file of splits has an unexpected format")
    listed = pd.read_csv(io.StringIO(parts[1]), header=None, names=names, comment="%", skipinitialspace=True)
    numbers = listed[["rowid", "repeat", "fold"]]
    are_numbers = all(map(pd.api.types.is_numeric_dtype, numbers.dtypes))
    whole = are_numbers and bool((numbers % 1 == 0).to_numpy().all())
    if listed.empty or not whole or not bool(listed["type"].isin(["TRAIN", "TEST"]).all()):
        raise ValueError("the file of splits is truncated or damaged")
    return listed.astype(dict.fromkeys(numbers.columns, np.int64))


def _expected_count(procedure: str, parameters: dict[str, str], rows: int) -> int | None:
    """Return the number of splits that the task describes; None if it does not say."""
    repeats = parameters.get("number_repeats") or "1"
    folds = parameters.get("number_folds") or ""
    if procedure == "leaveoneout":
        return rows
    if procedure == "holdout":
        folds = "1"
    return int(repeats) * int(folds) if repeats.isdigit() and folds.isdigit() else None


class DamagedFileError(Exception):
    """An error for a cached or downloaded file that is not what it should be."""


@contextmanager
def open_client_workspace(*, fresh: bool) -> Iterator[tuple[Any, OpenmlClientWorkspace]]:
    """Yield the client's module and its workspace. The client's own log messages and warnings are suppressed."""
    client = _client()
    with _silenced():
        cache = Path(client.config.get_cache_directory())
        root = Path(client.config.get_config_as_dict()["cachedir"])
        with _temporary_folder(root) as folder:
            client.config.set_root_cache_directory(folder)
            try:
                yield client, OpenmlClientWorkspace(Path(client.config.get_cache_directory()), cache, fresh)
            finally:
                client.config.set_root_cache_directory(root)


def to_data_error(error: Exception, client: Any, reference: str, *, known: bool) -> DataError:
    """Return the DataError for a failed download; it quotes only the server's answers, as other texts hold the API key.

    `known` is True if a part of the data is in the cache.
    """
    from requests.exceptions import RequestException

    server = _host(client)
    match error:
        case client.exceptions.OpenMLPrivateDatasetError() | client.exceptions.OpenMLNotAuthorizedError():
            return DataError(
                f"`{reference}` is not public on `{server}`",
                "set your API key in the configuration of the OpenML client",
            )
        case client.exceptions.OpenMLServerException():
            answer = _quote_answer(str(error.message), client.config.apikey)
            return DataError(f"`{server}` has no `{reference}`: it answers {answer} (code {error.code})")
        case client.exceptions.OpenMLHashException():
            return DataError(f"the download of `{reference}` from `{server}` does not match its checksum", TRY_LATER)
        case RequestException():
            incomplete = " completely" if known else ""
            return DataError(
                f"`{reference}` is not{incomplete} in the cache, and `{server}` cannot be reached", TRY_LATER
            )
        case OSError():
            return DataError(f"`{reference}` cannot be saved: {(error.strerror or 'the disk fails').lower()}")
        case _:
            return DataError(f"the answer of `{server}` for `{reference}` cannot be understood", TRY_LATER)


def is_permanent_error(error: Exception, client: Any) -> bool:
    """Return True if downloading again at once would fail, too.

    That is so if the server is unreachable or refuses, or if the disk fails, but not for a damaged file.
    """
    return isinstance(error, OSError | client.exceptions.OpenMLServerException | client.exceptions.PyOpenMLError)


def _client() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations in its own imports
            import openml
    except ImportError:
        raise DataError("data of OpenML needs the package `openml`", "install it with `pip install openml`") from None
    except Exception as error:  # noqa: BLE001 - it reads its configuration, with the API key, and creates folders
        help_text = "check its configuration file, and that its cache (`OPENML_CACHE_DIR`) is writable"
        raise DataError(f"the OpenML client cannot start: {type(error).__name__}", help_text) from None
    return openml


@contextmanager
def _silenced() -> Iterator[None]:
    """Disable Parquet downloads, and suppress the messages that the client logs to the root logger, and warnings."""
    silent, root = logging.NullHandler(), logging.getLogger()
    before = os.environ.get(SKIP_PARQUET)
    root.addHandler(silent)
    root.addFilter(_is_not_from_client)
    os.environ[SKIP_PARQUET] = "true"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its deprecations, and files that it leaves open
            yield
    finally:
        root.removeFilter(_is_not_from_client)
        root.removeHandler(silent)
        if before is None:
            del os.environ[SKIP_PARQUET]
        else:
            os.environ[SKIP_PARQUET] = before


def _is_not_from_client(record: logging.LogRecord) -> bool:
    return record.module != "_api_calls"


@contextmanager
def _temporary_folder(root: Path) -> Iterator[Path]:
    """Yield a temporary folder inside the cache, where moving a file is atomic; elsewhere if the cache is read-only."""
    try:
        folder = tempfile.TemporaryDirectory(dir=root, prefix=".spacelang-", ignore_cleanup_errors=True)
    except OSError:
        folder = tempfile.TemporaryDirectory(prefix="spacelang-", ignore_cleanup_errors=True)
    with folder as name:
        yield Path(name)


def _copy(kept: Path, here: Path) -> None:
    """Copy a cached file for the client; the large data file, which it never changes, is hard-linked if possible."""
    if kept.name == DATA_FILE:
        with suppress(OSError):
            os.link(kept, here)
            return
    shutil.copyfile(kept, here)


def _is_cached(fetched: Path, place: Path) -> bool:
    return place.is_file() and (fetched.name == DATA_FILE or fetched.read_bytes() == place.read_bytes())


def _host(client: Any) -> str:
    from urllib.parse import urlsplit

    return urlsplit(str(client.config.server)).hostname or "the server"


def _quote_answer(message: str, key: str) -> str:
    words = " ".join(message.replace(" - None", "").split())
    return f'"{words.replace(key, "...") if key else words}"'.replace("\x1b", "")[:200]
