"""What the days of users are made of: commands with their seconds and lines, files that are edited, tables made up.

A day is a script. By itself it installs the package afresh, or takes what is installed with `--here`, plays the day
in a folder of its own and prints what each command took; a test plays it, too.
"""

import argparse
import os
import re
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeAlias

import numpy as np
import pandas as pd

REPOSITORY = Path(__file__).parents[2]
PATIENCE = 600.0
"""Seconds after which a command has hung."""


@dataclass(frozen=True)
class Said:
    """What a command took, and how many lines it printed."""

    command: str
    seconds: float
    lines: int


Runner: TypeAlias = Callable[[str, Sequence[str], Path], tuple[int, str]]
"""Runs a Python with arguments in a folder: its status, and what it printed on both streams."""


def afresh(python: str, arguments: Sequence[str], folder: Path) -> tuple[int, str]:
    """In a process of its own."""
    command = [python, *arguments]
    ended = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False)
    return ended.returncode, ended.stdout + ended.stderr


@dataclass
class Day:
    """A user at work in a folder, with the Python in which spacelang is installed."""

    folder: Path
    python: str = sys.executable
    runner: Runner = afresh
    said: list[Said] = field(default_factory=list)

    def spacelang(self, *arguments: str, status: int = 0) -> str:
        """What a command of spacelang prints, both streams; it ends with the status and never shows a traceback."""
        return self._noted(f"spacelang {' '.join(arguments)}", ("-m", "spacelang", *arguments), self.folder, status)

    def run_python(self, what: str, *arguments: str, cwd: str = "") -> str:
        """What Python prints in a folder, told as `what`."""
        return self._noted(what, arguments, self.folder / cwd, 0)

    def write(self, name: str, text: str) -> None:
        """A file, with its folders."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def edit(self, name: str, *changes: tuple[str, str], to: str = "") -> None:
        """Replace texts of a file, each of which stands there; in place, or as another file."""
        text = (self.folder / name).read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text, f"{name} has no `{old}`:\n{text}"
            text = text.replace(old, new, 1)
        (self.folder / (to or name)).write_text(text, encoding="utf-8")

    @contextmanager
    def beside(self, *arguments: str) -> Iterator[None]:
        """A command that goes on while other things are done, and is waited for at the end."""
        started, command = time.perf_counter(), [self.python, "-m", "spacelang", *arguments]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(command, cwd=self.folder, encoding="utf-8", **streams) as process:
            yield
            out, _ = process.communicate(timeout=PATIENCE)
        self._note(f"spacelang {' '.join(arguments)}", started, (process.returncode, out), 0)

    def tell(self) -> str:
        """A table of all commands."""
        rows = [f"{each.seconds:8.1f} {each.lines:6d}  {each.command[:100]}" for each in self.said]
        seconds, lines = sum(each.seconds for each in self.said), sum(each.lines for each in self.said)
        return "\n".join([" seconds  lines  command", *rows, f"{seconds:8.1f} {lines:6d}  {len(rows)} commands"])

    def _noted(self, command: str, arguments: Sequence[str], folder: Path, status: int) -> str:
        started = time.perf_counter()
        return self._note(command, started, self.runner(self.python, arguments, folder), status)

    def _note(self, command: str, started: float, ended: tuple[int, str], status: int) -> str:
        found, out = ended
        assert "Traceback" not in out, f"{command}\n{out}"
        assert found == status, f"{command} ended with {found}, not {status}:\n{out}"
        self.said.append(Said(command, time.perf_counter() - started, len(out.splitlines())))
        return out


@dataclass(frozen=True)
class Budget:
    """What a run may spend, as options say it, and what it may spend when it goes on."""

    first: tuple[str, str]
    more: tuple[str, str]


class Play(Protocol):
    """What plays a day: in it, on these files, with the budget of each run."""

    def __call__(self, day: Day, files: Mapping[str, Path], budget: Budget) -> None: ...


def main(play: Play, doc: str, files: Mapping[str, Callable[[Path], None]]) -> None:
    """Play a day from the command line: on the files that are named, or on others that are made up."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--here", action="store_true", help="with what is installed, not afresh")
    parser.add_argument("--seconds", type=int, default=60, help="of each run")
    for name in files:
        parser.add_argument(f"--{name}", type=Path, help="a .csv file, its labels in the column `target`")
    options = parser.parse_args()
    with TemporaryDirectory() as made:
        folder = Path(made)
        python = sys.executable if options.here else installed(folder / "fresh")
        given = {name: getattr(options, name) or _made(make, folder / f"{name}.csv") for name, make in files.items()}
        day = Day(folder / "day", python)
        day.folder.mkdir()
        try:
            budget = Budget(("--time", f"{options.seconds}s"), ("--time", f"{2 * options.seconds}s"))
            play(day, {name: path.resolve() for name, path in given.items()}, budget)
        finally:
            print(day.tell() if day.said else "nothing was done")


def installed(folder: Path) -> str:
    """The Python of a new environment with the package and what tests of optimizers and exports need."""
    venv.create(folder, with_pip=True)
    python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
    extras = f"{REPOSITORY}[testing,optuna,smac,plots,skops]"
    subprocess.run([python, "-m", "pip", "install", "--quiet", extras], check=True)
    return python


def _made(make: Callable[[Path], None], path: Path) -> Path:
    make(path)
    return path


def customers(path: Path, rows: int = 500) -> None:
    """Customers who leave, or do not: numbers, some missing, categories, and a column that says who each is."""
    rng = np.random.default_rng(0)
    months = rng.integers(1, 72, rows)
    contract = rng.choice(["month", "year", "two years"], rows, p=[0.55, 0.25, 0.2])
    charge = np.round(rng.uniform(20, 120, rows), 2)
    leaves = 1.5 * (contract == "month") - 0.04 * months + 0.015 * charge + rng.normal(0, 0.7, rows) > 0.6
    table = pd.DataFrame(
        {
            "customer": [f"C-{number:05d}" for number in rng.permutation(rows)],
            "months": months,
            "contract": contract,
            "payment": rng.choice(["card", "check", "transfer"], rows),
            "charge": charge,
            "total": np.where(rng.random(rows) < 0.03, np.nan, months * charge),
            "target": np.where(leaves, "Yes", "No"),
        }
    )
    table.to_csv(path, index=False)


def loans(path: Path, rows: int = 400) -> None:
    """Loans that are paid back, or not."""
    rng = np.random.default_rng(1)
    amount, duration = rng.lognormal(8, 0.7, rows).round(), rng.integers(4, 60, rows)
    history = rng.choice(["none", "paid", "delayed", "critical"], rows)
    bad = 0.02 * duration + 0.0001 * amount - 0.8 * (history == "critical") + rng.normal(0, 0.8, rows) > 1.2
    table = {"amount": amount, "duration": duration, "history": history, "target": np.where(bad, "bad", "good")}
    pd.DataFrame(table).to_csv(path, index=False)


def number_before(word: str, text: str) -> int:
    """The number that stands before a word."""
    found = re.search(rf"(\d[\d,]*) {word}", text)
    assert found, f"no number before `{word}` in:\n{text}"
    return int(found[1].replace(",", ""))
