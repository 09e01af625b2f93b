"""The best pipelines of a run, one a configuration, as `show` ranks them."""

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
    """One of the best: its loss on held-out rows, `between` which it lies on others, and its score on test rows."""

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


def ranking(told: "Material") -> tuple[Ranked, ...]:
    """The ten best trials, the best first."""
    return tuple(_ranked(rank, each, told) for rank, each in enumerate(best_of(told.run), start=1))


def tested_there(told: "Material") -> tuple[str, ...]:
    """What the tested pipeline reaches on the test rows of each bound, beside what the search had found."""
    test = told.run.test
    record = None if test is None else told.run.record(test.trial)
    return () if test is None or record is None else tuple(kept_to(test.score, record.trial))


def _ranked(rank: int, record: "Record", told: "Material") -> Ranked:
    trial, header, test = record.trial, told.run.header, told.run.test
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
        "all" if told.is_whole(record) else f"{trial.request.fidelity:,}",
        seconds(trial.cost),
        decided(configuration, told.decisions),
        tuple((key, shown_value(value)) for key, value in configuration.items()),
        tuple(facts),
    )
