"""The suites can fail: each of these optimizers and objectives breaks a law, and its suite finds it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from threading import Lock
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import Phase, settings

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, Problem, Search, ask_all
from spacelang.ir.task import FunctionBound
from spacelang.ir.trial import UNNAMED_LOSS, Request, Status, Trial
from spacelang.optimizers.random import Random
from spacelang.runtime.storage.run_header import DataFacts
from spacelang.testing import ObjectiveConformance, OptimizerConformance
from spacelang.testing.driving import flaky_loss, make_trial
from spacelang.testing.small_spaces import plain_space

TWO = {"s0": "a0", "s1": "a0", "s2": "a0"}


@dataclass(frozen=True)
class Whole:
    """Nothing is wrong with it."""

    paper: ClassVar[str] = "none"

    def search(self, problem: Problem) -> Search:
        return Random().search(problem)


class Endless(Whole):
    def search(self, _: Problem) -> Search:
        while True:
            yield from ask_all([Request(Configuration(TWO))])


class Stranger(Whole):
    def search(self, _: Problem) -> Search:
        yield from ask_all([Request(Configuration({"s0": "elsewhere"}))])


class Lucky(Whole):
    def search(self, problem: Problem) -> Search:
        return Random().search(replace(problem, rng=np.random.default_rng()))


class Greedy(Whole):
    def search(self, problem: Problem) -> Search:
        ask = next(search := Random().search(problem))
        while True:
            told = yield ask
            try:
                ask = search.send(told)
            except StopIteration:
                return
            ask = Ask(tuple(replace(each, fidelity=problem.size) for each in ask.requests if isinstance(each, Request)))


class Unscaled(Whole):
    """Ends where a loss is above 2, as if losses had no unit."""

    def search(self, problem: Problem) -> Search:
        ask = next(search := Random().search(problem))
        while True:
            told = yield ask
            if told.finished is not None and (told.finished.loss or 0) > 2:
                return
            try:
                ask = search.send(told)
            except StopIteration:
                return


NUMBERS = count()


class Remembering(Whole):
    """What it does depends on how often it was begun."""

    def search(self, problem: Problem) -> Search:
        return Random().search(replace(problem, rng=np.random.default_rng(next(NUMBERS))))


SPACE = plain_space(2, 2, 2)


def suite_of(optimizer: type[Any]) -> OptimizerConformance:
    return type("Suite", (OptimizerConformance,), {"optimizer": optimizer, "examples": 15})()  # type: ignore[no-any-return]


def with_more_cases(suite: OptimizerConformance) -> OptimizerConformance:
    """Return the suite with so many cases that an optimizer without a seed does not pass by chance."""
    suite.examples = 120  # type: ignore[misc]
    return suite


LAWS: dict[str, Callable[[OptimizerConformance], None]] = {
    "ends": lambda suite: suite.test_ends_when_a_finite_space_is_exhausted(SPACE, lambda _: 0.5, 2),
    "members": lambda suite: suite.test_requests_are_members_with_valid_fidelities(SPACE, lambda _: 0.5),
    "seeds": lambda suite: suite.test_the_same_seed_and_objective_give_the_same_requests(SPACE, 1),
    "units": lambda suite: suite.test_the_unit_of_losses_changes_no_request(1000),
    "told again": lambda suite: with_more_cases(suite).test_a_resumed_run_replays_the_same_events(2),
    "begun anew": lambda suite: suite.test_a_resumed_run_equals_one_whose_trials_were_restarted(SPACE, 2),
    "told once": lambda suite: suite.test_every_started_request_is_reported_once(2),
}


@pytest.mark.parametrize("law", LAWS)
def test_a_whole_optimizer_keeps_all_laws(law: str) -> None:
    LAWS[law](suite_of(Whole))


@pytest.fixture
def unshrunk() -> Iterator[None]:
    """A case that breaks a law is enough: nobody asks for the smallest."""
    usual = settings.get_current_profile_name()
    settings.register_profile("unshrunk", settings.get_profile(usual), phases=[Phase.explicit, Phase.generate])
    settings.load_profile("unshrunk")
    yield
    settings.load_profile(usual)


@pytest.mark.usefixtures("unshrunk")
@pytest.mark.parametrize(
    ("optimizer", "law"),
    [
        (Endless, "ends"),
        (Stranger, "members"),
        (Greedy, "members"),
        (Lucky, "seeds"),
        (Unscaled, "units"),
        (Lucky, "told again"),
        (Remembering, "begun anew"),
    ],
)
def test_a_broken_optimizer_is_found(optimizer: type[Any], law: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - an assertion of the suite, or what a resumed run says of it
        LAWS[law](suite_of(optimizer))


class Function:
    """An objective that is whole."""

    facts = DataFacts("function", 0, 0, "1")
    training_size = 1
    metric = UNNAMED_LOSS
    validation = None
    bounds = ()
    scale = None
    recorded_columns = ()
    is_cheap = True
    prefix_key = None

    def evaluate(self, request: Request) -> Trial:
        loss = flaky_loss(request)
        return Trial(request, None, 1.0, Status.ERROR, "bad luck") if loss is None else make_trial(request, loss)


class Unreasoned(Function):
    def evaluate(self, request: Request) -> Trial:
        return Trial(request, None)


class Undefined(Function):
    def evaluate(self, request: Request) -> Trial:
        return Trial(request, float("nan"))


class Raising(Function):
    def evaluate(self, _: Request) -> Trial:
        raise ZeroDivisionError


class Noisy(Function):
    def evaluate(self, request: Request) -> Trial:
        return make_trial(request, float(next(NUMBERS)))


class Bound(Function):
    def __init__(self) -> None:
        self.lock = Lock()


class Silent(Function):
    bounds = (FunctionBound("missed", 0.5),)


class Nameless(Function):
    facts = DataFacts("function", 0, 0, "")


def objective_suite(objective: type[Any]) -> ObjectiveConformance:
    found = {"space": SPACE, "objective": lambda _: objective()}
    return type("Suite", (ObjectiveConformance,), found)()  # type: ignore[no-any-return]


OBJECTIVE_LAWS: dict[str, Callable[[ObjectiveConformance], None]] = {
    "trials": lambda suite: suite.test_evaluate_returns_a_consistent_trial_of_the_request(),
    "the same": lambda suite: suite.test_results_depend_neither_on_the_order_nor_on_the_instance(),
    "elsewhere": lambda suite: suite.test_evaluate_can_be_pickled(),
    "facts": lambda suite: suite.test_its_description_is_the_same_for_every_instance(),
}


@pytest.mark.parametrize("law", OBJECTIVE_LAWS)
def test_a_whole_objective_keeps_all_laws(law: str) -> None:
    OBJECTIVE_LAWS[law](objective_suite(Function))


@pytest.mark.parametrize(
    ("objective", "law"),
    [
        (Unreasoned, "trials"),
        (Undefined, "trials"),
        (Raising, "trials"),
        (Silent, "trials"),
        (Noisy, "the same"),
        (Bound, "elsewhere"),
        (Nameless, "facts"),
    ],
)
def test_a_broken_objective_is_found(objective: type[Any], law: str) -> None:
    with pytest.raises((AssertionError, ZeroDivisionError, TypeError)):
        OBJECTIVE_LAWS[law](objective_suite(objective))
