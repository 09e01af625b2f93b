"""Distances between data sets by their meta-features (auto-sklearn's warm start; MOSAIC, section 3)."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from spacelang.runtime.archives import Norm

MetaFeatures: TypeAlias = Mapping[str, float]

Floats: TypeAlias = npt.NDArray[np.float64]


def distances(target: MetaFeatures, others: Sequence[MetaFeatures], norm: Norm = Norm.L1) -> Floats:
    """Return the n distances of the other data sets from the target; each is 0 or more, possibly infinite.

    Only meta-features that are finite in the target and known for at least one other data set are used. A value that
    another data set lacks is replaced by the mean of the rest. Each meta-feature is scaled so that the other data sets
    lie in [0, 1]. It is ignored if it is equal for all of them.
    """
    names = sorted(key for key in target if np.isfinite(target[key]))  # so sums do not depend on column order
    known = np.array([[each.get(key, np.nan) for key in names] for each in others], dtype=np.float64)
    known = known.reshape(len(others), len(names))
    known[~np.isfinite(known)] = np.nan
    there = ~np.isnan(known).all(axis=0) if len(others) else np.zeros(len(names), bool)
    known, aim = known[:, there], np.array([target[key] for key in names])[there]
    if not known.size:
        return np.zeros(len(others))
    with np.errstate(all="ignore"):  # an overflow counts as an infinite distance
        known = np.where(np.isnan(known), np.nanmean(known, axis=0), known)
        least, most = known.min(axis=0), known.max(axis=0)
        varied = most > least
        gaps = np.abs(known[:, varied] - aim[varied]) / (most[varied] - least[varied])
        total = gaps.sum(axis=1) if norm is Norm.L1 else np.sqrt((gaps**2).sum(axis=1))
    return np.where(np.isnan(total), np.inf, total)
