"""Numbers are a bijection onto what brute force lists."""

import pytest
from hypothesis import given, settings

from spacelang.ir.domain import Categorical, Grid, Real
from spacelang.ir.expr import Compare
from spacelang.ir.space import Space
from spacelang.solver.counting import Structures
from spacelang.solver.numbering import ConfigurationNumbers, number_of_structure, structure_at

from . import brute
from .crafted import CRAFTED, one, require, x
from .settings import LAW
from .spaces import finite_spaces

pytestmark = pytest.mark.usefixtures("branches")


@settings(LAW)
@given(finite_spaces())
def test_configurations_are_numbered_one_by_one(space: Space) -> None:
    numbers, members = ConfigurationNumbers(Structures(space)), brute.configurations(space)
    assert numbers.count == len(members)
    found = [numbers.configuration_at(number) for number in range(numbers.count)]
    assert {brute.text(dict(configuration)) for configuration in found} == members
    assert [numbers.number_of(configuration) for configuration in found] == list(range(numbers.count))


@settings(LAW)
@given(finite_spaces())
def test_structures_are_numbered_one_by_one(space: Space) -> None:
    structures, members = Structures(space), brute.structures(space)
    found = [structure_at(structures, number) for number in range(structures.count)]
    assert {frozenset(structure.items()) for structure in found} == members
    assert [number_of_structure(structures, structure) for structure in found] == list(range(structures.count))


def test_where_nothing_is_tied_the_order_is_that_of_the_text() -> None:
    numbers = ConfigurationNumbers(Structures(one(Grid(1, 2), Categorical(("b", "a")), Grid(0.0, 0.2, step=0.1))))
    found = [tuple(numbers.configuration_at(number)[f"s.x{place}"] for place in range(3)) for number in range(12)]
    assert found == [(n, word, step) for n in (1, 2) for word in "ba" for step in (0.0, 0.1, 0.2)]
    structures = Structures(CRAFTED["free"])
    assert [structure_at(structures, number)["a"] for number in (0, 5, 6, 17)] == ["A", "A", "B", "C"]


def test_numbers_beyond_every_machine_word() -> None:
    size = 10**30
    rule = require(Compare("<", x(2), x(3)))
    numbers = ConfigurationNumbers(Structures(one(Grid(1, size), Grid(1, size), *[Grid(1, 9)] * 2, constraints=[rule])))
    assert numbers.count == size**2 * 36
    for number in (0, 1, 36 * size, numbers.count // 7, numbers.count - 1):
        assert numbers.number_of(numbers.configuration_at(number)) == number
    for wrong in (-1, numbers.count):
        with pytest.raises(IndexError, match="are numbered from 0 to"):
            numbers.configuration_at(wrong)


def test_what_has_no_numbers_says_why() -> None:
    with pytest.raises(ValueError, match=r"`s\.x0` is continuous"):
        ConfigurationNumbers(Structures(one(Real(0.0, 1.0))))
    large = one(Grid(1, 10**6), Grid(1, 10**6), constraints=[require(Compare("<", x(0), x(1)))])
    with pytest.raises(ValueError, match="relates large ranges"):
        ConfigurationNumbers(Structures(large))
    never = one(Grid(1, 3), constraints=[require(Compare("<", x(0), x(0)))])
    with pytest.raises(IndexError, match="the space is empty"):
        structure_at(Structures(never), 0)
