"""The scripts of `examples/admm_paper` on less: what they make, keep and print."""

import csv
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import spacelang as sl
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import FunctionBound
from spacelang.ir.trial import Measurement, Request, Trial
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.scoring import unseen_scores

SCRIPTS = Path(__file__).parents[2] / "examples" / "admm_paper"
PCS = Path(__file__).parents[3] / "shared" / "data" / "pcs" / "mosaic_1_0.pcs"
NAMES = ("evidence", "artificial", "real_data", "constraints", "imported")
SHARED = ("contests", "contest_reports", "paired_differences")


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    monkeypatch.setattr(unseen_scores, "MAX_RESAMPLES", 20)
    monkeypatch.syspath_prepend(str(SCRIPTS.parent))
    modules = {name: import_module(f"admm_paper.{name}") for name in NAMES}
    yield modules | {name: import_module(name) for name in SHARED}
    for name in (*SHARED, "admm_paper", *(f"admm_paper.{name}" for name in NAMES)):
        sys.modules.pop(name)


@pytest.fixture
def datasets(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    table["sex"] = rng.choice(["Female", "Male"], 120)
    table["target"] = np.where(table["a"] + rng.normal(size=120) > 0, "more", "less")
    table.to_csv(tmp_path / "adult.csv.gz", index=False)
    table.drop(columns="sex").to_csv(tmp_path / "small.csv.gz", index=False)
    return tmp_path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def trial(index: int, loss: float | None, *, memo: tuple[float, ...] = (), feasible: bool = True) -> TrialRecord:
    measured = Measurement(FunctionBound("leaves", 1.0), 1.0 if feasible else 2.0)
    return TrialRecord(index, Trial(Request(Configuration({}), memo=memo), loss, constraints=(measured,)), 0.0, index)


def test_iterations_end_where_tuning_follows_selecting(scripts: dict[str, ModuleType]) -> None:
    turns = [(0.5, 1), (0.0, 1), (), (), (0.5, 1), (3, 1, 2), (2, 2, 2), (1.0, 1), ()]
    assert scripts["evidence"].count_iterations(trial(place, 0.1, memo=memo) for place, memo in enumerate(turns)) == 2
    assert scripts["evidence"].count_iterations([trial(1, 0.1, memo=("base64",)), trial(2, 0.1)]) == 0


def test_curves_fall_and_know_feasible_successes_only(scripts: dict[str, ModuleType]) -> None:
    trials = [trial(1, None), trial(2, 0.5), trial(3, 0.6), trial(4, 0.1, feasible=False), trial(5, 0.4)]
    assert list(scripts["evidence"].trace_incumbents(trials)) == [(2, 0.5), (5, 0.4)]


def test_intervals_hold_their_median(scripts: dict[str, ModuleType]) -> None:
    middle, low, high = scripts["evidence"].estimate_median([0.3, 0.1, float("nan"), 0.2])
    assert (middle, low, high) == (0.2, 0.1, 0.3)
    assert np.isnan(scripts["evidence"].estimate_median([])).all()


def test_the_artificial_objective(
    scripts: dict[str, ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--output", str(tmp_path), "--seconds", "0.4", "--seeds", "1", "--jobs", "1"]
    scripts["artificial"].main(arguments)
    made = {path: path.read_bytes() for path in tmp_path.glob("*.db")}
    assert len(made) == 4
    first = capsys.readouterr().out
    assert [line.split()[0] for line in first.splitlines()[2:]] == list(scripts["artificial"].JOINT)
    assert all(float(row["loss"]) >= 0 for row in rows(tmp_path / "joint.csv"))
    scripts["artificial"].main(arguments)
    assert capsys.readouterr().out == first
    assert {path: path.read_bytes() for path in tmp_path.glob("*.db")} == made
    scripts["artificial"].main([*arguments, "--fixed"])
    assert "of 1 objectives with at least 2 iterations in all runs" in capsys.readouterr().out
    assert {row["optimizer"] for row in rows(tmp_path / "fixed.csv")} == set(scripts["artificial"].FIXED)


def test_real_data(
    scripts: dict[str, ModuleType],
    datasets: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = scripts["real_data"]
    table1 = script.PARTS["table1"]
    monkeypatch.setitem(script.PARTS, "table1", replace(table1, candidates=table1.candidates[:3]))
    monkeypatch.setattr(scripts["contest_reports"], "get_search_options", lambda _: {"trials": 4, "workers": 0})
    told = [str(datasets), "--output", str(datasets / "runs"), "--results", str(datasets / "results")]
    told += ["--data", "small", "--seconds", "600", "--seeds", "1", "--jobs", "1"]
    script.main([*told, "--part", "table1", "--part", "ensembles"])
    printed = capsys.readouterr().out
    assert printed.count(" compared with | mean log ratio") == 3
    assert "| small | AdADMM-F16(BO,Ba) | 4 | " in printed
    assert "| data | seed | 1 vote | 2 votes | 4 votes | 8 votes | 16 votes | 32 votes |" in printed
    made = rows(datasets / "results" / "table1_600s.csv")
    assert [row["optimizer"] for row in made] == sorted(each.name for each in table1.candidates[:3])
    assert all(row["trials"] == "4" and 0 <= float(row["test"]) <= 1 for row in made)
    [ensembles] = rows(datasets / "results" / "ensembles_600s.csv")
    assert float(ensembles["32 votes"]) == float(ensembles["ensemble"])


def test_speeds_are_those_to_the_best_loss_of_jopt(scripts: dict[str, ModuleType]) -> None:
    runs = [
        scripts["contests"].Run("d", name, seed, curve, 5, 0)
        for name, seed, curve in (
            ("jopt", 0, ((4.0, 0.2, 0.3),)),
            ("jopt", 1, ()),
            ("random", 0, ((2.0, 0.15, None), (3.0, 0.1, 0.3))),
            ("random", 1, ((1.0, 0.1, 0.3),)),
        )
    ]
    *_, one, overall = scripts["real_data"].speed_lines(runs)
    assert one == "| d | random | 5 | 0 | 2.0 s (1 of 1) | 2.0 | 50.0 |"
    assert overall.endswith("| 2.0 [2.0, 2.0] | 50.0 [50.0, 50.0] |")


def test_constraints(
    scripts: dict[str, ModuleType],
    datasets: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    less = {"SAMPLE_SIZES": (80, 40), "RANDOM_PIPELINES": 2, "QUARTILES": (0.5,), "DISPARITY_LIMITS": (1.0,)}
    less |= {"DISPARITIES": {"sex": "disparity(roc_auc, sex)"}}
    less |= {"SATISFIED_BOUNDS": ("predict_latency <= 1h", "disparity(roc_auc, sex) <= 1")}
    for name, value in less.items():
        monkeypatch.setattr(scripts["constraints"], name, value)
    budget = ["--seconds", "600", "--trials", "2", "--seeds", "1", "--jobs", "1", "--workers", "0"]
    scripts["constraints"].main([str(datasets), "--output", str(datasets / "runs"), *budget])
    assert "smaller loss, all bounds" in capsys.readouterr().out
    latency, disparity = rows(datasets / "runs" / "constraints.csv")
    assert latency["bound"].startswith("predict_latency <= ")
    assert disparity["bounded_share"] == disparity["filtered_share"] == "1.0"
    assert disparity["bounded_test_holds"] == disparity["filtered_test_holds"] == "True"


@pytest.mark.skipif(not PCS.is_file(), reason="../shared/data is absent")
def test_the_imported_space(scripts: dict[str, ModuleType], datasets: Path) -> None:
    space = sl.import_space(PCS).space
    for configuration in space.sample(60, seed=0):
        scripts["imported"].build_pipeline(configuration.to_dict())
    objective = scripts["imported"].HoldoutObjective.read(datasets / "small.csv.gz")
    assert 0 <= objective(space.default().to_dict()) < 0.5
