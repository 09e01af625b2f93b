"""The base class of all suites: it checks properties on cases that Hypothesis draws."""

import math
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from spacelang.deprecation import make_module_getattr, warn_renamed
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Problem, Search
from spacelang.ir.space import Space
from spacelang.ir.trial import UNIT_SCALE, LossScale, Request, Trial
from spacelang.optimizers._scheduling import search_after_initial_trials
from spacelang.plugins import PluginRegistry
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors import Executor
from spacelang.runtime.history import Outcome, TrialStorage
from spacelang.runtime.request_queue import PrefixKeyFunction
from spacelang.runtime.search_loop import run
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.testing.driving import flaky_loss, hash_loss, make_trial
from spacelang.testing.memory_storage import EventLog


def check_plugin_class(kind: Any) -> None:
    """Check that a plug-in is a documented dataclass with documented options."""
    assert all(option.doc for option in PluginRegistry.options(kind))
    assert is_dataclass(kind)
    assert kind.__doc__


class ConformanceSuite:
    """Base class of test suites that the tests of another package inherit."""

    examples: ClassVar[int] = 15  # The number of cases that each property is tested with

    def check_property(self, check_case: Callable[..., None], share: float = 1.0, **drawn: SearchStrategy[Any]) -> None:
        """Check a property on drawn cases: `check_case` is called with values drawn from the strategies, by name.

        `share` is the share of `examples` to draw. A method with the decorator `given` cannot be inherited by several
        classes, so `check_case` is an inner function of a test method.
        """
        suppressed = [HealthCheck.too_slow, HealthCheck.filter_too_much]
        tried = settings(max_examples=math.ceil(self.examples * share), deadline=None, suppress_health_check=suppressed)
        tried(given(**drawn)(check_case))()

    def check_law(self, law: Callable[..., None], share: float = 1.0, **drawn: SearchStrategy[Any]) -> None:
        """Call `check_property`: a method, because pytest reads all attributes of a suite, and an alias would warn."""
        warn_renamed("check_law", "check_property")
        self.check_property(law, share, **drawn)


SIZE = 500  # The number of training rows
LIMIT = 300  # A limit on trials that is high for a small space
EXHAUSTIVE_TRIALS = 5_000  # A number of trials that is more than enough to exhaust a small space
TRIALS = 24  # The number of trials of a run with workers
WORKERS = pytest.mark.parametrize("workers", [1, 2, 8])


class OptimizerTests(ConformanceSuite):
    """Base class for tests of an optimizer."""

    optimizer: ClassVar[Any]  # The class of the optimizer
    options: ClassVar[Mapping[str, object]] = {}
    """Options for the tests, such as options that make the optimizer cheaper."""
    giant: ClassVar[int] = LIMIT  # The number of trials in a search of a giant space
    failures: ClassVar[int] = 25
    """How many of 50 trials on all rows may fail if three of eight pipelines do: slightly more than at random."""
    opening: ClassVar[int] = 0
    """The number of initial trials on all rows that are requested before the optimizer has learned anything."""
    draws: ClassVar[bool] = True  # False if the optimizer draws nothing, as an enumeration
    repeats: ClassVar[bool] = False
    """True if the optimizer may request a trial again; repeated trials are answered from memory at no cost."""

    def has_option(self, option: str) -> bool:
        """Return True if the optimizer has the option."""
        return any(each.name == option for each in PluginRegistry.options(self.optimizer))

    def skip_unless_option(self, option: str) -> None:
        """Skip the test if the optimizer does not have the option."""
        if not self.has_option(option):
            pytest.skip(f"the optimizer has no option `{option}`")

    def configure(self, **options: object) -> Any:
        """Return the optimizer, configured with options as a user gives them."""
        texts = {name: str(value) for name, value in {**self.options, **options}.items()}
        return PluginRegistry.configure(self.optimizer, texts)

    def start(
        self, space: Space, seed: int = 0, size: int = SIZE, initial: tuple[Configuration, ...] = (), **options: object
    ) -> Search:
        """Return the optimizer's search of a space with `size` training rows.

        It evaluates the configurations in `initial` first.
        """
        problem = Problem(space, size, np.random.default_rng(seed), initial)
        return search_after_initial_trials(self.configure(**options), problem)

    def run(
        self,
        space: Space,
        executor: Executor,
        trials: int = TRIALS,
        initial: tuple[Configuration, ...] = (),
        **how: Any,
    ) -> Outcome:
        """Run a search of a space on an executor and return its outcome; `how` is passed to `run_search`."""
        return run_search(self.start(space, initial=initial), executor, trials, **how)


def sample_members(space: Space, count: int) -> tuple[Configuration, ...]:
    """Return up to `count` different members of a space."""
    structures = Structures(space)
    found = Sampler(structures).configurations(count, np.random.default_rng(count)) if structures.count else []
    return tuple(dict.fromkeys(found))


def run_search(
    search: Search,
    executor: Executor,
    trials: int = TRIALS,
    *,
    journal: TrialStorage | None = None,
    heard: EventLog | None = None,
    scale: LossScale | None = UNIT_SCALE,
    prefix_key: PrefixKeyFunction | None = None,
    route: PrefixKeyFunction | None = None,
) -> Outcome:
    """Run a search on an executor and return its outcome.

    The `journal` stores the trials, `heard` logs the events, and `prefix_key` returns the prefix key of a request.
    `route` is the old name of `prefix_key`.
    """
    if route is not None:
        warn_renamed("run_search(route=...)", "prefix_key")
        prefix_key = route
    return run(
        search if heard is None else heard.log_search(search),
        executor,
        Budget(trials=trials),
        clock=TickingClock(),
        training_size=SIZE,
        journal=journal,
        prefix_key=prefix_key,
        scale=scale,
    )


class TickingClock:
    """A clock that advances by one second whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def evaluate(request: Request) -> Trial:
    """Return a trial with a loss in [0, 1), or a failed one for a third of all requests."""
    return make_trial(request, flaky_loss(request))


def evaluate_unscaled(request: Request) -> Trial:
    """Return a trial with a loss beyond 1, or a failed one for a third of all requests."""
    loss = flaky_loss(request)
    return make_trial(request, None if loss is None else 40 * loss)


def evaluate_with_varied_cost(request: Request) -> Trial:
    """Return a trial whose cost varies by a factor of fifty."""
    return replace(evaluate(request), cost=0.02 + hash_loss(replace(request, fidelity=(request.fidelity or SIZE) + 1)))


def configuration_prefix(request: Request) -> tuple[str, ...]:
    """Return the first 20 characters of a request's configuration as its prefix key; equal keys share work in tests."""
    return tuple(request.configuration.identity[:20])


__getattr__ = make_module_getattr(__name__, {"SearchTests": "OptimizerTests"})
