"""An optimizer under test, begun on a space, and run by the loop with workers that need no process."""

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
"""So many training rows there are."""
LIMIT = 300
"""So many trials are many for a small space."""
PLENTY = 5_000
"""So many are more than enough to exhaust one."""
TRIALS = 24
"""So many a run with workers has."""

WORKERS = pytest.mark.parametrize("workers", [1, 2, 8])


class Searches(Suite):
    """Tests of an optimizer."""

    optimizer: ClassVar[Any]
    """Its class."""
    options: ClassVar[Mapping[str, object]] = {}
    """Options that the suite shall give it, such as those that keep it cheap."""
    giant: ClassVar[int] = LIMIT
    """So many trials a search of a giant space has."""
    failures: ClassVar[int] = 25
    """How many of 50 trials on all rows may fail where three of eight pipelines do: a bit more than such."""
    opening: ClassVar[int] = 0
    """So many trials on all rows come before any that it has learned from."""
    draws: ClassVar[bool] = True
    """Whether it draws anything: an enumeration does not."""
    repeats: ClassVar[bool] = False
    """Whether it may ask for what it knows, which it is told again for nothing."""

    def has(self, option: str) -> bool:
        """Whether the optimizer has the option."""
        return any(each.name == option for each in Plugins.options(self.optimizer))

    def needs(self, option: str) -> None:
        """Skip a test where the optimizer does not have the option."""
        if not self.has(option):
            pytest.skip(f"it has no option `{option}`")

    def configured(self, **options: object) -> Any:
        """The optimizer with options as a user gives them."""
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
        """A search of a space that begins with these configurations."""
        return begun(self.configured(**options), Problem(space, size, np.random.default_rng(seed), initial))

    def run(
        self,
        space: Space,
        executor: Executor,
        trials: int = TRIALS,
        initial: tuple[Configuration, ...] = (),
        **how: Any,
    ) -> Outcome:
        """What a search of a space comes to with the workers of an executor, as `ran` says."""
        return ran(self.start(space, initial=initial), executor, trials, **how)


def some(space: Space, count: int) -> tuple[Configuration, ...]:
    """So many different members of a space to begin with, or fewer."""
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
    """What a search comes to; `heard` overhears it."""
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
    """A second goes by whenever it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def named(space: Space) -> str:
    """What tests are called by."""
    return space.name


def evaluate(request: Request) -> Trial:
    """Something between 0 and 1; a third fails."""
    return answered(request, moody(request))


def errors(request: Request) -> Trial:
    """Losses that no unit is known of."""
    loss = moody(request)
    return answered(request, None if loss is None else 40 * loss)


def timed(request: Request) -> Trial:
    """Some take fifty times as long as others."""
    return replace(evaluate(request), cost=0.02 + arbitrary(replace(request, fidelity=(request.fidelity or SIZE) + 1)))


def route(request: Request) -> tuple[str, ...]:
    """What shares work begins alike."""
    return tuple(request.configuration.identity[:20])
