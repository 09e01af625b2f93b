"""Losses of stored predictions, such as those of several pipelines combined in an ensemble."""

import warnings
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from spacelang.runtime.evaluation.splits import Rows
from spacelang.runtime.scoring.measures import mean
from spacelang.runtime.scoring.metric import Metric
from spacelang.runtime.scoring.pipeline_scorer import HeldOutRows
from spacelang.runtime.scoring.vectorised import vectorised_loss

PredictionLoss: TypeAlias = Callable[[npt.NDArray[np.float64]], float]
"""A function from predictions for the held-out rows to their loss; nan if the loss is undefined."""

BatchPredictionLoss: TypeAlias = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
"""A function from m such predictions in one array to m losses, which may differ from the exact ones by rounding."""

UNDEFINED: Final = float("nan")


def make_prediction_loss_function(held_out: HeldOutRows, metric: Metric) -> PredictionLoss:
    """Return a function from predictions for the held-out rows to their loss, the mean over the folds.

    The predictions have the form of `Trial.predictions`, and the metric is that of the run. If a pipeline predicts the
    class with its highest probability, this is the loss of its trial.
    """
    folds = _rows_by_fold(held_out)
    targets = [held_out.target[rows] for rows in folds]
    made = StoredProbabilities if held_out.classes else StoredNumbers

    def judged(predictions: npt.NDArray[np.float64]) -> float:
        models = [made(predictions[rows]) for rows in folds]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return mean([metric.loss(model, None, target) for model, target in zip(models, targets, strict=True)])
        except Exception:  # noqa: BLE001 - a metric may raise anything where it is undefined
            return UNDEFINED

    return judged


def make_batch_prediction_loss_function(held_out: HeldOutRows, metric: Metric) -> BatchPredictionLoss:
    """Return a function from many predictions in one array to their losses.

    It is about a hundred times as fast as `make_prediction_loss_function` for the usual metrics.
    """
    many = vectorised_loss(metric.formula, len(held_out.classes))
    if many is None:
        judged = make_prediction_loss_function(held_out, metric)
        return lambda stack: np.array([judged(each) for each in stack])
    folds = _rows_by_fold(held_out)
    return lambda stack: np.mean([many(stack[:, rows], held_out.target[rows]) for rows in folds], axis=0)


def _rows_by_fold(held_out: HeldOutRows) -> list[Rows]:
    """Return the positions of the rows of each fold."""
    return [np.flatnonzero(held_out.folds == number) for number in range(int(held_out.folds[-1]) + 1)]


class StoredProbabilities(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier of the classes 0, 1, … with stored predictions: `answers` are n x classes probabilities."""

    def __init__(self, answers: Any) -> None:
        self.answers = answers
        self.classes_ = np.arange(answers.shape[1])

    def predict_proba(self, _features: Any) -> Any:
        """Return the stored probabilities."""
        return self.answers

    def predict(self, _features: Any) -> Any:
        """Return the most probable classes; of equally probable ones, the first."""
        return self.answers.argmax(axis=1)


class StoredNumbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted regressor with stored predictions: `answers` are n numbers."""

    def __init__(self, answers: Any) -> None:
        self.answers = answers

    def predict(self, _features: Any) -> Any:
        """Return the stored numbers."""
        return self.answers
