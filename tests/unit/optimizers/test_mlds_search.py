"""MLDS: BLDS without its bounds (spacelang/optimizers/README.md, section "MLDS")."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from trainings import by_table, trainings
from trying import few

from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Space
from spacelang.optimizers.blds import Blds
from spacelang.optimizers.mlds import Mlds
from spacelang.plugins import OptionError
from spacelang.testing.driving import drive_search, hash_loss
from spacelang.testing.small_spaces import plain_space, spaces

TRACED = by_table({(0, 0): 0.30, (1, 0): 0.5, (0, 1): {100: 0.29, 200: 0.25, 400: 0.20}, (1, 1): 0.1})


def test_a_trace() -> None:
    """It ends with (1, 1): what follows is a restart."""
    trained = trainings(Mlds(), plain_space(2, 2), 400, TRACED, 9, initial=((0, 0), (1, 0)))
    assert trained == [
        ((0, 0), 100),
        ((0, 1), 100),
        ((0, 1), 200),
        ((1, 1), 100),
        ((1, 1), 200),
        ((1, 0), 100),
        ((1, 1), 400),
        ((1, 0), 200),
        ((0, 0), 200),
    ]


def test_an_equal_loss_is_a_reason_for_one_more_training() -> None:
    losses = by_table({(0,): 0.3, (1,): {100: 0.3, 200: 0.2, 400: 0.2}, (2,): 0.4})
    trained = trainings(Mlds(), plain_space(3), 400, losses, 4, initial=((0,),))
    assert trained == [((0,), 100), ((1,), 100), ((1,), 200), ((1,), 400)]


def test_matching_fidelities_trains_a_neighbour_as_often_as_the_pipeline() -> None:
    """Without matching, (1,) and (2,) would stay on 100 rows until (0,) is trained on all."""
    losses = by_table({(0,): 0.3, (1,): 0.6, (2,): 0.9})
    alone = trainings(Mlds(), plain_space(3), 400, losses, 5, initial=((0,),))
    assert alone == [((0,), 100), ((1,), 100), ((2,), 100), ((0,), 200), ((0,), 400)]
    matched = trainings(Mlds(match_fidelity=True), plain_space(3), 400, losses, 9, initial=((0,),))
    assert matched == [
        ((0,), 100),
        ((1,), 100),
        ((2,), 100),
        ((0,), 200),
        ((1,), 200),
        ((2,), 200),
        ((0,), 400),
        ((1,), 400),
        ((2,), 400),
    ]


@settings(max_examples=few(50), deadline=None)
@given(spaces(), st.integers(1, 3), st.booleans())
def test_every_pipeline_is_trained_on_all_rows_in_the_end(space: Space, disc: int, match_fidelity: bool) -> None:
    search = Mlds(disc, match_fidelity=match_fidelity).search(Problem(space, 350, default_rng(1)))
    driven = drive_search(search, hash_loss, 5_000)
    assert driven.returned
    assert len({(r.configuration, r.fidelity) for r in driven.requests}) == len(driven.requests)


@settings(max_examples=few(50), deadline=None)
@given(spaces(), st.integers(0, 3))
def test_on_one_rung_it_is_blds_without_a_width(space: Space, seed: int) -> None:
    """On b rows and fewer there is one rung, and BLDS with bounds that collapse has no width there, either."""
    first = drive_search(Mlds().search(Problem(space, 80, default_rng(seed))), hash_loss, 500)
    second = drive_search(Blds(collapse_at_full=True).search(Problem(space, 80, default_rng(seed))), hash_loss, 500)
    assert first == second


@pytest.mark.parametrize("options", [{"disc": 0}, {"b": 0}, {"eta": 1.0}])
def test_options_out_of_bounds(options: dict[str, float]) -> None:
    with pytest.raises(OptionError) as caught:
        Mlds(**options)  # type: ignore[arg-type]
    assert caught.value.help
    assert next(iter(options)) in caught.value.message
