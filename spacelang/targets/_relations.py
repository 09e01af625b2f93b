"""The choice of how a target expresses relations: constraints that compare hyperparameters with each other.

`lower_by_relations` compiles a space with the lowering that the option `relations` of a target names. With `auto`, it
is the first one of `default_relations` of the target that can express the space; then whatever it cannot express is
unfolded into cases. `quantile_decoder_source` decodes quantiles in modules that do not need spacelang.
"""

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, Protocol, TypeAlias

from spacelang.grouping import group_by_key
from spacelang.ir.domain import Real
from spacelang.ir.expr import logical_atoms, references
from spacelang.ir.prior import Uniform
from spacelang.ir.space import Constraint, Space
from spacelang.reductions import conditional_distributions, range_distributions
from spacelang.reductions.quantile_reduction import QuantileGroup, QuantileReduction, reduce_to_quantiles
from spacelang.reductions.range_distributions import GridRange
from spacelang.solver.counting import Structures
from spacelang.targets import _lowering
from spacelang.targets._lowering import (
    Construct,
    LoweringResult,
    Preservation,
    PreservationTable,
    RefusedError,
    ReportEntry,
    Verdict,
    approximated,
    make_report,
    refused,
    rewritten,
)
from spacelang.targets._reduction_chain import CONSTRAINT_CONSTRUCTS, UNIFORM, constraint_findings
from spacelang.text import Span, count_with_noun

Lowering: TypeAlias = Literal["native", "quantiles", "rejection", "cases"]
RelationsOption: TypeAlias = Literal["auto", "native", "quantiles", "rejection", "cases"]
RELATIONS: Final = "relations"  # The construct of entries that say how relations are expressed
RELATIONS_DOC: Final = (
    "how constraints that compare hyperparameters are expressed: by means of the tool, by quantiles, by rejection, or "
    "by nested choices; `auto` takes the best one that is possible"
)
NO_SUCH_MEANS: Final = refused(
    "the tool cannot express this constraint; `--set relations=auto` expresses it in another way if there is one"
)
NO_QUANTILES: Final = refused(
    "quantiles are only known for comparisons of ranges that form a tree, and for limits on one sum of ranges; "
    "`--set relations=auto` expresses it in another way if there is one"
)
QUANTILES: Final = rewritten(
    "each range becomes a number in [0, 1]: a quantile among the values that satisfy the constraint"
)
REJECTED: Final = rewritten(
    "a trial that violates the constraint is pruned before training; `form.ask(study)` asks again"
)
TOO_RARE: Final = refused(
    "fewer than one draw in 10,000 satisfies the constraints: loosen them, or choose another way by `--set relations=…`"
)
NOT_IN_PYTHON: Final = refused(
    "the generated function can only test comparisons of sums, and this constraint is not one"
)
A_QUANTILE: Final = rewritten(
    "a number in [0, 1]: the quantile of the value, given the values of related ranges before"
)
A_FLOAT_QUANTILE: Final = approximated(
    "a number in [0, 1]: the quantile of the value, given the values of related ranges before; rounding changes "
    "decoded values by a tiny part of their range"
)
RANGE_CONSTRUCTS: Final = (Construct.FLOATS, Construct.INTEGERS, Construct.LOG, Construct.STEPS, Construct.OPEN)
Lower: TypeAlias = Callable[[QuantileReduction], LoweringResult[Any, Any]]
"""A function that compiles the reduced space of a reduction."""
Ways: TypeAlias = Mapping[Lowering, Lower | None]
_SHARED_IMPORT: Final = re.compile(
    r"^from spacelang\.reductions\.range_distributions import (\([^)]*\)|.*)\n", re.MULTILINE
)
_RESTORE: Final = '''\
def values_of(found):
    """Return a configuration with the values for which numbers in [0, 1] stand."""
    found = dict(found)
    for related in RELATED:
        found.update(related.values({key: found[key] for key in related.ranges if key in found}))
    return found'''


class RelationsTarget(Protocol):
    """A protocol for targets with the option `relations`."""

    @property
    def relations(self) -> RelationsOption:
        """The value of the option `relations`: a lowering, or `auto`."""

    @property
    def default_relations(self) -> Sequence[Lowering]:
        """The lowerings that `auto` tries, in this order."""

    @property
    def preserves(self) -> PreservationTable:
        """The verdicts of the target."""


def with_quantile_verdicts(preserves: PreservationTable) -> PreservationTable:
    """Return the verdicts of a target, extended by those for relations that are expressed by quantiles."""
    numbers = {construct: (*preserves[construct], A_QUANTILE) for construct in RANGE_CONSTRUCTS}
    numbers[Construct.FLOATS] = (*preserves[Construct.FLOATS], A_QUANTILE, A_FLOAT_QUANTILE)
    rules = (*preserves[Construct.RULES_ON_VALUES], QUANTILES, NO_QUANTILES, NO_SUCH_MEANS)
    return {**preserves, **numbers, Construct.RULES_ON_VALUES: rules}


def lower_by_relations(
    target: RelationsTarget,
    structures: Structures,
    lower: Lower,
    native: Lower | None = None,
    rejecting: Lower | None = None,
) -> LoweringResult[Any, Any]:
    """Compile a space in the way that the option `relations` of a target names.

    `native` expresses relations by means of the tool, `rejecting` by rejecting configurations that violate them or any
    other constraint; each is None if the tool cannot do so. `lower` is used for quantiles, for nested cases, and for a
    space in which there is nothing else to express.

    Raises RefusedError. With `auto`, it is raised only if all ways refuse the space, and is the error of the first.
    """
    constraints = structures.space.constraints
    rejects_any = target.relations == "rejection" and rejecting is not None and constraints
    if not rejects_any and not any(map(is_relation, constraints)):
        return lower(QuantileReduction(structures, ()))
    ways: Ways = {"native": native, "quantiles": lower, "rejection": rejecting, "cases": lower}
    if target.relations != "auto":
        return _lower_by(target.relations, target, structures, ways)
    errors: list[RefusedError] = []
    for each in target.default_relations:
        try:
            return _lower_by(each, target, structures, ways)
        except RefusedError as error:
            errors.append(error)
    raise errors[0]


def is_relation(rule: Constraint) -> bool:
    """Return True if a test in the constraint mentions two or more variables, as in `lo <= hi`."""
    return any(len(references(atom)) > 1 for atom in logical_atoms(rule.expression))


def refuse_other_relations(
    space: Space, expressed: Iterable[Constraint], keeps: PreservationTable, verdict: Verdict = NO_SUCH_MEANS
) -> None:
    """Raise RefusedError if the space has relations beyond those that are `expressed`."""
    known = {*expressed}
    others = [rule for rule in space.constraints if is_relation(rule) and rule not in known]
    if others:
        make_report(space, keeps, constraint_findings(others, verdict))


def relations_report_entry(lowering: str, expressed: Sequence[Constraint], how: str) -> ReportEntry:
    """Return the entry of a report that says how relations are expressed."""
    message = f"{lowering}: {count_with_noun(len(expressed), 'constraint')} {how}"
    return ReportEntry(RELATIONS, Preservation.EXACT, message, tuple(rule.span for rule in expressed))


def translate_report_to_original(
    reduction: QuantileReduction, report: Sequence[ReportEntry]
) -> tuple[ReportEntry, ...]:
    """Return the report on the original space, given the report on the space with quantiles."""
    if not reduction.groups:
        return (*report,)
    nodes = reduction.related_hyperparameters.values()
    numbers = Counter(id(node.span) for node in nodes)  # the ranges of floats that the space itself does not have
    told: list[tuple[tuple[str, Preservation, str], Span]] = []
    about_form = []
    for entry in report:
        if entry.is_about_form:
            about_form.append(entry)
            continue
        for span in entry.spans:
            if entry.construct == Construct.FLOATS and numbers[id(span)]:
                numbers[id(span)] -= 1
            else:
                told.append(((entry.construct, entry.status, entry.message), span))
    for node in nodes:
        for construct in _lowering.constructs_in(node.domain):
            is_float = construct is Construct.FLOATS and isinstance(node.domain, Real)
            told.append((_key(construct, A_FLOAT_QUANTILE if is_float else A_QUANTILE), node.span))
        if node.prior is not None:
            lost = UNIFORM if isinstance(node.prior, Uniform) else _lowering.GUIDANCE[Construct.PRIORS][0]
            told.append((_key(Construct.PRIORS, lost), node.span))
    told += [(_key(CONSTRAINT_CONSTRUCTS[1], QUANTILES), rule.span) for rule in reduction.constraints]
    entries = [ReportEntry(*key, tuple(spans)) for key, spans in group_by_key(told).items()]
    order = [*Construct]
    entries.sort(key=lambda entry: order.index(Construct(entry.construct)))
    return (
        *entries,
        *about_form,
        relations_report_entry("quantiles", reduction.constraints, "expressed by numbers in [0, 1]"),
    )


def _key(construct: Construct, verdict: Verdict) -> tuple[str, Preservation, str]:
    return construct.value, verdict.status, verdict.message


def _lower_by(
    lowering: Lowering, target: RelationsTarget, structures: Structures, ways: Ways
) -> LoweringResult[Any, Any]:
    reduction = reduce_to_quantiles(structures) if lowering == "quantiles" else QuantileReduction(structures, ())
    if lowering == target.relations == "quantiles":
        refuse_other_relations(structures.space, reduction.constraints, target.preserves, NO_QUANTILES)
    way = ways[lowering]
    if way is None:
        refuse_other_relations(structures.space, (), target.preserves)
    assert way is not None, "a missing lowering must have refused all relations"
    found = way(reduction)
    return replace(found, report=(*found.report, *_untold_relations(structures.space, found.report)))


def _untold_relations(space: Space, report: Sequence[ReportEntry]) -> Iterator[ReportEntry]:
    """Yield an entry for the relations that no entry of a report mentions, for each way to express them."""
    told = {id(span) for entry in report if entry.construct == RELATIONS for span in entry.spans}
    left = [rule for rule in space.constraints if is_relation(rule) and id(rule.span) not in told]
    rules = (entry for entry in report if entry.construct == CONSTRAINT_CONSTRUCTS[1])
    exact = {id(span) for entry in rules if entry.status is Preservation.EXACT for span in entry.spans}
    for lowering, how in (("native", "by means of the tool"), ("cases", "by nested choices")):
        mine = [rule for rule in left if (id(rule.span) in exact) is (lowering == "native")]
        if mine:
            yield relations_report_entry(lowering, mine, how)


def quantile_decoder_source(reduction: QuantileReduction) -> list[str]:
    """Return sources that define a function `values_of(found)`, which replaces quantiles by values.

    Return an empty list if the space has no quantiles.
    """
    if not reduction.groups:
        return []
    sources = [
        inspect.getsource(module).split('"""', 2)[2].strip()
        for module in (range_distributions, conditional_distributions)
    ]
    shared = _SHARED_IMPORT.sub("", "\n".join(sources))
    groups = ",\n".join(map(_group_source, reduction.groups))
    return [shared, f"RELATED = [\n{groups},\n]", _RESTORE]


def _group_source(group: QuantileGroup) -> str:
    ranges = "".join(f"            {key!r}: {_range_source(each)},\n" for key, each in group.ranges.ranges.items())
    rows = "".join(f"            {row!r},\n" for row in group.ranges.rows)
    return f"    RelatedRanges(\n        {{\n{ranges}        }},\n        [\n{rows}        ],\n    )"


def _range_source(each: range_distributions.GridRange | range_distributions.FloatRange) -> str:
    if isinstance(each, GridRange):
        arguments = f"{each.start!r}, {each.step!r}, {each.below!r}, {each.last!r}"
    else:
        arguments = f"{each.lower!r}, {each.upper!r}"
    return f"{type(each).__name__}({arguments}{', is_log=True' if each.is_log else ''})"
