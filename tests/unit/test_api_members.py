"""Members of a space by chance, by number and by exchange, through the Python interface."""

import numpy as np
import pytest

import spacelang as sl

TEXT = """
space small
abstract A { n : int[1, 3] = 1; kind : {x, y} = x; m : {1, 2} = 1 when kind == x }
abstract B {}
stage first = A | B
stage second = none | B
forbid first is B and second is B
forbid first.A.kind == y and first.A.n > 2
"""


@pytest.fixture(scope="module")
def space() -> sl.Space:
    return sl.parse(TEXT.replace("; ", "\n"))


def test_columns_are_the_rows_of_a_sample(space: sl.Space) -> None:
    columns = space.columns(50, seed=3)
    assert len(columns) == 50
    assert columns.configurations() == space.sample(50, seed=3)
    assert space.sample(50, seed=3) != space.sample(50, seed=4)
    marks, codes = columns.dense_part_indices_and_codes("first.A.n")
    assert np.isnan(codes[marks < 0]).all()
    assert set(codes[marks == 0]) == {1.0, 2.0, 3.0}
    assert ((marks == 0) == (columns.decisions["first"] == 0)).all()


def test_configurations_have_numbers(space: sl.Space) -> None:
    # Below A: three values of n with x and two of m, two of n with y; B goes with `none` alone.
    assert space.configurations == 2 * (3 * 2 + 2) + 1
    found = [space.configuration(number) for number in range(17)]
    assert len(set(found)) == 17
    assert [space.rank(dict(configuration)) for configuration in found] == list(range(17))
    with pytest.raises(ValueError, match=r"`first.n` is active but has no value"):
        space.rank({"first": "A", "second": "none", "first.kind": "y"})
    with pytest.raises(IndexError, match="from 0 to 16"):
        space.configuration(17)


def test_structures_have_numbers_though_values_have_none() -> None:
    space = sl.load("admm_table_a3")
    with pytest.raises(ValueError, match="is continuous"):
        space.configuration(0)
    for configuration in space.sample(5):
        structure = space.structure(space.rank_structure(configuration))
        assert all(configuration[key] == branch for key, branch in structure.items())
    with pytest.raises(IndexError, match="from 0 to 107"):
        space.structure(108)


def test_neighbours_differ_in_one_place(space: sl.Space) -> None:
    centre = {"first": "A", "first.kind": "x", "first.m": 2, "first.n": 3, "second": "none"}
    found = [dict(other) for other in space.neighbours(centre, seed=1)]
    completed = {"first.kind": "x", "first.m": 1, "first.n": 1}
    assert {"first": "B", "second": "none"} in found
    assert {"first": "A", "second": "B", **completed} in found
    assert {**centre, "first.m": 1} in found
    # `y` with n = 3 is forbidden.
    assert all(other.get("first.kind") != "y" for other in found)
    with pytest.raises(ValueError, match="is not an alternative"):
        space.neighbours({**centre, "first": "C"})
