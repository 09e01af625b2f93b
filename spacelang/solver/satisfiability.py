"""Decide whether a condition or constraint can be true and can be false wherever it applies."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import prod
from typing import Final

from spacelang.frozen import frozen
from spacelang.ir.domain import BOOLEANS, Categorical, Domain, Grid, contains, parts
from spacelang.ir.expr import ActivityTest, And, BranchTest, Expr, Not, mentioned_addresses, nodes
from spacelang.ir.space import Choice, Constraint, Context, Hyperparameter, Space, Variable
from spacelang.ir.value import Value
from spacelang.ir.walk import expressions_of, with_dependencies
from spacelang.solver.bucket_elimination import UnionFind
from spacelang.solver.constraint_contexts import common_context
from spacelang.solver.constraint_network import UNREACHED, TooManyConnectedVariablesError
from spacelang.solver.domain_cells import singleton_cells
from spacelang.solver.linear_inequalities import evaluate_combinations, possible_truths_of_sum
from spacelang.solver.model import SolverModel, SolverWeights, WeightedModelSolver

MAX_TRIED_VALUES: Final = 64
"""The maximum size of a domain whose values are all tried; of a larger one, a few are tried."""
MAX_TRIED_COMBINATIONS: Final = 4_096  # The maximum number of combinations of values to try before a solver is used
MIN_SHARED_VARIABLES: Final = 8  # Statements that depend on at least this many connected variables are solved together


@frozen
class ExpressionInContext:
    """An expression that applies where the branches in `owners` are taken and the variables in `active` are active."""

    expression: Expr
    owners: Context = ()
    active: tuple[str, ...] = ()


def possible_truths(space: Space, statement: ExpressionInContext) -> tuple[bool, bool]:
    """Return two flags: whether a statement can be true, and whether it can be false. Constraints are ignored.

    Both flags are True for a statement that connects too many variables to decide.
    """
    return possible_truths_of_all(space, (statement,))[0]


def possible_truths_of_all(space: Space, statements: Sequence[ExpressionInContext]) -> list[tuple[bool, bool]]:
    """Return the `possible_truths` of each statement, with equal ones examined once and connected ones together."""
    alike = [_without_irrelevant_owners(space, statement) for statement in statements]
    found: dict[ExpressionInContext, tuple[bool, bool]] = {}
    many: list[ExpressionInContext] = []
    for statement in dict.fromkeys(alike):
        tried = _try_values(space, statement)
        if tried is not None:
            found[statement] = True in tried, False in tried
        elif (
            len(with_dependencies(space.variables, _named_addresses(statement), MIN_SHARED_VARIABLES))
            < MIN_SHARED_VARIABLES
        ):
            found[statement] = _solve_truths_together(space, (statement,))[0]
        else:
            many.append(statement)
    for together in _connected_statements(space, many):
        found |= zip(together, _solve_truths_together(space, together), strict=True)
    return [found[statement] for statement in alike]


def is_unsatisfiable(space: Space, constraints: Sequence[Constraint], branch: tuple[str, str] | None = None) -> bool:
    """Return True if no configuration satisfies the given constraints, whatever the other ones of the space are.

    With `branch`, an address and the name of a branch, only configurations that take this branch count.
    """
    wished = () if branch is None else (Constraint(BranchTest(branch[0], (branch[1],)), forbidden=False),)
    together = (*constraints, *wished)
    expressions = [constraint.expression for constraint in together]
    named = [address for expression in expressions for address in mentioned_addresses(expression)]
    variables = _relevant_variables(space, (), with_dependencies(space.variables, named), expressions)
    return not WeightedModelSolver(SolverModel(variables, together), SolverWeights()).total_weight()


def _without_irrelevant_owners(space: Space, statement: ExpressionInContext) -> ExpressionInContext:
    """Return the statement without owners that cannot matter to it.

    An owner cannot matter if nothing that the statement depends on lies below it or tests it. A thousand alternatives
    of one stage may contain the same statement about another stage, which is then examined once.
    """
    wanted = with_dependencies(space.variables, _named_addresses(statement), MIN_SHARED_VARIABLES)
    if not statement.owners or len(wanted) == MIN_SHARED_VARIABLES:
        return statement
    deciding = {*wanted, *(owner for address in wanted for owner, _ in space.variables[address].owners)}
    return replace(statement, owners=tuple(owner for owner in statement.owners if owner[0] in deciding))


# ---- trying values


def _try_values(space: Space, statement: ExpressionInContext) -> set[bool] | None:
    """Return the truths found by trying values, or None if that is not conclusive.

    All variables must always be reached. Both truths are certain as soon as both have occurred; a single truth is
    certain only if all combinations of values were tried.
    """
    variables = [
        space.variables[a] for a in dict.fromkeys((*mentioned_addresses(statement.expression), *statement.active))
    ]
    taken = _taken_branches(space, statement)
    if not variables or taken is None or not all(_is_reached(space, variable, taken) for variable in variables):
        return None
    samples = [_samples(variable, taken) for variable in variables]
    options = {variable.address: sample for variable, sample in zip(variables, samples, strict=True)}
    sizes = [_size(variable, taken) for variable in variables]
    has_all_values = sizes == [len(sample) for sample in samples]
    found = possible_truths_of_sum(statement.expression, options)
    if found is not None:
        return found if has_all_values or len(found) == 2 else None
    found = set()
    for truth in islice(evaluate_combinations(statement.expression, options), MAX_TRIED_COMBINATIONS):
        found.add(truth)
        if len(found) == 2:
            return found
    is_complete = has_all_values and prod(len(sample) for sample in samples) <= MAX_TRIED_COMBINATIONS
    return found if is_complete else None


def _taken_branches(space: Space, statement: ExpressionInContext) -> dict[str, str] | None:
    taken = dict(statement.owners)
    for address in statement.active:
        for owner, branch in space.variables[address].owners:
            if taken.setdefault(owner, branch) != branch:
                return None
    return taken


def _is_reached(space: Space, variable: Variable, taken: Mapping[str, str]) -> bool:
    return variable.condition is None and all(
        taken.get(owner) == branch or len(space.variables[owner].choice.branches) == 1
        for owner, branch in variable.owners
    )


def _size(variable: Variable, taken: Mapping[str, str]) -> int | None:
    if isinstance(variable.node, Choice):
        return 1 if variable.address in taken else len(variable.node.branches)
    return variable.node.domain.size


def _samples(variable: Variable, taken: Mapping[str, str]) -> list[Value]:
    """Return all values of a variable if there are few, otherwise some of them."""
    if isinstance(variable.node, Choice):
        known = taken.get(variable.address)
        return [branch.name for branch in variable.node.branches] if known is None else [known]
    domain = variable.node.domain
    if domain.size is not None and domain.size <= MAX_TRIED_VALUES:
        return [cell.representative for cell in singleton_cells(domain)]
    return _some_values(domain)


def _some_values(domain: Domain) -> list[Value]:
    found: list[Value] = []
    for part in parts(domain):
        if isinstance(part, Categorical):
            found.extend(part.values[:MAX_TRIED_VALUES])
        elif isinstance(part, Grid):
            found.extend(
                dict.fromkeys(
                    (*(part.value_at(place) for place in range(min(2, part.size))), part.representative, part.greatest)
                )
            )
        else:
            ends = (part.lower, part.representative, part.upper)
            found.extend(value for value in dict.fromkeys(ends) if contains(part, value))
    return found


# ---- solving


def _solve_truths_together(space: Space, statements: Sequence[ExpressionInContext]) -> list[tuple[bool, bool]]:
    """Return the truths of statements solved together, or one by one if they connect too many variables.

    A single statement that connects too many variables may be true and may be false.
    """
    try:
        return _solve_truths(space, statements)
    except TooManyConnectedVariablesError:
        if len(statements) == 1:
            return [(True, True)]
    return [_solve_truths_together(space, (statement,))[0] for statement in statements]


def _solve_truths(space: Space, statements: Sequence[ExpressionInContext]) -> list[tuple[bool, bool]]:
    wanted = with_dependencies(space.variables, [a for each in statements for a in _named_addresses(each)])
    # A constraint over hyperparameters does not apply if they are not reached; any other statement does.
    own = [each.owners for each in statements if each.owners or not each.active]
    context = common_context([*(space.variables[address].owners for address in wanted), *own])
    inner = [owner for statement in statements for owner, _ in statement.owners[len(context) :]]
    # Two auxiliary hyperparameters per statement: one is active exactly if it is true, the other if it is false.
    probes = [probe for place, statement in enumerate(statements) for probe in _probes(statement, len(context), place)]
    variables = _relevant_variables(space, context, (*wanted, *inner), [p.condition for p in probes if p.condition])
    variables |= {probe.address: Variable(probe, ()) for probe in probes}
    supported = WeightedModelSolver(SolverModel(variables, ()), SolverWeights()).supported_states()
    can_be = [supported[probe.address] != {UNREACHED} for probe in probes]
    return [*zip(can_be[::2], can_be[1::2], strict=True)]


def _probes(statement: ExpressionInContext, depth: int, place: int) -> Iterator[Hyperparameter]:
    reached: tuple[Expr, ...] = (
        *(BranchTest(owner, (branch,)) for owner, branch in statement.owners[depth:]),
        *(ActivityTest(address) for address in statement.active),
    )
    for word, test in (("true", statement.expression), ("false", Not(statement.expression))):
        name = f"{word} {place}"  # cannot clash with an address, since these contain no blanks
        yield Hyperparameter(name, name, name, BOOLEANS, True, And((*reached, test)))


def _named_addresses(statement: ExpressionInContext) -> tuple[str, ...]:
    return (*mentioned_addresses(statement.expression), *statement.active)


def _connected_statements(space: Space, statements: Sequence[ExpressionInContext]) -> list[list[ExpressionInContext]]:
    wanted = with_dependencies(space.variables, [address for each in statements for address in _named_addresses(each)])
    ties = UnionFind(wanted)
    for address in wanted:
        condition = space.variables[address].condition
        ties.union((address, *(() if condition is None else mentioned_addresses(condition))))
    for statement in statements:
        ties.union(_named_addresses(statement))
    return ties.groups((_named_addresses(statement)[0], statement) for statement in statements)


def _relevant_variables(
    space: Space, context: Context, wanted: Iterable[str], expressions: Iterable[Expr]
) -> dict[str, Variable]:
    """Return the wanted variables and their owners, reached as in the space if `context` is taken.

    `expressions` are all expressions that count besides the conditions. Branches of a decision that no expression tests
    and below which nothing wanted lies are merged into one.
    """
    found: dict[str, Variable] = {}
    apart: dict[str, set[str]] = {}
    for variable in map(space.variables.__getitem__, wanted):
        for owner, branch in variable.owners[len(context) :]:
            found[owner] = space.variables[owner]
            apart.setdefault(owner, set()).add(branch)
        found[variable.address] = variable
    for test in (
        node for expression in (*expressions, *expressions_of(found.values(), ())) for node in nodes(expression)
    ):
        if isinstance(test, BranchTest):
            apart.setdefault(test.address, set()).update(test.branches)
    return {
        address: Variable(_merge_branches(variable.node, apart.get(address, ())), variable.owners[len(context) :])
        for address, variable in found.items()
    }


def _merge_branches(node: Hyperparameter | Choice, apart: Collection[str]) -> Hyperparameter | Choice:
    """Return a decision with the branches in `apart`, and one more branch that stands for all others."""
    if isinstance(node, Hyperparameter):
        return node
    other = next((branch.name for branch in node.branches if branch.name not in apart), None)
    kept = tuple(branch for branch in node.branches if branch.name in apart or branch.name == other)
    return replace(node, branches=kept, default=0)
