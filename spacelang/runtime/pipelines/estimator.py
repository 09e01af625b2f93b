"""A whole space as one scikit-learn estimator, for searches that use `set_params`."""

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any, ClassVar, Final

import numpy as np
from sklearn.base import is_classifier

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import member_or_exclusion
from spacelang.ir.space import Space
from spacelang.runtime.errors import BuildError
from spacelang.runtime.pipelines import PipelineInput
from spacelang.runtime.pipelines.build import adapt_to_labels, build_pipeline
from spacelang.runtime.pipelines.catalogue_access import task_kind
from spacelang.runtime.pipelines.configuration_estimator import ConfigurationEstimator
from spacelang.runtime.pipelines.input_conversion import make_table_step
from spacelang.runtime.pipelines.preparation import Preparation
from spacelang.solver.defaults import default_configuration

WITHOUT_WEIGHTS_HELP: Final = "so omit `sample_weight`, or remove operators without sample weights from the space"
"""The help text for operators that do not support sample weights."""


def last_step_without_sample_weights(pipeline: Any) -> str | None:
    """Return the class name of the last step if it does not support sample weights, else None."""
    last = pipeline.steps[-1][1]
    given = signature(last.fit).parameters.values() if hasattr(last, "fit") else ()
    may = any(each.name == "sample_weight" or each.kind is Parameter.VAR_KEYWORD for each in given)
    return None if may else type(last).__name__


class SpaceEstimator(ConfigurationEstimator):
    """The pipeline of one configuration of a space as an estimator.

    Without a configuration, it is the pipeline of the default one. `set_params` accepts the keys of a configuration
    besides the estimator's own parameters, and replaces the configuration by them. So
    `RandomizedSearchCV(SpaceEstimator(space), dictionaries)` searches the dictionaries that the target `sklearn` lists,
    and its best parameters are a configuration.

    With a `preparation`, the pipeline takes the features for which that was planned, in the given `form`, and prepares
    them first. After `fit`, the fitted pipeline is `pipeline_`.
    """

    own: ClassVar[frozenset[str]] = ConfigurationEstimator.own | {"space", "preparation", "form"}

    def __init__(
        self,
        space: Space,
        configuration: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        preparation: Preparation | None = None,
        form: PipelineInput = PipelineInput.TABLE,
    ) -> None:
        super().__init__(configuration, random_state)
        self.space = space
        self.preparation = preparation
        self.form = form

    def build(self) -> Any:
        """Return the unfitted pipeline; raise ValueError if the space does not contain the configuration."""
        if self.configuration is None:
            return self._pipeline(default_configuration(self.space))
        plain = {key: value.item() if hasattr(value, "item") else value for key, value in self.configuration.items()}
        member = member_or_exclusion(self.space, Configuration(plain))
        if isinstance(member, Configuration):
            return self._pipeline(member)
        raise ValueError(member.reason)

    def _pipeline(self, member: Configuration) -> Any:
        preparation, seed = self.preparation, self.random_state
        first = None if preparation is None or self.form is not PipelineInput.GIVEN else make_table_step(preparation)
        return build_pipeline(self.space, member, preparation=preparation, first=first, random_state=seed)

    def fit(self, features: Any, labels: Any = None, sample_weight: Any = None) -> "SpaceEstimator":
        """Build and fit the pipeline; raise TypeError if the last step does not support the sample weights."""
        pipeline = self.build()
        if labels is not None and is_classifier(self):
            pipeline = adapt_to_labels(pipeline, tuple(np.unique(labels).tolist()))
        if sample_weight is not None and (name := last_step_without_sample_weights(pipeline)) is not None:
            raise TypeError(f"`{name}` does not support sample weights, {WITHOUT_WEIGHTS_HELP}")
        self._fitted(pipeline, features, labels, sample_weight)
        return self

    @property
    def feature_names_in_(self) -> Any:
        """The names of the columns that the pipeline was fitted on, if they have names."""
        return self.pipeline_.feature_names_in_

    @property
    def kind(self) -> str | None:
        """The kind of the last stage: `classification`, `regression`, or None if it is neither."""
        try:
            return task_kind(self.space.root)
        except BuildError:
            return None

    def __sklearn_clone__(self) -> "SpaceEstimator":
        """Return an unfitted copy; the space is immutable and is not copied."""
        configuration = None if self.configuration is None else dict(self.configuration)
        return type(self)(self.space, configuration, self.random_state, self.preparation, self.form)
