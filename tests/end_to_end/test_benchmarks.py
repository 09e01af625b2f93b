"""Benchmarks run, in small sizes; what they print depends on the machine."""

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from tables import recorded, table_of

import spacelang
from spacelang.bench.tables.table_files import write_table

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.full
def test_the_benchmark_of_sampling_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    runpy.run_path(str(BENCHMARKS / "sampling.py"))["main"](["--quick", "--pcs", str(tmp_path / "none.pcs")])
    printed = capsys.readouterr().out
    for line in ("admm_table_a2: 6776 structures", "columns", "60 neighbours", "skipped the imported MOSAIC space"):
        assert line in printed
    assert "20 conditional children" in printed
    assert "30 pairs: counted in" in printed


@pytest.mark.full
def test_the_benchmark_of_several_workers_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    benchmark = runpy.run_path(str(BENCHMARKS / "scaling.py"))
    space = spacelang.parse(benchmark["PART"]).checked
    write_table(table_of(space, lambda request: replace(recorded(request), cost=0.1)), tmp_path / "part.npz")
    benchmark["main"]([str(tmp_path / "part.npz"), "--quick"])
    printed = capsys.readouterr().out
    assert "part.npz: 384 pipelines, 1.0 s" in printed
    assert "hyperband" in printed


@pytest.mark.full
def test_the_benchmark_of_surrogates_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(BENCHMARKS / "surrogates.py"))["main"](["--quick"])
    printed = capsys.readouterr().out
    for line in ("30 evaluations in 10 dimensions", "Gaussian process", "Optuna TPE", "SMAC", "a fit to 20 points"):
        assert line in printed


def test_the_benchmark_of_admm_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(BENCHMARKS / "admm.py"))["main"](["--quick"])
    printed = capsys.readouterr().out
    assert "artificial:0 over artificial.space" in printed
    assert "bytes a trial after 40 trials" in printed


def test_the_benchmark_of_optimizers_runs(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = runpy.run_path(str(BENCHMARKS / "optimizers.py"))
    optimizer = dict(benchmark["list_optimizers"]())["blds"]
    line = benchmark["measure"](optimizer, spacelang.load("blds_table1").checked, 50, 4, 1)
    assert line.split()[0] in ("49", "50")


@pytest.mark.full
def test_the_benchmark_of_mosaic_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(BENCHMARKS / "mosaic.py"))["main"](["--quick"])
    printed = capsys.readouterr().out
    assert "20 observations" in printed
    assert "100 full trees" in printed


def test_the_benchmark_of_proposals_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(BENCHMARKS / "proposals.py"))["main"](["--quick", "--spaces", "boasf_logistic_regression"])
    assert "boasf_logistic_regression          3" in capsys.readouterr().out


def test_the_benchmark_of_ensembles_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    load_iris(as_frame=True).frame.iloc[30:].to_csv(tmp_path / "iris.csv.gz", index=False)
    (tmp_path / "few.space").write_text("stage e = GaussianNB | DecisionTreeClassifier | KNeighborsClassifier\n")
    benchmark = runpy.run_path(str(BENCHMARKS / "ensembles.py"))["main"]
    few = ("--trials", "3", "--votes", "4", "--resamples", "20", "--workers", "0")
    benchmark([str(tmp_path), "--sets", "iris", "--space", str(tmp_path / "few.space"), *few])
    printed = capsys.readouterr().out
    assert "3 trials of random on " in printed
    assert "no worse: 1 of 1, better: 0" in printed


def test_the_benchmark_of_archives_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    iris = load_iris(as_frame=True).frame
    for name, rows in (("first", iris.iloc[::2]), ("second", iris.iloc[1::2])):
        rows.to_csv(tmp_path / f"{name}.csv.gz", index=False)
    (tmp_path / "few.space").write_text("stage e = GaussianNB | DecisionTreeClassifier | KNeighborsClassifier\n")
    benchmark = runpy.run_path(str(BENCHMARKS / "archive.py"))
    few = ("--space", str(tmp_path / "few.space"), "--trials", "3", "--early", "1", "--workers", "0")
    benchmark["main"]([str(tmp_path), str(tmp_path / "kept"), *few])
    printed = capsys.readouterr().out
    assert "few.space, balanced_accuracy, random, seed 0: at trial 1" in printed
    assert "over 2 sets: fewer than 25 sets are not conclusive" in printed
    assert (tmp_path / "kept" / "archive.json").is_file()
    assert benchmark["format_verdict"](np.full(25, -0.1), 10).endswith("ship the archive")
    assert benchmark["format_verdict"](np.resize([-0.1, 0.1], 25), 10).endswith("it does not beat the default start")


def test_the_benchmark_of_libraries_runs(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = runpy.run_path(str(BENCHMARKS / "libraries.py"))["main"]
    benchmark(["--seeds", "2", "--trials", "12", "--only", "optuna", "--spaces", "numbers,constrained"])
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split()[:2] for line in lines] == [
        [space, f"optuna(sampler={sampler})"]
        for sampler in ("TPESampler", "NSGAIISampler")
        for space in ("numbers", "constrained")
    ]


@pytest.mark.full
def test_the_benchmark_of_pages_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["report.py", "60", "boasf_models"])
    runpy.run_path(str(BENCHMARKS / "report.py"))["main"]()
    assert "60 trials of boasf_models" in capsys.readouterr().out


def test_what_an_installation_weighs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(BENCHMARKS / "weight.py"))["main"]()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    weights = {name: float(megabytes) for megabytes, name, *_ in rows}
    assert {"in", "spacelang", "scipy", "scikit-learn", "lark"} <= {*weights}
    assert weights["in"] > weights["scipy"] > weights["lark"] > 0


def test_the_benchmark_of_short_trials_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(BENCHMARKS / "short_trials.py"))["main"](["random", "--trials", "3", "--seconds", "0.001"])
    assert "3 trials" in capsys.readouterr().out
