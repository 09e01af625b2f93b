"""What a search is while scikit-learn evaluates its trials: splits, budget, losses of scores, failures."""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from math import isfinite
from time import perf_counter
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from spacelang.api.experiment import Prepared
from spacelang.api.space import Space
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import NEGATED, CrossValidation, Holdout
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.evaluation.split import stratified_order
from spacelang.runtime.pipelines.estimator import WITHOUT_WEIGHTS, SpaceEstimator, weightless

Indices: TypeAlias = npt.NDArray[np.int64]
"""Numbers of rows."""

Judge: TypeAlias = Callable[[Any, Any, Any], object]
"""A scorer: it takes a fitted estimator, rows and their labels."""

SCORE: Final = "score"
"""What scikit-learn calls the one score of a search that has no other."""

REASON: Final = "`error_score='raise'` shows why the first did"
"""How to see why trials failed: in their fit, or in what their predictions are scored by."""


class Tried(SpaceEstimator):
    """One that fails where it is scored: scikit-learn ends a search as soon as all that it fits at a time fails."""

    def fit(self, features: Any, labels: Any = None, sample_weight: Any = None) -> "Tried":
        """Fit the pipeline, or keep why that cannot be."""
        try:
            super().fit(features, labels, sample_weight)
        except Exception as error:  # noqa: BLE001 - a pipeline may raise anything; a search outlives it
            self.error_ = error
        return self

    @property
    def pipeline_(self) -> Any:
        """The fitted pipeline; raises what its fit has raised."""
        if hasattr(self, "error_"):
            raise self.error_
        return self.fitted_

    @pipeline_.setter
    def pipeline_(self, fitted: Any) -> None:
        self.fitted_ = fitted


@dataclass(frozen=True, slots=True)
class Splits:
    """Splits that are known, as a splitter of scikit-learn."""

    splits: list[tuple[Indices, Indices]]

    def split(self, X: Any = None, y: Any = None, **_: Any) -> list[tuple[Indices, Indices]]:  # noqa: N803, ARG002
        """Training and held-out rows of each."""
        return self.splits

    def get_n_splits(self, X: Any = None, y: Any = None, **_: Any) -> int:  # noqa: N803, ARG002
        """How many there are."""
        return len(self.splits)


@dataclass(slots=True)
class CrossValidatedSearch:
    """A search on its way, of trials that scikit-learn evaluates, of which `failed` out of `made` failed.

    `weights` are those of rows, where there are any; `weightless` counts the failed trials whose last step takes none.
    """

    prepared: Prepared
    estimator: SpaceEstimator
    data: tuple[Any, Any]
    splits: Splits
    seconds: float | None
    weights: Any = None
    begun: float = field(default_factory=perf_counter)
    made: int = 0
    failed: int = 0
    weightless: Counter[str] = field(default_factory=Counter)

    @property
    def size(self) -> int:
        """The training rows of a trial on all of them."""
        return self.prepared.objective.training_size

    @property
    def goes_on(self) -> bool:
        """Whether there is time left."""
        return self.seconds is None or perf_counter() - self.begun < self.seconds

    def first(self, rows: int) -> Splits:
        """The splits with so many of their training rows, all classes among them, those of fewer in those of more."""
        objective = self.prepared.objective
        assert isinstance(objective, DataObjective)
        target, few = objective.dataset.target.to_numpy(), []
        for training, held_out in self.splits.splits:
            rng = np.random.default_rng(self.prepared.experiment.seed)
            is_classification = objective.dataset.kind == "classification"
            order = stratified_order(target[training], rng) if is_classification else rng.permutation(len(training))
            few.append((training[order[:rows]], held_out))
        return Splits(few)

    def loss(self, score: float, configuration: Configuration) -> float | None:
        """The loss of a score that a configuration came to; None for that of a failure."""
        self.made += 1
        if not isfinite(score):
            self.failed += 1
            if self.weights is not None:
                tried = clone(self.estimator).set_params(**configuration.to_dict())
                self.weightless.update(filter(None, [weightless(tried.build())]))
            return None
        return -score if self.prepared.objective.metric.name.startswith(NEGATED) else 1 - score

    def check_successes(self, judge: Judge) -> None:
        """Warn of trials that failed, which `judge` was to score; raises ValueError where all did."""
        if self.failed == 0 < self.made:
            return
        if not self.made:
            raise ValueError("the time was used up before the first trial")
        what = f"{self.failed} of {self.made} trials failed"
        if self.failed == self.made:
            why = None if self.weightless else self._why(judge)
            raise ValueError(f"{what}; the default pipeline: {why}" if why else f"{what}: {self._reason}") from why
        warnings.warn(f"{what}: {self._reason}", FitFailedWarning, stacklevel=5)

    @property
    def _reason(self) -> str:
        """Why trials failed, as far as it is known without fitting them again."""
        if not self.weightless:
            return REASON
        names, unweighted = ", ".join(f"`{name}`" for name in sorted(self.weightless)), self.weightless.total()
        told = f"{names} {'takes' if len(self.weightless) == 1 else 'take'} no weights of rows, {WITHOUT_WEIGHTS}"
        return told if unweighted == self.failed else f"{unweighted} of them as {told}; {REASON}"

    def _why(self, judge: Judge) -> Exception | None:
        """What the default pipeline raises; None where it can be fitted and scored."""
        tried = clone(self.estimator).fit(*self.data, self.weights)
        if (error := getattr(tried, "error_", None)) is None:
            try:
                judge(tried, *self.data)
            except Exception as raised:  # noqa: BLE001 - a scorer may raise anything
                return raised
        return error


def task_scorer(space: Space) -> str | None:
    """The scorer that the task of a space maximises; None where it says nothing, or minimises what is a score."""
    goal = None if space.task is None else space.task.goal
    return None if goal is None or (goal.direction == "maximize") == goal.from_one else goal.scorer


def task_splitter(space: Space, seed: int) -> Any:
    """The splits that the task of a space says; None where it says nothing."""
    validation = None if space.task is None else space.task.validation
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


def searched_scores(results: Mapping[str, Any], refit: Any) -> npt.NDArray[np.float64]:
    """The mean scores that are searched; raises ValueError where nothing says which of several that is."""
    name = refit if isinstance(refit, str) and f"mean_test_{refit}" in results else SCORE
    if f"mean_test_{name}" not in results:
        raise ValueError("of several scores the one to search is that which `refit` names: it names none")
    return np.asarray(results[f"mean_test_{name}"], dtype=np.float64)


def ask_for_weights(last: Any) -> None:
    """Have the last step of a pipeline ask scikit-learn's routing for weights of rows, where it takes any."""
    for method in ("fit", "score"):
        if "sample_weight" in signature(getattr(last, method)).parameters:
            getattr(last, f"set_{method}_request")(sample_weight=True)
