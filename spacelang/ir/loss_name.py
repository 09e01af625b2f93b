"""The name of a loss, its formula, and the score that it stands for."""

from dataclasses import dataclass
from typing import Final

from spacelang.ir.task import NEGATED_PREFIX

FROM_ONE: Final = "1 - "  # The start of the formula of a loss that is 1 minus a score
MINUS: Final = "-"  # The start of the formula of a loss that is minus a number
SCORE_DIGITS: Final = ".6g"  # The format of the score of a trial
INTERVAL_DIGITS: Final = ".4g"  # The format of scores on test rows and of the ends of intervals: they are uncertain


@dataclass(frozen=True, slots=True)
class LossName:
    """The name of a score and the formula that turns it into the loss (`1 - roc_auc`).

    Users are shown the score: `roc_auc` for the loss `1 - roc_auc`, and `accuracy` for the loss `-accuracy`, which is
    that of `maximize "accuracy"`. Any other formula is its own score, such as the error `log_loss` of the scorer
    `neg_log_loss`, which is better the smaller it is.

    >>> LossName.of_formula("1 - roc_auc").describe(0.25, 0.125, 0.5)
    'roc_auc 0.75 [0.5, 0.875]'
    >>> LossName.of_formula("log_loss").describe(0.25)
    'log_loss 0.25'
    """

    name: str
    formula: str

    @staticmethod
    def of_formula(formula: str) -> "LossName":
        """Return the name of the loss with a formula, as a store has it, made of one of scikit-learn's scorers."""
        score = _score_name(formula)
        return LossName(score if score != formula else f"{NEGATED_PREFIX}{formula}", formula)

    @property
    def score_name(self) -> str:
        """The name of the score: `roc_auc` for `1 - roc_auc`, `log_loss` for `log_loss`."""
        return _score_name(self.formula)

    @property
    def is_score(self) -> bool:
        """True if the loss is its own score, so that less is better."""
        return self.score_name == self.formula

    def score(self, loss: float) -> float:
        """Return the score that a loss stands for; `score(score(loss))` is the loss."""
        if self.is_score:
            return loss
        return (1.0 if self.formula.startswith(FROM_ONE) else 0.0) - loss

    def maybe_score(self, loss: float | None) -> float | None:
        """Return the score that a loss stands for; None for None."""
        return None if loss is None else self.score(loss)

    def score_interval(self, low: float, high: float) -> tuple[float, float]:
        """Return the interval of scores, in ascending order, for an interval of losses."""
        return (low, high) if self.is_score else (self.score(high), self.score(low))

    def describe_interval(self, low: float | None, high: float | None) -> str:
        """Return the interval of scores as text, ` [0.98, 0.99]`; empty if an end is unknown."""
        if low is None or high is None:
            return ""
        first, last = (format(each, INTERVAL_DIGITS) for each in self.score_interval(low, high))
        return f" [{first}, {last}]"

    def describe(
        self, loss: float, low: float | None = None, high: float | None = None, *, digits: str = SCORE_DIGITS
    ) -> str:
        """Return a score with its name, and with the interval of scores for an interval of losses."""
        return f"{self.score_name} {self.score(loss):{digits}}{self.describe_interval(low, high)}"

    def describe_loss(self, loss: float, digits: str = SCORE_DIGITS) -> str:
        """Return the loss with its formula as text, to be shown after the score; empty if the loss is the score."""
        return "" if self.is_score else f"{self.formula} {loss:{digits}}"


def _score_name(formula: str) -> str:
    prefix = next((each for each in (FROM_ONE, MINUS) if formula.startswith(each)), "")
    return formula[len(prefix) :]


UNNAMED_LOSS: Final = LossName("loss", "loss")  # The name of a loss that has no other name
