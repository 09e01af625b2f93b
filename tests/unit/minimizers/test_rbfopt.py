"""RBFOpt as a minimizer, by a stand-in with its interface: it needs programs that no package brings."""

import sys
import threading
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from spacelang.ir.search_protocol import SearchEvent
from spacelang.minimizers import MINIMIZERS
from spacelang.minimizers.rbfopt import REQUIRED_SOLVERS, Rbfopt
from spacelang.plugins import OptionError
from spacelang.testing import MinimizerConformance
from spacelang.testing.minimizers import BOXES, QuadraticBowl


class RbfoptUserBlackBox:
    def __init__(self, dimension: int, lower: Any, upper: Any, kinds: Any, function: Callable[[Any], float]) -> None:
        self.dimension, self.function = dimension, function
        assert (lower.tolist(), upper.tolist(), set(kinds)) == ([0.0] * dimension, [1.0] * dimension, {"R"})


class RbfoptSettings:
    def __init__(self, max_evaluations: int) -> None:
        self.max_evaluations = max_evaluations


class RbfoptAlgorithm:
    """Draws from NumPy's global generator, as the real one does, and steps towards the best of three points."""

    def __init__(self, settings: RbfoptSettings, box: RbfoptUserBlackBox) -> None:
        self.settings, self.box = settings, box

    def set_output_stream(self, stream: Any) -> None:
        stream.write("")
        stream.flush()

    def optimize(self) -> None:
        np.random.seed(937627691)
        points = np.random.rand(3, self.box.dimension)
        numbers = [self.box.function(point) for point in points]
        for _ in range(self.settings.max_evaluations - 3):
            best = points[int(np.argmin(numbers))]
            points = np.vstack([points, np.clip(best + np.random.normal(0, 0.1, len(best)), 0, 1)])
            numbers.append(self.box.function(points[-1]))


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = ModuleType("rbfopt")
    module.__spec__ = ModuleSpec("rbfopt", None)
    for each in (RbfoptUserBlackBox, RbfoptSettings, RbfoptAlgorithm):
        setattr(module, each.__name__, each)
    monkeypatch.setitem(sys.modules, "rbfopt", module)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in REQUIRED_SOLVERS:
        (tmp_path / name).touch(mode=0o755)


class TestRbfopt(MinimizerConformance):
    minimizer = Rbfopt
    examples = 3


def test_what_is_missing_is_said_with_its_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bonmin").unlink()
    with pytest.raises(OptionError, match="RBFOpt needs `bonmin`") as caught:
        MINIMIZERS.parse("rbfopt")
    assert "or use `rbf`" in caught.value.help
    monkeypatch.setattr("spacelang.minimizers.rbfopt.find_spec", lambda _: None)
    with pytest.raises(OptionError, match="`rbfopt` is not installed") as caught:
        MINIMIZERS.parse("rbfopt")
    assert "`pip install rbfopt`" in caught.value.help


def test_a_search_that_is_left_leaves_no_thread_and_the_global_generator_as_it_was() -> None:
    before, state = threading.active_count(), np.random.get_state()[1].tolist()  # type: ignore[union-attr]
    bowl = QuadraticBowl(BOXES["three"])
    going = Rbfopt().minimise(bowl, bowl.box, 9, bowl.start)
    (wanted,) = next(going).requests
    request = wanted.make(np.random.default_rng(0))
    wanted.on_start(request)
    (wanted,) = going.send(SearchEvent(bowl.evaluate(request), 1, request=wanted)).requests
    wanted.make(np.random.default_rng(1))
    assert threading.active_count() == before + 1
    going.close()
    assert threading.active_count() == before
    assert np.random.get_state()[1].tolist() == state  # type: ignore[union-attr]


def test_what_it_raises_is_raised_where_the_point_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: RbfoptAlgorithm) -> None:
        raise RuntimeError("a solver is broken")

    monkeypatch.setattr(RbfoptAlgorithm, "optimize", broken)
    bowl = QuadraticBowl(BOXES["one"], known=(((1.0,), 0.49),))
    going = Rbfopt().minimise(bowl, bowl.box, 4, bowl.start)
    (wanted,) = next(going).requests
    with pytest.raises(RuntimeError, match="a solver is broken"):
        wanted.make(np.random.default_rng(0))
