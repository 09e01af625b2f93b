"""A space as one estimator of scikit-learn, whose parameters are configurations: for searches that set parameters."""

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any, ClassVar, Final

import numpy as np
from sklearn.base import is_classifier

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import admit
from spacelang.ir.space import Space
from spacelang.runtime.errors import BuildError
from spacelang.runtime.pipelines.build import build
from spacelang.runtime.pipelines.configured import Configured
from spacelang.runtime.pipelines.inputs import PipelineInput
from spacelang.runtime.pipelines.labelled import for_labels
from spacelang.runtime.pipelines.library import task_kind
from spacelang.runtime.pipelines.preparation import Preparation
from spacelang.runtime.pipelines.taking import taker
from spacelang.solver.defaults import default

WITHOUT_WEIGHTS: Final = "so leave `sample_weight` out, or take it out of the space"
"""What can be done where an operator takes no weights of rows."""


def weightless(pipeline: Any) -> str | None:
    """What the last step of a pipeline is called where it takes no weights of rows; None where it may take some."""
    last = pipeline.steps[-1][1]
    given = signature(last.fit).parameters.values() if hasattr(last, "fit") else ()
    may = any(each.name == "sample_weight" or each.kind is Parameter.VAR_KEYWORD for each in given)
    return None if may else type(last).__name__


class SpaceEstimator(Configured):
    """The pipeline of one configuration of a space, the default one where none is given.

    `set_params` takes the keys of a configuration beside its own parameters, and replaces the configuration by them:
    what the target `sklearn` lists is searched by `RandomizedSearchCV(SpaceEstimator(space), dictionaries)`, and the
    best parameters that it finds are a configuration. With a `preparation` the pipeline takes what that was planned
    for, in that `form`, and prepares it first. After `fit` the pipeline is `pipeline_`.
    """

    own: ClassVar[frozenset[str]] = Configured.own | {"space", "preparation", "form"}

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
        first = None if preparation is None or self.form is not PipelineInput.GIVEN else taker(preparation)
        return build(self.space, member, preparation=preparation, first=first, random_state=seed)

    def fit(self, features: Any, labels: Any = None, sample_weight: Any = None) -> "SpaceEstimator":
        """Build and fit the pipeline; weights of rows go to its last step, which raises TypeError if it takes none."""
        pipeline = self.build()
        if labels is not None and is_classifier(self):
            pipeline = for_labels(pipeline, tuple(np.unique(labels).tolist()))
        if sample_weight is not None and (name := weightless(pipeline)) is not None:
            raise TypeError(f"`{name}` takes no weights of rows, {WITHOUT_WEIGHTS}")
        self._fitted(pipeline, features, labels, sample_weight)
        return self

    @property
    def feature_names_in_(self) -> Any:
        """The names of the columns that the fitted pipeline was given, where they have any."""
        return self.pipeline_.feature_names_in_

    @property
    def kind(self) -> str | None:
        """What the last stage makes of it: a classifier, a regressor or neither."""
        try:
            return task_kind(self.space.root)
        except BuildError:
            return None

    def __sklearn_clone__(self) -> "SpaceEstimator":
        """An unfitted one; the space, which nobody changes, is not copied."""
        configuration = None if self.configuration is None else dict(self.configuration)
        return type(self)(self.space, configuration, self.random_state, self.preparation, self.form)
