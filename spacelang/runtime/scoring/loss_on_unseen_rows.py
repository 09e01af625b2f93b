"""The loss of a fitted pipeline on test rows, with a bootstrap confidence interval."""

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from spacelang.ir.trial import TestScore
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.evaluation.splits import Rows
from spacelang.runtime.failures import describe_exception
from spacelang.runtime.scoring.cached_predictions import CachedPredictions
from spacelang.runtime.scoring.metric import Metric
from spacelang.runtime.scoring.vectorised import vectorised_loss

MAX_RESAMPLES: Final = 1_000
"""The largest number of bootstrap resamples of the test rows."""

MIN_RESAMPLES: Final = 200
"""The smallest number of resamples, if there are many rows."""

MAX_RESAMPLED_ROWS: Final = 10_000_000
"""The number of rows over all resamples; it limits the resamples, of which there are at least `MIN_RESAMPLES`."""

PERCENTILES: Final = (2.5, 97.5)
"""The percentiles of the resampled losses that are the ends of a 95 % interval."""

MAX_UNDEFINED_SHARE: Final = 0.1
"""The largest share of resamples without a loss for which an interval is given."""

SEED_STREAM: Final = 12_074
"""Combined with the seed, so that resamples are drawn independently of everything else."""


def score_with_interval(
    pipeline: Any, features: Any, tested: Dataset, metric: Metric, seed: int, *, has_interval: bool = True
) -> TestScore:
    """Return the loss of a fitted pipeline on the test rows, with a 95 % percentile bootstrap interval.

    `features` are the features of the test rows in the form that the pipeline takes; the pipeline predicts labels as
    the user wrote them. It predicts once. Resamples are drawn with replacement from all of its predictions, without
    stratification, so that the shares of classes may vary, too. Resamples without a defined loss are ignored. If the
    pipeline raises, the score has a reason instead of a loss; this function does not raise.
    """
    target, rows = tested.target.to_numpy(), len(tested.target)
    answers = CachedPredictions(_CodePredictor(pipeline, tested.classes) if tested.classes else pipeline, features)
    try:
        loss = metric.loss(answers, features, target)
    except Exception as error:  # noqa: BLE001 - a user's pipeline may raise anything on unseen rows
        return TestScore(None, None, None, rows, describe_exception(error))
    if not math.isfinite(loss):
        return TestScore(None, None, None, rows, f"the {metric.name} is {loss}")
    if not has_interval:
        return TestScore(loss, None, None, rows)
    low, high, reason = percentile_interval(
        resampled_losses(answers, target, metric, seed, len(tested.classes)), metric.name
    )
    return TestScore(loss, low, high, rows, reason)


def resampled_losses(answers: CachedPredictions, target: Any, metric: Metric, seed: int, classes: int) -> Any:
    """Return the losses on bootstrap resamples of the rows, one per resample; nan if the loss is undefined.

    The loss on all rows must have been computed from `answers` before. `classes` is the number of classes, 0 for
    regression.
    """
    judged = _loss_of_rows(answers, target, metric, classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array([judged(rows) for rows in bootstrap_rows(len(target), seed)])


def bootstrap_rows(count: int, seed: int, most: int | None = None) -> Iterator[Rows]:
    """Yield arrays of row positions: bootstrap resamples of `count` rows, at most `most`, determined by the seed."""
    rng = np.random.default_rng([seed, SEED_STREAM])
    times = min(MAX_RESAMPLES, max(MIN_RESAMPLES, MAX_RESAMPLED_ROWS // count))
    for _ in range(times if most is None else min(times, most)):
        yield rng.integers(0, count, count)


def percentile_interval(
    values: Any, name: str, *, may_be_fixed: bool = False
) -> tuple[float | None, float | None, str]:
    """Return the ends of the percentile interval of resampled values, and a reason if there is none.

    There is no interval if too many values are undefined. There is none either if all values are equal. For instance,
    rows that were all predicted correctly give only resamples without an error, though other rows could have errors.
    `may_be_fixed` allows equal values, for quantities that do not depend on the rows, such as the size of a pipeline.
    """
    defined = values[np.isfinite(values)]
    if len(defined) < (1 - MAX_UNDEFINED_SHARE) * len(values):
        lacking = f"{len(values) - len(defined):,} of {len(values):,} resamples"
        return None, None, f"no interval: the {name} is undefined in {lacking}"
    if not may_be_fixed and np.ptp(defined) == 0:
        return None, None, f"no interval: the {name} is the same in all resamples"
    low, high = np.percentile(defined, PERCENTILES)
    return float(low), float(high), ""


def _loss_of_rows(answers: CachedPredictions, target: Any, metric: Metric, classes: int) -> Callable[[Rows], float]:
    """Return a function from row positions to the loss on these rows.

    For usual metrics it computes the formula directly, which is about twenty times as fast as the scorer.
    """
    many, table = vectorised_loss(metric.formula, classes), _prediction_table(answers, len(target), classes)
    if many is None or table is None:
        return lambda rows: _loss_or_nan(answers, target, metric, rows)
    return lambda rows: float(many(table[np.newaxis, rows], target[rows])[0])


def _prediction_table(answers: CachedPredictions, rows: int, classes: int) -> Any:
    """Return the predictions that the metric used as an input of the vectorized losses, or None if they do not fit."""
    match answers.only_cached_prediction():
        case ["predict", said] if said.shape == (rows,):
            return np.eye(classes)[said] if classes else said
        case ["predict_proba", said] if said.shape == (rows, classes):
            return said
        case ["decision_function", said] if said.shape == (rows,):
            return np.column_stack([-said, said])
    return None


def _loss_or_nan(answers: CachedPredictions, target: Any, metric: Metric, rows: Any) -> float:
    try:
        return metric.loss(answers.subset(rows), None, target[rows])
    except Exception:  # noqa: BLE001 - the predictions exist: only the metric can fail on these rows
        return math.nan


class _CodePredictor:
    """A wrapper of a fitted classifier that predicts class codes 0, 1, … instead of labels."""

    def __init__(self, pipeline: Any, classes: tuple[Any, ...]) -> None:
        self._pipeline = pipeline
        self._codes = {label: code for code, label in enumerate(classes)}

    @property
    def classes_(self) -> Any:
        return self._encode(self._pipeline.classes_)

    def predict(self, features: Any) -> Any:
        return self._encode(self._pipeline.predict(features))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pipeline, name)

    def _encode(self, labels: Any) -> Any:
        return np.array([self._codes[label] for label in np.asarray(labels).tolist()], dtype=np.int64)
