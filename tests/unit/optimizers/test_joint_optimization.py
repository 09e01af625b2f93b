"""Joint optimization: its cube, what it finds, and that it goes on where it was.

See spacelang/optimizers/README.md, section "JOPT".
"""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.random import default_rng
from trying import IS_FULL

from spacelang import load
from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.domain import Grid, Real
from spacelang.ir.membership import first_exclusion
from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Space
from spacelang.ir.trial import Request
from spacelang.optimizers.jopt import JointCube, Jopt
from spacelang.optimizers.random import Random
from spacelang.plugins import OptionError
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.testing.driving import SearchLog, drive_search, failing_loss
from spacelang.testing.memory_storage import EventLog, MemoryTrialStorage
from spacelang.testing.search_tests import evaluate_with_varied_cost, run_search
from spacelang.testing.small_spaces import (
    branch,
    choice,
    continuous_space,
    hyperparameter,
    make_space,
    nested_space,
    plain_space,
    spaces,
)


def two_humps() -> Space:
    """Three algorithms, two of which have a number each."""
    low = hyperparameter("e.f.x", Real(0.0, 1.0), 0.9, key="e.f.x")
    high = hyperparameter("e.g.k", Grid(0, 20), 0, key="e.g.k")
    return make_space("humps", choice("s", "a", "b"), choice("e", branch("f", low), branch("g", high), "h"))


def distance(request: Request) -> float:
    """0 with s = b, e = f and x = 0.3."""
    values = request.configuration
    apart = abs(values["e.f.x"] - 0.3) if values["e"] == "f" else 0.6 + abs(values.get("e.g.k", 0) - 9) / 100
    return apart + 0.2 * (values["s"] == "a")


def driven(optimizer: Jopt | Random, space: Space, trials: int, seed: int = 0, **how: int) -> SearchLog:
    return drive_search(optimizer.search(Problem(space, 100, default_rng(seed))), distance, trials, seed=seed, **how)


def test_there_is_a_variable_for_each_module_and_for_each_hyperparameter_of_all_algorithms() -> None:
    for name, stages in (("blds_table1", 4), ("admm_table_a3", 3), ("admm_table_a2", 4)):
        space = load(name).checked
        assert len(space.stages) == stages
        assert JointCube(Structures(space)).variable_count == stages + len(space.hyperparameters)


@pytest.mark.parametrize(("place", "taken"), [(0.0, "a0"), (0.24, "a0"), (0.25, "a1"), (0.76, "a3"), (1.0, "a3")])
def test_an_alternative_is_the_part_of_the_unit_that_it_has(place: float, taken: str) -> None:
    (found,) = JointCube(Structures(plain_space(4))).decode(np.array([[place]]))
    assert found["s0"] == taken


@given(spaces(), st.integers(0, 99))
def test_every_point_is_a_member_and_every_member_is_where_it_lies(space: Space, seed: int) -> None:
    structures, rng = Structures(space), default_rng(seed)
    assume(structures.count)
    joint = JointCube(structures)
    for found in joint.decode(rng.random((5, joint.variable_count))):
        assert first_exclusion(space, found) is None
    drawn = list(Sampler(structures).configurations(5, rng))
    assert joint.decode(np.array([joint.encode(each) for each in drawn])) == drawn


@given(spaces(), st.integers(0, 99))
def test_what_is_not_active_may_be_anywhere(space: Space, seed: int) -> None:
    structures, rng = Structures(space), default_rng(seed)
    assume(structures.count)
    joint = JointCube(structures)
    place, other = rng.random((2, joint.variable_count))
    assert joint.decode(joint.replace_inactive(place, other)[None]) == joint.decode(place[None])


@pytest.mark.parametrize("inactive", ["proposed", "default", "incumbent"])
def test_it_finds_what_is_better_than_at_random(inactive: str) -> None:
    best = [
        [
            min(trial.loss or 0.0 for trial in driven(each, two_humps(), 30, seed).trials)
            for seed in range(2 if IS_FULL else 1)
        ]
        for each in (Jopt(initial=8, inactive=inactive), Random())  # type: ignore[arg-type]
    ]
    assert max(best[0]) < 0.01 < max(best[1])


def test_it_goes_on_where_everything_fails() -> None:
    search = Jopt(initial=3).search(Problem(continuous_space(), 100, default_rng(0)))
    assert len(drive_search(search, failing_loss, 12).trials) == 12


def test_models_end_with_every_configuration_of_a_finite_space() -> None:
    space = nested_space()
    found = drive_search(Jopt(initial=3).search(Problem(space, 100, default_rng(0))), lambda _: 0.5, 1000)
    assert found.returned
    assert len({*found.requests}) == Structures(space).count


@pytest.mark.parametrize("workers", [1, 2, 8] if IS_FULL else [1, 8])
def test_a_run_that_was_killed_goes_on_to_the_last_bit_and_proposes_nothing_again(workers: int) -> None:
    initial = tuple(Sampler(Structures(continuous_space())).configurations(2, default_rng(5)))

    def session(journal: MemoryTrialStorage) -> tuple[EventLog, list[Request]]:
        heard = EventLog()
        search = Jopt(initial=3).search(Problem(continuous_space(), 100, default_rng(1), initial))
        outcome = run_search(
            search, SimulatedExecutor(evaluate_with_varied_cost, workers=workers), 14, journal=journal, heard=heard
        )
        return heard, [record.trial.request for record in outcome.records]

    first = MemoryTrialStorage()
    told, requests = session(first)
    assert {*requests} >= {*map(Request, initial)}
    for stop in (5, 11):
        again, repeated = session(first.killed_after(stop))
        before = told.events_of_first_trials(stop)
        assert again.events[: len(before)] == before
        assert [each.memo for each in repeated[:stop]] == [each.memo for each in requests[:stop]]
        assert workers > 1 or repeated == requests


def test_a_model_needs_two_configurations() -> None:
    with pytest.raises(OptionError, match="`initial` is 1"):
        Jopt(initial=1)
