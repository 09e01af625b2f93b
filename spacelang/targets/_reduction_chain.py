"""The chain of reductions for targets that know neither conditions nor constraints, with its verdicts.

A target declares its verdicts with `preserved_by_reductions`, and overrides those for which it has more specific words.
`build_questions` applies the chain to a space:

    preserves = {**preserved_by_reductions(accepts), Construct.FLOATS: (exact("a dial"),)}
    chain = build_questions(structures, accepts, preserves)

If `accepts` allows no continuous ranges, these are cut to grids. If it allows no log scales, the logarithm of a
value is drawn from a uniform range instead. Both are reported as approximated where members are lost.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from spacelang.deprecation import warn_renamed
from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, SimpleDomain, parts
from spacelang.ir.expr import Expr, references
from spacelang.ir.prior import Uniform
from spacelang.ir.repeated_stages import address_to_expression_name
from spacelang.ir.space import Choice, Constraint, Hyperparameter, Space
from spacelang.reductions import domain_reductions
from spacelang.reductions.case_splits import (
    CaseSplit,
    RangeComparison,
    UnfoldedParts,
    all_parts,
    unfold_into_case_splits,
)
from spacelang.reductions.case_weights import CaseWeights
from spacelang.reductions.space_questions import DrawnPiece, NameSharing, Questions
from spacelang.reductions.varying_bounds import PartsWithVaryingBounds, VaryingRange, unfold_with_varying_bounds
from spacelang.solver.constraint_network import TooManyConnectedVariablesError
from spacelang.solver.counting import Structures
from spacelang.targets import _lowering
from spacelang.targets._lowering import Construct, PreservationTable, Verdict, approximated, exact, refused, rewritten
from spacelang.targets._random_draws import DeviationReason, keys_connected_with_decisions
from spacelang.text import count_with_noun

L = TypeVar("L")

NESTED: Final = rewritten("choices are nested so that only valid configurations remain")
BELOW_CHOICES: Final = rewritten("a hyperparameter appears only below the choices that make it active")
TOO_ENTANGLED: Final = refused(
    "the expression compares large ranges with each other, or connects too many variables for nested choices"
)
EVENLY: Final = DeviationReason(
    "the alternatives of a decision are drawn evenly, however many structures they have",
    lambda form: _keys_of_uneven_decisions(form.questions),
    lambda form: _largest_uneven_share(form.questions),
)
UNIFORM: Final = exact("values are drawn uniformly")

EXAMPLES: Final[Mapping[Construct, tuple[SimpleDomain, ...]]] = {
    Construct.FLOATS: (Real(0.0, 1.0),),
    Construct.INTEGERS: (Grid(1, 9),),
    Construct.LOG: (Real(0.1, 1.0, log=True), Grid(1, 9, log=True)),
    Construct.STEPS: (Grid(0.0, 0.3, step=0.1), Grid(0, 9, step=3), Grid(1, 9, log=True, step=2)),
    Construct.OPEN: (Real(0.0, 1.0, lower_open=True),),
    Construct.SETS: (Categorical(("a", "b")), Categorical((None, 1))),
    Construct.ORDERED: (Ordinal(("a", "b")),),
}
"""Minimal example domains of each domain construct, from which `preserved_by_reductions` derives the verdicts."""

DOMAIN_CONSTRUCTS: Final = (*EXAMPLES, Construct.UNIONS)
CONSTRAINT_CONSTRUCTS: Final = (Construct.RULES_ON_DECISIONS, Construct.RULES_ON_VALUES)


def preserved_by_reductions(
    accepts: domain_reductions.DomainPredicate, choice: str = "a choice"
) -> dict[Construct, tuple[Verdict, ...]]:
    """Return the verdicts of the reduction chain on every construct.

    `accepts` returns True for the ranges and sets that the target supports directly; `choice` is the name of a choice
    in the target, for the messages. The verdicts on ranges and sets follow from what the reductions do to `EXAMPLES`,
    the worst first. Raises ValueError with the construct, and with what `accepts` could allow, if no reduction of an
    example is accepted.
    """
    found: dict[Construct, tuple[Verdict, ...]] = {**_lowering.GUIDANCE}
    for construct, examples in EXAMPLES.items():
        if construct is Construct.FLOATS and not accepts(examples[0]):
            examples = (*examples, EXAMPLES[Construct.STEPS][0])  # noqa: PLW2901 - steps lose nothing, grids do
        try:
            verdicts = {_verdict(domain_reductions.reduce_domain(each, accepts), construct): None for each in examples}
        except ValueError as error:
            raise ValueError(f"`accepts` does not cover {construct.value}: {error}") from error
        found[construct] = tuple(sorted(verdicts, key=_severity, reverse=True))
    found |= {each: (*found[each], _lowering.OVERSIZED) for each in (Construct.INTEGERS, Construct.STEPS)}
    return found | {
        Construct.DECISIONS: (exact(f"becomes {choice} over the alternatives"),),
        Construct.NESTED: (exact(f"becomes {choice} inside the alternative that contains the decision"),),
        Construct.ORDERS: (exact(f"becomes {choice} over the orders of the steps"),),
        Construct.UNIONS: (rewritten(f"becomes {choice} over the parts of the union"),),
        Construct.CONDITIONS: (BELOW_CHOICES, TOO_ENTANGLED),
        **dict.fromkeys(CONSTRAINT_CONSTRUCTS, (NESTED, TOO_ENTANGLED)),
        Construct.PRIORS: (*_lowering.GUIDANCE[Construct.PRIORS], UNIFORM),
    }


def build_questions(
    structures: Structures,
    accepts: domain_reductions.DomainPredicate,
    keeps: PreservationTable,
    points: int = domain_reductions.GRID_POINTS,
    unfolded: Callable[[Structures], UnfoldedParts] = unfold_into_case_splits,
    *,
    sharing: NameSharing = "none",
    can_vary: Callable[[VaryingRange], bool] | None = None,
    varying_bounds: bool | None = None,
) -> Questions:
    """Reduce a space to questions: named choices and draws whose answers always give a member.

    Ranges that `accepts` allows in no form are cut to grids of `points` values. `unfolded` returns the parts of the
    space, and `sharing` says which questions share a name. If `can_vary` is given, previous answers limit the related
    ranges for which it is true. `varying_bounds` is the old keyword for `sharing="ranges"`. Raises RefusedError for
    numbers that floats cannot hold, and for spaces that nested choices cannot express, for which `keeps` must have a
    verdict.
    """
    if varying_bounds is not None:
        warn_renamed("build_questions(varying_bounds=...)", 'sharing="ranges"')
        sharing = "ranges" if varying_bounds else sharing
    space = structures.space
    _lowering.refuse_oversized_integers(space, keeps)
    refusal = next((v for v in keeps.get(Construct.CONDITIONS, ()) if v.status is _lowering.Preservation.REFUSED), None)
    if refusal is None:
        raise _lowering.missing_verdict_error(Construct.CONDITIONS, "refused verdict")
    try:
        if can_vary is None:
            bounded = PartsWithVaryingBounds(unfolded(structures))
        else:
            bounded = unfold_with_varying_bounds(structures, unfolded, can_vary)
    except TooManyConnectedVariablesError as error:
        _lowering.make_report(space, keeps, _refusals(space, error.constraints, refusal))
        raise
    if related := [part for part in all_parts(bounded.parts) if isinstance(part, RangeComparison)]:
        rules = [rule for rule in space.constraints if any(_mentions(rule.expression, part) for part in related)]
        _lowering.make_report(space, keeps, _refusals(space, rules, refusal, related))
    return Questions(structures, bounded, accepts, points, sharing=sharing)


def build_report(
    chain: Questions, keeps: PreservationTable, findings: Iterable[_lowering.Finding] = ()
) -> tuple[_lowering.ReportEntry, ...]:
    """Return the report on the result of a chain: the worst verdict of its reductions at each place, plus findings."""
    return _lowering.make_report(chain.space, keeps, [*reduction_findings(chain, keeps), *findings])


def name_count_entry(chain: Questions) -> _lowering.ReportEntry:
    """Return the entry of a report that compares the number of names in the library with that of the space."""
    space, used = chain.space, len({name for name in chain.by_name if name})
    # A use of a chain is a variable in each number of uses.
    variables = {address_to_expression_name(address, space.chains): each for address, each in space.variables.items()}
    nodes = [each.node for each in variables.values()]
    needed = sum(1 if isinstance(node, Choice) else len(parts(node.domain)) for node in nodes)
    status = _lowering.Preservation.EXACT if used <= needed else _lowering.Preservation.REWRITTEN
    each = f"{needed} decisions, hyperparameters and further parts of unions"
    return _lowering.ReportEntry("names", status, f"{count_with_noun(used, 'name')} for {each}")


def _largest_uneven_share(chain: Questions) -> str:
    """Return a text about the decision whose even draws differ most from the distribution of the space."""
    fork, difference = max(_uneven_forks(chain), key=lambda each: each[1])
    return f"a share of `{chain.forks[id(fork)]}` differs by {difference:.2f}"


def _uneven_forks(chain: Questions) -> list[tuple[CaseSplit, float]]:
    """Return the decisions whose alternatives should not be equally likely, even without `@weight`.

    Each comes with the largest difference between a probability and that of even draws.
    """
    weights = CaseWeights(chain.structures, with_annotations=False)
    decisions = [
        part for part in chain.every_unfolded_part if isinstance(part, CaseSplit) and isinstance(part.node, Choice)
    ]
    shares = ((fork, weights.case_probabilities(fork)) for fork in decisions)
    return [(fork, max(abs(share - 1 / len(each)) for share in each)) for fork, each in shares if each is not None]


def _keys_of_uneven_decisions(chain: Questions) -> Iterator[str]:
    addresses = (fork.node.address for fork, _ in _uneven_forks(chain) if fork.node is not None)
    return keys_connected_with_decisions(chain.structures, addresses)


def reduction_findings(chain: Questions, keeps: PreservationTable) -> Iterator[_lowering.Finding]:
    """Yield the findings for the places where the reductions have another verdict than the first one in `keeps`.

    Uniform priors are among them.
    """

    def says(node: Hyperparameter, slot: DrawnPiece) -> Iterator[tuple[Construct, Verdict]]:
        constructs = {*_lowering.constructs_in(slot.part)}
        for construct in (
            constructs if slot.part is node.domain else constructs & {*_lowering.constructs_in(node.domain)}
        ):
            verdict = _verdict(slot.reduction, construct)
            if construct not in keeps:
                raise _lowering.missing_verdict_error(construct)
            is_lossy = isinstance(
                slot.reduction, domain_reductions.GridReduction | domain_reductions.LogarithmReduction
            )
            if verdict in keeps[construct] or (is_lossy and verdict.status is _lowering.Preservation.APPROXIMATED):
                yield construct, verdict

    links = worst_finding_per_place(((free.node, slot) for free, slot in chain.drawn_pieces()), says)
    yield from (found for found in links if found.verdict != keeps[found.construct][0])
    yield from uniform_prior_findings(chain.space)


def worst_finding_per_place(
    links: Iterable[tuple[Hyperparameter, L]], says: Callable[[Hyperparameter, L], Iterable[tuple[Construct, Verdict]]]
) -> Iterable[_lowering.Finding]:
    """Return, for each hyperparameter and construct, the finding with the worst verdict.

    `says` returns the constructs and verdicts for a hyperparameter and a thing that is linked with it.
    """
    found: dict[tuple[str, Construct], _lowering.Finding] = {}
    for node, link in links:
        for construct, verdict in says(node, link):
            known = found.get((node.address, construct))
            if known is None or _severity(verdict) > _severity(known.verdict):
                found[node.address, construct] = _lowering.Finding(construct, verdict, node.span)
    return found.values()


def uniform_prior_findings(space: Space) -> Iterator[_lowering.Finding]:
    """Yield a finding for each uniform prior: it is preserved, because values are drawn uniformly without a prior."""
    for node in space.hyperparameters:
        if isinstance(node.prior, Uniform):
            yield _lowering.Finding(Construct.PRIORS, UNIFORM, node.span)


def unfolded_condition_findings(chain: Questions, verdict: Verdict) -> Iterator[_lowering.Finding]:
    """Yield a finding with this verdict for each condition that is unfolded into choices, not preserved as a guard."""
    for address, condition in chain.space.conditions.items():
        if address not in chain.guards:
            yield _lowering.Finding(Construct.CONDITIONS, verdict, condition.span)


def constraint_findings(rules: Iterable[Constraint], verdict: Verdict) -> Iterator[_lowering.Finding]:
    """Return findings that give all these constraints the same verdict."""
    return (_lowering.Finding(CONSTRAINT_CONSTRUCTS[bool(rule.scope)], verdict, rule.span) for rule in rules)


def _severity(verdict: Verdict) -> int:
    return [*_lowering.Preservation].index(verdict.status)


def _verdict(link: domain_reductions.DomainReduction, construct: Construct) -> Verdict:
    verdict = exact("unchanged")
    match link:
        case (
            domain_reductions.ClosedRangeReduction()
            | domain_reductions.LogarithmReduction()
            | domain_reductions.GridReduction()
        ) if construct is Construct.OPEN:
            verdict = rewritten("the bounds are moved inward to the next float")
        case domain_reductions.GridReduction() if construct is Construct.LOG:
            verdict = rewritten("the values of the grid are evenly spaced on the log scale")
        case domain_reductions.GridReduction():
            verdict = approximated("cut to a grid of evenly spaced values; the values in between are not searched")
        case domain_reductions.LogarithmReduction(part=Grid()):
            verdict = rewritten(
                "encoded as the natural logarithm, and rounded to the nearest member when it is decoded"
            )
        case domain_reductions.LogarithmReduction() if construct is Construct.LOG:
            verdict = approximated("encoded as the natural logarithm; decoded values are exact up to the 12th digit")
        case domain_reductions.MemberRenamingReduction():
            verdict = rewritten("values are encoded as strings")
        case domain_reductions.MemberIndexReduction(part=Grid(log=True)) if construct is Construct.LOG:
            verdict = approximated("encoded as the index of the step, without the log scale")
        case domain_reductions.MemberIndexReduction():
            verdict = rewritten(f"encoded as the index of the {'step' if isinstance(link.part, Grid) else 'value'}")
        case _:
            pass
    return verdict


def _mentions(expression: Expr, part: RangeComparison) -> bool:
    return set(references(part.atom)) <= set(references(expression))


def _refusals(
    space: Space, rules: Sequence[Constraint], refusal: Verdict, related: Sequence[RangeComparison] = ()
) -> list[_lowering.Finding]:
    """Return a finding with the verdict `refusal` for each constraint.

    If there are no constraints, return one for each condition that makes a comparison in `related`, or for all
    conditions if there are none.
    """
    if rules:
        return [*constraint_findings(rules, refusal)]
    conditions = [*space.conditions.values()]
    own = [each for each in conditions if any(_mentions(each, part) for part in related)]
    return [_lowering.Finding(Construct.CONDITIONS, refusal, condition.span) for condition in own or conditions]
