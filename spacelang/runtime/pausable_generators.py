"""Generators that pause whenever their caller has to supply the results of trials."""

from collections.abc import Callable, Generator
from functools import wraps
from typing import ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Steps: TypeAlias = Generator[None, None, T]
"""A generator that pauses until it is resumed, and finally returns a result."""


def run_to_completion(stepping: Callable[P, Steps[T]]) -> Callable[P, T]:
    """Return a function that runs the generator to its end without pausing, and returns its result.

    It is for executors that can always wait for trials by themselves.
    """

    @wraps(stepping)
    def run(*given: P.args, **named: P.kwargs) -> T:
        going = stepping(*given, **named)
        try:
            while True:
                next(going)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    return run
