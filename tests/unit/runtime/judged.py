"""Objectives over small spaces and shipped data, and their trials made by hand."""

import warnings
from functools import cache

import numpy as np
from handmade import space, stage

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Status, Trial
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.runtime.data.labels import Dataset, check_and_encode_labels
from spacelang.runtime.data.loading import load_dataset, make_table
from spacelang.runtime.evaluation.folds import EvaluationSettings, PreparedFold
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.pipelines.build import build_pipeline

CLASSIFIERS = space(
    stage("scaler", "none", "StandardScaler"),
    stage("estimator", "GaussianNB", "LogisticRegression", "LinearSVC", "RidgeClassifier", "DecisionTreeClassifier"),
)
REGRESSORS = space(stage("scaler", "none", "StandardScaler"), stage("estimator", "Ridge", "KNeighborsRegressor"))
FOLDS = [Holdout(0.3), CrossValidation(3)]
TWO = ("accuracy", "f1", "roc_auc", "neg_log_loss", "average_precision", "matthews_corrcoef")
MORE = ("accuracy", "f1_macro", "roc_auc_ovr", "neg_log_loss", "balanced_accuracy")
NUMBERS = ("r2", "neg_mean_absolute_error", "neg_root_mean_squared_error", "neg_max_error")


@cache
def data(name: str) -> Dataset:
    """Two classes called by words, three, or numbers."""
    match name:
        case "two":
            table = load_dataset("sklearn:breast_cancer")
            words = np.where(table.target == table.target.max(), "harmless", "grave")
            return check_and_encode_labels(make_table(table.features.iloc[:, :6], words), "classification")
        case "three":
            return check_and_encode_labels(load_dataset("sklearn:wine"), "classification")
        case _:
            return check_and_encode_labels(load_dataset("sklearn:diabetes"), "regression")


NAMES = {"two": TWO, "three": MORE, "numbers": NUMBERS}


def made(name: str, asked: EvaluationSettings) -> DataObjective:
    return DataObjective(REGRESSORS if name == "numbers" else CLASSIFIERS, data(name), asked)


def wish(estimator: str, scaler: str = "none", fidelity: int | None = None) -> Request:
    return Request(Configuration({"scaler": scaler, "estimator": estimator}), fidelity)


def by_hand(objective: DataObjective, request: Request, fold: PreparedFold):
    """The pipeline of a trial, fitted by hand on a fold."""
    pipeline = build_pipeline(objective._space, request.configuration, random_state=objective.random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pipeline.fit(fold.training[: request.fidelity], fold.training_target[: request.fidelity])


def succeeded(trial: Trial) -> Trial:
    assert trial.status is Status.SUCCESS, trial.reason
    return trial
