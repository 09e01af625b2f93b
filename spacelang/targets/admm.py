"""The target `admm`: one-hot blocks z, and the continuous and discrete hyperparameters theta of all algorithms.

z selects one alternative of each stage. theta_c and theta_d have the hyperparameters of all alternatives, including
those that z does not select. A search may move theta_d between the integers of its box. `project` turns any point into
a member, so that only configurations of the space are evaluated.

See spacelang/optimizers/README.md, section "ADMM: variables".
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from spacelang.ir.domain import Grid, Real, Union
from spacelang.ir.space import Choice, Space
from spacelang.plugins import option
from spacelang.reductions.flattening import MAX_ALTERNATIVES, FlattenedBranch, flatten_branch
from spacelang.solver.counting import Structures
from spacelang.targets._admm.form import AdmmForm, FlatteningCounts
from spacelang.targets._admm.layout import Block, StepOrder, VariableLayout, make_layout
from spacelang.targets._admm.linear_constraints import LinearConstraint
from spacelang.targets._admm.points import AdmmPoint, AdmmPoints, Mask, ThetaBox
from spacelang.targets._lowering import (
    OVERSIZED,
    Construct,
    Finding,
    LoweringResult,
    PreservationTable,
    exact,
    make_report,
    refuse_oversized_integers,
    rewritten,
)
from spacelang.targets._reduction_chain import preserved_by_reductions, uniform_prior_findings

__all__ = ["Admm", "AdmmForm", "AdmmPoint", "AdmmPoints", "Block", "LinearConstraint", "Mask", "StepOrder", "ThetaBox"]

AS_MASKS = rewritten("masks, computed from z and theta, select the active hyperparameters")
AS_ALTERNATIVES = rewritten("further alternatives of z")
MASK_NOT_LOCAL = rewritten("a mask: the condition depends on more than single variables of its own alternative")
MASK_OVER_LIMIT = rewritten(f"a mask: one alternative would be split into more than {MAX_ALTERNATIVES}")
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
AS_LINEAR_CONSTRAINTS = rewritten("linear constraints over z")
NOT_LINEAR_OVER_Z = rewritten(
    "enforced by `project`: the constraint depends on integers of theta_d, or connects too many variables for "
    "constraints over z"
)


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
        Construct.DECISIONS: (exact("one-hot blocks of z, one for each stage"),),
        Construct.NESTED: (AS_INTEGERS, AS_ALTERNATIVES, INTEGERS_OVER_LIMIT),
        Construct.ORDERS: (
            exact("a matrix of 0-1 variables for steps and positions, whose rows and columns sum to 1"),
        ),
        Construct.FLOATS: (exact("variables of theta_c; a single point is an integer of theta_d"),),
        Construct.INTEGERS: (exact("integers of theta_d"), OVERSIZED),
        Construct.UNIONS: (rewritten("integers of theta_d: the index among the members of all parts"), TWO_VARIABLES),
        Construct.CONDITIONS: (AS_MASKS, AS_ALTERNATIVES, MASK_NOT_LOCAL, MASK_OVER_LIMIT),
        Construct.RULES_ON_DECISIONS: (AS_LINEAR_CONSTRAINTS, NOT_LINEAR_OVER_Z),
        Construct.RULES_ON_VALUES: (ENFORCED_BY_PROJECTION, AS_LINEAR_CONSTRAINTS),
        Construct.DEFAULTS: (exact("the default point, and the values of inactive hyperparameters"),),
        Construct.BOUNDS: (exact("black-box constraints with their epsilons"),),
    }

    def lower(self, structures: Structures) -> LoweringResult[AdmmForm, AdmmPoint]:
        """Return the ADMM variables of a space; raise RefusedError for integers and steps that floats cannot hold."""
        space = structures.space
        refuse_oversized_integers(space, self.preserves)
        ways = _flatten_branches(space) if self.conditions == "flatten" else {}
        layout = make_layout(space, {context: each.cases for context, each in ways.items()})
        findings = [
            *_union_findings(space),
            *(_flattening_findings(space, ways) if self.conditions == "flatten" else ()),
        ]
        added = _flattening_counts(make_layout(space, {}), layout, findings) if self.conditions == "flatten" else None
        form = AdmmForm(structures, layout, added)
        report = make_report(
            space, self.preserves, [*findings, *uniform_prior_findings(space), *_constraint_findings(form)]
        )
        return LoweringResult(form, form.encode, form.decode, form.accepts, form.sample, report)


def _flatten_branches(space: Space) -> dict[tuple[str, str], FlattenedBranch]:
    orders = frozenset(space.permutations)
    return {
        (stage.address, branch): flatten_branch(space, stage, branch, orders)
        for stage in space.stages
        if stage.address not in orders
        for branch in stage.branch_indices
    }


def _union_findings(space: Space) -> Iterator[Finding]:
    for node in space.hyperparameters:
        if isinstance(node.domain, Union) and node.domain.size is None:
            yield Finding(Construct.UNIONS, TWO_VARIABLES, node.span)


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
