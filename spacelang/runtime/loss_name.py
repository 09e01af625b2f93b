"""What losses are called."""

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class LossName:
    """What a loss is called: `name` is that of the score, `formula` how the loss is made of it (`1 - roc_auc`)."""

    name: str
    formula: str


LOSS: Final = LossName("loss", "loss")
"""What a loss is called of which nothing else is known."""


@dataclass(frozen=True, slots=True)
class PositiveClass:
    """The one of two classes that some scorers are of alone, as the user calls it."""

    label: Any
    scorers: tuple[str, ...]

    @property
    def plain(self) -> str | float:
        """The label as JSON has it."""
        return self.label if isinstance(self.label, str | int | float) else str(self.label)

    @property
    def sentence(self) -> str:
        """Which class that is, and why, for people."""
        names = ", ".join(f"`{name}`" for name in self.scorers)
        return f"{names}: of the class `{self.label}`, the last of the two in sorted order"
