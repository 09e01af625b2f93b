"""What waits for a worker: everything is taken once, batch after batch."""

from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request
from spacelang.runtime.history import Key
from spacelang.runtime.request_queue import RequestQueue

from .settings import LAW

BATCHES = st.lists(st.integers(0, 8), min_size=1, max_size=5)


def route(request: Request) -> tuple[str, ...]:
    return (str(request.configuration["x"] % 3),)


def key(request: Request) -> Key:
    return str(request.configuration["x"]), None


def batches(sizes: list[int]) -> list[list[Request]]:
    """Requests that are all different."""
    numbers = iter(range(sum(sizes)))
    return [[Request(Configuration({"x": next(numbers)})) for _ in range(size)] for size in sizes]


def waiting(made: list[list[Request]], *, is_routed: bool) -> RequestQueue:
    found = RequestQueue(route if is_routed else None)
    for batch in made:
        found.add({key(each): each for each in batch})
    return found


def taken(found: RequestQueue, workers: int, most: int | None = None) -> list[Request]:
    requests: list[Request] = []
    while job := found.take_job(str(len(requests) % workers), key, None if most is None else most - len(requests)):
        requests.append(job.work)
    return requests


@given(sizes=BATCHES, workers=st.integers(1, 3), is_routed=st.booleans())
@LAW
def test_everything_is_taken_once_batch_after_batch(sizes: list[int], workers: int, is_routed: bool) -> None:
    made = batches(sizes)
    found = waiting(made, is_routed=is_routed)
    assert bool(found) == (sum(sizes) > 0)
    requests = taken(found, workers)
    assert not found
    for batch in made:
        some, requests = requests[: len(batch)], requests[len(batch) :]
        assert set(some) == set(batch)
        assert is_routed or some == batch
        if workers == 1 and is_routed:
            assert sum(a != b for a, b in zip(map(route, some), map(route, some[1:]), strict=False)) <= 2, "by routes"


@given(sizes=BATCHES, most=st.integers(1, 10), is_routed=st.booleans())
@LAW
def test_where_not_all_may_begin_the_first_ones_do(sizes: list[int], most: int, is_routed: bool) -> None:
    made = batches(sizes)
    everything = [each for batch in made for each in batch]
    assert set(taken(waiting(made, is_routed=is_routed), 2, most)) == set(everything[:most])
    assert waiting(made, is_routed=is_routed).take_job("1", key, 0) is None


@given(sizes=BATCHES, data=st.data())
@LAW
def test_what_is_removed_waits_no_more(sizes: list[int], data: st.DataObject) -> None:
    made = batches(sizes)
    everything = [each for batch in made for each in batch]
    gone = [each for each in everything if data.draw(st.booleans())]
    found = waiting(made, is_routed=True)
    assert all(found.remove(key(each)) for each in gone)
    assert not any(found.remove(key(each)) for each in gone)
    assert set(taken(found, 1)) == set(everything) - set(gone)
