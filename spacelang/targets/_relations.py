"""The choice of how a target expresses relations: constraints that compare hyperparameters with each other.

`lower_by_relations` compiles a space with the lowering that the option `relations` of a target names. With `auto`, it
is the first one of `default_relations` of the target that can express the space. Whatever is no group of comparisons of
ranges is expressed by cases then.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias

from spacelang.ir.space import Constraint, Space
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import (
    LoweringResult,
    Preservation,
    PreservationTable,
    RefusedError,
    ReportEntry,
    Verdict,
    make_report,
    refused,
)
from spacelang.targets._reduction_chain import constraint_findings
from spacelang.text import count_with_noun

Lowering: TypeAlias = Literal["native", "cases"]
RelationsOption: TypeAlias = Literal["auto", "native", "cases"]
RELATIONS_DOC: Final = (
    "how constraints that compare hyperparameters are expressed: by means of the tool, or by nested choices; `auto` "
    "takes the first of the two that is possible"
)
NO_SUCH_MEANS: Final = refused(
    "the tool has no means for this constraint; `--set relations=auto` expresses it in another way if there is one"
)


class RelationsTarget(Protocol):
    """A protocol for targets with the option `relations`."""

    @property
    def relations(self) -> RelationsOption:
        """The option."""

    @property
    def default_relations(self) -> Sequence[Lowering]:
        """The lowerings that `auto` tries, in this order."""

    @property
    def preserves(self) -> PreservationTable:
        """The verdicts of the target."""


def lower_by_relations(
    target: RelationsTarget, structures: Structures, lower: Callable[[Structures, bool], LoweringResult[Any, Any]]
) -> LoweringResult[Any, Any]:
    """Compile a space by the option `relations` of a target; `lower` takes True to use the means of the tool.

    Raises RefusedError: for `auto`, that of the first lowering, if all refuse the space.
    """
    if not any(map(is_relation, structures.space.constraints)):
        return lower(structures, False)
    if target.relations != "auto":
        return lower(structures, target.relations == "native")
    errors: list[RefusedError] = []
    for each in target.default_relations:
        try:
            return lower(structures, each == "native")
        except RefusedError as error:
            errors.append(error)
    raise errors[0]


def is_relation(rule: Constraint) -> bool:
    """Return True if a constraint connects several hyperparameters."""
    return len(rule.scope) > 1


def refuse_other_relations(
    space: Space, carried: Iterable[Constraint], keeps: PreservationTable, verdict: Verdict = NO_SUCH_MEANS
) -> None:
    """Raise RefusedError if the space has relations beyond those that are `carried`."""
    known = {*carried}
    others = [rule for rule in space.constraints if is_relation(rule) and rule not in known]
    if others:
        make_report(space, keeps, constraint_findings(others, verdict))


def relations_entry(lowering: Lowering, carried: Sequence[Constraint], how: str) -> ReportEntry:
    """Return the entry of a report that says how relations are expressed."""
    message = f"{lowering}: {count_with_noun(len(carried), 'constraint')} {how}"
    return ReportEntry("relations", Preservation.EXACT, message, tuple(rule.span for rule in carried))
