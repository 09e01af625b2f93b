"""A short form of the suite: some kills, and the rows of the long form. `torture.py` has all faults, also for peers."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import soak
from faults import FAULTS
from searches import Run, tools
from torture import COLUMNS, RESULTS, describe, read_rows


@pytest.mark.parametrize(
    ("fault", "kills", "trials"),
    [
        ("kill -9 of the command", 2, 8),
        ("kill -9 of a worker and its parents", 5, 25),
        pytest.param("kill -9 of a worker and its parents", 12, 60, marks=pytest.mark.full),
        pytest.param("kill -9 of a worker", 12, 60, marks=pytest.mark.full),
    ],
)
def test_kills_lose_no_result(tmp_path: Path, fault: str, kills: int, trials: int) -> None:
    spacelang, *_ = tools(tmp_path)
    losses = Run(spacelang, fault, kills, trials, tmp_path).perform()
    assert losses.struck
    assert losses.stored == trials
    assert (losses.lost, losses.wrong, losses.restarts, losses.hangs, losses.left) == (0, 0, 0, 0, 0)
    # A trial that is killed three times is taken for the cause; that the same one is hit so often is unlikely.
    assert losses.blamed <= 1


def test_spacelang_has_lost_nothing_in_the_stored_results() -> None:
    rows = [row for row in read_rows(RESULTS) if row["tool"] == "spacelang"]
    assert {row["fault"] for row in rows} <= {*FAULTS}
    assert rows
    assert all(tuple(row) == COLUMNS for row in rows)
    assert all((row["lost"], row["wrong"], row["left"]) == ("0", "0", "0") for row in rows)


def test_a_row_says_what_was_lost() -> None:
    row = dict.fromkeys(COLUMNS, "0") | {"struck": "20", "lost": "2", "left": "1", "note": "the command waits"}
    assert describe(row) == "20: 2 lost, 1 left; the command waits"
    assert describe(row | {"struck": "1", "lost": "0", "left": "0", "note": ""}) == "nothing"
    assert describe(None) == "-"


def test_a_measurement_of_the_soak_is_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["random", "--interfaces", "ask_and_tell", "--trials", "30", "--output", str(tmp_path / "soak.csv")]
    soak.main(arguments)
    rows = soak.read_rows(tmp_path / "soak.csv")
    assert [(row["trials"], row["is_last"]) for row in rows] == [("10", ""), ("30", "yes")]
    assert capsys.readouterr().out.count("random") == 2
    soak.main(arguments)
    assert capsys.readouterr().out == ""
