"""Two days of users, played: the scripts beside this file have them.

In the reduced form the beginning of the one and the evening of the other, with what is installed; in full all of them,
also from a fresh installation. Each command of the morning has tests of its own.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import day_of_a_data_scientist
import day_of_a_researcher
import pytest
from commands import spacelang
from days import Budget, Day, afresh, customers, loans


def shared(python: str, arguments: Sequence[str], folder: Path) -> tuple[int, str]:
    """As `afresh`, where heavy imports are shared by all commands."""
    if arguments[:2] != ("-m", "spacelang"):
        return afresh(python, arguments, folder)
    ended = spacelang(*arguments[2:], folder=folder)
    return ended.returncode, ended.stdout + ended.stderr


def test_a_data_scientist_comes_from_a_table_to_a_space(tmp_path: Path) -> None:
    customers(tmp_path / "churn.csv", rows=300)
    day = Day(tmp_path, runner=shared)
    day_of_a_data_scientist.begin(day)
    assert len(day.said) == 5


@pytest.mark.full
def test_a_data_scientist_comes_from_a_table_to_a_pipeline_in_use(tmp_path: Path) -> None:
    customers(tmp_path / "customers.csv", rows=300)
    loans(tmp_path / "loans.csv", rows=200)
    day = Day(tmp_path / "day", runner=shared)
    day.folder.mkdir()
    files = {"churn": tmp_path / "customers.csv", "credit": tmp_path / "loans.csv"}
    day_of_a_data_scientist.play(day, files, Budget(("--trials", "1"), ("--trials", "2")))
    assert len(day.said) == 28


def test_a_researcher_compares_and_hands_over(tmp_path: Path) -> None:
    day = Day(tmp_path, runner=shared)
    day.write("mine.space", day_of_a_researcher.SPACE)
    day_of_a_researcher.hand_over(day)
    assert len(day.said) == 5


@pytest.mark.full
@pytest.mark.parametrize("script", ["day_of_a_data_scientist", "day_of_a_researcher"])
def test_a_day_is_played_from_a_fresh_installation(script: str) -> None:
    path = Path(__file__).parent / f"{script}.py"
    ended = subprocess.run([sys.executable, path, "--seconds", "15"], check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
