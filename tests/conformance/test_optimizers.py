"""What every optimizer must do; new ones are picked up from the registry."""

import tracemalloc
from dataclasses import FrozenInstanceError, fields, is_dataclass

import numpy as np
import pytest
from driving import Objective, arbitrary, drive, failing, moody
from hypothesis import given, settings
from hypothesis import strategies as st
from small_spaces import FINITE, SMALL, branch, choice, continuous, forbid, made, number, plain, spaces

from spacelang.ir.asking import Search
from spacelang.ir.counting import Structures
from spacelang.ir.domain import Real
from spacelang.ir.expr import Is
from spacelang.ir.membership import exclusion
from spacelang.ir.problem import Problem
from spacelang.ir.scale import UNIT, Scale
from spacelang.ir.space import Space
from spacelang.ir.trial import Request
from spacelang.optimizers import OPTIMIZERS, Hyperparameters, hyperparameters_in
from spacelang.plugins import OptionError, Plugins
from spacelang.targets.blds import DiscrepancyTree

SIZE = 500
LIMIT = 300
PLENTY = 5_000

WORKERS = pytest.mark.parametrize("workers", [1, 2, 8])

pytestmark = pytest.mark.parametrize("name", OPTIMIZERS.names())


def start(name: str, space: Space, seed: int = 0, size: int = SIZE, **options: object) -> Search:
    settings = {key: str(value) for key, value in options.items()}
    optimizer = OPTIMIZERS.configure(OPTIMIZERS.load(name), settings)
    return optimizer.search(Problem(space, size, np.random.default_rng(seed)))  # type: ignore[no-any-return]


def has(name: str, option: str) -> bool:
    return any(each.name == option for each in Plugins.options(OPTIMIZERS.load(name)))


def named(space: Space) -> str:
    return space.name


def test_is_a_frozen_dataclass_with_documented_options(name: str) -> None:
    optimizer = OPTIMIZERS.load(name)
    assert is_dataclass(optimizer)
    assert optimizer.paper
    assert optimizer.__doc__
    assert all(option.doc for option in Plugins.options(optimizer))
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        setattr(optimizer(), fields(optimizer)[0].name, 1)


@pytest.mark.parametrize("space", SMALL, ids=named)
@pytest.mark.parametrize("objective", [arbitrary, moody], ids=["arbitrary", "moody"])
def test_asks_only_for_members_on_some_of_the_rows(name: str, space: Space, objective: Objective) -> None:
    driven = drive(start(name, space), objective, LIMIT)
    assert driven.trials
    for request in driven.requests:
        assert exclusion(space, request.configuration) is None
        assert request.fidelity is None or 1 <= request.fidelity < SIZE


@WORKERS
@pytest.mark.parametrize("space", SMALL, ids=named)
def test_the_same_seed_and_objective_give_the_same_requests(name: str, space: Space, workers: int) -> None:
    first, second = (drive(start(name, space, seed=3), arbitrary, LIMIT, workers=workers) for _ in range(2))
    assert first == second


def test_another_seed_gives_another_run(name: str) -> None:
    space = plain(5, 5, 5)
    runs = {drive(start(name, space, seed), arbitrary, 20).requests for seed in range(5)}
    assert len(runs) > 1


@WORKERS
@pytest.mark.parametrize("space", FINITE, ids=named)
@pytest.mark.parametrize("objective", [arbitrary, moody, failing], ids=["arbitrary", "moody", "failing"])
def test_ends_when_a_finite_space_is_exhausted(name: str, space: Space, objective: Objective, workers: int) -> None:
    assert drive(start(name, space), objective, PLENTY, workers=workers).ended


@WORKERS
@pytest.mark.parametrize("space", FINITE, ids=named)
@pytest.mark.parametrize("objective", [arbitrary, failing], ids=["arbitrary", "failing"])
def test_what_ends_has_evaluated_every_pipeline_on_all_rows_and_nothing_twice(
    name: str, space: Space, objective: Objective, workers: int
) -> None:
    if not has(name, "hyperparameters"):
        return
    tree = DiscrepancyTree(Structures(space))
    requests = drive(start(name, space, hyperparameters="default"), objective, PLENTY, workers=workers).requests
    assert len(set(requests)) == len(requests)
    whole = [request.configuration for request in requests if request.fidelity is None]
    assert sorted(map(str, whole)) == sorted(str(tree.complete(leaf)) for leaf in tree.leaves_in_order())


@pytest.mark.parametrize("space", SMALL, ids=named)
def test_draws_hyperparameters_where_it_is_told_to(name: str, space: Space) -> None:
    if not has(name, "hyperparameters"):
        return
    driven = drive(start(name, space, hyperparameters="sample"), arbitrary, LIMIT)
    assert driven.trials
    assert driven == drive(start(name, space, hyperparameters="sample"), arbitrary, LIMIT)
    for request in driven.requests:
        assert exclusion(space, request.configuration) is None


@pytest.mark.parametrize("rule", ["sample", "default"])
def test_what_becomes_of_hyperparameters_is_as_it_says(name: str, rule: str) -> None:
    if not has(name, "hyperparameters"):
        return
    rates = [number(f"e.{each}.rate", Real(0.0, 1.0), 0.5, key="e.rate") for each in "fgh"]
    space = made("rates", choice("s", "a", "b"), choice("e", *map(branch, "fgh", rates)))
    optimizer = OPTIMIZERS.configure(OPTIMIZERS.load(name), {"hyperparameters": rule})
    seen: dict[object, set[object]] = {}
    for request in drive(start(name, space, hyperparameters=rule), arbitrary, LIMIT).requests:
        configuration = request.configuration
        seen.setdefault((configuration["s"], configuration["e"]), set()).add(configuration["e.rate"])
    match hyperparameters_in(space, optimizer):
        case Hyperparameters.DEFAULT:
            assert set().union(*seen.values()) == {0.5}
        case Hyperparameters.ONCE:
            assert all(len(values) == 1 for values in seen.values())
            assert len(set().union(*seen.values())) == len(seen) == 6
        case Hyperparameters.SEARCHED:
            assert all(len(values) > 10 for values in seen.values())
    assert hyperparameters_in(plain(2, 2), optimizer) is Hyperparameters.SEARCHED, "there are none"


def test_a_first_rung_beyond_the_data_is_all_of_it(name: str) -> None:
    if not has(name, "b"):
        return
    driven = drive(start(name, plain(2, 2), b=10**9), arbitrary, PLENTY)
    assert driven.ended
    assert [request.fidelity for request in driven.requests] == [None] * 4


@pytest.mark.parametrize("eta", ["1", "0.5", "-2", "0"])
def test_rows_must_grow(name: str, eta: str) -> None:
    if not has(name, "eta"):
        return
    with pytest.raises(OptionError) as caught:
        OPTIMIZERS.configure(OPTIMIZERS.load(name), {"eta": eta})
    assert "`eta`" in caught.value.message
    assert caught.value.help


def test_a_giant_space_is_walked_in_little_memory(name: str) -> None:
    space = plain(*[10] * 20)
    drive(start(name, space, seed=1), arbitrary, 1)  # what is loaded and compiled once
    tracemalloc.start()
    driven = drive(start(name, space), arbitrary, LIMIT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(driven.trials) == LIMIT
    assert peak < 16 * 2**20


@WORKERS
@pytest.mark.parametrize("space", FINITE, ids=named)
@pytest.mark.parametrize("size", [1, 7, 101])
def test_runs_on_few_rows(name: str, space: Space, size: int, workers: int) -> None:
    assert drive(start(name, space, size=size), moody, PLENTY, workers=workers).ended


def test_a_failing_objective_never_stops_a_run(name: str) -> None:
    driven = drive(start(name, continuous()), failing, 10)
    space = plain(5, 5, 5)
    assert driven.trials
    assert len(drive(start(name, space), failing, 100).trials) == 100


@pytest.mark.parametrize("space", SMALL, ids=named)
def test_stopping_after_any_trial_and_replaying_equals_the_uninterrupted_run(name: str, space: Space) -> None:
    whole = drive(start(name, space), moody, 40)
    for stop in range(len(whole.trials)):
        stopped = drive(start(name, space), moody, stop)
        assert stopped.trials == whole.trials[:stop]
        assert drive(start(name, space), moody, 40, known=stopped.trials) == whole


def test_an_empty_space_is_exhausted_at_once(name: str) -> None:
    space = plain(2)
    empty = made("empty", *space.stages, constraints=(forbid(Is("s0", ("a0", "a1"))),))
    driven = drive(start(name, empty), arbitrary, 10)
    assert driven.ended
    assert not driven.trials


# ---- what a loss is worth


def counted(times: int, offset: int = 0) -> Objective:
    """Losses from 0 to 2 in steps of 1/1024, and a third of all fail; in steps that a product with `times` keeps."""

    def loss(request: Request) -> float | None:
        number = int(arbitrary(request) * 3072)
        return None if number < 1024 else (number - 1024 + offset) / 1024 * times

    return loss


@settings(max_examples=15, deadline=None)
@given(spaces(), st.integers(0, 9), st.sampled_from([1000, 1_000_000, 3]))
def test_the_unit_in_which_losses_are_given_changes_no_request(name: str, space: Space, seed: int, times: int) -> None:
    ones = drive(start(name, space, seed), counted(1), LIMIT)
    many = drive(start(name, space, seed), counted(times), LIMIT, scale=Scale(0.0, times))
    assert ones.requests == many.requests


@settings(max_examples=15, deadline=None)
@given(spaces(), st.integers(0, 9), st.floats(0.001, 1000))
def test_nor_does_the_unit_where_the_first_success_is_the_scale(
    name: str, space: Space, seed: int, first: float
) -> None:
    steps = int(first * 1024) + 1
    ones, many = (Scale.around(steps / 1024 * times) for times in (1, 1000))
    for offset in (0, -1024):  # losses that can be negative, too
        assert (
            drive(start(name, space, seed), counted(1, offset), LIMIT, scale=ones).requests
            == drive(start(name, space, seed), counted(1000, offset), LIMIT, scale=many).requests
        )


@pytest.mark.parametrize("scale", [Scale(0.0, 80.0), Scale(0.0, 43.0), Scale.around(42.0), UNIT], ids=str)
def test_no_failure_is_trained_on_all_rows_before_a_success_is(name: str, scale: Scale) -> None:
    """Errors around 40, and three of eight pipelines fail: whatever the scale, no more failures than at random."""

    def error(request: Request) -> float | None:
        fails = int(arbitrary(Request(request.configuration)) * 8) < 3
        return None if fails else 40 + 6 * arbitrary(request)

    failures = 0
    for seed in range(5):
        driven = drive(start(name, plain(5, 5, 5), seed), error, 500, scale=scale)
        full = [trial.loss is None for trial in driven.trials if trial.request.fidelity is None]
        failures += sum(full[:10])
    assert failures <= (12 if has(name, "b") else 25), "of 50"
