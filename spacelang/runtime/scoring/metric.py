"""Metrics: losses of fitted pipelines on held-out rows, always to be minimized."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from spacelang.ir.task import NEGATED_PREFIX, Goal
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.errors import MetricError
from spacelang.runtime.loss_name import LossName
from spacelang.suggest import suggestion

POSITIVE_CLASS_SCORERS: Final = frozenset(
    {
        "average_precision",
        "f1",
        "jaccard",
        "neg_negative_likelihood_ratio",
        "positive_likelihood_ratio",
        "precision",
        "recall",
    }
)
"""The scorers of binary classification whose score depends on which class is the positive one."""


LossFunction: TypeAlias = Callable[[Any, Any, Any], float]
"""A picklable function of a fitted pipeline, features and target that returns the number to minimise."""


@dataclass(frozen=True, slots=True)
class Metric(LossName):
    """A loss with its name, its formula and the function that computes it.

    `loss(pipeline, features, target)` returns a number that need not be finite, and may raise whatever the pipeline
    raises.
    """

    loss: LossFunction = field(compare=False, repr=False)


def default_metric(dataset: Dataset) -> Metric:
    """Return the default metric of a data set.

    It is 1 - AUROC for two classes, 1 - balanced accuracy for more, and 1 - R² for regression.
    """
    if dataset.kind == "regression":
        return named_metric("r2")
    return (
        Metric("roc_auc", "1 - roc_auc", _auroc_loss)
        if len(dataset.classes) == 2
        else named_metric("balanced_accuracy")
    )


def named_metric(name: str) -> Metric:
    """Return the loss for maximizing a scikit-learn scorer: 1 - score, or the error itself for `neg_*`.

    Raise MetricError for an unknown name.
    """
    return goal_metric(Goal("maximize", name))


def goal_metric(goal: Goal) -> Metric:
    """Return the loss of a goal; raise MetricError for an unknown scorer.

    A minimized quantity is the loss itself, and a maximized one gives 1 minus it. Scorers `neg_*` are negated errors:
    if they are maximized, the loss is the error itself.
    """
    name, scorer = goal.scorer, scorer_of(goal.scorer)
    if (goal.direction == "maximize") == goal.from_one:
        return Metric(name, name, _ScorerLoss(scorer))
    if name.startswith(NEGATED_PREFIX) and not goal.from_one:
        return Metric(name, name.removeprefix(NEGATED_PREFIX), _ScorerLoss(scorer, -1.0))
    return Metric(name, f"1 - {name}", _ScorerLoss(scorer, -1.0, 1.0))


def scorer_of(name: str) -> Any:
    """Return the scikit-learn scorer with this name; raise MetricError if there is none."""
    from sklearn.metrics import get_scorer, get_scorer_names

    known = get_scorer_names()
    if name not in known:
        raise MetricError(
            f"unknown metric `{name}`", suggestion(name, known) or "use the name of a scikit-learn scorer"
        )
    return get_scorer(name)


def check_metric(metric: Metric, dataset: Dataset) -> None:
    """Check before the search that a metric can be computed; raise MetricError with the reason of the library."""
    if dataset.kind == "classification" and _is_regression_metric(metric.name):
        help_text = "a metric for regression treats the classes as numbers: choose a metric for classification"
        raise MetricError(f"the metric `{metric.name}` is for regression", help_text)
    try:
        constant_prediction_loss(metric, dataset, dataset)
    except (ValueError, TypeError, AttributeError) as error:
        what = f"{dataset.kind} with {len(dataset.classes)} classes" if dataset.classes else dataset.kind
        reason = str(error).strip().splitlines()[0]
        raise MetricError(f"the metric `{metric.name}` cannot be computed for {what}", reason) from error


def positive_class_scorers(names: Iterable[str], dataset: Dataset) -> tuple[str, ...]:
    """Return those of the named scorers that depend on the positive class, if there are two classes.

    The positive class is the second one, with the code 1.
    """
    return tuple(name for name in dict.fromkeys(names) if name in POSITIVE_CLASS_SCORERS and len(dataset.classes) == 2)


def constant_prediction_loss(metric: Metric, dataset: Dataset, tested: Dataset) -> float:
    """Return the loss on `tested` of a constant prediction that was learned from the targets of `dataset`.

    Raise ValueError, TypeError or AttributeError if the metric cannot be computed.
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor

    model = DummyClassifier(strategy="prior") if dataset.kind == "classification" else DummyRegressor()
    seen, unseen = (np.zeros((len(each.target), 1)) for each in (dataset, tested))
    with warnings.catch_warnings():
        # Some metrics warn about constant predictions.
        warnings.simplefilter("ignore")
        return metric.loss(model.fit(seen, dataset.target.to_numpy()), unseen, tested.target.to_numpy())


def _is_regression_metric(name: str) -> bool:
    """Return True for scikit-learn's regression metrics, which would silently accept class codes as numbers."""
    from sklearn.metrics import get_scorer

    function = getattr(get_scorer(name), "_score_func", None)
    return getattr(function, "__module__", "").endswith("metrics._regression")


@dataclass(frozen=True, slots=True)
class _ScorerLoss:
    """A loss computed from a scorer: `offset + sign * score`."""

    scorer: LossFunction
    sign: float = 1.0
    offset: float = 0.0

    def __call__(self, pipeline: Any, features: Any, target: Any) -> float:
        return self.offset + self.sign * float(self.scorer(pipeline, features, target))


def _auroc_loss(pipeline: Any, features: Any, target: Any) -> float:
    from sklearn.metrics import roc_auc_score

    if hasattr(pipeline, "predict_proba"):
        scores = pipeline.predict_proba(features)[:, 1]
    elif hasattr(pipeline, "decision_function"):
        scores = pipeline.decision_function(features)
    else:
        raise TypeError("the pipeline gives neither probabilities nor a decision function")
    return 1.0 - float(roc_auc_score(target, scores))
