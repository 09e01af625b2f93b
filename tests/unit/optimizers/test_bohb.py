"""BOHB: its brackets, which model it believes, and what it proposes."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from trying import few

from spacelang.encodings.row_encodings import VectorEncoding
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real, Union
from spacelang.ir.expr import Compare, Reference
from spacelang.ir.membership import first_exclusion
from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, sort_key
from spacelang.optimizers._fidelity import hyperband_brackets
from spacelang.optimizers.bohb import Bohb, DensityModelMemory, LazyCandidate, dimensions_of
from spacelang.plugins import OptionError
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.testing.driving import SearchLog, drive_search, flaky_loss, hash_loss, make_trial
from spacelang.testing.small_spaces import (
    branch,
    brute_force_members,
    choice,
    conditional_space,
    hyperparameter,
    make_space,
    plain_space,
    require,
    spaces,
)

ROWS = (100, 300, 900, None)
"""The rungs where there are 2,700 rows."""


def line() -> Space:
    """One number."""
    return make_space("line", hyperparameter("x", Real(0.0, 1.0), 0.5))


def mixed() -> Space:
    """Numbers below an alternative and beside it, one of them a union."""
    depth = hyperparameter("e.f.depth", Union((Categorical(("none", "auto")), Grid(1, 100, log=True))), "none")
    rate = hyperparameter("e.g.rate", Real(1e-3, 1.0, log=True), 0.1)
    return make_space(
        "mixed", choice("e", branch("f", depth), branch("g", rate), "h"), hyperparameter("share", Real(0.0, 1.0), 0.5)
    )


def run(space: Space, trials: int, seed: int = 0, size: int = 2_700, objective=hash_loss, **how) -> SearchLog:  # type: ignore[no-untyped-def]
    workers = how.pop("workers", 1)
    search = Bohb(**how).search(Problem(space, size, default_rng(seed)))
    return drive_search(search, objective, trials, workers=workers, seed=seed)


def kinds(driven: SearchLog) -> Counter[str]:
    """How many configurations were drawn, and how many the model has proposed."""
    return Counter(str(request.memo[0]) for request in driven.requests if request.memo)


# ---- brackets


def test_the_brackets_with_a_twenty_seventh_of_the_rows() -> None:
    expected = ((27, 9, 3, 1), (9, 3, 1), (6, 2), (4,))
    grid = Bohb().rungs(2_700)
    assert grid == (100, 300, 900, 2_700)
    for bracket, counts in zip(hyperband_brackets(grid, 3.0, "floor"), expected, strict=True):
        assert (bracket.candidates, *bracket.survivor_counts(3.0)[:-1]) == counts
        assert bracket.sizes == grid[4 - len(counts) :]
    requests = run(line(), 2 * 65).requests
    told = [
        rows
        for counts in expected
        for rows, count in zip(ROWS[4 - len(counts) :], counts, strict=True)
        for _ in range(count)
    ]
    assert [request.fidelity for request in requests] == 2 * told


@pytest.mark.parametrize(
    ("size", "options", "expected"),
    [
        (7_619, {}, (282, 847, 2_540, 7_619)),
        (100, {}, (4, 11, 33, 100)),
        (20, {}, (1, 2, 7, 20)),
        (7, {}, (1, 2, 7)),
        (1, {}, (1,)),
        (1_000, {"b_min": 0.125, "eta": 2.0}, (125, 250, 500, 1_000)),
        (1_000, {"b": 100, "eta": 2.0}, (100, 200, 400, 800, 1_000)),
        (50, {"b": 100}, (50,)),
        (1_000, {"b_min": 1.0}, (1_000,)),
    ],
)
def test_rungs_are_shares_of_all_rows(size: int, options: dict[str, float], expected: tuple[int, ...]) -> None:
    assert Bohb(**options).rungs(size) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [1, 8])
def test_exactly_the_best_of_a_rung_go_on(workers: int) -> None:
    driven = run(mixed(), 80, objective=flaky_loss, workers=workers)
    first = {trial.request.configuration: trial for trial in driven.trials if trial.request.fidelity == 100}
    second = [trial.request.configuration for trial in driven.trials if trial.request.fidelity == 300]
    bracket = list(first)[:27]
    best = sorted(bracket, key=lambda each: (sort_key(first[each]), bracket.index(each)))[:9]
    assert set(best) <= set(second)
    assert not set(bracket) - set(best) & set(second)


# ---- what is proposed


def test_a_third_is_drawn_in_any_case() -> None:
    driven = run(line(), 900, b=2_700)
    told = [str(request.memo[0]) for request in driven.requests[4:]]
    assert {request.memo[0] for request in driven.requests[:4]} == {"prior"}, "d + 1 good ones and as many bad ones"
    assert told.count("prior") / len(told) == pytest.approx(1 / 3, abs=0.03)
    assert kinds(run(line(), 100, b=2_700, random_fraction=1.0)) == {"prior": 100}
    assert kinds(run(line(), 100, b=2_700, random_fraction=0.0)) == {"prior": 4, "model": 96}


def test_the_model_is_that_of_the_most_rows_on_which_there_are_enough() -> None:
    """Of one number two good ones and two bad ones are enough; those on few rows are as good as none then."""
    observed = DensityModelMemory(VectorEncoding(line()), 2_700)

    def told(fidelity: int | None, *losses: float | None) -> None:
        for place, loss in enumerate(losses):
            configuration = Configuration({"x": (place + 1) / 10})
            observed.record(LazyCandidate(configuration), make_trial(Request(configuration, fidelity), loss))

    def points() -> tuple[list[float], list[float]] | None:
        model = observed.fit_model(default_rng(0))
        return None if model is None else (sorted(model.good.points[:, 0]), sorted(model.bad.points[:, 0]))

    told(100, 0.4, 0.3, 0.2)
    assert points() is None
    told(300, 0.1, 0.2, 0.3, None, 0.4)
    assert points() == ([0.1, 0.2], [0.3, 0.4, 0.5]), "a failure is behind every loss"
    told(100, 0.9, 0.9, 0.9, 0.9)
    assert points() == ([0.1, 0.2], [0.3, 0.4, 0.5])
    told(None, 0.9, 0.2, 0.1, 0.8)
    assert points() == ([0.2, 0.3], [0.1, 0.4])


def test_it_comes_nearer_than_chance() -> None:
    space = make_space("cube", *(hyperparameter(name, Real(0.0, 1.0), 0.5) for name in "xyz"))

    def loss(request: Request) -> float:
        return sum((float(value) - 0.3) ** 2 for value in request.configuration.to_dict().values())  # type: ignore[arg-type]

    def best(random_fraction: float) -> float:
        runs = (run(space, 100, seed, objective=loss, b=2_700, random_fraction=random_fraction) for seed in range(5))
        return float(np.median([min(trial.loss or 0.0 for trial in each.trials) for each in runs]))

    assert best(1 / 3) < 0.6 * best(1.0)


def test_what_breaks_a_constraint_is_proposed_again_and_counted() -> None:
    low, high = hyperparameter("low", Real(0.0, 1.0), 0.1), hyperparameter("high", Real(0.0, 1.0), 0.9)
    space = make_space("band", low, high, constraints=(require(Compare("<", Reference("low"), Reference("high"))),))

    def width(request: Request) -> float:
        return float(request.configuration["high"]) - float(request.configuration["low"])  # type: ignore[arg-type]

    requests = run(space, 150, b=2_700, objective=width).requests  # type: ignore[arg-type]
    assert all(first_exclusion(space, request.configuration) is None for request in requests)
    refused = [int(request.memo[1]) for request in requests if request.memo[0] == "model"]
    assert sum(refused) > 0


@pytest.mark.parametrize("workers", [1, 8])
def test_nothing_is_asked_for_twice_and_all_of_a_finite_space_at_last(workers: int) -> None:
    driven = run(conditional_space(), 5_000, workers=workers, objective=flaky_loss)
    assert driven.returned
    assert len(set(driven.requests)) == len(driven.requests)
    full = {request.configuration for request in driven.requests if request.fidelity is None}
    structures = [{"s": s, "e": e} for s in ("none", "scale") for e in ("f", "g")]
    assert full == {each for structure in structures for each in brute_force_members(conditional_space(), structure)}
    assert kinds(driven)["model"] > 0


def test_what_it_begins_with_is_known_to_the_model() -> None:
    initial = tuple(Configuration({"x": (place + 0.5) / 20}) for place in range(20))
    search = Bohb(random_fraction=0.0, b=2_700).search(Problem(line(), 2_700, default_rng(0), initial))
    requests = drive_search(search, lambda each: abs(float(each.configuration["x"]) - 0.6), 21).requests  # type: ignore[arg-type]
    assert [request.configuration for request in requests[:20]] == list(initial)
    assert requests[20].memo[0] == "model"


@pytest.mark.parametrize(
    "options", [{"b_min": 0.0}, {"b_min": 1.5}, {"b": -1}, {"random_fraction": 1.1}, {"candidates": 0}, {"eta": 1.0}]
)
def test_options_out_of_bounds(options: dict[str, float]) -> None:
    with pytest.raises(OptionError) as caught:
        Bohb(**options)  # type: ignore[arg-type]
    assert next(iter(options)) in caught.value.message
    assert caught.value.help


@pytest.mark.parametrize("eta", [1.0000001, 1e300])
@pytest.mark.parametrize("size", [1, 40])
def test_odd_factors(eta: float, size: int) -> None:
    assert run(plain_space(3, 3), 60, size=size, eta=eta).trials


# ---- vectors


@given(spaces(), st.integers(0, 99))
@settings(deadline=None, max_examples=few(25))
def test_a_vector_stands_for_the_member_that_it_is_of_whatever_fills_it(space: Space, seed: int) -> None:
    structures, rng = Structures(space), default_rng(seed)
    if not structures.count:
        return
    coding = VectorEncoding(space)
    members = list(Sampler(structures).configurations(10, rng))
    vectors = coding.encode(members)
    assert vectors.shape == (10, coding.width)
    assert len(dimensions_of(coding)) == coding.width
    filled = np.where(np.isnan(vectors), rng.random(vectors.shape), vectors)
    assert list(coding.decode(filled)) == members
    for found in coding.decode(rng.random((20, coding.width))):
        assert found is None or first_exclusion(space, found) is None


def test_each_part_of_a_union_has_a_column_of_its_own() -> None:
    coding = VectorEncoding(mixed())
    found = coding.encode(
        [
            Configuration({"e": "f", "e.f.depth": "auto", "share": 0.25}),
            Configuration({"e": "f", "e.f.depth": 10, "share": 0.5}),
            Configuration({"e": "h", "share": 1.0}),
        ]
    )
    nan = np.nan
    expected = [[0, 0, 1, nan, nan, 0.25], [0, 1, nan, 0.5, nan, 0.5], [1, nan, nan, nan, nan, 1]]
    assert np.array_equal(found[:, [0, 1, 2, 3, 4, 5]], expected, equal_nan=True)
    sets = [not each.is_ordered for each in dimensions_of(coding)]
    assert sets == [True, True, True, False, False, False]
