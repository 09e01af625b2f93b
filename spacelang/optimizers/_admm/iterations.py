"""The main loop of ADMM: theta-min, delta-min, z-min and the update of the multipliers, repeatedly.

See spacelang/optimizers/README.md, section "ADMM: iteration".
"""

from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from typing import Final, Literal

from spacelang.ir.asking import Ask, Asking, Search, together
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Request, Trial
from spacelang.minimizers import Minimizer
from spacelang.optimizers._admm.choosing import Choosing
from spacelang.optimizers._admm.hearing import Hearing
from spacelang.optimizers._admm.known import Known
from spacelang.optimizers._admm.points import Cube, MemberCache
from spacelang.optimizers._admm.residuals import Residuals
from spacelang.optimizers._admm.schedule import Schedule
from spacelang.optimizers._admm.scope import Scope, Thetas
from spacelang.optimizers._admm.splitting import Iterate, Splitting
from spacelang.optimizers._admm.start import first_point
from spacelang.optimizers._admm.theta_min import ThetaMin
from spacelang.optimizers._admm.z_min import ZMin
from spacelang.optimizers._configurations import Configurations
from spacelang.optimizers._selection import Selector
from spacelang.surrogates.sizes import LEFT_OUT
from spacelang.targets.admm import AdmmForm, AdmmPoint
from spacelang.targets.blds import DiscrepancyTree, Pipeline


@dataclass(frozen=True, slots=True)
class Method:
    """The settings of the iterations: the solvers of the two sub-problems, their order and their numbers of calls."""

    theta: Minimizer
    z: Selector
    schedule: Schedule
    first: Literal["theta", "z"] = "theta"
    scope: Scope = "algorithm"
    searches_slack: bool = False
    reuses_history: bool = True
    patience: int = 1
    """The number of iterations in a row with almost no gain after which the search restarts from another point."""


MOST_AROUND: Final = 4_096
"""The maximum number of neighbours of the best z to consider, since there can be many orders of steps."""

LEAST_GAIN: Final = 0.01
"""The least improvement of the best normalized loss, as a share of it, that counts as a gain of an iteration."""


def _rank(trial: Trial) -> tuple[float, float]:
    """Return the sort key of a successful trial, smaller is better: the excess over the bounds first, then the loss."""
    return trial.excess, trial.standing


class Iterations:
    """The ADMM iterations of one run, with their current state.

    `state` belongs to the current z. `iteration` counts from 0, and starts again at 0 after every restart from another
    point.
    """

    def __init__(
        self, method: Method, problem: Problem, form: AdmmForm, splitting: Splitting, residuals: Residuals
    ) -> None:
        self._method, self._problem, self._form = method, problem, form
        self._splitting, self._residuals = splitting, residuals
        self._choosing = Choosing(form)
        self._members = MemberCache(form)
        self._hearing = Hearing()
        self._known = Known()
        self._unseen = Configurations(DiscrepancyTree(form.structures), problem.rng).each_once()
        start = splitting.start(first_point(form, problem.initial))
        self.state = replace(start, slack=residuals.start, mu=residuals.start)
        self.iteration = 0
        self._trial: Trial | None = None
        """The trial of the current z at the current theta on all rows; None if there is none."""
        self._best: tuple[Trial, Iterate] | None = None
        """The best trial at the end of an iteration, with its state."""
        self._tuned: set[Pipeline] = set()
        """The pipelines that were tuned, or are about to be."""
        self._thetas = Thetas(method.scope, self._choosing, self.state)

    def run(self) -> Search:
        """Iterate until no configuration is left to evaluate."""
        self._hearing.room = (yield Ask()).room
        idle = 0
        while True:
            news = self._hearing.news
            yield from self.step()
            self.iteration += 1
            gains = self._gains()
            idle = 0 if gains and self._hearing.news > news else idle + 1
            if idle == self._method.patience:
                idle = self.iteration = 0
                if not (yield from self._go_elsewhere()):
                    return

    def _gains(self) -> bool:
        """Return True if the finished iteration justifies another one from its state; update the best state."""
        if self._trial is None or self._trial.loss is None:
            return False
        before = self._best
        if before is None or _rank(self._trial) < _rank(before[0]):
            self._best = self._trial, self.state
        if before is None or not self._trial.is_feasible:
            return True  # the penalty of a violated bound grows in every iteration
        return _rank(self._trial) < (before[0].excess, before[0].standing - LEAST_GAIN * abs(before[0].standing))

    def step(self) -> Search:
        """Run one iteration: both sub-problems in the order of the method, then update the constraint multipliers."""
        calls = self._method.schedule.calls(self.iteration)
        steps = (self._theta_min, self._z_min) if self._method.first == "theta" else (self._z_min, self._theta_min)
        for step in steps:
            yield from step(calls)
        if self._trial is not None:
            residuals = self._residuals.of_trial(self._trial, self.state.slack)
            self.state = replace(self.state, mu=self._residuals.updated(self.state.mu, residuals))

    # ---- theta

    def _theta_min(self, calls: int) -> Search:
        """Run theta-min, then delta-min and the update of the theta multipliers.

        z-min changes neither delta nor these multipliers, so they can be updated before it.
        """
        pipeline = self._pipeline
        earlier = self._known.of(pipeline, self._cube(self.state.point)) if self._method.reuses_history else ()
        problem = ThetaMin(
            self._form,
            self._splitting,
            self._residuals,
            self.state,
            self._problem.rng,
            room=self._hearing.room,
            earlier=earlier,
            searches_slack=self._method.searches_slack,
            members=self._members,
        )
        # With few members, most calls would only repeat known trials.
        most = int(min(calls, problem.cube.members))
        asking = self._method.theta.minimise(problem, problem.box, most, problem.start)

        def note(_: Trial) -> None:
            if problem.count > getattr(self._method.theta, "most_modelled", inf):
                self._problem.remark(LEFT_OUT)

        best = yield from self._hearing.of(asking, note)
        self._tuned.add(pipeline)
        self._known.note(pipeline, problem.tried)
        before = self._members(self.state.point)
        self.state = self._splitting.updated(self._splitting.copied(problem.after(best)))
        self._trial = problem.trial(best)
        self._keep(pipeline, is_other=self._members(self.state.point) != before)

    def _keep(self, pipeline: Pipeline, *, is_other: bool) -> None:
        """Store the current state as that of a pipeline.

        With `is_other`, theta of the pipeline has changed. If theta belongs to single pipelines, the selector then
        forgets what it knows of this one, because that is outdated.
        """
        self._thetas.keep(pipeline, self.state)
        if is_other and self._method.scope == "pipeline":
            self._method.z.forget(pipeline)

    # ---- z

    def _z_min(self, calls: int) -> Search:
        """Run z-min: switch to the best pipeline found if it is better than the current one."""
        if self._choosing.tree.leaves == 1:
            return
        problem = ZMin(self._members, self._choosing, self._thetas, self._residuals, self.state)
        if self._trial is None:  # with `first="z"`, the result must be no worse than the start
            (self._trial,) = yield from self._hearing.of(together([problem.request(self._pipeline)]), self._note)
        selection = problem.selection(self._problem, self._hearing.room)
        asking = self._method.z.select(selection, calls, self._pipeline)
        found = yield from self._hearing.of(asking, self._note)
        (trial,) = yield from self._hearing.of(together([problem.request(found)]), self._note)
        if selection.order(trial) < selection.order(self._trial):
            self._trial = trial
            self.state = self._thetas.of(found, self.state)

    def _note(self, trial: Trial) -> None:
        """Record a trial under its pipeline, as a known point for a later theta-min."""
        pipeline = self._choosing.pipeline(self._form.encode(trial.request.configuration))
        point = self._thetas.of(pipeline, self.state).point
        self._known.note(pipeline, [(self._cube(point).theta(point), trial)])

    # ---- restart

    def _go_elsewhere(self) -> Asking[bool]:
        """Restart from another point; return False if there is none.

        The first choice is a pipeline next to the best one that was never tuned. Otherwise it is a configuration that
        was not evaluated.
        """
        if (yield from self._go_next_to_best()):
            return True
        request = next((each for each in map(Request, self._unseen) if each not in self._hearing.trials), None)
        if request is None:
            return False
        (self._trial,) = yield from self._hearing.of(together([request]))
        point = self._form.encode(request.configuration)
        pipeline, owned = self._choosing.pipeline(point), self._form.owned(point)
        self.state = self._splitting.begun(self._thetas.of(pipeline, self.state), point, owned)
        self._keep(pipeline, is_other=True)
        return True

    def _go_next_to_best(self) -> Asking[bool]:
        """Restart from a pipeline that differs from the best one in a single decision and was never tuned.

        The hyperparameters stay those of the best one. Returns False if there is no such pipeline. z-min alone hardly
        ever leaves a tuned pipeline, because it compares it with pipelines that are not tuned.
        """
        if self._best is None:
            return False
        _, best = self._best
        pipeline = self._choosing.pipeline(best.point)
        around = islice(self._choosing.tree.walk(pipeline, 1), MOST_AROUND)
        near = [each for each in around if each not in self._tuned]
        for place in self._problem.rng.permutation(len(near)):
            state = self._splitting.begun(
                self._thetas.of(pipeline, self.state), best.point, self._form.owned(best.point)
            )
            state = self._thetas.of(near[place], state)
            self._tuned.add(near[place])
            member = self._members(state.point)
            if member is not None:
                self.state = state  # set before the request, because trials are recorded at its theta
                (self._trial,) = yield from self._hearing.of(together([Request(member)]), self._note)
                self._keep(near[place], is_other=False)
                return True
        return False

    def _cube(self, point: AdmmPoint) -> Cube:
        return Cube.of(self._form, self._form.owned(point))

    @property
    def _pipeline(self) -> Pipeline:
        return self._choosing.pipeline(self.state.point)
