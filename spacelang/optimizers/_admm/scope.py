"""Whose hyperparameters theta-min tunes: those of algorithms, or those of one pipeline alone.

See spacelang/optimizers/README.md, section "ADMM: scope of hyperparameters".
"""

from dataclasses import replace
from typing import Literal, TypeAlias

from spacelang.optimizers._admm.choosing import Choosing
from spacelang.optimizers._admm.splitting import Iterate
from spacelang.targets.blds import Pipeline

Scope: TypeAlias = Literal["algorithm", "pipeline"]
"""Who has what was tuned: every pipeline with the algorithm, or the one for which it was tuned."""


class Thetas:
    """theta~, its copy and its multipliers, as each pipeline has them: the same for all, or its own."""

    def __init__(self, scope: Scope, choosing: Choosing, start: Iterate) -> None:
        self._scope, self._choosing, self._start = scope, choosing, start
        self._own: dict[Pipeline, Iterate] = {}

    def of(self, pipeline: Pipeline, present: Iterate) -> Iterate:
        """The state of a pipeline; slacks and multipliers of constraints are the present ones."""
        found = present if self._scope == "algorithm" else self._own.get(pipeline, self._start)
        point = self._choosing.point(pipeline, found.point)
        return replace(found, point=point, slack=present.slack, mu=present.mu)

    def keep(self, pipeline: Pipeline, state: Iterate) -> None:
        """What was found for a pipeline."""
        if self._scope == "pipeline":
            self._own[pipeline] = state
