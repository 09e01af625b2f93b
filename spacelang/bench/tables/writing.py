"""Write loss tables atomically."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from spacelang.bench.tables import LossTable, StageProduct
from spacelang.files import os_error_text, replace_atomically
from spacelang.runtime.errors import DataError

if TYPE_CHECKING:
    import numpy.typing as npt


def write_table(table: LossTable, path: Path) -> None:
    """Write a table to an `.npz` file and replace any earlier file.

    Raises DataError if it cannot be written. The earlier file is then unchanged.
    """
    try:
        with replace_atomically(path) as new, new.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **_arrays(table))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DataError(f"`{path}` cannot be written: {os_error_text(error)}") from error


def check_writable(path: Path) -> None:
    """Raise DataError if no table can be written to a path, before days of training."""
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
        texts = [json.dumps(each.to_dict(), sort_keys=True) for each in pipelines.configurations]
        found["configurations"] = np.asarray(texts)
    if not np.isnan(table.training_loss).all():
        found["training_loss"] = table.training_loss.reshape(shape)
    if table.bounds:
        found["bounds"] = np.asarray(table.bounds, dtype=np.str_)
        found["measured"] = table.measured.reshape(*shape, len(table.bounds))
    return found
