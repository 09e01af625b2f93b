"""The results file of the benchmark: one run per row, appended as a whole."""

import csv
import fcntl
import io
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import NamedTuple

import pandas as pd


class RunKey(NamedTuple):
    """The identity of a run: its table, contender, time limit in seconds, and seed."""

    table: str
    contender: str
    limit: float
    seed: int


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run as a row of the results file.

    `loss` is the test loss of the tool's answer: of the ensemble, or of the best pipeline if there is none. After a
    failure it is `constant_loss`, that of a constant prediction. Losses count as at least `floor`. `seconds` is the
    wall time of the fit, and `process_seconds` that of the whole process, with its start and the predictions. Missing
    numbers are None.
    """

    table: str
    contender: str
    limit: float
    seed: int
    metric: str
    training_rows: int
    test_rows: int
    loss: float
    best_loss: float | None
    ensemble_loss: float | None
    constant_loss: float
    floor: float
    trials: int | None
    seconds: float | None
    process_seconds: float
    failure: str
    note: str
    version: str


COLUMNS = tuple(each.name for each in fields(RunRow))


def append_row(path: Path, row: RunRow) -> None:
    """Append a row to the results file, which several processes may share.

    The row is one write under a lock. If an earlier write was cut off, what it left is removed first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = _complete_size(path)
        if size < file.seek(0, os.SEEK_END):
            file.truncate(size)
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        if size == 0:
            writer.writeheader()
        writer.writerow({name: _on_one_line(value) for name, value in asdict(row).items()})
        file.write(text.getvalue().encode())
        file.flush()
        os.fsync(file.fileno())


def read_results(path: Path) -> pd.DataFrame:
    """Return the complete rows of a results file as a table, each run once; empty if the file does not exist."""
    if not path.exists() or not (size := _complete_size(path)):
        return pd.DataFrame(columns=COLUMNS)
    content = io.BytesIO(path.read_bytes()[:size])
    texts = dict.fromkeys(("table", "contender", "failure", "note", "version"), str)
    table = pd.read_csv(content, dtype=texts, keep_default_na=False, na_values={name: [""] for name in _NUMBERS})
    return table.drop_duplicates(subset=[*RunKey._fields], ignore_index=True)


def finished_runs(path: Path) -> set[RunKey]:
    """Return the keys of all runs in a results file."""
    found = read_results(path)
    return {RunKey(*key) for key in found[list(RunKey._fields)].itertuples(index=False)}


_NUMBERS = ("loss", "best_loss", "ensemble_loss", "constant_loss", "floor", "trials", "seconds", "process_seconds")


def _complete_size(path: Path) -> int:
    """Return the number of bytes up to the end of the last complete line."""
    return path.read_bytes().rfind(b"\n") + 1


def _on_one_line(value: object) -> object:
    return " ".join(value.split()) if isinstance(value, str) else value
