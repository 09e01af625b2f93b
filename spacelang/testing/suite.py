"""The base class of all suites: it checks properties on cases that Hypothesis draws."""

import math
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, ClassVar

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from spacelang.plugins import PluginRegistry


def check_plugin_class(kind: Any) -> None:
    """Check that a plug-in is a documented dataclass with documented options."""
    assert all(option.doc for option in PluginRegistry.options(kind))
    assert is_dataclass(kind)
    assert kind.__doc__


class ConformanceSuite:
    """Base class of test suites that the tests of another package inherit."""

    examples: ClassVar[int] = 15  # The number of cases that each property is tested with

    def check_law(self, law: Callable[..., None], share: float = 1.0, **drawn: SearchStrategy[Any]) -> None:
        """Check a property with a share of the examples; `law` takes the drawn arguments by name.

        A method with the decorator `given` cannot be inherited by several classes: so laws are inner functions.
        """
        suppressed = [HealthCheck.too_slow, HealthCheck.filter_too_much]
        tried = settings(max_examples=math.ceil(self.examples * share), deadline=None, suppress_health_check=suppressed)
        tried(given(**drawn)(law))()
