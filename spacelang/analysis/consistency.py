"""Consistency of the checked space: what never holds, occurs or changes, and whether the default is admissible."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import count as numbers
from typing import Final

from spacelang.analysis import operator_lists, random_draw_checks
from spacelang.analysis.conflicts import (
    Conflict,
    check_accidentally_excluded_strings,
    data_dependent_addresses,
    depends_on_data,
    find_conflict,
)
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.space_drafts import DecisionCondition, SpaceDraft
from spacelang.diagnostics import conditions as problems
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.domains import ContradictoryBounds
from spacelang.ir.domain import Categorical, describe
from spacelang.ir.expr import BranchTest, Expr, mentioned_addresses, nodes
from spacelang.ir.membership import is_violated
from spacelang.ir.repeated_stages import address_shared_by_uses, use_number_in_name
from spacelang.ir.space import Branch, Choice, Constraint, Hyperparameter, Space
from spacelang.ir.tuple_parameters import is_condition_implied_by_tuple, name_in_expressions
from spacelang.ir.walk import Assignment, default_structure
from spacelang.solver.constraint_network import TooManyConnectedVariablesError
from spacelang.solver.counting import Structures
from spacelang.solver.satisfiability import ExpressionInContext, is_unsatisfiable, possible_truths_of_all
from spacelang.solver.summed_ranges import equations_with_continuous_members, names_of_simplex_shares
from spacelang.text import Span

FORBID: Final = "`forbid`"
REQUIRE: Final = "`require`"
MAX_SHOWN: Final = 8
"""The maximum number of constraints that a message shows if only all of them together cause the problem."""


def check_consistency(space: Space, draft: SpaceDraft, report: DiagnosticCollector) -> Structures | None:
    """Report conditions and constraints without effect; return the structures, with an admissible default if possible.

    None, after a report, if constraints connect too many decisions to be decided.
    """
    try:
        structures = Structures(space)
        unsatisfiable = {constraint.span for constraint in _check_alternatives(structures, draft, report)}
        excluding: tuple[Constraint, ...] = ()
        has_members = not report.has_errors
        if has_members:
            structures, excluding = ensure_admissible_default(structures, report)
        _TruthChecks(space, draft, report).check(unsatisfiable, {constraint.span for constraint in excluding})
        if has_members:
            check_accidentally_excluded_strings(space, draft.written_constraints, report)
        if not report.has_errors:
            operator_lists.check_possibly_empty_lists(space, report)
            random_draw_checks.check_random_draws(structures, report)
    except TooManyConnectedVariablesError as error:
        report.add(_undecidable_diagnostic(space, error.constraints))
        return None
    return structures


def _undecidable_diagnostic(space: Space, constraints: tuple[Constraint, ...]) -> problems.ConstraintsTooComplexToCount:
    """Return the diagnostic that constraints, or conditions if there are none, relate too many decisions."""
    first, *others = [each.span for each in constraints or space.conditions.values()]
    kind = "constraint" if constraints else "condition"
    reason = f"the {kind} relates too many decisions to each other"
    if others:
        reason = f"the {kind}s together relate too many decisions to each other"
    return problems.ConstraintsTooComplexToCount(
        first,
        kind=kind,
        reason=reason,
        remedy=f"remove some of the {kind}s, or name fewer stages in them",
        related=tuple(
            RelatedPlace(span, f"another of the {kind}s that relate these decisions") for span in others[:MAX_SHOWN]
        ),
    )


class _TruthChecks:
    """Checks of single statements: always or never true ones are reported, unless other data could change that."""

    def __init__(self, space: Space, draft: SpaceDraft, report: DiagnosticCollector) -> None:
        self._space = space
        self._domains = draft.written_domains
        self._fixings = draft.fixings
        self._said = draft.written_constraints
        self._present = draft.decision_conditions
        self._report = report
        self._of_data = data_dependent_addresses(space, report.symbols)
        conditions = {
            address: ExpressionInContext(condition, owners=space.variables[address].owners)
            for address, condition in space.conditions.items()
            if not is_condition_implied_by_tuple(address, condition, space)
        }
        conditions |= {
            address: ExpressionInContext(presence.condition, owners=space.variables[address].owners)
            for address, presence in draft.decision_conditions.items()
            if address in space.variables
        }
        self._conditions = conditions
        self._activity = dict(zip(conditions, possible_truths_of_all(space, [*conditions.values()]), strict=True))
        """Whether each hyperparameter with a condition can be active and can be inactive, ignoring the constraints."""

    def check(self, unsatisfiable: Set[Span], excluding: Set[Span]) -> None:
        """Report conditions and constraints without effect, except at the given spans, which have errors already.

        `unsatisfiable` are the spans of constraints that cannot hold, `excluding` those of constraints that exclude the
        default. An equation of continuous ranges at a span in `excluding` is reported nevertheless.
        """
        before = len(self._report.found)
        written = [statement.expression.span for statement in self._conditions.values()]
        for address, statement in self._conditions.items():
            if not self._depends_on_data(statement.expression, statement.expression.span):
                self._check_condition(address, statement, self._activity[address])
        judged: list[tuple[Constraint, ExpressionInContext]] = []
        # The written constraints come first, then those that express conditions of nested decisions.
        for constraint, said in zip(self._space.constraints, self._said, strict=False):
            written.append(constraint.expression.span)
            if constraint.span in excluding:
                self._check_equation(constraint)
            elif constraint.span not in unsatisfiable and not self._depends_on_data(
                constraint.expression, constraint.span
            ):
                judged.append((constraint, ExpressionInContext(said.expression, said.owners, constraint.scope)))
        for (constraint, statement), can_be in zip(
            judged, possible_truths_of_all(self._space, [statement for _, statement in judged]), strict=True
        ):
            self._check_constraint(constraint, statement, can_be)
        # A line that several bodies have (by `include`, or in a stage that is used twice) is reported only if it has no
        # effect in any of them.
        found = self._report.found[before:]
        uses, idle = Counter(written), Counter(problem.primary for problem in found)
        self._report.found[before:] = {
            problem.primary: problem for problem in found if idle[problem.primary] == uses[problem.primary]
        }.values()

    def _depends_on_data(self, expression: Expr, span: Span) -> bool:
        return depends_on_data(expression, span, self._report.symbols, self._of_data)

    def _check_condition(self, address: str, statement: ExpressionInContext, can_be: tuple[bool, bool]) -> None:
        can_be_true, can_be_false = can_be
        if can_be_true and can_be_false:
            return
        span, reason, related = statement.expression.span, self._reason(statement), self._related(statement)
        if can_be_true:
            remedy = "remove the condition"
            found = problems.ConditionAlwaysTrue(span, kind="condition", reason=reason, remedy=remedy, related=related)
            self._report.add(found)
        else:
            presence = self._present.get(address)
            always = "never active" if presence is None else f"always `{presence.alternative_if_false}`"
            notes = (f"`{self._name(address)}` is {always}",)
            self._report.add(
                problems.ConditionNeverTrue(span, kind="condition", reason=reason, notes=notes, related=related)
            )

    def _check_equation(self, constraint: Constraint) -> None:
        """Report each equation of continuous ranges that the constraint demands, as no random draw satisfies it."""
        for equation, continuous in equations_with_continuous_members(self._space.variables, constraint):
            names = self._names(continuous)
            reason = f"{names} {'is' if len(continuous) == 1 else 'are'} continuous"
            shares = names_of_simplex_shares(self._space.variables, equation)
            self._report.add(problems.EquationOfContinuousRanges(equation.span, reason=reason, shares=shares))

    def _check_constraint(
        self, constraint: Constraint, statement: ExpressionInContext, can_be: tuple[bool, bool]
    ) -> None:
        can_be_true, can_be_false = can_be
        if constraint.bound or (can_be_true and can_be_false):
            self._check_equation(constraint)
            return
        span, kind = statement.expression.span, FORBID if constraint.forbidden else REQUIRE
        if not can_be_true and not can_be_false:
            reason, related = self._reason_never_applies(statement), self._related(statement)
            self._report.add(problems.ConstraintNeverApplies(span, kind=kind, reason=reason, related=related))
            return
        says_nothing = can_be_true != constraint.forbidden
        remedy = "remove it" if says_nothing and can_be_true else None
        found = problems.ConditionAlwaysTrue if can_be_true else problems.ConditionNeverTrue
        notes = () if says_nothing else (self._exclusion_note(statement),)
        reason, related = self._reason(statement), self._related(statement)
        self._report.add(found(span, kind=kind, reason=reason, remedy=remedy, notes=notes, related=related))

    def _reason_never_applies(self, statement: ExpressionInContext) -> str:
        dead = [address for address in statement.active if self._is_never_active(address)]
        if dead:
            return f"`{self._name(dead[0])}` is never active"
        names = self._names(statement.active)
        verb = "is" if len(statement.active) == 1 else "are"
        where = [f" where `{self._name(owner)}` is `{branch}`" for owner, branch in statement.owners[-1:]]
        return f"{names} {verb} never active{where[0]}" if where else "never active together"

    def _exclusion_note(self, statement: ExpressionInContext) -> str:
        names = self._names(statement.active)
        verb = "is" if len(statement.active) == 1 else "are"
        taken = [f"`{self._name(owner)}` is `{branch}`" for owner, branch in statement.owners[-1:]]
        case = " and ".join([*([f"{names} {verb} active"] if names else []), *taken])
        return (
            f"the constraints leave no configuration in which {case}"
            if case
            else "the constraints leave no configuration"
        )

    def _reason(self, statement: ExpressionInContext) -> str:
        """Return the fixed values and domains of the names in a statement, as the reason why its truth is fixed."""
        said = []
        for address in dict.fromkeys(mentioned_addresses(statement.expression)):
            node = self._space.variables[address].node
            if isinstance(node, Choice):
                said.append(f"`{node.name}` is " + " or ".join(f"`{branch.name}`" for branch in node.branches[:6]))
            elif self._is_never_active(address):
                said.append(f"`{self._name(address)}` is never active")
            else:
                verb = "is one of" if isinstance(node.domain, Categorical) else "lies in"
                said.append(f"`{self._name(address)}` {verb} `{self._domains.get(address) or describe(node.domain)}`")
        fixings = [self._fixings[each.span] for each in nodes(statement.expression) if each.span in self._fixings]
        said.extend(dict.fromkeys(f"`{fixing.name}` is fixed to `{fixing.value}`" for fixing in fixings))
        return "; ".join(said) or "the expression contains only constants, so its value never changes"

    def _related(self, statement: ExpressionInContext) -> tuple[RelatedPlace, ...]:
        """Return conditions of hyperparameters and places of fixed names: they often decide the statement."""
        named = [
            self._space.variables[address].node for address in dict.fromkeys(mentioned_addresses(statement.expression))
        ]
        fixings = dict.fromkeys(self._fixings[n.span] for n in nodes(statement.expression) if n.span in self._fixings)
        return (
            *(
                RelatedPlace(node.condition.span, f"the condition of `{self._name(node.address)}`")
                for node in named
                if isinstance(node, Hyperparameter) and node.condition is not None
            ),
            *(RelatedPlace(fixing.span, "fixed here") for fixing in fixings if fixing.span is not None),
        )

    def _is_never_active(self, address: str) -> bool:
        """Return True if a hyperparameter is never active, even without the constraints."""
        return address in self._activity and not self._activity[address][0]

    def _name(self, address: str) -> str:
        return name_in_expressions(self._space.variables[address].node.name)

    def _names(self, addresses: Sequence[str]) -> str:
        *first, last = [f"`{self._name(address)}`" for address in addresses] or [""]
        return f"{', '.join(first)} and {last}" if first else last


def _check_alternatives(structures: Structures, draft: SpaceDraft, report: DiagnosticCollector) -> Iterator[Constraint]:
    """Report an empty space or alternatives that are never taken. Yield the constraints that cause it."""
    space = structures.space
    # Count even without constraints, so that a space that cannot be counted is found out here and not later.
    count = structures.count
    if not space.constraints:
        return
    symbols, checks = report.symbols, numbers()
    if not count:
        found = find_conflict(space, space.constraints, symbols, checks)
        first, *others = found.constraints
        related = tuple(RelatedPlace(constraint.span, "together with this") for constraint in others[:MAX_SHOWN])
        before = len(report.found)
        if all(constraint.bound for constraint in found.constraints):
            _report_contradictory_bounds(found, report)
        else:
            report.add(
                problems.EmptySpace(first.span, related=(*related, *found.others), notes=_symbol_notes(found, report))
            )
        if not _is_bound(found, report):
            report.mark_data_dependent(before)
        yield from found.constraints
        return
    constraints = _AlternativeChecks(structures)
    for choice, branch in _dead_branches(structures):
        presence = draft.decision_conditions.get(choice.address)
        if presence is not None and _is_decided_by_condition(space, presence, branch):
            # The condition never or always holds: that is reported separately.
            continue
        found = find_conflict(
            space, constraints.constraints_on_branch(choice, branch), symbols, checks, (choice.address, branch.name)
        )
        excluded = tuple(RelatedPlace(constraint.span, "excluded here") for constraint in found.constraints[:MAX_SHOWN])
        yield from found.constraints
        if found.by_data and not _is_bound(found, report):
            # A branch that is dead only for very large data is no mistake: `stats` and `sample` name their bindings.
            continue
        if found.constraints and not found.by_data and all(constraint.bound for constraint in found.constraints):
            _report_contradictory_bounds(found, report)
            continue
        kind = problems.AlternativeNeverChosenForData if found.by_data else problems.AlternativeNeverChosen
        related, notes = (*excluded, *found.others), _symbol_notes(found, report)
        # An alternative inside a chain is excluded in all uses.
        stage = choice.key.replace(f"[{use_number_in_name(choice.key)}]", "", 1)
        report.add(kind(branch.span, alternative=branch.name, stage=stage, related=related, notes=notes))


def _report_contradictory_bounds(found: Conflict, report: DiagnosticCollector) -> None:
    """Report bounds of ranges that leave no values, at the first bound."""
    first, *others = found.constraints
    related = tuple(
        RelatedPlace(constraint.span, "this bound also excludes values") for constraint in others[:MAX_SHOWN]
    )
    notes = _symbol_notes(found, report)
    report.add(ContradictoryBounds(first.span, related=(*related, *found.others), notes=notes))


def _is_decided_by_condition(space: Space, presence: DecisionCondition, branch: Branch) -> bool:
    """Return True if the condition of a nested decision alone (or its added fallback) excludes an alternative."""
    if branch.name == presence.alternative_if_false and not presence.is_own:
        return True
    own = [constraint for constraint in space.constraints if constraint.span == presence.span]
    return is_unsatisfiable(space, own, (presence.address, branch.name))


def _symbol_notes(found: Conflict, report: DiagnosticCollector) -> tuple[str, ...]:
    """Return notes with the numbers of the symbols that a conflict depends on."""
    return report.symbols.binding_notes(_symbols(found, report))


def _is_bound(found: Conflict, report: DiagnosticCollector) -> bool:
    return all(map(report.symbols.is_bound, _symbols(found, report)))


def _symbols(found: Conflict, report: DiagnosticCollector) -> list[str]:
    lines = (*(each.span for each in found.constraints), *(each.span for each in found.others))
    return [name for line in lines for name in report.symbols.symbols_mentioned_in(line)]


def _dead_branches(structures: Structures) -> Iterator[tuple[Choice, Branch]]:
    space, alive = structures.space, structures.supported_branches
    dead: set[tuple[str, str]] = set()
    # Orders, and the numbers and uses of chains, are not written one by one: constraints are the only way to exclude
    # some of them. An alternative inside a chain is dead if no use can take it.
    taken: dict[str, set[str]] = {}
    for choice in space.decisions if space.chains else ():
        names = {branch.name for place, branch in enumerate(choice.branches) if place in alive[choice.address]}
        taken.setdefault(address_shared_by_uses(choice.address, space.chains), set()).update(names)
    for choice in space.decisions:
        if choice.address in space.permutations or dead.intersection(space.variables[choice.address].owners):
            continue
        known = taken.setdefault(address_shared_by_uses(choice.address, space.chains), set())
        for place, branch in enumerate(choice.branches):
            if place not in alive[choice.address]:
                dead.add((choice.address, branch.name))
                if not choice.repeats and branch.name not in known:
                    known.add(branch.name)  # report it for one use only
                    yield choice, branch


class _AlternativeChecks:
    """An index of the constraints of a space by the branches and decisions that they may affect."""

    def __init__(self, structures: Structures) -> None:
        self._naming: dict[tuple[str, str], list[Constraint]] = {}
        self._over: dict[str | tuple[str, str], list[Constraint]] = {}
        for constraint in structures.space.constraints:
            tests = [node for node in nodes(constraint.expression) if isinstance(node, BranchTest)]
            for key in {(test.address, name) for test in tests for name in test.branches}:
                self._naming.setdefault(key, []).append(constraint)
        for context, networks in structures.structure_model.by_context.items():
            for network in (each for each in networks if each.constraints):
                places: list[str | tuple[str, str]] = [*context, *(member.address for member in network.members)]
                for place in places:
                    self._over.setdefault(place, []).extend(network.constraints)

    def constraints_on_branch(self, choice: Choice, branch: Branch) -> tuple[Constraint, ...]:
        """Return the constraints that may exclude a branch, most specific first.

        They test the branch by name, or restrict what is inside the branch, or mention its decision.
        """
        taken = (choice.address, branch.name)
        found = (*self._naming.get(taken, ()), *self._over.get(taken, ()), *self._over.get(choice.address, ()))
        return tuple({id(constraint): constraint for constraint in found}.values())


def ensure_admissible_default(
    structures: Structures, report: DiagnosticCollector
) -> tuple[Structures, tuple[Constraint, ...]]:
    """Return the structures with an admissible default, and the constraints that wrongly exclude the written default.

    Such a constraint is reported. If it depends on the data, it is no mistake: the default is moved to the nearest
    member instead (see `member_nearest_to_default`).
    """
    space = structures.space
    taken = default_structure(space)
    assignment = Assignment(space, taken, lambda node: node.default)
    broken = [constraint for constraint in space.constraints if is_violated(constraint, assignment)]
    decided = data_dependent_addresses(space, report.symbols) if broken else frozenset()
    decided |= {
        node.address
        for node in space.hyperparameters
        if broken and report.symbols.has_data_dependent_default(node.span)
    }
    mistaken = tuple(c for c in broken if not depends_on_data(c.expression, c.span, report.symbols, decided))
    for constraint in mistaken:
        _report(space, constraint, report)
    if mistaken or not broken:
        return structures, mistaken
    # Most defaults are not moved: the solver for it is imported only if it is needed.
    from spacelang.solver.defaults import with_nearest_default

    return Structures(with_nearest_default(structures)), mistaken


def _report(space: Space, constraint: Constraint, report: DiagnosticCollector) -> None:
    from spacelang.solver.defaults import default_configuration

    choices = default_configuration(space)
    named = [space.variables[address] for address in mentioned_addresses(constraint.expression)]
    notes = [
        f"the default of `{variable.key}` is `{'none' if choices[variable.key] is None else choices[variable.key]}`"
        for variable in named
        if variable.key in choices
    ]
    premises = report.symbols.binding_notes(report.symbols.symbols_mentioned_in(constraint.span))
    member = next((variable.node.name for variable in named if _is_present_by_default(variable.node)), None)
    report.add(problems.DefaultViolatesConstraint(constraint.span, notes=(*notes, *premises), member=member))


def _is_present_by_default(node: Choice | Hyperparameter) -> bool:
    """Return True for the decision of an optional list member written as `A?`, which the list has by default."""
    is_optional = isinstance(node, Choice) and node.default > 0 and node.name in node.branch_indices
    return is_optional and node.span.text.endswith("?")
