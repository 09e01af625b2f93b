"""Failed trials in words: how many of which kind, and why."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from spacelang.ir.trial import Status
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


def told(counts: Mapping[Status, int]) -> str:
    """How many trials failed in which way: `3 errors, 1 timeout`; empty where none did."""
    return ", ".join(f"{counts[kind]} {words[counts[kind] > 1]}" for kind, words in WORDS.items() if counts.get(kind))


def by_kind(records: Iterable[Record]) -> Counter[Status]:
    """How many trials failed in each way."""
    return Counter(each.trial.status for each in records if each.trial.status is not Status.SUCCESS)


def reasons(records: Iterable[Record]) -> Counter[tuple[Status, str]]:
    """How often trials failed in each way for each reason."""
    failed = (each.trial for each in records if each.trial.status is not Status.SUCCESS)
    return Counter((trial.status, trial.reason) for trial in failed)


def most_frequent(counts: Counter[tuple[Status, str]]) -> list[tuple[str, int]]:
    """The reasons worth showing with their counts: the most frequent ones, and of each kind at least one."""
    ordered = counts.most_common()
    first = {kind: (kind, reason) for (kind, reason), _ in reversed(ordered)}
    chosen = {pair for pair, _ in ordered[:REASONS]} | {*first.values()}
    return [(reason, count) for (kind, reason), count in ordered if (kind, reason) in chosen]
