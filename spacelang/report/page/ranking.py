"""The best pipelines of a run, at most one per configuration, ranked as in `show`."""

import re
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from spacelang.ir.task import describe_bound
from spacelang.report.page.axes import format_number, format_seconds
from spacelang.report.page.run_data import RunData
from spacelang.report.stored_runs import best_records, describe_alternatives, describe_measurement
from spacelang.report.trial_results import describe_constraints, describe_interval, value_text
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.header import RunHeader
from spacelang.sampling.value_codes import Array


@dataclass(frozen=True, slots=True)
class RankedPipeline:
    """A row of the best pipelines: `between` is its interval on held-out rows, `test` its score on the test set."""

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
    between = None if trial.loss is None else summarize_held_out_rows(header).interval(trial.loss)
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


Z: Final = NormalDist().inv_cdf(0.975)
GRID: Final = np.linspace(0.0, 1.0, 10_001)  # The candidate scores among which the ends of an interval are searched
ROUNDING: Final = 1e-9  # The tolerance by which shares of classes may add up to more than one
CLASSES: Final = "NumberOfClasses", "ClassProbabilityMin"
"""The meta-features for the number of classes, and for the share of the smallest class."""


@dataclass(frozen=True, slots=True)
class HeldOutSummary:
    """The held-out rows of a run, with the number of classes and of the rows of the smallest class (`fewest`)."""

    metric: str
    rows: int
    classes: int = 0
    fewest: float = 0.0

    @property
    def has_class_sizes(self) -> bool:
        """True if the number of classes and the size of the smallest class are known and consistent."""
        return 0 < self.fewest * self.classes <= self.rows * (1 + ROUNDING)

    def interval(self, loss: float) -> tuple[float, float] | None:
        """Return the 95 % interval of the loss on as many other rows; None if the loss alone does not determine it."""
        score = 1.0 - loss
        if not (0.0 <= score <= 1.0 and self.rows > 0):
            return None
        match self.metric:
            case "1 - accuracy":
                return _compatible_losses(score, GRID * (1 - GRID) / self.rows)
            case "1 - balanced_accuracy" if self.has_class_sizes:
                return _compatible_losses(score, GRID * (1 - GRID) / (self.classes * self.fewest))
            case "1 - roc_auc" if self.has_class_sizes and self.classes == 2:
                return _compatible_losses(score, roc_auc_variance(self.fewest, self.rows - self.fewest))
            case _:
                return None


def summarize_held_out_rows(header: RunHeader) -> HeldOutSummary:
    """Return the held-out rows of a run; zero rows if their number is unknown."""
    classes, share = (header.meta_features.get(name, 0.0) for name in CLASSES)
    rows = 0
    if header.validation.startswith("holdout("):
        rows = header.data.rows - header.training_size
    elif re.fullmatch(r"cv\(\d+\)", header.validation):
        rows = header.data.rows
    return HeldOutSummary(header.metric, rows, int(classes), rows * share)


def roc_auc_variance(fewer: float, more: float) -> Array:
    """Return the variance of each ROC area of `GRID` for two numbers of rows (Hanley and McNeil, exponential)."""
    pairs = (fewer + more) / 2 - 1
    spread = (1 - GRID) / (2 - GRID) + GRID / (1 + GRID)
    return np.asarray(GRID * (1 - GRID) * (1 + pairs * spread) / (fewer * more))


def _compatible_losses(score: float, variance: Array) -> tuple[float, float]:
    """Return the lowest and highest compatible loss (at least this one), with a `variance` per score of `GRID`."""
    found = GRID[(GRID - score) ** 2 <= Z**2 * variance]
    low, high = min(score, *found[:1]), max(score, *found[-1:])
    return max(0.0, 1.0 - float(high)), 1.0 - float(low)
