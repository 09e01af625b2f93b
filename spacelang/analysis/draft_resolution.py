"""Resolution of a draft to a space: read every expression, attach the conditions and find cycles among them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from spacelang.analysis import arithmetic, space_drafts
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.expressions import ExpressionReader
from spacelang.analysis.name_resolution import NameResolver
from spacelang.analysis.repeated_stages import ChainExpressionExpander, Numbers
from spacelang.analysis.space_drafts import ConstraintWithBranches, SpaceDraft
from spacelang.diagnostics.conditions import ConditionCycle, ConstraintsTooComplexToCount, InvalidComparison
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.names import UnusedVariable
from spacelang.diagnostics.structure import NoColumnSelected
from spacelang.grouping import find_cycles
from spacelang.ir.data_binding import KINDS_BY_SIZE_NAME, DataColumn, RemovedParts, bind_to_columns
from spacelang.ir.domain import Grid
from spacelang.ir.expr import And, BranchTest, Constant, Expr, Not, Or, mentioned_addresses, references
from spacelang.ir.partial_evaluation import assume_inactive, fold_constants
from spacelang.ir.space import (
    ABSTRACT_CATALOGUE,
    Choice,
    Constraint,
    Context,
    Product,
    ProductKind,
    Space,
    Variable,
    operators,
)
from spacelang.ir.tuple_parameters import member_conditions
from spacelang.ir.walk import computed_parameters, expressions_of, products, rebuild_tree
from spacelang.syntax import ast
from spacelang.text import Span


def resolve_draft(space: Space, draft: space_drafts.SpaceDraft, report: DiagnosticCollector) -> Space:
    """Return the space with its conditions and constraints, without what has no meaning for the known data.

    Conditions and constraints in left-out stages are read only for mistakes.
    """
    space, used = _with_ranges(space, draft, report)
    everything, left_out = _declared_space(space, draft)
    declared = draft.variables = everything.variables
    reader = ExpressionReader(NameResolver(everything, draft, left_out, report.symbols), report)
    reader.used |= used
    read = {each.address: _read(each.expression, each.scope, reader, report) for each in draft.conditions}
    conditions = {address: expression for address, expression in read.items() if expression is not None}
    if everything.tuples:
        conditions |= _conditions_in_tuples(everything, conditions)
    draft.decision_conditions = _read_decision_conditions(draft, reader, report)
    _check_cycles(conditions | {d.address: d.condition for d in draft.decision_conditions.values()}, declared, report)
    expansion = ChainExpressionExpander(draft.chains)
    constraints = _constraints(draft, reader, space, left_out, expansion, report)
    computations = _computations(draft, reader, expansion, report)
    if draft.chains:
        conditions, computations = _expand_chains(draft, conditions, computations, expansion)
    root = space_drafts.attach_expressions(space.root, conditions, computations)
    found = Space(space.name, root, constraints, space.title, space.task)
    if not report.has_errors:
        if draft.computations:
            # Most files compute nothing: the check is imported only if it is needed.
            from spacelang.analysis import computed_checks

            written = {each.address: (each.checker, each.definition.expression.span) for each in draft.computations}
            written = expansion.expand_addresses(written, lambda each, _, __: each)
            computed_checks.check_computed_parameters(found, written, report)
        if draft.ranges:
            from spacelang.analysis import ranges_with_named_bounds

            ranges_with_named_bounds.check_bound_activity(found, report)
        _check_unused(found, draft, reader, report)
        found = _without_unused_imports(found, draft.imported)
    if draft.columns is not None and not report.has_errors:
        found = prune_for_columns(found, draft, draft.columns, report)
    return _with_decision_conditions(found, draft.decision_conditions.values(), report)


def _expand_chains(
    draft: space_drafts.SpaceDraft,
    conditions: Mapping[str, Expr],
    computations: Mapping[str, Expr],
    expansion: ChainExpressionExpander,
) -> tuple[dict[str, Expr], dict[str, Expr]]:
    """Return conditions and computed values with chains expanded; expand the other mappings of the draft in place."""

    def with_condition(
        known: space_drafts.DecisionCondition, address: str, numbers: Numbers
    ) -> space_drafts.DecisionCondition:
        return replace(known, address=address, condition=expansion.expand_condition(known.condition, numbers))

    draft.decision_conditions = expansion.expand_addresses(draft.decision_conditions, with_condition)
    draft.written_domains.update(expansion.expand_addresses(draft.written_domains, lambda domain, _, __: domain))
    return (
        expansion.expand_addresses(conditions, lambda each, _, numbers: expansion.expand_condition(each, numbers)),
        expansion.expand_addresses(computations, lambda each, _, numbers: expansion.rename_uses(each, numbers)),
    )


def _declared_space(space: Space, draft: space_drafts.SpaceDraft) -> tuple[Space, frozenset[str]]:
    """Return a space of everything that expressions may name, and the stages in it that the pipeline does not use."""
    found = Space(space.name, Product(ProductKind.SEQUENCE, tuple(draft.declared)))
    reached = {space_drafts.stage_of(address) for address in space.variables}
    reached |= {use.address for name, chain in draft.chains.items() if name in reached for use in chain.uses}
    left_out = {space_drafts.stage_of(address) for address in found.variables} - reached if draft.is_whole else set()
    return found, frozenset(left_out)


def _with_ranges(
    space: Space, draft: space_drafts.SpaceDraft, report: DiagnosticCollector
) -> tuple[Space, set[space_drafts.Definition]]:
    """Return the space in which bounds that name hyperparameters are read, and the definitions that the bounds use."""
    if not draft.ranges:
        return space, set()
    # Most files have no such bounds: the reader is imported only if it is needed.
    from spacelang.analysis import named_bounds

    everything, left_out = _declared_space(space, draft)
    names = NameResolver(everything, draft, left_out, report.symbols)
    reader = ExpressionReader(names, report)
    found = named_bounds.NamedBoundReader(everything.variables, draft, names, reader, report).read()
    # The tree of the space has each use of a chain once for each number of uses.
    moved = ChainExpressionExpander(draft.chains).expand_addresses(
        found, lambda leaf, address, _: leaf and replace(leaf, address=address)
    )
    return named_bounds.replace_bound_placeholders(space, draft, {**found, **moved}), reader.used


def _conditions_in_tuples(space: Space, conditions: Mapping[str, Expr]) -> dict[str, Expr]:
    """Return the conditions of the lengths and elements of tuples by address, given the conditions of whole tuples."""
    found: dict[str, Expr] = {}
    for parameter in space.tuples.values():
        lengths = space.variables[parameter.length].hyperparameter.domain
        assert isinstance(lengths, Grid)
        found |= member_conditions(parameter, int(lengths.least), conditions.get(parameter.members[0]))
    return found


def _computations(
    draft: space_drafts.SpaceDraft,
    reader: ExpressionReader,
    expansion: ChainExpressionExpander,
    report: DiagnosticCollector,
) -> dict[str, Expr]:
    """Return the expressions of computed parameters by address, after reading every definition for mistakes."""
    found: dict[str, Expr] = {}
    for pending in draft.computations:
        expression = _read_definition(pending.definition, reader, report)
        if isinstance(expression, Choice):
            problem, remedy = f"`{pending.definition.expression.span.text}` is a decision", "test it: `… is …`"
            report.add(InvalidComparison(pending.definition.expression.span, problem=problem, remedy=remedy))
        elif expression is not None and not expansion.mentions_only_own_use(expression, pending.address):
            problem = "a computed value cannot refer to one use of a chain: the chain may have fewer uses"
            report.add(InvalidComparison(pending.definition.expression.span, problem=problem))
        elif expression is not None:
            finite = arithmetic.replace_infinities_by_integers(expression)
            if finite is None:
                report.report_unbound_symbol(pending.definition.expression.span)
            else:
                found[pending.address] = finite
    for definition in draft.lets:
        _read_definition(definition, reader, report)
    return found


def _read_definition(
    definition: space_drafts.Definition, reader: ExpressionReader, report: DiagnosticCollector
) -> Expr | Choice | None:
    before = len(report.found)
    found = reader.read_definition(definition)
    if definition.scope.through is not None:
        report.add_related_place(before, definition.scope.through)
    return found


def _check_unused(
    space: Space, draft: space_drafts.SpaceDraft, reader: ExpressionReader, report: DiagnosticCollector
) -> None:
    """Warn about each `var` and `let` whose value nothing uses, unless the space has abstract operators.

    With these, the user's own function may read the value. A line that several bodies have, by `include`, is reported
    only if nothing uses it in any of them.
    """
    if any(operator.catalogue == ABSTRACT_CATALOGUE for operator in operators(space.root)):
        return
    used = _used_addresses(space)
    for found in map(reader.read_definition, draft.lets):
        used |= set() if found is None or isinstance(found, Choice) else {*references(found)}
    own_values = (node for node in space.hyperparameters if node.is_var and node.address not in draft.imported)
    values = [(node.span, node.name, node.address in used) for node in own_values]
    values += [(each.name.span, each.name.text, each in reader.used) for each in draft.lets]
    known = {span for span, _, is_used in values if is_used}
    own = space.root.span.source.name
    for span, name, _ in values:
        if span not in known and span.source.name == own:
            report.add(UnusedVariable(span, name=name))


def _used_addresses(space: Space) -> set[str]:
    expressions = [*expressions_of(space.variables.values(), space.constraints)]
    expressions += [each.expression for each, _ in computed_parameters(space.root)]
    return {*space.tuples, *(address for each in expressions for address in references(each))}


def _without_unused_imports(space: Space, imported: Collection[str]) -> Space:
    """Return the space without each `var` of an imported file whose value no expression uses."""
    while imported:
        idle = {address for address in imported if address in space.variables} - _used_addresses(space)
        if not idle:
            break
        space = replace(space, root=rebuild_tree(space.root, lambda node: None if node.address in idle else node))  # noqa: B023
    return space


def _read_decision_conditions(
    draft: space_drafts.SpaceDraft, reader: ExpressionReader, report: DiagnosticCollector
) -> dict[str, space_drafts.DecisionCondition]:
    read = (
        (pending, _read(pending.expression, pending.scope, reader, report))
        for pending in draft.pending_decision_conditions
    )
    return {
        pending.address: space_drafts.DecisionCondition(
            pending.address, condition, pending.alternative_if_false, pending.is_own, pending.span
        )
        for pending, condition in read
        if condition is not None
    }


def _with_decision_conditions(
    space: Space, declared: Iterable[space_drafts.DecisionCondition], report: DiagnosticCollector
) -> Space:
    presences = [presence for presence in declared if presence.address in space.variables]
    # After an error, the space may lack what a condition names.
    if report.has_errors or not presences:
        return space
    found = list(space.constraints)
    for presence in presences:
        said = space_drafts.constraints_for_decision_condition(presence, space.variables)
        if said is None:
            reason = (
                f"the hyperparameters in the condition are active in more than {space_drafts.MAX_CASES} combinations"
            )
            remedy = "remove parts of the condition that follow from its other parts"
            report.add(
                ConstraintsTooComplexToCount(presence.condition.span, kind="condition", reason=reason, remedy=remedy)
            )
        found.extend(said or ())
    return space_drafts.with_fallback_defaults(replace(space, constraints=tuple(found)), presences)


def _constraints(
    draft: space_drafts.SpaceDraft,
    reader: ExpressionReader,
    space: Space,
    left_out: Collection[str],
    expansion: ChainExpressionExpander,
    report: DiagnosticCollector,
) -> tuple[Constraint, ...]:
    found: list[Constraint] = []
    for pending in draft.rules:
        rule, scope = pending.rule, pending.scope
        expression = _read(rule.expression, scope, reader, report)
        # After an error, the space may lack the branch of the body, and its constraints are not used.
        if expression is None or report.has_errors or space_drafts.stage_of(scope.place) in left_out:
            continue
        for expanded in expansion.expand_constraint(expression, scope.branch, forbidden=rule.forbidden):
            constraint = Constraint(expanded.expression, rule.forbidden, rule.span, pending.bound)
            owners: dict[tuple[str, str], None] = {}
            for branch in expanded.branches:
                constraint, said = restrict_to_branch(constraint, branch, space)
                owners |= dict.fromkeys(said.owners)
            if draft.chains:
                constraint = replace(constraint, expression=fold_constants(constraint.expression, naming=True))
            found.append(constraint)
            draft.written_constraints.append(space_drafts.ConstraintWithBranches(expanded.expression, (*owners,)))
    return tuple(found)


def _read(
    expression: ast.Expression, scope: space_drafts.Scope, reader: ExpressionReader, report: DiagnosticCollector
) -> Expr | None:
    before = len(report.found)
    found = reader.read(expression, scope)
    if scope.through is not None:
        report.add_related_place(before, scope.through)
    return found


def _check_cycles(
    conditions: Mapping[str, Expr], variables: Mapping[str, Variable], report: DiagnosticCollector
) -> None:
    """Report conditions that depend on themselves. Whatever lies in a nested decision depends on that decision."""
    after = {
        address: [
            on
            for each in mentioned_addresses(expression)
            for on in (each, *(owner for owner, _ in variables[each].owners))
        ]
        for address, expression in conditions.items()
    }
    for cycle in find_cycles(after):
        words = [address.rsplit(".", 1)[-1] for address in cycle]
        names = words if len(set(words)) == len(words) else list(cycle)
        related = tuple(
            RelatedPlace(conditions[address].span, f"the condition of `{name}`")
            for address, name in zip(cycle[1:], names[1:], strict=True)
        )
        path = f"`{names[0]}` depends on " + ", which depends on ".join(f"`{name}`" for name in (*names[1:], names[0]))
        report.add(ConditionCycle(conditions[cycle[0]].span, parameter=names[0], path=path, related=related))


def restrict_to_branch(
    written: Constraint, branch: space_drafts.BranchKey, space: Space
) -> tuple[Constraint, space_drafts.ConstraintWithBranches]:
    """Return a constraint restricted to the innermost branch around its body, and the constraint as it was written.

    The restriction is a test of that branch. It is not added if the hyperparameters of the constraint are active in
    that branch only, or if the constraint excludes nothing elsewhere.
    """
    owners = _enclosing_branches(branch, space.variables)
    named = {owner for address in references(written.expression) for owner in space.variables[address].owners}
    if not owners or owners[-1] in named:
        return written, space_drafts.ConstraintWithBranches(written.expression)
    as_written = space_drafts.ConstraintWithBranches(written.expression, owners)
    below = frozenset(
        each for each in mentioned_addresses(written.expression) if owners[-1] in space.variables[each].owners
    )
    if assume_inactive(written.expression, below) == Constant(not written.forbidden):
        return written, as_written
    test = BranchTest(owners[-1][0], (owners[-1][1],))
    within = _with_branch_test(written.expression, written.expression.span, test, forbidden=written.forbidden)
    return replace(written, expression=within), as_written


def _enclosing_branches(branch: space_drafts.BranchKey, variables: Mapping[str, Variable]) -> Context:
    """Return the branches that lead to a branch, outermost first, without innermost ones that have no alternative."""
    found = [*variables[branch[0]].owners, branch]
    while found:
        decision = variables[found[-1][0]].choice
        if len(decision.branches) > 1:
            break
        found.pop()
    return tuple(found)


def _with_branch_test(expression: Expr, span: Span, test: BranchTest, *, forbidden: bool) -> Expr:
    if forbidden:
        terms = expression.terms if isinstance(expression, And) else (expression,)
        return And((test, *terms), span)
    terms = expression.terms if isinstance(expression, Or) else (expression,)
    return Or((Not(test), *terms), span)


def prune_for_columns(
    space: Space, draft: SpaceDraft, columns: tuple[DataColumn, ...], report: DiagnosticCollector
) -> Space:
    """Return the space without what has no meaning for pipelines that receive only `columns`; itself after an error.

    The constraints and the conditions of nested decisions in the draft are changed in the same way.
    """
    symbols = report.symbols
    bound = bind_to_columns(space, columns, symbols.is_fully_bound_in)
    selecting = [each for each in products(space.root) if each.kind is ProductKind.COLUMNS]
    if selecting:
        for name in KINDS_BY_SIZE_NAME:
            symbols.record_column_count_symbol(name)
    if bound is None:
        before = len(report.found)
        counted = (name for name in KINDS_BY_SIZE_NAME if symbols.is_bound(name))
        report.add(NoColumnSelected(selecting[0].span, notes=symbols.binding_notes(counted)))
        report.mark_data_dependent(before)
        return space
    if bound.space is space:
        return space
    said = draft.written_constraints
    draft.written_constraints = [
        said[place] if left is space.constraints[place] else ConstraintWithBranches(left.expression, said[place].owners)
        for place, left in bound.constraints.items()
    ]
    for place, constraint in bound.constraints.items():
        if constraint is not space.constraints[place]:
            symbols.record_simplification(constraint.span)
    for address, condition in bound.space.conditions.items():
        if condition != space.conditions[address]:
            symbols.record_simplification(condition.span)
    draft.decision_conditions = {
        address: replace(each, condition=_simplified(each.condition, bound.lost, report))
        for address, each in draft.decision_conditions.items()
        if address in bound.space.variables
    }
    return bound.space


def _simplified(condition: Expr, lost: RemovedParts, report: DiagnosticCollector) -> Expr:
    if not lost.are_mentioned_in(condition):
        return condition
    report.symbols.record_simplification(condition.span)
    return lost.simplify(condition)
