"""The suites can fail: each of these optimizers and objectives breaks a law, and its suite finds it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from threading import Lock
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import Phase, settings

from spacelang.ir.asking import Ask, Search, together
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Problem
from spacelang.ir.task import FunctionBound
from spacelang.ir.trial import Request, Status, Trial
from spacelang.optimizers.random import Random
from spacelang.runtime.loss_name import LOSS
from spacelang.runtime.storing.header import DataFacts
from spacelang.testing import ObjectiveConformance, OptimizerConformance
from spacelang.testing.driving import answered, moody
from spacelang.testing.small_spaces import plain

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
            yield from together([Request(Configuration(TWO))])


class Stranger(Whole):
    def search(self, _: Problem) -> Search:
        yield from together([Request(Configuration({"s0": "elsewhere"}))])


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
            ask = Ask(tuple(replace(each, fidelity=problem.size) for each in ask.begin if isinstance(each, Request)))


class Unscaled(Whole):
    """Ends where a loss is above 2, as if losses had no unit."""

    def search(self, problem: Problem) -> Search:
        ask = next(search := Random().search(problem))
        while True:
            told = yield ask
            if told.ended is not None and (told.ended.loss or 0) > 2:
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


SPACE = plain(2, 2, 2)


def suite_of(optimizer: type[Any]) -> OptimizerConformance:
    return type("Suite", (OptimizerConformance,), {"optimizer": optimizer, "examples": 15})()  # type: ignore[no-any-return]


LAWS: dict[str, Callable[[OptimizerConformance], None]] = {
    "ends": lambda suite: suite.test_ends_when_a_finite_space_is_exhausted(SPACE, lambda _: 0.5, 2),
    "members": lambda suite: suite.test_asks_only_for_members_on_some_of_the_rows(SPACE, lambda _: 0.5),
    "seeds": lambda suite: suite.test_the_same_seed_and_objective_give_the_same_requests(SPACE, 1),
    "units": lambda suite: suite.test_the_unit_in_which_losses_are_given_changes_no_request(1000),
    "told again": lambda suite: suite.test_what_it_was_told_before_it_was_killed_it_is_told_again(2),
    "begun anew": lambda suite: suite.test_it_makes_what_one_makes_whose_trials_were_begun_anew(SPACE, 2),
    "told once": lambda suite: suite.test_until_it_ends_all_that_it_begins_is_told_once(2),
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
    metric = LOSS
    validation = None
    bounds = ()
    scale = None
    recorded = ()
    further: ClassVar[dict[str, str]] = {}
    is_cheap = True
    route = None

    def evaluate(self, request: Request) -> Trial:
        loss = moody(request)
        return Trial(request, None, 1.0, Status.ERROR, "bad luck") if loss is None else answered(request, loss)


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
        return answered(request, float(next(NUMBERS)))


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
    "trials": lambda suite: suite.test_every_request_becomes_its_trial(),
    "the same": lambda suite: suite.test_trials_are_the_same_in_any_order_and_of_an_objective_made_anew(),
    "elsewhere": lambda suite: suite.test_another_process_can_have_it(),
    "facts": lambda suite: suite.test_it_says_what_makes_two_runs_the_same(),
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
