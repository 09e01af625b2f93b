"""Isolate the OpenML client: it works in a temporary folder with copies of the cached files.

So it never reads a pickle from the cache, and it deletes nothing there that it fails to load. Downloads are moved to
the cache once they are known to be intact. Its errors are reported in messages without the API key.
"""

import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from spacelang.files import replace_atomically
from spacelang.runtime.errors import DataError

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


class DamagedFileError(Exception):
    """An error for a cached or downloaded file that is not what it should be."""


@dataclass(slots=True)
class ClientWorkspace:
    """The temporary workspace of the client: `folder` is its cache for now, `cache` the permanent one.

    `copied` are the files that were copied from the permanent cache. With `fresh` none are.
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
        """Move downloaded files to the permanent cache.

        If it cannot be written, they are downloaded again next time.
        """
        for kind, names in CACHED_FILES.items():
            for fetched in (self.folder / kind).glob("*/*"):
                if fetched.name in names and not (
                    fetched in self.copied and _is_cached(fetched, self._cache_path(fetched))
                ):
                    with suppress(OSError):
                        _move(fetched, self._cache_path(fetched))

    def _cache_path(self, file: Path) -> Path:
        return self.cache / file.relative_to(self.folder)


@contextmanager
def client_workspace(*, fresh: bool) -> Iterator[tuple[Any, ClientWorkspace]]:
    """Yield the client's module and its workspace. The client's own log messages and warnings are suppressed."""
    client = _client()
    with _silenced():
        cache = Path(client.config.get_cache_directory())
        root = Path(client.config.get_config_as_dict()["cachedir"])
        with _temporary_folder(root) as folder:
            client.config.set_root_cache_directory(folder)
            try:
                yield client, ClientWorkspace(Path(client.config.get_cache_directory()), cache, fresh)
            finally:
                client.config.set_root_cache_directory(root)


def to_data_error(error: Exception, client: Any, reference: str, *, known: bool) -> DataError:
    """Return the DataError for a failure of the client; `known` is True if something of the reference is cached.

    Only the server's own answers are quoted. Other messages contain addresses with the user's API key.
    """
    from requests.exceptions import RequestException

    server = _host(client)
    match error:
        case client.exceptions.OpenMLPrivateDatasetError() | client.exceptions.OpenMLNotAuthorizedError():
            return DataError(f"`{reference}` is not public on `{server}`", "set your API key for the client")
        case client.exceptions.OpenMLServerException():
            said = _quote_answer(str(error.message), client.config.apikey)
            return DataError(f"`{server}` has no `{reference}`: it answers {said} (code {error.code})")
        case client.exceptions.OpenMLHashException():
            return DataError(f"the download of `{reference}` from `{server}` does not match its checksum", TRY_LATER)
        case RequestException():
            cached = "is incomplete in the cache" if known else "is not in the cache"
            return DataError(f"`{reference}` {cached}, and `{server}` cannot be reached", TRY_LATER)
        case OSError():
            return DataError(f"`{reference}` cannot be saved: {(error.strerror or 'the disk fails').lower()}")
        case _:
            return DataError(f"the answer of `{server}` for `{reference}` cannot be understood", TRY_LATER)


def is_final(error: Exception, client: Any) -> bool:
    """Return True if downloading again would fail, too: the server is unreachable or refuses, or the disk fails."""
    return isinstance(error, OSError | client.exceptions.OpenMLServerException | client.exceptions.PyOpenMLError)


def _client() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations in its own imports
            import openml
    except ImportError:
        raise DataError("data of OpenML needs the package `openml`", "install it with `pip install openml`") from None
    except Exception as error:  # noqa: BLE001 - it reads its configuration, with the API key, and creates folders
        raise DataError(
            f"the OpenML client cannot start: {type(error).__name__}",
            "check its configuration file, and that its cache (`OPENML_CACHE_DIR`) is writable",
        ) from None
    return openml


@contextmanager
def _silenced() -> Iterator[None]:
    """Disable Parquet downloads and suppress the client's log messages and warnings.

    The client logs to the root logger, and would configure it for the whole process.
    """
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
    """Copy a cached file for the client.

    The data file is hard-linked if possible, as it can be large. The client may change descriptions, but never data.
    """
    if kept.name == DATA_FILE:
        with suppress(OSError):
            os.link(kept, here)
            return
    shutil.copyfile(kept, here)


def _is_cached(fetched: Path, place: Path) -> bool:
    if not place.is_file():
        return False
    return fetched.name == DATA_FILE or fetched.read_bytes() == place.read_bytes()


def _move(fetched: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with replace_atomically(place) as near:
        shutil.move(fetched, near)


def _host(client: Any) -> str:
    from urllib.parse import urlsplit

    return urlsplit(str(client.config.server)).hostname or "the server"


def _quote_answer(message: str, key: str) -> str:
    """Return the server's answer as one short line without the API key."""
    words = " ".join(message.replace(" - None", "").split())
    return f'"{words.replace(key, "...") if key else words}"'.replace("\x1b", "")[:200]
