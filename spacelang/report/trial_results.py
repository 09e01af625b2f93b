"""The results of trials: why they failed, the intervals of losses, and how the best pipeline does on the test set."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

from spacelang.ir.domain import literal
from spacelang.ir.task import SECONDS, AnyBound, describe_bound
from spacelang.ir.trial import INTERVAL_DIGITS, LossName, Status
from spacelang.ir.validation import CrossValidation, Holdout, parse_validation_or_none
from spacelang.ir.value import Value
from spacelang.runtime.errors import TIMEOUT_PREFIX
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.run_header import RunHeader
from spacelang.runtime.storage.trial_columns import finite_or_none
from spacelang.text import count_with_noun

if TYPE_CHECKING:
    from spacelang.ir.trial import TestScore, Trial, UnseenRowsMeasurement

WORDS: Final[Mapping[Status, tuple[str, str]]] = {
    Status.ERROR: ("error", "errors"), Status.INVALID: ("invalid", "invalid"), Status.TIMEOUT: ("timeout", "timeouts"),
    Status.MEMORY: ("out of memory", "out of memory"), Status.CRASH: ("crash", "crashes"),
}  # fmt: skip
"""The words for one failure and for several failures of a kind, in the order of messages."""
REASONS: Final = 3  # The number of reasons that are always shown, if there are as many
LIMIT: Final = re.compile(
    rf"({TIMEOUT_PREFIX}|it took longer than )(?P<limit>(?P<number>\d+(\.\d+)?)(?P<unit>{'|'.join(SECONDS)}))"
)
"""Matches the reason of a trial that exceeded its time limit, also as earlier versions stored it."""
Reason = tuple[Status, str]  # The status of a failed trial, and the reason why it failed


def describe_failure_counts(counts: Mapping[Status, int]) -> str:
    """Return the numbers of failures by kind in words, such as `3 errors, 1 timeout`; empty without failures."""
    return ", ".join(f"{counts[kind]} {words[counts[kind] > 1]}" for kind, words in WORDS.items() if counts.get(kind))


def count_failures_by_reason(records: Iterable[TrialRecord]) -> Counter[Reason]:
    """Count the failed trials by status and reason."""
    failed = (each.trial for each in records if each.trial.status is not Status.SUCCESS)
    return Counter((trial.status, trial.reason) for trial in failed)


def sum_failures_by_status(counts: Counter[Reason]) -> Counter[Status]:
    """Return the numbers of failures by status, summed over the reasons."""
    return Counter(status for status, _ in counts.elements())


def sum_failures_by_reason(counts: Counter[Reason]) -> dict[str, int]:
    """Return the numbers of failures by reason, summed over the statuses that share a reason."""
    found: Counter[str] = Counter()
    for (_, reason), number in counts.most_common():
        found[reason] += number
    return dict(found)


def format_configuration_value(value: Value) -> str:
    """Return a value of a configuration as text; printable strings, such as `none`, have no quotes."""
    return value if isinstance(value, str) and value.isprintable() else literal(value)


def most_frequent_failure_reasons(counts: Counter[Reason]) -> tuple[list[tuple[str, int]], int]:
    """Return the most frequent reasons (at least one per kind of failure) with counts, and the number of others."""
    together = Counter[Reason]()
    names = shown_reason_by_reason(counts)
    for reason, count in counts.items():
        together[names[reason]] += count
    ordered = together.most_common()
    first = {kind: (kind, reason) for (kind, reason), _ in reversed(ordered)}
    chosen = {pair for pair, _ in ordered[:REASONS]} | {*first.values()}
    shown = [(reason, count) for (kind, reason), count in ordered if (kind, reason) in chosen]
    return shown, len(ordered) - len(shown)


def describe_failure_reasons(counts: Counter[Reason]) -> Iterator[str]:
    """Yield a line for each of the most frequent reasons, such as `3 x REASON`, and one for the number of others."""
    shown, others = most_frequent_failure_reasons(counts)
    yield from (f"{count} x {reason}" for reason, count in shown)
    if others:
        yield f"and {count_with_noun(others, 'other reason')}"


def shown_reason_by_reason(reasons: Collection[Reason]) -> Mapping[Reason, Reason]:
    """Map each reason for a failure to the one that is shown: timeouts at different limits become one range.

    `boasf` gives each trial another time limit.
    """
    timeouts = [reason for reason in reasons if reason[0] is Status.TIMEOUT]
    limits = {reason: found for reason in timeouts if (found := LIMIT.fullmatch(reason[1]))}
    if len(limits) < 2:
        return {reason: reason for reason in reasons}
    least, *_, most = sorted(limits.values(), key=lambda limit: float(limit["number"]) * SECONDS[limit["unit"]])
    range_of_limits = f"which was between {least['limit']} and {most['limit']}"
    one = Status.TIMEOUT, f"{TIMEOUT_PREFIX}its limit, {range_of_limits}"
    return {reason: one if reason in limits else reason for reason in reasons}


DIGITS: Final = ".4g"  # The format of measured values: they are noisy, so that four digits suffice


def document_of_test_score(score: "TestScore") -> dict[str, object]:
    """Return a score on the test set as `run --json` and `runs --json` print it.

    `constraints` maps the name of each bound to its value with its interval (`low`, `high`), the `bound`, and whether
    it `holds`. `feasible` is True if all hold, and None if nothing was measured. In `constraints`, infinite numbers
    become None.
    """
    return {
        **{name: getattr(score, name) for name in ("loss", "low", "high", "rows", "reason")},
        "feasible": score.is_feasible,
        "constraints": {each.bound.name: _document(each) for each in score.constraints},
    }


def describe_test_score(score: "TestScore", metric: LossName) -> str:
    """Describe a score on the test set in words."""
    if score.loss is None:
        return f"no score on the test set ({score.rows} rows): {score.reason}"
    return f"test set ({score.rows} rows): {format_named_test_score_with_interval(score, metric)}"


def format_named_test_score_with_interval(score: "TestScore", metric: LossName) -> str:
    """Return a score on the test set with its name and its interval, or the reason why there is none."""
    return (
        score.reason if score.loss is None else f"{metric.score_name} {format_test_score_with_interval(score, metric)}"
    )


def format_test_score_with_interval(score: "TestScore", metric: LossName) -> str:
    """Return a score on the test set with its interval; without a score or an interval, the reason why."""
    if score.loss is None:
        return score.reason
    value = f"{metric.score(score.loss):{INTERVAL_DIGITS}}{metric.describe_interval(score.low, score.high)}"
    return f"{value}; {score.reason}" if score.low is None or score.high is None else value


def _document(each: "UnseenRowsMeasurement") -> dict[str, object]:
    numbers = {"value": finite_or_none(each.value), "low": finite_or_none(each.low), "high": finite_or_none(each.high)}
    return {**numbers, "bound": each.bound.limit, "holds": each.holds, "reason": each.reason}


def describe_constraints_on_test_set(score: "TestScore", searched: "Trial") -> Iterator[str]:
    """Yield a line for each bound: its value on the test set, and whether it holds there and held in the search."""
    held = {each.bound.name: each.holds for each in searched.constraints}
    for each in score.constraints:
        verdict = _verdict(each, held.get(each.bound.name, False))
        yield f"{describe_bound(each.bound)} on the test set: {_value(each)}{verdict}{_missing_interval(each)}"


def format_bound_value(bound: AnyBound, value: float) -> str:
    """Return a measured value in the unit of its bound, or `undefined` for NaN."""
    return "undefined" if isnan(value) else bound.format_value(float(format(value, DIGITS)))


def format_metric_value(value: float) -> str:
    """Return the value of a recorded metric, or `undefined` for NaN."""
    return "undefined" if isnan(value) else f"{value:.6g}"


def _value(each: "UnseenRowsMeasurement") -> str:
    if each.value is None:
        return f"unknown, {each.reason}"
    value = format_bound_value(each.bound, each.value)
    if each.low is None or each.high is None:
        return value
    return f"{value} [{format_bound_value(each.bound, each.low)}, {format_bound_value(each.bound, each.high)}]"


def _verdict(each: "UnseenRowsMeasurement", held: bool) -> str:
    chance = "; this may be chance" if each.is_uncertain else ""
    if each.value is None:
        return ""
    if each.holds:
        return f"{'' if held else ', which satisfies the bound, unlike in the search'}{chance}"
    return f", which violates the bound, {'unlike' if held else 'as'} in the search{chance}"


def _missing_interval(each: "UnseenRowsMeasurement") -> str:
    """Return the reason why a known value has no interval, after a semicolon.

    "" for a missing value or with no reason.
    """
    return f"; {each.reason}" if each.reason and each.value is not None else ""


Z: Final = NormalDist().inv_cdf(0.975)
GRID: Final = tuple(step / 10_000 for step in range(10_001))
"""The candidate scores among which the ends of an interval are searched."""
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

    def loss_interval(self, loss: float) -> tuple[float, float] | None:
        """Return the 95 % interval of the loss on other samples of as many rows.

        None if the metric has no interval that follows from the loss and the numbers of rows.
        """
        score = 1.0 - loss
        if not (0.0 <= score <= 1.0 and self.rows > 0):
            return None
        match self.metric:
            case "1 - accuracy":
                return _compatible_losses(score, lambda true: true * (1 - true) / self.rows)
            case "1 - balanced_accuracy" if self.has_class_sizes:
                return _compatible_losses(score, lambda true: true * (1 - true) / (self.classes * self.fewest))
            case "1 - roc_auc" if self.has_class_sizes and self.classes == 2:
                return _compatible_losses(
                    score, lambda true: roc_auc_variance(true, self.fewest, self.rows - self.fewest)
                )
            case _:
                return None

    def interval_ends(self, loss: float | None) -> tuple[float | None, float | None]:
        """Return the ends of the interval; two Nones without a loss or an interval."""
        return (None if loss is None else self.loss_interval(loss)) or (None, None)


def summarize_held_out_rows(header: RunHeader) -> HeldOutSummary:
    """Return the numbers of held-out rows and classes of a run; zero rows if unknown or if the rows have groups.

    Rows of one group are not independent, so that their number does not determine an interval.
    """
    classes, share = (header.meta_features.get(name, 0.0) for name in CLASSES)
    match parse_validation_or_none(header.validation):
        case Holdout(group=None):
            rows = header.data.rows - header.training_size
        case CrossValidation(group=None):
            rows = header.data.rows
        case _:
            rows = 0
    return HeldOutSummary(header.metric, rows, int(classes), rows * share)


def roc_auc_variance(score: float, fewer: float, more: float) -> float:
    """Return the variance of an area under the ROC curve for classes of `fewer` and `more` rows.

    This is the exponential approximation of Hanley and McNeil (1982).
    """
    pairs = (fewer + more) / 2 - 1
    spread = (1 - score) / (2 - score) + score / (1 + score)
    return score * (1 - score) * (1 + pairs * spread) / (fewer * more)


def _compatible_losses(score: float, variance: Callable[[float], float]) -> tuple[float, float]:
    """Return the 95 % interval of the loss 1 - `score`, as (low, high).

    It has all losses 1 - t whose true score t, observed with variance `variance(t)`, is compatible with `score`.
    """
    found = [true for true in GRID if (true - score) ** 2 <= Z**2 * variance(true)]
    low, high = min(score, *found[:1]), max(score, *found[-1:])
    return max(0.0, 1.0 - high), 1.0 - low
