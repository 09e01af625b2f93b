"""What a condition or constraint can come to equals brute force, whether values were tried or reasoned about."""

from collections.abc import Iterator
from itertools import product
from unittest.mock import patch

from hypothesis import given, settings

from spacelang.ir.space import Space
from spacelang.solver import satisfiability
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.satisfiability import (
    ExpressionInContext,
    is_unsatisfiable,
    possible_truths,
    possible_truths_of_all,
)

from . import brute
from .settings import LAW
from .spaces import finite_spaces, general_spaces


def statements(space: Space) -> Iterator[ExpressionInContext]:
    """Everything that a space says: its conditions and its constraints."""
    for node in space.hyperparameters:
        if node.condition is not None:
            yield ExpressionInContext(node.condition, owners=space.variables[node.address].owners)
    for constraint in space.constraints:
        yield ExpressionInContext(constraint.expression, active=constraint.scope)


def brute_truths(space: Space, statement: ExpressionInContext) -> tuple[bool, bool]:
    """By every combination of branches and values in which the statement says something, constraints aside."""
    found = set()
    for taken, hyperparameters in brute.pipelines(space.root):
        if any(taken.get(owner) != branch for owner, branch in statement.owners):
            continue
        nodes = {h.address: h for h in hyperparameters}
        for values in product(*(brute.members(h.domain) for h in hyperparameters)):
            worth = dict(zip(nodes, values, strict=True))

            def look(address: str, taken=taken, nodes=nodes, worth=worth) -> object:  # type: ignore[no-untyped-def]
                if address not in nodes:
                    return taken.get(address, brute.ABSENT)
                condition = nodes[address].condition
                return worth[address] if condition is None or brute.truth(condition, look) else brute.ABSENT

            if all(look(address) is not brute.ABSENT for address in statement.active):
                found.add(brute.truth(statement.expression, look))
    return True in found, False in found


@settings(LAW)
@given(finite_spaces())
def test_truths_equal_brute_force(space: Space) -> None:
    for statement in statements(space):
        assert possible_truths(space, statement) == brute_truths(space, statement)


@settings(LAW)
@given(finite_spaces())
def test_reasoning_equals_brute_force(space: Space) -> None:
    with patch.object(satisfiability, "_try_values", return_value=None):
        for statement in statements(space):
            assert possible_truths(space, statement) == brute_truths(space, statement)


@settings(LAW)
@given(finite_spaces())
def test_reasoning_about_all_at_once_equals_brute_force(space: Space) -> None:
    with (
        patch.object(satisfiability, "_try_values", return_value=None),
        patch.object(satisfiability, "MIN_SHARED_VARIABLES", 1),
    ):
        asked = [*statements(space)]
        assert possible_truths_of_all(space, asked) == [brute_truths(space, statement) for statement in asked]


@settings(LAW)
@given(finite_spaces())
def test_what_constraints_leave_equals_brute_force(space: Space) -> None:
    for number in range(len(space.constraints) + 1):
        some = Space(space.name, space.root, space.constraints[:number])
        members = brute.structures(some)
        assert is_unsatisfiable(space, some.constraints) == (not members)
        alive = {pair for member in members for pair in member}
        for choice in space.decisions:
            for branch in choice.branches:
                taken = (choice.address, branch.name)
                assert is_unsatisfiable(space, some.constraints, taken) == (taken not in alive)


@settings(LAW)
@given(general_spaces())
def test_trying_and_reasoning_agree_on_ranges(space: Space) -> None:
    for statement in statements(space):
        try:
            tried = possible_truths(space, statement)
            with patch.object(satisfiability, "_try_values", return_value=None):
                assert possible_truths(space, statement) == tried
        except UndecidableError:
            continue
