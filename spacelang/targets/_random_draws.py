"""The declaration of a target whose library draws at random; `_draw_distances` measures the draws."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RandomDraws:
    """A declaration that a library draws at random for a target; `deviation_reason` is empty if it follows the law."""

    library: str
    deviation_reason: str = ""
