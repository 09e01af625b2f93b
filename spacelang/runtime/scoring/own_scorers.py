"""Scorers that a program gives as objects, such as `make_scorer(...)`, as the metric of a search."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, TypeAlias

import numpy as np

from spacelang.ir.task import NEGATED_PREFIX
from spacelang.runtime.black_box.function import function_identity, function_name
from spacelang.runtime.scoring.metric import LossFunction, Metric, ScorerLoss, named_metric
from spacelang.runtime.storage.header import SHOWN_DIGITS

Scorer: TypeAlias = Callable[[Any, Any, Any], Any]
"""A scorer of scikit-learn: called with a fitted estimator, features and labels."""
SCORER_FIELDS: Final = ("_score_func", "_sign", "_kwargs", "_response_method")  # What `make_scorer` was called with


def scorer_metric(scorer: Scorer, classes: tuple[Any, ...]) -> Metric:
    """Return the loss of a scorer: that of its name if scikit-learn has it, otherwise 1 - score, or the error.

    A score is the greater, the better, as everywhere in scikit-learn; `make_scorer(f, greater_is_better=False)` is the
    negated error `f`. The scorer gets labels as the user wrote them: `classes` are the labels, sorted, or empty for a
    regression.
    """
    if (known := name_of_scorer(scorer)) is not None:
        return named_metric(known)
    name = _free_name(_word(scorer))
    loss: LossFunction = _LabelledScorer(scorer, classes) if classes else scorer
    if getattr(scorer, "_sign", 1) < 0:
        return Metric(f"{NEGATED_PREFIX}{name}", name, ScorerLoss(loss, -1.0))
    return Metric(name, f"1 - {name}", ScorerLoss(loss, -1.0, 1.0))


def describe_scorer(scorer: Scorer) -> str:
    """Return a text that is equal for equal scorers, by which a run is resumed; empty for a scorer with a name."""
    if name_of_scorer(scorer) is not None:
        return ""
    # A scorer of `make_scorer` has its function as an attribute, of which the scorer's identity has only the source.
    inner = getattr(scorer, "_score_func", None)
    identities = (function_identity(each) for each in (scorer, inner) if each is not None)
    return f"{_word(scorer)}, content {sha256(' '.join(identities).encode()).hexdigest()[:SHOWN_DIGITS]}"


def name_of_scorer(scorer: Any) -> str | None:
    """Return the name under which scikit-learn has a scorer, or None."""
    from sklearn.metrics import get_scorer, get_scorer_names

    fields = _fields(scorer)
    if fields is None:
        return None
    return next((name for name in get_scorer_names() if _fields(get_scorer(name)) == fields), None)


def _fields(scorer: Any) -> tuple[Any, ...] | None:
    if not all(hasattr(scorer, name) for name in SCORER_FIELDS):
        return None
    return tuple(getattr(scorer, name) for name in SCORER_FIELDS)


def _word(scorer: Any) -> str:
    """Return the name of a scorer's function as one word."""
    name = function_name(getattr(scorer, "_score_func", scorer)).rpartition(".")[2]
    return re.sub(r"\W+", "_", name).strip("_") or "scorer"


def _free_name(word: str) -> str:
    """Return a name that no scorer of scikit-learn has, nor the error of one."""
    from sklearn.metrics import get_scorer_names

    return f"own_{word}" if {word, f"{NEGATED_PREFIX}{word}"} & {*get_scorer_names()} else word


@dataclass(frozen=True, slots=True)
class _LabelledScorer:
    """A scorer of classifications for pipelines that were fitted on class codes."""

    scorer: Scorer
    classes: tuple[Any, ...]

    def __call__(self, pipeline: Any, features: Any, target: Any) -> float:
        labels = np.asarray(self.classes)
        return float(self.scorer(_LabelPredictor(pipeline, labels), features, labels[np.asarray(target)]))


class _LabelPredictor:
    """A stand-in for a pipeline that predicts class codes; it predicts labels."""

    def __init__(self, pipeline: Any, labels: Any) -> None:
        self._pipeline, self._labels = pipeline, labels

    @property
    def classes_(self) -> Any:
        return self._labels[np.asarray(self._pipeline.classes_, dtype=np.int64)]

    def predict(self, features: Any) -> Any:
        return self._labels[np.asarray(self._pipeline.predict(features), dtype=np.int64)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pipeline, name)
