"""Limits on the number of training points of a surrogate.

Fitting a Gaussian process is O(n^3), so long histories are subsampled.
"""

from typing import Final

MAX_POINTS: Final = 500
"""The maximum number of points in a model."""

POINTS_WHEN_FITTED: Final = 384
"""The number of points to which a model is fitted if there are more: half the best, half the latest."""

SUBSAMPLING_NOTE: Final = f"Surrogate models use at most {MAX_POINTS} trials: the best ones and the latest ones."
"""The sentence in the summary of a search that had more trials than a model uses."""
