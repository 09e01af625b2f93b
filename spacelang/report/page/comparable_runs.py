"""The comparison of several runs; runs whose losses are comparable share a plot."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spacelang.report.page.axes import format_seconds
from spacelang.report.page.curves import Curves, curves_of, line_css_classes
from spacelang.report.stored_runs import setting_rows
from spacelang.report.unseen_rows import describe_interval
from spacelang.runtime.storage.header import SHOWN_DIGITS

if TYPE_CHECKING:
    from spacelang.report.page.run_data import RunData

UNCOMPARED: Final = ("trials", "started")
"""Facts that differ for every run and are not compared."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row of the table of runs."""

    number: int
    css_classes: str
    space: str
    data: str
    optimizer: str
    seed: int
    state: str
    trials: int
    failed: int
    time: str
    best: str
    test: str


@dataclass(frozen=True, slots=True)
class ComparableRuns:
    """Runs whose losses can be compared.

    `differences` has every setting that is not the same for all of them, with its value for each run.
    """

    title: str
    metric: str
    numbers: tuple[int, ...]
    curves: Curves | None
    differences: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class RunOverview:
    """All runs as rows, and the groups of several runs with the same data, metric and split."""

    rows: tuple[RunRow, ...]
    groups: tuple[ComparableRuns, ...]


def compare_runs(runs: "Sequence[RunData]") -> RunOverview | None:
    """Return the comparison of several runs, or None for a single run."""
    if len(runs) < 2:
        return None
    groups: dict[tuple[object, ...], list[tuple[int, RunData]]] = {}
    for number, run_data in enumerate(runs, start=1):
        header = run_data.run.header
        key = (header.data.fingerprint, header.metric, header.validation, header.training_size)
        groups.setdefault(key, []).append((number, run_data))
    rows = tuple(_row(number, run_data) for number, run_data in enumerate(runs, start=1))
    return RunOverview(rows, tuple(_group(each) for each in groups.values() if len(each) > 1))


def _row(number: int, run_data: "RunData") -> RunRow:
    found = run_data.summary
    return RunRow(
        number,
        line_css_classes(number),
        found.space,
        found.data.name,
        found.optimizer,
        found.seed,
        found.state.value,
        found.trials,
        len(run_data.records) - len(run_data.succeeded),
        format_seconds(found.seconds),
        "" if found.best is None else f"{found.best:.6g}{'' if found.feasible else ' (infeasible)'}",
        "" if found.test is None else describe_interval(found.test, "").strip(),
    )


def _group(runs: "Sequence[tuple[int, RunData]]") -> ComparableRuns:
    header = runs[0][1].run.header
    title = f"{header.data.name}, {header.metric}, {header.validation}"
    numbers = tuple(number for number, _ in runs)
    return ComparableRuns(
        title, header.metric, numbers, curves_of(runs), tuple(_differences([run_data for _, run_data in runs]))
    )


def _differences(runs: "Sequence[RunData]") -> "Iterator[tuple[str, tuple[str, ...]]]":
    facts = [_facts(run_data) for run_data in runs]
    for name in dict.fromkeys(each for found in facts for each in found):
        values = tuple(found.get(name, "") for found in facts)
        if len(set(values)) > 1:
            yield name, values


def _facts(run_data: "RunData") -> dict[str, str]:
    found = {"space": f"{run_data.summary.space} ({run_data.run.header.identity[:SHOWN_DIGITS]})"}
    for name, said in setting_rows(run_data.run, run_data.summary):
        if name not in UNCOMPARED:
            found[name] = f"{found[name]}, {said}" if name in found else said
    return found
