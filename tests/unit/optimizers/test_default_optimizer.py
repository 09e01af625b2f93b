"""The optimizer of a search that names none."""

import pytest

from spacelang.ir.space import Space
from spacelang.optimizers import OPTIMIZERS, Hyperparameters, default_optimizer, hyperparameters_in
from spacelang.testing.small_spaces import SMALL


@pytest.mark.parametrize("space", SMALL, ids=lambda space: space.name)
def test_it_searches_what_the_space_has(space: Space) -> None:
    name = default_optimizer(space)
    assert name == ("mosaic" if space.hyperparameters else "blds")
    assert hyperparameters_in(space, OPTIMIZERS.load(name)()) is Hyperparameters.SEARCHED
    assert default_optimizer(space, has_data=False) == ("hyperband" if space.hyperparameters else "blds")
    assert default_optimizer(space, has_defaults_only=True) == "blds"


def test_an_optimizer_that_says_nothing_of_hyperparameters_is_taken_to_search_them() -> None:
    assert all(hyperparameters_in(space, object()) is Hyperparameters.SEARCHED for space in SMALL)
