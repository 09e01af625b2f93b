"""Judging: what is asked of a fitted pipeline on the rows that it has not seen, and the mean of it over the folds."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spacelang.ir.task import AnyBound, Bound, Measure
from spacelang.ir.trial import Measurement, Request, Status, Trial
from spacelang.runtime.chance import kept_chance
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.evaluation.folds import Fold, writes_in_place
from spacelang.runtime.evaluation.split import Rows
from spacelang.runtime.judging.answers import Answers
from spacelang.runtime.judging.constraints import Constraint, ConstraintError
from spacelang.runtime.judging.measures import defined_mean, mean, measure
from spacelang.runtime.judging.metric import (
    Loss,
    Metric,
    check_metric,
    default_metric,
    goal_metric,
    named_metric,
    scorer_of,
)

if TYPE_CHECKING:
    from spacelang.runtime.evaluation.settings import Settings


@dataclass(frozen=True, slots=True)
class Fitted:
    """A pipeline that was fitted on a fold.

    `tail` is the part of it that takes `held_out`, which are the fold's held-out rows as the steps before have
    transformed them: whoever scores with these two does not transform again what was transformed before.
    """

    pipeline: Any
    tail: Any
    held_out: Any


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What came of a pipeline on one fold, or of one on all of them; nan is undefined.

    `constraints` and `metrics` are in the order of the judge's; `predictions` is as in a `Trial`, None where they were
    not asked for or could not be had.
    """

    loss: float
    constraints: tuple[float, ...] = ()
    metrics: tuple[float, ...] = ()
    training_loss: float = math.nan
    predictions: npt.NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class Judge:
    """What every trial is asked: its loss, what is bounded, and what is recorded beside it.

    `bounds` are those of the task, `constraints` the user's own; `scorers` come with their names. `classes` is the
    number of classes, 0 for a regression, or None where no predictions are wanted.
    """

    metric: Metric
    bounds: tuple[Bound, ...]
    clock: Callable[[], float]
    constraints: tuple[Constraint, ...] = ()
    scorers: tuple[tuple[str, Loss], ...] = ()
    training_score: bool = False
    classes: int | None = None

    @property
    def all_bounds(self) -> tuple[AnyBound, ...]:
        """All that a trial must keep to, in the order in which it has them."""
        return (*self.bounds, *(each.bound for each in self.constraints))

    def judge(self, fitted: Fitted, fold: Fold, fidelity: int | None) -> Judgement:
        """What a pipeline achieves on the held-out rows of a fold, fitted on the first `fidelity` training rows.

        Raises what the pipeline raises where it is asked for the loss or for what is bounded, and ConstraintError. What
        is only recorded neither raises nor changes anything: where it fails it is undefined. Where the loss is no
        finite number, nothing else is measured.
        """
        writes = self._asks_more and writes_in_place(fitted.pipeline)
        answers = Answers(fitted.tail, fitted.held_out, writes=writes)
        loss = self.metric.loss(answers, fitted.held_out, fold.held_out_target)
        if not self._asks_more or not math.isfinite(loss):
            return Judgement(loss)
        with kept_chance():
            return Judgement(
                loss,
                metrics=tuple(_attempted(scorer, answers, None, fold.held_out_target) for _, scorer in self.scorers),
                predictions=self._predictions(answers),
                training_loss=self._training_loss(fitted.pipeline, fold, fidelity, writes),
                # What users wrote comes last: whatever it does to the pipeline, nothing is measured of it any more.
                constraints=(
                    *(
                        measure(bound, fitted.pipeline, answers, fold, self.clock, writes=writes)
                        for bound in self.bounds
                    ),
                    *(_of_function(constraint, fitted.pipeline, fold) for constraint in self.constraints),
                ),
            )

    def trial(
        self, request: Request, judgements: Sequence[Judgement], cost: float, cost_alone: float | None = None
    ) -> Trial:
        """What came of a request on all folds: a mean over those in which a thing is defined.

        Predictions are those for all held-out rows, fold after fold, or None where those of a fold are missing. A trial
        whose loss is no finite number has failed, and has nothing else.
        """
        loss = mean([each.loss for each in judgements])
        if not math.isfinite(loss):
            reason = f"the {self.metric.name} is {loss}"
            return Trial(request, None, cost, Status.INVALID, reason, cost_alone=cost_alone)
        training_loss = defined_mean(each.training_loss for each in judgements)
        return Trial(
            request,
            loss,
            cost,
            constraints=tuple(map(Measurement, self.all_bounds, _means([each.constraints for each in judgements]))),
            cost_alone=cost_alone,
            metrics=tuple(zip(self._names, _means([each.metrics for each in judgements]), strict=True)),
            training_loss=None if math.isnan(training_loss) else training_loss,
            predictions=_joined([each.predictions for each in judgements]),
        )

    @property
    def _asks_more(self) -> bool:
        records = bool(self.scorers) or self.training_score or self.classes is not None
        return records or bool(self.bounds) or bool(self.constraints)

    @property
    def _names(self) -> list[str]:
        return [name for name, _ in self.scorers]

    def _predictions(self, answers: Answers) -> npt.NDArray[np.float64] | None:
        if self.classes is None:
            return None
        try:
            return predictions(answers, self.classes)
        except Exception:  # noqa: BLE001 - a trial that succeeded stays one, whatever its pipeline does now
            return None

    def _training_loss(self, pipeline: Any, fold: Fold, fidelity: int | None, writes: bool) -> float:
        if not self.training_score:
            return math.nan
        # The whole pipeline: what some steps give for rows while they are fitted on them is not what they give later.
        features, target = fold.training_rows(fidelity, own=writes)
        found = _attempted(self.metric.loss, pipeline, features, target)
        return found if math.isfinite(found) else math.nan


def make_judge(settings: "Settings", dataset: Dataset, clock: Callable[[], float]) -> Judge:
    """The judge of a run; `clock` is in seconds.

    Raises MetricError for a scorer that is unknown or that cannot be computed on the data, and ConstraintError for
    names that are given to several constraints.
    """
    for bound in settings.bounds:
        if bound.measure is Measure.DISPARITY:
            check_metric(named_metric(bound.scorer), dataset)
    names = tuple(dict.fromkeys(settings.metrics))
    for name in names:
        check_metric(named_metric(name), dataset)
    metric = default_metric(dataset) if settings.goal is None else goal_metric(settings.goal)
    check_metric(metric, dataset)
    _refuse_twins(settings.constraints)
    return Judge(
        metric=metric,
        bounds=settings.bounds,
        clock=clock,
        constraints=settings.constraints,
        scorers=tuple((name, scorer_of(name)) for name in names),
        training_score=settings.training_score,
        classes=len(dataset.classes) if settings.predictions else None,
    )


def predictions(answers: Any, classes: int) -> npt.NDArray[np.float64]:
    """Of a pipeline that was fitted on codes, for n rows: n x `classes` probabilities; n values where there are none.

    A pipeline that gives no probabilities gives 1 to the class that it predicts. A class that it has not learned has 0.
    """
    if not classes:
        return np.asarray(answers.predict(None), np.float64).reshape(-1)
    learned = np.asarray(answers.classes_, np.int64)
    if hasattr(answers, "predict_proba"):
        given = np.asarray(answers.predict_proba(None), np.float64)
    else:
        given = (np.asarray(answers.predict(None)).reshape(-1, 1) == learned).astype(np.float64)
    found = np.zeros((len(given), classes))
    found[:, learned] = given
    return found


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """The rows for which trials have predictions, n of them in the same order: fold after fold.

    `rows` are their numbers in the table, from 0; `target` is the truth, a number or the place of the class in
    `classes`; `folds` says in which fold, from 0, a row is held out.
    """

    rows: Rows
    target: npt.NDArray[Any]
    folds: npt.NDArray[np.int64]
    classes: tuple[Any, ...]


def held_out(folds: Sequence[Fold], classes: tuple[Any, ...]) -> HeldOut:
    """The held-out rows of all folds; `classes` are the labels of the data set."""
    return HeldOut(
        np.concatenate([fold.rows for fold in folds]),
        np.concatenate([fold.held_out_target for fold in folds]),
        np.repeat(np.arange(len(folds)), [len(fold.rows) for fold in folds]),
        classes,
    )


# ---- one after the other


def _attempted(score: Loss, pipeline: Any, features: Any, target: Any) -> float:
    try:
        return float(score(pipeline, features, target))
    except Exception:  # noqa: BLE001 - what is only recorded is no reason to fail a trial
        return math.nan


def _of_function(constraint: Constraint, pipeline: Any, fold: Fold) -> float:
    return constraint.measure(pipeline, guarded(fold.held_out), guarded(fold.held_out_target))


def guarded(table: Any) -> Any:
    """The rows for a stranger, who cannot change those that all trials share."""
    if not isinstance(table, np.ndarray):
        return table.copy()
    view = table.view()
    view.flags.writeable = False
    return view


def _means(folds: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(map(defined_mean, zip(*folds, strict=True)))


def _joined(parts: Sequence[npt.NDArray[np.float64] | None]) -> npt.NDArray[np.float64] | None:
    there = [part for part in parts if part is not None]
    return np.concatenate(there) if len(there) == len(parts) else None


def _refuse_twins(constraints: Sequence[Constraint]) -> None:
    names = [constraint.name for constraint in constraints]
    for name in names:
        if names.count(name) > 1:
            raise ConstraintError(f"two constraints are called `{name}`", "give each a name of its own")
