"""Predictions as a store keeps them: in a table of their own, so that trials stay small."""

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from spacelang.runtime.storing.stored import DIGEST, Row

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LARGEST: Final = 10**9 - 10**4
"""The bytes of the longest row that SQLite keeps, less what else is in it."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Predictions as bytes, with their digest."""

    shape: str
    numbers: bytes
    digest: bytes


def pack(predictions: Any) -> Packed:
    """An array of floats as it is stored; raises ValueError for more than `LARGEST` bytes and for what is none."""
    from numpy import ascontiguousarray

    numbers = ascontiguousarray(predictions, "<f8")
    if numbers.nbytes > LARGEST:
        raise ValueError(f"the predictions of a trial are {numbers.nbytes} bytes, more than the {LARGEST} of a row")
    # Of the array that was given: a single number would have got a dimension.
    shape, content = json.dumps(list(getattr(predictions, "shape", numbers.shape))), numbers.tobytes()
    return Packed(shape, content, _digest(shape, content))


def unpack(row: Row) -> "npt.NDArray[np.float64]":
    """The array of a row without the number of its trial; raises ValueError for one that is not what was written."""
    from numpy import float64, frombuffer

    digest, shape, numbers = row
    if _digest(shape, numbers) != digest:
        raise ValueError("they are not what was written")
    return frombuffer(numbers, "<f8").reshape(json.loads(shape)).astype(float64)


def _digest(shape: str, numbers: bytes) -> bytes:
    found = blake2b(shape.encode() + b"\n", digest_size=DIGEST)
    found.update(numbers)
    return found.digest()
