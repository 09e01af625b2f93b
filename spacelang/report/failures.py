"""Describe failed trials: how many there are of each kind, and why they failed."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from spacelang.ir.task import SECONDS
from spacelang.ir.trial import Status
from spacelang.runtime.failures import TIMEOUT_PREFIX
from spacelang.runtime.history import TrialRecord

WORDS: Final[Mapping[Status, tuple[str, str]]] = {
    Status.ERROR: ("error", "errors"),
    Status.INVALID: ("invalid", "invalid"),
    Status.TIMEOUT: ("timeout", "timeouts"),
    Status.MEMORY: ("out of memory", "out of memory"),
    Status.CRASH: ("crash", "crashes"),
}
"""The words for one failure and for several failures of a kind, in the order of messages."""

REASONS: Final = 3
"""The number of reasons that are always shown, if there are as many."""

LIMIT: Final = re.compile(rf"{TIMEOUT_PREFIX}(?P<limit>(?P<number>\d+(\.\d+)?)(?P<unit>{'|'.join(SECONDS)}))")
"""Matches the reason of a trial that exceeded its time limit."""

Reason = tuple[Status, str]
"""The status of a failed trial, and the reason why it failed."""


def describe_counts(counts: Mapping[Status, int]) -> str:
    """Return the numbers of failures by kind in words, such as `3 errors, 1 timeout`; empty without failures."""
    return ", ".join(f"{counts[kind]} {words[counts[kind] > 1]}" for kind, words in WORDS.items() if counts.get(kind))


def count_failures_by_status(records: Iterable[TrialRecord]) -> Counter[Status]:
    """Count the failed trials by status."""
    return Counter(each.trial.status for each in records if each.trial.status is not Status.SUCCESS)


def count_failures_by_reason(records: Iterable[TrialRecord]) -> Counter[Reason]:
    """Count the failed trials by status and reason."""
    failed = (each.trial for each in records if each.trial.status is not Status.SUCCESS)
    return Counter((trial.status, trial.reason) for trial in failed)


def most_frequent(counts: Counter[Reason]) -> tuple[list[tuple[str, int]], int]:
    """Return the reasons to show with their counts, and the number of other reasons.

    These are the most frequent reasons, and at least one of each kind of failure. Different time limits count as one
    reason.
    """
    together = Counter[Reason]()
    names = merge_time_limits(counts)
    for reason, count in counts.items():
        together[names[reason]] += count
    ordered = together.most_common()
    first = {kind: (kind, reason) for (kind, reason), _ in reversed(ordered)}
    chosen = {pair for pair, _ in ordered[:REASONS]} | {*first.values()}
    shown = [(reason, count) for (kind, reason), count in ordered if (kind, reason) in chosen]
    return shown, len(ordered) - len(shown)


def merge_time_limits(reasons: Collection[Reason]) -> Mapping[Reason, Reason]:
    """Map each reason to the reason that is shown for it.

    A reason is mapped to itself, except for several time limits, which become one reason with the smallest and the
    largest limit. `boasf`, for example, gives each trial the time that its arm has left.
    """
    limits = {
        reason: found for reason in reasons if (found := LIMIT.fullmatch(reason[1])) and reason[0] is Status.TIMEOUT
    }
    if len(limits) < 2:
        return {reason: reason for reason in reasons}
    least, *_, most = sorted(limits.values(), key=lambda limit: float(limit["number"]) * SECONDS[limit["unit"]])
    one = Status.TIMEOUT, f"it took longer than its limit, from {least['limit']} to {most['limit']}"
    return {reason: one if reason in limits else reason for reason in reasons}
