"""The scope of tuned hyperparameters: all pipelines with the algorithm, or only the tuned pipeline.

See spacelang/optimizers/README.md, section "ADMM: scope of hyperparameters".
"""

from dataclasses import replace
from typing import Literal, TypeAlias

from spacelang.optimizers._admm.pipeline_tree import PipelineChoiceTree
from spacelang.optimizers._admm.splitting import Iterate
from spacelang.targets.blds import Pipeline

Scope: TypeAlias = Literal["algorithm", "pipeline"]
"""Where tuned hyperparameters apply: in every pipeline with the algorithm, or only in the tuned pipeline."""


class ThetaStateStore:
    """The state of theta of each pipeline: shared by all pipelines, or one for each of them."""

    def __init__(self, scope: Scope, choosing: PipelineChoiceTree, start: Iterate) -> None:
        self._scope, self._choosing, self._start = scope, choosing, start
        self._state_by_pipeline: dict[Pipeline, Iterate] = {}

    def state_of(self, pipeline: Pipeline, present: Iterate) -> Iterate:
        """Return the state of a pipeline, given the current state.

        Slacks and multipliers of the black-box constraints are always those of the current state.
        """
        found = present if self._scope == "algorithm" else self._state_by_pipeline.get(pipeline, self._start)
        point = self._choosing.point_of(pipeline, found.point)
        return replace(found, point=point, slack=present.slack, mu=present.mu)

    def store(self, pipeline: Pipeline, state: Iterate) -> None:
        """Store the state of a pipeline; does nothing if all pipelines share one state."""
        if self._scope == "pipeline":
            self._state_by_pipeline[pipeline] = state
