"""A space as one estimator of scikit-learn, whose parameters are configurations: for searches that set parameters."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import admit
from spacelang.ir.space import Space
from spacelang.runtime.errors import BuildError
from spacelang.runtime.pipelines.build import build
from spacelang.runtime.pipelines.library import task_kind
from spacelang.solver.defaults import default

OWN: Final = frozenset({"space", "configuration", "random_state"})
"""The names of an estimator's own parameters."""


def _has(method: str) -> Callable[["SpaceEstimator"], bool]:
    """Whether the pipeline of an estimator's configuration has a method."""
    return lambda estimator: hasattr(getattr(estimator, "pipeline_", None) or estimator.build(), method)


class SpaceEstimator(BaseEstimator):  # type: ignore[misc]
    """The pipeline of one configuration of a space, the default one where none is given.

    `set_params` takes the keys of a configuration beside its own parameters, and replaces the configuration by them:
    what the target `sklearn` lists is searched by `RandomizedSearchCV(SpaceEstimator(space), dictionaries)`, and the
    best parameters that it finds are a configuration. After `fit` the pipeline is `pipeline_`.
    """

    def __init__(
        self, space: Space, configuration: Mapping[str, Any] | None = None, random_state: int | None = None
    ) -> None:
        self.space = space
        self.configuration = configuration
        self.random_state = random_state

    def build(self) -> Any:
        """The unfitted pipeline; raises ValueError, with the reason, where the configuration is no member."""
        if self.configuration is None:
            return build(self.space, default(self.space), random_state=self.random_state)
        plain = {key: value.item() if hasattr(value, "item") else value for key, value in self.configuration.items()}
        member = admit(self.space, Configuration(plain))
        if isinstance(member, Configuration):
            return build(self.space, member, random_state=self.random_state)
        raise ValueError(member.reason)

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

    def fit(self, features: Any, labels: Any = None) -> "SpaceEstimator":
        """Build and fit the pipeline."""
        self.pipeline_ = self.build().fit(features, labels)
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

    def score(self, features: Any, labels: Any = None) -> float:
        """The score of the fitted pipeline: accuracy of classifiers, R2 of regressors."""
        found: float = self.pipeline_.score(features, labels)
        return found

    @property
    def classes_(self) -> Any:
        """The classes that the fitted pipeline knows."""
        return self.pipeline_.classes_

    def __sklearn_clone__(self) -> "SpaceEstimator":
        """An unfitted one; the space, which nobody changes, is not copied."""
        configuration = None if self.configuration is None else dict(self.configuration)
        return SpaceEstimator(self.space, configuration, self.random_state)

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
