"""Decide whether a condition or constraint can be true and can be false wherever it applies."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import prod
from typing import Final

from spacelang.facts import fact
from spacelang.ir.domain import BOOLEANS, Categorical, Domain, Grid, contains, parts
from spacelang.ir.expr import Active, And, Expr, Is, Not, nodes, scope
from spacelang.ir.space import Choice, Constraint, Context, Hyperparameter, Space, Variable, said
from spacelang.ir.value import Value
from spacelang.ir.walk import depended
from spacelang.solver.cells import singletons
from spacelang.solver.compiling import truths_over
from spacelang.solver.model import Model, Solver, Weights
from spacelang.solver.network import UNREACHED, TooTangledError
from spacelang.solver.ties import Ties, common_context

FEW: Final = 64
"""The maximum size of a domain whose values are all tried; of a larger one, a few are tried."""

MOST_TRIED: Final = 4_096
"""The maximum number of combinations of values to try before a solver is used."""

MANY: Final = 8
"""Statements that depend on at least this many connected variables are solved together."""


@fact
class Statement:
    """An expression of a space, and the circumstances under which it applies.

    `owners` are the branches that lead to the hyperparameter of a condition, or to the operator whose body declares a
    constraint. A constraint also requires that all hyperparameters in `active` are active.
    """

    expression: Expr
    owners: Context = ()
    active: tuple[str, ...] = ()


def truths(space: Space, statement: Statement) -> tuple[bool, bool]:
    """Return whether a statement can be true and whether it can be false, ignoring all constraints.

    Only the variables that the expression depends on are considered. Raise UndecidableError.
    """
    return truths_of_all(space, (statement,))[0]


def truths_of_all(space: Space, statements: Sequence[Statement]) -> list[tuple[bool, bool]]:
    """Return the `truths` of each statement; statements with the same content are examined once.

    Statements that depend on many of the same variables, such as the conditions of a long chain, are solved together.
    Solving them one by one would process the start of the chain once for each.
    """
    alike = [_anywhere(space, statement) for statement in statements]
    found: dict[Statement, tuple[bool, bool]] = {}
    many: list[Statement] = []
    for statement in dict.fromkeys(alike):
        tried = _try_values(space, statement)
        if tried is not None:
            found[statement] = True in tried, False in tried
        elif len(depended(space.variables, _named(statement), MANY)) < MANY:
            (found[statement],) = _reasoned(space, (statement,))
        else:
            many.append(statement)
    for together in _tied(space, many):
        found |= zip(together, _reasoned_together(space, together), strict=True)
    return [found[statement] for statement in alike]


def leaves_nothing(space: Space, constraints: Sequence[Constraint], branch: tuple[str, str] | None = None) -> bool:
    """Return True if some constraints alone leave no configuration, or none that takes a branch.

    `branch` is the address of a decision and the name of a branch. Raise UndecidableError.
    """
    wished = () if branch is None else (Constraint(Is(branch[0], (branch[1],)), forbidden=False),)
    together = (*constraints, *wished)
    expressions = [constraint.expression for constraint in together]
    named = [address for expression in expressions for address in scope(expression)]
    variables = _relevant(space, (), depended(space.variables, named), expressions)
    return not Solver(Model(variables, together), Weights()).total()


def _anywhere(space: Space, statement: Statement) -> Statement:
    """Return the statement without owners that cannot matter to it.

    An owner cannot matter if nothing that the statement depends on lies below it or tests it. A thousand alternatives
    of one stage may contain the same statement about another stage, which is then examined once.
    """
    wanted = depended(space.variables, _named(statement), MANY)
    if not statement.owners or len(wanted) == MANY:
        return statement
    deciding = {*wanted, *(owner for address in wanted for owner, _ in space.variables[address].owners)}
    return replace(statement, owners=tuple(owner for owner in statement.owners if owner[0] in deciding))


# ---- trying values


def _try_values(space: Space, statement: Statement) -> set[bool] | None:
    """Return the truths found by trying values, or None if that is not conclusive.

    All variables must always be reached. Both truths are certain as soon as both have occurred; a single truth is
    certain only if all combinations of values were tried.
    """
    variables = [
        space.variables[address] for address in dict.fromkeys((*scope(statement.expression), *statement.active))
    ]
    taken = _taken(space, statement)
    if not variables or taken is None or not all(_is_reached(variable, taken) for variable in variables):
        return None
    samples = [_samples(variable, taken) for variable in variables]
    found: set[bool] = set()
    options = {variable.address: sample for variable, sample in zip(variables, samples, strict=True)}
    for truth in islice(truths_over(statement.expression, options), MOST_TRIED):
        found.add(truth)
        if len(found) == 2:
            return found
    sizes = [_size(variable, taken) for variable in variables]
    is_complete = sizes == [len(sample) for sample in samples] and prod(len(sample) for sample in samples) <= MOST_TRIED
    return found if is_complete else None


def _taken(space: Space, statement: Statement) -> dict[str, str] | None:
    """Return the branches that are taken wherever a statement applies, or None if it never applies."""
    taken = dict(statement.owners)
    for address in statement.active:
        for owner, branch in space.variables[address].owners:
            if taken.setdefault(owner, branch) != branch:
                return None
    return taken


def _is_reached(variable: Variable, taken: Mapping[str, str]) -> bool:
    return variable.condition is None and all(taken.get(owner) == branch for owner, branch in variable.owners)


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
    if domain.size is not None and domain.size <= FEW:
        return [cell.middle for cell in singletons(domain)]
    return _some(domain)


def _some(domain: Domain) -> list[Value]:
    found: list[Value] = []
    for part in parts(domain):
        if isinstance(part, Categorical):
            found.extend(part.values[:FEW])
        elif isinstance(part, Grid):
            found.extend(dict.fromkeys((part.at(0), part.middle, part.greatest)))
        else:
            ends = (part.lower, part.middle, part.upper)
            found.extend(value for value in dict.fromkeys(ends) if contains(part, value))
    return found


# ---- solving


def _reasoned_together(space: Space, statements: Sequence[Statement]) -> list[tuple[bool, bool]]:
    """Return the truths of statements solved together, or one by one if they connect too many variables."""
    try:
        return _reasoned(space, statements)
    except TooTangledError:
        if len(statements) == 1:
            raise
    return [_reasoned(space, (statement,))[0] for statement in statements]


def _reasoned(space: Space, statements: Sequence[Statement]) -> list[tuple[bool, bool]]:
    wanted = depended(space.variables, [address for statement in statements for address in _named(statement)])
    # A constraint over hyperparameters does not apply if they are not reached; any other statement does.
    own = [each.owners for each in statements if each.owners or not each.active]
    context = common_context([*(space.variables[address].owners for address in wanted), *own])
    inner = [owner for statement in statements for owner, _ in statement.owners[len(context) :]]
    # Two auxiliary hyperparameters per statement: one is active exactly if it is true, the other if it is false.
    probes = [probe for place, statement in enumerate(statements) for probe in _probes(statement, len(context), place)]
    variables = _relevant(space, context, (*wanted, *inner), [probe.condition for probe in probes if probe.condition])
    variables |= {probe.address: Variable(probe, ()) for probe in probes}
    supported = Solver(Model(variables, ()), Weights()).supported()
    can_be = [supported[probe.address] != {UNREACHED} for probe in probes]
    return [*zip(can_be[::2], can_be[1::2], strict=True)]


def _probes(statement: Statement, depth: int, place: int) -> Iterator[Hyperparameter]:
    reached: tuple[Expr, ...] = (
        *(Is(owner, (branch,)) for owner, branch in statement.owners[depth:]),
        *(Active(address) for address in statement.active),
    )
    for word, test in (("true", statement.expression), ("false", Not(statement.expression))):
        name = f"{word} {place}"  # cannot clash with an address, since these contain no blanks
        yield Hyperparameter(name, name, name, BOOLEANS, True, And((*reached, test)))


def _named(statement: Statement) -> tuple[str, ...]:
    return (*scope(statement.expression), *statement.active)


def _tied(space: Space, statements: Sequence[Statement]) -> list[list[Statement]]:
    """Return the statements grouped by connected variables."""
    wanted = depended(space.variables, [address for each in statements for address in _named(each)])
    ties = Ties(wanted)
    for address in wanted:
        condition = space.variables[address].condition
        ties.tie((address, *(() if condition is None else scope(condition))))
    for statement in statements:
        ties.tie(_named(statement))
    return ties.sets((_named(statement)[0], statement) for statement in statements)


def _relevant(
    space: Space, context: Context, wanted: Iterable[str], expressions: Iterable[Expr]
) -> dict[str, Variable]:
    """Return the wanted variables and their owners, reached as in the space if `context` is taken.

    `expressions` are all expressions that count besides the conditions. Branches of a decision that nothing wanted lies
    below and no expression tests are merged into one.
    """
    found: dict[str, Variable] = {}
    apart: dict[str, set[str]] = {}
    for variable in map(space.variables.__getitem__, wanted):
        for owner, branch in variable.owners[len(context) :]:
            found[owner] = space.variables[owner]
            apart.setdefault(owner, set()).add(branch)
        found[variable.address] = variable
    for test in (node for expression in (*expressions, *said(found.values(), ())) for node in nodes(expression)):
        if isinstance(test, Is):
            apart.setdefault(test.address, set()).update(test.branches)
    return {
        address: Variable(_fewer(variable.node, apart.get(address, ())), variable.owners[len(context) :])
        for address, variable in found.items()
    }


def _fewer(node: Hyperparameter | Choice, apart: Collection[str]) -> Hyperparameter | Choice:
    """Return a decision with only the branches in `apart` and the first of all others."""
    if isinstance(node, Hyperparameter):
        return node
    other = next((branch.name for branch in node.branches if branch.name not in apart), None)
    kept = tuple(branch for branch in node.branches if branch.name in apart or branch.name == other)
    return replace(node, branches=kept, default=0)
