"""Helpers of `SpaceSearchCV`: splits, budget, failed trials, and the conversion of scores to losses."""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from math import inf, isfinite
from time import perf_counter
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from spacelang.api.experiment import PreparedExperiment
from spacelang.api.space import Space
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import NEGATED_PREFIX, FunctionGoal
from spacelang.ir.trial import Trial
from spacelang.ir.validation import CrossValidation, Holdout, describe_validation, non_default_options
from spacelang.runtime.budget import Budget
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.evaluation.splits import order_by_groups_or_times, smallest_sufficient_length, stratified_order
from spacelang.runtime.pipelines.estimator import WITHOUT_WEIGHTS_HELP, SpaceEstimator, last_step_without_sample_weights
from spacelang.runtime.run_deadline import FinalWorkCosts, WorkSizes

RowNumbers: TypeAlias = npt.NDArray[np.int64]  # An array of row numbers
Scorer: TypeAlias = Callable[[Any, Any, Any], object]
"""A scorer of scikit-learn: called with a fitted estimator, features and labels."""
SINGLE_SCORE: Final = "score"  # The name that scikit-learn gives to the score of a search with a single score
ERROR_HINT: Final = "use `error_score='raise'` to see the first error"
"""How to see why trials failed, in their fit or in their scoring."""


class DeferredErrorEstimator(SpaceEstimator):
    """An estimator that keeps an error of its fit and raises it when it is scored.

    scikit-learn ends a search as soon as all fits of one batch fail; with this estimator only their scoring fails.
    """

    def fit(self, features: Any, labels: Any = None, sample_weight: Any = None) -> "DeferredErrorEstimator":
        """Fit the pipeline, or keep the error in `error_`."""
        try:
            super().fit(features, labels, sample_weight)
        except Exception as error:  # noqa: BLE001 - a pipeline may raise anything; the search must survive it
            self.error_ = error
        return self

    @property
    def pipeline_(self) -> Any:
        """The fitted pipeline; raises the error of the fit if it failed."""
        if hasattr(self, "error_"):
            raise self.error_
        return self.fitted_

    @pipeline_.setter
    def pipeline_(self, fitted: Any) -> None:
        self.fitted_ = fitted


@dataclass(frozen=True, slots=True)
class FixedSplitter:
    """Predefined splits as a cross-validation splitter of scikit-learn."""

    splits: list[tuple[RowNumbers, RowNumbers]]

    def split(self, X: Any = None, y: Any = None, **_: Any) -> list[tuple[RowNumbers, RowNumbers]]:  # noqa: N803, ARG002
        """Return the training and the held-out row numbers of each split."""
        return self.splits

    def get_n_splits(self, X: Any = None, y: Any = None, **_: Any) -> int:  # noqa: N803, ARG002
        """Return the number of splits."""
        return len(self.splits)


@dataclass(slots=True)
class SklearnSearchState:
    """The state of a running search whose trials scikit-learn evaluates.

    `started` is the reading of `perf_counter` when `fit` was called. If it `refits`, seconds for the final fit of the
    best pipeline on all rows are reserved; `reserve` are those that its trial predicts (see `run_deadline`).
    `evaluated` counts the evaluated trials, `failed` those that failed. `weights` are the sample weights, if there are
    any. `weightless` counts failed trials by their last step if that step does not take sample weights.
    """

    prepared: PreparedExperiment
    estimator: SpaceEstimator
    data: tuple[Any, Any]
    splits: FixedSplitter
    budget: Budget
    started: float
    refits: bool = True
    weights: Any = None
    search_started: float = field(default_factory=perf_counter)
    evaluated: int = 0
    failed: int = 0
    best_score: float = -inf
    costs: FinalWorkCosts = field(init=False)
    reserve: float = 0.0
    weightless: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        objective = self.prepared.objective
        assert isinstance(objective, DataObjective)
        # scikit-learn prepares the rows in every trial, so their seconds are part of its cost.
        self.costs = FinalWorkCosts(WorkSizes(objective.rows, self.training_size, len(self.splits.splits)))

    @property
    def training_size(self) -> int:
        """The number of training rows of a trial at full fidelity."""
        return self.prepared.objective.training_size

    @property
    def has_time_left(self) -> bool:
        """True if there is time for another trial: of the search, and of `fit` after reserving the final fit.

        The first trial is evaluated even if the start took all the time.
        """
        if not self.evaluated:
            return True
        now = perf_counter()
        reserve = self.search_started - self.started + (self.reserve if self.refits else 0.0)
        return self.budget.seconds_left(now - self.search_started, reserve) != 0

    def update_final_fit_reserve(self, trial: Trial, score: float) -> None:
        """Update the seconds reserved for the final fit, which each new best trial predicts from its cost."""
        self.costs.update_cost_growth(trial)
        if trial.loss is not None and score > self.best_score:
            self.best_score = score
            self.reserve = self.costs.fit_seconds(trial, None)

    def splits_with_training_rows(self, rows: int) -> FixedSplitter:
        """Return the splits of the search, each with a subset of `rows` of its training rows.

        A smaller subset is part of a larger one. Subsets are drawn at random, stratified for classification. If the
        rows have groups or an order in time, the subsets consist of whole groups or of the latest rows instead.
        """
        objective = self.prepared.objective
        assert isinstance(objective, DataObjective)
        dataset, few = objective.dataset, []
        codes = dataset.target.to_numpy() if dataset.is_stratified else None
        for training, held_out in self.splits.splits:
            rng, size = np.random.default_rng(self.prepared.experiment.seed), rows
            if dataset.relations:
                related = dataset.relations.select_rows(training)
                order, lengths = order_by_groups_or_times(related, None if codes is None else codes[training], rng)
                size = smallest_sufficient_length(lengths, rows)
            else:
                order = rng.permutation(len(training)) if codes is None else stratified_order(codes[training], rng)
            few.append((training[order[:size]], held_out))
        return FixedSplitter(few)

    def record_score(self, score: float, configuration: Configuration) -> float | None:
        """Count a trial and return the loss of its score; None if it failed: its score is not finite."""
        self.evaluated += 1
        if not isfinite(score):
            self.failed += 1
            if self.weights is not None:
                tried = clone(self.estimator).set_params(**configuration.to_dict())
                self.weightless.update(filter(None, [last_step_without_sample_weights(tried.build())]))
            return None
        return -score if self.prepared.objective.metric.name.startswith(NEGATED_PREFIX) else 1 - score

    def warn_of_failed_trials(self, judge: Scorer) -> None:
        """Warn if some trials, scored by `judge`, failed; raises ValueError if all failed or none was evaluated."""
        if self.failed == 0 < self.evaluated:
            return
        if not self.evaluated:
            raise ValueError("the time limit was reached before the first trial")
        problem = f"{self.failed} of {self.evaluated} trials failed"
        if self.failed == self.evaluated:
            reason = None if self.weightless else self._default_pipeline_error(judge)
            raise ValueError(
                f"{problem}; the default pipeline: {reason}" if reason else f"{problem}: {self._failure_reason}"
            ) from reason
        warnings.warn(f"{problem}: {self._failure_reason}", FitFailedWarning, stacklevel=5)

    @property
    def _failure_reason(self) -> str:
        """The reason of the failures if known (last steps without sample weights), or a hint how to see the errors."""
        if not self.weightless:
            return ERROR_HINT
        names, unweighted = ", ".join(f"`{name}`" for name in sorted(self.weightless)), self.weightless.total()
        verb = "does" if len(self.weightless) == 1 else "do"
        reason = f"{names} {verb} not support sample weights, {WITHOUT_WEIGHTS_HELP}"
        return reason if unweighted == self.failed else f"{unweighted} of them as {reason}; {ERROR_HINT}"

    def _default_pipeline_error(self, judge: Scorer) -> Exception | None:
        """Fit the default pipeline on all data and score it with `judge`; return the error, or None if it succeeds."""
        tried = clone(self.estimator).fit(*self.data, self.weights)
        if (error := getattr(tried, "error_", None)) is None:
            try:
                judge(tried, *self.data)
            except Exception as raised:  # noqa: BLE001 - a scorer may raise anything
                return raised
        return error


def task_scorer(space: Space) -> str | None:
    """Return the name of the scorer that the task optimizes and that scikit-learn maximizes.

    None without a goal, or if the goal's direction is opposite to the scorer's. Raises ValueError for several goals
    and for a goal of the user's own function.
    """
    goal = None if space.task is None else space.task.goal
    if space.task is not None and space.task.further_goals:
        names = ", ".join(f"`{each.formula}`" for each in space.task.goals)
        raise ValueError(f"the task has several objectives ({names}): pass `scoring`, or use `search`")
    if isinstance(goal, FunctionGoal):
        message = (
            f"the goal `{goal.direction} {goal.formula}` is a number that a function of yours returns, not a score: "
            "use `search` or `ask_and_tell`"
        )
        raise ValueError(message)  # noqa: TRY004 - like other goals that do not fit
    return None if goal is None or (goal.direction == "maximize") == goal.from_one else goal.scorer


def task_splitter(space: Space, seed: int) -> Any:
    """Return the scikit-learn splitter for the validation of the task; None if the task has none.

    Raises ValueError for one that names a column, which scikit-learn would treat as a feature.
    """
    validation = None if space.task is None else space.task.validation
    if validation is not None and non_default_options(validation):
        problem = (
            f"`validate {describe_validation(validation)}` names a column, which scikit-learn would use as a feature"
        )
        raise ValueError(f"{problem}: pass `cv`, and `groups` to `fit`, as for `GridSearchCV`, or use `search`")
    is_classification = is_classifier(SpaceEstimator(space.checked))
    match validation:
        case Holdout(share):
            return (StratifiedShuffleSplit if is_classification else ShuffleSplit)(
                1, test_size=share, random_state=seed
            )
        case CrossValidation(folds):
            kind = StratifiedKFold if is_classification else KFold
            return kind(folds, shuffle=True, random_state=seed)
        case _:
            return None


def optimized_scores(results: Mapping[str, Any], refit: Any) -> npt.NDArray[np.float64]:
    """Return the mean test score of each trial: the only score, or the one that `refit` names.

    Raises ValueError if there are several scores and `refit` names none of them.
    """
    name = refit if isinstance(refit, str) and f"mean_test_{refit}" in results else SINGLE_SCORE
    if f"mean_test_{name}" not in results:
        raise ValueError("with several scores, `refit` must name the one to optimize")
    return np.asarray(results[f"mean_test_{name}"], dtype=np.float64)


def request_sample_weights(last: Any) -> None:
    """Make the last step of a pipeline request sample weights from metadata routing, if it can use them."""
    for method in ("fit", "score"):
        if "sample_weight" in signature(getattr(last, method)).parameters:
            getattr(last, f"set_{method}_request")(sample_weight=True)
