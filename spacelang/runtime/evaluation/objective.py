"""The objective that data is: a request becomes a fitted pipeline, and that a loss on the held-out rows.

All that trials share is made once: the split, the prepared arrays, the order in which training takes its rows.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from spacelang.catalog.beside import admit_all, admitted
from spacelang.ir.configuration import Configuration
from spacelang.ir.scale import Scale
from spacelang.ir.space import Space, operators
from spacelang.ir.task import AnyBound, Bound, Measure, Validation
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.agenda import Route
from spacelang.runtime.archives.meta_features import meta_features
from spacelang.runtime.chance import kept_chance, seed_chance
from spacelang.runtime.data.fingerprint import data_facts
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.ensembles.voting import member
from spacelang.runtime.errors import BuildError
from spacelang.runtime.evaluation.fitting import TrialRows, fit
from spacelang.runtime.evaluation.folds import (
    Fold,
    as_floats,
    make_folds,
    make_test_fold,
    training_rows,
    writes_in_place,
)
from spacelang.runtime.evaluation.prefixes import CacheSeconds, Prefixes
from spacelang.runtime.evaluation.reasons import reason_of
from spacelang.runtime.evaluation.refitting import Examine, Examined, Gauge, Gauged, Parcel, Refit, Refitted
from spacelang.runtime.evaluation.routes import Routes
from spacelang.runtime.evaluation.settings import USUAL, Settings
from spacelang.runtime.evaluation.testing import check_defined
from spacelang.runtime.failures import raised
from spacelang.runtime.judging.judge import HeldOut, Judgement, held_out, make_judge
from spacelang.runtime.judging.metric import Metric, of_one_class
from spacelang.runtime.judging.reaching import reached
from spacelang.runtime.judging.scaling import constant_loss, losses_of, scale_by
from spacelang.runtime.judging.testing import score
from spacelang.runtime.loss_name import PositiveClass
from spacelang.runtime.pipelines.build import build
from spacelang.runtime.pipelines.inputs import PipelineInput
from spacelang.runtime.pipelines.labelled import for_labels
from spacelang.runtime.pipelines.library import class_of
from spacelang.runtime.pipelines.preparation import Preparation, plan
from spacelang.runtime.pipelines.taking import taker
from spacelang.runtime.storing.header import MISSING, SHOWN, DataFacts

Clock: TypeAlias = Callable[[], float]
"""Seconds since some moment, never running backwards."""

SEEDS: Final = 2**32
"""How many seeds scikit-learn and NumPy's global generator know."""

_BESIDE: Final = "beside"
"""Under this key of what is pickled stands where packages were found that are not installed."""


class DataObjective:
    """What a search minimises over one space and one data set.

    Raises DataError, MetricError or BuildError on construction for all that would make every trial fail.
    """

    is_cheap = False

    def __init__(
        self,
        space: Space,
        dataset: Dataset,
        settings: Settings | None = None,
        *,
        tested: Dataset | None = None,
        clock: Clock = time.perf_counter,
    ) -> None:
        """`tested` are rows that no trial sees, with the columns and codes of the others; None where there are none."""
        self._space = space
        self._dataset = dataset
        self._settings = USUAL if settings is None else settings
        self._clock = clock
        self._import()  # now: what cannot be imported is known before the first trial
        self._judge = make_judge(self._settings, dataset, clock)
        self.metric: Metric = self._judge.metric
        self.preparation: Preparation = plan(space, dataset.features)
        self._folds = _folds(dataset, self._settings, self.preparation)
        self.tested = tested
        if tested is not None:
            check_defined(self.metric, dataset, tested)
        self._prefixes = Prefixes(self._settings.cache_bytes)

    @property
    def training_size(self) -> int:
        """The number of training rows: the largest fidelity; of a cross-validation, in the largest training part."""
        return max(len(fold.training_target) for fold in self._folds)

    @property
    def rows(self) -> int:
        """The number of rows that trials may see, to train on them or to be judged on them."""
        return len(self._dataset.target)

    @property
    def test_rows(self) -> int:
        """The number of rows that they may not; 0 where there are none."""
        return 0 if self.tested is None else len(self.tested.target)

    @property
    def dataset(self) -> Dataset:
        """The data with the labels as codes."""
        return self._dataset

    @cached_property
    def facts(self) -> DataFacts:
        """The data as a store knows it."""
        return data_facts(self._dataset.name, self._dataset.features, self._dataset.labels)

    @cached_property
    def meta_features(self) -> Mapping[str, float]:
        """The meta-features of the training rows, of the first split where there are several; as they are in the data.

        Labels that trials are judged by are not looked at.
        """
        data = self._dataset
        rows = training_rows(data, self._settings.validation, self._settings.seed)
        features = data.features.iloc[rows] if isinstance(data.features, pd.DataFrame) else data.features[rows]
        is_classification = data.kind == "classification"
        return meta_features(features, data.target.iloc[rows], is_classification=is_classification)

    @property
    def positive_class(self) -> PositiveClass | None:
        """The class that some scorers are of by which trials are judged, recorded and bounded; None without such."""
        bounded = (each.scorer for each in self.bounds if isinstance(each, Bound))
        names = of_one_class((self.metric.name, *self._settings.metrics, *bounded), self._dataset)
        return PositiveClass(self._dataset.classes[1], names) if names else None

    @property
    def recorded(self) -> tuple[str, ...]:
        """The metrics that are recorded, and the loss on the training rows."""
        metrics = tuple(f"metric.{name}" for name in self._settings.metrics)
        return (*metrics, "training_loss") if self._settings.training_score else metrics

    @property
    def further(self) -> Mapping[str, str]:
        """What is recorded beside the usual, each by its name as JSON, and which rows are kept for testing.

        And by which of the missing values another version would have made other trials.
        """
        names = ("metrics", "training_score", "predictions")
        chosen = {name: (getattr(self._settings, name), getattr(USUAL, name)) for name in names}
        found = {name: json.dumps(value) for name, (value, usual) in chosen.items() if value != usual}
        if self.tested is not None:
            facts = data_facts(self.tested.name, self.tested.features, self.tested.labels)
            found["test"] = f"{facts.rows} rows, content {facts.fingerprint[:SHOWN]}"
        if numbered := self.preparation.formerly_imputed:
            found[MISSING] = numbered
        return found

    @property
    def validation(self) -> Validation:
        """On which rows trials are judged."""
        return self._settings.validation

    @property
    def bounds(self) -> tuple[AnyBound, ...]:
        """What every trial is subject to, in the order in which trials have it."""
        return self._judge.all_bounds

    @cached_property
    def constant(self) -> float | None:
        """The loss of the best constant prediction on the same split; None where none can be computed."""
        with self._laboratory():
            return constant_loss(self.metric, self._dataset.kind, self._folds)

    @cached_property
    def scale(self) -> Scale | None:
        """The scale of losses: their own, or by the best constant prediction; None is that around the first success."""
        metric = self.metric
        losses = losses_of(metric.name, metric.formula, len(self._dataset.classes))
        return scale_by(losses, lambda: self.constant)

    @property
    def held_out(self) -> HeldOut:
        """The rows that `Trial.predictions` are for, and what would have been right."""
        return held_out(self._folds, self._dataset.classes)

    @property
    def symbols(self) -> dict[str, int]:
        """How large the data is, in the words of spaces: rows that a trial trains on, columns, classes if any.

        Of a cross-validation the smallest training part counts, so that what fits it fits all.
        """
        rows = min(len(fold.training_target) for fold in self._folds)
        columns = min(int(fold.training.shape[1]) for fold in self._folds)
        classes = len(self._dataset.classes)
        return {"n_samples": rows, "n_features": columns, **({"n_classes": classes} if classes else {})}

    @property
    def kept_bytes(self) -> int:
        """The bytes that this process keeps of what trials share."""
        return self._prefixes.bytes

    def over(self, space: Space) -> "DataObjective":
        """The objective over the same space with other domains: data and split are shared."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), _space=space)
        vars(other).pop("_routes", None)
        return other

    def route(self, request: Request) -> Route:
        """What a trial can share with others: the pipelines of requests whose routes begin alike begin alike too."""
        return self._routes.of(request)

    @property
    def random_state(self) -> int:
        """The random state of every pipeline of the run."""
        return self._settings.seed % SEEDS

    def evaluate(self, request: Request) -> Trial:
        """Fit on the first `fidelity` rows of the training order and score on the held-out ones; a mean over folds.

        A pipeline that raises, or whose score is no finite number, gives a failed trial with the reason. Raises
        BuildError where the configuration does not belong to the space: that is a bug of who asked. A wish for a
        pipeline that is fitted on all rows is answered with a `Refitted`, one for its score on the test rows with a
        `Examined`, one for what it reaches of every bound there with a `Gauged`.
        """
        if isinstance(request, Refit):
            return self._refitted(request)
        if isinstance(request, Examine):
            return self._examined(request)
        if isinstance(request, Gauge):
            return self._gauged(request)
        started, account = self._clock(), CacheSeconds()
        # Every fold has a pipeline of its own: one that was fitted before may go on from there (`warm_start`).
        pipelines = [self._built(request.configuration) for _ in self._folds]
        own = writes_in_place(pipelines[0])
        judged: list[Judgement] = []
        try:
            with self._laboratory():
                for number, (pipeline, fold) in enumerate(zip(pipelines, self._folds, strict=True)):
                    rows = TrialRows(number, fold, request.fidelity, own)
                    fitted = fit(pipeline, rows, self._prefixes, account, guarded=self._is_guarded)
                    judged.append(self._judge.judge(fitted, fold, request.fidelity))
        except Exception as error:  # noqa: BLE001 - a user's pipeline may raise anything; a search outlives it
            failure, reason = raised(error, self._clock() - started), reason_of(error, pipelines[len(judged)])
            return replace(failure.of(request), reason=reason, cost_alone=_alone(failure.seconds, account))
        cost = self._clock() - started
        return self._judge.trial(request, judged, cost, _alone(cost, account))

    def pipeline(self, configuration: Configuration, form: PipelineInput = PipelineInput.TABLE) -> Any:
        """The unfitted pipeline of a configuration with all that comes before and behind its steps in trials.

        It takes what `form` says and labels as they are. A table or an array is taken by a pipeline that has nothing
        which the libraries of the space do not have.
        """
        return for_labels(self._whole(configuration, form), self._dataset.classes)

    def member(self, configuration: Configuration, form: PipelineInput = PipelineInput.TABLE) -> Any:
        """The same pipeline as a member of an ensemble: it learns and predicts numbers, or the codes of classes.

        A classifier gives probabilities, be it 1 for the class that it predicts.
        """
        return member(self._whole(configuration, form), is_classifier=self._dataset.kind == "classification")

    def refit(
        self, configuration: Configuration, form: PipelineInput = PipelineInput.TABLE, *, is_member: bool = False
    ) -> Any:
        """The pipeline of a configuration with the preparation as its first step, fitted on all rows.

        It takes what `form` says, with the data set's columns, and predicts labels as the user wrote them, or their
        codes as a member of an ensemble. Raises what the pipeline raises.
        """
        pipeline = self.member(configuration, form) if is_member else self.pipeline(configuration, form)
        features = self._dataset.features
        if form is PipelineInput.ARRAY:
            features = as_floats(features)
        with self._laboratory():
            return pipeline.fit(features, self._dataset.target.to_numpy() if is_member else self._dataset.labels)

    def _refitted(self, request: Refit) -> Trial:
        started = self._clock()
        try:
            pipeline = self.refit(request.configuration, request.form, is_member=request.is_member)
        except BuildError:
            raise
        except Exception as error:  # noqa: BLE001 - a pipeline that was fitted on some rows may raise anything on all
            return raised(error, self._clock() - started).of(request, Refitted)
        parcel = Parcel(pipeline) if request.is_wanted else None
        return Refitted(request, None, self._clock() - started, pipeline=parcel)

    def _examined(self, request: Examine) -> Examined:
        started = self._clock()
        assert self.tested is not None
        assert request.pipeline is not None
        features = as_floats(self.tested.features) if request.form is PipelineInput.ARRAY else self.tested.features
        with self._laboratory():
            pipeline, seed = request.pipeline.open(), self._settings.seed
            found = score(pipeline, features, self.tested, self.metric, seed, has_interval=request.has_interval)
        return Examined(request, found.loss, self._clock() - started, score=found)

    def _gauged(self, request: Gauge) -> Trial:
        """The pipeline is fitted once more, as trials fit it: measures are of that, and functions know codes only."""
        started = self._clock()
        assert self.tested is not None
        pipeline = self._built(request.configuration)
        try:
            with self._laboratory():
                columns = _grouping_columns(self._settings)
                fold = make_test_fold(self._dataset, self.tested, self.preparation, columns)
                pipeline.fit(*fold.training_rows(None, own=writes_in_place(pipeline)))
                found = reached(self._judge, pipeline, fold, self._settings.seed)
        except Exception as error:  # noqa: BLE001 - as where it was fitted on all rows before
            return raised(error, self._clock() - started).of(request, Gauged)
        return Gauged(request, None, self._clock() - started, reached=found)

    def _whole(self, configuration: Configuration, form: PipelineInput) -> Any:
        """The unfitted pipeline with all that comes before its steps in trials."""
        return build(
            self._space,
            configuration,
            preparation=self.preparation,
            first=taker(self.preparation) if form is PipelineInput.GIVEN else None,
            random_state=self.random_state,
            n_jobs=None,
        )

    @property
    def _is_guarded(self) -> bool:
        """Whether pipelines go to strangers: users' own functions may do anything to them."""
        return bool(self._settings.constraints)

    def _built(self, configuration: Configuration) -> Any:
        return build(self._space, configuration, table=self.preparation.table, random_state=self.random_state)

    @cached_property
    def _routes(self) -> Routes:
        return Routes(self._space, self.training_size)

    @cached_property
    def _threads(self) -> Any:
        """The control of all thread pools; it knows those of the libraries that are loaded: all that are used are."""
        from threadpoolctl import ThreadpoolController

        self._import()
        return ThreadpoolController()

    def _import(self) -> None:
        for operator in operators(self._space.root):
            class_of(operator)

    def __getstate__(self) -> dict[str, Any]:
        """What another process can be given: the control of thread pools belongs to this one, as the cache does.

        It is told where packages were found that are not installed.
        """
        return {name: value for name, value in vars(self).items() if name != "_threads"} | {_BESIDE: admitted()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load what trials need: workers that are forked from this process begin alike, and at once."""
        admit_all(state.pop(_BESIDE))
        vars(self).update(state)
        _ = self._threads

    @contextmanager
    def _laboratory(self) -> Iterator[None]:
        """One thread, silent warnings and seeded global generators, for as long as third-party code runs.

        How NumPy treats errors and how scikit-learn is configured is as before afterwards, too.
        """
        from sklearn import config_context

        with kept_chance(), self._threads.limit(limits=1), warnings.catch_warnings(), np.errstate(), config_context():
            # What a library warns about in a trial (no convergence, constant features) tells in the loss.
            warnings.simplefilter("ignore")
            # Operators without a random_state draw from the global generators.
            seed_chance(self.random_state)
            yield


def _alone(cost: float, account: CacheSeconds) -> float | None:
    """The seconds that a trial would have taken with nothing to share; None where it shared nothing."""
    return max(cost - account.spent, 0.0) + account.saved if account.saved else None


def _folds(dataset: Dataset, settings: Settings, preparation: Preparation) -> tuple[Fold, ...]:
    return make_folds(dataset, settings.validation, settings.seed, preparation, _grouping_columns(settings))


def _grouping_columns(settings: Settings) -> Iterable[str]:
    return dict.fromkeys(bound.column for bound in settings.bounds if bound.measure is Measure.DISPARITY)
