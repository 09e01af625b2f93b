"""Sample weights: their check, and the text by which a resumed run recognizes them."""

import hashlib
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from spacelang.runtime.errors import DataError
from spacelang.runtime.storage.header import SHOWN_DIGITS

Weights: TypeAlias = npt.NDArray[np.float64]


def check_weights(given: Any, rows: int) -> Weights:
    """Return the weights of n rows as numbers; raise DataError unless they are finite, at least 0 and not all 0."""
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("the sample weights are not numbers", "give one number for each row") from error
    if weights.shape != (rows,):
        what = f"the sample weights have the shape {weights.shape}, but there are {rows} rows"
        raise DataError(what, "give one number for each row")
    if not np.isfinite(weights).all() or weights.min(initial=0.0) < 0:
        raise DataError("a sample weight is negative or not finite", "give numbers that are at least 0")
    if not weights.any():
        raise DataError("all sample weights are 0", "give at least some rows a weight above 0")
    return weights


def describe_weights(weights: Weights) -> str:
    """Return a text that is equal for equal weights, by which a run is resumed."""
    return f"{len(weights)} weights, content {hashlib.sha256(weights.tobytes()).hexdigest()[:SHOWN_DIGITS]}"
