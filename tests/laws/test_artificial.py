"""The artificial black box: its numbers, and what holds of it over any space.

See spacelang/optimizers/README.md, section "Artificial objective".
"""

import pickle
from math import fsum, inf, nextafter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import spacelang as sl
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Real
from spacelang.ir.space import Space
from spacelang.ir.trial import Request
from spacelang.ir.walk import hyperparameters_of
from spacelang.runtime.black_box.artificial_objective import (
    absolute_weighted_mean,
    iter_chosen_alternatives,
    largest_absolute_shifted_value,
    make_artificial_objective,
)
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.counting import Structures

from .settings import LAW
from .spaces import general_spaces

NUMBERS = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6)
SEEDS = st.integers(0, 2**32)

NESTED = """\
space nested
stage scaler = none | StandardScaler
stage parts = permute(a: scaler, b: PCA { n_components : int[1, 5] = 2 })
stage model =
  | AdaBoostClassifier {
      n_estimators : int[10, 500] log = 50
      estimator = DecisionTreeClassifier { max_depth : int[1, 9] = 3 }
    }
  | SVC { C : float[0.1, 10] = 1, kernel : {rbf, poly} = rbf, degree : int[2, 5] = 3 when kernel == poly }
pipeline = parts -> model
"""


def drawn(space: Space, seed: int, count: int = 4) -> list[Configuration]:
    """Members of a space; none of one that is empty, of which nobody can tell, or of which none can be drawn."""
    try:
        return Sampler(Structures(space)).batch(count, np.random.default_rng(seed)).configurations()
    except (ValueError, SamplingFailedError, UndecidableError):
        return []


def losses(space: Space, seed: int, configurations: list[Configuration]) -> list[float | None]:
    box = make_artificial_objective(space, seed)
    return [box.evaluate(Request(each)).loss for each in configurations]


def test_the_numbers_of_the_paper() -> None:
    first = absolute_weighted_mean((1, -1), (1, 3))
    assert first == pytest.approx(0.5)
    loss = largest_absolute_shifted_value(0.0, first, (0.2, -1.5, 0.7))
    assert loss == pytest.approx(0.75)
    second = absolute_weighted_mean((0.2,), (5,))
    assert second == pytest.approx(0.2)
    assert largest_absolute_shifted_value(loss, second, (1, -2)) == pytest.approx(0.95)


def test_what_has_no_hyperparameters_or_none_in_sum_passes_on_what_came_before() -> None:
    for theta in ([], [0.0, 0.0], [1.0, -1.0], [1e-13]):
        share = absolute_weighted_mean([1.0] * len(theta), theta)
        assert share == 0
        assert largest_absolute_shifted_value(0.7, share, (1.0, -5.0)) == 0.7


@given(NUMBERS, NUMBERS, st.floats(1e-3, 1e3))
def test_the_unit_of_the_hyperparameters_changes_nothing(weights: list[float], theta: list[float], unit: float) -> None:
    count = min(len(weights), len(theta))
    weights, theta = weights[:count], theta[:count]
    scaled = [unit * each for each in theta]
    assume(min(abs(fsum(theta)), abs(fsum(scaled))) > 1e-6 * max(map(abs, [*theta, 1])) * max(unit, 1))
    assert absolute_weighted_mean(weights, scaled) == pytest.approx(
        absolute_weighted_mean(weights, theta), rel=1e-6, abs=1e-6
    )


@given(st.floats(-1e3, 1e3), st.floats(0, 1e3), NUMBERS)
def test_a_module_leads_as_far_from_0_as_any_of_its_draws(before: float, share: float, draws: list[float]) -> None:
    after = largest_absolute_shifted_value(before, share, draws)
    assert after >= 0
    assert all(after >= abs(before + share * each) for each in draws)
    assert largest_absolute_shifted_value(0.0, share, draws) == share * max(map(abs, draws))


@LAW
@given(SEEDS, general_spaces())
def test_a_loss_is_of_the_configuration_and_the_seed_alone(seed: int, space: Space) -> None:
    configurations = drawn(space, seed % 97)
    found = losses(space, seed, configurations)
    assert all(loss is not None and 0 <= loss < inf for loss in found)
    assert losses(space, seed, configurations[::-1]) == found[::-1], "nor does it matter what was evaluated before"
    box = pickle.loads(pickle.dumps(make_artificial_objective(space, seed)))
    assert [box.evaluate(Request(each)).loss for each in configurations] == found


@LAW
@given(general_spaces(), SEEDS)
def test_what_is_active_counts_once_and_nothing_else(space: Space, seed: int) -> None:
    for configuration in drawn(space, seed):
        taken = [*iter_chosen_alternatives(space.root, configuration)]
        addresses = [address for each in taken for address in each.values]
        active = [node.address for node in hyperparameters_of(space, configuration).values()]
        assert sorted(addresses) == sorted(active)
        assert len({each.name for each in taken}) == len(taken)


@pytest.mark.parametrize("seed", range(5))
def test_a_loss_moves_little_where_a_value_does(seed: int) -> None:
    space = sl.parse(NESTED).checked
    box = make_artificial_objective(space, seed)
    for configuration in drawn(space, seed, 50):
        here = box.evaluate(Request(configuration)).loss
        for key, node in hyperparameters_of(space, configuration).items():
            if isinstance(node.domain, Real):
                moved = Configuration({**configuration, key: nextafter(float(configuration[key]), 5.0)})  # type: ignore[arg-type]
                assert box.evaluate(Request(moved)).loss == pytest.approx(here, rel=1e-9, abs=1e-9)


def test_seeds_differ_and_orders_of_steps_do() -> None:
    space = sl.parse(NESTED).checked
    configurations = drawn(space, 0, 50)
    assert losses(space, 1, configurations) != losses(space, 2, configurations)
    names = {tuple(each.name for each in iter_chosen_alternatives(space.root, one)) for one in configurations}
    assert any(each[::-1] != each and len(each) == 3 for each in names)
