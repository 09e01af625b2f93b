"""What a run starts from is evaluated first, whatever its optimizer, and nothing is evaluated twice."""

from typing import Any

import numpy as np
import pytest
from cheap import NAMES as EVERY
from hypothesis import given, settings
from hypothesis import strategies as st
from trying import IS_FULL

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, Problem, Search
from spacelang.ir.space import Space
from spacelang.ir.trial import Request
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._scheduling import search_after_initial_trials
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree
from spacelang.testing.driving import SearchLog, drive_search, hash_loss
from spacelang.testing.small_spaces import plain_space, spaces

SIZE = 500
EXAMPLES = 5 if IS_FULL else 3
"""Of each optimizer."""
DESCENDING = ("blds", "lds", "mlds")

NAMES = pytest.mark.parametrize("name", [name for name in EVERY if hasattr(OPTIMIZERS.load(name), "hyperparameters")])
"""Those that select pipelines or draw them."""


def drawn(space: Space, count: int, seed: int = 0) -> tuple[Configuration, ...]:
    """So many different members, or fewer."""
    structures = Structures(space)
    found = Sampler(structures).configurations(count, np.random.default_rng(seed)) if structures.count else []
    return tuple(dict.fromkeys(found))


def start(name: str, space: Space, initial: tuple[Configuration, ...], seed: int = 0, **options: str) -> Search:
    optimizer = OPTIMIZERS.configure(OPTIMIZERS.load(name), options)
    return search_after_initial_trials(optimizer, Problem(space, SIZE, np.random.default_rng(seed), initial))


def started(driven: SearchLog, count: int) -> tuple[Configuration, ...]:
    return tuple(request.configuration for request in driven.requests[:count])


@NAMES
@settings(max_examples=EXAMPLES, deadline=None)
@given(space=spaces(), seed=st.integers(0, 9), count=st.integers(1, 5), workers=st.sampled_from([1, 3]))
def test_a_search_ends_with_them_as_without_them(name: str, space: Space, seed: int, count: int, workers: int) -> None:
    initial = drawn(space, count, seed)
    for rule in ("default", "sample"):
        without = drive_search(start(name, space, (), seed, hyperparameters=rule), hash_loss, 300, workers=workers)
        within = drive_search(start(name, space, initial, seed, hyperparameters=rule), hash_loss, 300, workers=workers)
        assert within.returned == without.returned or len(within.trials) == 300
        assert set(within.requests) >= set(map(Request, initial)) or not within.returned


@NAMES
@settings(max_examples=EXAMPLES, deadline=None)
@given(space=spaces(), seed=st.integers(0, 9), count=st.integers(1, 5), workers=st.sampled_from([1, 8]))
def test_their_pipelines_come_first_where_pipelines_are_selected(
    name: str, space: Space, seed: int, count: int, workers: int
) -> None:
    """As the optimizer configures them, each once; a descent goes its way before the next one begins."""
    tree = DiscrepancyTree(Structures(space))
    initial = drawn(space, count, seed)
    first = [*dict.fromkeys(tree.encode(each).pipeline for each in initial)]
    optimizer = OPTIMIZERS.configure(OPTIMIZERS.load(name), {"hyperparameters": "default"})
    search = optimizer.search(Problem(space, SIZE, np.random.default_rng(seed), initial))
    driven = drive_search(search, hash_loss, 60, workers=workers)
    seen = [*dict.fromkeys(tree.encode(each.configuration).pipeline for each in driven.requests)]
    shown = 1 if name in DESCENDING else min(len(first), len(seen))
    if workers == 1 or name in DESCENDING:
        assert seen[:shown] == first[:shown]
    assert {*seen} >= {*first} or not driven.returned
    assert len(set(driven.requests)) == len(driven.requests)


# ---- searches that are about something


def asked_for(requests: list[Any], told: list[Any], outs: list[int], *, begin: int = 1) -> Search:
    """Begins so many at a time, in rounds where they are several, and notes all that it is told."""
    waiting, out = list(requests), 0
    told.append((yield Ask()))
    outs.append(0)
    while waiting or out:
        now, waiting = ([], waiting) if out and begin > 1 else (waiting[:begin], waiting[begin:])
        out += len(now)
        hears = yield Ask(tuple(now))
        out -= hears.finished is not None
        told.append(hears)
        outs.append(out)


class Asks:
    """An optimizer that asks for given configurations."""

    def __init__(self, wanted: list[Request], begin: int) -> None:
        self.wanted, self.begin = wanted, begin
        self.told: list[Any] = []
        self.outs: list[int] = []
        """For how many trials it waits, whenever it is told anything."""

    def search(self, problem: Problem) -> Search:  # noqa: ARG002
        return asked_for(self.wanted, self.told, self.outs, begin=self.begin)


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("begin", [1, 4])
def test_a_search_is_told_of_what_it_asks_for_and_of_nothing_else(workers: int, begin: int) -> None:
    space = plain_space(4, 4)
    initial = drawn(space, 4)
    others = [each for each in drawn(space, 30, seed=1) if each not in initial]
    wanted = [Request(each) for each in (others[2], others[3], others[4], others[5])]
    wanted += [Request(each) for each in (initial[1], others[0], initial[0], others[1])]
    wanted.append(Request(initial[0], 100))  # on fewer rows it is another trial
    optimizer = Asks(wanted, begin)
    driven = drive_search(
        search_after_initial_trials(optimizer, Problem(space, SIZE, np.random.default_rng(0), initial)),
        hash_loss,
        100,
        workers=workers,
    )
    assert driven.returned
    assert sorted(map(str, driven.requests)) == sorted(map(str, {*map(Request, initial), *wanted}))
    answers = [told for told in optimizer.told if told.finished is not None]
    assert sorted(id(told.request) for told in answers) == sorted(map(id, wanted))
    for told in answers:
        assert told.finished.loss == hash_loss(told.request)
        assert (told.finished.cost == 0) == (told.request in set(map(Request, initial)))
    for told, out in zip(optimizer.told, optimizer.outs, strict=True):
        assert told.idle_workers <= max(workers - out, 0), "what it waits for takes room, also what is known"


def test_who_asks_for_nothing_leaves_the_opening_alone() -> None:
    space = plain_space(2, 2)
    initial = drawn(space, 2)
    for workers in (1, 4):
        search = search_after_initial_trials(Asks([], 1), Problem(space, SIZE, np.random.default_rng(0), initial))
        driven = drive_search(search, hash_loss, 100, workers=workers)
        assert driven.returned
        assert started(driven, 5) == initial


def test_without_any_a_search_is_as_it_was() -> None:
    space = plain_space(2, 2)
    for name in EVERY:
        assert drive_search(start(name, space, ()), hash_loss, 30) == drive_search(
            OPTIMIZERS.load(name)().search(Problem(space, SIZE, np.random.default_rng(0))), hash_loss, 30
        )
