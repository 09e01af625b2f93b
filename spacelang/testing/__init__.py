"""Conformance test suites for plug-ins: base classes that the tests of another package inherit.

    from spacelang.testing import OptimizerConformance
    from better import BetterHalf

    class TestBetterHalf(OptimizerConformance):
        optimizer = BetterHalf

Class attributes tell a suite what it needs to know about the plug-in. `examples` is the number of cases that Hypothesis
draws for each property (`class TestBetterHalf(OptimizerConformance): examples = 100`). The settings of Hypothesis
decide whether these cases are the same in every run.

The helpers of the suites can be used on their own: `driving` answers a search without evaluating anything,
`simulated_workers` has workers without processes, `memory_storage` stores trials in memory, `small_spaces` builds and
draws small spaces, and `faults` has evaluations that crash, hang or leak.

The suites need `pip install 'spacelang[testing]'`.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spacelang.deprecation import rename_module, warn_renamed

if TYPE_CHECKING:
    from spacelang.testing.executors import ExecutorConformance, ExecutorLimitsConformance
    from spacelang.testing.minimizers import MinimizerConformance
    from spacelang.testing.objectives import ObjectiveConformance
    from spacelang.testing.optimizers import OptimizerConformance
    from spacelang.testing.selectors import SelectorConformance
    from spacelang.testing.targets import TargetConformance

__all__ = [
    "ExecutorConformance", "ExecutorLimitsConformance", "MinimizerConformance", "ObjectiveConformance",
    "OptimizerConformance", "SelectorConformance", "TargetConformance",
]  # fmt: skip
_HOMES = {
    "ExecutorConformance": "executors", "ExecutorLimitsConformance": "executors", "MinimizerConformance": "minimizers",
    "ObjectiveConformance": "objectives", "OptimizerConformance": "optimizers", "SelectorConformance": "selectors",
    "TargetConformance": "targets",
}  # fmt: skip
_WITH_ASSERTIONS = (*_HOMES.values(), "driving", "search_tests")
_OLD_NAMES = {
    "crews": "simulated_workers", "draw_functions": "small_spaces", "drawing": "small_spaces",
    "hypothesis_draws": "small_spaces", "journals": "memory_storage", "misbehaving": "faults",
}  # fmt: skip

for _old, _new in _OLD_NAMES.items():
    rename_module(f"{__name__}.{_old}", f"{__name__}.{_new}")

if (pytest := sys.modules.get("pytest")) is not None:
    pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in _WITH_ASSERTIONS))


def __getattr__(name: str) -> Any:
    if name == "BoundingConformance":
        warn_renamed(f"{__name__}.{name}", "ExecutorLimitsConformance")
        name = "ExecutorLimitsConformance"
    # Import a suite only when it is used, so that a worker process that evaluates for a suite needs no pytest.
    if name not in _HOMES:
        raise AttributeError(f"module `spacelang.testing` has no attribute `{name}`")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name not in ("hypothesis", "pytest"):
            raise
        remedy = "pip install 'spacelang[testing]'"
        raise ModuleNotFoundError(f"the conformance suites need `{error.name}`: {remedy}", name=error.name) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
