"""The chain of reductions of a target that knows neither conditions nor constraints, and what it keeps of a space.

The first line has the target's own words for what it accepts, the second names with what each may be answered:

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

NESTED: Final = rewritten("choices are nested so that only what is admissible is left")
TIED: Final = refused("it compares large ranges with each other or ties too much: no nested choices say it")
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
"""What constructs of domains stand for: ranges and sets that have nothing else."""

OF_DOMAINS: Final = (*EXAMPLES, Construct.UNIONS)
RULES: Final = (Construct.RULES_ON_DECISIONS, Construct.RULES_ON_VALUES)


def keeps_of(accepts: Accepts, choice: str = "a choice") -> dict[Construct, tuple[Verdict, ...]]:
    """What the chain makes of each construct where ranges and sets of some kinds are accepted.

    That is what reductions do to it, the worst first; a target has words of its own where it makes more of what it
    accepts. `choice` is what it calls one of several options.
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
    found[Construct.CONDITIONS] = (rewritten("a hyperparameter stands in the options in which it is active"), TIED)
    found |= dict.fromkeys(RULES, (NESTED, TIED))
    found[Construct.PRIORS] = (*ADVICE[Construct.PRIORS], UNIFORM)
    return found


def questions(structures: Structures, accepts: Accepts, keeps: Keeps) -> Questions:
    """The questions of a space; raises RefusedError where no chain leads there.

    These are giants, and conditions and constraints that no nested choices say: `keeps` declares the refusal of them.
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
    """The report of a chain: of each place the worst of what its links make of it, as far as `keeps` declares it."""
    return report_of(chain.space, keeps, findings_of(chain, keeps))


def findings_of(chain: Questions, keeps: Keeps) -> Iterator[Finding]:
    """What the links of a chain make of places where that is not the usual."""

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
    """The worst of what the links of each hyperparameter make of each construct."""
    found: dict[tuple[str, Construct], Finding] = {}
    for node, link in links:
        for construct, verdict in says(node, link):
            known = found.get((node.address, construct))
            if known is None or _badness(verdict) > _badness(known.verdict):
                found[node.address, construct] = Finding(construct, verdict, node.span)
    return found.values()


def uniform_priors(space: Space) -> Iterator[Finding]:
    """The priors that ask for what is drawn without any."""
    for node in space.hyperparameters:
        match node.prior:
            case Uniform():
                yield Finding(Construct.PRIORS, UNIFORM, node.span)
            case Normal() | None:
                pass


def of_rules(rules: Iterable[Constraint], verdict: Verdict) -> Iterator[Finding]:
    """What becomes of some constraints."""
    return (Finding(RULES[bool(rule.scope)], verdict, rule.span) for rule in rules)


def _badness(verdict: Verdict) -> int:
    return [*Preservation].index(verdict.status)


def _verdict(link: Reduction, construct: Construct) -> Verdict:
    """What a reduction makes of a construct of what it is applied to."""
    match link:
        case Closed() if construct is Construct.OPEN:
            return rewritten("bounds are the next floats inside")
        case Renamed():
            return rewritten("words stand for the values")
        case Indices(part=Grid(log=True)) if construct is Construct.LOG:
            return approximated("the number of the step stands for it, without logarithms")
        case Indices(part=Grid()):
            return rewritten("the number of the step stands for it")
        case Indices():
            return rewritten("the place of the value stands for it")
        case _:
            return exact("as it stands")


def _says(expression: Expr, part: RangeComparison) -> bool:
    return set(references(part.atom)) <= set(references(expression))


def _refusals(
    space: Space, rules: Sequence[Constraint], refusal: Verdict, related: Sequence[RangeComparison] = ()
) -> list[Finding]:
    """A finding for each constraint, else for each condition: what ties the variables comes from one of them."""
    if rules:
        return [*of_rules(rules, refusal)]
    conditions = [*space.conditions.values()]
    own = [each for each in conditions if any(_says(each, part) for part in related)]
    return [Finding(Construct.CONDITIONS, refusal, condition.span) for condition in own or conditions]
