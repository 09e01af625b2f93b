"""Run another tool on one task of the benchmark: `ENVIRONMENT/bin/python examples/default/peers.py FOLDER`.

The interpreter is that of the tool's own environment (`peers/NAME.txt` lists its packages); spacelang is not imported.
With `--version NAME` instead of a folder, the script prints the version of a tool.
Every tool minimizes the metric of the task, has one core and the seconds of the task, and keeps its other defaults.
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))

from default.single_run import Fitted, Rows, RunTask, perform, predict

ANSWER: Final = "answer"  # The name of the only predictions of these tools


def fit_flaml(task: RunTask, rows: Rows) -> Fitted:
    """Run FLAML, with balanced accuracy as a metric of our own, which FLAML does not have."""
    from flaml import AutoML
    from sklearn.metrics import balanced_accuracy_score

    def balanced_error(features: Any, target: Any, estimator: Any, *_: Any) -> tuple[float, dict[str, float]]:
        loss = 1 - balanced_accuracy_score(target, estimator.predict(features))
        return loss, {"balanced_error": loss}

    model = AutoML()
    model.fit(
        rows.features,
        rows.target,
        task="classification" if task.is_classification else "regression",
        metric=balanced_error if task.metric == "balanced_accuracy" else task.metric,
        time_budget=task.seconds,
        n_jobs=1,
        seed=task.seed,
        verbose=0,
    )
    return Fitted(single(lambda: predict(model, rows.test_features, task)))


def fit_autogluon(task: RunTask, rows: Rows) -> Fitted:
    """Run AutoGluon with the presets among the options."""
    from autogluon.tabular import TabularPredictor

    table = rows.features.assign(target=rows.target)
    kind = "regression" if not task.is_classification else "binary" if len(task.classes) == 2 else "multiclass"
    model = TabularPredictor("target", problem_type=kind, eval_metric=task.metric, path="autogluon", verbosity=1)
    model.fit(table, time_limit=task.seconds, num_cpus=1, num_gpus=0, **task.options)

    def predict_test() -> npt.NDArray[Any]:
        if task.metric == "roc_auc":
            return np.asarray(model.predict_proba(rows.test_features)[task.classes[-1]])
        return np.asarray(model.predict(rows.test_features))

    return Fitted(single(predict_test), len(model.model_names()))


def fit_tpot(task: RunTask, rows: Rows) -> Fitted:
    """Run TPOT with its own preparation of the data; it takes classes as numbers."""
    import tpot
    from sklearn.preprocessing import LabelEncoder

    codes = LabelEncoder()
    target = codes.fit_transform(rows.target) if task.is_classification else rows.target.to_numpy()
    estimator = tpot.TPOTClassifier if task.is_classification else tpot.TPOTRegressor
    model = estimator(
        scorers=[task.metric],
        scorers_weights=[1],
        max_time_mins=task.seconds / 60,
        n_jobs=1,
        preprocessing=True,
        random_state=task.seed,
        verbose=0,
    )
    model.fit(rows.features, target)

    def predict_test() -> npt.NDArray[Any]:
        if task.metric == "roc_auc":
            return np.asarray(model.predict_proba(rows.test_features))[:, 1]
        found = np.asarray(model.predict(rows.test_features))
        return np.asarray(codes.inverse_transform(found.astype(int))) if task.is_classification else found

    return Fitted(single(predict_test), len(model.evaluated_individuals))


def fit_auto_sklearn2(task: RunTask, rows: Rows) -> Fitted:
    """Run auto-sklearn2 on indicators of categories and imputed numbers: it takes numbers only, and picks its metric.

    Its best model may have no probabilities; then its decision function is used.
    """
    from auto_sklearn2 import AutoSklearnClassifier, AutoSklearnRegressor
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    typed = rows.as_categories()
    numbers = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_include="category")),
        (SimpleImputer(strategy="median"), make_column_selector(dtype_exclude="category")),
    )
    estimator = AutoSklearnClassifier if task.is_classification else AutoSklearnRegressor
    model = estimator(time_limit=task.seconds, n_jobs=1, random_state=task.seed)
    model.fit(numbers.fit_transform(typed.features), typed.target.to_numpy())
    best, test = model.best_model, numbers.transform(typed.test_features)
    return Fitted(single(lambda: predict(best, test, task)), len(model.models))


def fit_lightgbm(task: RunTask, rows: Rows) -> Fitted:
    """Fit LightGBM once with its defaults, with categories by their type."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    typed = rows.as_categories()
    estimator = LGBMClassifier if task.is_classification else LGBMRegressor
    model = estimator(n_jobs=1, random_state=task.seed, verbose=-1).fit(typed.features, typed.target)
    return Fitted(single(lambda: predict(model, typed.test_features, task)), 1)


def single(function: Callable[[], npt.NDArray[Any]]) -> Callable[[], Mapping[str, npt.NDArray[Any]]]:
    """Return a function whose only predictions, named `answer`, are those of `function`."""
    return lambda: {ANSWER: function()}


PEERS: Final[Mapping[str, tuple[Callable[[RunTask, Rows], Fitted], str]]] = {
    "flaml": (fit_flaml, "flaml"),
    "autogluon_medium": (fit_autogluon, "autogluon.tabular"),
    "autogluon_best": (fit_autogluon, "autogluon.tabular"),
    "tpot": (fit_tpot, "tpot"),
    "auto_sklearn2": (fit_auto_sklearn2, "auto-sklearn2"),
    "lightgbm": (fit_lightgbm, "lightgbm"),
}
"""The function and the package of each peer."""


def package_version(name: str) -> str:
    """Return the package of a peer with its version; raise PackageNotFoundError if it is not installed."""
    package = PEERS[name][1]
    return f"{package} {version(package)}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "--version":
        print(package_version(sys.argv[2]))
    else:
        folder = Path(sys.argv[1]).resolve()
        name = RunTask.read(folder).contender
        perform(PEERS[name][0], package_version(name), folder)
