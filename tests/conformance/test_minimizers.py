"""Every minimizer of the registry does what every minimizer must do.

But for RBFOpt, which needs programs that no package brings: `tests/unit/minimizers/test_rbfopt.py` has a stand-in.
"""

from collections.abc import Mapping

import pytest
from trying import IS_FULL

from spacelang.minimizers import MINIMIZERS
from spacelang.testing import MinimizerConformance

EACH: Mapping[str, tuple[str, Mapping[str, object]]] = {
    **{name: (name, {}) for name in MINIMIZERS.names() if name != "rbfopt"},
    "tpe startup=5": ("tpe", {"startup": 5}),
    "direct method=evolution": ("direct", {"method": "evolution"}),
}


@pytest.mark.parametrize("each", EACH)
class TestMinimizers(MinimizerConformance):
    @pytest.fixture(autouse=True)
    def loaded(self, each: str) -> None:
        name, self.options = EACH[each]
        self.minimizer = MINIMIZERS.load(name)
        self.examples = (5 if name == "bo" else 15) if IS_FULL else 3
