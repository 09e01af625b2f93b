"""The target `admm`: one-hot blocks z, and the continuous and discrete hyperparameters theta of all algorithms.

z selects one alternative of each stage. theta_c and theta_d have the hyperparameters of all alternatives, including
those that z does not select. A search may move theta_d between the integers of its box. `project` turns any point into
a member, so that only configurations of the space are evaluated.
See spacelang/optimizers/README.md, section "ADMM: variables".
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from spacelang.encodings.mixed_integer_encoding import MixedIntegerEncoding
from spacelang.ir.domain import NOT_FOUND, Grid, NotFound, Real, Union
from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.ir.value import Value
from spacelang.plugins import option
from spacelang.reductions.branch_flattening import MAX_ALTERNATIVES, FlattenedBranch, flatten_branch
from spacelang.sampling.independent_sampling import ValueSampler
from spacelang.sampling.prior_draws import prior_of_address
from spacelang.sampling.value_codes import Array
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import member_nearest_to_default
from spacelang.targets import _lowering
from spacelang.targets._admm.configuration_converter import write_values
from spacelang.targets._admm.layout import OneHotBlock, StepOrderDecision, ThetaColumns, VariableLayout, make_layout
from spacelang.targets._admm.linear_constraints import LinearConstraint
from spacelang.targets._admm.points import AdmmPoint, AdmmPoints, ThetaCoordinates, VariableMask
from spacelang.targets._admm.rendering import AdmmVariables, FlatteningCounts, dot_graph, form_to_json, text_listing
from spacelang.targets._admm.repair import MemberRepair, ValueFunction
from spacelang.targets._lowering import (
    Construct,
    Finding,
    FormWithTextRepr,
    LoweringResult,
    PreservationTable,
    exact,
    rewritten,
)
from spacelang.targets._reduction_chain import UNIFORM, preserved_by_reductions, uniform_prior_findings

__all__ = [
    "Admm",
    "AdmmForm",
    "AdmmPoint",
    "AdmmPoints",
    "LinearConstraint",
    "OneHotBlock",
    "StepOrderDecision",
    "ThetaCoordinates",
    "VariableMask",
]
AS_MASKS = rewritten("masks, computed from z and theta, select the active hyperparameters")
AS_ALTERNATIVES = rewritten("turned into further alternatives of z")
MASK_NOT_LOCAL = rewritten(
    "expressed as a mask: the condition depends on more than single variables of its own alternative"
)
MASK_OVER_LIMIT = rewritten(f"expressed as a mask: one alternative would be split into more than {MAX_ALTERNATIVES}")
AS_INTEGERS = rewritten("integers of theta_d that belong to the enclosing alternative")
INTEGERS_OVER_LIMIT = rewritten(
    f"integers of theta_d: one alternative would be split into more than {MAX_ALTERNATIVES}"
)
TWO_VARIABLES = rewritten(
    "an integer of theta_d for the member or range, and a variable of theta_c for the value in the range"
)
ENFORCED_BY_PROJECTION = rewritten(
    "enforced by `project`, which moves points to the nearest values that satisfy the constraints"
)
AS_LINEAR_CONSTRAINTS = rewritten("expressed as linear constraints over z")
NOT_LINEAR_OVER_Z = rewritten(
    "enforced by `project`: the constraint depends on integers of theta_d, or connects too many variables for "
    "constraints over z"
)


class AdmmForm(FormWithTextRepr, AdmmVariables):
    """A space as ADMM needs it: blocks of z, orders, theta_c and theta_d, with their constraints.

    Shapes: K is the number of alternatives of all stages together, C and D are the numbers of variables of theta_c and
    theta_d, and T_i is the number of steps of order i. No cost depends on the number of structures.
    """

    @cached_property
    def inequalities(self) -> tuple[Array, Array]:
        """The matrix A and the vector b of A [z, orders] <= b; a step order that is not allowed has a row of its own.

        A has the shape (rows, K + sum of T_i^2), with the orders flattened row by row.
        """
        width = self.layout.width + sum(order.size**2 for order in self.orders)
        rows, most = [], []
        for rule in self.linear_constraints:
            for row, bound in self._matrix_rows(rule, width):
                rows.append(row)
                most.append(bound)
        for order, removed in ((each, removed) for each in self.orders for removed in each.missing_orders):
            rows.append(np.zeros(width, np.int8))
            rows[-1][self._columns_of(order)] = order.matrix_of(removed).ravel()
            most.append(order.size - 1)
        return np.array(rows, np.int8).reshape(len(rows), width), np.array(most, np.int64)

    @cached_property
    def default(self) -> AdmmPoint:
        """The point of the default configuration, or of the member nearest to it if constraints exclude it."""
        return self.encode(member_nearest_to_default(self.structures)[1])

    def accepts(self, point: AdmmPoint) -> bool:
        """Return True if a point satisfies everything, and False if its arrays have wrong shapes.

        Its blocks must be one-hot, its orders permutations, A [z, orders] <= b, and theta in its box and in D. The
        constraints of the space must be satisfied. Inactive variables must be in D too, with any value.
        """
        vectors = [(self.layout.width,), (len(self.theta_c),), (len(self.theta_d),)]
        found = [np.shape(array) for array in (point.z, point.theta_c, point.theta_d, *point.orders)]
        is_shaped = found == [*vectors, *((order.size, order.size) for order in self.orders)]
        return is_shaped and bool(self.accepts_all(AdmmPoints.stack([point]))[0])

    def accepts_all(self, points: AdmmPoints | Sequence[AdmmPoint]) -> Array:
        """Return the results of `accepts` for many points, a boolean array (n,)."""
        points = self.to_points(points)
        found = self._is_structured(points) & self.theta_c.contains(points.theta_c)
        found &= self.theta_d.contains(points.theta_d)
        rows = np.flatnonzero(found)
        if len(rows):
            found[rows] = self.evaluate_constraints(points.take(rows)).is_admitted
        return found

    def _is_structured(self, points: AdmmPoints) -> Array:
        """Return True for each point whose z and orders are valid on their own, a boolean array (n,)."""
        found: Array = ((points.z == 0) | (points.z == 1)).all(axis=1)
        for block in self.blocks:
            found &= points.z[:, block.columns].sum(axis=1) == 1
        for matrices in points.orders:
            found &= ((matrices == 0) | (matrices == 1)).all(axis=(1, 2))
            found &= (matrices.sum(axis=1) == 1).all(axis=1) & (matrices.sum(axis=2) == 1).all(axis=1)
        flat = [matrices.reshape(len(points), -1) for matrices in points.orders]
        coefficients, most = self.inequalities
        together = np.concatenate([points.z, *flat], axis=1)
        # Matrix products of floats are fast, and exact because all numbers are small.
        found &= (together.astype(np.float32) @ coefficients.T.astype(np.float32) <= most).all(axis=1)
        return found

    def project(self, point: AdmmPoint) -> AdmmPoint:
        """Return the nearest point that `accepts` accepts; a point that it accepts is returned unchanged.

        Each block becomes its (first) largest entry, each order the permutation with the largest sum, and theta its
        projection P_D. If that violates a constraint, as few active variables as possible move (see `MemberRepair`).
        """
        return self.project_all(AdmmPoints.stack([point]))[0]

    def project_all(self, points: AdmmPoints | Sequence[AdmmPoint]) -> AdmmPoints:
        """Return the results of `project` for many points."""
        found = self._round_points(self.to_points(points))
        for row in np.flatnonzero(~self.accepts_all(found)).tolist():
            found.replace_rows(np.array([row]), self._repair(found.take(np.array([row]))))
        return found

    def _round_points(self, points: AdmmPoints) -> AdmmPoints:
        z = np.zeros((len(points), self.layout.width), np.int8)
        for block in self.blocks:
            given = np.asarray(points.z[:, block.columns], float)
            largest = np.where(np.isnan(given), -np.inf, given).argmax(axis=1)
            z[np.arange(len(points)), block.start + largest] = 1
        pairs = zip(self.orders, points.orders, strict=True)
        orders = tuple(order.matrices[order.nearest_order_indices(matrices)] for order, matrices in pairs)
        return AdmmPoints(z, self.theta_c.nearest(points.theta_c), self.theta_d.nearest(points.theta_d), orders)

    def _repair(self, points: AdmmPoints) -> AdmmPoints:
        """Return the member nearest to a rounded point, both as a batch of one; inactive variables do not change."""
        found = self.encode_all([self._member_repair.nearest_member(*self._wanted_values(points[0]))])
        active = self.active_masks(found)
        kept = points.copy()
        kept.z[...] = found.z
        kept.theta_c[active.theta_c] = found.theta_c[active.theta_c]
        kept.theta_d[active.theta_d] = found.theta_d[active.theta_d]
        for mine, theirs, counts in zip(kept.orders, found.orders, active.orders, strict=True):
            mine[counts] = theirs[counts]
        return kept

    @cached_property
    def _member_repair(self) -> MemberRepair:
        return MemberRepair(self.structures)

    def _wanted_values(self, point: AdmmPoint) -> tuple[dict[str, str], ValueFunction]:
        """Return the branches of all decisions by address, and a function that returns the value of a hyperparameter.

        They are those of the alternatives that z selects. A variable that these do not have gets the value of the first
        alternative that has it, or else its default.
        """
        taken = [int(point.z[block.columns].argmax()) for block in self.blocks]
        orders = zip(self.orders, point.orders, strict=True)
        places = {order.address: int(order.nearest_order_indices(matrix[None])[0]) for order, matrix in orders}
        places |= {b.address: b.alternatives[n].branch_index for b, n in zip(self.blocks, taken, strict=True)}

        def wanted_value(address: str) -> Value | NotFound:
            known = self._sources.get(address, ())
            slot = next((slot for block, number, slot in known if block is None or taken[block] == number), None)
            if slot is None and known:
                slot = known[0][2]
            if not isinstance(slot, ThetaColumns):
                return NOT_FOUND if slot is None else slot[0]
            whole = 0.0 if slot.integer_column is None else float(point.theta_d[slot.integer_column])
            return slot.coding.value_of(whole, [point.theta_c[column] for column in slot.number_columns])

        def branch(choice: Choice) -> str:
            if choice.address in places:
                return choice.branches[places[choice.address]].name
            found = wanted_value(choice.address)
            return choice.branches[choice.default].name if isinstance(found, NotFound) else str(found)

        def wanted(node: Hyperparameter) -> Value:
            found = wanted_value(node.address)
            return node.default if isinstance(found, NotFound) else found

        return {address: branch(choice) for address, choice in self.choices.items()}, wanted

    @cached_property
    def _sources(self) -> dict[str, list[tuple[int | None, int, "ThetaColumns | tuple[Value]"]]]:
        """The places in a point at which the value of each variable may be found, by its address.

        A place is an index of a block, an index of an alternative in it, and the columns of theta or a tuple with the
        fixed value. The first is None for a variable that belongs to every pipeline.
        """
        found: dict[str, list[tuple[int | None, int, ThetaColumns | tuple[Value]]]] = {}
        for slot in self.layout.always:
            found.setdefault(slot.address, []).append((None, 0, slot))
        for place, block in enumerate(self.blocks):
            for number, alternative in enumerate(block.alternatives):
                for slot in alternative.columns:
                    found.setdefault(slot.address, []).append((place, number, slot))
                settled = alternative.case
                for address, value in (*settled.fixed_values.items(), *settled.branches.items()):
                    if address not in settled.absent:
                        found.setdefault(address, []).append((place, number, (value,)))
        return found

    def sample(self, count: int, rng: Generator) -> list[AdmmPoint]:
        """Draw `count` points; see `sample_all`."""
        return list(self.sample_all(count, rng))

    def sample_all(self, count: int, rng: Generator) -> AdmmPoints:
        """Draw `count` points: each block, order and variable of theta on its own, and then project the point.

        Alternatives follow their weights and theta its priors; otherwise the draw is uniform, or log-uniform under
        `log`. Every member is possible; those near to excluded points are more likely.
        """
        points = self.points_with_default_theta(count)
        rows = np.arange(count)
        for block in self.blocks:
            weights, number = self.weights_of(block), len(block.alternatives)
            drawn = rng.integers(number, size=count) if weights is None else rng.choice(number, size=count, p=weights)
            points.z[rows, block.start + drawn] = 1
        for order, matrices in zip(self.orders, points.orders, strict=True):
            matrices[...] = order.matrices[rng.integers(len(order.branches), size=count)]
        ways = (alternative.columns for block in self.blocks for alternative in block.alternatives)
        for slot in (*self.layout.always, *(slot for slots in ways for slot in slots)):
            domain = slot.coding.domain  # may be a part of the hyperparameter's domain, with the same codes
            codes = ValueSampler(domain, prior_of_address(self.space, slot.address)).draw(count, rng)
            write_values(points, slot, MixedIntegerEncoding(domain, domain), rows, codes)
        return self.project_all(points) if count else points

    def weights_of(self, block: OneHotBlock) -> Array | None:
        """Return the probability of each alternative of a block by `@weight`, or None if all weights are equal.

        The cases of a flattened branch share its weight.
        """
        branches = self.space.variables[block.address].choice.branches
        if self.space.plain_draws or len({branch.weight for branch in branches}) == 1:
            return None
        cases = Counter(alternative.branch_index for alternative in block.alternatives)
        weights = np.array([branches[a.branch_index].weight / cases[a.branch_index] for a in block.alternatives])
        return np.asarray(weights / weights.sum())

    def _columns_of(self, order: StepOrderDecision) -> slice:
        start = self.layout.width + sum(each.size**2 for each in self.orders[: self.orders.index(order)])
        return slice(start, start + order.size**2)

    def _matrix_rows(self, rule: LinearConstraint, width: int) -> Iterator[tuple[Array, int]]:
        """Yield the rows of a linear constraint with their bounds, one for each combination of the orders in it."""
        starts = {block.address: block.start for block in self.blocks}
        by_address = {order.address: order for order in self.orders}
        of_z = [(address, places) for address, places in rule.terms if address in starts]
        of_orders = [(by_address[address], places) for address, places in rule.terms if address in by_address]
        for chosen in product(*(places for _, places in of_orders)):
            row, most = np.zeros(width, np.int8), len(of_z) - 1
            for address, places in of_z:
                row[[starts[address] + place for place in places]] = 1
            for (order, _), place in zip(of_orders, chosen, strict=True):
                row[self._columns_of(order)] = order.matrices[place].ravel()
                most += order.size
            yield row, most

    to_json = form_to_json
    to_text = text_listing
    to_dot = dot_graph


@dataclass(frozen=True, slots=True)
class Admm:
    """Blocks of 0-1 variables z, continuous and integer variables theta, and their constraints."""

    conditions: Literal["mask", "flatten"] = option(
        "mask", "`mask` evaluates conditions on z and theta; `flatten` makes them further alternatives of z"
    )

    paper: ClassVar[str] = "Liu et al., An ADMM Based Framework for AutoML Pipeline Configuration, AAAI 2020"

    preserves: ClassVar[PreservationTable] = {
        **preserved_by_reductions(
            lambda part: isinstance(part, Real) or (isinstance(part, Grid) and part.is_consecutive)
        ),
        Construct.DECISIONS: (exact("each stage is a one-hot block of z"),),
        Construct.NESTED: (AS_INTEGERS, AS_ALTERNATIVES, INTEGERS_OVER_LIMIT),
        Construct.ORDERS: (
            exact("a matrix of 0-1 variables for steps and positions, whose rows and columns sum to 1"),
        ),
        Construct.FLOATS: (exact("variables of theta_c; a single point is an integer of theta_d"),),
        Construct.INTEGERS: (exact("integers of theta_d"), _lowering.OVERSIZED),
        Construct.UNIONS: (rewritten("integers of theta_d: the index among the members of all parts"), TWO_VARIABLES),
        Construct.CONDITIONS: (AS_MASKS, AS_ALTERNATIVES, MASK_NOT_LOCAL, MASK_OVER_LIMIT),
        Construct.RULES_ON_DECISIONS: (AS_LINEAR_CONSTRAINTS, NOT_LINEAR_OVER_Z),
        Construct.RULES_ON_VALUES: (ENFORCED_BY_PROJECTION, AS_LINEAR_CONSTRAINTS),
        Construct.DEFAULTS: (exact("the default point, and the values of inactive hyperparameters"),),
        Construct.WEIGHTS: (_lowering.approximated("random points follow the weights before they are projected"),),
        Construct.PRIORS: (
            _lowering.approximated("random points follow the priors before they are projected"),
            UNIFORM,
        ),
        Construct.BOUNDS: (exact("black-box constraints, each bound by its limit epsilon"),),
    }

    def lower(self, structures: Structures) -> LoweringResult[AdmmForm, AdmmPoint]:
        """Return the ADMM variables of a space; raise RefusedError for integers and steps that floats cannot hold."""
        space = structures.space
        _lowering.refuse_oversized_integers(space, self.preserves)
        orders = frozenset(space.permutations)
        stages = [s for s in space.stages if s.address not in orders] if self.conditions == "flatten" else []
        contexts = ((stage, branch) for stage in stages for branch in stage.branch_indices)
        ways = {(stage.address, branch): flatten_branch(space, stage, branch, orders) for stage, branch in contexts}
        layout = make_layout(space, {context: each.cases for context, each in ways.items()})
        unions = (node for node in space.hyperparameters if isinstance(node.domain, Union))
        findings = [Finding(Construct.UNIONS, TWO_VARIABLES, node.span) for node in unions if node.domain.size is None]
        findings += _flattening_findings(space, ways) if self.conditions == "flatten" else ()
        added = _flattening_counts(make_layout(space, {}), layout, findings) if self.conditions == "flatten" else None
        form = AdmmForm(structures, layout, added)
        findings += [*uniform_prior_findings(space), *_constraint_findings(form)]
        report = _lowering.make_report(space, self.preserves, findings)
        return LoweringResult(form, form.encode, form.decode, form.accepts, form.sample, report)


def _flattening_findings(space: Space, ways: Mapping[tuple[str, str], FlattenedBranch]) -> Iterator[Finding]:
    """Yield the verdict on each condition and each nested decision; the orders of nested steps stay orders."""
    many = {node.address for each in ways.values() for node in each.over_limit}
    kept = {node.address for each in ways.values() for node in each.not_local}
    for variable in space.variables.values():
        node, address = variable.node, variable.address
        if isinstance(node, Choice):
            if variable.owners and address not in space.permutations:
                yield Finding(Construct.NESTED, INTEGERS_OVER_LIMIT if address in many else AS_ALTERNATIVES, node.span)
        elif node.condition is not None:
            is_mask = address in kept or not variable.owners
            verdict = MASK_NOT_LOCAL if is_mask else MASK_OVER_LIMIT if address in many else AS_ALTERNATIVES
            yield Finding(Construct.CONDITIONS, verdict, node.condition.span)


def _constraint_findings(form: AdmmForm) -> Iterator[Finding]:
    for rule in form.value_constraints:
        if not rule.scope:
            yield Finding(Construct.RULES_ON_DECISIONS, NOT_LINEAR_OVER_Z, rule.span)
    left = set(map(id, form.value_constraints))
    for rule in form.space.constraints:
        if rule.scope and id(rule) not in left:
            yield Finding(Construct.RULES_ON_VALUES, AS_LINEAR_CONSTRAINTS, rule.span)


def _flattening_counts(masked: VariableLayout, layout: VariableLayout, findings: Sequence[Finding]) -> FlatteningCounts:
    flat = Counter(finding.construct for finding in findings if finding.verdict == AS_ALTERNATIVES)
    before, after = (len(each.theta_c) + len(each.theta_d) for each in (masked, layout))
    width = layout.width - masked.width
    return FlatteningCounts(width, after - before, flat[Construct.CONDITIONS], flat[Construct.NESTED])
