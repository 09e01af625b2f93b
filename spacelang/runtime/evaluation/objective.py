"""The objective of a search on data: a request is evaluated to the loss of a fitted pipeline on held-out rows.

Everything that trials share is computed once: the split, the prepared arrays and the order of training rows.
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
"""A monotonic clock: seconds since a fixed moment."""

SEEDS: Final = 2**32
"""The number of seeds that scikit-learn and the global generator of NumPy accept."""

_BESIDE: Final = "beside"
"""The key of the pickled state that holds the folders of imported sibling packages, which are not installed."""


class DataObjective:
    """The objective of a search over one space and one data set.

    The constructor raises DataError, MetricError or BuildError for any problem that would make every trial fail.
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
        """Prepare the evaluation; `tested` are test rows, which no trial sees.

        Test rows have the columns and the class codes of the other rows. None means that there are no test rows.
        """
        self._space = space
        self._dataset = dataset
        self._settings = USUAL if settings is None else settings
        self._clock = clock
        self._import()  # import errors are raised before the first trial
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
        """The number of training rows of the largest fold, which is the largest fidelity."""
        return max(len(fold.training_target) for fold in self._folds)

    @property
    def rows(self) -> int:
        """The number of rows that trials may use, for training and validation together."""
        return len(self._dataset.target)

    @property
    def test_rows(self) -> int:
        """The number of test rows, which trials may not use; 0 if there are none."""
        return 0 if self.tested is None else len(self.tested.target)

    @property
    def dataset(self) -> Dataset:
        """The data set, with labels encoded as codes."""
        return self._dataset

    @cached_property
    def facts(self) -> DataFacts:
        """The description of the data that is stored with a run."""
        return data_facts(self._dataset.name, self._dataset.features, self._dataset.labels)

    @cached_property
    def meta_features(self) -> Mapping[str, float]:
        """The meta-features of the unprepared training rows of the first fold.

        Labels of held-out rows are not used.
        """
        data = self._dataset
        rows = training_rows(data, self._settings.validation, self._settings.seed)
        features = data.features.iloc[rows] if isinstance(data.features, pd.DataFrame) else data.features[rows]
        is_classification = data.kind == "classification"
        return meta_features(features, data.target.iloc[rows], is_classification=is_classification)

    @property
    def positive_class(self) -> PositiveClass | None:
        """The positive class, if a scorer of the loss, the metrics or the bounds depends on it; else None."""
        bounded = (each.scorer for each in self.bounds if isinstance(each, Bound))
        names = of_one_class((self.metric.name, *self._settings.metrics, *bounded), self._dataset)
        return PositiveClass(self._dataset.classes[1], names) if names else None

    @property
    def recorded(self) -> tuple[str, ...]:
        """The extra columns of trials: the recorded metrics and the loss on the training rows."""
        metrics = tuple(f"metric.{name}" for name in self._settings.metrics)
        return (*metrics, "training_loss") if self._settings.training_score else metrics

    @property
    def further(self) -> Mapping[str, str]:
        """The settings, besides the usual ones, that two equal runs have in common, by name, as text.

        These are settings of what is recorded that differ from the defaults (as JSON), a fingerprint of the test rows,
        and the columns whose missing values earlier versions imputed.
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
        """The validation: how rows are held out."""
        return self._settings.validation

    @property
    def bounds(self) -> tuple[AnyBound, ...]:
        """The bounds that every trial must satisfy, in the order of the measurements of trials."""
        return self._judge.all_bounds

    @cached_property
    def constant(self) -> float | None:
        """The loss of the best constant prediction on the same folds, or None if none can be computed."""
        with self._laboratory():
            return constant_loss(self.metric, self._dataset.kind, self._folds)

    @cached_property
    def scale(self) -> Scale | None:
        """The scale that normalizes losses: that of the metric, or one by the best constant prediction.

        None means that the scale is centered on the first success.
        """
        metric = self.metric
        losses = losses_of(metric.name, metric.formula, len(self._dataset.classes))
        return scale_by(losses, lambda: self.constant)

    @property
    def held_out(self) -> HeldOut:
        """The rows that `Trial.predictions` are for, with their true targets."""
        return held_out(self._folds, self._dataset.classes)

    @property
    def symbols(self) -> dict[str, int]:
        """The sizes of the data by the names that spaces use.

        These are `n_samples`, `n_features` and, if there are classes, `n_classes`. They are those of the smallest
        training part, so that limits hold for every fold.
        """
        rows = min(len(fold.training_target) for fold in self._folds)
        columns = min(int(fold.training.shape[1]) for fold in self._folds)
        classes = len(self._dataset.classes)
        return {"n_samples": rows, "n_features": columns, **({"n_classes": classes} if classes else {})}

    @property
    def kept_bytes(self) -> int:
        """The size of the prefix cache of this process, in bytes."""
        return self._prefixes.bytes

    def over(self, space: Space) -> "DataObjective":
        """Return the objective over the same space with other domains; data, folds and cache are shared."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), _space=space)
        vars(other).pop("_routes", None)
        return other

    def route(self, request: Request) -> Route:
        """Return the prefix key of a request: pipelines whose keys begin alike have the same first steps."""
        return self._routes.of(request)

    @property
    def random_state(self) -> int:
        """The random state of every pipeline of the run."""
        return self._settings.seed % SEEDS

    def evaluate(self, request: Request) -> Trial:
        """Evaluate a request and return the trial with the mean loss over the folds.

        On each fold, the pipeline is fitted on the first `fidelity` training rows and scored on the held-out rows. A
        pipeline that raises, or whose score is not finite, gives a failed trial with the reason. Raise BuildError if
        the configuration does not belong to the space, which is a bug of the caller.

        Other kinds of requests have their own answers: a `Refit` (fit on all rows) gives a `Refitted`, an `Examine`
        (loss on the test rows) an `Examined`, and a `Gauge` (bounds on the test rows) a `Gauged`.
        """
        if isinstance(request, Refit):
            return self._refitted(request)
        if isinstance(request, Examine):
            return self._examined(request)
        if isinstance(request, Gauge):
            return self._gauged(request)
        started, account = self._clock(), CacheSeconds()
        # One pipeline per fold: with `warm_start`, fitting a pipeline again would continue from the earlier fit.
        pipelines = [self._built(request.configuration) for _ in self._folds]
        own = writes_in_place(pipelines[0])
        judged: list[Judgement] = []
        try:
            with self._laboratory():
                for number, (pipeline, fold) in enumerate(zip(pipelines, self._folds, strict=True)):
                    rows = TrialRows(number, fold, request.fidelity, own)
                    fitted = fit(pipeline, rows, self._prefixes, account, guarded=self._is_guarded)
                    judged.append(self._judge.judge(fitted, fold, request.fidelity))
        except Exception as error:  # noqa: BLE001 - a user's pipeline may raise anything, which must not end the search
            failure, reason = raised(error, self._clock() - started), reason_of(error, pipelines[len(judged)])
            return replace(failure.of(request), reason=reason, cost_alone=_alone(failure.seconds, account))
        cost = self._clock() - started
        return self._judge.trial(request, judged, cost, _alone(cost, account))

    def pipeline(self, configuration: Configuration, form: PipelineInput = PipelineInput.TABLE) -> Any:
        """Return the unfitted pipeline of a configuration, with the preparation that trials have before its steps.

        It takes features of the given form, and labels as the user wrote them. For a table or an array it consists only
        of objects of the libraries of the space.
        """
        return for_labels(self._whole(configuration, form), self._dataset.classes)

    def member(self, configuration: Configuration, form: PipelineInput = PipelineInput.TABLE) -> Any:
        """Return the same pipeline as a member of an ensemble, which learns and predicts numbers or class codes.

        A classifier gives probabilities; one that has none gives 1 to the class that it predicts.
        """
        return member(self._whole(configuration, form), is_classifier=self._dataset.kind == "classification")

    def refit(
        self, configuration: Configuration, form: PipelineInput = PipelineInput.TABLE, *, is_member: bool = False
    ) -> Any:
        """Return the pipeline of a configuration, with the preparation as its first step, fitted on all rows.

        It takes features of the given form, with the columns of the data set. It predicts labels as the user wrote
        them, or class codes if it is a member of an ensemble. Raise what the pipeline raises.
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
        except Exception as error:  # noqa: BLE001 - a pipeline may raise anything when it is fitted on all rows
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
        """Fit the pipeline again, as trials do, and measure its bounds on the test rows.

        Bounds are measured on such a pipeline, not on the refitted one, and the functions of users expect class codes.
        """
        started = self._clock()
        assert self.tested is not None
        pipeline = self._built(request.configuration)
        try:
            with self._laboratory():
                columns = _grouping_columns(self._settings)
                fold = make_test_fold(self._dataset, self.tested, self.preparation, columns)
                pipeline.fit(*fold.training_rows(None, own=writes_in_place(pipeline)))
                found = reached(self._judge, pipeline, fold, self._settings.seed)
        except Exception as error:  # noqa: BLE001 - a pipeline may raise anything
            return raised(error, self._clock() - started).of(request, Gauged)
        return Gauged(request, None, self._clock() - started, reached=found)

    def _whole(self, configuration: Configuration, form: PipelineInput) -> Any:
        """Build the unfitted pipeline with the preparation as its first step."""
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
        """True if functions of the user get pipelines, which they might modify."""
        return bool(self._settings.constraints)

    def _built(self, configuration: Configuration) -> Any:
        return build(self._space, configuration, table=self.preparation.table, random_state=self.random_state)

    @cached_property
    def _routes(self) -> Routes:
        return Routes(self._space, self.training_size)

    @cached_property
    def _threads(self) -> Any:
        """The controller of the thread pools of all libraries that the space uses, which are imported first."""
        from threadpoolctl import ThreadpoolController

        self._import()
        return ThreadpoolController()

    def _import(self) -> None:
        for operator in operators(self._space.root):
            class_of(operator)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process: without the thread pools, and with the folders of sibling packages."""
        return {name: value for name, value in vars(self).items() if name != "_threads"} | {_BESIDE: admitted()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state and import everything that trials need.

        Workers that are forked from this process then start at once.
        """
        admit_all(state.pop(_BESIDE))
        vars(self).update(state)
        _ = self._threads

    @contextmanager
    def _laboratory(self) -> Iterator[None]:
        """Limit third-party code to one thread, silence its warnings, and seed the global random generators.

        Afterwards the global random state, NumPy's error handling and scikit-learn's configuration are as before.
        """
        from sklearn import config_context

        with kept_chance(), self._threads.limit(limits=1), warnings.catch_warnings(), np.errstate(), config_context():
            # Warnings of a trial, such as missing convergence or constant features, show in its loss.
            warnings.simplefilter("ignore")
            # Operators without a `random_state` draw from the global generators.
            seed_chance(self.random_state)
            yield


def _alone(cost: float, account: CacheSeconds) -> float | None:
    """Return the seconds that a trial would have taken without the cache, or None if the cache saved nothing."""
    return max(cost - account.spent, 0.0) + account.saved if account.saved else None


def _folds(dataset: Dataset, settings: Settings, preparation: Preparation) -> tuple[Fold, ...]:
    return make_folds(dataset, settings.validation, settings.seed, preparation, _grouping_columns(settings))


def _grouping_columns(settings: Settings) -> Iterable[str]:
    return dict.fromkeys(bound.column for bound in settings.bounds if bound.measure is Measure.DISPARITY)
