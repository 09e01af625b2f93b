"""The optimizer of a search that names none."""

import pytest

from spacelang.ir.space import Space
from spacelang.optimizers import OPTIMIZERS, HyperparameterMode, default_optimizer, hyperparameter_mode
from spacelang.testing.small_spaces import SMALL


@pytest.mark.parametrize("space", SMALL, ids=lambda space: space.name)
def test_it_searches_what_the_space_has(space: Space) -> None:
    assert hyperparameter_mode(space, OPTIMIZERS.load(default_optimizer())()) is HyperparameterMode.SEARCHED


def test_pipelines_are_selected_if_only_defaults_can_be_evaluated() -> None:
    assert default_optimizer(has_defaults_only=True) == "blds"


def test_an_optimizer_that_says_nothing_of_hyperparameters_is_taken_to_search_them() -> None:
    assert all(hyperparameter_mode(space, object()) is HyperparameterMode.SEARCHED for space in SMALL)
