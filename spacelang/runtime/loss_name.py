"""What losses are called."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class LossName:
    """What a loss is called: `name` is that of the score, `formula` how the loss is made of it (`1 - roc_auc`)."""

    name: str
    formula: str


LOSS: Final = LossName("loss", "loss")
"""What a loss is called of which nothing else is known."""
