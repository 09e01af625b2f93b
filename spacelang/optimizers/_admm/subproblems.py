"""The sub-problems of ADMM for a fixed pipeline (theta-min) and for the choice of the pipeline (z-min).

See spacelang/optimizers/README.md, sections "ADMM: theta-min" and "ADMM: z-min".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from spacelang.deprecation import renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.ir.expr import And, BranchTest, Expr, Or
from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Branch, Choice, Constraint, Product, ProductKind, Space
from spacelang.ir.trial import Request, Trial
from spacelang.minimizers import Box, Point
from spacelang.optimizers._admm import (
    NO_MEMBER_KEY,
    AdmmState,
    AdmmUpdateSteps,
    ConstraintResiduals,
    NearestMemberCache,
    Theta,
    ThetaCube,
    constraint_values,
)
from spacelang.optimizers._selection import SelectionProblem, zero_penalty
from spacelang.sampling.value_codes import Array
from spacelang.solver.counting import Structures
from spacelang.surrogates import Dimension, choose_trials_for_densities
from spacelang.targets.admm import AdmmForm, AdmmPoint, OneHotBlock, StepOrderDecision
from spacelang.targets.blds import DiscrepancyTree, Pipeline


@renamed_attributes(number="value", room="idle_workers")
class ThetaSubproblem:
    """The augmented loss as a function of theta, for the z of a state; it implements `MinimizationProblem`.

    Points are those of the unit cube of `ThetaCube`, followed by the slacks if these are searched. The augmented loss
    is the sum of

    - the normalized loss of the trial,
    - the penalty for the distance of theta~ from b,
    - the penalty of the black-box constraints, with the best slacks, or with those of the point if slacks are searched.

    A failure has the largest value so far, and at least 1 plus the largest penalty so far, which puts it behind every
    success. It has no penalty of constraints, and its residuals are 0.
    """

    def __init__(
        self,
        form: AdmmForm,
        splitting: AdmmUpdateSteps,
        residuals: ConstraintResiduals,
        state: AdmmState,
        rng: Generator,
        *,
        idle_workers: int = 1,
        earlier: Iterable[tuple[Theta, Trial]] = (),
        searches_slack: bool = False,
        members: NearestMemberCache | None = None,
    ) -> None:
        """Create the objective of one theta-min.

        `earlier` are known trials with the same z and orders, each with its owned theta; their values are computed anew
        with the current penalty. `idle_workers` is that of the latest event. With
        `searches_slack`, the slacks are additional variables, unless there is no variable of theta. `members` is the
        cache of the form.
        """
        self._space = form.space
        self._splitting, self._residuals, self._state = splitting, residuals, state
        self._members = NearestMemberCache(form) if members is None else members
        self._owned = form.variables_of_selected_alternatives(state.point)
        self._target = splitting.theta_with_least_penalty(state)
        self.trials: dict[Point, Trial] = {}
        self._new: dict[Point, Trial] = {}
        self._exact_theta: dict[Point, Theta] = {}
        """The exact theta of known points, because decoding a point may change the last bits of floats."""
        self._largest_penalty = 0.0
        self.cube = ThetaCube.from_mask(form, self._owned)
        self._slack_count = len(residuals) if searches_slack and self.cube.variable_count else 0
        self.rng = rng
        self.idle_workers = idle_workers
        self.known: list[tuple[Point, float]] = []
        self._add_known(earlier)

    def _add_known(self, earlier: Iterable[tuple[Theta, Trial]]) -> None:
        numbers: list[float] = []
        for theta, trial in earlier:
            place = self._encode(theta, self._state.slack if trial.loss is None else self._best_slack(trial))
            if place not in self._exact_theta:
                self._exact_theta[place] = theta
                numbers.append(self.value(place, trial, numbers))
                self.known.append((place, numbers[-1]))
        self._new.clear()

    @property
    def unit_dimensions(self) -> Box:
        """The dimensions, each [0, 1] without members, since the penalty also changes between two integers."""
        found = [
            *self.cube.theta_c.prior_quantile_functions(self._space),
            *self.cube.theta_d.prior_quantile_functions(self._space),
        ]
        return (*(Dimension(quantiles=each) for each in found), *[Dimension()] * self._slack_count)

    @property
    def start_point(self) -> Point:
        """The point of the current theta."""
        return self._encode(self.cube.theta_of(self._state.point), self._state.slack)

    def request(self, place: Point) -> Request | None:
        """Return the request for the nearest member of a point with the same z, or None if there is none."""
        found = self._members(self._decode(place))
        return None if found is None else Request(found)

    def value(self, place: Point, trial: Trial | None, seen: Sequence[float]) -> float:
        """Return the augmented loss of a point, or the largest value in `seen` after a failure.

        It is a failure, too, if the point represents no member (`trial` is None). See the class.
        """
        if trial is not None:
            self.trials[place] = self._new[place] = trial
        if trial is None or trial.loss is None:
            return max(max(seen, default=0.0), 1.0 + self._largest_penalty)
        penalty = self._penalty(place, trial)
        self._largest_penalty = max(self._largest_penalty, penalty)
        return trial.normalized_loss + penalty

    def updated_state(self, best: Point) -> AdmmState:
        """Return the state with theta and the slacks of the best point; a failed trial changes no slacks."""
        state = self._splitting.with_theta(self._state, self._decode(best), self._owned)
        trial = self.trials.get(best)
        return state if trial is None or trial.loss is None else replace(state, slack=self._slack_at(best, trial))

    @property
    def new_trials(self) -> Iterator[tuple[Theta, Trial]]:
        """The trials that were not known before, each with its theta; the next theta-min gets them as `earlier`."""
        return ((self.cube.theta_of(self._decode(place)), trial) for place, trial in self._new.items())

    def _encode(self, theta: Theta, slack: Array) -> Point:
        place = tuple(self.cube.encode(theta).tolist())
        most = self._residuals.max_slack
        shares = np.divide(slack, most, out=np.zeros_like(most), where=most > 0) if self._slack_count else ()
        return (*place, *(float(share) for share in shares))

    def _decode(self, place: Point) -> AdmmPoint:
        if place in self._exact_theta:
            return self.cube.copy_with_theta(self._exact_theta[place], self._state.point)
        return self.cube.decode(np.array(place[: self.cube.variable_count]), self._state.point)

    def _penalty(self, place: Point, trial: Trial) -> float:
        apart = self._splitting.penalty(self._decode(place).theta_d, self._target, self._owned.theta_d)
        return float(apart) + self._residuals.trial_penalty(trial, self._slack_at(place, trial), self._state.mu)

    def _slack_at(self, place: Point, trial: Trial) -> Array:
        if not self._slack_count:
            return self._best_slack(trial)
        return np.asarray(self._residuals.max_slack * np.array(place[self.cube.variable_count :]))

    def _best_slack(self, trial: Trial) -> Array:
        return self._residuals.best_slack(self._residuals.excess(constraint_values(trial)), self._state.mu)


class PipelineChoiceTree:
    """The discrepancy tree over z and the orders of a form, with conversions between pipelines and ADMM points."""

    def __init__(self, form: AdmmForm) -> None:
        self._form = form
        self._orders = {order.address: order for order in form.orders}
        self._orders_inside: dict[tuple[str, str], dict[str, StepOrderDecision]] = {}
        """The orders inside each alternative, by (address of the block, alternative), then by address in the tree."""
        stages = [
            *map(self._stage_choice, form.blocks),
            *(_order_choice(each, each.address) for each in self._top_level_orders),
        ]
        excluded = (tuple(starmap(self._term_expression, rule.terms)) for rule in form.linear_constraints)
        rules = tuple(Constraint(And(terms), True) for terms in excluded)
        space = Space(form.space.name, Product(ProductKind.SEQUENCE, tuple(stages)), rules)
        self.tree = DiscrepancyTree(Structures(space))

    @property
    def _top_level_orders(self) -> Iterator[StepOrderDecision]:
        return (order for order in self._form.orders if order.owner is None)

    def pipeline_of(self, point: AdmmPoint) -> Pipeline:
        """Return the pipeline of a point whose z and orders contain only 0 and 1."""
        taken = {
            order.address: order.branches[int(order.nearest_order_indices(matrix[None])[0])]
            for order, matrix in zip(self._form.orders, point.orders, strict=True)
        }
        structure = {order.address: taken[order.address] for order in self._top_level_orders}
        for block in self._form.blocks:
            name = block.alternatives[int(point.z[block.columns].argmax())].name
            structure[block.address] = name
            inside = self._orders_inside[block.address, name]
            structure |= {address: taken[order.address] for address, order in inside.items()}
        return self.tree.pipeline_of(structure)

    def point_of(self, pipeline: Pipeline, base: AdmmPoint) -> AdmmPoint:
        """Return a point with theta of `base`, and with z and the orders of a pipeline.

        Orders that the pipeline does not reach have their default. The arrays are shared: do not write to them.
        """
        structure = self.tree.structure_of(pipeline)
        z = np.zeros(self._form.layout.width, np.int8)
        orders = {order.address: order.default for order in self._form.orders}
        for block in self._form.blocks:
            name = structure[block.address]
            z[block.start + [way.name for way in block.alternatives].index(name)] = 1
            for address, order in self._orders_inside[block.address, name].items():
                orders[order.address] = order.branches.index(structure[address])
        for order in self._top_level_orders:
            orders[order.address] = order.branches.index(structure[order.address])
        matrices = tuple(order.matrices[orders[order.address]] for order in self._form.orders)
        return AdmmPoint(z, base.theta_c, base.theta_d, matrices)

    def _stage_choice(self, block: OneHotBlock) -> Choice:
        usual = next(iter(block.alternatives_by_branch.get(self._form.choices[block.address].default, (0,))))
        return Choice(block.stage, block.address, block.stage, tuple(self._branches(block)), usual)

    def _branches(self, block: OneHotBlock) -> Iterator[Branch]:
        weights = self._form.weights_of(block)
        for place, way in enumerate(block.alternatives):
            inside = {
                f"{block.address}.{way.name}:{order.address}": order
                for order in self._form.orders
                if order.owner == (block.stage, way.branch)
            }
            self._orders_inside[block.address, way.name] = inside
            steps = tuple(_order_choice(order, address) for address, order in inside.items())
            weight = 1.0 if weights is None else float(weights[place])
            yield Branch(way.name, Product(ProductKind.SEQUENCE, steps), weight)

    def _term_expression(self, address: str, places: tuple[int, ...]) -> Expr:
        block = next((each for each in self._form.blocks if each.address == address), None)
        if block is not None:
            return BranchTest(address, tuple(block.alternatives[place].name for place in places))
        order = self._orders[address]
        names = tuple(order.branches[place] for place in places)
        if order.owner is None:
            return BranchTest(address, names)
        ways = [each for inside in self._orders_inside.values() for each, found in inside.items() if found is order]
        return Or(tuple(BranchTest(each, names) for each in ways))


Scope: TypeAlias = Literal["algorithm", "pipeline"]
"""Where tuned hyperparameters apply: in every pipeline with the algorithm, or only in the tuned pipeline."""


class ThetaStateStore:
    """The state of theta of each pipeline: shared by all pipelines, or one for each of them."""

    def __init__(self, scope: Scope, choosing: PipelineChoiceTree, start: AdmmState) -> None:
        self._scope, self._choosing, self._start = scope, choosing, start
        self._state_by_pipeline: dict[Pipeline, AdmmState] = {}

    def state_of(self, pipeline: Pipeline, present: AdmmState) -> AdmmState:
        """Return the stored state of a pipeline, but with the slacks and constraint multipliers of the `present` state.

        It is the start if none is stored for the pipeline, or the `present` state if all pipelines share one state.
        """
        found = present if self._scope == "algorithm" else self._state_by_pipeline.get(pipeline, self._start)
        return replace(found, point=self._choosing.point_of(pipeline, found.point), slack=present.slack, mu=present.mu)

    def store(self, pipeline: Pipeline, state: AdmmState) -> None:
        """Store the state of a pipeline; does nothing if all pipelines share one state."""
        if self._scope == "pipeline":
            self._state_by_pipeline[pipeline] = state


class PipelineTrials:
    """Trials by pipeline on all rows, each with the theta that the pipeline owns, as bytes: there may be thousands."""

    def __init__(self) -> None:
        self._packed_trials: dict[Pipeline, list[tuple[bytes, Trial]]] = {}

    def record(self, pipeline: Pipeline, tried: Iterable[tuple[Theta, Trial]]) -> None:
        """Add trials of a pipeline, each with its theta."""
        packed = ((np.concatenate(theta).tobytes(), trial) for theta, trial in tried)
        self._packed_trials.setdefault(pipeline, []).extend(packed)

    def trials_of(self, pipeline: Pipeline, cube: ThetaCube) -> Iterator[tuple[Theta, Trial]]:
        """Yield the trials of a pipeline in order of addition, each with its theta; `cube` is that of the pipeline.

        Of many trials it yields those that `choose_trials_for_densities` chooses, as each theta-min examines them all.
        """
        known = self._packed_trials.get(pipeline, [])
        for place in choose_trials_for_densities([trial.loss for _, trial in known]):
            packed, trial = known[place]
            numbers, integers = np.split(np.frombuffer(packed), [len(cube.numbers)])
            yield (numbers, integers), trial


class ZSubproblem:
    """The pipelines at the current theta, as the z-min of one iteration evaluates them."""

    def __init__(
        self,
        members: NearestMemberCache,
        choosing: PipelineChoiceTree,
        thetas: ThetaStateStore,
        residuals: ConstraintResiduals,
        state: AdmmState,
    ) -> None:
        self._members, self._choosing, self._thetas, self._residuals = members, choosing, thetas, residuals
        self._state = state
        self._configurations: dict[Pipeline, Configuration] = {}

    def selection_problem(self, problem: Problem, idle_workers: int) -> SelectionProblem:
        """Return the selection problem; losses are augmented by the constraint penalty at the current slacks."""
        augmented = partial(self._residuals.trial_penalty, slack=self._state.slack, mu=self._state.mu)
        penalty = augmented if len(self._residuals) else zero_penalty
        pipelines = self._choosing.tree, self.configuration, problem.size, problem.rng
        return SelectionProblem(*pipelines, penalty, idle_workers, admits=self.admits, remark=problem.remark)

    def configuration(self, pipeline: Pipeline) -> Configuration:
        """Return the configuration of a pipeline at the current theta.

        If no member has its z, the configuration has the key `NO_MEMBER_KEY`, is never evaluated and counts as failed.
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


def _order_choice(order: StepOrderDecision, address: str) -> Choice:
    branches = tuple(Branch(name, Product(ProductKind.SEQUENCE)) for name in order.branches)
    return Choice(order.stage, address, address, branches, order.default)
