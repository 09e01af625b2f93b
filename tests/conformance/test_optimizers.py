"""Every optimizer of the registry does what every optimizer must do."""

import os

import numpy as np
import pytest
from cheap import HEAVY, OPTIONS, PARTIAL

from spacelang.ir.search_protocol import Problem
from spacelang.optimizers import OPTIMIZERS
from spacelang.plugins import OptionError, PluginRegistry
from spacelang.testing import OptimizerConformance
from spacelang.testing.driving import drive_search, hash_loss
from spacelang.testing.optimizers import ResumeTests
from spacelang.testing.search_tests import EXHAUSTIVE_TRIALS, SIZE
from spacelang.testing.small_spaces import plain_space

ONE_BY_ONE = ("blds", "daub", "lds", "mlds")
REPEATING = ("admm", "boasf", "jopt", "mosaic", "optuna", "smac", "tpe")
"""Those that may propose what they have proposed before."""
OPENING = {"smac": 25}
"""SMAC's design is made before anything is known: of a hundred trials a quarter."""
IS_FULL = bool(os.environ.get("SPACELANG_FULL"))
SLOW = () if IS_FULL else ("admm", "jopt")
"""Those of which a part of the cases says enough."""
SLOWEST = frozenset() if IS_FULL else HEAVY
"""Those of which their own tests, and that they are resumed, say enough."""
EXAMPLES = 15 if IS_FULL else 4
STOPS = 1 if IS_FULL else 5
"""After every so many trials of a run it is resumed; in the spaces together, after every one."""


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS.names() if name not in PARTIAL and name not in SLOWEST])
class TestOptimizers(OptimizerConformance):
    @pytest.fixture(autouse=True)
    def loaded(self, name: str) -> None:
        self.optimizer = OPTIMIZERS.load(name)
        self.repeats = name in REPEATING
        self.examples, self.stops = EXAMPLES, STOPS
        if not IS_FULL:
            self.giant = 40 if name in SLOW else 60
        if name in SLOW:
            self.examples, self.stops = 3, 11
        self.one_by_one = name in ONE_BY_ONE
        self.options = OPTIONS.get(name, {})
        self.draws = name != "enumerate"
        self.failures = 12 if self.has_option("b") and name != "auto" else type(self).failures  # its data are few rows
        self.opening = OPENING.get(name, 0)


@pytest.mark.parametrize("name", sorted(SLOWEST - {"smac"}))
class TestHeavy(ResumeTests):
    @pytest.fixture(autouse=True)
    def loaded(self, name: str) -> None:
        self.optimizer = OPTIMIZERS.load(name)
        self.repeats = name in REPEATING
        self.options = OPTIONS.get(name, {})
        self.examples, self.stops = 3, 17


def having(option: str) -> list[str]:
    return [
        name
        for name in OPTIMIZERS.names()
        if option in {each.name for each in PluginRegistry.options(OPTIMIZERS.load(name))}
    ]


@pytest.mark.parametrize("name", having("b"))
def test_a_first_rung_beyond_the_data_is_all_of_it(name: str) -> None:
    search = OPTIMIZERS.load(name)(b=10**9).search(Problem(plain_space(2, 2), SIZE, np.random.default_rng(0)))
    driven = drive_search(search, hash_loss, EXHAUSTIVE_TRIALS)
    assert driven.returned
    assert [request.fidelity for request in driven.requests] == [None] * 4


@pytest.mark.parametrize("name", having("eta"))
@pytest.mark.parametrize("eta", ["1", "0.5", "-2", "0"])
def test_rows_must_grow(name: str, eta: str) -> None:
    with pytest.raises(OptionError) as caught:
        PluginRegistry.configure(OPTIMIZERS.load(name), {"eta": eta})
    assert "`eta`" in caught.value.message
    assert caught.value.help
