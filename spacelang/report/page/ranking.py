"""The best pipelines of a run, at most one per configuration, ranked as in `show`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spacelang.ir.task import describe_bound
from spacelang.report.page.axes import seconds, short
from spacelang.report.page.intervals import judged
from spacelang.report.reached import interval, kept_to
from spacelang.report.stored import best_of, decided, measured, shown_value

if TYPE_CHECKING:
    from spacelang.report.page.material import Material
    from spacelang.runtime.history import Record


@dataclass(frozen=True, slots=True)
class Ranked:
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


def ranking(run_data: "Material") -> tuple[Ranked, ...]:
    """Return the ten best trials, best first."""
    return tuple(_ranked(rank, each, run_data) for rank, each in enumerate(best_of(run_data.run), start=1))


def tested_there(run_data: "Material") -> tuple[str, ...]:
    """Return the lines about each bound on the test set, compared with the search."""
    test = run_data.run.test
    record = None if test is None else run_data.run.record(test.trial)
    return () if test is None or record is None else tuple(kept_to(test.score, record.trial))


def _ranked(rank: int, record: "Record", run_data: "Material") -> Ranked:
    trial, header, test = record.trial, run_data.run.header, run_data.run.test
    configuration = trial.request.configuration
    between = None if trial.loss is None else judged(header).interval(trial.loss)
    facts = [(describe_bound(each.bound), measured(each)) for each in trial.constraints]
    facts += [(name, short(value)) for name, value in trial.metrics]
    if trial.training_loss is not None:
        facts.append(("loss on the training rows", short(trial.training_loss)))
    return Ranked(
        rank,
        record.index,
        "" if trial.loss is None else f"{trial.loss:.6g}",
        "" if between is None else f"[{between[0]:.3g}, {between[1]:.3g}]",
        trial.is_feasible,
        interval(test.score, "").strip() if test is not None and test.trial == record.index else "",
        "all" if run_data.is_whole(record) else f"{trial.request.fidelity:,}",
        seconds(trial.cost),
        decided(configuration, run_data.decisions),
        tuple((key, shown_value(value)) for key, value in configuration.items()),
        tuple(facts),
    )
