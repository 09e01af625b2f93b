"""The client of OpenML, kept apart: it works in a passing folder that holds copies of what is cached.

So it never reads a pickle that lies in the cache, and deletes nothing that it fails to load; what it fetched is kept
once it is known to be sound. Its errors are told in words that hold no key.
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

from spacelang.files import replacing
from spacelang.runtime.errors import DataError

DATASETS: Final = "datasets"
TASKS: Final = "tasks"

DATA: Final = "dataset.arff"
KEPT: Final = {
    DATASETS: ("description.xml", "features.xml", "qualities.xml", DATA),
    TASKS: ("task.xml", "datasplits.arff"),
}
"""The files of the client's cache that are used and kept, by their folders. All of them are text."""

SKIP_PARQUET: Final = "OPENML_SKIP_PARQUET"
"""The variable of the environment that makes the client fetch data in ARFF, for which alone there are checksums."""

LATER: Final = "try again later, or give the data as a file"


class DamagedError(Exception):
    """What is cached, or what was fetched, is not what it should be."""


@dataclass(slots=True)
class Workroom:
    """Where the client works: `folder` is its cache for now, `cache` the one that stays.

    `seeded` are the files that came from there; with `fresh` none do.
    """

    folder: Path
    cache: Path
    fresh: bool
    seeded: set[Path] = field(default_factory=set)

    def seed(self, kind: str, number: int) -> None:
        """Give the client what is cached of a data set or a task, and it does not have already."""
        for name in () if self.fresh else KEPT[kind]:
            kept, here = self.cache / kind / str(number) / name, self.folder / kind / str(number) / name
            if kept.is_file() and not here.exists():
                here.parent.mkdir(parents=True, exist_ok=True)
                _copy(kept, here)
                self.seeded.add(here)

    def keep(self) -> None:
        """Move what was fetched to the cache that stays; where it cannot be written, it is fetched again next time."""
        for kind, names in KEPT.items():
            for fetched in (self.folder / kind).glob("*/*"):
                if fetched.name in names and not (fetched in self.seeded and _is_kept(fetched, self._place(fetched))):
                    with suppress(OSError):
                        _move(fetched, self._place(fetched))

    def _place(self, file: Path) -> Path:
        return self.cache / file.relative_to(self.folder)


@contextmanager
def workroom(*, fresh: bool) -> Iterator[tuple[Any, Workroom]]:
    """The module of the client, and where it works until this ends; nothing that it says of itself is shown."""
    client = _client()
    with _quiet():
        cache = Path(client.config.get_cache_directory())
        root = Path(client.config.get_config_as_dict()["cachedir"])
        with _passing(root) as folder:
            client.config.set_root_cache_directory(folder)
            try:
                yield client, Workroom(Path(client.config.get_cache_directory()), cache, fresh)
            finally:
                client.config.set_root_cache_directory(root)


def told(error: Exception, client: Any, reference: str, *, known: bool) -> DataError:
    """What a failure of the client means to a user; `known` says that something of the reference is cached.

    Only what the server has answered is quoted: other messages hold addresses, and these the user's key.
    """
    from requests.exceptions import RequestException

    server = _host(client)
    match error:
        case client.exceptions.OpenMLPrivateDatasetError() | client.exceptions.OpenMLNotAuthorizedError():
            return DataError(f"`{server}` does not give `{reference}` to everybody", "set your API key for the client")
        case client.exceptions.OpenMLServerException():
            said = _said(str(error.message), client.config.apikey)
            return DataError(f"`{server}` has no `{reference}`: it answers {said} (code {error.code})")
        case client.exceptions.OpenMLHashException():
            return DataError(f"what `{server}` sends for `{reference}` does not match its checksum", LATER)
        case RequestException():
            cached = "is not whole in the cache" if known else "is not in the cache"
            return DataError(f"`{reference}` {cached}, and `{server}` cannot be reached", LATER)
        case OSError():
            return DataError(f"`{reference}` cannot be kept: {(error.strerror or 'the disk fails').lower()}")
        case _:
            return DataError(f"what `{server}` answers for `{reference}` cannot be understood", LATER)


def is_final(error: Exception, client: Any) -> bool:
    """Whether fetching everything anew would fail as well: the server cannot be reached, refuses, or the disk fails."""
    return isinstance(error, OSError | client.exceptions.OpenMLServerException | client.exceptions.PyOpenMLError)


def _client() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what its own imports deprecate
            import openml
    except ImportError:
        raise DataError("data of OpenML needs its client", "install it with `pip install openml`") from None
    except Exception as error:  # noqa: BLE001 - it reads its configuration and makes folders; the key is in there
        raise DataError(
            f"the client of OpenML cannot start: {type(error).__name__}",
            "look at its configuration file, and whether its cache (`OPENML_CACHE_DIR`) can be written",
        ) from None
    return openml


@contextmanager
def _quiet() -> Iterator[None]:
    """No parquet, and nothing on the terminal: the client logs to the root logger, and would set that up for all."""
    silent, root = logging.NullHandler(), logging.getLogger()
    before = os.environ.get(SKIP_PARQUET)
    root.addHandler(silent)
    root.addFilter(_is_of_others)
    os.environ[SKIP_PARQUET] = "true"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it will drop, and files that it leaves open
            yield
    finally:
        root.removeFilter(_is_of_others)
        root.removeHandler(silent)
        if before is None:
            del os.environ[SKIP_PARQUET]
        else:
            os.environ[SKIP_PARQUET] = before


def _is_of_others(record: logging.LogRecord) -> bool:
    return record.module != "_api_calls"


@contextmanager
def _passing(root: Path) -> Iterator[Path]:
    """A folder for now: within the cache, where moving a file is a single step; elsewhere if that cannot be written."""
    try:
        folder = tempfile.TemporaryDirectory(dir=root, prefix=".spacelang-", ignore_cleanup_errors=True)
    except OSError:
        folder = tempfile.TemporaryDirectory(prefix="spacelang-", ignore_cleanup_errors=True)
    with folder as name:
        yield Path(name)


def _copy(kept: Path, here: Path) -> None:
    """A copy for the client, who may write into descriptions, never into data: these may be large."""
    if kept.name == DATA:
        with suppress(OSError):
            os.link(kept, here)
            return
    shutil.copyfile(kept, here)


def _is_kept(fetched: Path, place: Path) -> bool:
    if not place.is_file():
        return False
    return fetched.name == DATA or fetched.read_bytes() == place.read_bytes()


def _move(fetched: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with replacing(place) as near:
        shutil.move(fetched, near)


def _host(client: Any) -> str:
    from urllib.parse import urlsplit

    return urlsplit(str(client.config.server)).hostname or "the server"


def _said(message: str, key: str) -> str:
    """The server's own words, as one short line without the key."""
    words = " ".join(message.replace(" - None", "").split())
    return f'"{words.replace(key, "...") if key else words}"'.replace("\x1b", "")[:200]
