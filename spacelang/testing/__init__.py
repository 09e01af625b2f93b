"""Conformance suites: what every plug-in must do, as classes that the tests of another package inherit.

    from spacelang.testing import OptimizerConformance
    from better import BetterHalf

    class TestBetterHalf(OptimizerConformance):
        optimizer = BetterHalf

A suite says in its attributes what it needs to know of a plug-in; `examples` is how many cases each of its laws draws
(`class TestBetterHalf(OptimizerConformance): examples = 100`). Whether these are the same in every run is the
business of Hypothesis' settings, as always. What the suites are made of can be used on its own: `driving` answers a
search without any evaluation, `crews` has workers without processes, `journals` keeps trials in memory,
`small_spaces` makes spaces and draws them (by `drawing`), `misbehaving` does what pipelines should not.

This needs `pip install 'spacelang[testing]'`.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacelang.testing.executors import BoundingConformance, ExecutorConformance
    from spacelang.testing.minimizers import MinimizerConformance
    from spacelang.testing.objectives import ObjectiveConformance
    from spacelang.testing.optimizers import OptimizerConformance
    from spacelang.testing.selectors import SelectorConformance
    from spacelang.testing.targets import TargetConformance

__all__ = [
    "BoundingConformance",
    "ExecutorConformance",
    "MinimizerConformance",
    "ObjectiveConformance",
    "OptimizerConformance",
    "SelectorConformance",
    "TargetConformance",
]

_HOMES = {
    "BoundingConformance": "executors",
    "ExecutorConformance": "executors",
    "MinimizerConformance": "minimizers",
    "ObjectiveConformance": "objectives",
    "OptimizerConformance": "optimizers",
    "SelectorConformance": "selectors",
    "TargetConformance": "targets",
}
_WITH_ASSERTIONS = (*_HOMES.values(), "driving", "resuming", "target_laws")

if (pytest := sys.modules.get("pytest")) is not None:
    pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in _WITH_ASSERTIONS))


def __getattr__(name: str) -> Any:
    # Suites are imported when they are used: a worker that evaluates what a suite made needs no pytest.
    if name not in _HOMES:
        raise AttributeError(f"module `spacelang.testing` has no attribute `{name}`")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name not in ("hypothesis", "pytest"):
            raise
        remedy = "pip install 'spacelang[testing]'"
        raise ModuleNotFoundError(f"the suites need `{error.name}`: {remedy}", name=error.name) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
