"""Names and formulas of losses, and the positive class of binary scorers."""

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class LossName:
    """The name of a score and the formula that turns it into the loss (`1 - roc_auc`)."""

    name: str
    formula: str


UNNAMED_LOSS: Final = LossName("loss", "loss")
"""The name of a loss that has no other name."""


@dataclass(frozen=True, slots=True)
class PositiveClass:
    """The one of two classes that some scorers refer to. `label` is the user's own label."""

    label: Any
    scorers: tuple[str, ...]

    @property
    def json_label(self) -> str | float:
        """The label as a JSON value."""
        return self.label if isinstance(self.label, str | int | float) else str(self.label)

    @property
    def description(self) -> str:
        """A sentence for users: which scorers refer to which class, and why."""
        names = ", ".join(f"`{name}`" for name in self.scorers)
        return f"the positive class of {names} is `{self.label}`, the last of the two in sorted order"
