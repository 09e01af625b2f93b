"""The order of a round: jobs that share work meet, nobody waits, and each is begun once."""

import random
import time
from itertools import pairwise

import pytest
from handmade import among, operator, sequence, space, stage
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trying import few

import spacelang
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical
from spacelang.ir.space import Branch, Choice, Hyperparameter, Operator, Product, ProductKind, Space
from spacelang.ir.trial import Request
from spacelang.runtime.evaluation.identities_and_copies import identity_of
from spacelang.runtime.executors import Job
from spacelang.runtime.pipelines.build import build_pipeline
from spacelang.runtime.request_queue import AffinityQueue, PrefixKey, PrefixKeys

ROUTES = st.lists(st.lists(st.sampled_from("abc"), max_size=4).map(tuple), max_size=30)
LAW = settings(max_examples=few(60), deadline=None)


def jobs_of(routes: list[PrefixKey]) -> tuple[list[Job], dict[int, PrefixKey]]:
    jobs = [Job(number, Request(Configuration({"number": number}))) for number in range(len(routes))]
    return jobs, dict(enumerate(routes))


def agenda_of(routes: list[PrefixKey], last: dict[str, PrefixKey] | None = None) -> AffinityQueue:
    jobs, by_number = jobs_of(routes)
    return AffinityQueue(jobs, lambda request: by_number[request.configuration["number"]], last)


def changes(routes: list[PrefixKey]) -> int:
    """How many steps are fitted by a worker that remembers one pipeline."""
    taken = [(), *routes]
    return sum(len(after) - common(before, after) for before, after in pairwise(taken))


def common(one: PrefixKey, other: PrefixKey) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


@given(ROUTES, st.lists(st.sampled_from("123"), min_size=1), st.dictionaries(st.sampled_from("123"), ROUTES.map(tuple)))
@LAW
def test_every_job_is_begun_once_whoever_asks(routes, workers, last):
    known = {worker: found[0] if found else () for worker, found in last.items()}
    agenda = agenda_of(routes, known)
    taken = []
    while agenda:
        worker = workers[len(taken) % len(workers)]
        assert len(agenda) == len(routes) - len(taken)
        job = agenda.take_job(worker)
        assert known[worker] == routes[job.number]
        taken.append(job.number)
    assert sorted(taken) == [*range(len(routes))]
    with pytest.raises(IndexError):
        agenda.take_job("1")


@given(ROUTES)
@LAW
def test_one_worker_goes_through_the_sorted_order(routes):
    agenda = agenda_of(routes)
    taken = [agenda.take_job("one").number for _ in routes]
    assert taken == sorted(range(len(routes)), key=lambda number: (routes[number], number))


@given(ROUTES, st.lists(st.sampled_from("abc"), max_size=4).map(tuple))
@example([("a", "a"), ("a", "a", "b"), ("b",)], ("a", "a", "b"))
@LAW
def test_a_worker_that_remembers_something_changes_no_more_often(routes, remembered):
    agenda = agenda_of(routes, {"one": remembered})
    taken = [routes[agenda.take_job("one").number] for _ in routes]
    best = changes([remembered, *sorted(routes)]) - len(remembered)
    assert changes([remembered, *taken]) - len(remembered) <= best


@given(ROUTES, st.integers(2, 5))
@LAW
def test_the_order_is_the_same_every_time(routes, workers):
    def taken():
        agenda = agenda_of(routes)
        return [agenda.take_job(str(place % workers)).number for place in range(len(routes))]

    assert taken() == taken()


def test_jobs_that_nothing_tells_apart_are_begun_in_their_order():
    agenda = agenda_of([()] * 7)
    assert [agenda.take_job(worker).number for worker in "1231321"] == [*range(7)]


def test_workers_begin_far_apart_and_finish_what_shares_the_most():
    routes = [(first, second, str(last)) for first in "abcd" for second in "xy" for last in range(5)]
    random.Random(1).shuffle(routes)
    agenda = agenda_of(routes)
    taken = [routes[agenda.take_job("12"[place % 2]).number] for place in range(20)]
    assert {route[0] for route in taken[::2]} == {"a"}
    assert {route[0] for route in taken[1::2]} == {"c"}


def test_who_is_done_takes_the_later_half_of_the_longest_stretch():
    routes = [(first, str(last)) for first in "ab" for last in range(8)]
    agenda = agenda_of(routes)
    assert routes[agenda.take_job("slow").number] == ("a", "0")
    assert [routes[agenda.take_job("fast").number][0] for _ in range(8)] == ["b"] * 8
    assert routes[agenda.take_job("fast").number] == ("a", "5")
    assert routes[agenda.take_job("slow").number] == ("a", "1")
    rest = [routes[agenda.take_job("fast").number][1] for _ in range(len(agenda))]
    assert sorted(rest) == ["2", "3", "4", "6", "7"]


def test_a_worker_begins_where_it_can_go_on():
    routes = [(first, str(last)) for first in "abc" for last in range(3)]
    last = {"2": ("b", "9"), "3": ("z",)}
    agenda = agenda_of(routes, last)
    assert routes[agenda.take_job("2").number] == ("b", "0")
    assert routes[agenda.take_job("3").number] == ("a", "0")
    assert last == {"2": ("b", "0"), "3": ("a", "0")}


def test_many_jobs_take_little_time():
    chance = random.Random(0)
    routes = [tuple(str(chance.randrange(6)) for _ in range(4)) for _ in range(30_000)]
    started = time.process_time()
    agenda = agenda_of(routes)
    while agenda:
        agenda.take_job(str(chance.randrange(64)))
    assert time.process_time() - started < 5


# ---- routes


def test_the_route_of_a_request():
    made = space(
        stage("scaler", "none", "StandardScaler"),
        operator("PCA", Hyperparameter("n_components", "p.n", "p.n", Categorical((1, 2)), 1)),
        stage("estimator", operator("SVC", among("estimator.kernel", "rbf", "linear"))),
    )
    routes = PrefixKeys(made, 100)
    values = {"scaler": "none", "p.n": 2, "estimator": "SVC", "estimator.kernel": "rbf"}
    steps = ("0 scaler='none'", "1 p.n=2", "2 estimator='SVC' estimator.kernel='rbf'")
    assert routes.key_of(Request(Configuration(values))) == ("", *steps)
    assert routes.key_of(Request(Configuration(values), 100)) == ("", *steps)
    assert routes.key_of(Request(Configuration(values), 99)) == ("000000000099", *steps)


def test_permuted_steps_stand_in_the_order_in_which_they_are_taken():
    order = Choice(
        "order", "order", "order", tuple(Branch(name, Product(ProductKind.SEQUENCE)) for name in ("a, b", "b, a"))
    )
    permuted = Product(
        ProductKind.PERMUTATION,
        (order, stage("a", "StandardScaler"), sequence(operator("PCA"), stage("c", "MinMaxScaler"))),
        labels=("a", "b"),
    )  # fmt: skip
    routes = PrefixKeys(space(permuted, operator("SVC")), 10)
    values = {"a": "StandardScaler", "c": "MinMaxScaler"}
    one, other = (routes.key_of(Request(Configuration(values | {"order": name}))) for name in ("a, b", "b, a"))
    assert one == ("", "0 a='StandardScaler'", "1", "2 c='MinMaxScaler'", "3")
    assert other == ("", "1", "2 c='MinMaxScaler'", "0 a='StandardScaler'", "3")


@pytest.mark.parametrize("name", ["blds_table1", "admm_table_a3", "mosaic"])
def test_pipelines_whose_routes_begin_alike_begin_alike(name):
    """Of random members, and of each with the end of another: the steps of equal words are equal."""
    found = spacelang.load(name)
    routes, made = PrefixKeys(found.checked, 100), {}
    for configuration in found.sample(60, seed=3):
        words = routes.key_of(Request(configuration))[1:]
        pipeline = build_pipeline(found.checked, configuration, random_state=0)
        for depth in range(1, len(words)):
            steps = [
                identity_of(step) for step_name, step in pipeline.steps if belongs(found.checked, step_name, depth)
            ]
            assert made.setdefault(words[:depth], steps) == steps
    assert made


def belongs(checked: Space, step: str, depth: int) -> bool:
    """Whether a step of a pipeline comes from the first stages of a space."""
    root = checked.root
    assert isinstance(root, Product)
    names = [child.name if isinstance(child, Choice | Operator) else "" for child in root.children[:depth]]
    return step in names
