"""Write loss tables, and read them from untrusted files: nothing is unpickled, and any flaw is a DataError."""

import ast
import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from math import isfinite
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spacelang.bench.tables import FAILED_LOSS, ConfigurationList, LossTable, StageProduct, TableMetadata
from spacelang.files import os_error_text, replace_atomically
from spacelang.ir.configuration import Configuration
from spacelang.ir.data_binding import minimum_data_size
from spacelang.ir.trial import Status
from spacelang.runtime.errors import DataError
from spacelang.spelling_suggestions import format_suggestion

if TYPE_CHECKING:
    import numpy.typing as npt

REQUIRED: Final = ("sizes", "loss", "cost")
OPTIONAL: Final = ("status", "reason", "reasons", "training_loss", "measured", "bounds", "meta")
PIPELINE_ARRAYS: Final = ("axes", "stages", "configurations")
MAX_BYTES: Final = 2**31  # The largest size of all arrays of a table together, in bytes
UNKNOWN_REASON: Final = "the trial failed when the table was made"
"""The reason of a failed trial whose reason the table does not record."""
KINDS: Final = {"f": "numbers", "i": "whole numbers", "U": "texts"}
REMAKE_HELP: Final = "get the file again, or make the table again with `spacelang tabulate`"


def read_table(path: Path) -> LossTable:
    """Read a table from an `.npz` file; raises DataError for anything missing, damaged, pickled or impossible."""
    name = path.name
    found = _Arrays(name, _read(path))
    sizes = _sizes(found)
    pipelines = _pipelines(found)
    shape, rows = (*pipelines.shape, len(sizes)), (len(pipelines), len(sizes))
    loss = found.checked_array("loss", "f", shape).reshape(rows)
    cost = found.checked_array("cost", "f", shape).reshape(rows)
    found.check(
        bool(np.isfinite(loss).all()), "`loss` has values that are not finite", "write 1 as the loss of failed trials"
    )
    is_valid = bool((np.isfinite(cost) & (cost >= 0)).all())
    found.check(is_valid, "`cost` has values that are negative or not finite", "write costs in seconds, at least 0")
    status = _status(found, loss, shape).reshape(rows)
    reasons, reason = _reasons(found, shape)
    training = found.checked_array("training_loss", "f", shape) if "training_loss" in found else np.full(shape, np.nan)
    found.check(not np.isinf(training).any(), "`training_loss` has infinite values")
    bounds, measured = _measured(found, shape)
    return LossTable(
        name=name,
        pipelines=pipelines,
        sizes=sizes,
        loss=loss,
        cost=cost,
        status=status,
        reasons=reasons,
        reason=reason.reshape(rows),
        training_loss=training.reshape(rows),
        bounds=bounds,
        measured=measured.reshape(*rows, len(bounds)),
        metadata=_read_metadata(found),
        fingerprint=found.fingerprint(),
    )


class _Arrays(dict[str, "npt.NDArray[Any]"]):
    """The arrays of a file by name, with checks."""

    def __init__(self, name: str, arrays: Mapping[str, "npt.NDArray[Any]"]) -> None:
        super().__init__(arrays)
        self._name = name
        missing = [f"`{each}`" for each in REQUIRED if each not in arrays]
        self.check(not missing, f"it has no array {', '.join(missing)}")
        forms = [name for name in ("axes", "configurations") if name in arrays]
        self.check(bool(forms), "it has neither `axes` nor `configurations`, one of which must list the pipelines")
        remedy = "leave out one of the two arrays; the other lists the pipelines"
        self.check(len(forms) == 1, "it has both `axes` and `configurations`", remedy)

    def check(self, holds: bool, message: str, help: str = REMAKE_HELP) -> None:  # noqa: A002
        if not holds:
            raise DataError(f"`{self._name}` is not a loss table: {message}", help)

    def checked_array(self, name: str, kind: str, shape: tuple[int, ...]) -> "npt.NDArray[Any]":
        """Return an array after checking its shape and its kind: floats (f), integers (i) or texts (U)."""
        array = self[name]
        held = "i" if array.dtype.kind == "u" else array.dtype.kind
        self.check(held == kind or (kind == "f" and held == "i"), f"`{name}` does not contain {KINDS[kind]}")
        fits = f"`{name}` has the shape {_format_shape(array.shape)} instead of {_format_shape(shape)}"
        self.check(array.shape == shape, fits)
        return array.astype({"f": np.float64, "i": np.int64}.get(kind, array.dtype), copy=False)

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(self.checked_array(name, "U", (self[name].size,)).tolist())

    def fingerprint(self) -> str:
        """Return a hash of all arrays except `meta`."""
        total = hashlib.sha256()
        for name in sorted(self.keys() - {"meta"}):
            array = self[name]
            held = json.dumps([name, array.dtype.kind, array.shape])
            if array.dtype.kind == "U":
                content = json.dumps(array.tolist()).encode()
            else:
                content = np.ascontiguousarray(array, dtype="<f8" if array.dtype.kind == "f" else "<i8").tobytes()
            total.update(hashlib.sha256(held.encode()).digest() + hashlib.sha256(content).digest())
        return total.hexdigest()


def _format_shape(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "() (a single value)"


def _read(path: Path) -> dict[str, "npt.NDArray[Any]"]:
    """Return those arrays of an `.npz` file whose names a table can have; raises DataError for an unreadable file."""
    _check_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(each.file_size for each in archive.infolist())
            if size > MAX_BYTES:
                help_text = f"tables of at most {MAX_BYTES / 1e9:,.1f} GB can be read"
                raise DataError(f"the arrays of the table `{path}` are too large: {size / 1e9:,.1f} GB", help_text)
            # Test the whole file: an array with a damaged name would look as if it were missing.
            is_whole = archive.testzip() is None
        with np.load(path, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in (*REQUIRED, *OPTIONAL, *PIPELINE_ARRAYS) if name in arrays}
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DataError(f"`{path}` is damaged: it may be truncated", REMAKE_HELP) from error
    except OSError as error:
        raise DataError(f"`{path}` cannot be read: {os_error_text(error)}") from error
    except (ValueError, TypeError, KeyError, SyntaxError, NotImplementedError, RuntimeError, MemoryError) as error:
        pickled = "allow_pickle" in str(error)
        problem = "it contains pickled objects, which are never loaded" if pickled else "its arrays cannot be read"
        raise DataError(f"`{path}` is not a loss table: {problem}", REMAKE_HELP) from error
    if not is_whole:
        raise DataError(f"`{path}` is damaged", REMAKE_HELP)
    return found


def _check_file(path: Path) -> None:
    try:
        if path.is_dir():
            raise DataError(f"`{path}` is a folder", "give the path of a table in it")
        if not path.exists():
            near = format_suggestion(path.name, (other.name for other in path.parent.glob("*.npz")))
            raise DataError(f"the file `{path}` does not exist", near)
        if not path.is_file():
            raise DataError(f"`{path}` is not a regular file", "give the path of a loss table")
        with path.open("rb") as file:
            begins = file.read(4)
    except OSError as error:
        raise DataError(f"`{path}` cannot be read: {os_error_text(error)}") from error
    if not begins:
        raise DataError(f"`{path}` is empty", REMAKE_HELP)
    if begins != b"PK\x03\x04":
        raise DataError(f"`{path}` is not an `.npz` file", "`spacelang tabulate` writes loss tables")


def _sizes(found: _Arrays) -> tuple[int, ...]:
    sizes = found.checked_array("sizes", "i", (found["sizes"].size,))
    increases = bool(len(sizes)) and bool(sizes[0] >= 1) and bool((np.diff(sizes) > 0).all())
    found.check(increases, "`sizes` must be positive numbers of training rows that increase from rung to rung")
    return tuple(sizes.tolist())


def _pipelines(found: _Arrays) -> StageProduct | ConfigurationList:
    if "axes" in found:
        alternatives = tuple(_names(text) for text in found.texts("axes"))
        for names in alternatives:
            good = bool(names) and len(set(names)) == len(names)
            found.check(good, "an entry of `axes` is not a list of different names, written as text")
        found.check(bool(alternatives), "`axes` is empty")
        stages = found.texts("stages") if "stages" in found else ()
        named = not stages or len(set(stages)) == len(alternatives) == len(stages)
        found.check(named, f"`stages` does not name each of the {len(alternatives)} dimensions of `axes` once")
        return StageProduct(alternatives, stages)
    texts = found.texts("configurations")
    found.check(bool(texts), "`configurations` is empty")
    configurations: list[Configuration] = []
    for place, text in enumerate(texts):
        try:
            configurations.append(Configuration.from_json(text))
        except (ValueError, TypeError, RecursionError):
            found.check(False, f"entry {place} of `configurations` is not the JSON of a configuration")
    repeated = len(configurations) - len({each.identity for each in configurations})
    found.check(not repeated, f"`configurations` has {repeated} duplicates")
    return ConfigurationList(tuple(configurations))


def _names(text: str) -> tuple[str, ...]:
    """Parse a text such as `["a", "b"]` as a tuple of strings; empty for any other text."""
    try:
        names = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ()
    is_valid = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return tuple(names) if is_valid else ()


def _status(found: _Arrays, loss: "npt.NDArray[np.float64]", shape: tuple[int, ...]) -> "npt.NDArray[np.str_]":
    if "status" not in found:
        return np.where(loss == FAILED_LOSS, Status.ERROR.value, Status.SUCCESS.value)
    status = found.checked_array("status", "U", shape)
    unknown = set(np.unique(status).tolist()) - {each.value for each in Status}
    found.check(not unknown, f"`status` has unknown values: {', '.join(f'`{each}`' for each in sorted(unknown))}")
    return status


def _reasons(found: _Arrays, shape: tuple[int, ...]) -> tuple[tuple[str, ...], "npt.NDArray[np.int64]"]:
    if "reason" not in found or "reasons" not in found:
        return (UNKNOWN_REASON,), np.zeros(shape, dtype=np.int64)
    reasons, reason = found.texts("reasons"), found.checked_array("reason", "i", shape)
    placed = bool(((reason >= 0) & (reason < len(reasons))).all())
    found.check(placed, "`reason` has values that are no index into `reasons`")
    return reasons, reason


def _measured(found: _Arrays, shape: tuple[int, ...]) -> tuple[tuple[str, ...], "npt.NDArray[np.float64]"]:
    if "bounds" not in found or "measured" not in found:
        return (), np.zeros((*shape, 0))
    bounds = found.texts("bounds")
    found.check(len(set(bounds)) == len(bounds), "`bounds` has duplicates")
    return bounds, found.checked_array("measured", "f", (*shape, len(bounds)))


def _read_metadata(found: _Arrays) -> TableMetadata:
    if "meta" not in found:
        return TableMetadata()
    try:
        entries = json.loads(str(found.checked_array("meta", "U", ())[()]))
        return TableMetadata(**dict(_known_metadata(entries)))
    except (ValueError, TypeError, RecursionError):
        found.check(False, "`meta` is invalid")
        raise


def _known_metadata(entries: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each entry that is a field of `TableMetadata`.

    Raises TypeError for an invalid value.
    """
    if not isinstance(entries, dict):
        raise TypeError("not an object")
    for entry in fields(TableMetadata):
        if entry.name not in entries:
            continue
        value = entries[entry.name]
        match entry.name:
            case "seed":
                good = value is None or type(value) is int
            case "constant":
                good = value is None or (type(value) in (int, float) and isfinite(value))
            case "symbols":
                good = isinstance(value, dict) and all(
                    type(each) is int and each >= minimum_data_size(name) for name, each in value.items()
                )
            case "versions":
                good = isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
            case _:
                good = isinstance(value, str)
        if not good:
            raise TypeError(entry.name)
        yield entry.name, value


def write_table(table: LossTable, path: Path) -> None:
    """Write a table to an `.npz` file and replace an existing one; on failure, keep that one and raise DataError."""
    try:
        with replace_atomically(path) as new, new.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **_arrays(table))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DataError(f"`{path}` cannot be written: {os_error_text(error)}") from error


def check_writable(path: Path) -> None:
    """Raise DataError unless a table can be written to the path; called before the training, not after it."""
    if path.suffix != ".npz":
        raise DataError(f"`{path}` is not an `.npz` file", f"write to `{path.with_suffix('.npz')}`")
    if path.is_dir():
        raise DataError(f"`{path}` is a folder", "give the path of a file")
    try:
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise DataError(f"`{path}` cannot be written: {os_error_text(error)}") from error


def _arrays(table: LossTable) -> dict[str, "npt.NDArray[Any]"]:
    pipelines = table.pipelines
    shape = (*pipelines.shape, len(table.sizes))
    found: dict[str, npt.NDArray[Any]] = {
        "sizes": np.asarray(table.sizes, dtype=np.int64),
        "loss": table.loss.reshape(shape),
        "cost": table.cost.reshape(shape),
        "status": table.status.reshape(shape),
        "reasons": np.asarray(table.reasons, dtype=np.str_),
        "reason": table.reason.reshape(shape),
        "meta": np.asarray(json.dumps(asdict(table.metadata), sort_keys=True)),
    }
    if isinstance(pipelines, StageProduct):
        found["axes"] = np.asarray([json.dumps(list(names)) for names in pipelines.alternatives])
        found["stages"] = np.asarray(pipelines.stages, dtype=np.str_)
    else:
        listed = pipelines.configurations
        found["configurations"] = np.asarray([json.dumps(each.to_dict(), sort_keys=True) for each in listed])
    if not np.isnan(table.training_loss).all():
        found["training_loss"] = table.training_loss.reshape(shape)
    if table.bounds:
        found["bounds"] = np.asarray(table.bounds, dtype=np.str_)
        found["measured"] = table.measured.reshape(*shape, len(table.bounds))
    return found
