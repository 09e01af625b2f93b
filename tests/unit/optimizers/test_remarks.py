"""What searches say of themselves for the summary: that their models leave trials out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spacelang as sl
from spacelang.ir.search_protocol import Problem
from spacelang.minimizers.bo import Bo as BoOfPoints
from spacelang.minimizers.rbf import Rbf
from spacelang.optimizers import OPTIMIZERS
from spacelang.surrogates import MAX_POINTS, POINTS_WHEN_FITTED, SUBSAMPLING_NOTE, subsampling_note
from spacelang.testing.driving import drive_search, hash_loss
from spacelang.testing.small_spaces import continuous_space, plain_space

FEW = 8
RANGE = "space ranges\nabstract anneal { heat : float[0.1, 10] log = 1 }\nstage method = anneal\n"


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models leave trials out when there are more than a few."""
    monkeypatch.setattr("spacelang.optimizers.jopt.POINTS_WHEN_FITTED", FEW)
    monkeypatch.setattr("spacelang.optimizers.bo.POINTS_WHEN_FITTED", FEW)
    monkeypatch.setattr(Rbf, "most_modelled", FEW)
    for module in ("surrogates", "optimizers._libraries", "optimizers.bohb", "optimizers.smac"):
        monkeypatch.setattr(f"spacelang.{module}.MAX_DENSITY_POINTS", FEW)
    monkeypatch.setattr("spacelang.optimizers._libraries.STUDY_GROWTH", FEW // 2)


@pytest.mark.parametrize(
    ("name", "options", "space"),
    [
        ("jopt", {"initial": "1000"}, continuous_space()),
        ("bo", {"initial": "1000"}, plain_space(4, 4)),
        ("admm", {"theta": "rbf", "i0": "12", "first": "theta"}, continuous_space()),
        ("admm", {"theta": "random", "z": "bo(initial=1000)", "i0": "12"}, plain_space(4, 4)),
    ],
)
def test_it_is_said_once_models_leave_trials_out(name: str, options: Any, space: Any) -> None:
    optimizer, said = OPTIMIZERS.configure(OPTIMIZERS.load(name), options), dict[int, list[str]]()
    for trials in (FEW, 15):
        said[trials] = []
        problem = Problem(space, 100, np.random.default_rng(0), remark=said[trials].append)
        drive_search(optimizer.search(problem), hash_loss, trials)
    assert not said[FEW]
    assert set(said[15]) == {SUBSAMPLING_NOTE}


@pytest.mark.parametrize(
    ("name", "options", "most"),
    [
        ("tpe", {}, FEW),
        ("boasf", {"rounds": "1", "startup": "3"}, FEW),
        ("bohb", {}, FEW),
        ("optuna", {}, FEW // 2 * 3),
        ("smac", {}, FEW),
    ],
)
def test_densities_and_libraries_say_it_too(name: str, options: Any, most: int) -> None:
    optimizer, space = OPTIMIZERS.configure(OPTIMIZERS.load(name), options), sl.parse(RANGE).counted.space
    said: list[str] = []
    problem = Problem(space, 1, np.random.default_rng(0), remark=said.append)
    drive_search(optimizer.search(problem), hash_loss, most)
    assert not said
    drive_search(optimizer.search(problem), hash_loss, most + 1)
    assert set(said) == {subsampling_note(most)}


def test_who_models_all_says_nothing() -> None:
    said: list[str] = []
    optimizer = OPTIMIZERS.configure(OPTIMIZERS.load("admm"), {"theta": "random", "z": "random", "i0": "12"})
    drive_search(
        optimizer.search(Problem(continuous_space(), 100, np.random.default_rng(0), remark=said.append)), hash_loss, 15
    )
    assert not said


def test_the_figure_is_that_of_the_models() -> None:
    assert BoOfPoints.most_modelled == POINTS_WHEN_FITTED < MAX_POINTS
    assert str(MAX_POINTS) in SUBSAMPLING_NOTE


def test_a_result_has_it_and_a_run_that_is_resumed_says_it_again(tmp_path: Path) -> None:
    def searched(trials: int) -> tuple[str, ...]:
        found = sl.search(
            sl.parse(RANGE),
            objective=_heat,
            optimizer="jopt",
            optimizer_options={"initial": 1000},
            trials=trials,
            workers=0,
            store=tmp_path / "run.db",
            resume=(tmp_path / "run.db").exists(),
        )
        return found.outcome.remarks

    assert searched(FEW) == ()
    assert searched(FEW + 2) == searched(FEW + 2) == (SUBSAMPLING_NOTE,)


def _heat(configuration: dict[str, Any]) -> float:
    return float(configuration["method.heat"])
