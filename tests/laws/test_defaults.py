"""Completions are members, and keep defaults where these are admissible."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.ir.domain import Grid, Real
from spacelang.ir.expr import Arithmetic, Compare
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.ir.walk import Structure, assemble_configuration, default_structure, structure_of
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter, default_configuration, member_nearest_to_default

from . import brute
from .settings import LAW
from .spaces import finite_spaces, general_spaces
from .test_sampling import one, require, x

pytestmark = pytest.mark.usefixtures("branches")


@settings(LAW)
@given(st.one_of(finite_spaces(), general_spaces()))
def test_every_admissible_structure_is_completed_to_a_member(space: Space) -> None:
    try:
        structures = Structures(space)
    except UndecidableError:
        return
    completer = DefaultCompleter(structures)
    for taken, _ in brute.pipelines(space.root)[:20]:
        if not structures.is_admissible(taken):
            continue
        completed = completer.complete(taken)
        assert first_exclusion(space, completed) is None
        usual = assemble_configuration(space, taken, lambda node: node.default)
        if first_exclusion(space, usual) is None:
            assert completed == usual


@settings(LAW)
@given(finite_spaces())
def test_the_default_of_the_space_has_every_default(space: Space) -> None:
    structure, configuration = default_structure(space), default_configuration(space)
    for address, branch in structure.items():
        choice = next(choice for choice in space.decisions if choice.address == address)
        assert choice.branches[choice.default].name == branch == configuration[choice.key]
    if first_exclusion(space, configuration) is None:
        assert DefaultCompleter(Structures(space)).complete(structure) == configuration


@settings(LAW)
@given(st.one_of(finite_spaces(), general_spaces()))
def test_the_nearest_member_differs_from_the_default_in_as_few_decisions_as_any(space: Space) -> None:
    try:
        structures = Structures(space)
    except UndecidableError:
        return
    if not structures.count:
        return
    usual, (taken, nearest) = default_structure(space), member_nearest_to_default(structures)
    assert first_exclusion(space, nearest) is None
    assert structure_of(space, nearest) == taken
    if first_exclusion(space, default_configuration(space)) is None:
        assert nearest == default_configuration(space)

    def discrepancy(structure: Structure) -> int:
        # What the default does not reach differs where it does not take its own default.
        choices = {choice.address: choice for choice in space.decisions}
        defaults = {address: choice.branches[choice.default].name for address, choice in choices.items()}
        return sum(branch != usual.get(address, defaults[address]) for address, branch in structure.items())

    others = [structure for structure, _ in brute.pipelines(space.root) if structures.is_admissible(structure)]
    assert discrepancy(taken) == min(map(discrepancy, others))


def test_hyperparameters_that_nothing_is_wrong_with_keep_their_defaults() -> None:
    space = one(Real(0.0, 1.0), Real(0.0, 1.0), Real(0.0, 1.0), constraints=[require(Compare("<", x(0), x(1)))])
    completed = DefaultCompleter(Structures(space)).complete({"s": "A"})
    assert completed["s.x2"] == 0.5
    assert completed["s.x0"] == 0.5
    assert completed["s.x1"] == 0.75


def test_an_equation_that_no_draw_would_hit_is_completed() -> None:
    total = Compare("==", Arithmetic("+", x(0), x(1)), x(2))
    space = one(Real(0.0, 1.0), Grid(1, 1_000_000), Real(0.0, 9.0), constraints=[require(total)])
    completed = DefaultCompleter(Structures(space)).complete({"s": "A"})
    assert first_exclusion(space, completed) is None
    assert completed["s.x0"] == 0.5
