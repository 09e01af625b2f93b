"""The objective: a request becomes a fitted pipeline, and that a loss on the held-out rows.

All that trials share is made once: the split, the prepared arrays, the order in which training takes its rows.
"""

import copy
import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final, TypeAlias

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space, operators
from spacelang.ir.task import Bound, Goal, Holdout, Measure, Validation
from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.build import build
from spacelang.runtime.folds import Fold, make_folds
from spacelang.runtime.labels import Dataset
from spacelang.runtime.library import class_of
from spacelang.runtime.measures import measure, together
from spacelang.runtime.metric import Metric, check_metric, default_metric, goal_metric, named_metric
from spacelang.runtime.preparation import Preparation, plan

Clock: TypeAlias = Callable[[], float]
"""Seconds since some moment, never running backwards."""

SEEDS: Final = 2**32
"""How many seeds scikit-learn and NumPy's global generator know."""

REASON_LENGTH: Final = 200
"""The longest reason of a failed trial that is kept, in characters."""


DEFAULT_VALIDATION: Final = Holdout(0.3)
"""The split of the papers that compare optimizers."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How trials are judged: by which goal (None: by the data), on which rows, and what else is measured."""

    goal: Goal | None = None
    validation: Validation = DEFAULT_VALIDATION
    bounds: tuple[Bound, ...] = ()
    seed: int = 0


class Objective:
    """What a search minimises over one space and one data set.

    Raises DataError, MetricError or BuildError on construction for all that would make every trial fail.
    """

    def __init__(
        self, space: Space, dataset: Dataset, settings: Settings | None = None, *, clock: Clock = time.perf_counter
    ) -> None:
        self._space = space
        self._dataset = dataset
        self._settings = Settings() if settings is None else settings
        self._clock = clock
        self.metric = _metric(self._settings, dataset)
        self.preparation: Preparation = plan(space, dataset.features)
        self._folds = _folds(dataset, self._settings, self.preparation)
        self._threads = _thread_control(space)

    @property
    def training_size(self) -> int:
        """The number of training rows: the largest fidelity; of a cross-validation, in the largest training part."""
        return max(len(fold.training_target) for fold in self._folds)

    @property
    def dataset(self) -> Dataset:
        """The data with the labels as codes."""
        return self._dataset

    @property
    def validation(self) -> Validation:
        """On which rows trials are judged."""
        return self._settings.validation

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """What is measured of every trial beside its loss."""
        return self._settings.bounds

    @property
    def symbols(self) -> dict[str, int]:
        """How large the data is, in the words of spaces: rows that a trial trains on, columns, classes if any.

        Of a cross-validation the smallest training part counts, so that what fits it fits all.
        """
        rows = min(len(fold.training_target) for fold in self._folds)
        columns = min(int(fold.training.shape[1]) for fold in self._folds)
        classes = len(self._dataset.classes)
        return {"n_samples": rows, "n_features": columns, **({"n_classes": classes} if classes else {})}

    def over(self, space: Space) -> "Objective":
        """The objective over the same space with other domains: data and split are shared."""
        other = copy.copy(self)
        other._space = space
        return other

    @property
    def random_state(self) -> int:
        """The random state of every pipeline of the run."""
        return self._settings.seed % SEEDS

    def evaluate(self, request: Request) -> Trial:
        """Fit on the first `fidelity` rows of the training order and score on the held-out ones; a mean over folds.

        A pipeline that raises, or whose score is no finite number, gives a failed trial with the reason. Raises
        BuildError where the configuration does not belong to the space: that is a bug of who asked.
        """
        started = self._clock()
        # Every fold has a pipeline of its own: one that was fitted before may go on from there (`warm_start`).
        pipelines = [self._built(request.configuration) for _ in self._folds]
        judged = []
        try:
            with self._laboratory():
                for pipeline, fold in zip(pipelines, self._folds, strict=True):
                    judged.append(self._judge(pipeline, fold, request.fidelity))
        except Exception as error:  # noqa: BLE001 - a user's pipeline may raise anything; a search outlives it
            reason = _reason(error, pipelines[len(judged)])
            return Trial(request, None, self._clock() - started, Status.FAILED, reason)
        cost = self._clock() - started
        loss = fmean(loss for loss, _ in judged)
        if not math.isfinite(loss):
            return Trial(request, None, cost, Status.FAILED, f"the {self.metric.name} is {loss}")
        constraints = together(self._settings.bounds, [measured for _, measured in judged])
        return Trial(request, loss, cost, constraints=constraints)

    def refit(self, configuration: Configuration) -> Any:
        """The pipeline of a configuration with the preparation as its first step, fitted on all rows.

        It takes a DataFrame with the data set's columns and predicts labels as the user wrote them. Raises what the
        pipeline raises.
        """
        pipeline = build(
            self._space, configuration, preparation=self.preparation, random_state=self.random_state, n_jobs=None
        )
        classes = self._dataset.classes
        if classes != tuple(range(len(classes))):
            from spacelang.runtime.labelled import for_any_labels

            pipeline = for_any_labels(pipeline)
        with self._laboratory():
            return pipeline.fit(self._dataset.features, self._dataset.labels)

    def _built(self, configuration: Configuration) -> Any:
        texts = self.preparation.texts
        return build(self._space, configuration, texts=texts, random_state=self.random_state)

    def _judge(self, pipeline: Any, fold: Fold, fidelity: int | None) -> tuple[float, list[float]]:
        """The loss on a fold and what the bounds are about."""
        pipeline.fit(fold.training[:fidelity], fold.training_target[:fidelity])
        loss = self.metric.loss(pipeline, fold.held_out, fold.held_out_target)
        return loss, [measure(bound, pipeline, fold, self._clock) for bound in self._settings.bounds]

    @contextmanager
    def _laboratory(self) -> Iterator[None]:
        """One thread, silent warnings and a seeded global generator, for as long as third-party code runs."""
        state = np.random.get_state()
        try:
            with self._threads.limit(limits=1), warnings.catch_warnings():
                # What a library warns about in a trial (no convergence, constant features) tells in the loss.
                warnings.simplefilter("ignore")
                # Operators without a random_state draw from NumPy's global generator.
                np.random.seed(self.random_state)
                yield
        finally:
            np.random.set_state(state)


def _thread_control(space: Space) -> Any:
    """The control of all thread pools; it knows those of the libraries that are loaded, so all that are used are."""
    from threadpoolctl import ThreadpoolController

    for operator in operators(space.root):
        class_of(operator)
    return ThreadpoolController()


def _metric(settings: Settings, dataset: Dataset) -> Metric:
    for bound in settings.bounds:
        if bound.measure is Measure.DISPARITY:
            check_metric(named_metric(bound.scorer), dataset)
    metric = default_metric(dataset) if settings.goal is None else goal_metric(settings.goal)
    check_metric(metric, dataset)
    return metric


def _folds(dataset: Dataset, settings: Settings, preparation: Preparation) -> tuple[Fold, ...]:
    columns = dict.fromkeys(bound.column for bound in settings.bounds if bound.measure is Measure.DISPARITY)
    return make_folds(dataset, settings.validation, settings.seed, preparation, columns)


def _reason(error: Exception, pipeline: Any) -> str:
    """One line that says what was raised, and in which step where the traceback leads through one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    if len(text) > REASON_LENGTH:
        text = text[: REASON_LENGTH - 3] + "..."
    step = _failed_step(error, pipeline)
    return f"{text} (step `{step}`)" if step else text


def _failed_step(error: Exception, pipeline: Any) -> str:
    frame = error.__traceback__
    while frame is not None:
        at_work = frame.tb_frame.f_locals.get("self")
        for name, step in pipeline.steps:
            if step is at_work:
                return str(name)
        frame = frame.tb_next
    return ""
