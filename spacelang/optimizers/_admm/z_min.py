"""z-min: what selectors are told of the present theta (spacelang/optimizers/README.md, section "ADMM: z-min")."""

from functools import partial

from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Request
from spacelang.optimizers._admm.choosing import Choosing
from spacelang.optimizers._admm.hearing import NO_MEMBER
from spacelang.optimizers._admm.points import MemberCache
from spacelang.optimizers._admm.residuals import Residuals
from spacelang.optimizers._admm.scope import Thetas
from spacelang.optimizers._admm.splitting import Iterate
from spacelang.optimizers._selection import Selection, unpenalised
from spacelang.targets.blds import Pipeline


class ZMin:
    """Every pipeline with the present theta as z-min of one iteration sees it."""

    def __init__(
        self, members: MemberCache, choosing: Choosing, thetas: Thetas, residuals: Residuals, state: Iterate
    ) -> None:
        self._members, self._choosing, self._thetas, self._residuals = members, choosing, thetas, residuals
        self._state = state
        self._configurations: dict[Pipeline, Configuration] = {}

    def selection(self, problem: Problem, room: int) -> Selection:
        """What a selector is told: the loss is augmented by the penalty of constraints at the present slacks."""
        penalty = partial(self._residuals.penalty_of, slack=self._state.slack, mu=self._state.mu)
        return Selection(
            self._choosing.tree,
            self.configuration,
            problem.size,
            problem.rng,
            penalty if len(self._residuals) else unpenalised,
            room,
            admits=self.admits,
            remark=problem.remark,
        )

    def configuration(self, pipeline: Pipeline) -> Configuration:
        """What is evaluated for a pipeline; where no member has its z, what is never evaluated, as it has failed."""
        if pipeline not in self._configurations:
            found = self._members(self._thetas.of(pipeline, self._state).point)
            if found is None:
                found = Configuration({**self._choosing.tree.complete(pipeline), NO_MEMBER: True})
            self._configurations[pipeline] = found
        return self._configurations[pipeline]

    def admits(self, pipeline: Pipeline) -> bool:
        """Whether a member has the z of a pipeline."""
        return NO_MEMBER not in self.configuration(pipeline)

    def request(self, pipeline: Pipeline) -> Request:
        """The request for a pipeline on all rows."""
        return Request(self.configuration(pipeline))
