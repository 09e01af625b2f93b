"""The contests in `examples`: what their scripts share and what each makes of it, on a space that takes no time."""

import json
import runpy
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu

from spacelang.runtime.scoring import unseen_scores

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = ("one", "two", "three")
SPACE = "stage s = none | StandardScaler\nstage e = GaussianNB | DecisionTreeClassifier { max_depth: int[1, 9] = 3 }\n"

Script = Callable[[str], dict[str, Any]]


@pytest.fixture
def contests(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """What the scripts share; of those that are not installed no candidate is one here."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return import_module("contests")


@pytest.fixture
def reports(contests: ModuleType) -> ModuleType:
    return import_module("contest_reports")


@pytest.fixture
def pairs(contests: ModuleType) -> ModuleType:
    return import_module("paired_differences")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tiny.space").write_text(SPACE, encoding="utf-8")
    rng = np.random.default_rng(0)
    for place, name in enumerate(DATA):
        features = rng.normal(size=(60 + 10 * place, 2))
        noisy = features.sum(axis=1) + rng.normal(0, 0.5, len(features)) > 0
        table = pd.DataFrame(features, columns=["a", "b"]).assign(target=np.where(noisy, "yes", "no"))
        table.to_csv(tmp_path / f"{name}.csv.gz", index=False)
    pd.DataFrame({"name": [*DATA, "large"], "rows": [60, 70, 80, 10_000]}).to_csv(tmp_path / "MANIFEST.csv")
    return tmp_path


def in_this_process(contest: ModuleType, folder: Path, candidates: Sequence[Any], **more: Any) -> Any:
    told = {"workers": 0, "trials": 4}
    data = contest.find_data_sets(folder, DATA[:2])
    return contest.Contest(str(folder / "tiny.space"), tuple(candidates), data, range(1), 60.0, told, **more)


def run(contests: ModuleType, data: str, candidate: str, *curve: tuple[float, float, float], **more: Any) -> Any:
    return contests.Run(data, candidate, 0, curve, 10, 0, **more)


def test_a_contest_is_made_told_and_not_made_again(
    contests: ModuleType,
    reports: ModuleType,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for few in ("MAX_RESAMPLES", "MIN_RESAMPLES"):  # they are most of the time, and nothing here looks at them
        monkeypatch.setattr(unseen_scores, few, 2)
    candidates = [contests.Candidate("random", "random"), contests.Candidate("some", "random", ensemble_size=2)]
    contest = in_this_process(contests, folder, candidates)
    runs = contests.make_runs(contest, folder / "out", 1)
    assert len(runs) == len(list((folder / "out").glob("*.db"))) == 4
    for each in runs:
        assert each.trials == 4
        assert [loss for _, loss, _ in each.curve] == sorted((loss for _, loss, _ in each.curve), reverse=True)
        *earlier, (_, _, tested) = each.curve
        assert 0 <= tested <= 1
        assert all(lost is None for _, _, lost in earlier), "of the incumbents of a tenth only the last is scored"
        assert (each.ensemble is None) == (each.candidate == "random")
    found = reports.report(contest, runs, "random")
    assert found["on test rows"].ranks.value.shape == (3, 10), "the ensembles are candidates of their own"
    np.testing.assert_allclose(found["in the search"].ranks.value[:, -1], 2.0), "all of them are the same search"
    printed = capsys.readouterr().out
    assert "some + ensemble" in printed
    assert "within noise" in printed
    assert "too few" in printed
    monkeypatch.setattr(contests, "_search", None)
    assert contests.make_runs(contest, folder / "out", 1) == runs


def test_what_a_run_had_at_some_time(contests: ModuleType, tmp_path: Path) -> None:
    one = run(contests, "one", "random", (3.0, 0.5, 0.6), (7.0, 0.2, 0.4), ensemble=0.1)
    assert np.isnan(one.losses_at(2.9)).all()
    assert one.losses_at(3.0) == (0.5, 0.6)
    assert one.losses_at(100.0) == (0.2, 0.4)
    assert one.with_ensemble().losses_at(100.0) == (0.2, 0.1)
    assert one.with_ensemble().losses_at(5.0) == (0.5, 0.6)
    one.write(tmp_path / "run.json")
    assert contests.Run.read(tmp_path / "run.json") == one
    assert json.loads((tmp_path / "run.json").read_text())["seed"] == 0


def test_there_are_no_ranks_of_times_at_which_a_run_is_not_known(
    contests: ModuleType, reports: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run without a loss by then is behind all others, one of which nobody knows whether it had any is not ranked."""
    contest = in_this_process(contests, folder, [contests.Candidate(name, name) for name in ("random", "blds")])
    runs = [run(contests, data, name, (30.0, 0.5, 0.5)) for data in ("one", "two") for name in ("random", "blds")]
    reports.report(contest, runs, "random")
    assert f"{6:>7}{12:>7}" in capsys.readouterr().out
    late = replace(runs[0], curve=((60.0, 0.5, 0.5),))
    reports.report(contest, [late, *runs[1:]], "random")
    said = capsys.readouterr().out
    assert "1 run has only a final loss" in said
    assert f"{6:>7}{12:>7}" not in said


def test_runs_come_back_from_their_rows_and_are_not_made_again(
    contests: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contest = in_this_process(contests, folder, [contests.Candidate("random", "random")], results=folder / "rows.csv")
    runs = [
        run(contests, "one", "random", (3.0, 0.5, 0.6), (7.0, 1 / 3, None), ensemble=0.1, counts={"arms": 3}),
        run(contests, "two", "random", reason="all failed", counts={"arms": 0}),
        run(contests, "three", "another", (1.0, 0.5, 0.5), counts={"arms": 1}),
    ]
    pd.DataFrame([each.row for each in runs]).to_csv(contest.results, index=False)
    assert contests.read_rows(contest.results, 60.0) == runs
    monkeypatch.setattr(contests, "_search", None)
    assert contests.make_runs(contest, folder / "out", 1) == runs[:2]
    less = pd.read_csv(contest.results).drop(columns=["curve", "reason"])
    less.to_csv(contest.results, index=False)
    assert contests.make_runs(contest, folder / "out", 1)[0].curve == ((60.0, 1 / 3, None),), "known at the end alone"


def test_what_is_made_is_added_to_the_rows(contests: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = run(contests, "one", "random", (3.0, 0.5, 0.6))
    contest = in_this_process(contests, folder, [contests.Candidate("random", "random")], results=folder / "rows.csv")
    pd.DataFrame([known.row]).to_csv(contest.results, index=False)
    monkeypatch.setattr(
        contests, "_search", lambda request, _: run(contests, request.label, "random", (1.0, 0.25, 0.5))
    )
    runs = contests.make_runs(contest, folder / "out", 1)
    assert runs == [known, run(contests, "two", "random", (1.0, 0.25, 0.5))]
    assert contests.read_rows(contest.results, 60.0) == runs


def test_differences_of_ranks_are_those_of_whom_they_are_said(contests: ModuleType, reports: ModuleType) -> None:
    contest = contests.Contest("s", (), (), range(1), 10.0)
    runs = [
        run(contests, data, name, (1.0, loss, loss))
        for data in DATA
        for name, loss in (("good", 0.1), ("random", 0.3), ("bad", 0.5))
    ]
    found = reports.report(contest, runs, "random")["on test rows"]
    names = ("good", "random", "bad")
    assert found.ranks.value[:, -1].tolist() == [1, 2, 3]
    assert reports.get_rank_difference(found, names, "good", "random")[0] == -1
    assert reports.get_rank_difference(found, names, "bad", "random")[0] == 1
    low, high = reports.get_rank_difference(found, names, "bad", "good")[1:]
    assert low <= 2 <= high


def test_what_has_no_loss_is_as_bad_as_the_worst(contests: ModuleType, reports: ModuleType) -> None:
    contest = contests.Contest("s", (), (), range(1), 10.0)
    runs = [run(contests, "one", "a", (6.0, 3.0, 4.0)), run(contests, "one", "b", reason="all failed")]
    losses = reports._collect_losses(contest, runs, (("one",), ("a", "b")), 1)
    assert losses.shape == (1, 2, 1, 10)
    assert losses[0, 0, 0].tolist() == [4.0] * 10
    assert losses[0, 1, 0].tolist() == [4.0] * 10
    assert reports._collect_losses(contest, runs, (("one",), ("a", "b")), 0)[0, 1, 0, 0] == 3.0


def test_who_cannot_take_part_is_named(contests: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    known = contests.Candidate("random", "random")
    others = [
        contests.Candidate("x", "no_such_optimizer"),
        contests.Candidate("y", "random", {"no_such_option": "1"}),
        contests.Candidate("z", "random", extra="no_such_package"),
    ]
    assert contests.select_available([known, *others]) == (known,)
    told = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in told] == ["skipped x", "skipped y", "skipped z"]
    assert "spacelang[no_such_package]" in told[2]


def test_the_largest_of_the_small_sets_are_taken(contests: ModuleType, folder: Path) -> None:
    assert contests.choose_small_data_sets(folder, 2, rows=100) == ("three", "two")
    with pytest.raises(SystemExit, match=r"do not exist: .*missing\.csv\.gz"):
        contests.find_data_sets(folder, ["one", "missing"])
    with pytest.raises(SystemExit, match="name data sets with --data"):
        contests.choose_small_data_sets(folder / "elsewhere")


def test_data_sets_with_runs_that_do_not_count_are_left_out(
    contests: ModuleType, reports: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contest = contests.Contest("s", (), contests.find_data_sets(folder, DATA), range(1), 10.0)
    runs = [run(contests, data, name, (1.0, 0.5, 0.5)) for data in DATA for name in ("mosaic", "random")]
    part = runpy.run_path(str(EXAMPLES / "mosaic_paper" / "compare.py"))["make_parts"](None)["variants"]
    enough = [contests.replace(each, trials=200) if each.data != "two" else each for each in runs]
    included = reports.report_part(part, contest, enough)
    assert {each.data for each in included} == {"one", "three"}
    printed = capsys.readouterr().out
    assert "200 trials; 1 of 6 runs are excluded" in printed
    assert "two, mosaic, seed 0: 10 trials" in printed
    assert "s: 2 data sets" in printed
    assert reports.report_part(part, contest, runs) == []
    assert "data sets, 1 seeds" not in capsys.readouterr().out, "nothing is left"


def test_what_is_missing_is_named_and_only_the_complete_is_reported(
    contests: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = runpy.run_path(str(EXAMPLES / "blds_paper" / "large_tables.py"))
    names = [each.name for each in script["CANDIDATES"]]
    made = [
        run(contests, data, name, (1.0, 0.4, 0.3 + 0.01 * place), counts={"ms on all rows": 30, "ms on 100 rows": 10})
        for data in DATA
        for place, name in enumerate(names)
    ]
    output = folder / "out"
    for each in (*made[:15], replace(made[0], seed=1)):
        request = contests.RunRequest(
            contests.Contest("blds_table1", (), (), range(0), 2.0),
            contests.Candidate(each.candidate, "random"),
            folder / f"{each.data}.csv.gz",
            each.seed,
        )
        output.mkdir(exist_ok=True)
        each.write(request.summary_path(output))
    monkeypatch.setattr(contests, "_search", None)
    told = [str(folder), "--output", str(output), "--results", str(folder / "rows"), "--report", "--seconds", "2"]
    told += [part for name in DATA for part in ("--data", name)]
    script["main"]([*told, "--seeds", "1"])
    printed = capsys.readouterr().out
    assert "6 of 21 runs are missing" in printed
    assert f"  three: {'; '.join(f'{name}, seed 0' for name in names[1:])}" in printed
    assert "blds_table1: 2 data sets, 1 seeds" in printed
    assert "| `random` | -0." in printed
    assert [line for line in printed.splitlines() if ", ratio" in line] == [
        f"{data}: 10 ms on 100 rows, 30 ms on all, ratio 3.0" for data in DATA[:2]
    ]
    assert len(contests.read_rows(folder / "rows" / "large_tables_2s.csv", 2.0)) == 15
    script["main"](told)
    printed = capsys.readouterr().out
    assert "numbers of seeds that are complete, for `--seeds`: one: 1, two: 1" in printed
    assert "nothing to compare" in printed
    assert "mean rank" not in printed


def test_every_part_of_the_papers_can_run(contests: ModuleType, reports: ModuleType) -> None:
    parts = [runpy.run_path(str(EXAMPLES / "blds_paper" / "large_tables.py"))["PART"]]
    for name in ("boasf_paper/compare", "admm_paper/real_data"):
        parts += runpy.run_path(str(EXAMPLES / f"{name}.py"))["PARTS"].values()
    parts += runpy.run_path(str(EXAMPLES / "mosaic_paper" / "compare.py"))["make_parts"]("archive.json").values()
    for part in parts:
        names = [each.name for each in part.candidates]
        assert len({*names}) == len(names)
        assert part.base in names
        assert {each.removesuffix(contests.ENSEMBLE) for each in part.compared} <= {*names}
        assert not [each.missing_reason for each in part.candidates if each.missing_reason and not each.extra]


@pytest.mark.parametrize(
    ("script", "files"),
    [
        ("boasf_paper/compare", {"rf_2s.csv": 2, "lr_2s.csv": 2, "models_2s.csv": 4, "grid_2s.csv": 16}),
        ("mosaic_paper/compare", {"2s.csv": 5, "widening_2s.csv": 9, "draws_2s.csv": 3}),
    ],
)
def test_scripts_make_and_report_all_parts(
    contests: ModuleType,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    script: str,
    files: dict[str, int],
) -> None:
    main = runpy.run_path(str(EXAMPLES / f"{script}.py"))["main"]
    monkeypatch.setattr(contests, "find_spec", lambda _: True)
    monkeypatch.setattr(
        contests, "_search", lambda request, _: contests.Run(*request.key, ((1.0, 0.4, 0.3),), 500, 0, {"arms": 9})
    )
    told = [str(folder), "--output", str(folder / "out"), "--results", str(folder / "rows"), "--data", "one"]
    told += ["--archive", "archive.json"] if "mosaic" in script else []
    main([*told, "--seconds", "2", "--seeds", "1", "--jobs", "1"])
    assert {path.name: len(pd.read_csv(path)) for path in (folder / "rows").iterdir()} == files
    printed = capsys.readouterr().out
    assert printed.count(" compared with | mean log ratio") == len(files) + ("mosaic" in script)
    assert printed.count("; 0 of ") == len(files)


def test_arms_that_left_the_start_are_counted(contests: ModuleType) -> None:
    script = runpy.run_path(str(EXAMPLES / "boasf_paper" / "compare.py"))
    few = run(contests, "one", "boasf", (1.0, 0.5, 0.5), counts={"arms": 8, script["ARMS_WITH_MODEL"]: 2})
    assert script["find_shortfall"](few) == "2 arms left the start"
    assert not script["find_shortfall"](contests.replace(few, counts={"arms": 8, script["ARMS_WITH_MODEL"]: 3}))
    assert not script["find_shortfall"](run(contests, "one", "tpe", (1.0, 0.5, 0.5)))


def test_arms_are_those_of_the_target(contests: ModuleType, folder: Path) -> None:
    import spacelang as sl

    script = runpy.run_path(str(EXAMPLES / "boasf_paper" / "compare.py"))
    table = pd.read_csv(folder / "one.csv.gz")
    how = {"trials": 50, "workers": 0, "optimizer": "random", "seed": 0}
    result = sl.search(str(folder / "tiny.space"), table.drop(columns="target"), table["target"], **how)
    estimators = result.trials["param_e"].tolist()
    found = script["count_arms"](result, "models", str(folder / "tiny.space"))
    assert found["arms"] == 2
    assert found[script["ARMS_WITH_MODEL"]] == sum(estimators.count(name) > 20 for name in set(estimators))


def test_losses_on_test_rows_are_compared_in_pairs(contests: ModuleType, pairs: ModuleType, folder: Path) -> None:
    runs = [
        contests.Run(data, name, seed, ((1.0, 0.9, loss),), 10, 0)
        for data in DATA
        for seed in (0, 1)
        for name, loss in (("good", 0.1), ("random", 0.2))
    ]
    unfinished = replace(runs[1], seed=2, curve=())
    [heading, _, row] = pairs.comparison_lines([*runs, replace(runs[0], seed=2), unfinished], "good", {})
    assert heading.startswith("| `good` compared with |")
    by_table = [np.mean([np.log(0.5), np.log(0.5), np.log(0.1 / 0.5)]), np.log(0.5), np.log(0.5)]
    assert row.split(" | ")[1].startswith(f"{np.mean(by_table):.3f}")
    floors = pairs.find_floors(contests.find_data_sets(folder, ["one"]))
    assert floors == {"one": 0.5 / 12}, "60 rows, a fifth of them for the test"
    nothing = [replace(run, curve=((1.0, 0.9, 0.0),)) if run.candidate == "good" else run for run in runs[:2]]
    [*_, row] = pairs.comparison_lines(nothing, "good", floors)
    assert f"| {np.log(0.5 / 12 / 0.2):.3f} |" in row


@pytest.mark.parametrize("ties", [False, True])
def test_mann_whitney_is_exact(pairs: ModuleType, ties: bool) -> None:
    one, other = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]
    if ties:
        one, other = [1.0] * 3, [2.0] * 3
    assert pairs.mann_whitney(one, other) == pairs.mann_whitney(other, one) == 2 / 20
    assert pairs.mann_whitney(one, one) == 1
    assert pairs.mann_whitney([1, 4, 2, 6], [3, 7, 5, 8]) == mannwhitneyu([1, 4, 2, 6], [3, 7, 5, 8]).pvalue


def test_results_files_are_compared(
    contests: ModuleType, pairs: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        contests.Run(data, name, seed, ((1.0, 0.5, loss + 0.01 * seed),), 10, 0, ensemble=0.05 if name == "a" else None)
        for data, name, seed, loss in (
            (data, name, seed, loss) for data in DATA for name, loss in (("a", 0.1), ("b", 0.3)) for seed in range(4)
        )
    ]
    for place, part in enumerate((runs[:8], runs[8:-1])):
        pd.DataFrame([run.row for run in part]).to_csv(folder / f"{place}.csv", index=False)
    files = [str(folder / "0.csv"), str(folder / "1.csv")]
    pairs.main([str(folder), *files, "--base", "a", "--mann-whitney"])
    printed = capsys.readouterr().out
    assert "three: b, seed 3" in printed
    assert "2 data sets, 24 runs: one, two" in printed
    assert "| `b` | 2 | 0 | 0 | one 0.029, two 0.029 |" in printed
    assert "| `a + ensemble` | 0 | 2 | 0 |" in printed
    pairs.main([str(folder), files[0], "--base", "b", "--seeds", "3", "--mann-whitney"])
    assert (
        "of 3 seeds cannot be significant, because the smallest possible p is 0.1: use at least 4 seeds"
        in capsys.readouterr().out
    )
    with pytest.raises(SystemExit, match="there is no run of `c`; choose another --base: a, b"):
        pairs.main([str(folder), *files, "--base", "c"])
    with pytest.raises(SystemExit, match=r"do not exist: .*none\.csv"):
        pairs.main([str(folder), str(folder / "none.csv"), "--base", "a"])


def test_costs_of_trials_are_measured_by_their_number_of_rows(contests: ModuleType, folder: Path) -> None:
    import spacelang as sl

    script = runpy.run_path(str(EXAMPLES / "blds_paper" / "large_tables.py"))
    table = pd.read_csv(folder / "three.csv.gz")
    how = {"trials": 5, "workers": 0, "optimizer": "random"}
    result = sl.search(str(folder / "tiny.space"), table.drop(columns="target"), table["target"], **how)
    seconds = [record.trial.cost for record in result.outcome.records]
    assert script["measure_costs"](result) == {"ms on all rows": round(1000 * float(np.median(seconds)), 1)}
    records = result.outcome.records
    few = [
        replace(
            each, trial=replace(each.trial, cost=each.trial.cost / 4, request=replace(each.trial.request, fidelity=100))
        )
        for each in records[:3]
    ]
    both = script["measure_costs"](SimpleNamespace(outcome=replace(result.outcome, records=(*records, *few))))
    assert both["cost ratio"] == 4
