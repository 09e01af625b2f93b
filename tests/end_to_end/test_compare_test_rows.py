"""`spacelang compare --test`: optimizers are judged by rows that no trial saw, each run's winner once."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import document, write_spaces
from sklearn.datasets import load_wine

import spacelang as sl
from spacelang.bench import comparison_data, run_comparison
from spacelang.bench.comparison import plots
from spacelang.cli import main
from spacelang.report.trial_results import document_of_test_score
from spacelang.runtime.scoring import unseen_scores

Here = Callable[..., CompletedProcess[str]]

COMPARE = ("compare", "tiny.space", "-d", "sklearn:wine", "--workers", "0", "--trials", "3", "--repeats", "2")
TESTED = (*COMPARE, "--optimizers", "random,lds", "--test", "0.3", "-o", "out", "--json")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plots, "can_draw_plots", lambda: False)
    monkeypatch.setattr(unseen_scores, "MAX_RESAMPLES", 20)
    monkeypatch.setattr(unseen_scores, "MIN_RESAMPLES", 20)
    write_spaces(tmp_path)
    return tmp_path


@pytest.fixture
def here(folder: Path, capsys: pytest.CaptureFixture[str]) -> Here:
    """Run a command in this process: one of its own would import everything anew each time."""

    def run(*arguments: str) -> CompletedProcess[str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        shown = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        assert "Traceback" not in shown.err
        return CompletedProcess(arguments, ended.value.code, shown.out, shown.err)

    return run


def scores(found: dict[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    return {(run["optimizer"], run["seed"]): run["test"] for run in found["runs"]}


def test_winners_are_scored_as_a_search_of_their_seed_scores_its_own(here: Here) -> None:
    found = document(here(*TESTED))
    features, labels = load_wine(return_X_y=True, as_frame=True)
    for optimizer, seed in (("random", 0), ("lds", 1)):
        alone = sl.search("tiny.space", features, labels, optimizer=optimizer, trials=3, seed=seed, workers=0, test=0.3)
        best = alone.outcome.best
        assert best is not None
        assert alone.test is not None
        assert scores(found)[optimizer, seed] == {**document_of_test_score(alone.test), "reported": best.trial.loss}
    losses = found["test"]["losses"]["sklearn:wine"]["lds"]
    assert losses["mean"] == pytest.approx(np.mean([scores(found)["lds", seed]["loss"] for seed in (0, 1)]))
    assert losses["optimism"] == pytest.approx(losses["mean"] - losses["reported"])
    assert losses["low"] is None, "two seeds tell nothing of others"


def test_the_text_says_by_what_optimizers_are_judged(here: Here) -> None:
    ended = here(*TESTED[:-1], "--verbose")
    assert ended.returncode == 0
    assert "Optimizers are judged by test rows that no trial saw" in ended.stdout
    assert "(the loss is 1 - balanced_accuracy) of the winners, mean over 2 seeds" in ended.stdout
    assert "ranks at the end by rows that no trial saw" in ended.stdout
    assert "on rows that no trial saw, over 1 data set and 2 seeds" in ended.stdout.splitlines()[-1]


def test_what_is_kept_is_not_scored_again(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    first = document(here(*TESTED))
    monkeypatch.setattr(comparison_data, "fit_and_score_winner", pytest.fail)
    again = here(*TESTED)
    assert "4 of 4 runs were already done" in again.stderr
    assert document(again) == first


def test_a_run_that_was_stopped_while_it_was_scored_is_scored_later(
    here: Here, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = document(here(*TESTED))
    finish = comparison_data.fit_best_pipeline
    left = [2]

    def stopped(*given: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return finish(*given, **named)

    monkeypatch.setattr(comparison_data, "fit_best_pipeline", stopped)
    command = [*TESTED]
    command[command.index("out")] = "other"
    assert here(*command).returncode == 130
    ended = here(*command)
    assert "1 of 4 runs were already done" in ended.stderr
    assert scores(document(ended)) == scores(whole)


def test_other_test_rows_make_another_comparison(here: Here) -> None:
    assert here(*TESTED).returncode == 0
    for changed, told in (
        (["--test", "0.2"], "test rows: 0.3 of the rows in the folder, 0.2 of the rows now"),
        ([], "test rows: 0.3 of the rows in the folder, none now"),
    ):
        ended = here(*COMPARE, "--optimizers", "random,lds", *changed, "-o", "out")
        assert ended.returncode == 1
        assert "`out` contains another comparison" in ended.stderr
        assert told in ended.stderr


def test_the_runs_of_a_seed_are_known_by_the_rows_that_it_leaves(here: Here, folder: Path) -> None:
    here(*TESTED)
    runs = folder / "out" / "runs"
    (runs / "sklearn%3Awine@lds@0.db").write_bytes((runs / "sklearn%3Awine@lds@1.db").read_bytes())
    ended = here(*TESTED)
    assert ended.returncode == 1
    assert "should contain the run of sklearn:wine, lds, seed 0, but contains another run" in ended.stderr


def test_other_rows_may_be_a_file_or_given_in_python(here: Here, folder: Path) -> None:
    features, labels = load_wine(return_X_y=True, as_frame=True)
    rows = np.random.default_rng(0).permutation(len(labels))
    whole = pd.concat([features, labels], axis=1).iloc[rows].reset_index(drop=True)
    whole[:100].to_csv("seen.csv", index=False)
    whole[100:].to_csv("others.csv", index=False)
    command = ("compare", "tiny.space", "-d", "seen.csv", "--workers", "0", "--trials", "2", "--optimizers", "random")
    found = document(here(*command, "--repeats", "1", "--test", "others.csv", "-o", "out", "--json"))
    told = found["runs"][0]["test"]
    assert told["rows"] == 78
    others = (whole[100:][features.columns], whole[100:]["target"])
    data = {"seen": (whole[:100][features.columns], whole[:100]["target"])}
    same = run_comparison.compare("tiny.space", data, ["random"], repeats=1, trials=2, workers=0, test=others)
    assert same.runs["loss_test"].tolist() == pytest.approx([told["loss"]])
    assert same.runs["loss_reported"].tolist() == pytest.approx([told["reported"]])


MISTAKES = {
    "a table": (("-d", "table:one.npz", "--test", "0.3"), "has no rows, so no test rows can be reserved"),
    "rows of several data sets": (
        ("-d", "sklearn:wine", "-d", "sklearn:iris", "--test", "sklearn:wine"),
        "the same test rows cannot be used for 2 data sets",
    ),
    "no share": (("-d", "sklearn:wine", "--test", "1.5"), "must be between 0 and 1, not 1.5"),
    "no file": (("-d", "sklearn:wine", "--test", "nowhere.csv"), "the file `nowhere.csv` does not exist"),
    "other columns": (("-d", "sklearn:wine", "--test", "sklearn:iris"), "the columns of `sklearn:iris` differ"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_before_anything_is_made(here: Here, folder: Path, mistake: str) -> None:
    arguments, telling = MISTAKES[mistake]
    axes = np.array(['["none", "StandardScaler"]', '["GaussianNB"]'])
    np.savez("one.npz", loss=np.full((2, 1, 1), 0.5), cost=np.ones((2, 1, 1)), sizes=np.array([100]), axes=axes)
    before = {path.name for path in folder.iterdir()}
    ended = here("compare", "tiny.space", "--optimizers", "random", *arguments, "-o", "out")
    assert ended.returncode in {1, 2}
    assert telling in ended.stderr
    assert ended.stdout == ""
    assert {path.name for path in folder.iterdir()} == before
