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
from spacelang.reductions.flattening import MOST, Flattened, flattened
from spacelang.solver.counting import Structures
from spacelang.targets._admm.boxes import ThetaBox
from spacelang.targets._admm.form import Added, AdmmForm
from spacelang.targets._admm.layout import Block, Layout, StepOrder, layout_of
from spacelang.targets._admm.linear_rules import LinearRule
from spacelang.targets._admm.points import AdmmPoint, AdmmPoints, Mask
from spacelang.targets._chain import keeps_of, uniform_priors
from spacelang.targets._constructs import Construct
from spacelang.targets._lowered import GIANT, Finding, Keeps, Lowered, exact, refuse_giants, report_of, rewritten

__all__ = ["Admm", "AdmmForm", "AdmmPoint", "AdmmPoints", "Block", "LinearRule", "Mask", "StepOrder", "ThetaBox"]

MASK = rewritten("masks, computed from z and theta, select the active hyperparameters")
FLAT = rewritten("further alternatives of z")
ELSEWHERE = rewritten("a mask: the condition depends on more than single variables of its own alternative")
MANY = rewritten(f"a mask: one alternative would be split into more than {MOST}")
CODED = rewritten("integers of theta_d that belong to the enclosing alternative")
CODED_MANY = rewritten(f"integers of theta_d: one alternative would be split into more than {MOST}")
TWO = rewritten("an integer of theta_d for the member or range, and a variable of theta_c for the value in the range")
LISTED = rewritten("enforced by `project`, which moves points to the nearest values that satisfy them")
LINEAR = rewritten("linear constraints over z")
NOT_LINEAR = rewritten(
    "enforced by `project`: it depends on integers of theta_d, or connects too many variables for constraints over z"
)


@dataclass(frozen=True, slots=True)
class Admm:
    """Blocks of 0-1 variables z, continuous and integer variables theta, and their constraints."""

    conditions: Literal["mask", "flatten"] = option(
        "mask", "`mask` evaluates conditions on z and theta; `flatten` makes them further alternatives of z"
    )

    paper: ClassVar[str] = "Liu et al., An ADMM Based Framework for AutoML Pipeline Configuration, AAAI 2020"

    keeps: ClassVar[Keeps] = {
        **keeps_of(lambda part: isinstance(part, Real) or (isinstance(part, Grid) and part.is_consecutive)),
        Construct.DECISIONS: (exact("one-hot blocks of z, one for each stage"),),
        Construct.NESTED: (CODED, FLAT, CODED_MANY),
        Construct.ORDERS: (
            exact("a matrix of 0-1 variables for steps and positions, whose rows and columns sum to 1"),
        ),
        Construct.FLOATS: (exact("variables of theta_c; a single point is an integer of theta_d"),),
        Construct.INTEGERS: (exact("integers of theta_d"), GIANT),
        Construct.UNIONS: (
            rewritten("integers of theta_d: the index among the members of all parts"),
            TWO,
        ),
        Construct.CONDITIONS: (MASK, FLAT, ELSEWHERE, MANY),
        Construct.RULES_ON_DECISIONS: (LINEAR, NOT_LINEAR),
        Construct.RULES_ON_VALUES: (LISTED, LINEAR),
        Construct.DEFAULTS: (exact("the default point, and the values of inactive hyperparameters"),),
        Construct.BOUNDS: (exact("black-box constraints with their epsilons"),),
    }

    def lower(self, structures: Structures) -> Lowered[AdmmForm, AdmmPoint]:
        """Return the ADMM variables of the space of the structures, with the conversions to and from points.

        Raises RefusedError for integers, or indices of steps, that are not exact as floats.
        """
        space = structures.space
        refuse_giants(space, self.keeps)
        ways = _ways(space) if self.conditions == "flatten" else {}
        layout = layout_of(space, {context: each.ways for context, each in ways.items()})
        findings = [*_of_unions(space), *(_of_flattening(space, ways) if self.conditions == "flatten" else ())]
        added = _added(layout_of(space, {}), layout, findings) if self.conditions == "flatten" else None
        form = AdmmForm(structures, layout, added)
        report = report_of(space, self.keeps, [*findings, *uniform_priors(space), *_of_rules(form)])
        return Lowered(form, form.encode, form.decode, form.reaches, form.sample, report)


def _ways(space: Space) -> dict[tuple[str, str], Flattened]:
    """Return the flattened cases of each branch of each stage."""
    orders = frozenset(space.permutations)
    return {
        (stage.address, branch): flattened(space, stage, branch, orders)
        for stage in space.stages
        if stage.address not in orders
        for branch in stage.places
    }


def _of_unions(space: Space) -> Iterator[Finding]:
    for node in space.hyperparameters:
        if isinstance(node.domain, Union) and node.domain.size is None:
            yield Finding(Construct.UNIONS, TWO, node.span)


def _of_flattening(space: Space, ways: Mapping[tuple[str, str], Flattened]) -> Iterator[Finding]:
    """Yield the verdict on each condition and each nested decision; the orders of nested steps stay orders."""
    many = {node.address for each in ways.values() for node in each.many}
    kept = {node.address for each in ways.values() for node in each.elsewhere}
    for variable in space.variables.values():
        node, address = variable.node, variable.address
        if isinstance(node, Choice):
            if variable.owners and address not in space.permutations:
                yield Finding(Construct.NESTED, CODED_MANY if address in many else FLAT, node.span)
        elif node.condition is not None:
            is_mask = address in kept or not variable.owners
            verdict = ELSEWHERE if is_mask else MANY if address in many else FLAT
            yield Finding(Construct.CONDITIONS, verdict, node.condition.span)


def _of_rules(form: AdmmForm) -> Iterator[Finding]:
    for rule in form.value_constraints:
        if not rule.scope:
            yield Finding(Construct.RULES_ON_DECISIONS, NOT_LINEAR, rule.span)
    left = set(map(id, form.value_constraints))
    for rule in form.space.constraints:
        if rule.scope and id(rule) not in left:
            yield Finding(Construct.RULES_ON_VALUES, LINEAR, rule.span)


def _added(masked: Layout, layout: Layout, findings: Sequence[Finding]) -> Added:
    """Return the numbers of variables that flattening adds, and of the conditions and decisions that caused them."""
    flat = Counter(finding.construct for finding in findings if finding.verdict == FLAT)
    before, after = (len(each.theta_c) + len(each.theta_d) for each in (masked, layout))
    width = layout.width - masked.width
    return Added(width, after - before, flat[Construct.CONDITIONS], flat[Construct.NESTED])
