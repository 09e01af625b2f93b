"""The declaration of a target whose library draws at random; `_draw_distances` measures the draws."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RandomDraws:
    """A declaration of a target whose library draws at random: the name of what draws, and why it may deviate."""

    by: str
    deviates: str = ""
