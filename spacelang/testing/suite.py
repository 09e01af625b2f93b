"""What all suites have: laws over cases that Hypothesis draws, so many that a subclass decides."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy


class Suite:
    """Tests that a class of another package inherits."""

    examples: ClassVar[int] = 15
    """How many cases each law is tried with."""

    def holds(self, law: Callable[..., None], share: float = 1.0, **drawn: SearchStrategy[Any]) -> None:
        """Try a law, a function of the arguments that are drawn by their names, with a share of the examples.

        A method that is decorated with `given` cannot be inherited by several classes, a function within it can.
        """
        tried = settings(
            max_examples=math.ceil(self.examples * share),
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        )
        tried(given(**drawn)(law))()
