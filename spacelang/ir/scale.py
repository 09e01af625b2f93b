"""Loss scales: map a loss to a number between 0 and 1, for optimizers whose formulas assume that range."""

import re
from dataclasses import dataclass
from sys import float_info
from typing import Final

FARTHEST: Final = 1e6


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from losses to [0, 1]: 0 up to `origin`, 1 from `origin + width` on.

    Both are finite, and `width` is positive.
    """

    origin: float
    width: float

    def standing(self, loss: float) -> float:
        """Return the normalized loss, from 0 (best) to 1."""
        return min(max(self.place(loss), 0.0), 1.0)

    def place(self, loss: float) -> float:
        """Return the normalized loss without clipping it to [0, 1], for formulas that do not depend on the unit.

        Values are clipped to one million widths in either direction.
        """
        return min(max((loss - self.origin) / self.width, -FARTHEST), FARTHEST)

    @classmethod
    def around(cls, first: float) -> "Scale":
        """Return the scale to use if only the first loss is known: it maps `first` to 1/2.

        Its width is twice the absolute value of `first`, or 1 if `first` is 0.
        """
        width = min(2 * abs(first), float_info.max) or 1.0
        return cls(max(first - width / 2, -float_info.max), width)


UNIT: Final = Scale(0.0, 1.0)
"""The identity scale for losses between 0 and 1."""


FIRST: Final = "around the first success"
ITSELF: Final = "the loss itself"


def describe_scale(scale: Scale | None) -> str:
    """Return a scale as readable text; None stands for the scale that the first success will determine."""
    if scale is None:
        return FIRST
    if scale == UNIT:
        return ITSELF
    origin, width = f"{scale.origin:.9g}", f"{scale.width:.9g}"
    return f"{f'(loss - {origin})' if scale.origin else 'loss'} / {width}"


def read_scale(text: str) -> Scale | None:
    """Parse the text made by `describe_scale`, which is accurate to nine digits.

    None stands for the scale that the first success will determine. Raise ValueError for any other text.
    """
    if text == FIRST:
        return None
    if text == ITSELF:
        return UNIT
    found = re.fullmatch(r"(?:loss|\(loss - (\S+)\)) / (\S+)", text)
    if found is None:
        raise ValueError(f"`{text}` is not a loss scale")
    return Scale(float(found[1] or 0.0), float(found[2]))
