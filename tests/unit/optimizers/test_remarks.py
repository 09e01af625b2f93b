"""What searches say of themselves for the summary: that their models leave trials out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spacelang as sl
from spacelang.ir.problem import Problem
from spacelang.minimizers.bo import Bo as BoOfPoints
from spacelang.minimizers.rbf import Rbf
from spacelang.optimizers import OPTIMIZERS
from spacelang.surrogates.sizes import KEPT, LEFT_OUT, MOST
from spacelang.testing.driving import arbitrary, drive
from spacelang.testing.small_spaces import continuous, plain

FEW = 8
RANGE = "space ranges\nabstract anneal { heat : float[0.1, 10] log = 1 }\nstage method = anneal\n"


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models leave trials out when there are more than a few."""
    monkeypatch.setattr("spacelang.optimizers.jopt.KEPT", FEW)
    monkeypatch.setattr("spacelang.optimizers.bo.KEPT", FEW)
    monkeypatch.setattr(Rbf, "most_modelled", FEW)


@pytest.mark.parametrize(
    ("name", "options", "space"),
    [
        ("jopt", {"initial": "1000"}, continuous()),
        ("bo", {"initial": "1000"}, plain(4, 4)),
        ("admm", {"theta": "rbf", "i0": "12", "first": "theta"}, continuous()),
        ("admm", {"theta": "random", "z": "bo(initial=1000)", "i0": "12"}, plain(4, 4)),
    ],
)
def test_it_is_said_once_models_leave_trials_out(name: str, options: Any, space: Any) -> None:
    optimizer, said = OPTIMIZERS.configure(OPTIMIZERS.load(name), options), dict[int, list[str]]()
    for trials in (FEW, 15):
        said[trials] = []
        problem = Problem(space, 100, np.random.default_rng(0), remark=said[trials].append)
        drive(optimizer.search(problem), arbitrary, trials)
    assert not said[FEW]
    assert set(said[15]) == {LEFT_OUT}


def test_who_models_all_says_nothing() -> None:
    said: list[str] = []
    optimizer = OPTIMIZERS.configure(OPTIMIZERS.load("admm"), {"theta": "random", "z": "random", "i0": "12"})
    drive(optimizer.search(Problem(continuous(), 100, np.random.default_rng(0), remark=said.append)), arbitrary, 15)
    assert not said


def test_the_figure_is_that_of_the_models() -> None:
    assert BoOfPoints.most_modelled == KEPT < MOST
    assert str(MOST) in LEFT_OUT


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
    assert searched(FEW + 2) == searched(FEW + 2) == (LEFT_OUT,)


def _heat(configuration: dict[str, Any]) -> float:
    return float(configuration["method.heat"])
