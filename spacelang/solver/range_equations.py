"""Required equations of continuous ranges, which random draws satisfy with probability zero."""

from collections.abc import Iterable, Iterator, Mapping

from spacelang.ir.domain import Real
from spacelang.ir.expr import Compare, references, required_truths
from spacelang.ir.space import Constraint, Variable
from spacelang.solver.linear import difference


def required_equations(
    variables: Mapping[str, Variable], constraint: Constraint
) -> Iterator[tuple[Compare, tuple[str, ...]]]:
    """Yield each equation that a constraint requires wherever it applies, with its continuous hyperparameters."""
    for atom, truth in required_truths(constraint.expression, is_true=not constraint.forbidden):
        if not isinstance(atom, Compare) or atom.relation != ("==" if truth else "!="):
            continue
        addresses = references(atom)
        continuous = tuple(each for each in addresses if variables[each].hyperparameter.domain.size is None)
        if len(addresses) > 1 and continuous and difference(atom) is not None:
            yield atom, continuous


def shares_of_whole(variables: Mapping[str, Variable], equation: Compare) -> str | None:
    """Return the names of shares if an equation requires that their sum is 1, or None for any other equation."""
    form = difference(equation)
    nodes = [variables[address].hyperparameter for address in references(equation)]
    if form is None or {*form.factors.values()} != {-form.constant}:
        return None
    is_share = all(isinstance(n.domain, Real) and n.domain.lower >= 0 and not n.domain.log for n in nodes)
    return ", ".join(node.name for node in nodes) if is_share and len(nodes) > 1 else None


def simplex_remedy(variables: Mapping[str, Variable], constraints: Iterable[Constraint]) -> str | None:
    """Return the advice to declare a simplex if a constraint makes the sum of continuous ranges 1, else None."""
    for constraint in constraints:
        for equation, _ in required_equations(variables, constraint):
            if shares := shares_of_whole(variables, equation):
                return f"declare shares of a whole as a simplex: `simplex {shares}`"
    return None
