"""The usual losses of many predictions at once, where scikit-learn would be asked for each of them.

Each function takes m x n x classes probabilities and n classes, or m x n numbers and n quantities, and gives m losses
that are scikit-learn's but for rounding. A selection among 32 models asks a thousand times for each fold: of
scikit-learn's scorers most of the time goes into looking at what they are given.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Many: TypeAlias = Callable[[npt.NDArray[np.float64], npt.NDArray[Any]], npt.NDArray[np.float64]]


def auroc_loss(probabilities: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """1 - AUROC of two classes, by the ranks of the rows of the second; nan where there is one class alone."""
    from scipy.stats import rankdata

    is_second = target == 1
    second = int(is_second.sum())
    pairs = second * (len(target) - second)
    if not pairs:
        return np.full(len(probabilities), np.nan)
    ranks = rankdata(probabilities[:, :, 1], axis=1)[:, is_second].sum(axis=1)
    return np.asarray(1 - (ranks - second * (second + 1) / 2) / pairs)


def accuracy_loss(probabilities: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The share of rows of which another class is the most probable one."""
    return np.asarray(np.mean(probabilities.argmax(axis=2) != target, axis=1))


def balanced_accuracy_loss(probabilities: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The mean of that share over the classes that have rows."""
    wrong = probabilities.argmax(axis=2) != target
    return np.asarray(np.mean([wrong[:, target == each].mean(axis=1) for each in np.unique(target)], axis=0))


def log_loss(probabilities: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The mean negative logarithm of what the right classes were given; nan where a class has no row."""
    if len(np.unique(target)) < probabilities.shape[2]:
        return np.full(len(probabilities), np.nan)
    given = probabilities[:, np.arange(len(target)), target]
    epsilon = np.finfo(np.float64).eps
    return np.asarray(-np.mean(np.log(np.clip(given, epsilon, 1 - epsilon)), axis=1))


def r2_loss(numbers: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """1 - R², which is 0 or 1 where all quantities are equal."""
    residual, total = np.sum((numbers - target) ** 2, axis=1), np.sum((target - target.mean()) ** 2)
    return np.asarray(residual / total if total else (residual > 0).astype(np.float64))


def squared_error(numbers: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The mean squared error."""
    return np.asarray(np.mean((numbers - target) ** 2, axis=1))


def root_squared_error(numbers: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The root of it."""
    return np.sqrt(squared_error(numbers, target))


def absolute_error(numbers: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The mean absolute error."""
    return np.asarray(np.mean(np.abs(numbers - target), axis=1))


CLASSES: Final[Mapping[str, Many]] = {
    "1 - accuracy": accuracy_loss,
    "1 - balanced_accuracy": balanced_accuracy_loss,
    "log_loss": log_loss,
}
NUMBERS: Final[Mapping[str, Many]] = {
    "1 - r2": r2_loss,
    "mean_squared_error": squared_error,
    "root_mean_squared_error": root_squared_error,
    "mean_absolute_error": absolute_error,
}


def vectorised(formula: str, classes: int) -> Many | None:
    """The loss of a formula for so many classes (0: a regression); None where it is not among these."""
    if formula == "1 - roc_auc" and classes == 2:
        return auroc_loss
    return (CLASSES if classes else NUMBERS).get(formula)
