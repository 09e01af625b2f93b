"""Z-min: the tree of pipelines, and their selection at the current theta."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import starmap
from typing import Literal, TypeAlias

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.ir.expr import And, BranchTest, Expr, Or
from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Branch, Choice, Constraint, Product, ProductKind, Space
from spacelang.ir.trial import Request
from spacelang.optimizers._admm.algebra import ConstraintResiduals, Iterate
from spacelang.optimizers._admm.points import NearestMemberCache
from spacelang.optimizers._admm.trial_cache import NO_MEMBER_KEY
from spacelang.optimizers._selection import SelectionProblem, no_penalty
from spacelang.solver.counting import Structures
from spacelang.targets.admm import AdmmForm, AdmmPoint, Block, StepOrder
from spacelang.targets.blds import DiscrepancyTree, Pipeline


class PipelineChoiceTree:
    """The discrepancy tree over z and the orders of a form, with conversions between pipelines and ADMM points."""

    def __init__(self, form: AdmmForm) -> None:
        self._form = form
        self._orders = {order.address: order for order in form.orders}
        self._orders_inside: dict[tuple[str, str], dict[str, StepOrder]] = {}
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
    def _top_level_orders(self) -> Iterator[StepOrder]:
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

    def _stage_choice(self, block: Block) -> Choice:
        usual = next(iter(block.alternatives_by_branch.get(self._form.choices[block.address].default, (0,))))
        return Choice(block.stage, block.address, block.stage, tuple(self._branches(block)), usual)

    def _branches(self, block: Block) -> Iterator[Branch]:
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

    def __init__(self, scope: Scope, choosing: PipelineChoiceTree, start: Iterate) -> None:
        self._scope, self._choosing, self._start = scope, choosing, start
        self._state_by_pipeline: dict[Pipeline, Iterate] = {}

    def state_of(self, pipeline: Pipeline, present: Iterate) -> Iterate:
        """Return the state of a pipeline, with the slacks and constraint multipliers of the `present` state."""
        found = present if self._scope == "algorithm" else self._state_by_pipeline.get(pipeline, self._start)
        return replace(found, point=self._choosing.point_of(pipeline, found.point), slack=present.slack, mu=present.mu)

    def store(self, pipeline: Pipeline, state: Iterate) -> None:
        """Store the state of a pipeline; does nothing if all pipelines share one state."""
        if self._scope == "pipeline":
            self._state_by_pipeline[pipeline] = state


class ZSubproblem:
    """The pipelines at the current theta, as the z-min of one iteration evaluates them."""

    def __init__(
        self,
        members: NearestMemberCache,
        choosing: PipelineChoiceTree,
        thetas: ThetaStateStore,
        residuals: ConstraintResiduals,
        state: Iterate,
    ) -> None:
        self._members, self._choosing, self._thetas, self._residuals = members, choosing, thetas, residuals
        self._state = state
        self._configurations: dict[Pipeline, Configuration] = {}

    def selection_problem(self, problem: Problem, room: int) -> SelectionProblem:
        """Return the selection problem; losses are augmented by the constraint penalty at the current slacks."""
        augmented = partial(self._residuals.trial_penalty, slack=self._state.slack, mu=self._state.mu)
        penalty = augmented if len(self._residuals) else no_penalty
        pipelines = self._choosing.tree, self.configuration, problem.size, problem.rng
        return SelectionProblem(*pipelines, penalty, room, admits=self.admits, remark=problem.remark)

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


def _order_choice(order: StepOrder, address: str) -> Choice:
    branches = tuple(Branch(name, Product(ProductKind.SEQUENCE)) for name in order.branches)
    return Choice(order.stage, address, address, branches, order.default)
