"""Requests and trials: what an optimizer asks for, the results that it receives, and scales and names of losses."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf, isnan
from sys import float_info
from typing import Any, ClassVar, Final, Protocol, TypeAlias, TypeVar

from spacelang.deprecation import renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import NEGATED_PREFIX, AnyBound

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
        """Return the normalized loss, clipped only to one million widths in either direction."""
        return min(max((loss - self.origin) / self.width, -MAX_UNCLIPPED), MAX_UNCLIPPED)

    @classmethod
    def centered_on(cls, first: float) -> "LossScale":
        """Return the scale that maps the first loss to 1/2: its width is twice the absolute value, or 1 for 0."""
        width = min(2 * abs(first), float_info.max) or 1.0
        return cls(max(first - width / 2, -float_info.max), width)


UNIT_SCALE: Final = LossScale(0.0, 1.0)  # The identity scale for losses between 0 and 1


class Status(StrEnum):
    """The outcome of a trial; every outcome but SUCCESS is a failure and has no loss."""

    SUCCESS = "success"
    ERROR = "error"  # The pipeline raised an exception
    INVALID = "invalid"  # The pipeline was fitted, but its loss is not a finite number
    TIMEOUT = "timeout"  # The trial exceeded its time limit
    MEMORY = "memory"  # The trial exceeded its memory limit, or the memory that was available
    CRASH = "crash"  # The process of the trial ended unexpectedly, by a signal or an exit


Memo: TypeAlias = tuple[float | int | str, ...]  # Data that a search stores with a trial
R_co = TypeVar("R_co", covariant=True)


class Work(Protocol[R_co]):
    """A protocol for the items that an executor evaluates, such as requests, each with its own type of result."""

    @property
    def seconds(self) -> float | None:
        """A time limit of this work, tighter than the general one, or None."""

    def make_failed(self, status: Status, reason: str, cost: float) -> R_co:
        """Return the result of the work if it failed after `cost` seconds."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request for one evaluation; `fidelity` is the number of training rows, None for all rows.

    `seconds` is a time limit for this evaluation that is tighter than the general one, or None. A trial that exceeds it
    does not answer a request that allows more time. `memo` is returned with the trial, also when a stored trial is
    replayed. In cross-validation, the evaluation ends after a fold if the mean loss of the folds so far is greater than
    `stop_above`. Only `configuration` and `fidelity` take part in comparisons.
    """

    configuration: Configuration
    fidelity: int | None = None
    seconds: float | None = field(default=None, compare=False)
    memo: Memo = field(default=(), compare=False)
    stop_above: float | None = field(default=None, compare=False)

    def make_failed(self, status: Status, reason: str, cost: float) -> "Trial":
        """Return the failed trial of this request."""
        return Trial(self, None, cost, status, reason)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measured value of a bounded quantity in the unit of the bound; nan means unknown."""

    bound: AnyBound
    value: float

    @property
    def holds(self) -> bool:
        """True if the value satisfies the bound."""
        return self.bound.is_satisfied_by(self.value)

    @property
    def excess(self) -> float:
        """The violation, (value - limit) / (limit or 1): 0 if the bound holds, infinity if the value is unknown."""
        if self.holds:
            return 0.0
        return inf if isnan(self.value) else (self.value - self.bound.limit) / (self.bound.limit or 1.0)


@dataclass(frozen=True, slots=True)
class UnseenRowsMeasurement:
    """The value of a bounded quantity on rows that no trial has seen, in the unit of the bound.

    `low` and `high` are the ends of a 95 % confidence interval, or None. If `value` is None, it could not be measured.
    `reason` says why the value, or an interval that this quantity can have, is missing; else it is empty.
    """

    bound: AnyBound
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    @property
    def holds(self) -> bool:
        """True if the value satisfies the bound; False if it could not be measured."""
        return self.value is not None and self.bound.is_satisfied_by(self.value)

    @property
    def is_uncertain(self) -> bool:
        """True if the confidence interval contains values that satisfy the bound and values that violate it."""
        if self.low is None or self.high is None:
            return False
        return self.bound.is_satisfied_by(self.low) and not self.bound.is_satisfied_by(self.high)


@dataclass(frozen=True, slots=True)
class TestScore:
    """The loss of a pipeline on `rows` rows that no trial has seen, with a 95 % confidence interval.

    `low` and `high` are the ends of the interval, or None. If `loss` is None, the pipeline could not be scored, and
    `reason` says why. `constraints` holds the values of all bounds of the run on these rows, in order; it is empty if
    they were not measured.
    """

    __test__: ClassVar[bool] = False  # Tells pytest that this is not a test class, despite its name
    loss: float | None
    low: float | None
    high: float | None
    rows: int
    reason: str = ""
    constraints: tuple[UnseenRowsMeasurement, ...] = ()

    @property
    def is_feasible(self) -> bool | None:
        """True if every bound holds on these rows; None if none was measured."""
        return all(each.holds for each in self.constraints) if self.constraints else None


@renamed_attributes(
    answers="is_answer_to",
    standing="normalized_loss",
    training_standing="normalized_training_loss",
    seconds_alone="seconds_without_sharing",
)
@dataclass(frozen=True, slots=True)
class Trial:
    """A request and its result.

    Parameters
    ----------
    request
        The request that was evaluated.
    loss
        The loss, to be minimized; None if the trial failed. It is not changed if the trial violates a bound, so an
        optimizer that ignores constraints searches as if there were none.
    cost
        The seconds charged to the optimizer; 0 for a repetition that was answered from memory.
    status
        The outcome.
    reason
        The reason why a failed trial failed.
    constraints
        The measurements of all bounds of the task, then those of the user's own functions, in order; empty if the
        trial failed.
    cost_alone
        The seconds that the trial would have taken without work shared with other trials; None if nothing was
        shared.
    metrics
        Further scores by name, as scikit-learn's scorers return them: greater is better, nan is undefined. This and
        the following results exist only if they were requested and the trial succeeded.
    training_loss
        The loss on the training rows; None if it is undefined.
    predictions
        Predictions for the held-out rows, fold after fold: class probabilities of shape (n, classes), or n numbers
        for a regression; None if they are not available.
    objectives
        The values of all objectives of a run with several, by name, each minimized; the first one is the loss. Empty
        for one objective and for a failed trial.
    folds
        The number of evaluated folds if the others were left out because of `Request.stop_above`, else None. The
        results are then those of these folds, without predictions.
    scale
        The loss scale of the run. Optimizers receive it with each trial. It is not part of the result and is not
        stored.
    """

    request: Request
    loss: float | None
    cost: float = 0.0
    status: Status = Status.SUCCESS
    reason: str = ""
    constraints: tuple[Measurement, ...] = ()
    cost_alone: float | None = None
    metrics: tuple[tuple[str, float], ...] = ()
    training_loss: float | None = None
    predictions: Any = field(default=None, compare=False, repr=False)
    folds: int | None = None
    scale: LossScale = field(default=UNIT_SCALE, compare=False, repr=False)
    objectives: tuple[tuple[str, float], ...] = ()

    def is_answer_to(self, request: Request) -> bool:
        """Return True if this trial is a valid answer to an equal request.

        It is not if the trial hit its own time limit and `request` allows more time. A timeout before that limit was
        caused by the limit of the run, which is the same for all requests. A trial on some of the folds answers only
        requests that would have ended there, too.
        """
        if self.folds is not None and (
            request.stop_above is None or self.loss is None or self.loss <= request.stop_above
        ):
            return False
        allowed = self.request.seconds
        if self.status is not Status.TIMEOUT or allowed is None or self.cost < allowed:
            return True
        return request.seconds is not None and request.seconds <= allowed

    @property
    def seconds_without_sharing(self) -> float:
        """The seconds that the trial would have taken without work shared with other trials."""
        return self.cost if self.cost_alone is None else self.cost_alone

    @property
    def normalized_loss(self) -> float:
        """The normalized loss on the scale of the run, from 0 (best) to 1; 1 for a failure."""
        return 1.0 if self.loss is None else self.scale.normalize(self.loss)

    @property
    def normalized_training_loss(self) -> float | None:
        """The normalized loss on the training rows; None if it is undefined."""
        return None if self.training_loss is None else self.scale.normalize(self.training_loss)

    @property
    def is_feasible(self) -> bool:
        """True if the trial satisfies every bound."""
        return all(measurement.holds for measurement in self.constraints)

    @property
    def excess(self) -> float:
        """The sum of the relative violations of all bounds; 0 for a feasible trial."""
        return sum(measurement.excess for measurement in self.constraints)


SortKey: TypeAlias = tuple[bool, float]
"""A sort key: (trial failed, loss). The better of two trials has the smaller key."""


def sort_key(trial: Trial) -> SortKey:
    """Return a sort key that orders trials from best to worst by loss; failures are equal and come last."""
    return trial.loss is None, 0.0 if trial.loss is None else trial.loss


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
    """Parse the text of `describe_scale`; None stands for a scale that the first success will determine."""
    if text == FIRST_SUCCESS_TEXT:
        return None
    if text == UNIT_SCALE_TEXT:
        return UNIT_SCALE
    found = re.fullmatch(r"(?:loss|\(loss - (\S+)\)) / (\S+)", text)
    if found is None:
        raise ValueError(f"`{text}` is not a loss scale")
    return LossScale(float(found[1] or 0.0), float(found[2]))


FROM_ONE: Final = "1 - "  # The start of the formula of a loss that is 1 minus a score
MINUS: Final = "-"  # The start of the formula of a loss that is minus a number
SCORE_DIGITS: Final = ".6g"  # The format of the score of a trial
INTERVAL_DIGITS: Final = ".4g"  # The format of scores on test rows and of the ends of intervals: they are uncertain


@renamed_attributes(is_score="is_loss_the_score")
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
        """Return the `LossName` for the formula of a loss, such as `1 - roc_auc`, made of a scikit-learn scorer."""
        score = _score_name(formula)
        return LossName(score if score != formula else f"{NEGATED_PREFIX}{formula}", formula)

    @property
    def score_name(self) -> str:
        """The name of the score: `roc_auc` for `1 - roc_auc`, `log_loss` for `log_loss`."""
        return _score_name(self.formula)

    @property
    def is_loss_the_score(self) -> bool:
        """True if the loss is its own score, so that less is better."""
        return self.score_name == self.formula

    def score(self, loss: float) -> float:
        """Return the score that a loss stands for; `score(score(loss))` is the loss."""
        if self.is_loss_the_score:
            return loss
        return (1.0 if self.formula.startswith(FROM_ONE) else 0.0) - loss

    def maybe_score(self, loss: float | None) -> float | None:
        """Return the score that a loss stands for; None for None."""
        return None if loss is None else self.score(loss)

    def score_interval(self, low: float, high: float) -> tuple[float, float]:
        """Return the interval of scores, in ascending order, for an interval of losses."""
        return (low, high) if self.is_loss_the_score else (self.score(high), self.score(low))

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
        return "" if self.is_loss_the_score else f"{self.formula} {loss:{digits}}"


def _score_name(formula: str) -> str:
    prefix = next((each for each in (FROM_ONE, MINUS) if formula.startswith(each)), "")
    return formula[len(prefix) :]


UNNAMED_LOSS: Final = LossName("loss", "loss")  # The name of a loss that has no other name
