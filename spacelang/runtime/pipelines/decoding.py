"""A classifier that was fitted on class codes and predicts the labels of the user."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if


def decode_labels(pipeline: Any, classes: Sequence[Any]) -> Any:
    """Return a fitted pipeline whose classifier was fitted on class codes as one that predicts the labels `classes`.

    The last step is wrapped, unless the labels are the codes 0, 1, … or there are none.
    """
    if [*classes] == [*range(len(classes))] and all(type(label) is int for label in classes):
        return pipeline
    name, last = pipeline.steps[-1]
    return type(pipeline)([*pipeline.steps[:-1], (name, LabelDecodingClassifier(last, classes).as_fitted())])


def _has(method: str) -> Any:
    return available_if(lambda self: hasattr(self.estimator, method))


class LabelDecodingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that passes class codes to the `estimator` and returns the labels in `classes`, sorted."""

    def __init__(self, estimator: Any, classes: Any) -> None:
        self.estimator = estimator
        self.classes = classes

    def fit(self, features: Any, labels: Any) -> "LabelDecodingClassifier":
        """Fit a clone of the estimator on the codes of n labels, all of which must be in `classes`."""
        codes = {label: code for code, label in enumerate(self.classes)}
        self.estimator_ = clone(self.estimator).fit(features, [codes[each] for each in np.asarray(labels).tolist()])
        self.classes_ = np.asarray(self.classes)
        return self

    def as_fitted(self) -> "LabelDecodingClassifier":
        """Return the classifier itself, as fitted: its estimator is fitted already."""
        self.estimator_, self.classes_ = self.estimator, np.asarray(self.classes)
        return self

    def predict(self, features: Any) -> Any:
        """Return the labels of n rows."""
        return self.classes_[np.asarray(self.estimator_.predict(features), dtype=np.int64)]

    @_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, features: Any) -> Any:
        """Return the n x classes probabilities."""
        return self.estimator_.predict_proba(features)

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, features: Any) -> Any:
        """Return the decision values of n rows."""
        return self.estimator_.decision_function(features)

    @property
    def n_features_in_(self) -> int:
        """The number of columns that the estimator was fitted on."""
        found: int = self.estimator_.n_features_in_
        return found

    def __sklearn_tags__(self) -> Any:
        """Return the tags, with the input tags of the estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        return tags
