"""Loss scales: map a loss to a number between 0 and 1, for optimizers whose formulas assume that range."""

import re
from dataclasses import dataclass
from sys import float_info
from typing import Final

from spacelang.deprecation import renamed_attributes

MAX_UNCLIPPED: Final = 1e6


@renamed_attributes(standing="normalize", place="normalize_unclipped", around="centered_on")
@dataclass(frozen=True, slots=True)
class LossScale:
    """A linear map from losses to [0, 1]: 0 up to `origin`, 1 from `origin + width` on.

    Both are finite, and `width` is positive.
    """

    origin: float
    width: float

    def normalize(self, loss: float) -> float:
        """Return the normalized loss, from 0 (best) to 1."""
        return min(max(self.normalize_unclipped(loss), 0.0), 1.0)

    def normalize_unclipped(self, loss: float) -> float:
        """Return the normalized loss without clipping it to [0, 1], for formulas that do not depend on the unit.

        Values are clipped to one million widths in either direction.
        """
        return min(max((loss - self.origin) / self.width, -MAX_UNCLIPPED), MAX_UNCLIPPED)

    @classmethod
    def centered_on(cls, first: float) -> "LossScale":
        """Return the scale to use if only the first loss is known: it maps `first` to 1/2.

        Its width is twice the absolute value of `first`, or 1 if `first` is 0.
        """
        width = min(2 * abs(first), float_info.max) or 1.0
        return cls(max(first - width / 2, -float_info.max), width)


UNIT_SCALE: Final = LossScale(0.0, 1.0)
"""The identity scale for losses between 0 and 1."""


FIRST_SUCCESS_TEXT: Final = "around the first success"
UNIT_SCALE_TEXT: Final = "the loss itself"


def describe_scale(scale: LossScale | None) -> str:
    """Return a scale as readable text; None stands for the scale that the first success will determine."""
    if scale is None:
        return FIRST_SUCCESS_TEXT
    if scale == UNIT_SCALE:
        return UNIT_SCALE_TEXT
    origin, width = f"{scale.origin:.9g}", f"{scale.width:.9g}"
    return f"{f'(loss - {origin})' if scale.origin else 'loss'} / {width}"


def parse_scale(text: str) -> LossScale | None:
    """Parse the text made by `describe_scale`, which is accurate to nine digits.

    None stands for the scale that the first success will determine. Raise ValueError for any other text.
    """
    if text == FIRST_SUCCESS_TEXT:
        return None
    if text == UNIT_SCALE_TEXT:
        return UNIT_SCALE
    found = re.fullmatch(r"(?:loss|\(loss - (\S+)\)) / (\S+)", text)
    if found is None:
        raise ValueError(f"`{text}` is not a loss scale")
    return LossScale(float(found[1] or 0.0), float(found[2]))
