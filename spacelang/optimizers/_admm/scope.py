"""The scope of tuned hyperparameters: all pipelines with the algorithm, or only the tuned pipeline.

See spacelang/optimizers/README.md, section "ADMM: scope of hyperparameters".
"""

from dataclasses import replace
from typing import Literal, TypeAlias

from spacelang.optimizers._admm.choosing import Choosing
from spacelang.optimizers._admm.splitting import Iterate
from spacelang.targets.blds import Pipeline

Scope: TypeAlias = Literal["algorithm", "pipeline"]
"""Where tuned hyperparameters apply: in every pipeline with the algorithm, or only in the tuned pipeline."""


class Thetas:
    """The state of theta of each pipeline: shared by all pipelines, or one for each of them."""

    def __init__(self, scope: Scope, choosing: Choosing, start: Iterate) -> None:
        self._scope, self._choosing, self._start = scope, choosing, start
        self._own: dict[Pipeline, Iterate] = {}

    def of(self, pipeline: Pipeline, present: Iterate) -> Iterate:
        """Return the state of a pipeline, given the current state.

        Slacks and multipliers of the black-box constraints are always those of the current state.
        """
        found = present if self._scope == "algorithm" else self._own.get(pipeline, self._start)
        point = self._choosing.point(pipeline, found.point)
        return replace(found, point=point, slack=present.slack, mu=present.mu)

    def keep(self, pipeline: Pipeline, state: Iterate) -> None:
        """Store the state of a pipeline; does nothing if all pipelines share one state."""
        if self._scope == "pipeline":
            self._own[pipeline] = state
