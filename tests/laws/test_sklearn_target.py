"""The dictionaries for scikit-learn's searches say what the space says: its own grid of them is brute force."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import ParameterGrid, ParameterSampler

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.targets._exports.sklearn_distributions import JointDistribution, OneOf, UniformGrid, UniformInteger

from . import brute
from .exports import DRAWS, NAMES, bundled, drawn, form_of, members
from .settings import LAW
from .spaces import finite_spaces, general_spaces

ALL = 10**6


@settings(LAW)
@given(finite_spaces())
def test_the_grid_is_exactly_the_members(space: Space) -> None:
    form = drawn("sklearn", space, search="grid", points=100, most=ALL).form
    assert len(form.native) == form.dictionary_count
    found = [brute.text(parameters) for parameters in ParameterGrid(form.native)]
    assert len(found) == len(set(found))
    assert set(found) == brute.configurations(space)


@settings(LAW)
@given(finite_spaces(), st.integers(2, 3))
def test_a_coarse_grid_holds_members_alone(space: Space, points: int) -> None:
    compiled = drawn("sklearn", space, search="grid", points=points, most=ALL)
    expected = brute.configurations(space)
    for parameters in ParameterGrid(compiled.form.native):
        assert brute.text(parameters) in expected
        assert compiled.accepts(parameters)


def outcomes(value: Any) -> Iterator[Any]:
    """Everything that a distribution over finite domains can draw."""
    if isinstance(value, dict):
        yield from joint(list(value.items()))
    elif isinstance(value, JointDistribution):
        yield from map(flat, outcomes(value.parts))
    elif isinstance(value, OneOf):
        for each in value.options:
            yield from outcomes(each)
    elif isinstance(value, UniformInteger):
        yield from range(value.lower, value.upper + 1, value.step)
    elif isinstance(value, UniformGrid):
        yield from ((value.start + value.step * i) / value.below for i in range(value.first, value.last + 1))
    else:
        yield value


def joint(items: list[tuple[str, Any]]) -> Iterator[dict[str, Any]]:
    if not items:
        yield {}
        return
    (key, value), *others = items
    for rest in joint(others):
        yield from ({key: each, **rest} for each in outcomes(value))


def flat(found: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in found.items():
        result |= flat(value) if isinstance(value, dict) else {key: value}
    return result


@settings(LAW)
@given(finite_spaces())
def test_what_draws_whole_configurations_draws_exactly_the_members(space: Space) -> None:
    compiled = drawn("sklearn", space, most=1)
    for dictionary in compiled.form.native:
        if not compiled.form.is_joint:
            return
        found = {brute.text(each) for each in outcomes(dictionary["configuration"])}
        assert found == brute.configurations(space)


@settings(LAW)
@given(general_spaces(), st.integers(0, 2**31 - 1), st.sampled_from((1, 3, 2000)))
def test_members_of_any_space_come_back_and_draws_are_members(space: Space, seed: int, most: int) -> None:
    compiled = drawn("sklearn", space, most=most)
    for configuration in members(space, 3, seed):
        parameters = compiled.encode(configuration)
        assert compiled.accepts(parameters)
        assert compiled.decode(parameters) == configuration
    sampled = compiled.sample(5, np.random.default_rng(seed))
    assert len(sampled) == 5
    for parameters in sampled:
        assert compiled.accepts(parameters)
        assert brute.accepts(space, dict(compiled.decode(parameters)))


@settings(LAW)
@given(general_spaces(), st.integers(0, 2**31 - 1), st.sampled_from((1, 2000)))
def test_the_module_says_the_same(space: Space, seed: int, most: int) -> None:
    form = drawn("sklearn", space, most=most).form
    module: dict[str, Any] = {}
    exec(form.to_python(), module)
    assert module["default"] == form.default
    written = module["dictionaries"]
    listed = written if isinstance(written, list) else [written]
    mine, theirs = (ParameterSampler(each, 1, random_state=seed) for each in (form.native, listed))
    assert list(mine) == list(theirs)
    for parameters in form.sample(2, np.random.default_rng(seed)):
        assert Configuration(module["decode"](parameters)) == form.decode(parameters)


@pytest.mark.parametrize("name", NAMES)
def test_samples_of_bundled_spaces_are_members(name: str) -> None:
    space = bundled(name)
    compiled = form_of("sklearn", space)
    for parameters in compiled.sample(DRAWS, np.random.default_rng(0)):
        assert first_exclusion(space, compiled.decode(parameters)) is None


@pytest.mark.parametrize("name", ["boasf_logistic_regression", "blds_table1", "admm_table_a3"])
def test_grids_of_bundled_spaces_hold_members_alone(name: str) -> None:
    space = bundled(name)
    compiled = form_of("sklearn", space, search="grid", points=2)
    grid = ParameterGrid(compiled.form.native)
    for place in np.random.default_rng(0).integers(len(grid), size=DRAWS).tolist():
        assert first_exclusion(space, compiled.decode(grid[place])) is None
