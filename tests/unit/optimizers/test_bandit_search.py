"""BLDS against worked numbers: counts, widths, traces, pruning and restarts.

See spacelang/optimizers/README.md, section "BLDS".
"""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trainings import best_is, by_table, trainings
from trying import few

from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Space
from spacelang.optimizers._fidelity import rungs
from spacelang.optimizers.blds import Blds, bound_half_widths
from spacelang.optimizers.lds import Lds
from spacelang.optimizers.mlds import Mlds
from spacelang.plugins import OptionError
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree, Pipeline
from spacelang.testing.driving import LossFunction, drive_search, flaky_loss, hash_loss
from spacelang.testing.small_spaces import constrained_space, continuous_space, nested_space, plain_space, spaces

PAPER = plain_space(8, 8, 6, 8)
SIZES = rungs(10**5, 100, 2.0)
FIRST, FAR = (0, 0, 0, 0), (7, 7, 5, 7)


@pytest.fixture
def visits(monkeypatch: pytest.MonkeyPatch) -> list[Pipeline]:
    """Every neighbour of FIRST that a walk hands to the search, in order."""
    seen: list[Pipeline] = []
    walk = DiscrepancyTree.walk

    def watched(self: DiscrepancyTree, pipeline: Pipeline, discrepancy: int):  # type: ignore[no-untyped-def]
        for leaf in walk(self, pipeline, discrepancy):
            seen.extend([leaf] if pipeline == FIRST != leaf else [])
            yield leaf

    monkeypatch.setattr(DiscrepancyTree, "walk", watched)
    return seen


@pytest.mark.parametrize(("disc", "count", "visited"), [(1, 27, 26), (2, 279, 304)])
def test_a_best_initial_pipeline_on_one_rung(disc: int, count: int, visited: int, visits: list[Pipeline]) -> None:
    """BLDS(1) makes 27 trainings before the restart, BLDS(2) 279 with 304 leaf visits."""
    trained = trainings(Blds(disc=disc), PAPER, 100, best_is(FIRST), count + 1, initial=(FIRST, FAR))
    assert trained[0] == (FIRST, 100)
    assert len({pipeline for pipeline, _ in trained[:count]}) == count
    assert trained[count] == (FAR, 100), "the restart"
    assert len(visits) == visited


def test_five_passes_on_five_rungs(visits: list[Pipeline]) -> None:
    """N = 1000: 130 leaf visits, 26 distinct neighbours, 31 trainings."""
    trained = trainings(Blds(), PAPER, 1000, best_is(FIRST), 32, initial=(FIRST, FAR))
    assert [rows for pipeline, rows in trained if pipeline == FIRST] == [100, 200, 400, 800, 1000]
    assert trained[31] == (FAR, 100), "the restart"
    neighbours = [pipeline for pipeline, _ in trained[:31] if pipeline != FIRST]
    assert len(neighbours) == len(set(neighbours)) == 26
    assert len(visits) == 130


def test_with_examine_init_the_initial_pipeline_is_one_of_27_leaves() -> None:
    trained = trainings(Blds(examine_init=True), PAPER, 1000, best_is(FIRST), 4, initial=(FIRST, FAR))
    assert trained[:3] == [(FIRST, 100), (FIRST, 200), ((0, 0, 0, 1), 100)]


def test_widths() -> None:
    assert bound_half_widths(Blds(), SIZES, 3072)[:8] == pytest.approx(
        (0.020204, 0.086372, 0.074954, 0.060315, 0.047209, 0.036356, 0.027678, 0.020886), abs=5e-7
    )
    assert bound_half_widths(Blds(log_const=9600), SIZES, 3072)[:6] == pytest.approx(
        (0.428717, 0.261897, 0.178372, 0.125952, 0.090247, 0.065059), abs=5e-7
    )


def test_a_negative_logarithm_is_clamped() -> None:
    assert bound_half_widths(Blds(b=97), rungs(1000, 97, 2.0), 3072)[0] == 0.0
    assert bound_half_widths(Blds(b=97, log_floor=1.0), rungs(1000, 97, 2.0), 3072)[0] == pytest.approx(97**-0.5)


def test_simple_widths() -> None:
    assert bound_half_widths(Blds(width="simple"), SIZES, 3072)[:6] == pytest.approx(
        (0.0300, 0.0300, 0.0260, 0.0212, 0.0168, 0.0130), abs=5e-5
    )


def test_widths_of_the_theory() -> None:
    c, delta = 4.5, 0.1
    constant = bound_half_widths(Blds(log_const=c * 3072 / delta), SIZES, 3072)
    assert bound_half_widths(Blds(log_rule="theory", c=c, delta=delta), SIZES, 3072) == pytest.approx(constant)
    assert all(width > 0 for width in bound_half_widths(Blds(log_rule="theory"), SIZES, 10**400))


def test_a_fully_trained_pipeline_may_have_no_width() -> None:
    collapsed = bound_half_widths(Blds(collapse_at_full=True), SIZES, 3072)
    assert collapsed == (*bound_half_widths(Blds(), SIZES, 3072)[:-1], 0.0)


TRACED = by_table({(0, 0): 0.30, (1, 0): 0.5, (0, 1): {100: 0.29, 200: 0.25, 400: 0.20}, (1, 1): 0.1})


def test_trace_of_disc_1() -> None:
    assert trainings(Blds(disc=1), plain_space(2, 2), 400, TRACED, 7, initial=((0, 0), (1, 1))) == [
        ((0, 0), 100),
        ((0, 1), 100),
        ((0, 1), 200),
        ((1, 0), 100),
        ((0, 0), 200),
        ((0, 1), 400),
        ((1, 1), 100),  # the restart: (1, 1) was never trained before
    ]


def test_trace_of_disc_2() -> None:
    assert trainings(Blds(disc=2), plain_space(2, 2), 400, TRACED, 6, initial=((0, 0), (1, 1))) == [
        ((0, 0), 100),
        ((0, 1), 100),
        ((0, 1), 200),
        ((1, 0), 100),
        ((0, 1), 400),
        ((1, 1), 100),
    ]


def test_checkpoints() -> None:
    w1, w2, w3 = bound_half_widths(Blds(), (100, 200, 400), 4)
    assert (0.29 - w1, 0.29 + w1) == pytest.approx((0.2698, 0.3102), abs=5e-5)
    assert (0.30 - w1, 0.30 + w1) == pytest.approx((0.2798, 0.3202), abs=5e-5)
    assert (0.25 - w2, 0.25 + w2) == pytest.approx((0.1636, 0.3364), abs=5e-5)
    assert 0.30 + w2 == pytest.approx(0.3864, abs=5e-5)
    assert (0.20 - w3, 0.20 + w3) == pytest.approx((0.1250, 0.2750), abs=5e-5)


def test_a_neighbour_that_is_clearly_worse_is_not_trained_again_in_that_pass() -> None:
    """(0, 1) looks worse at first; once (0, 0) gets wider bounds on 200 rows, it is raised."""
    losses = by_table({(0, 0): {100: 0.30, 200: 0.30, 400: 0.0}, (0, 1): 0.36, (1, 0): 1.0, (1, 1): 1.0})
    trained = trainings(Blds(), plain_space(2, 2), 400, losses, 6, initial=((0, 0), (1, 1)))
    assert trained == [((0, 0), 100), ((0, 1), 100), ((1, 0), 100), ((0, 0), 200), ((0, 1), 200), ((0, 0), 400)]


def test_a_neighbour_that_is_clearly_better_is_taken_without_a_second_training() -> None:
    losses = by_table({(0, 0): 0.5, (0, 1): 0.1, (1, 0): 0.9, (1, 1): 0.9})
    trained = trainings(Blds(), plain_space(2, 2), 400, losses, 4, initial=((0, 0),))
    assert trained == [((0, 0), 100), ((0, 1), 100), ((0, 1), 200), ((1, 1), 100)]


@pytest.mark.parametrize("options", [{}, {"disc": 2}, {"until_rule": "local_optimum"}, {"examine_init": True}])
@pytest.mark.parametrize(
    "space", [plain_space(3, 3, 3), nested_space(), constrained_space()], ids=lambda space: space.name
)
def test_trainings_of_a_pipeline_grow_and_the_space_is_exhausted(space: Space, options: dict[str, object]) -> None:
    settings = Blds(**options)  # type: ignore[arg-type]
    losses = {leaf: number / 40 for number, leaf in enumerate(DiscrepancyTree(Structures(space)).iter_leaves())}
    trained = trainings(settings, space, 450, lambda pipeline, rows: losses[pipeline] + 10 / rows, 10_000)
    by_pipeline: dict[Pipeline, list[int]] = {}
    for pipeline, rows in trained:
        by_pipeline.setdefault(pipeline, []).append(rows)
    assert all(first < second for rows in by_pipeline.values() for first, second in pairwise(rows))
    assert by_pipeline == {pipeline: [100, 200, 400, 450] for pipeline in losses}


@pytest.mark.parametrize("width", ["bound", "simple"])
@pytest.mark.parametrize("collapse", [False, True])
def test_ends_under_every_rule_for_the_bounds(width: str, collapse: bool) -> None:
    settings = Blds(disc=2, width=width, collapse_at_full=collapse, until_rule="local_optimum")  # type: ignore[arg-type]
    search = settings.search(Problem(plain_space(3, 3, 2), 300, np.random.default_rng(5)))
    driven = drive_search(search, hash_loss, 10_000)
    assert driven.returned
    assert len(driven.trials) == 18 * 3


def test_until_rule_paper_stops_on_a_fully_trained_pipeline_and_local_optimum_searches_around_it() -> None:
    losses = by_table({(0, 0): 0.3, (0, 1): {100: 0.29, 150: 0.2}, (1, 1): 0.1, (1, 0): 0.9})
    start = ((0, 0), (1, 0))
    paper = trainings(Blds(), plain_space(2, 2), 150, losses, 4, initial=start)
    local = trainings(Blds(until_rule="local_optimum"), plain_space(2, 2), 150, losses, 4, initial=start)
    assert paper == [((0, 0), 100), ((0, 1), 100), ((0, 1), 150), ((1, 0), 100)]
    assert local == [((0, 0), 100), ((0, 1), 100), ((0, 1), 150), ((0, 0), 150)]


def test_a_pipeline_that_its_own_search_accepts_is_searched_around_once_more() -> None:
    """On all rows (0,) looks better than on half of them, and takes its own place in the midst of the search."""
    losses = by_table({(0,): {100: 0.4, 200: 0.1}, (1,): 0.5, (2,): 0.05})
    options = Blds(examine_init=True, until_rule="local_optimum", log_const=1e-9)
    assert bound_half_widths(options, (100, 200), 3) == (0.0, 0.0), "what looks better is better"
    trained = trainings(options, plain_space(3), 200, losses, 4, initial=((0,), (2,)))
    assert trained == [((0,), 100), ((0,), 200), ((1,), 100), ((2,), 100)]


@settings(max_examples=few(60), deadline=None)
@given(spaces(), st.integers(0, 9), st.integers(1, 3), st.sampled_from([hash_loss, flaky_loss]))
def test_on_a_single_rung_a_descent_ends_in_a_local_optimum_as_those_of_lds_do(
    space: Space, seed: int, disc: int, objective: LossFunction
) -> None:
    """The paper's rule would end it at its first improvement, which is fully trained."""
    searches = (Lds(disc=disc), Mlds(disc=disc), Blds(disc=disc), Blds(disc=disc, until_rule="paper"))
    lds, *others = (
        drive_search(each.search(Problem(space, 100, np.random.default_rng(seed))), objective, 100) for each in searches
    )
    assert all(other == lds for other in others)


def test_on_a_single_rung_a_small_part_of_a_table_has_a_good_pipeline() -> None:
    """A table of 1,296 pipelines of which stages change the loss for themselves and a little together."""
    rng = np.random.default_rng(0)
    parts = rng.random((4, 6))

    def loss(pipeline: Pipeline, _: int) -> float:
        noise = np.random.default_rng(pipeline).random()
        return float(sum(parts[range(4), pipeline]) + 0.2 * noise) / 5

    ranked = sorted(loss(leaf, 0) for leaf in product(range(6), repeat=4))
    found = []
    for seed in range(15):
        trained = trainings(Blds(), plain_space(6, 6, 6, 6), 100, loss, 65, seed)
        found.append(min(loss(*each) for each in trained))
    assert sorted(found)[7] <= ranked[20], "in the middle among the best 20 after 5 % of them"


def test_a_failed_trial_counts_as_the_worst_loss() -> None:
    losses = lambda leaf, _: 0.5 if any(leaf) else None  # noqa: E731
    trained = trainings(Blds(), plain_space(2, 2), 400, losses, 3, initial=((0, 0),))
    assert trained == [((0, 0), 100), ((0, 1), 100), ((0, 1), 200)]


def test_hyperparameters_keep_their_defaults() -> None:
    search = Blds().search(Problem(continuous_space(), 100, np.random.default_rng(0)))
    found = {trial.configuration.get("e.f.rate") for trial in drive_search(search, hash_loss, 100).requests}
    assert found == {0.1, None}


@pytest.mark.parametrize(
    "options",
    [
        {"disc": 0},
        {"b": 0},
        {"eta": 1.0},
        {"eta": float("inf")},
        {"eta": float("nan")},
        {"log_const": 0.0},
        {"log_floor": -1.0},
        {"c": 0.0},
        {"delta": 1.0},
    ],
)
def test_options_out_of_bounds(options: dict[str, float]) -> None:
    with pytest.raises(OptionError) as caught:
        Blds(**options)  # type: ignore[arg-type]
    assert caught.value.help
    assert next(iter(options)) in caught.value.message
