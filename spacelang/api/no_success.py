"""The error of a search without a success, which has the result with all failed trials."""

from typing import TYPE_CHECKING

from spacelang.errors import PicklableError

if TYPE_CHECKING:
    from spacelang.api.result import Result
    from spacelang.runtime.history import Outcome


class NoSuccessError(PicklableError):
    """No trial of a search succeeded: `result` has the trials and why they failed."""

    def __init__(self, result: "Result") -> None:
        super().__init__(_no_success_message(result.outcome))
        self.result = result


def check_success(result: "Result") -> "Result":
    """Return the result itself; raises NoSuccessError if no trial succeeded."""
    if result.outcome.best is None:
        raise NoSuccessError(result)
    return result


def _no_success_message(outcome: "Outcome") -> str:
    from spacelang.report.trial_results import count_failures_by_reason, most_frequent

    if not outcome.records:
        causes = {"interrupted": "the search was interrupted", "stopped": "a callback stopped the search"}
        cause = causes.get(outcome.ended, "the budget was used up")
        return f"no trial succeeded: {cause} before the first one finished"
    if len(outcome.records) == 1:
        return f"no trial succeeded: the only trial failed: {outcome.records[0].trial.reason}"
    shown, _ = most_frequent(count_failures_by_reason(outcome.records))
    reasons = "; ".join(f"{count} x {reason}" for reason, count in shown)
    return f"no trial succeeded: all {len(outcome.records)} trials failed: {reasons}"
