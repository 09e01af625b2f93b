"""The binary format of predictions in a store; they have a table of their own, so that trials stay small."""

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from spacelang.runtime.storage.records import DIGEST_BYTES, Row

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_BYTES: Final = 10**9 - 10**4
"""The maximum size of predictions, in bytes: SQLite's longest row, minus the other columns."""


@dataclass(frozen=True, slots=True)
class PackedPredictions:
    """Predictions as bytes, with their shape as JSON and their digest."""

    shape: str
    numbers: bytes
    digest: bytes


def pack(predictions: Any) -> PackedPredictions:
    """Serialize an array of floats. Raises ValueError for more than `MAX_BYTES` bytes and for other values."""
    from numpy import ascontiguousarray

    numbers = ascontiguousarray(predictions, "<f8")
    if numbers.nbytes > MAX_BYTES:
        raise ValueError(
            f"the predictions of a trial are {numbers.nbytes} bytes, more than the {MAX_BYTES} that fit into a row"
        )
    # The shape of the given array: `ascontiguousarray` adds a dimension to a single number.
    shape, content = json.dumps(list(getattr(predictions, "shape", numbers.shape))), numbers.tobytes()
    return PackedPredictions(shape, content, _digest(shape, content))


def unpack(row: Row) -> "npt.NDArray[np.float64]":
    """Return the array from the columns digest, shape and numbers. Raises ValueError if the digest differs."""
    from numpy import float64, frombuffer

    digest, shape, numbers = row
    if _digest(shape, numbers) != digest:
        raise ValueError("the numbers do not match their checksum")
    return frombuffer(numbers, "<f8").reshape(json.loads(shape)).astype(float64)


def _digest(shape: str, numbers: bytes) -> bytes:
    found = blake2b(shape.encode() + b"\n", digest_size=DIGEST_BYTES)
    found.update(numbers)
    return found.digest()
