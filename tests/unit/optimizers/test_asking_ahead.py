"""Asking ahead: more workers have something to do, and no decision changes (issue: algorithm selection, batches)."""

from collections.abc import Sequence

import pytest
from driving import Objective, answered, arbitrary, drive, moody
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from small_spaces import plain, spaces, tuned

from spacelang.ir.membership import exclusion
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Search, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.here import Here
from spacelang.runtime.loop import run

SIZE = 450
ASKING = [
    name for name in OPTIMIZERS.names() if any(o.name == "ahead" for o in OPTIMIZERS.options(OPTIMIZERS.load(name)))
]


def search(name: str, space: Space, seed: int = 0, size: int = SIZE, **options: object) -> Search:
    return OPTIMIZERS.load(name)(**options).search(space, size, default_rng(seed))  # type: ignore[no-any-return]


def rounds(asking: Search, objective: Objective, limit: int) -> list[Sequence[Request]]:
    """What is asked for together."""
    found: list[Sequence[Request]] = []

    def watched() -> Search:
        requests = next(asking, None)
        while requests is not None:
            found.append(requests)
            answers = yield requests
            try:
                requests = asking.send(answers)
            except StopIteration:
                return

    drive(watched(), objective, limit)
    return found


def test_those_that_ask_in_turn_can_ask_ahead() -> None:
    assert ASKING == ["blds", "lds", "mlds"]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(ASKING),
    spaces(),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from(["default", "sample"]),
    st.sampled_from([arbitrary, moody]),
)
def test_what_is_needed_is_the_same(
    name: str, space: Space, ahead: int, disc: int, hyperparameters: str, objective: Objective
) -> None:
    options = {"disc": disc, "hyperparameters": hyperparameters}
    alone = drive(search(name, space, **options), objective, 5_000)
    found = rounds(search(name, space, **options, ahead=ahead), objective, 5_000)
    needed = tuple(request for requests in found for request in requests if not request.ahead)
    assert needed == alone.requests
    early = [request for requests in found for request in requests if request.ahead]
    assert len(set(early)) == len(early), "nothing is asked ahead twice"
    for requests in found:
        assert not requests[0].ahead
        assert all(request.ahead for request in requests[1:])
        assert len(requests) <= ahead + 1
        assert all(exclusion(space, request.configuration) is None for request in requests)


@pytest.mark.parametrize("name", ASKING)
def test_nothing_is_asked_ahead_unless_told_to(name: str) -> None:
    found = rounds(search(name, plain(3, 3, 3)), arbitrary, 500)
    assert all(len(requests) == 1 and not requests[0].ahead for requests in found)


@pytest.mark.parametrize("name", ASKING)
def test_most_of_what_is_asked_ahead_is_needed_soon(name: str) -> None:
    """Where the first pipeline beats everything around it, every neighbour is needed: no guess is wrong."""

    def best_is_first(request: Request) -> float:
        return float(any(request.configuration[f"s{n}"] != "a0" for n in range(4)))

    asking = search(name, plain(8, 8, 6, 8), size=100, initial=((0, 0, 0, 0), (7, 7, 5, 7)), ahead=3)
    found = rounds(asking, best_is_first, 60)
    full = [requests for requests in found if len(requests) > 1]
    assert [len(requests) for requests in full[:6]] == [4] * 6, "all four workers have something to do"
    first = {request for requests in full[:6] for request in requests if request.ahead}
    needed = [request for requests in found for request in requests if not request.ahead][:27]
    assert first <= set(needed)


@pytest.mark.parametrize("name", ASKING)
def test_the_loop_answers_what_was_asked_ahead_from_memory(name: str) -> None:
    def clock() -> float:
        return 0.0

    def evaluate(request: Request) -> Trial:
        return answered(request, moody(request))

    alone = run(search(name, tuned()), Here(evaluate), Budget(trials=1000), clock=clock, training_size=SIZE)
    together = run(search(name, tuned(), ahead=3), Here(evaluate), Budget(trials=1000), clock=clock, training_size=SIZE)
    assert together.ended == alone.ended
    early = [record for record in together.records if record.trial.request.ahead]
    assert together.answered == alone.answered + len(early), "in a finite space all of it is needed at last"
    assert {record.trial.request for record in together.records} == {record.trial.request for record in alone.records}


def test_what_was_asked_ahead_is_the_same_request() -> None:
    (request,) = next(search("lds", plain(2, 2)))
    early = Request(request.configuration, request.fidelity, ahead=True)
    assert early == request
    assert hash(early) == hash(request)
