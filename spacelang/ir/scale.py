"""Scales: how good a loss is, as a number between 0 and 1, for optimizers whose formulas suppose one."""

import re
from dataclasses import dataclass
from sys import float_info
from typing import Final

FARTHEST: Final = 1e6


@dataclass(frozen=True, slots=True)
class Scale:
    """The standing of a loss: 0 at `origin` and below, 1 from `origin + width` on, linear in between.

    Both are finite, `width` is above 0.
    """

    origin: float
    width: float

    def standing(self, loss: float) -> float:
        """Where a loss lies, from 0, the best, to 1."""
        return min(max(self.place(loss), 0.0), 1.0)

    def place(self, loss: float) -> float:
        """The same where that need not lie between 0 and 1, for formulas that no unit changes.

        Beyond a million widths all are alike.
        """
        return min(max((loss - self.origin) / self.width, -FARTHEST), FARTHEST)

    @classmethod
    def around(cls, first: float) -> "Scale":
        """The scale of losses of which nothing is known but the first one, which has the standing 1/2.

        Its width is twice the size of that loss, 1 where it is 0.
        """
        width = min(2 * abs(first), float_info.max) or 1.0
        return cls(max(first - width / 2, -float_info.max), width)


UNIT: Final = Scale(0.0, 1.0)
"""The scale of losses between 0 and 1: each is its own standing."""


FIRST: Final = "around the first success"
ITSELF: Final = "the loss itself"


def describe_scale(scale: Scale | None) -> str:
    """A scale for people; None is that around the first success, which is not known yet."""
    if scale is None:
        return FIRST
    if scale == UNIT:
        return ITSELF
    origin, width = f"{scale.origin:.9g}", f"{scale.width:.9g}"
    return f"{f'(loss - {origin})' if scale.origin else 'loss'} / {width}"


def read_scale(text: str) -> Scale | None:
    """The scale that `describe_scale` has made a text of, to nine digits; None is that around the first success.

    Raises ValueError for any other text.
    """
    if text == FIRST:
        return None
    if text == ITSELF:
        return UNIT
    found = re.fullmatch(r"(?:loss|\(loss - (\S+)\)) / (\S+)", text)
    if found is None:
        raise ValueError(f"`{text}` is no scale")
    return Scale(float(found[1] or 0.0), float(found[2]))
