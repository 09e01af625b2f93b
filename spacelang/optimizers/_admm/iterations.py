"""The main loop of ADMM: theta-min, delta-min, z-min and the update of the multipliers, repeatedly.

See spacelang/optimizers/README.md, section "ADMM: iteration".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from typing import Final, Literal

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, Problem, Search, SearchCoroutine, ask_all
from spacelang.ir.space import SKIPPED_STEP, Choice
from spacelang.ir.trial import Request, Trial
from spacelang.minimizers import Minimizer
from spacelang.optimizers._admm import (
    AdmmState,
    AdmmUpdateSteps,
    ConstraintResiduals,
    NearestMemberCache,
    ThetaCube,
    TrialCache,
)
from spacelang.optimizers._admm.subproblems import (
    PipelineChoiceTree,
    PipelineTrials,
    Scope,
    ThetaStateStore,
    ThetaSubproblem,
    ZSubproblem,
)
from spacelang.optimizers._draws import UniqueConfigurations
from spacelang.optimizers._selection import Selector
from spacelang.solver.defaults import DefaultCompleter
from spacelang.surrogates import SUBSAMPLING_NOTE
from spacelang.targets.admm import AdmmForm, AdmmPoint
from spacelang.targets.blds import DiscrepancyTree, Pipeline


@dataclass(frozen=True, slots=True)
class CallSchedule:
    """A schedule of I_t = min(most, first + growth * t) calls in iteration t = 0, 1, 2, ...

    With `growth=0` the number of calls is constant. The adaptive schedules F8 and F16 of the papers have a growth of 8
    and 16, from 16 up to 128 calls, or up to 256 on their artificial objective. They spend few calls while theta and z
    are far apart, and more later.
    """

    first: int = 16
    growth: int = 0
    most: int = 128

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.most:
            raise ValueError(f"a schedule needs 1 <= first <= most, but they are {self.first} and {self.most}")
        if self.growth < 0:
            raise ValueError(f"a schedule needs a growth of at least 0, but it is {self.growth}")

    @classmethod
    def fixed(cls, calls: int) -> "CallSchedule":
        """Return a schedule with the same number of calls in every iteration."""
        return cls(calls, 0, calls)

    def calls(self, iteration: int) -> int:
        """Return I_t, the number of calls of each of the two sub-problems; `iteration` counts from 0."""
        return min(self.most, self.first + self.growth * iteration)


@dataclass(frozen=True, slots=True)
class AdmmIterationSettings:
    """The settings of the iterations: the solvers of the two sub-problems, their order and their numbers of calls."""

    theta: Minimizer
    z: Selector
    schedule: CallSchedule
    first: Literal["theta", "z"] = "theta"
    scope: Scope = "algorithm"
    searches_slack: bool = False
    reuses_history: bool = True
    patience: int = 1
    """The number of iterations in a row with almost no gain after which the search restarts from another point."""


MAX_NEIGHBOURS: Final = 4_096
"""The maximum number of neighbours of the best z to consider, since there can be many orders of steps."""
MIN_RELATIVE_GAIN: Final = 0.01
"""The least improvement of the best normalized loss, as a share of it, that counts as a gain of an iteration."""


def _sort_key(trial: Trial) -> tuple[float, float]:
    """Return the sort key of a successful trial, smaller is better: the excess over the bounds first, then the loss."""
    return trial.excess, trial.normalized_loss


class AdmmIterations:
    """The ADMM iterations of one run, with their current state.

    `state` belongs to the current z. `iteration` counts from 0, and starts again at 0 after every restart.
    """

    def __init__(
        self,
        method: AdmmIterationSettings,
        problem: Problem,
        form: AdmmForm,
        splitting: AdmmUpdateSteps,
        residuals: ConstraintResiduals,
    ) -> None:
        self._method, self._problem, self._form = method, problem, form
        self._splitting, self._residuals = splitting, residuals
        self._choice_tree = PipelineChoiceTree(form)
        self._members = NearestMemberCache(form)
        self._cache = TrialCache()
        self._pipeline_trials = PipelineTrials()
        self._random_configurations = UniqueConfigurations(
            DiscrepancyTree(form.structures), problem.rng
        ).each_once_in_random_order()
        start = splitting.initial_state(starting_point_of_search(form, problem.initial))
        self.state = replace(start, slack=residuals.initial_multipliers, mu=residuals.initial_multipliers)
        self.iteration = 0
        self._current_trial: Trial | None = None
        """The trial of the current z at the current theta on all rows; None if there is none."""
        self._best: tuple[Trial, AdmmState] | None = None
        """The best trial at the end of an iteration, with its state."""
        self._tuned_pipelines: set[Pipeline] = set()
        """The pipelines that were tuned, or are about to be."""
        self._thetas = ThetaStateStore(method.scope, self._choice_tree, self.state)

    def run(self) -> Search:
        """Iterate until no configuration is left to evaluate."""
        self._cache.idle_workers = (yield Ask()).idle_workers
        idle = 0
        while True:
            news = self._cache.new_trial_count
            yield from self.run_iteration()
            self.iteration += 1
            idle = 0 if self._has_improved() and self._cache.new_trial_count > news else idle + 1
            if idle == self._method.patience:
                idle = self.iteration = 0
                if not (yield from self._restart()):
                    return

    def _has_improved(self) -> bool:
        """Return True if the iteration justifies another one from its state; store the state if it is the best so far.

        This is so if its trial is the first success, violates a bound, or is better than the best trial before it by
        `MIN_RELATIVE_GAIN`. It is not so after a failure.
        """
        if self._current_trial is None or self._current_trial.loss is None:
            return False
        before = self._best
        if before is None or _sort_key(self._current_trial) < _sort_key(before[0]):
            self._best = self._current_trial, self.state
        if before is None or not self._current_trial.is_feasible:
            return True  # the penalty of a violated bound grows in every iteration
        excess, loss = _sort_key(before[0])
        return _sort_key(self._current_trial) < (excess, loss - MIN_RELATIVE_GAIN * abs(loss))

    def run_iteration(self) -> Search:
        """Run one iteration: both sub-problems in the order of the method, then update the constraint multipliers."""
        calls = self._method.schedule.calls(self.iteration)
        steps = (self._theta_min, self._z_min) if self._method.first == "theta" else (self._z_min, self._theta_min)
        for step in steps:
            yield from step(calls)
        if self._current_trial is not None:
            residuals = self._residuals.trial_residuals(self._current_trial, self.state.slack)
            self.state = replace(self.state, mu=self._residuals.updated_multipliers(self.state.mu, residuals))

    def _theta_min(self, calls: int) -> Search:
        """Run theta-min, then delta-min and the update of the theta multipliers, which z-min leaves alone."""
        pipeline = self._current_pipeline
        known = self._pipeline_trials.trials_of(pipeline, self._owned_cube(self.state.point))
        given = self._form, self._splitting, self._residuals, self.state, self._problem.rng
        earlier = known if self._method.reuses_history else ()
        slack, idle_workers = self._method.searches_slack, self._cache.idle_workers
        problem = ThetaSubproblem(
            *given, idle_workers=idle_workers, earlier=earlier, searches_slack=slack, members=self._members
        )
        # With few members, most calls would only repeat known trials.
        most = int(min(calls, problem.cube.max_members))
        asking = self._method.theta.minimise(problem, problem.unit_dimensions, most, problem.start_point)

        def note(_: Trial) -> None:
            if len(problem.trials) > getattr(self._method.theta, "most_modelled", inf):
                self._problem.remark(SUBSAMPLING_NOTE)

        best = yield from self._cache.run_with_cached_trials(asking, note)
        self._tuned_pipelines.add(pipeline)
        self._pipeline_trials.record(pipeline, problem.new_trials)
        before = self._members(self.state.point)
        self.state = self._splitting.with_multipliers(self._splitting.with_delta(problem.updated_state(best)))
        self._current_trial = problem.trials.get(best)
        self._store_state(pipeline, is_other=self._members(self.state.point) != before)

    def _store_state(self, pipeline: Pipeline, *, is_other: bool) -> None:
        """Store the present state as that of a pipeline; `is_other` says that its theta has changed.

        The selector then forgets the trials of the pipeline, unless all pipelines share one theta.
        """
        self._thetas.store(pipeline, self.state)
        if is_other and self._method.scope == "pipeline":
            self._method.z.forget(pipeline)

    def _z_min(self, calls: int) -> Search:
        """Run z-min with `calls` iterations of the selector; the best one found becomes current if it is better."""
        if self._choice_tree.tree.leaf_count == 1:
            return
        problem = ZSubproblem(self._members, self._choice_tree, self._thetas, self._residuals, self.state)
        if self._current_trial is None:  # with `first="z"`, the result must be no worse than the start
            request = problem.request(self._current_pipeline)
            (self._current_trial,) = yield from self._cache.run_with_cached_trials(ask_all([request]), self._record)
        selection = problem.selection_problem(self._problem, self._cache.idle_workers)
        asking = self._method.z.select(selection, calls, self._current_pipeline)
        found = yield from self._cache.run_with_cached_trials(asking, self._record)
        (trial,) = yield from self._cache.run_with_cached_trials(ask_all([problem.request(found)]), self._record)
        if selection.sort_key(trial) < selection.sort_key(self._current_trial):
            self._current_trial = trial
            self.state = self._thetas.state_of(found, self.state)

    def _record(self, trial: Trial) -> None:
        """Record a trial under its pipeline, as a known point for a later theta-min."""
        pipeline = self._choice_tree.pipeline_of(self._form.encode(trial.request.configuration))
        point = self._thetas.state_of(pipeline, self.state).point
        self._pipeline_trials.record(pipeline, [(self._owned_cube(point).theta_of(point), trial)])

    def _restart(self) -> SearchCoroutine[bool]:
        """Restart next to the best pipeline, else at a configuration not evaluated; return False if there is none."""
        if (yield from self._restart_next_to_best()):
            return True
        drawn = map(Request, self._random_configurations)
        request = next((each for each in drawn if each not in self._cache.trials), None)
        if request is None:
            return False
        (self._current_trial,) = yield from self._cache.run_with_cached_trials(ask_all([request]))
        point = self._form.encode(request.configuration)
        pipeline, owned = self._choice_tree.pipeline_of(point), self._form.variables_of_selected_alternatives(point)
        self.state = self._splitting.restart_at(self._thetas.state_of(pipeline, self.state), point, owned)
        self._store_state(pipeline, is_other=True)
        return True

    def _restart_next_to_best(self) -> SearchCoroutine[bool]:
        """Restart from a pipeline one decision away from the best that was never tuned; return False if there is none.

        The hyperparameters stay those of the best one. z-min alone hardly ever leaves a tuned pipeline for another one.
        """
        if self._best is None:
            return False
        _, best = self._best
        pipeline = self._choice_tree.pipeline_of(best.point)
        around = islice(self._choice_tree.tree.walk(pipeline, 1), MAX_NEIGHBOURS)
        near = [each for each in around if each not in self._tuned_pipelines]
        for place in self._problem.rng.permutation(len(near)):
            owned = self._form.variables_of_selected_alternatives(best.point)
            state = self._splitting.restart_at(self._thetas.state_of(pipeline, self.state), best.point, owned)
            state = self._thetas.state_of(near[place], state)
            self._tuned_pipelines.add(near[place])
            member = self._members(state.point)
            if member is not None:
                self.state = state  # set before the request, because trials are recorded at its theta
                (self._current_trial,) = yield from self._cache.run_with_cached_trials(
                    ask_all([Request(member)]), self._record
                )
                self._store_state(near[place], is_other=False)
                return True
        return False

    def _owned_cube(self, point: AdmmPoint) -> ThetaCube:
        return ThetaCube.from_mask(self._form, self._form.variables_of_selected_alternatives(point))

    @property
    def _current_pipeline(self) -> Pipeline:
        return self._choice_tree.pipeline_of(self.state.point)


FIRST_ESTIMATOR: Final = "GaussianNB"  # The estimator of the first pipeline in the ADMM paper; used if a stage has it


def starting_point_of_search(form: AdmmForm, initial: Sequence[Configuration] = ()) -> AdmmPoint:
    """Return the point of the first initial configuration, or of the simplest pipeline if there is none.

    The simplest pipeline skips every optional step and ends in naive Bayes, as far as the constraints allow. All other
    decisions and all hyperparameters have their defaults, or are as near to them as the constraints allow.
    """
    if initial:
        return form.encode(initial[0])
    structures, taken = form.structures, dict[str, str]()
    for stage in form.space.stages:
        for branch in _simple_alternatives(stage):
            if structures.existence_solver.condition({**taken, stage.address: branch}).has_structures:
                taken[stage.address] = branch
                break
    return form.encode(DefaultCompleter(structures).complete(structures.nearest_structure(taken)))


def _simple_alternatives(stage: Choice) -> Iterator[str]:
    """Yield the names of the simple alternatives of a stage, the simplest first."""
    yield from (branch.name for branch in stage.branches if branch.node == SKIPPED_STEP)
    yield from (branch.name for branch in stage.branches if branch.name == FIRST_ESTIMATOR)
