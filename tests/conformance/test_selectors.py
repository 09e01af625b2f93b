"""Every optimizer of pipelines does as a part of others what every selector must do."""

import os

import pytest

from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._selection import Selector
from spacelang.testing import SelectorConformance

SELECTORS = [name for name in OPTIMIZERS.names() if hasattr(OPTIMIZERS.load(name), "selector")]
ONE_BY_ONE = ("blds", "daub", "lds", "mlds")


@pytest.mark.parametrize("name", SELECTORS)
class TestSelectors(SelectorConformance):
    examples = 15 if os.environ.get("SPACELANG_FULL") else 4

    @pytest.fixture(autouse=True)
    def named(self, name: str) -> None:
        self.name = name
        self.one_by_one = name in ONE_BY_ONE

    def selector(self) -> Selector:
        return OPTIMIZERS.load(self.name)().selector()  # type: ignore[no-any-return]


def test_all_optimizers_of_pipelines_can_be_parts() -> None:
    assert set(SELECTORS) >= {"blds", "cmab", "daub", "hyperband", "lds", "mlds", "random", "successive_halving"}
