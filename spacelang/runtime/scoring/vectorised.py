"""Vectorized losses: the usual metrics for many predictions at once.

Each function takes either m x n x classes probabilities and n class codes, or m x n numbers and n targets. It returns m
losses, equal to scikit-learn's up to rounding. Ensemble selection among 32 models computes a thousand losses per fold,
and scikit-learn's scorers spend most of their time on checking their input.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

BatchLoss: TypeAlias = Callable[[npt.NDArray[np.float64], npt.NDArray[Any]], npt.NDArray[np.float64]]


def auroc_loss(probabilities: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return 1 - AUROC for two classes, computed by ranks; nan if only one class is present."""
    from scipy.stats import rankdata

    is_second = target == 1
    second = int(is_second.sum())
    pairs = second * (len(target) - second)
    if not pairs:
        return np.full(len(probabilities), np.nan)
    ranks = rankdata(probabilities[:, :, 1], axis=1)[:, is_second].sum(axis=1)
    return np.asarray(1 - (ranks - second * (second + 1) / 2) / pairs)


def accuracy_loss(probabilities: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the share of rows whose most probable class is wrong."""
    return np.asarray(np.mean(probabilities.argmax(axis=2) != target, axis=1))


def balanced_accuracy_loss(probabilities: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return 1 - balanced accuracy: the mean error rate of the classes that are present."""
    wrong = probabilities.argmax(axis=2) != target
    return np.asarray(np.mean([wrong[:, target == each].mean(axis=1) for each in np.unique(target)], axis=0))


def log_loss(probabilities: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the mean negative logarithm of the probability of the true class; nan if a class is not present."""
    if len(np.unique(target)) < probabilities.shape[2]:
        return np.full(len(probabilities), np.nan)
    given = probabilities[:, np.arange(len(target)), target]
    epsilon = np.finfo(np.float64).eps
    return np.asarray(-np.mean(np.log(np.clip(given, epsilon, 1 - epsilon)), axis=1))


def r2_loss(numbers: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return 1 - R²; if all targets are equal, 0 for exact predictions and 1 for others."""
    residual, total = np.sum((numbers - target) ** 2, axis=1), np.sum((target - target.mean()) ** 2)
    return np.asarray(residual / total if total else (residual > 0).astype(np.float64))


def mean_squared_error(numbers: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the mean squared error."""
    return np.asarray(np.mean((numbers - target) ** 2, axis=1))


def root_mean_squared_error(numbers: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the root mean squared error."""
    return np.sqrt(mean_squared_error(numbers, target))


def mean_absolute_error(numbers: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the mean absolute error."""
    return np.asarray(np.mean(np.abs(numbers - target), axis=1))


CLASSIFICATION_LOSSES: Final[Mapping[str, BatchLoss]] = {
    "1 - accuracy": accuracy_loss,
    "1 - balanced_accuracy": balanced_accuracy_loss,
    "log_loss": log_loss,
}
REGRESSION_LOSSES: Final[Mapping[str, BatchLoss]] = {
    "1 - r2": r2_loss,
    "mean_squared_error": mean_squared_error,
    "root_mean_squared_error": root_mean_squared_error,
    "mean_absolute_error": mean_absolute_error,
}


def vectorised_loss(formula: str, classes: int) -> BatchLoss | None:
    """Return the vectorized loss of a formula, or None if there is none.

    `classes` is the number of classes, 0 for regression.
    """
    if formula == "1 - roc_auc" and classes == 2:
        return auroc_loss
    return (CLASSIFICATION_LOSSES if classes else REGRESSION_LOSSES).get(formula)
