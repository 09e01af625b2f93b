"""Every optimizer of pipelines does as a part of others what every selector must do."""

import os
from contextlib import closing
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import pytest

from spacelang.ir.search_protocol import Problem, Search, SearchCoroutine
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._selection import SelectionProblem, Selector, observe_idle_workers
from spacelang.plugins import NestedPlugin, nested_plugin
from spacelang.testing import SelectorConformance
from spacelang.testing.optimizers import ResumeTests
from spacelang.testing.selectors import exactly_summable_penalty

T = TypeVar("T")

SELECTORS = [name for name in OPTIMIZERS.names() if hasattr(OPTIMIZERS.load(name), "selector")]
FULL = bool(os.environ.get("SPACELANG_FULL"))
ONE_BY_ONE = ("blds", "daub", "lds", "mlds")


@pytest.mark.parametrize("name", SELECTORS)
class TestSelectors(SelectorConformance):
    examples = 15 if FULL else 3

    @pytest.fixture(autouse=True)
    def named(self, name: str) -> None:
        self.name = name
        self.one_by_one = name in ONE_BY_ONE

    def selector(self) -> Selector:
        return OPTIMIZERS.load(self.name)().selector()  # type: ignore[no-any-return]


def with_room(part: SearchCoroutine[T], room: int) -> SearchCoroutine[tuple[T, int]]:
    """The result of a part, and how much room there is when it has ended; `room` is how much there was before."""
    with closing(part):
        try:
            ask = next(part)
            while True:
                told = yield ask
                room = told.idle_workers
                ask = part.send(told)
        except StopIteration as end:
            return end.value, room


@dataclass(frozen=True, slots=True)
class Alternating:
    """Selects with a penalty and without, forgets what it has found in between, and goes on to the end at last."""

    paper: ClassVar[str] = "none"

    z: NestedPlugin = nested_plugin(OPTIMIZERS, "cmab", "what selects", able_to="selector")

    def search(self, problem: Problem) -> Search:
        selector: Selector = self.z.plugin.selector()
        plain = yield from observe_idle_workers(SelectionProblem.from_problem(problem, "default"))
        room, found = plain.idle_workers, None
        for iterations in (1, 2, 2, None):
            selection = replace(plain, idle_workers=room, penalty=exactly_summable_penalty if found else plain.penalty)
            found, room = yield from with_room(selector.select(selection, iterations, found), room)
            selector.forget(found)


@pytest.mark.parametrize("name", SELECTORS if FULL else ["blds", "cmab", "daub", "hyperband"])
class TestNested(ResumeTests):
    """An optimizer that is made of one, killed and resumed with other workers: it replays as any other does."""

    optimizer = Alternating
    examples = 15 if FULL else 3

    @pytest.fixture(autouse=True)
    def named(self, name: str) -> None:
        self.options = {"z": name}
        self.one_by_one = name in ONE_BY_ONE


def test_all_optimizers_of_pipelines_can_be_parts() -> None:
    selecting = {"blds", "bo", "cmab", "daub", "enumerate", "hyperband", "lds", "mlds", "random", "successive_halving"}
    assert set(SELECTORS) >= selecting
