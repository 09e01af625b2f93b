"""Random search, and how the last configurations of a space are found.

See spacelang/optimizers/README.md, section "Random search".
"""

from collections import Counter
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from trying import IS_FULL, few

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real, Union, grid
from spacelang.ir.expr import Compare, Constant, Reference
from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Space
from spacelang.optimizers._draws import MAX_REPEATED_DRAWS, enumerate_members
from spacelang.optimizers.random import Random
from spacelang.testing.driving import drive_search, hash_loss
from spacelang.testing.small_spaces import (
    FINITE,
    admissible_structures,
    branch,
    brute_force_members,
    choice,
    conditional_space,
    continuous_space,
    hyperparameter,
    make_space,
    pinned_range_space,
    plain_space,
    require,
    spaces,
)


def requested(space: Space, limit: int, seed: int = 0, **options: str) -> list[Configuration]:
    search = Random(**options).search(Problem(space, 100, np.random.default_rng(seed)))  # type: ignore[arg-type]
    driven = drive_search(search, hash_loss, limit)
    assert all(request.fidelity is None for request in driven.requests)
    return [request.configuration for request in driven.requests]


def test_visits_all_8_pipelines_in_exactly_8_evaluations() -> None:
    found = requested(plain_space(2, 2, 2), 100)
    assert len(found) == len(set(found)) == 8


@pytest.mark.parametrize("rule", ["sample", "default"])
def test_marginals_are_uniform(rule: str) -> None:
    space = make_space("s", *plain_space(4, 5).stages, hyperparameter("x", Grid(0, 9), 0))
    seeds = range(800 if IS_FULL else 400)
    first = [requested(space, 1, seed, hyperparameters=rule)[0] for seed in seeds]
    for stage, size, quantile in (("s0", 4, 16.3), ("s1", 5, 18.5)):
        counts = Counter(configuration[stage] for configuration in first)
        expected = len(first) / size
        assert sum((count - expected) ** 2 / expected for count in counts.values()) < quantile


@pytest.mark.parametrize("space", FINITE, ids=lambda space: space.name)
def test_asks_for_every_configuration_of_a_finite_space_once(space: Space) -> None:
    found = requested(space, 1000)
    everything = [c for s in admissible_structures(space) for c in brute_force_members(space, s)]
    assert len(found) == len(set(found))
    assert set(found) == set(everything)


@pytest.mark.parametrize("space", FINITE, ids=lambda space: space.name)
def test_with_defaults_asks_for_every_structure_once(space: Space) -> None:
    assert len(requested(space, 1000, hyperparameters="default")) == len(admissible_structures(space))


def test_goes_on_where_a_range_is_continuous() -> None:
    found = requested(continuous_space(), 500)
    assert len(set(found)) == 500


def test_ends_where_a_constraint_leaves_finitely_many_of_a_continuous_range() -> None:
    assert len(requested(pinned_range_space(), 500)) == 2


def test_finds_the_one_continuous_alternative_among_many_exhausted_ones() -> None:
    many = [f"a{n}" for n in range(3 * MAX_REPEATED_DRAWS)]
    space = make_space("s", choice("s", *many, branch("b", hyperparameter("s.b.x", Real(0.0, 1.0), 0.5))))
    assert len(requested(space, 5 * MAX_REPEATED_DRAWS)) == 5 * MAX_REPEATED_DRAWS


def test_ends_where_a_constrained_range_is_too_large_to_enumerate() -> None:
    space = make_space(
        "s",
        hyperparameter("x", Grid(0, 10**9), 5),
        constraints=(require(Compare("==", Reference("x"), Constant(5))),),
    )
    assert len(requested(space, 10)) == 1


@settings(max_examples=few(100), deadline=None)
@given(spaces())
def test_members_agree_with_brute_force(space: Space) -> None:
    for structure in admissible_structures(space):
        found = list(enumerate_members(space, structure))
        assert len(found) == len(set(found))
        assert set(found) == set(brute_force_members(space, structure))


def test_members_of_every_kind_of_domain() -> None:
    domain = Union((Categorical(("a", None)), Grid(10, 20, step=5), grid(0.0, 0.3, 0.1, lower_open=True)))
    space = make_space("s", hyperparameter("x", domain, "a"), hyperparameter("y", Real(2.5, 2.5), 2.5))
    found = [(configuration["x"], configuration["y"]) for configuration in enumerate_members(space, {})]
    assert found == [(value, 2.5) for value in ("a", None, 10, 15, 20, 0.1, 0.2, 0.3)]


def test_members_are_lazy() -> None:
    space = make_space("s", *(hyperparameter(f"x{n}", Grid(0, 10**6), 0) for n in range(10)))
    assert [configuration["x9"] for configuration in islice(enumerate_members(space, {}), 3)] == [0, 1, 2]


def test_conditions_hold_in_all_members() -> None:
    kernels = Counter(c["e.g.kernel"] for c in enumerate_members(conditional_space(), {"s": "none", "e": "g"}))
    assert kernels == {"rbf": 1, "poly": 2, None: 1}


@pytest.mark.parametrize("workers", [2, 8])
def test_every_worker_is_busy_and_the_configurations_are_the_same(workers: int) -> None:
    alone, together = (
        drive_search(
            Random().search(Problem(continuous_space(), 100, np.random.default_rng(1))), hash_loss, 300, workers=count
        )
        for count in (1, workers)
    )
    assert together.requests == alone.requests
    assert together.idle_count == workers, "only before the first wish there is nothing to do"
