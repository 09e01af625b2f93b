"""A scikit-learn estimator whose parameters are configurations; its source is copied into exported modules."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from sklearn import config_context
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if

from spacelang.deprecation import make_module_getattr


def _has(method: str) -> Callable[["ConfigurationEstimator"], bool]:
    """Return a function that tells whether the pipeline of an estimator's configuration has a method."""
    return lambda estimator: hasattr(getattr(estimator, "pipeline_", None) or estimator.build(), method)


class ConfigurationEstimator(BaseEstimator):  # type: ignore[misc]
    """The pipeline of one configuration as an estimator; without a configuration, that of the default one.

    `set_params` accepts the keys of a configuration besides the estimator's own parameters, and replaces the
    configuration by them. After `fit`, the fitted pipeline is `pipeline_`. `score` is accuracy or R²; it ignores the
    metric of the task.
    """

    # Metadata routing of scikit-learn: sample weights go to the last step.
    __metadata_request__fit: ClassVar = {"sample_weight": True}
    __metadata_request__score: ClassVar = {"sample_weight": True}

    own: ClassVar[frozenset[str]] = frozenset({"configuration", "random_state"})
    """The names of the estimator's own parameters; all others are keys of the configuration."""

    def __init__(self, configuration: Mapping[str, Any] | None = None, random_state: int | None = None) -> None:
        self.configuration = configuration
        self.random_state = random_state

    def build(self) -> Any:
        """Return the unfitted pipeline; raise ValueError if the configuration is invalid."""
        raise NotImplementedError

    @property
    def kind(self) -> str | None:
        """The kind of estimator: `classification`, `regression`, or None if it is unknown."""
        return None

    def set_params(self, **parameters: Any) -> "ConfigurationEstimator":
        """Set the estimator's own parameters; all other parameters together become the new configuration.

        Text always belongs to the configuration, because a stage may have the name of a parameter.
        """
        own = {name: value for name, value in parameters.items() if name in self.own and not isinstance(value, str)}
        for name, value in own.items():
            setattr(self, name, value)
        if others := {name: value for name, value in parameters.items() if name not in own}:
            self.configuration = others
        return self

    def fit(self, features: Any, labels: Any = None, sample_weight: Any = None) -> "ConfigurationEstimator":
        """Build and fit the pipeline; the last step gets the sample weights, and raises TypeError if it takes none."""
        return self._fitted(self.build(), features, labels, sample_weight)

    def _fitted(self, pipeline: Any, features: Any, labels: Any, weights: Any) -> "ConfigurationEstimator":
        given = {} if weights is None else {f"{pipeline.steps[-1][0]}__sample_weight": weights}
        # With routing scikit-learn would raise an error if an earlier step, such as a scaler, accepts weights, too.
        with config_context(enable_metadata_routing=False):
            self.pipeline_ = pipeline.fit(features, labels, **given)
        return self

    @available_if(_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, features: Any) -> Any:
        """Return the predictions of the fitted pipeline."""
        return self.pipeline_.predict(features)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, features: Any) -> Any:
        """Return the probabilities that the fitted pipeline predicts, one column per class."""
        return self.pipeline_.predict_proba(features)

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, features: Any) -> Any:
        """Return the decision values of the fitted pipeline."""
        return self.pipeline_.decision_function(features)

    def score(self, features: Any, labels: Any = None, sample_weight: Any = None) -> float:
        """Return the score of the fitted pipeline: accuracy for a classifier, R² for a regressor."""
        judge = accuracy_score if is_classifier(self) else r2_score
        found: float = judge(labels, self.pipeline_.predict(features), sample_weight=sample_weight)
        return found

    @property
    def classes_(self) -> Any:
        """The classes that the fitted pipeline knows."""
        return self.pipeline_.classes_

    def __sklearn_clone__(self) -> "ConfigurationEstimator":
        """Return an unfitted copy."""
        configuration = None if self.configuration is None else dict(self.configuration)
        return type(self)(configuration, self.random_state)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of a classifier, of a regressor, or of neither if the kind is unknown."""
        tags = super().__sklearn_tags__()
        if self.kind is None:
            return tags
        is_classifier = self.kind == "classification"
        tags.estimator_type = "classifier" if is_classifier else "regressor"
        tags.classifier_tags = ClassifierTags() if is_classifier else None
        tags.regressor_tags = None if is_classifier else RegressorTags()
        return tags


__getattr__ = make_module_getattr(__name__, {"Configured": "ConfigurationEstimator"})
