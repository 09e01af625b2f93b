"""Z-min: the selection problem at the current theta (spacelang/optimizers/README.md, section "ADMM: z-min")."""

from functools import partial

from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Request
from spacelang.optimizers._admm.pipeline_tree import PipelineChoiceTree
from spacelang.optimizers._admm.points import MemberCache
from spacelang.optimizers._admm.residuals import Residuals
from spacelang.optimizers._admm.splitting import Iterate
from spacelang.optimizers._admm.theta_scope import ThetaStateStore
from spacelang.optimizers._admm.trial_cache import NO_MEMBER_KEY
from spacelang.optimizers._selection import SelectionProblem, no_penalty
from spacelang.targets.blds import Pipeline


class ZSubproblem:
    """The pipelines at the current theta, as the z-min of one iteration evaluates them."""

    def __init__(
        self,
        members: MemberCache,
        choosing: PipelineChoiceTree,
        thetas: ThetaStateStore,
        residuals: Residuals,
        state: Iterate,
    ) -> None:
        self._members, self._choosing, self._thetas, self._residuals = members, choosing, thetas, residuals
        self._state = state
        self._configurations: dict[Pipeline, Configuration] = {}

    def selection_problem(self, problem: Problem, room: int) -> SelectionProblem:
        """Return the selection problem; losses are augmented by the constraint penalty at the current slacks."""
        penalty = partial(self._residuals.trial_penalty, slack=self._state.slack, mu=self._state.mu)
        return SelectionProblem(
            self._choosing.tree,
            self.configuration,
            problem.size,
            problem.rng,
            penalty if len(self._residuals) else no_penalty,
            room,
            admits=self.admits,
            remark=problem.remark,
        )

    def configuration(self, pipeline: Pipeline) -> Configuration:
        """Return the configuration to evaluate for a pipeline at the current theta.

        If no member has the z of the pipeline, the configuration has the key `NO_MEMBER_KEY`. It is never evaluated and
        counts as failed.
        """
        if pipeline not in self._configurations:
            found = self._members(self._thetas.state_of(pipeline, self._state).point)
            if found is None:
                found = Configuration({**self._choosing.tree.complete(pipeline), NO_MEMBER_KEY: True})
            self._configurations[pipeline] = found
        return self._configurations[pipeline]

    def admits(self, pipeline: Pipeline) -> bool:
        """Return True if some member has the z of the pipeline at the current theta."""
        return NO_MEMBER_KEY not in self.configuration(pipeline)

    def request(self, pipeline: Pipeline) -> Request:
        """Return the request for a pipeline on all training rows."""
        return Request(self.configuration(pipeline))
