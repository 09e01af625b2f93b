"""The tree of pipelines that z-min searches: one layer for each block of z and for each order of steps.

The leaves are the pipelines that the linear constraints over z admit. Nested decisions are no layers of the tree: under
`mask` they are integers of theta_d, under `flatten` they are further alternatives of z.

See spacelang/optimizers/README.md, section "ADMM: z-min".
"""

from collections.abc import Iterator

import numpy as np

from spacelang.ir.expr import And, Expr, Is, Or
from spacelang.ir.space import Branch, Choice, Constraint, Product, ProductKind, Space
from spacelang.solver.counting import Structures
from spacelang.targets.admm import AdmmForm, AdmmPoint, Block, LinearConstraint, StepOrder
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
        rules = tuple(Constraint(self._excluded_expression(rule), True) for rule in form.linear_constraints)
        self.tree = DiscrepancyTree(
            Structures(Space(form.space.name, Product(ProductKind.SEQUENCE, tuple(stages)), rules))
        )

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
        for way in block.alternatives:
            inside = {
                f"{block.address}.{way.name}:{order.address}": order
                for order in self._form.orders
                if order.owner == (block.stage, way.branch)
            }
            self._orders_inside[block.address, way.name] = inside
            steps = tuple(_order_choice(order, address) for address, order in inside.items())
            yield Branch(way.name, Product(ProductKind.SEQUENCE, steps))

    def _excluded_expression(self, rule: LinearConstraint) -> Expr:
        """Return what a linear constraint excludes, as an expression over the decisions of the tree."""
        return And(tuple(self._term_expression(address, places) for address, places in rule.terms))

    def _term_expression(self, address: str, places: tuple[int, ...]) -> Expr:
        block = next((each for each in self._form.blocks if each.address == address), None)
        if block is not None:
            return Is(address, tuple(block.alternatives[place].name for place in places))
        order = self._orders[address]
        names = tuple(order.branches[place] for place in places)
        if order.owner is None:
            return Is(address, names)
        ways = [each for inside in self._orders_inside.values() for each, found in inside.items() if found is order]
        return Or(tuple(Is(each, names) for each in ways))


def _order_choice(order: StepOrder, address: str) -> Choice:
    branches = tuple(Branch(name, Product(ProductKind.SEQUENCE)) for name in order.branches)
    return Choice(order.stage, address, address, branches, order.default)
