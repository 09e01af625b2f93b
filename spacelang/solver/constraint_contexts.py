"""The contexts of variables and constraints: the branches of decisions outside of which they do not matter."""

from collections.abc import Iterable, Mapping, Sequence

from spacelang.ir.expr import INACTIVE, BranchTest, ExpressionValue, is_true, nodes
from spacelang.ir.space import Constraint, Context, Variable


def common_context(contexts: Iterable[Context]) -> Context:
    """Return the longest common prefix of several contexts."""
    first, *others = contexts
    for other in others:
        length = 0
        for mine, its in zip(first, other, strict=False):
            if mine != its:
                break
            length += 1
        first = first[:length]
    return first


def context_of_constraint(
    variables: Mapping[str, Variable], constraint: Constraint, named_decisions: Sequence[str]
) -> Context:
    """Return the context outside of which a constraint always holds; empty if it has none or names values.

    `named_decisions` are the decisions that the constraint names. The constraint `A is not taken or …` of the body of
    an operator `A` restricts nothing outside of `A`.
    """
    if constraint.scope or not named_decisions:
        return ()
    outer = {owner for address in named_decisions for owner, _ in variables[address].owners}
    context = common_context(variables[address].owners for address in named_decisions if address not in outer)
    if not all(owner in variables for owner, _ in context):
        return ()
    tests = [node for node in nodes(constraint.expression) if isinstance(node, BranchTest)]
    for place, (owner, branch) in enumerate(context):
        tested = {name for test in tests if test.address == owner for name in test.branches}
        others = [name for name in variables[owner].choice.branch_indices if name != branch]
        # All alternatives that no test names are alike.
        alike = [name for name in others if name not in tested]
        for other in (*(name for name in others if name in tested), *alike[:1]):
            taken = {**dict(context[:place]), owner: other}

            def look(address: str, taken: Mapping[str, str] = taken) -> ExpressionValue:
                return taken.get(address, INACTIVE)

            if is_true(constraint.expression, look) == constraint.forbidden:
                return ()
    return context
