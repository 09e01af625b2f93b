"""An estimator of scikit-learn whose parameters are configurations. Modules that stand alone have it word by word."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from sklearn import config_context
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if


def _has(method: str) -> Callable[["Configured"], bool]:
    """Whether the pipeline of an estimator's configuration has a method."""
    return lambda estimator: hasattr(getattr(estimator, "pipeline_", None) or estimator.build(), method)


class Configured(BaseEstimator):  # type: ignore[misc]
    """The pipeline of one configuration, which `build` makes: the default one where none is given.

    `set_params` takes the keys of a configuration beside its own parameters, and replaces the configuration by them.
    After `fit` the pipeline is `pipeline_`.
    """

    # What scikit-learn's routing of metadata asks for: weights of rows go to the last step.
    __metadata_request__fit: ClassVar = {"sample_weight": True}
    __metadata_request__score: ClassVar = {"sample_weight": True}

    own: ClassVar[frozenset[str]] = frozenset({"configuration", "random_state"})
    """The names of an estimator's own parameters."""

    def __init__(self, configuration: Mapping[str, Any] | None = None, random_state: int | None = None) -> None:
        self.configuration = configuration
        self.random_state = random_state

    def build(self) -> Any:
        """The unfitted pipeline; raises ValueError where the configuration is none."""
        raise NotImplementedError

    @property
    def kind(self) -> str | None:
        """Whether it is for `classification` or `regression`; None where that is not said."""
        return None

    def set_params(self, **parameters: Any) -> "Configured":
        """Set own parameters by their names; all others together are the configuration from now on.

        A word is always part of a configuration: a stage may be called like a parameter.
        """
        own = {name: value for name, value in parameters.items() if name in self.own and not isinstance(value, str)}
        for name, value in own.items():
            setattr(self, name, value)
        if others := {name: value for name, value in parameters.items() if name not in own}:
            self.configuration = others
        return self

    def fit(self, features: Any, labels: Any = None, sample_weight: Any = None) -> "Configured":
        """Build and fit the pipeline; weights of rows go to its last step, which raises TypeError if it takes none."""
        return self._fitted(self.build(), features, labels, sample_weight)

    def _fitted(self, pipeline: Any, features: Any, labels: Any, weights: Any) -> "Configured":
        given = {} if weights is None else {f"{pipeline.steps[-1][0]}__sample_weight": weights}
        # Routed they would be refused where a step before takes weights, too, as scalers do, and asks for none.
        with config_context(enable_metadata_routing=False):
            self.pipeline_ = pipeline.fit(features, labels, **given)
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

    def __sklearn_clone__(self) -> "Configured":
        """An unfitted one."""
        configuration = None if self.configuration is None else dict(self.configuration)
        return type(self)(configuration, self.random_state)

    def __sklearn_tags__(self) -> Tags:
        """What its kind makes of it: a classifier, a regressor or neither."""
        tags = super().__sklearn_tags__()
        if self.kind is None:
            return tags
        is_classifier = self.kind == "classification"
        tags.estimator_type = "classifier" if is_classifier else "regressor"
        tags.classifier_tags = ClassifierTags() if is_classifier else None
        tags.regressor_tags = None if is_classifier else RegressorTags()
        return tags
