"""Whether a condition or constraint can be true, and whether it can be false, where it says something at all."""

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
"""So many values of a variable are simply tried; of more than that, a few."""

MOST_TRIED: Final = 4_096
"""So many combinations of values are tried at most, before anything is decided by reasoning."""

MANY: Final = 8
"""Statements that depend on so many variables are reasoned about together where these are tied to each other."""


@fact
class Statement:
    """An expression of a space, and what must hold for it to say something.

    For a condition `owners` are the branches that lead to its hyperparameter, for a constraint in a body those that
    lead to its operator; a constraint applies where besides all the hyperparameters of `active` are.
    """

    expression: Expr
    owners: Context = ()
    active: tuple[str, ...] = ()


def truths(space: Space, statement: Statement) -> tuple[bool, bool]:
    """Whether the statement can be true, and whether it can be false, if there were no constraints.

    Looks at the variables that the expression depends on and at nothing else of the space. Raises UndecidableError.
    """
    return truths_of_all(space, (statement,))[0]


def truths_of_all(space: Space, statements: Sequence[Statement]) -> list[tuple[bool, bool]]:
    """The `truths` of each statement; those that are alike, but for where they stand, are looked at once.

    Where statements depend on many of the same variables, as the conditions of a long chain do, they are reasoned
    about together: one after the other would look at the beginning of the chain once for each.
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
    """Whether some constraints, without all others, leave no configuration: none in which a branch is taken.

    The branch is given by the address of its decision and its name. Raises UndecidableError.
    """
    wished = () if branch is None else (Constraint(Is(branch[0], (branch[1],)), forbidden=False),)
    together = (*constraints, *wished)
    expressions = [constraint.expression for constraint in together]
    named = [address for expression in expressions for address in scope(expression)]
    variables = _relevant(space, (), depended(space.variables, named), expressions)
    return not Solver(Model(variables, together), Weights()).total()


def _anywhere(space: Space, statement: Statement) -> Statement:
    """The statement without the owners that have no say: nothing that it depends on is below them or tests them.

    A thousand alternatives of one stage may each say the same of another stage.
    """
    wanted = depended(space.variables, _named(statement), MANY)
    if not statement.owners or len(wanted) == MANY:
        return statement
    deciding = {*wanted, *(owner for address in wanted for owner, _ in space.variables[address].owners)}
    return replace(statement, owners=tuple(owner for owner in statement.owners if owner[0] in deciding))


# ---- trying values


def _try_values(space: Space, statement: Statement) -> set[bool] | None:
    """The truths over all values of the variables, where these are always reached; None where that is not known.

    That both truths occur is known as soon as both were seen; that only one does, only once all values were tried.
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
    """The branches that are taken wherever the statement says something; None where it never does."""
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
    """All values of a variable, where there are few, else some of them."""
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


# ---- reasoning


def _reasoned_together(space: Space, statements: Sequence[Statement]) -> list[tuple[bool, bool]]:
    """The truths of statements at once, or one by one where all of them tie too much together."""
    try:
        return _reasoned(space, statements)
    except TooTangledError:
        if len(statements) == 1:
            raise
    return [_reasoned(space, (statement,))[0] for statement in statements]


def _reasoned(space: Space, statements: Sequence[Statement]) -> list[tuple[bool, bool]]:
    wanted = depended(space.variables, [address for statement in statements for address in _named(statement)])
    # A constraint over hyperparameters says nothing where these are not reached; anything else does.
    own = [each.owners for each in statements if each.owners or not each.active]
    context = common_context([*(space.variables[address].owners for address in wanted), *own])
    inner = [owner for statement in statements for owner, _ in statement.owners[len(context) :]]
    # Two hyperparameters for each statement, active exactly where it is true, and where it is false.
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
        name = f"{word} {place}"  # no address of a space has a blank
        yield Hyperparameter(name, name, name, BOOLEANS, True, And((*reached, test)))


def _named(statement: Statement) -> tuple[str, ...]:
    return (*scope(statement.expression), *statement.active)


def _tied(space: Space, statements: Sequence[Statement]) -> list[list[Statement]]:
    """The statements that depend on variables that are tied to each other, together."""
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
    """Some variables and their owners, each reached just as it is in the space where a context is taken throughout.

    `expressions` are all that is said beside their conditions. Branches below which nothing is wanted, and of which
    nothing is said, are one.
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
    """A decision with the branches that are told apart and the first of all others."""
    if isinstance(node, Hyperparameter):
        return node
    other = next((branch.name for branch in node.branches if branch.name not in apart), None)
    kept = tuple(branch for branch in node.branches if branch.name in apart or branch.name == other)
    return replace(node, branches=kept, default=0)
