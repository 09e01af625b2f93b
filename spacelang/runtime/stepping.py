"""Steps: what stops wherever nobody but its caller can say what comes of a trial."""

from collections.abc import Callable, Generator
from functools import wraps
from typing import ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Steps: TypeAlias = Generator[None, None, T]
"""What goes on whenever it is asked to, and at last returns."""


def to_the_end(stepping: Callable[P, Steps[T]]) -> Callable[P, T]:
    """The same without a stop, for an executor that can always wait for what comes of trials."""

    @wraps(stepping)
    def whole(*given: P.args, **named: P.kwargs) -> T:
        going = stepping(*given, **named)
        try:
            while True:
                next(going)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    return whole
