"""Testing: what a fitted pipeline achieves on rows that no trial saw, and how much of that is chance."""

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from spacelang.ir.trial import TestScore
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.evaluation.split import Rows
from spacelang.runtime.failures import described
from spacelang.runtime.judging.answers import Answers
from spacelang.runtime.judging.metric import Metric
from spacelang.runtime.judging.vectorised import vectorised

RESAMPLES: Final = 1_000
"""How often the test rows are drawn again."""

FEWEST: Final = 200
"""How often at least, where there are many rows."""

ROWS_IN_ALL: Final = 10_000_000
"""So many rows are judged in all resamples together, unless that makes them fewer."""

BOUNDS: Final = (2.5, 97.5)
"""The percentiles of the resamples between which the loss is said to lie."""

UNDEFINED: Final = 0.1
"""The share of resamples without a loss from which on the others tell nothing."""

DRAWING: Final = 12_074
"""With this number beside the seed resamples are drawn."""


def score(
    pipeline: Any, features: Any, tested: Dataset, metric: Metric, seed: int, *, has_interval: bool = True
) -> TestScore:
    """The loss of a fitted pipeline on the test rows, with its percentile bootstrap interval unless that is not wanted.

    `features` are those of the test rows as the pipeline takes them; it predicts labels as users wrote them. It is
    asked once: rows are drawn with replacement among what it has answered, all of them alike, so that the interval
    is over other rows that could have been there, be it with other shares of classes. Resamples in which the metric is
    undefined are left out. A pipeline that raises has no loss, and the score says why; nothing is raised.
    """
    target, rows = tested.target.to_numpy(), len(tested.target)
    answers = Answers(_Coded(pipeline, tested.classes) if tested.classes else pipeline, features)
    try:
        loss = metric.loss(answers, features, target)
    except Exception as error:  # noqa: BLE001 - a user's pipeline may raise anything on rows that it has not seen
        return TestScore(None, None, None, rows, described(error))
    if not math.isfinite(loss):
        return TestScore(None, None, None, rows, f"the {metric.name} is {loss}")
    if not has_interval:
        return TestScore(loss, None, None, rows)
    low, high, reason = interval(resampled(answers, target, metric, seed, len(tested.classes)), metric.name)
    return TestScore(loss, low, high, rows, reason)


def resampled(answers: Answers, target: Any, metric: Metric, seed: int, classes: int) -> Any:
    """The losses on rows that are drawn with replacement, one a resample; nan where it is undefined.

    `answers` were asked for the loss on all rows before; there are so many `classes`, or 0 in a regression.
    """
    judged = _judging(answers, target, metric, classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array([judged(rows) for rows in resamples(len(target), seed)])


def resamples(count: int, seed: int, most: int | None = None) -> Iterator[Rows]:
    """The places of `count` rows that are drawn with replacement among as many, again and again, `most` times."""
    rng = np.random.default_rng([seed, DRAWING])
    times = min(RESAMPLES, max(FEWEST, ROWS_IN_ALL // count))
    for _ in range(times if most is None else min(times, most)):
        yield rng.integers(0, count, count)


def interval(values: Any, name: str, *, may_be_fixed: bool = False) -> tuple[float | None, float | None, str]:
    """The ends of the percentile interval of what resamples have, or why there is none.

    Where all of them have the same there is none: among rows without a mistake none is drawn that has one, though other
    rows could. `may_be_fixed` is what depends on no rows, such as the size of a pipeline.
    """
    defined = values[np.isfinite(values)]
    if len(defined) < (1 - UNDEFINED) * len(values):
        lacking = f"{len(values) - len(defined):,} of {len(values):,} resamples"
        return None, None, f"no interval: the {name} is undefined in {lacking}"
    if not may_be_fixed and np.ptp(defined) == 0:
        return None, None, f"no interval: the {name} is the same in all resamples"
    low, high = np.percentile(defined, BOUNDS)
    return float(low), float(high), ""


def _judging(answers: Answers, target: Any, metric: Metric, classes: int) -> Callable[[Rows], float]:
    """The loss on some of the rows: where it is a usual one by its formula, a scorer takes twenty times as long."""
    many, table = vectorised(metric.formula, classes), _table(answers, len(target), classes)
    if many is None or table is None:
        return lambda rows: _loss(answers, target, metric, rows)
    return lambda rows: float(many(table[np.newaxis, rows], target[rows])[0])


def _table(answers: Answers, rows: int, classes: int) -> Any:
    """What a metric was told, as formulas take it; None where they do not."""
    match answers.told():
        case ["predict", said] if said.shape == (rows,):
            return np.eye(classes)[said] if classes else said
        case ["predict_proba", said] if said.shape == (rows, classes):
            return said
        case ["decision_function", said] if said.shape == (rows,):
            return np.column_stack([-said, said])
    return None


def _loss(answers: Answers, target: Any, metric: Metric, rows: Any) -> float:
    try:
        return metric.loss(answers.among(rows), None, target[rows])
    except Exception:  # noqa: BLE001 - the answers are there: it is the metric that has nothing to say of these rows
        return math.nan


class _Coded:
    """A fitted classifier, to a scorer one whose labels are the codes 0, 1, … by which the metric judges trials."""

    def __init__(self, pipeline: Any, classes: tuple[Any, ...]) -> None:
        self._pipeline = pipeline
        self._codes = {label: code for code, label in enumerate(classes)}

    @property
    def classes_(self) -> Any:
        return self._coded(self._pipeline.classes_)

    def predict(self, features: Any) -> Any:
        return self._coded(self._pipeline.predict(features))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pipeline, name)

    def _coded(self, labels: Any) -> Any:
        return np.array([self._codes[label] for label in np.asarray(labels).tolist()], dtype=np.int64)
