"""Tests of conditions in exported code: which conditions can be tested, and which values make an atom true.

The targets `optuna`, `hyperopt` and `irace` use these tests. A condition that cannot be tested is unfolded.
"""

from dataclasses import dataclass

from spacelang.ir import expr
from spacelang.ir.domain import Domain, Grid, Real, SimpleDomain, contains, members, parts
from spacelang.ir.expr import Expr
from spacelang.ir.space import Space
from spacelang.ir.value import Value
from spacelang.solver.domain_cells import MAX_ENUMERATED, cut_points_of, join_cells, split_at_atoms


def is_testable(condition: Expr, space: Space) -> bool:
    """Return True if exported code can test a condition.

    Each of its atoms must test a decision or the activity of a variable, be about one hyperparameter whose satisfying
    values can be given, or compare two hyperparameters that are numbers.
    """
    return all(_is_testable_atom(atom, space) for atom in expr.logical_atoms(condition))


def _is_testable_atom(atom: Expr, space: Space) -> bool:
    if isinstance(atom, expr.BranchTest | expr.ActivityTest):
        return True
    if any(isinstance(node, expr.BranchTest | expr.ActivityTest) for node in expr.nodes(atom)):
        return False
    domains = [space.variables[address].hyperparameter.domain for address in expr.references(atom)]
    if len(domains) <= 1:
        return not domains or cut_points_of(atom) is not None or (domains[0].size or MAX_ENUMERATED) < MAX_ENUMERATED
    return compares_two_hyperparameters(atom) and all(isinstance(domain, Grid | Real) for domain in domains)


def compares_two_hyperparameters(atom: Expr) -> bool:
    """Return True if an atom compares two different hyperparameters directly, as in `a <= b`."""
    if not isinstance(atom, expr.Compare) or len(expr.references(atom)) != 2:
        return False
    return isinstance(atom.left, expr.Reference) and isinstance(atom.right, expr.Reference)


@dataclass(frozen=True, slots=True)
class SatisfyingPieces:
    """A simple part of a domain, and the pieces of it in which an atom has the wanted truth value."""

    part: SimpleDomain
    pieces: tuple[SimpleDomain, ...]

    @property
    def is_all(self) -> bool:
        """True if the pieces are the whole part."""
        return self.pieces == (self.part,)

    @property
    def values(self) -> tuple[Value, ...]:
        """The values in the pieces; the part must be a set."""
        return tuple(value for piece in self.pieces for value in members(piece))


def implies(first: Expr, second: Expr, space: Space) -> bool:
    """Return True if `first` surely implies `second`, which is only known for two conditions on one hyperparameter.

    Their atoms must be testable.
    """
    nodes = [*expr.nodes(first), *expr.nodes(second)]
    addresses = {*expr.mentioned_addresses(first), *expr.mentioned_addresses(second)}
    if len(addresses) != 1 or any(isinstance(node, expr.BranchTest | expr.ActivityTest) for node in nodes):
        return False
    domain = space.variables[addresses.pop()].hyperparameter.domain
    atoms = (*expr.logical_atoms(first), *expr.logical_atoms(second))
    cells = (cell.representative for part in parts(domain) for cell in split_at_atoms(part, atoms))

    def is_counterexample(value: expr.ExpressionValue) -> bool:
        return expr.is_true(first, lambda _: value) and not expr.is_true(second, lambda _: value)

    return not any(map(is_counterexample, (expr.INACTIVE, *cells)))


def satisfying_pieces_by_part(domain: Domain, atom: Expr, truth: bool) -> tuple[SatisfyingPieces, ...]:
    """Return, for each part of a domain, the pieces in which an atom has the given truth value.

    The atom must be about a single hyperparameter, which has this domain.
    """

    def is_wanted(value: Value) -> bool:
        return expr.is_true(atom, lambda _: value) is truth

    found = []
    for part in parts(domain):
        cells = split_at_atoms(part, (atom,))
        wanted = [cell for cell in cells if is_wanted(cell.representative)]
        found.append(SatisfyingPieces(part, parts(join_cells(part, wanted)) if wanted else ()))
    return tuple(found)


def subset_pieces_by_part(domain: Domain, subset: Domain) -> tuple[SatisfyingPieces, ...]:
    """Return for each part of a domain the pieces of it that lie in a subset."""
    pieces = parts(subset)
    return tuple(
        SatisfyingPieces(part, tuple(piece for piece in pieces if contains(part, piece.representative)))
        for part in parts(domain)
    )
