"""Equal shares of the best trials for all learners, among the trials that may be part of an answer."""

from collections import Counter
from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

from spacelang.ir.trial import Trial


def learner_of(trial: Trial, key: str) -> str:
    """Return the alternative that a trial has of the decision `key`, which chooses the learner; empty without one."""
    return str(trial.request.configuration.get(key, ""))


def choose_equal_shares(
    ranks: Sequence[Any], learners: Sequence[str], size: int, usable: Callable[[int], bool] = lambda _: True
) -> list[int]:
    """Return the ascending indices of about `size` trials, given their ranks and learners.

    These are the lowest ranks of each learner, as many as `size` divided by the number of learners, rounded up, for
    which `usable` returns True. Of equal ranks the first ones are taken. `usable` is called only as often as needed.
    """
    share = equal_share(learners, size)
    counts: Counter[str] = Counter()
    found: list[int] = []
    for place in sorted(range(len(ranks)), key=lambda place: (ranks[place], place)):
        if counts[learners[place]] < share and usable(place):
            counts[learners[place]] += 1
            found.append(place)
    return sorted(found)


def equal_share(learners: Sequence[str], size: int) -> int:
    """Return the share of each of the learners in a number of trials, rounded up."""
    return ceil(size / max(len({*learners}), 1))
