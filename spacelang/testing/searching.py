"""Base class for tests of optimizers, and functions that run a search with workers that need no process."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from spacelang.draws.sampling import Sampler
from spacelang.ir.asking import Search
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Problem
from spacelang.ir.scale import UNIT, Scale
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._opening import begun
from spacelang.plugins import Plugins
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors import Executor
from spacelang.runtime.history import Journal, Outcome
from spacelang.runtime.loop import run
from spacelang.runtime.waiting import RouteOf
from spacelang.solver.counting import Structures
from spacelang.testing.driving import answered, arbitrary, moody
from spacelang.testing.journals import Heard
from spacelang.testing.suite import Suite

SIZE = 500
"""The number of training rows."""
LIMIT = 300
"""A limit on trials that is high for a small space."""
PLENTY = 5_000
"""A number of trials that is more than enough to exhaust a small space."""
TRIALS = 24
"""The number of trials of a run with workers."""

WORKERS = pytest.mark.parametrize("workers", [1, 2, 8])


class Searches(Suite):
    """Base class for tests of an optimizer."""

    optimizer: ClassVar[Any]
    """The class of the optimizer."""
    options: ClassVar[Mapping[str, object]] = {}
    """Options for the tests, such as options that make the optimizer cheaper."""
    giant: ClassVar[int] = LIMIT
    """The number of trials in a search of a giant space."""
    failures: ClassVar[int] = 25
    """How many of 50 trials on all rows may fail if three of eight pipelines do: slightly more than at random."""
    opening: ClassVar[int] = 0
    """The number of initial trials on all rows that are requested before the optimizer has learned anything."""
    draws: ClassVar[bool] = True
    """False if the optimizer draws nothing, as an enumeration."""
    repeats: ClassVar[bool] = False
    """True if the optimizer may request a trial again; repeated trials are answered from memory at no cost."""

    def has(self, option: str) -> bool:
        """Return True if the optimizer has the option."""
        return any(each.name == option for each in Plugins.options(self.optimizer))

    def needs(self, option: str) -> None:
        """Skip the test if the optimizer does not have the option."""
        if not self.has(option):
            pytest.skip(f"the optimizer has no option `{option}`")

    def configured(self, **options: object) -> Any:
        """Return the optimizer, configured with options as a user gives them."""
        texts = {name: str(value) for name, value in {**self.options, **options}.items()}
        return Plugins.configure(self.optimizer, texts)

    def start(
        self,
        space: Space,
        seed: int = 0,
        size: int = SIZE,
        initial: tuple[Configuration, ...] = (),
        **options: object,
    ) -> Search:
        """Return a search of a space that starts with the configurations in `initial`."""
        return begun(self.configured(**options), Problem(space, size, np.random.default_rng(seed), initial))

    def run(
        self,
        space: Space,
        executor: Executor,
        trials: int = TRIALS,
        initial: tuple[Configuration, ...] = (),
        **how: Any,
    ) -> Outcome:
        """Run a search of a space on an executor and return its outcome; `how` is passed to `ran`."""
        return ran(self.start(space, initial=initial), executor, trials, **how)


def some(space: Space, count: int) -> tuple[Configuration, ...]:
    """Return up to `count` different members of a space."""
    structures = Structures(space)
    found = Sampler(structures).configurations(count, np.random.default_rng(count)) if structures.count else []
    return tuple(dict.fromkeys(found))


def ran(
    search: Search,
    executor: Executor,
    trials: int = TRIALS,
    *,
    journal: Journal | None = None,
    heard: Heard | None = None,
    scale: Scale | None = UNIT,
    route: RouteOf | None = None,
) -> Outcome:
    """Run a search on an executor and return its outcome; `heard` logs its events."""
    return run(
        search if heard is None else heard.of(search),
        executor,
        Budget(trials=trials),
        clock=Clock(),
        training_size=SIZE,
        journal=journal,
        route=route,
        scale=scale,
    )


class Clock:
    """A clock that advances by one second whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def named(space: Space) -> str:
    """Return the name of a space, as a test id."""
    return space.name


def evaluate(request: Request) -> Trial:
    """Return a trial with a loss in [0, 1), or a failed one for a third of all requests."""
    return answered(request, moody(request))


def errors(request: Request) -> Trial:
    """Return a trial with a loss beyond 1, or a failed one for a third of all requests."""
    loss = moody(request)
    return answered(request, None if loss is None else 40 * loss)


def timed(request: Request) -> Trial:
    """Return a trial whose cost varies by a factor of fifty."""
    return replace(evaluate(request), cost=0.02 + arbitrary(replace(request, fidelity=(request.fidelity or SIZE) + 1)))


def route(request: Request) -> tuple[str, ...]:
    """Return the prefix of a request; requests with the same prefix share work."""
    return tuple(request.configuration.identity[:20])
