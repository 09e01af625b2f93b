"""Failed trials in words: how many of which kind, and why."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from spacelang.ir.task import SECONDS
from spacelang.ir.trial import Status
from spacelang.runtime.failures import TOO_LONG
from spacelang.runtime.history import Record

WORDS: Final[Mapping[Status, tuple[str, str]]] = {
    Status.ERROR: ("error", "errors"),
    Status.INVALID: ("invalid", "invalid"),
    Status.TIMEOUT: ("timeout", "timeouts"),
    Status.MEMORY: ("out of memory", "out of memory"),
    Status.CRASH: ("crash", "crashes"),
}
"""What one failure and several of a kind are called, in the order in which they are told."""

REASONS: Final = 3
"""At least so many reasons are shown, if there are."""

LIMIT: Final = re.compile(rf"{TOO_LONG}(?P<limit>(?P<number>\d+(\.\d+)?)(?P<unit>{'|'.join(SECONDS)}))")
"""The reason of a trial that was ended at its limit."""

Reason = tuple[Status, str]
"""In which way a trial failed, and why."""


def told(counts: Mapping[Status, int]) -> str:
    """How many trials failed in which way: `3 errors, 1 timeout`; empty where none did."""
    return ", ".join(f"{counts[kind]} {words[counts[kind] > 1]}" for kind, words in WORDS.items() if counts.get(kind))


def by_kind(records: Iterable[Record]) -> Counter[Status]:
    """How many trials failed in each way."""
    return Counter(each.trial.status for each in records if each.trial.status is not Status.SUCCESS)


def reasons(records: Iterable[Record]) -> Counter[Reason]:
    """How often trials failed in each way for each reason."""
    failed = (each.trial for each in records if each.trial.status is not Status.SUCCESS)
    return Counter((trial.status, trial.reason) for trial in failed)


def most_frequent(counts: Counter[Reason]) -> tuple[list[tuple[str, int]], int]:
    """The reasons worth showing with their counts, and how many others there are.

    These are the most frequent ones, and of each kind at least one; limits of time are one reason.
    """
    together = Counter[Reason]()
    names = as_one(counts)
    for reason, count in counts.items():
        together[names[reason]] += count
    ordered = together.most_common()
    first = {kind: (kind, reason) for (kind, reason), _ in reversed(ordered)}
    chosen = {pair for pair, _ in ordered[:REASONS]} | {*first.values()}
    shown = [(reason, count) for (kind, reason), count in ordered if (kind, reason) in chosen]
    return shown, len(ordered) - len(shown)


def as_one(reasons: Collection[Reason]) -> Mapping[Reason, Reason]:
    """What each reason is shown as: itself, but for several limits of time, which are one reason with their ends.

    What an arm of `boasf` has left is another limit for each of its trials.
    """
    limits = {
        reason: found for reason in reasons if (found := LIMIT.fullmatch(reason[1])) and reason[0] is Status.TIMEOUT
    }
    if len(limits) < 2:
        return {reason: reason for reason in reasons}
    least, *_, most = sorted(limits.values(), key=lambda limit: float(limit["number"]) * SECONDS[limit["unit"]])
    one = Status.TIMEOUT, f"it took longer than it had, from {least['limit']} to {most['limit']}"
    return {reason: one if reason in limits else reason for reason in reasons}
