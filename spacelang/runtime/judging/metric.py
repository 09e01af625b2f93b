"""Metrics: the loss of a fitted pipeline on rows that it has not seen, always to be minimised."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from spacelang.ir.task import NEGATED, Goal
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.errors import MetricError
from spacelang.runtime.loss_name import LossName
from spacelang.suggest import suggestion

OF_ONE_CLASS: Final = frozenset(
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
"""The scorers that take one of two classes for what is looked for: with the other one they are other scores."""


Loss: TypeAlias = Callable[[Any, Any, Any], float]
"""Of a fitted pipeline, features and target, the number that is minimised; it can be sent to another process."""


@dataclass(frozen=True, slots=True)
class Metric(LossName):
    """A loss by its name, and how it is computed.

    `loss(pipeline, features, target)` is a number that need not be finite; it may raise whatever the pipeline raises.
    """

    loss: Loss = field(compare=False, repr=False)


def default_metric(dataset: Dataset) -> Metric:
    """1 - AUROC for two classes, 1 - balanced accuracy for more, 1 - R² for regression."""
    if dataset.kind == "regression":
        return named_metric("r2")
    return (
        Metric("roc_auc", "1 - roc_auc", _auroc_loss)
        if len(dataset.classes) == 2
        else named_metric("balanced_accuracy")
    )


def named_metric(name: str) -> Metric:
    """The loss by the name of a scikit-learn scorer, which is maximised: 1 - score, and the error itself for `neg_*`.

    Raises MetricError for an unknown name.
    """
    return goal_metric(Goal("maximize", name))


def goal_metric(goal: Goal) -> Metric:
    """The loss of a goal: what is minimised as it is, what is maximised as 1 minus it; raises MetricError.

    The scores of `neg_*` are errors with the sign turned: where they are maximised, the loss is the error itself.
    """
    name, scorer = goal.scorer, scorer_of(goal.scorer)
    if (goal.direction == "maximize") == goal.from_one:
        return Metric(name, name, _Scored(scorer))
    if name.startswith(NEGATED) and not goal.from_one:
        return Metric(name, name.removeprefix(NEGATED), _Scored(scorer, -1.0))
    return Metric(name, f"1 - {name}", _Scored(scorer, -1.0, 1.0))


def scorer_of(name: str) -> Any:
    """The scorer of a name; raises MetricError where scikit-learn has none."""
    from sklearn.metrics import get_scorer, get_scorer_names

    known = get_scorer_names()
    if name not in known:
        raise MetricError(
            f"there is no metric `{name}`", suggestion(name, known) or "take one of scikit-learn's scorers"
        )
    return get_scorer(name)


def check_metric(metric: Metric, dataset: Dataset) -> None:
    """Make sure before the search that the metric can be computed; raises MetricError with the library's reason."""
    if dataset.kind == "classification" and _judges_numbers(metric.name):
        help_text = "a regression metric would take the classes for quantities: choose one for classification"
        raise MetricError(f"the metric `{metric.name}` is for regression", help_text)
    try:
        blind_loss(metric, dataset, dataset)
    except (ValueError, TypeError, AttributeError) as error:
        what = f"{dataset.kind} with {len(dataset.classes)} classes" if dataset.classes else dataset.kind
        reason = str(error).strip().splitlines()[0]
        raise MetricError(f"the metric `{metric.name}` cannot be computed for {what}", reason) from error


def of_one_class(names: Iterable[str], dataset: Dataset) -> tuple[str, ...]:
    """Those of some scorers that are of one of two classes alone: the last one, which trials have as 1."""
    return tuple(name for name in dict.fromkeys(names) if name in OF_ONE_CLASS and len(dataset.classes) == 2)


def blind_loss(metric: Metric, dataset: Dataset, tested: Dataset) -> float:
    """The loss on some rows of what has learned the target of others and none of their features.

    Raises ValueError, TypeError or AttributeError where the metric cannot be computed.
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor

    model = DummyClassifier(strategy="prior") if dataset.kind == "classification" else DummyRegressor()
    seen, unseen = (np.zeros((len(each.target), 1)) for each in (dataset, tested))
    with warnings.catch_warnings():
        # A constant prediction is what some metrics warn about; here it only stands in for a pipeline.
        warnings.simplefilter("ignore")
        return metric.loss(model.fit(seen, dataset.target.to_numpy()), unseen, tested.target.to_numpy())


def _judges_numbers(name: str) -> bool:
    """Whether a scorer is one of scikit-learn's regression metrics: it would score the codes of classes in silence."""
    from sklearn.metrics import get_scorer

    function = getattr(get_scorer(name), "_score_func", None)
    return getattr(function, "__module__", "").endswith("metrics._regression")


@dataclass(frozen=True, slots=True)
class _Scored:
    """A loss by a scorer: `offset + sign * score`."""

    scorer: Loss
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
