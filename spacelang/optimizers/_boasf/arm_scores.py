"""Scores of the arms of BOASF: from rewards to scores, to shares of a round's resource, and to the surviving arms.

A score is an optimistic estimate of the reward: higher is better.

See spacelang/optimizers/README.md, section "BOASF: rounds".
"""

from collections.abc import Sequence
from math import log2, sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.random import Generator

Denominator = Literal["sqrt", "log2"]
TieRule = Literal["keep", "reference"]


def arm_score(rewards: Sequence[float], c: float, denom: Denominator = "sqrt") -> float:
    """Return the score of an arm: the mean of its rewards, plus `c` times their standard deviation over sqrt(n).

    n is the number of rewards, and the deviation is that of a population (ddof 0). With `denom="log2"` the divisor is
    log2(n + 2) instead of sqrt(n). The score is 0 without rewards.
    """
    if not rewards:
        return 0.0
    count = len(rewards)
    return float(np.mean(rewards) + c * np.std(rewards) / (sqrt(count) if denom == "sqrt" else log2(count + 2)))


def softmax_shares(scores: Sequence[float], resource: float) -> list[float]:
    """Return the share of a resource that each arm gets, in proportion to the softmax of the scores."""
    powers = np.exp(np.array(scores, float) - max(scores))
    found: list[float] = (resource * powers / powers.sum()).tolist()
    return found


def survival_probabilities(scores: Sequence[float]) -> list[float] | None:
    """Return the probability with which each arm survives: 0 for the lowest score, 1 for the highest.

    Returns None if all scores are equal.
    """
    least, most = min(scores), max(scores)
    return None if least == most else [(each - least) / (most - least) for each in scores]


def surviving_arms(scores: Sequence[float], tie: TieRule, rng: "Generator") -> list[int]:
    """Return the indices of the surviving arms in ascending order.

    There is one random draw for each arm; see `survival_probabilities`. A single arm always survives. If all scores are
    equal, every arm survives with `tie="keep"`. With `tie="reference"` each of n arms then survives with probability 1
    / n, and all are drawn again until at least one survives.
    """
    if len(scores) == 1:
        return [0]
    likely = survival_probabilities(scores)
    if likely is not None:
        draws = rng.random(len(scores)).tolist()
        return [place for place, chance in enumerate(likely) if chance == 1 or draws[place] < chance]
    found = [*range(len(scores))] if tie == "keep" else list[int]()
    while not found:
        found = np.flatnonzero(rng.random(len(scores)) < 1 / len(scores)).tolist()
    return found
