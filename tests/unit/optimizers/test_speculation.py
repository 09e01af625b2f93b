"""Looking ahead: more workers have something to do, and no decision changes."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from trying import IS_FULL, few

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.search_protocol import Problem, Search
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome
from spacelang.runtime.search_loop import run
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree
from spacelang.testing.driving import LossFunction, drive_search, flaky_loss, hash_loss, make_trial
from spacelang.testing.small_spaces import conditional_space, plain_space, spaces

SIZE = 450
DESCENDING = ["blds", "lds", "mlds"]
IN_TURN = [*DESCENDING, "daub"]
"""Whose next trial depends on the one before."""


def search(
    name: str,
    space: Space,
    seed: int = 0,
    size: int = SIZE,
    initial: tuple[Configuration, ...] = (),
    **options: object,
) -> Search:
    problem = Problem(space, size, default_rng(seed), initial)
    return OPTIMIZERS.load(name)(**options).search(problem)  # type: ignore[no-any-return]


@pytest.mark.full
@settings(max_examples=few(60), deadline=None)
@given(
    st.sampled_from(IN_TURN),
    spaces(),
    st.integers(2, 9),
    st.integers(1, 3),
    st.sampled_from(["default", "sample"]),
    st.sampled_from([hash_loss, flaky_loss]),
)
def test_what_is_wanted_is_the_same(
    name: str, space: Space, workers: int, disc: int, hyperparameters: str, objective: LossFunction
) -> None:
    options: dict[str, object] = {"disc": disc} if name != "daub" else {}
    options["hyperparameters"] = hyperparameters
    alone, together = (
        drive_search(search(name, space, **options), objective, 400, workers=each) for each in (1, workers)
    )
    assert together.trials == alone.trials
    assert together.returned == alone.returned
    assert not alone.speculative
    early = [trial.request for trial in together.speculative]
    assert len(set(early)) == len(early), "nothing is asked ahead twice"
    assert all(first_exclusion(space, request.configuration) is None for request in early)


@pytest.mark.full
@settings(max_examples=few(30), deadline=None)
@given(
    st.sampled_from(["blds", "mlds"]),
    spaces(),
    st.integers(2, 5),
    st.booleans(),
    st.sampled_from(["paper", "local_optimum"]),
)
def test_nor_does_it_change_under_other_rules(
    name: str, space: Space, workers: int, flag: bool, until_rule: str
) -> None:
    options = {"examine_init": flag, "until_rule": until_rule} if name == "blds" else {"match_fidelity": flag}
    alone, together = (
        drive_search(search(name, space, **options), flaky_loss, 500, workers=count) for count in (1, workers)
    )
    assert together.trials == alone.trials


@pytest.mark.parametrize("name", IN_TURN)
def test_nothing_is_asked_ahead_with_one_worker(name: str) -> None:
    asking = search(name, plain_space(3, 3, 3))

    def watched() -> Search:
        told = None
        while True:
            try:
                ask = next(asking) if told is None else asking.send(told)
            except StopIteration:
                return
            assert name == "daub" or len(ask.requests) <= 1
            assert name == "daub" or not ask.speculative
            told = yield ask

    assert drive_search(watched(), hash_loss, 500).returned


@pytest.mark.parametrize("name", DESCENDING)
def test_the_next_descents_keep_idle_workers_busy(name: str) -> None:
    driven = drive_search(search(name, plain_space(8, 8, 6, 8), size=100), flaky_loss, 400, workers=8)
    assert driven.idle_count == 8, "only before the first wish there is nothing to do"
    wanted = set(driven.requests)
    assert sum(trial.request in wanted for trial in driven.speculative) > 300, "most of it is wanted within 400 trials"


@pytest.mark.parametrize("name", DESCENDING)
def test_what_is_begun_ahead_is_wanted_soon(name: str) -> None:
    """Where the first pipeline beats everything around it, every neighbour is needed: no guess is wrong."""

    def best_is_first(request: Request) -> float:
        return float(any(request.configuration[f"s{n}"] != "a0" for n in range(4)))

    space = plain_space(8, 8, 6, 8)
    tree = DiscrepancyTree(Structures(space))
    asking = search(name, space, size=100, initial=(tree.complete((0, 0, 0, 0)), tree.complete((7, 7, 5, 7))))
    driven = drive_search(asking, best_is_first, 250, workers=4)
    needed = set(driven.requests)
    early = [trial.request for trial in driven.speculative]
    assert len(set(early[:100]) & needed) >= 95


def timed(name: str, workers: int, **options: object) -> Outcome:
    """A run of trials that take between one and two seconds, until everything was asked for."""
    crew = SimulatedExecutor(evaluate, workers=workers)
    space = plain_space(5, 4, 4, 3)
    return run(search(name, space, **options), crew, Budget(), clock=crew.clock, training_size=SIZE)


def evaluate(request: Request) -> Trial:
    loss = flaky_loss(request)
    return Trial(request, loss, 1.0 + hash_loss(request), status=make_trial(request, loss).status)


@pytest.mark.parametrize("name", IN_TURN)
def test_eight_workers_need_hardly_more_than_an_eighth_of_the_time(name: str) -> None:
    alone, together = timed(name, 1), timed(name, 8)
    assert alone.seconds / together.seconds > (6 if name in DESCENDING else 2.5)
    assert {record.trial.request for record in together.records} == {record.trial.request for record in alone.records}
    assert together.wasted_speculative == 0, "in a finite space all of it is wanted at last"


@pytest.mark.parametrize("name", DESCENDING)
def test_scouts_take_little_memory(name: str) -> None:
    space = plain_space(8, 8, 6, 8)
    drive_search(search(name, space), hash_loss, 100, workers=8)
    tracemalloc.start()
    driven = drive_search(search(name, space), hash_loss, 400 if IS_FULL else 200, workers=8)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak / (len(driven.trials) + len(driven.speculative)) < 2_000, "bytes a trial, the trial itself included"


def test_hyperparameters_of_what_is_asked_ahead_are_those_of_what_is_wanted() -> None:
    space = conditional_space()
    driven = drive_search(search("lds", space, hyperparameters="sample"), hash_loss, 100, workers=4)
    wanted = {str(request.configuration) for request in driven.requests}
    assert {str(trial.request.configuration) for trial in driven.speculative} <= wanted
