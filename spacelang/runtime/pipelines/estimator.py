"""A space as one estimator of scikit-learn, whose parameters are configurations: for searches that set parameters."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import admit
from spacelang.ir.space import Space
from spacelang.runtime.errors import BuildError
from spacelang.runtime.pipelines.build import build
from spacelang.runtime.pipelines.forms import Form
from spacelang.runtime.pipelines.labelled import for_labels
from spacelang.runtime.pipelines.library import task_kind
from spacelang.runtime.pipelines.preparation import Preparation
from spacelang.runtime.pipelines.taking import taker
from spacelang.solver.defaults import default

OWN: Final = frozenset({"space", "configuration", "random_state", "preparation", "form"})
"""The names of an estimator's own parameters."""


def _has(method: str) -> Callable[["SpaceEstimator"], bool]:
    """Whether the pipeline of an estimator's configuration has a method."""
    return lambda estimator: hasattr(getattr(estimator, "pipeline_", None) or estimator.build(), method)


class SpaceEstimator(BaseEstimator):  # type: ignore[misc]
    """The pipeline of one configuration of a space, the default one where none is given.

    `set_params` takes the keys of a configuration beside its own parameters, and replaces the configuration by them:
    what the target `sklearn` lists is searched by `RandomizedSearchCV(SpaceEstimator(space), dictionaries)`, and the
    best parameters that it finds are a configuration. With a `preparation` the pipeline takes what that was planned
    for, in that `form`, and prepares it first. After `fit` the pipeline is `pipeline_`.
    """

    # What scikit-learn's routing of metadata asks for: weights of rows go to the last step.
    __metadata_request__fit: ClassVar = {"sample_weight": True}
    __metadata_request__score: ClassVar = {"sample_weight": True}

    def __init__(
        self,
        space: Space,
        configuration: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        preparation: Preparation | None = None,
        form: Form = Form.TABLE,
    ) -> None:
        self.space = space
        self.configuration = configuration
        self.random_state = random_state
        self.preparation = preparation
        self.form = form

    def build(self) -> Any:
        """The unfitted pipeline; raises ValueError, with the reason, where the configuration is no member."""
        if self.configuration is None:
            return self._pipeline(default(self.space))
        plain = {key: value.item() if hasattr(value, "item") else value for key, value in self.configuration.items()}
        member = admit(self.space, Configuration(plain))
        if isinstance(member, Configuration):
            return self._pipeline(member)
        raise ValueError(member.reason)

    def _pipeline(self, member: Configuration) -> Any:
        preparation, seed = self.preparation, self.random_state
        first = None if preparation is None or self.form is not Form.GIVEN else taker(preparation)
        return build(self.space, member, preparation=preparation, first=first, random_state=seed)

    def set_params(self, **parameters: Any) -> "SpaceEstimator":
        """Set own parameters by their names; all others together are the configuration from now on.

        A word is always part of a configuration: a stage may be called like a parameter.
        """
        own = {name: value for name, value in parameters.items() if name in OWN and not isinstance(value, str)}
        for name, value in own.items():
            setattr(self, name, value)
        if others := {name: value for name, value in parameters.items() if name not in own}:
            self.configuration = others
        return self

    def fit(self, features: Any, labels: Any = None, sample_weight: Any = None) -> "SpaceEstimator":
        """Build and fit the pipeline; weights of rows go to its last step, which raises TypeError if it takes none."""
        pipeline = self.build()
        if labels is not None and is_classifier(self):
            pipeline = for_labels(pipeline, tuple(np.unique(labels).tolist()))
        self.pipeline_ = pipeline.fit(features, labels, **_weighing(pipeline, sample_weight))
        return self

    @available_if(_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, features: Any) -> Any:
        """What the fitted pipeline predicts."""
        return self.pipeline_.predict(features)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, features: Any) -> Any:
        """The probabilities that the fitted pipeline predicts, one column for each class."""
        return self.pipeline_.predict_proba(features)

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, features: Any) -> Any:
        """The decision values of the fitted pipeline."""
        return self.pipeline_.decision_function(features)

    def score(self, features: Any, labels: Any = None, sample_weight: Any = None) -> float:
        """The score of the fitted pipeline: accuracy of classifiers, R2 of regressors."""
        judge = accuracy_score if is_classifier(self) else r2_score
        found: float = judge(labels, self.pipeline_.predict(features), sample_weight=sample_weight)
        return found

    @property
    def classes_(self) -> Any:
        """The classes that the fitted pipeline knows."""
        return self.pipeline_.classes_

    def __sklearn_clone__(self) -> "SpaceEstimator":
        """An unfitted one; the space, which nobody changes, is not copied."""
        configuration = None if self.configuration is None else dict(self.configuration)
        return type(self)(self.space, configuration, self.random_state, self.preparation, self.form)

    def __sklearn_tags__(self) -> Tags:
        """What the last stage makes of it: a classifier, a regressor or neither."""
        tags = super().__sklearn_tags__()
        try:
            kind = task_kind(self.space.root)
        except BuildError:
            return tags
        is_classifier = kind == "classification"
        tags.estimator_type = "classifier" if is_classifier else "regressor"
        tags.classifier_tags = ClassifierTags() if is_classifier else None
        tags.regressor_tags = None if is_classifier else RegressorTags()
        return tags


def _weighing(pipeline: Any, weights: Any) -> dict[str, Any]:
    """What `fit` of a pipeline takes so that its last step has these weights of rows; nothing where there are none."""
    if weights is None:
        return {}
    name, last = pipeline.steps[-1]
    if not get_config()["enable_metadata_routing"]:
        return {f"{name}__sample_weight": weights}
    if not has_fit_parameter(last, "sample_weight"):
        raise TypeError(f"{type(last).__name__} takes no weights of rows")
    last.set_fit_request(sample_weight=True)
    return {"sample_weight": weights}
