"""One run in a process of its own: the files by which the benchmark and the run exchange data, and the clock.

This module and `peers` are imported by interpreters without spacelang. They need NumPy and pandas only.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

TARGET: Final = "target"  # The column of labels, which is empty in test rows
ROWS_FILE, TASK_FILE, ANSWER_FILE = "rows.csv", "task.json", "answer.json"
THREAD_VARIABLES: Final = tuple(
    f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM", "POLARS", "LOKY_MAX")
)


@dataclass(frozen=True, slots=True)
class RunTask:
    """What a run has to do.

    `classes` are the labels as text in sorted order, empty for a regression. The last one is the positive class of
    `roc_auc`. `options` are those of the contender.
    """

    contender: str
    metric: str
    classes: tuple[str, ...]
    training_rows: int
    seconds: float
    seed: int
    core: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the task to a folder."""
        (folder / TASK_FILE).write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "RunTask":
        """Read the task from a folder."""
        values = json.loads((folder / TASK_FILE).read_text(encoding="utf-8"))
        return cls(**values | {"classes": tuple(values["classes"])})

    @property
    def is_classification(self) -> bool:
        """Return True if the labels are classes."""
        return bool(self.classes)


@dataclass(frozen=True, slots=True)
class Rows:
    """The training rows with their labels (texts for classes, otherwise floats), and the test rows."""

    features: pd.DataFrame
    target: "pd.Series[Any]"
    test_features: pd.DataFrame

    def as_categories(self) -> "Rows":
        """Return the rows with each column of text or truth values as categories, the same in both parts."""
        both = pd.concat([self.features, self.test_features])
        for name in both.columns:
            if not pd.api.types.is_numeric_dtype(both[name]) or pd.api.types.is_bool_dtype(both[name]):
                both[name] = both[name].astype("object").astype("category")
        number = len(self.features)
        return Rows(both.iloc[:number], self.target, both.iloc[number:])


def write_rows(folder: Path, training: pd.DataFrame, test: pd.DataFrame) -> None:
    """Write the training rows, and below them the test rows without their labels."""
    pd.concat([training, test.assign(**{TARGET: None})]).to_csv(folder / ROWS_FILE, index=False)


def read_rows(folder: Path, task: RunTask) -> Rows:
    """Read the training and test rows, whose columns have the same types."""
    label_type = str if task.is_classification else float
    table = pd.read_csv(
        folder / ROWS_FILE, dtype={TARGET: label_type}, keep_default_na=False, na_values=[""], low_memory=False
    )
    features, number = table.drop(columns=TARGET), task.training_rows
    target = table[TARGET].iloc[:number].astype(object if task.is_classification else float)
    return Rows(features.iloc[:number], target, features.iloc[number:].reset_index(drop=True))


@dataclass(frozen=True, slots=True)
class Fitted:
    """The result of the timed part of a run.

    `predict` returns the predictions for the test rows by name. The answer of the tool is the first of them.
    """

    predict: Callable[[], Mapping[str, npt.NDArray[Any]]]
    trials: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The predictions of a run for the test rows, and how they were obtained.

    A prediction is one number per row, or one class as text. For `roc_auc` it is the score of the positive class.
    `seconds` is the wall time from the rows in memory to the fitted model.
    """

    predictions: Mapping[str, list[Any]]
    seconds: float
    version: str
    trials: int | None = None
    note: str = ""

    @classmethod
    def read(cls, folder: Path) -> "Answer":
        """Read the answer from a folder."""
        return cls(**json.loads((folder / ANSWER_FILE).read_text(encoding="utf-8")))


def perform(fit: Callable[[RunTask, Rows], Fitted], version: str, folder: Path) -> None:
    """Do the task in a folder and write the answer; the folder is also the working directory."""
    task = RunTask.read(folder)
    if task.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {task.core})
    rows = read_rows(folder, task)
    os.chdir(folder)
    start = time.perf_counter()
    fitted = fit(task, rows)
    seconds = time.perf_counter() - start
    predictions = {name: np.asarray(each).tolist() for name, each in fitted.predict().items()}
    answer = Answer(predictions, seconds, version, fitted.trials, fitted.note)
    new = folder / f"{ANSWER_FILE}.new"
    new.write_text(json.dumps(asdict(answer)), encoding="utf-8")
    new.replace(folder / ANSWER_FILE)
    # Background threads and worker processes of a tool must not keep the process alive.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def predict(model: Any, features: Any, task: RunTask) -> npt.NDArray[Any]:
    """Return the predictions of a scikit-learn estimator: scores for `roc_auc`, otherwise classes or numbers."""
    if task.metric != "roc_auc":
        return np.asarray(model.predict(features))
    if hasattr(model, "predict_proba"):
        column = [str(each) for each in model.classes_].index(task.classes[-1])
        return np.asarray(model.predict_proba(features))[:, column]
    return np.asarray(model.decision_function(features))
