"""What arms have earned: scores, what of a round's resource each is given, and which of them stay.

A score is optimistic: higher is better.

See spacelang/optimizers/README.md, section "BOASF: rounds".
"""

from collections.abc import Sequence
from math import log2, sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.random import Generator

Denominator = Literal["sqrt", "log2"]
Tie = Literal["keep", "reference"]


def score(rewards: Sequence[float], c: float, denom: Denominator = "sqrt") -> float:
    """The mean of rewards plus `c` times their standard deviation, that of a population, over the root of their number.

    With `log2` it is over the binary logarithm of their number plus 2. 0 without rewards.
    """
    if not rewards:
        return 0.0
    count = len(rewards)
    return float(np.mean(rewards) + c * np.std(rewards) / (sqrt(count) if denom == "sqrt" else log2(count + 2)))


def shares(scores: Sequence[float], resource: float) -> list[float]:
    """What each arm is given of a resource: the more the higher its score, by the softmax of them."""
    powers = np.exp(np.array(scores, float) - max(scores))
    found: list[float] = (resource * powers / powers.sum()).tolist()
    return found


def chances(scores: Sequence[float]) -> list[float] | None:
    """With which probability each arm stays: 0 for the lowest score, 1 for the highest; None where all are equal."""
    least, most = min(scores), max(scores)
    return None if least == most else [(each - least) / (most - least) for each in scores]


def staying(scores: Sequence[float], tie: Tie, rng: "Generator") -> list[int]:
    """The places of the arms that stay, one draw for each, in their order; one alone stays.

    Where all scores are equal all stay; with `reference` each stays with the probability that one of them has, and
    all are drawn again until one does.
    """
    if len(scores) == 1:
        return [0]
    likely = chances(scores)
    if likely is not None:
        draws = rng.random(len(scores)).tolist()
        return [place for place, chance in enumerate(likely) if chance == 1 or draws[place] < chance]
    found = [*range(len(scores))] if tie == "keep" else list[int]()
    while not found:
        found = np.flatnonzero(rng.random(len(scores)) < 1 / len(scores)).tolist()
    return found
