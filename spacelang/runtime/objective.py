"""The objective: a request becomes a fitted pipeline, and that a loss on the held-out rows.

All that trials share is made once: the split, the prepared arrays, the order in which training takes its rows.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space, operators
from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.build import build
from spacelang.runtime.errors import DataError
from spacelang.runtime.labels import Dataset
from spacelang.runtime.library import class_of
from spacelang.runtime.metric import Metric, check_metric, default_metric, named_metric
from spacelang.runtime.preparation import Preparation, plan
from spacelang.runtime.split import plain_holdout, stratified_holdout, stratified_order

Clock: TypeAlias = Callable[[], float]
"""Seconds since some moment, never running backwards."""

SEEDS: Final = 2**32
"""How many seeds scikit-learn and NumPy's global generator know."""

REASON_LENGTH: Final = 200
"""The longest reason of a failed trial that is kept, in characters."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How trials are judged: `metric` is a scikit-learn scorer (None: by the task), `test_size` a share in (0, 1)."""

    metric: str | None = None
    test_size: float = 0.3
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
        if not 0 < self._settings.test_size < 1:
            raise DataError(f"the share of held-out rows must lie between 0 and 1, not be {self._settings.test_size:g}")
        self.metric = _metric(self._settings, dataset)
        self.preparation: Preparation = plan(space, dataset.features)
        self._parts = _parts(dataset, self._settings, self.preparation)
        self._threads = _thread_control(space)

    @property
    def training_size(self) -> int:
        """The number of training rows: the largest fidelity."""
        return len(self._parts.training_target)

    @property
    def random_state(self) -> int:
        """The random state of every pipeline of the run."""
        return self._settings.seed % SEEDS

    def evaluate(self, request: Request) -> Trial:
        """Fit on the first `fidelity` rows of the training order and score on the held-out ones.

        A pipeline that raises, or whose score is no finite number, gives a failed trial with the reason. Raises
        BuildError where the configuration does not belong to the space: that is a bug of who asked.
        """
        started = self._clock()
        pipeline = build(self._space, request.configuration, random_state=self.random_state)
        try:
            with self._laboratory():
                loss = self._loss(pipeline, request.fidelity)
        except Exception as error:  # noqa: BLE001 - a user's pipeline may raise anything; a search outlives it
            return Trial(request, None, self._clock() - started, Status.FAILED, _reason(error, pipeline))
        cost = self._clock() - started
        if not math.isfinite(loss):
            return Trial(request, None, cost, Status.FAILED, f"the {self.metric.name} is {loss}")
        return Trial(request, loss, cost)

    def refit(self, configuration: Configuration) -> Any:
        """The pipeline of a configuration with the preparation as its first step, fitted on all rows.

        It takes a DataFrame with the data set's columns and predicts labels as the user wrote them. Raises what the
        pipeline raises.
        """
        pipeline = build(
            self._space, configuration, preparation=self.preparation, random_state=self.random_state, n_jobs=None
        )
        with self._laboratory():
            return pipeline.fit(self._dataset.features, self._dataset.labels)

    def _loss(self, pipeline: Any, fidelity: int | None) -> float:
        parts = self._parts
        rows = self.training_size if fidelity is None else min(fidelity, self.training_size)
        pipeline.fit(parts.training[:rows], parts.training_target[:rows])
        return self.metric.loss(pipeline, parts.held_out, parts.held_out_target)

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


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """The prepared rows, those for training in the order in which trials take them."""

    training: Any
    training_target: Any
    held_out: Any
    held_out_target: Any


def _metric(settings: Settings, dataset: Dataset) -> Metric:
    metric = default_metric(dataset) if settings.metric is None else named_metric(settings.metric)
    check_metric(metric, dataset)
    return metric


def _parts(dataset: Dataset, settings: Settings, preparation: Preparation) -> _Parts:
    if len(dataset.target) < 4:
        raise DataError(f"`{dataset.name}` has {len(dataset.target)} rows, too few to hold some out")
    target = dataset.target.to_numpy()
    rng = np.random.default_rng(settings.seed)
    if dataset.kind == "classification":
        training, held_out = stratified_holdout(target, settings.test_size, rng)
        training = training[stratified_order(target[training], rng)]
    else:
        training, held_out = plain_holdout(len(target), settings.test_size, rng)
    return _Parts(*_prepared(dataset.features, preparation, training, held_out, target))


def _prepared(
    features: pd.DataFrame, preparation: Preparation, training: Any, held_out: Any, target: Any
) -> tuple[Any, ...]:
    fitting, judging = features.iloc[training], features.iloc[held_out]
    transformer = preparation.transformer()
    if transformer is not None:
        fitting, judging = transformer.fit_transform(fitting), transformer.transform(judging)
    if not preparation.keeps_categories:
        fitting, judging = _array(fitting), _array(judging)
    return fitting, target[training], judging, target[held_out]


def _array(table: Any) -> Any:
    """An array of floats, whose first rows are a view rather than a copy."""
    return (
        table.to_numpy(dtype=np.float64, na_value=np.nan)
        if isinstance(table, pd.DataFrame)
        else table.astype(np.float64)
    )


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
