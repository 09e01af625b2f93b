"""The chain of reductions for targets that know neither conditions nor constraints, with its verdicts.

A target declares its verdicts with `keeps_of`, and overrides those for which it has more specific words. `questions`
applies the chain to a space:

    keeps = {**keeps_of(accepts), Construct.FLOATS: (exact("a dial"),)}
    chain = questions(structures, accepts, keeps)
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, Simple
from spacelang.ir.expr import Expr, references
from spacelang.ir.prior import Normal, Uniform
from spacelang.ir.space import Constraint, Hyperparameter, Space
from spacelang.reductions.domains import Accepts, Closed, Indices, Reduction, Renamed, reduction
from spacelang.reductions.questions import Questions, Slot
from spacelang.reductions.unfolding import RangeComparison, all_parts, unfold
from spacelang.solver.counting import Structures
from spacelang.solver.network import TooTangledError
from spacelang.targets._constructs import Construct, constructs_in
from spacelang.targets._lowered import (
    ADVICE,
    GIANT,
    Finding,
    Keeps,
    Preservation,
    ReportEntry,
    Verdict,
    approximated,
    exact,
    refuse_giants,
    refused,
    report_of,
    rewritten,
)

L = TypeVar("L")

NESTED: Final = rewritten("choices are nested so that only valid configurations remain")
TIED: Final = refused(
    "it compares large ranges with each other or connects too many variables to be written as nested choices"
)
UNIFORM: Final = exact("values are drawn uniformly")

EXAMPLES: Final[Mapping[Construct, tuple[Simple, ...]]] = {
    Construct.FLOATS: (Real(0.0, 1.0),),
    Construct.INTEGERS: (Grid(1, 9),),
    Construct.LOG: (Real(0.1, 1.0, log=True), Grid(1, 9, log=True)),
    Construct.STEPS: (Grid(0.0, 0.3, step=0.1), Grid(0, 9, step=3), Grid(1, 9, log=True, step=2)),
    Construct.OPEN: (Real(0.0, 1.0, lower_open=True),),
    Construct.SETS: (Categorical(("a", "b")), Categorical((None, 1))),
    Construct.ORDERED: (Ordinal(("a", "b")),),
}
"""Minimal example domains of each domain construct, from which `keeps_of` derives the verdicts."""

OF_DOMAINS: Final = (*EXAMPLES, Construct.UNIONS)
RULES: Final = (Construct.RULES_ON_DECISIONS, Construct.RULES_ON_VALUES)


def keeps_of(accepts: Accepts, choice: str = "a choice") -> dict[Construct, tuple[Verdict, ...]]:
    """Return the verdicts of the reduction chain on every construct.

    The verdicts on ranges and sets follow from what the reductions do to `EXAMPLES`, the worst first.

    Parameters
    ----------
    accepts : callable
        Returns True for the ranges and sets that the target supports directly.
    choice : str
        The name of a choice in the target, for the messages.
    """
    found: dict[Construct, tuple[Verdict, ...]] = {**ADVICE}
    for construct, examples in EXAMPLES.items():
        verdicts = (_verdict(reduction(each, accepts), construct) for each in examples)
        found[construct] = tuple(sorted(dict.fromkeys(verdicts), key=_badness, reverse=True))
    found |= {each: (*found[each], GIANT) for each in (Construct.INTEGERS, Construct.STEPS)}
    found[Construct.DECISIONS] = (exact(f"{choice} of the alternatives"),)
    found[Construct.NESTED] = (exact(f"{choice} within the alternative that leads to it"),)
    found[Construct.ORDERS] = (exact(f"{choice} of the orders"),)
    found[Construct.UNIONS] = (rewritten(f"{choice} of the parts"),)
    found[Construct.CONDITIONS] = (
        rewritten("a hyperparameter appears only in the options in which it is active"),
        TIED,
    )
    found |= dict.fromkeys(RULES, (NESTED, TIED))
    found[Construct.PRIORS] = (*ADVICE[Construct.PRIORS], UNIFORM)
    return found


def questions(structures: Structures, accepts: Accepts, keeps: Keeps) -> Questions:
    """Reduce a space to questions: named choices and draws whose answers always give a member.

    Raises RefusedError for numbers that floats cannot represent exactly, and for conditions and constraints that nested
    choices cannot express. `keeps` must declare the verdict of that refusal.
    """
    space = structures.space
    refuse_giants(space, keeps)
    (refusal,) = (verdict for verdict in keeps[Construct.CONDITIONS] if verdict.status is Preservation.REFUSED)
    try:
        found = unfold(structures)
    except TooTangledError as error:
        report_of(space, keeps, _refusals(space, error.constraints, refusal))
        raise
    if related := [part for part in all_parts(found) if isinstance(part, RangeComparison)]:
        rules = [rule for rule in space.constraints if any(_says(rule.expression, part) for part in related)]
        report_of(space, keeps, _refusals(space, rules, refusal, related))
    return Questions(structures, found, accepts)


def reported(chain: Questions, keeps: Keeps) -> tuple[ReportEntry, ...]:
    """Return the report on a chain: for each place the worst verdict of its reductions that `keeps` declares."""
    return report_of(chain.space, keeps, findings_of(chain, keeps))


def findings_of(chain: Questions, keeps: Keeps) -> Iterator[Finding]:
    """Yield the findings for the places where a chain has another verdict than the usual one."""

    def says(node: Hyperparameter, slot: Slot) -> Iterator[tuple[Construct, Verdict]]:
        for construct in {*constructs_in(slot.part)} & {*constructs_in(node.domain)}:
            verdict = _verdict(slot.reduction, construct)
            if verdict in keeps[construct]:
                yield construct, verdict

    links = of_links(((free.node, slot) for free, slot in chain.slots()), says)
    yield from (found for found in links if found.verdict != keeps[found.construct][0])
    yield from uniform_priors(chain.space)


def of_links(
    links: Iterable[tuple[Hyperparameter, L]],
    says: Callable[[Hyperparameter, L], Iterable[tuple[Construct, Verdict]]],
) -> Iterable[Finding]:
    """Return the worst finding for each pair of a hyperparameter and a construct.

    `says` yields the constructs and verdicts of a hyperparameter and one of its links.
    """
    found: dict[tuple[str, Construct], Finding] = {}
    for node, link in links:
        for construct, verdict in says(node, link):
            known = found.get((node.address, construct))
            if known is None or _badness(verdict) > _badness(known.verdict):
                found[node.address, construct] = Finding(construct, verdict, node.span)
    return found.values()


def uniform_priors(space: Space) -> Iterator[Finding]:
    """Yield a finding for each uniform prior: values are drawn that way without a prior, too."""
    for node in space.hyperparameters:
        match node.prior:
            case Uniform():
                yield Finding(Construct.PRIORS, UNIFORM, node.span)
            case Normal() | None:
                pass


def of_rules(rules: Iterable[Constraint], verdict: Verdict) -> Iterator[Finding]:
    """Return an iterator of findings that give all constraints the same verdict."""
    return (Finding(RULES[bool(rule.scope)], verdict, rule.span) for rule in rules)


def _badness(verdict: Verdict) -> int:
    return [*Preservation].index(verdict.status)


def _verdict(link: Reduction, construct: Construct) -> Verdict:
    """Return the verdict of a reduction on a construct of the domain to which it is applied."""
    match link:
        case Closed() if construct is Construct.OPEN:
            return rewritten("the bounds are moved inward to the next float")
        case Renamed():
            return rewritten("values are encoded as strings")
        case Indices(part=Grid(log=True)) if construct is Construct.LOG:
            return approximated("encoded as the index of the step, without the log scale")
        case Indices(part=Grid()):
            return rewritten("encoded as the index of the step")
        case Indices():
            return rewritten("encoded as the index of the value")
        case _:
            return exact("unchanged")


def _says(expression: Expr, part: RangeComparison) -> bool:
    return set(references(part.atom)) <= set(references(expression))


def _refusals(
    space: Space, rules: Sequence[Constraint], refusal: Verdict, related: Sequence[RangeComparison] = ()
) -> list[Finding]:
    """Return a finding for each constraint, or for conditions if there are no constraints.

    These are the conditions that mention the hyperparameters of the comparisons in `related`, or all of them.
    """
    if rules:
        return [*of_rules(rules, refusal)]
    conditions = [*space.conditions.values()]
    own = [each for each in conditions if any(_says(each, part) for part in related)]
    return [Finding(Construct.CONDITIONS, refusal, condition.span) for condition in own or conditions]
