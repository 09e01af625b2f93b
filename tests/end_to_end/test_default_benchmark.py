"""The benchmark in `examples/default`: its results file, its analysis, and runs of it on small tables."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from importlib import import_module
from math import log
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from trying import IS_FULL

import spacelang as sl
from spacelang.api.search_data import choose_default_space
from spacelang.optimizers.auto import portfolio_members
from spacelang.runtime.archives.creation import Evaluation
from spacelang.runtime.data.labels import check_and_encode_labels
from spacelang.runtime.data.loading import load_dataset, make_table
from spacelang.runtime.data.profile import guess_task_kind
from spacelang.runtime.scoring.metric import constant_prediction_loss, default_metric
from spacelang.serialization.portfolio import Portfolio, read_portfolio
from spacelang.solver.counting import Structures

EXAMPLES = Path(__file__).parents[2] / "examples"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "datasets"
sys.path.insert(0, str(EXAMPLES))
MODULES = ("analysis", "benchmark", "candidates", "peers", "portfolio", "portfolio_choice", "results", "siblings")
analysis, benchmark, candidates, peers, portfolio, portfolio_choice, results, siblings = (
    import_module(f"default.{name}") for name in MODULES
)
single_run, tables = import_module("default.single_run"), import_module("default.tables")
sys.path.remove(str(EXAMPLES))

LOADERS = {"cancer": load_breast_cancer, "progression": load_diabetes, "iris": load_iris}


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table for two classes, one for three and one for regression, and one with a rare class."""
    folder = tmp_path_factory.mktemp("datasets")
    for name, load in LOADERS.items():
        features, target = load(return_X_y=True, as_frame=True)
        features.assign(target=target).to_csv(folder / f"{name}.csv.gz", index=False)
    rare = pd.DataFrame(
        {"x": range(60), "colour": ["red", "green", None] * 20, "target": ["a"] * 30 + ["b"] * 28 + ["c"] * 2}
    )
    rare.to_csv(folder / "rare.csv.gz", index=False)
    return folder


# ---- siblings and tables


NAMES = sorted({name for group in siblings.SIBLINGS for name in group} | {*tables.TABLES, "iris"})


@given(st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_siblings_are_symmetric_and_transitive(one: str, other: str) -> None:
    found = siblings.siblings(one)
    assert one not in found
    assert (other in found) == (one in siblings.siblings(other))
    if other in found:
        assert found | {one} == siblings.siblings(other) | {other}


@pytest.mark.parametrize(
    "names",
    ["cpu_act cpu_small", "puma8NH puma32H", "bank8FM bank32nh", "kc1 pc4 jm1", "telco_churn churn_modelling"],
)
def test_tables_with_a_common_source_are_siblings(names: str) -> None:
    first, *others = names.split()
    assert siblings.siblings(first) == {*others}


def test_tables_are_at_least_20_without_siblings_and_without_those_tuned_on() -> None:
    assert len({*tables.TABLES}) == len(tables.TABLES) >= 20
    for name in tables.TABLES:
        assert not siblings.siblings(name) & {*tables.TABLES}
    assert not {*tables.TABLES} & {*tables.TUNED_ON}


@pytest.mark.skipif(not SHARED.exists(), reason="the data folder is not part of a clone")
def test_tables_exist_and_have_the_right_size() -> None:
    rows = pd.read_csv(SHARED / "MANIFEST.csv").set_index("name")["rows"]
    assert rows[[*tables.TABLES]].between(2_000, 70_000).all()
    assert {*tables.TUNED_ON} | {name for group in siblings.SIBLINGS for name in group} <= {*rows.index}


# ---- the results file


def run_row(table: str = "one", contender: str = "auto", seed: int = 0, **values: Any) -> Any:
    defaults = {
        "limit": 60.0, "metric": "r2", "training_rows": 80, "test_rows": 20, "loss": 0.5, "best_loss": None,
        "ensemble_loss": None, "constant_loss": 1.0, "floor": 0.01, "trials": None, "seconds": None,
        "process_seconds": 1.0, "failure": "", "note": "", "version": "",
    }  # fmt: skip
    return results.RunRow(table=table, contender=contender, seed=seed, **defaults | values)


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=20).map(
    lambda text: " ".join(text.split())
)
LOSSES = st.floats(0, 10)
ROWS = st.lists(
    st.builds(
        run_row,
        st.sampled_from(["one", "two"]),
        st.sampled_from(["auto", "random"]),
        st.integers(0, 3),
        loss=LOSSES,
        ensemble_loss=LOSSES | st.none(),
        trials=st.integers(0, 99) | st.none(),
        failure=TEXTS,
        note=TEXTS,
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda row: (row.table, row.contender, row.seed),
)


def rows_in(path: Path) -> list[dict[str, Any]]:
    return [
        {name: None if isinstance(value, float) and np.isnan(value) else value for name, value in row.items()}
        for row in results.read_results(path).to_dict("records")
    ]


@given(ROWS, st.data())
def test_rows_are_read_as_written_even_if_the_last_write_was_cut_off(rows: list[Any], data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "results.csv"
        sizes = [0]
        for row in rows:
            results.append_row(path, row)
            sizes.append(path.stat().st_size)
        assert rows_in(path) == [asdict(row) for row in rows]
        size = data.draw(st.integers(0, sizes[-1]))
        os.truncate(path, size)
        left = sum(size >= each for each in sizes[1:])
        assert rows_in(path) == [asdict(row) for row in rows[:left]]
        for row in rows[left:]:
            results.append_row(path, row)
        assert rows_in(path) == [asdict(row) for row in rows]
        assert results.finished_runs(path) == {(row.table, row.contender, row.limit, row.seed) for row in rows}


def append_rows(path: Path, table: str) -> None:
    for seed in range(50):
        results.append_row(path, run_row(table, seed=seed, note="a long note, " * 200))


def test_two_processes_share_a_results_file(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    processes = [get_context("fork").Process(target=append_rows, args=(path, name)) for name in ("one", "two")]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert sorted((row["table"], row["seed"]) for row in rows_in(path)) == [
        (table, seed) for table in ("one", "two") for seed in range(50)
    ]


# ---- splits, losses and what a run gets to see


@pytest.mark.parametrize("name", LOADERS)
def test_the_metric_is_the_default_of_a_run(datasets: Path, name: str) -> None:
    path = datasets / f"{name}.csv.gz"
    split = benchmark.split_table(path, 0)
    table = load_dataset(str(path), "target")
    dataset = check_and_encode_labels(table, guess_task_kind(table).kind)
    metric = default_metric(dataset)
    assert split.kind == dataset.kind
    assert f"1 - {split.metric}" == metric.formula
    assert split.constant_loss == pytest.approx(constant_prediction_loss(metric, dataset, dataset), abs=0.03)
    assert split.floor == pytest.approx(0.5 / len(split.test) * (1 if split.classes else split.constant_loss))
    labels = split.test["target"]
    best = (labels == split.classes[-1]) if split.metric == "roc_auc" else labels
    assert split.loss(best.to_numpy()) == pytest.approx(0)


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_fifth_is_tested_and_its_labels_are_hidden(datasets: Path, tmp_path: Path, name: str, seed: int) -> None:
    split = benchmark.split_table(datasets / f"{name}.csv.gz", seed)
    rows = len(split.training) + len(split.test)
    assert len(split.test) == pytest.approx(rows / 5, abs=1)
    if split.classes:
        shares = [part["target"].value_counts(normalize=True) for part in (split.training, split.test)]
        assert (shares[0] - shares[1]).abs().max() < 0.02
    task = single_run.RunTask("random", split.metric, split.classes, len(split.training), 1.0, seed)
    task.write(tmp_path)
    assert single_run.RunTask.read(tmp_path) == task
    single_run.write_rows(tmp_path, split.training, split.test)
    hidden = pd.read_csv(tmp_path / "rows.csv")["target"].iloc[len(split.training) :]
    assert hidden.isna().all()
    found = single_run.read_rows(tmp_path, task)
    assert found.target.tolist() == split.training["target"].tolist()
    pd.testing.assert_frame_equal(
        found.test_features, split.test.drop(columns="target").reset_index(drop=True), check_dtype=False
    )


def test_rows_of_rare_classes_are_left_out_and_texts_become_categories(datasets: Path, tmp_path: Path) -> None:
    split = benchmark.split_table(datasets / "rare.csv.gz", 0)
    assert split.classes == ("a", "b")
    assert len(split.training) + len(split.test) == 58
    single_run.write_rows(tmp_path, split.training, split.test)
    task = single_run.RunTask("lightgbm", split.metric, split.classes, len(split.training), 1.0, 0)
    rows = single_run.read_rows(tmp_path, task)
    typed = rows.as_categories()
    assert typed.features["colour"].dtype == typed.test_features["colour"].dtype == "category"
    assert typed.features["colour"].isna().sum() == split.training["colour"].isna().sum() > 0
    assert typed.features["x"].dtype == rows.features["x"].dtype


# ---- runs


def run(datasets: Path, path: Path, *more: str) -> None:
    benchmark.main([str(datasets), "--results", str(path), "--seconds", "30", "--seeds", "1", "--trials", "2", *more])


@pytest.fixture
def two_tables() -> list[str]:
    return ["--table", "iris", "--table", "progression", "--contender", "random", "--contender", "tpe"]


def test_a_benchmark_is_made_continued_and_analysed(
    datasets: Path,
    tmp_path: Path,
    two_tables: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "results.csv"
    if not IS_FULL:
        monkeypatch.setattr(benchmark, "make_run", make_random_runs(benchmark.make_run))
    run(datasets, path, *two_tables, "--part", "1/2")
    first = path.read_bytes()
    assert results.read_results(path)["table"].tolist() == ["progression"] * 2
    run(datasets, path, *two_tables)
    assert path.read_bytes().startswith(first), "finished runs stay as they are"
    found = results.read_results(path)
    assert len(found) == 4
    assert sorted(zip(found["table"], found["contender"], strict=True)) == [
        (table, contender) for table in ("iris", "progression") for contender in ("random", "tpe")
    ]
    assert (found["failure"] == "").all(), found["failure"].tolist()
    assert (found["trials"] == 2).all()
    assert (found["loss"] == found["ensemble_loss"]).all(), "the ensemble is the answer"
    assert (found[["best_loss", "ensemble_loss"]].max(axis=1) < found["constant_loss"]).all()
    assert (found["seconds"] < found["process_seconds"]).all()
    assert found["version"].unique().tolist() == [f"spacelang {sl.__version__}"]

    def fail(*_: object) -> None:
        raise AssertionError("a run was repeated")

    monkeypatch.setattr(benchmark, "make_run", fail)
    before = path.read_bytes()
    run(datasets, path, *two_tables)
    assert path.read_bytes() == before

    capsys.readouterr()
    analysis.main([str(path), "--seconds", "30", "--base", "tpe"])
    printed = capsys.readouterr().out
    assert "| `tpe` compared with | mean log ratio of test losses [95 %] | smallest detectable difference |" in printed
    losses = found.pivot(index="table", columns="contender", values="loss")
    expected = np.log(losses.clip(lower=found.groupby("table")["floor"].first(), axis=0))
    assert f"| `random` | {(expected['tpe'] - expected['random']).mean():.3f} |" in printed
    assert f"| iris | 1 - balanced_accuracy | {losses.loc['iris', 'random']:.4f} |" in printed


def make_random_runs(make_run: Callable[..., Any]) -> Callable[..., Any]:
    """Make the runs of `random`; the rows of other contenders, whose runs would take as long, have smaller losses."""

    @cache
    def row_of_random(key: Any, settings: Any) -> Any:
        return make_run(key._replace(contender="random"), settings)

    def make(key: Any, settings: Any) -> Any:
        row = row_of_random(key._replace(contender="random"), settings)
        if key.contender == "random":
            return row
        return replace(row, contender=key.contender, loss=0.9 * row.loss, ensemble_loss=0.9 * row.ensemble_loss)

    return make


def test_a_failure_counts_as_the_constant_prediction(
    datasets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = benchmark.Contender("random", options={"optimizer": "random", "metric": "no_such_metric"})
    monkeypatch.setattr(benchmark, "CONTENDERS", {"random": broken})
    key = results.RunKey("cancer", "random", 30.0, 0)
    row = benchmark.make_run(key, benchmark.Settings(datasets, tmp_path / "results.csv"))
    assert row.loss == row.constant_loss == 0.5
    assert "unknown metric `no_such_metric`" in row.failure
    assert (row.best_loss, row.seconds) == (None, None)


def test_a_run_that_hangs_is_ended_with_all_its_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "START_SECONDS", 3.0)
    child = "import os, time; open('child', 'w').write(str(os.getpid())); time.sleep(600)"
    script = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(600)"
    start = time.monotonic()
    failure = benchmark.run_process([sys.executable, "-c", script], tmp_path, 0.5)
    assert failure == "no answer after 4.5 s"
    assert time.monotonic() - start < 60
    number = int((tmp_path / "child").read_text())
    for _ in range(100):
        status = Path(f"/proc/{number}/status")
        if not status.exists() or "zombie" in status.read_text():
            return
        time.sleep(0.1)
    raise AssertionError("the child runs on")


def test_the_last_line_of_a_crash_is_its_reason(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('first'); raise ValueError('too bad')"]
    assert benchmark.run_process(command, tmp_path, 30.0) == "ValueError: too bad"
    assert benchmark.run_process([sys.executable, "-c", "exit(3)"], tmp_path, 30.0) == "exit status 3"


@given(st.integers(1, 7), st.integers(1, 3), st.integers(1, 5))
def test_parts_share_all_runs(number: int, seeds: int, count: int) -> None:
    names = [f"table{each}" for each in range(number)]
    entered = [benchmark.CONTENDERS[name] for name in ("random", "tpe")]
    whole = benchmark.list_runs(names, entered, 60.0, seeds, (0, 1))
    parts = [benchmark.list_runs(names, entered, 60.0, seeds, (part, count)) for part in range(count)]
    assert len(whole) == number * seeds * 2
    assert sorted(key for part in parts for key in part) == sorted(whole)


# ---- what is asked for and not there


def refused(datasets: Path, tmp_path: Path, *more: str) -> str:
    with pytest.raises(SystemExit) as found:
        run(datasets, tmp_path / "results.csv", *more)
    return str(found.value)


def test_missing_files_and_environments_are_named(
    datasets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "missing.csv.gz" in refused(datasets, tmp_path, "--table", "missing", "--contender", "random")
    assert refused(datasets, tmp_path, "--part", "2/2") == "2"
    assert "`2/2` is not a part: give `K/N`" in capsys.readouterr().err
    run(datasets, tmp_path / "results.csv", "--table", "iris", "--contender", "flaml")
    assert "skipped flaml: give the folder of its environment with --environments" in capsys.readouterr().out
    some = ("--table", "iris", "--contender", "flaml", "--environments", str(tmp_path))
    run(datasets, tmp_path / "results.csv", *some)
    assert "does not exist; README.md says how to make the environment" in capsys.readouterr().out
    (tmp_path / "flaml" / "bin").mkdir(parents=True)
    (tmp_path / "flaml" / "bin" / "python").symlink_to(sys.executable)
    run(datasets, tmp_path / "results.csv", *some)
    printed = capsys.readouterr().out
    if "No package metadata" not in printed:
        assert "skipped flaml: " in printed
    assert not (tmp_path / "results.csv").exists()


def test_auto_needs_portfolios_without_the_table(tmp_path: Path) -> None:
    auto = benchmark.CONTENDERS["auto"]
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv.gz").touch()
    settings = benchmark.Settings(tmp_path, tmp_path / "results.csv")
    with pytest.raises(SystemExit, match="`auto` needs --portfolios"):
        benchmark.check_files(["one"], [auto], settings)
    settings = replace(settings, portfolios=tmp_path)
    (tmp_path / "one.json").touch()
    benchmark.check_files(["one"], [auto], settings)
    with pytest.raises(SystemExit, match="has no portfolio for these tables: two"):
        benchmark.check_files(["two"], [auto], settings)
    benchmark.check_files(["one", "two"], [auto], settings)
    assert settings.options(auto, "two")["optimizer_options"] == {"portfolio": "none"}
    options = settings.options(auto, "one")
    assert options["optimizer_options"] == {"portfolio": str(tmp_path / "one.json")}
    assert "optimizer_options" not in settings.options(benchmark.CONTENDERS["random"], "one")


# ---- portfolios


@pytest.fixture(scope="module")
def pool() -> list[Any]:
    """The measured pool of configurations."""
    return portfolio_choice.read_pool(EXAMPLES / "default" / "portfolio_pool.csv")


def test_a_measured_pool_is_read(pool: list[Any], tmp_path: Path) -> None:
    assert {table.kind for table in pool} == {"classification", "regression"}
    for table in pool:
        assert [*table.evaluations] == [*range(len(portfolio.generic_pool(table.kind)))], table.name
    document = {"kind": "regression", "trials": [[0.25, 1.5, "success"], [None, 20.0, "timeout"]]}
    (tmp_path / "one.json").write_text(json.dumps(document))
    portfolio_choice.collect(tmp_path, tmp_path / "pool.csv")
    (found,) = portfolio_choice.read_pool(tmp_path / "pool.csv")
    assert (found.name, found.kind) == ("one", "regression")
    assert found.evaluations == {0: Evaluation(0.25, 1.5), 1: Evaluation(None, 20.0)}


def test_a_portfolio_does_not_depend_on_the_table_that_is_left_out(pool: list[Any]) -> None:
    left_out = next(table for table in pool if table.name == "kc1")
    others = portfolio_choice.tables_without(pool, left_out)
    assert not {"kc1", "pc4", "jm1"} & {table.name for table in others}
    assert {table.kind for table in others} == {"classification"}
    assert len(others) == sum(table.kind == "classification" for table in pool) - 3


def rounded(portfolio: Portfolio) -> list[list[dict[str, Any]]]:
    """Return the lists of a portfolio; the last bit of a draw on a log scale depends on the processor."""
    return [
        [
            {key: float(f"{value:.12g}") if isinstance(value, float) else value for key, value in each.items()}
            for each in some
        ]
        for some in portfolio.lists
    ]


def test_the_shipped_portfolio_is_that_of_the_pool(pool: list[Any]) -> None:
    for kind in portfolio_choice.SHIPPED:
        made = portfolio_choice.make_portfolio([table for table in pool if table.kind == kind], kind)
        shipped = read_portfolio(EXAMPLES.parent / "spaces" / f"{made.space}.portfolio.json")
        assert rounded(shipped) == rounded(made)
        lists = (("lightgbm", "xgboost"), ("lightgbm",), ("xgboost",), ())
        for packages, place in zip(lists, (0, 1, None, None), strict=True):
            table = make_table(*(each.head(150) for each in load_iris(return_X_y=True, as_frame=True)))
            bound = choose_default_space(table, packages).space.bind(n_samples=100, n_features=4)
            members = portfolio_members(made, Structures(bound.checked))
            wanted = [] if place is None else [each["estimator"] for each in made.lists[place]]
            assert [each["estimator"] for each in members] == wanted


def test_the_smallest_loss_is_that_of_what_fits_into_the_seconds() -> None:
    losses = {0: Evaluation(0.5, 1.0), 1: Evaluation(None, 1.0), 2: Evaluation(0.2, 2.0), 3: Evaluation(0.1, 9.0)}
    table = portfolio_choice.PoolTable("some", "classification", losses)
    found = [portfolio_choice.best_loss(table, [0, 1, 2, 3], seconds) for seconds in (0.5, 1.0, 4.0, 12.9, 13.0)]
    assert found == [None, 0.5, 0.2, 0.2, 0.1]


def test_the_order_without_a_portfolio_begins_with_the_cheapest_default(pool: list[Any]) -> None:
    table = next(table for table in pool if table.kind == "classification")
    order = portfolio_choice.order_without_portfolio(table, ())
    members = portfolio.generic_pool(table.kind)
    learners = [members[each]["estimator"] for each in order]
    assert not {"lightgbm", "xgboost"} & {*learners}
    assert len({*learners}) == len({*learners[: len({*learners})]}), "each learner's default comes first"
    seconds = [table.evaluations[each].seconds for each in order[: len({*learners})]]
    assert seconds == sorted(seconds)


def test_peers_have_a_function_and_a_requirements_file() -> None:
    others = {each.name: each.environment for each in benchmark.CONTENDERS.values() if each.environment}
    assert {*others} == {*peers.PEERS}
    folder = EXAMPLES / "default" / "peers"
    assert {path.stem for path in folder.glob("*.txt")} == {*others.values()}
    for name, environment in others.items():
        assert peers.PEERS[name][1] in (folder / f"{environment}.txt").read_text().replace("[automl]", "")


def test_peers_need_no_spacelang() -> None:
    code = "import sys; sys.modules['spacelang'] = None; import default.peers"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(EXAMPLES)})


def test_the_defaults_of_lightgbm_are_measured_like_any_peer(datasets: Path, tmp_path: Path) -> None:
    for name in LOADERS:
        split = benchmark.split_table(datasets / f"{name}.csv.gz", 0)
        task = single_run.RunTask("lightgbm", split.metric, split.classes, len(split.training), 1.0, 0)
        single_run.write_rows(tmp_path, split.training, split.test)
        fitted = peers.fit_lightgbm(task, single_run.read_rows(tmp_path, task))
        (predictions,) = fitted.predict().values()
        assert split.loss(np.array(predictions.tolist())) < 0.9 * split.constant_loss


# ---- analysis


def made_up(differences: np.ndarray, noise: float = 0.0, seeds: int = 2) -> pd.DataFrame:
    """Results in which the log losses of `auto` are those of `random` plus a difference for each table."""
    rng = np.random.default_rng(0)
    rows = []
    for place, difference in enumerate(differences):
        base = rng.normal(-2, 1)
        for seed in range(seeds):
            losses = {"random": base, "auto": base + difference + rng.normal(0, noise)}
            rows += [run_row(f"t{place}", name, seed, loss=np.exp(loss), floor=1e-9) for name, loss in losses.items()]
    return pd.DataFrame([asdict(row) for row in rows])


def test_a_constant_ratio_is_found_exactly() -> None:
    (found,) = analysis.compare_all(made_up(np.full(20, np.log(0.9))), "auto")
    assert (found.mean, found.low, found.high) == pytest.approx([np.log(0.9)] * 3)
    assert found.verdict == "ahead"
    assert found.detectable == pytest.approx(0)
    (turned,) = analysis.compare_all(made_up(np.full(20, np.log(0.9))), "random")
    assert turned.verdict == "behind"
    names, estimates = analysis.compute_ranks(made_up(np.full(20, np.log(0.9))))
    assert dict(zip(names, estimates.ranks.value[:, 0].tolist(), strict=True)) == {"auto": 1.0, "random": 2.0}


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=12))
def test_the_other_direction_has_the_other_sign(values: list[float]) -> None:
    rows = made_up(np.array(values))
    (one,), (other,) = analysis.compare_all(rows, "auto"), analysis.compare_all(rows, "random")
    assert one.mean == pytest.approx(np.mean(values))
    assert (one.mean, one.low, one.high) == pytest.approx((-other.mean, -other.high, -other.low), abs=0.03)
    assert one.low <= one.mean <= one.high
    assert one.detectable == pytest.approx(other.detectable)


@pytest.mark.parametrize("tables_number", [10, 20])
def test_the_intervals_contain_the_truth_and_the_power_is_that_claimed(tables_number: int) -> None:
    """95 % of 600 intervals are 570, with a standard error of 5; 80 % of 600 tests are 480, with one of 10.

    In the reduced form, 95 % of 200 are 190, with one of 3, and 80 % are 160, with one of 6.
    """
    rng = np.random.default_rng(tables_number)
    count = 600 if IS_FULL else 200
    samples = rng.gamma(2.0, 0.1, size=(count, tables_number)) - 0.2  # The mean is 0, and the distribution is skewed
    found = [analysis.compare(*map(series, (each, np.zeros(tables_number))), "other") for each in samples]
    assert np.mean([each.low <= 0 <= each.high for each in found]) > 0.9
    sizes = [analysis.detectable_difference(each) for each in rng.normal(0, 0.1, size=(count, tables_number))]
    shifted = rng.normal(np.mean(sizes), 0.1, size=(count, tables_number))
    power = np.mean(
        [analysis.compare(*map(series, (each, 0 * each)), "other").verdict != "within noise" for each in shifted]
    )
    assert power == pytest.approx(0.8, abs=0.07)


def series(values: np.ndarray) -> "pd.Series[Any]":
    return pd.Series(values, index=pd.MultiIndex.from_product([range(len(values)), [0]], names=["table", "seed"]))


def test_losses_below_the_floor_are_equal() -> None:
    rows = [
        run_row(f"t{place}", name, loss=loss) for place in range(4) for name, loss in (("auto", 0.0), ("random", 0.009))
    ]
    (found,) = analysis.compare_all(pd.DataFrame([asdict(row) for row in rows]), "auto")
    assert (found.mean, found.low, found.high) == (0, 0, 0)
    assert found.verdict == "within noise"


@given(st.lists(st.floats(0, 1), min_size=3, max_size=8), st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_losses_below_the_share_of_some_rows_are_not_told_apart(losses: list[float], others: list[float]) -> None:
    """A floor of 0.01 is half a row's share, so that 5 rows are 0.1, and 20 rows 0.4."""
    rows = [
        run_row(f"t{place}", name, loss=loss)
        for place, pair in enumerate(zip(losses, others, strict=False))
        for name, loss in zip(("auto", "random"), pair, strict=True)
    ]
    found = pd.DataFrame([asdict(row) for row in rows])
    for number, least in ((0.5, 0.01), (5, 0.1), (20, 0.4)):
        (comparison,) = analysis.compare_all(found, "auto", number)
        ratios = [log(max(one, least) / max(other, least)) for one, other in zip(losses, others, strict=False)]
        assert comparison.mean == pytest.approx(np.mean(ratios), abs=1e-9)
    (row,) = [*analysis.least_loss_table(found, "auto")][2:]
    assert row.rpartition(" | ")[2].startswith(f"{comparison.mean:.3f}")


def test_only_runs_that_both_have_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    rows = made_up(np.array([-0.1, -0.2, -0.3, 5.0]))
    partial = rows[~((rows["table"] == "t3") & (rows["contender"] == "random"))]
    (found,) = analysis.compare_all(partial, "auto")
    assert found.mean == pytest.approx(-0.2)
    assert [*found.differences.index] == ["t0", "t1", "t2"]
    assert "2 runs are missing" in "\n".join(analysis.report(partial, "auto"))


def test_contenders_with_fewer_seeds_are_compared_in_a_report_of_their_own() -> None:
    rows = made_up(np.array([-0.1, -0.2, -0.3, 5.0]))
    fewer = rows[(rows["contender"] == "random") & (rows["seed"] == 0)].assign(contender="tpe")
    results_of_three = pd.concat([rows, fewer])
    first, second = analysis.parts_with_equal_seeds(results_of_three, "auto")
    pd.testing.assert_frame_equal(first, rows)
    assert {*second["contender"]} == {"auto", "tpe"}
    assert {*second["seed"]} == {0}
    assert len(analysis.parts_with_equal_seeds(rows, "auto")) == 1
    assert len(analysis.parts_with_equal_seeds(results_of_three, "tpe")) == 1, "the base lacks a seed"


def test_the_headline_is_without_the_tables_that_parts_were_tuned_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = made_up(np.array([-0.1, -0.1, -0.1, -0.9]))
    rows["table"] = rows["table"].replace({"t3": "sylvine"})
    path = tmp_path / "results.csv"
    for row in rows.to_dict("records"):
        results.append_row(path, results.RunRow(**row))
    analysis.main([str(path)])
    headline, whole = capsys.readouterr().out.split("## After 60 s, on all tables; * parts were tuned on it")
    assert "3 tables, 2 seeds, 12 runs" in headline
    assert "| `random` | -0.100 [-0.100, -0.100] | 0.000 | 3 of 3 tables | ahead |" in headline
    assert "| `random` | -0.300 [" in whole
    assert "| sylvine* |" in whole
    analysis.main([str(path), "--without", "sylvine"])
    assert "all tables" not in capsys.readouterr().out
    for more, message in (
        (["--seconds", "300"], "there are no runs of 300 s"),
        (["--base", "x"], "there is no run of `x`"),
    ):
        with pytest.raises(SystemExit, match=message):
            analysis.main([str(path), *more])
