"""The best pipelines of a run, at most one per configuration, ranked as in `show`."""

from dataclasses import dataclass

from spacelang.ir.loss_name import LossName
from spacelang.ir.task import describe_bound
from spacelang.report.held_out_interval import summarize_held_out_rows
from spacelang.report.page.axes import format_number, format_seconds
from spacelang.report.page.run_data import RunData
from spacelang.report.stored_runs import best_records, describe_alternatives, describe_measurement
from spacelang.report.trial_results import describe_constraints, describe_value, value_text
from spacelang.runtime.history import TrialRecord


@dataclass(frozen=True, slots=True)
class RankedPipeline:
    """A row of the best pipelines: `between` is its interval on held-out rows, `test` its score on the test set.

    `loss` is empty if the loss is the score.
    """

    rank: int
    trial: int
    score: str
    loss: str
    between: str
    is_feasible: bool
    test: str
    rows: str
    cost: str
    pipeline: str
    values: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]


def ranking(run_data: RunData) -> tuple[RankedPipeline, ...]:
    """Return the ten best trials, best first."""
    return tuple(_row(rank, each, run_data) for rank, each in enumerate(best_records(run_data.run), start=1))


def describe_test_constraints(run_data: RunData) -> tuple[str, ...]:
    """Return the lines about each bound on the test set, compared with the search."""
    test = run_data.run.test
    record = None if test is None else run_data.run.record(test.trial)
    return () if test is None or record is None else tuple(describe_constraints(test.score, record.trial))


def _row(rank: int, record: TrialRecord, run_data: RunData) -> RankedPipeline:
    trial, header, test = record.trial, run_data.run.header, run_data.run.test
    configuration = trial.request.configuration
    metric, low_and_high = LossName.of_formula(header.metric), summarize_held_out_rows(header).ends(trial.loss)
    facts = [(describe_bound(each.bound), describe_measurement(each)) for each in trial.constraints]
    facts += [(name, format_number(value)) for name, value in trial.metrics]
    if trial.training_loss is not None:
        facts.append(("loss on the training rows", format_number(trial.training_loss)))
    return RankedPipeline(
        rank,
        record.index,
        "" if trial.loss is None else f"{metric.score(trial.loss):.6g}",
        "" if trial.loss is None or metric.is_score else f"{trial.loss:.6g}",
        metric.describe_interval(*low_and_high).strip(),
        trial.is_feasible,
        describe_value(test.score, metric) if test is not None and test.trial == record.index else "",
        "all" if run_data.is_on_all_rows(record) else f"{trial.request.fidelity:,}",
        format_seconds(trial.cost),
        describe_alternatives(configuration, run_data.decisions),
        tuple((key, value_text(value)) for key, value in configuration.items()),
        tuple(facts),
    )
