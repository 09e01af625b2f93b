"""The loss of predictions that are there already: of several pipelines together, which were never fitted as one."""

import warnings
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from spacelang.runtime.evaluation.split import Rows
from spacelang.runtime.judging.judge import HeldOut
from spacelang.runtime.judging.measures import mean
from spacelang.runtime.judging.metric import Metric
from spacelang.runtime.judging.vectorised import vectorised

Judged: TypeAlias = Callable[[npt.NDArray[np.float64]], float]
"""Of predictions for the held-out rows, the loss; nan where it is undefined."""

Compared: TypeAlias = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
"""Of m such predictions in one array, the m losses, to be compared: they may be rounded otherwise."""

UNDEFINED: Final = float("nan")


def loss_on(held_out: HeldOut, metric: Metric) -> Judged:
    """The loss of predictions, as `Trial` has them, by the metric of a run: as that of trials, a mean over the folds.

    Of a pipeline that predicts the class to which it gives the highest probability it is the loss of its trial.
    """
    folds = _folds(held_out)
    targets = [held_out.target[rows] for rows in folds]
    made = Probabilities if held_out.classes else Numbers

    def judged(predictions: npt.NDArray[np.float64]) -> float:
        models = [made(predictions[rows]) for rows in folds]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return mean([metric.loss(model, None, target) for model, target in zip(models, targets, strict=True)])
        except Exception:  # noqa: BLE001 - a metric may raise anything where it is undefined
            return UNDEFINED

    return judged


def losses_on(held_out: HeldOut, metric: Metric) -> Compared:
    """The same for many predictions at once, which takes a hundredth of the time where the metric is a usual one."""
    many = vectorised(metric.formula, len(held_out.classes))
    if many is None:
        judged = loss_on(held_out, metric)
        return lambda stack: np.array([judged(each) for each in stack])
    folds = _folds(held_out)
    return lambda stack: np.mean([many(stack[:, rows], held_out.target[rows]) for rows in folds], axis=0)


def _folds(held_out: HeldOut) -> list[Rows]:
    """The places of the rows of each fold."""
    return [np.flatnonzero(held_out.folds == number) for number in range(int(held_out.folds[-1]) + 1)]


class Probabilities(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """To a scorer a fitted classifier of the classes 0, 1, … that has its answers already: n x classes."""

    def __init__(self, answers: Any) -> None:
        self.answers = answers
        self.classes_ = np.arange(answers.shape[1])

    def predict_proba(self, _features: Any) -> Any:
        """The probabilities."""
        return self.answers

    def predict(self, _features: Any) -> Any:
        """The most probable classes, the first of equally probable ones."""
        return self.answers.argmax(axis=1)


class Numbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """To a scorer a fitted regressor that has its n answers already."""

    def __init__(self, answers: Any) -> None:
        self.answers = answers

    def predict(self, _features: Any) -> Any:
        """The numbers."""
        return self.answers
