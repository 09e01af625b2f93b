"""The best pipelines of a run, at most one per configuration, ranked as in `show`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spacelang.ir.task import describe_bound
from spacelang.report.page.axes import format_number, format_seconds
from spacelang.report.page.intervals import held_out_rows
from spacelang.report.stored_runs import best_records, describe_alternatives, describe_measurement, value_text
from spacelang.report.unseen_rows import describe_constraints, describe_interval

if TYPE_CHECKING:
    from spacelang.report.page.run_data import RunData
    from spacelang.runtime.history import TrialRecord


@dataclass(frozen=True, slots=True)
class RankedPipeline:
    """A row of the table of best pipelines.

    `between` is the interval of its loss on the held-out rows, and `test` its score on the test set.
    """

    rank: int
    trial: int
    loss: str
    between: str
    is_feasible: bool
    test: str
    rows: str
    cost: str
    pipeline: str
    values: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]


def ranking(run_data: "RunData") -> tuple[RankedPipeline, ...]:
    """Return the ten best trials, best first."""
    return tuple(_row(rank, each, run_data) for rank, each in enumerate(best_records(run_data.run), start=1))


def constraints_on_test_set(run_data: "RunData") -> tuple[str, ...]:
    """Return the lines about each bound on the test set, compared with the search."""
    test = run_data.run.test
    record = None if test is None else run_data.run.record(test.trial)
    return () if test is None or record is None else tuple(describe_constraints(test.score, record.trial))


def _row(rank: int, record: "TrialRecord", run_data: "RunData") -> RankedPipeline:
    trial, header, test = record.trial, run_data.run.header, run_data.run.test
    configuration = trial.request.configuration
    between = None if trial.loss is None else held_out_rows(header).interval(trial.loss)
    facts = [(describe_bound(each.bound), describe_measurement(each)) for each in trial.constraints]
    facts += [(name, format_number(value)) for name, value in trial.metrics]
    if trial.training_loss is not None:
        facts.append(("loss on the training rows", format_number(trial.training_loss)))
    return RankedPipeline(
        rank,
        record.index,
        "" if trial.loss is None else f"{trial.loss:.6g}",
        "" if between is None else f"[{between[0]:.3g}, {between[1]:.3g}]",
        trial.is_feasible,
        describe_interval(test.score, "").strip() if test is not None and test.trial == record.index else "",
        "all" if run_data.is_on_all_rows(record) else f"{trial.request.fidelity:,}",
        format_seconds(trial.cost),
        describe_alternatives(configuration, run_data.decisions),
        tuple((key, value_text(value)) for key, value in configuration.items()),
        tuple(facts),
    )
