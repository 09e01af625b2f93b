"""Classifiers that learn nothing but the codes 0, 1, … as labels, made to learn any."""

from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import get_tags

from spacelang.runtime.pipelines.library import CODES_ONLY


class LabelledClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose labels are coded on the way in and decoded on the way out."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> "LabelledClassifier":  # noqa: N803 - scikit-learn's name
        """Fit the classifier on the codes of the labels."""
        self.encoder_ = LabelEncoder().fit(y)
        self.estimator_ = clone(self.estimator).fit(X, self.encoder_.transform(y))
        return self

    @property
    def classes_(self) -> Any:
        """The labels, sorted."""
        return self.encoder_.classes_

    def predict(self, X: Any) -> Any:  # noqa: N803
        """A label for each row."""
        return self.encoder_.inverse_transform(self.estimator_.predict(X))

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """A probability for each row and label, in the order of `classes_`."""
        return self.estimator_.predict_proba(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def for_any_labels(pipeline: Any) -> Any:
    """The pipeline with its last step wrapped where that learns codes only; else the pipeline itself."""
    name, last = pipeline.steps[-1]
    if isinstance(last, Pipeline):
        wrapped = for_any_labels(last)
    else:
        wrapped = LabelledClassifier(last) if type(last).__name__ in CODES_ONLY else last
    return pipeline if wrapped is last else type(pipeline)([*pipeline.steps[:-1], (name, wrapped)])
