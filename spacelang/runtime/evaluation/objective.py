"""The objective of a search on data: the loss of pipelines on held-out rows; what trials share is computed once."""

import json
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar, overload

import pandas as pd

from spacelang.catalog.packages import adopt_allowed_folders, folders_by_allowed_package
from spacelang.deprecation import renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space, operators
from spacelang.ir.task import AnyBound, Bound, BoundedMeasure
from spacelang.ir.trial import LossName, LossScale, Request, TestScore, Trial, UnseenRowsMeasurement
from spacelang.ir.validation import Validation
from spacelang.ir.walk import leading_decisions
from spacelang.runtime import final_fit
from spacelang.runtime.archives.meta_features import compute_meta_features
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.data.tables import make_data_facts, weights_fingerprint
from spacelang.runtime.ensembles.voting import as_fitted_voting_member, as_voting_member, make_fitted_voting_estimator
from spacelang.runtime.errors import BuildError, exception_failure
from spacelang.runtime.evaluation import folds
from spacelang.runtime.evaluation.fitting import TrialRows, describe_fit_error, fit_options, fit_with_prefix_cache
from spacelang.runtime.evaluation.folds import EvaluationSettings
from spacelang.runtime.evaluation.prefix_cache import CacheTimeAccount, PrefixCache
from spacelang.runtime.evaluation.unseen_rows import check_metric_on_test_rows
from spacelang.runtime.history import Clock
from spacelang.runtime.objective import PositiveClass
from spacelang.runtime.pipelines import PipelineInput
from spacelang.runtime.pipelines.build import adapt_to_labels, build_pipeline, prepend_steps
from spacelang.runtime.pipelines.catalogue_access import import_operator_class
from spacelang.runtime.pipelines.decoding import decode_labels
from spacelang.runtime.pipelines.input_conversion import make_table_step
from spacelang.runtime.pipelines.preparation import Preparation, plan_preparation
from spacelang.runtime.random_state import controlled_environment
from spacelang.runtime.request_queue import PrefixKeyFunction, PrefixKeys
from spacelang.runtime.run_deadline import WorkSizes
from spacelang.runtime.scoring import pipeline_scorer
from spacelang.runtime.scoring.bound_measures import overflow_safe_mean
from spacelang.runtime.scoring.metric import (
    Metric,
    best_constant_loss,
    loss_range,
    make_loss_scale,
    scorers_depending_on_positive_class,
)
from spacelang.runtime.scoring.pipeline_scorer import FoldScores, HeldOutRows
from spacelang.runtime.scoring.unseen_scores import measure_bounds, resample_count, score_with_interval
from spacelang.runtime.scoring.user_functions import scorer_fingerprint
from spacelang.runtime.storage import run_header
from spacelang.runtime.storage.run_header import DataFacts, objectives_text
from spacelang.runtime.trial_models import TrialModelFolder, read_models

V = TypeVar("V")
SEED_COUNT: Final = 2**32  # The number of seeds that scikit-learn and the global generator of NumPy accept
_SIBLING_PACKAGES: Final = "beside"
"""The key of the pickled state that holds the folders of imported sibling packages, which are not installed."""


@renamed_attributes(further="identifying_settings")
class DataObjective:
    """The objective of one space and data set, which raises InputError for problems that would fail every trial."""

    is_cheap = False

    def __init__(
        self,
        space: Space,
        dataset: Dataset,
        settings: EvaluationSettings | None = None,
        *,
        tested: Dataset | None = None,
        clock: Clock = time.perf_counter,
    ) -> None:
        """Prepare the evaluation; `tested` are test rows with the same columns and class codes, which no trial sees."""
        self._space, self.dataset, self.tested, self._clock = space, dataset, tested, clock
        self._settings = folds.DEFAULT_SETTINGS if settings is None else settings
        self._import_operators()  # import errors are raised before the first trial
        self._scorer = pipeline_scorer.make_pipeline_scorer(self._settings, dataset, clock)
        self.metric: Metric = self._scorer.metric
        self.objective_names: tuple[LossName, ...] = self._scorer.objective_names
        self.bounds: tuple[AnyBound, ...] = self._scorer.all_bounds
        self.validation: Validation = self._settings.validation
        self.random_state = self._settings.seed % SEED_COUNT
        self.preparation: Preparation = plan_preparation(space, dataset.features)
        disparities = (each for each in self._settings.bounds if each.measure is BoundedMeasure.DISPARITY)
        self._grouping_columns = dict.fromkeys(bound.column for bound in disparities)
        given, columns = self._settings, self._grouping_columns
        started = time.perf_counter()
        self._folds = folds.make_folds(dataset, given.validation, given.seed, self.preparation, columns)
        self._preparation_seconds = (time.perf_counter() - started) / len(self._folds)
        self._models: TrialModelFolder | None = None
        self.training_size = max(len(fold.training_target) for fold in self._folds)
        self.rows = len(dataset.target)
        self.test_rows = 0 if tested is None else len(tested.target)
        if tested is not None:
            check_metric_on_test_rows(self.metric, dataset, tested)
        self._prefixes = PrefixCache(self._settings.cache_bytes)

    @cached_property
    def facts(self) -> DataFacts:
        """The description of the data that is stored with a run."""
        return make_data_facts(self.dataset.name, self.dataset.features, self.dataset.original_labels)

    @cached_property
    def meta_features(self) -> Mapping[str, float]:
        """The meta-features of the unprepared training rows of the first fold. Labels of held-out rows are not used."""
        data = self.dataset
        rows = folds.split_rows(data, self._settings.validation, self._settings.seed)[0][0]
        features = data.features.iloc[rows] if isinstance(data.features, pd.DataFrame) else data.features[rows]
        return compute_meta_features(features, data.target.iloc[rows], is_classification=data.is_stratified)

    @property
    def positive_class(self) -> PositiveClass | None:
        """The positive class, if a scorer of the loss, the metrics or the bounds depends on it; else None."""
        bounded = (each.scorer for each in self.bounds if isinstance(each, Bound))
        goals = (each.name for each in (self.metric, *self.objective_names))
        names = scorers_depending_on_positive_class((*goals, *self._settings.metrics, *bounded), self.dataset)
        return PositiveClass(self.dataset.classes[1], names) if names else None

    @property
    def recorded_columns(self) -> tuple[str, ...]:
        """The extra columns of trials: the recorded metrics and the loss on the training rows."""
        metrics = tuple(f"metric.{name}" for name in self._settings.metrics)
        return (*metrics, "training_loss") if self._settings.training_score else metrics

    @property
    def identifying_settings(self) -> Mapping[str, str]:
        """The settings that belong to the identity of a run, as text by name.

        These are the settings of recording that differ from their defaults (as JSON), descriptions of the user's
        scorer and sample weights, fingerprints of the test rows and of the groups and times of the rows, and the
        columns whose missing values earlier versions imputed.
        """
        names = ("metrics", "training_score", "predictions")
        chosen = {name: (getattr(self._settings, name), getattr(folds.DEFAULT_SETTINGS, name)) for name in names}
        found = {name: json.dumps(value) for name, (value, usual) in chosen.items() if value != usual}
        if self.objective_names:
            found[run_header.OBJECTIVES_SETTING] = objectives_text(self.objective_names)
        if self._settings.scorer is not None and (scorer := scorer_fingerprint(self._settings.scorer)):
            found[run_header.SCORER_SETTING] = scorer
        if self.dataset.weights is not None:
            found[run_header.WEIGHTS_SETTING] = weights_fingerprint(self.dataset.weights)
        if self.tested is not None:
            facts = make_data_facts(self.tested.name, self.tested.features, self.tested.original_labels)
            found["test"] = f"{facts.rows} rows, content {facts.fingerprint[: run_header.SHOWN_DIGITS]}"
        if numbered := self.preparation.formerly_imputed_columns_text:
            found[run_header.MISSING_VALUES_SETTING] = numbered
        return found | self.dataset.relations.fingerprint_texts

    @cached_property
    def constant_loss(self) -> float | None:
        """The loss of the best constant prediction on the same folds, or None if none can be computed."""
        with self._controlled_environment():
            return best_constant_loss(self.metric, self.dataset.kind, self._folds)

    @cached_property
    def scale(self) -> LossScale | None:
        """The scale by which losses are normalized, from their range or the best constant prediction.

        It is None if neither gives one; then the first success sets it.
        """
        losses = loss_range(self.metric.name, self.metric.formula, len(self.dataset.classes))
        return make_loss_scale(losses, lambda: self.constant_loss)

    @property
    def held_out_rows(self) -> HeldOutRows:
        """The rows that `Trial.predictions` are for, with their true targets."""
        return pipeline_scorer.held_out_rows(self._folds, self.dataset)

    @cached_property
    def work_sizes(self) -> WorkSizes:
        """The sizes of the data that decide how long the work after a search takes; a loss is timed for them."""
        count, tested = len(self._folds), self.test_rows
        return WorkSizes(
            rows=self.rows,
            training_size=self.training_size,
            folds=count,
            held_out_rows=len(self.held_out_rows.target) / count,
            test_rows=tested,
            resamples=resample_count(tested) if tested else 0,
            preparation_seconds=self._preparation_seconds,
            loss_seconds=pipeline_scorer.measure_loss_seconds(self.held_out_rows, self.metric),
            has_bounds=bool(self.bounds),
        )

    @cached_property
    def learner_key(self) -> str:
        """The key of the decision that chooses the learner; empty if the space has none."""
        return next((choice.key for choice in leading_decisions(self._space)), "")

    def store_models_in(self, folder: TrialModelFolder | None) -> None:
        """Have the models of all further trials written to this folder; None writes none."""
        self._models = folder

    @property
    def size_symbols(self) -> dict[str, int]:
        """The values of the symbols of the data, such as `n_features`, which are defined in REFERENCE.md."""
        return folds.size_symbols(self._folds, self.dataset, self.preparation)

    @property
    def cached_bytes(self) -> int:
        """The size of the prefix cache of this process, in bytes."""
        return self._prefixes.bytes

    def with_bound_space(self, space: Space) -> "DataObjective":
        """Return the objective over the same space bound to its data; data, folds and cache are shared."""
        return self._copy_with(_space=space)

    def restricted_to(self, columns: Collection[str]) -> "DataObjective":
        """Return the objective for final fits that get only these columns of a table; its trials do not change."""
        features = self.dataset.features
        assert isinstance(features, pd.DataFrame)
        fewer = features[[name for name in features.columns if name in columns]]
        preparation = self.preparation.restricted_to(columns)
        return self._copy_with(dataset=replace(self.dataset, features=fewer), preparation=preparation)

    def _copy_with(self, **changed: Any) -> "DataObjective":
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changed)
        for name in ("facts", "meta_features", "prefix_key"):
            vars(other).pop(name, None)
        return other

    @cached_property
    def prefix_key(self) -> PrefixKeyFunction:
        """The prefix keys of requests: pipelines whose keys begin alike have the same first steps."""
        return PrefixKeys(self._space, self.training_size).key_of

    @overload
    def evaluate(self, request: Request) -> Trial: ...
    @overload
    def evaluate(self, request: final_fit.FinalWork[V]) -> final_fit.WorkResult[V]: ...
    def evaluate(self, request: Request | final_fit.FinalWork[Any]) -> Trial | final_fit.WorkResult[Any]:
        """Evaluate a request and return the trial with the mean loss over the folds; or do the work of a final fit.

        On each fold, the pipeline is fitted on the first `fidelity` training rows and scored on the held-out rows. A
        pipeline that raises, or whose score is not finite, gives a failed trial with the reason. The remaining folds
        are left out once the mean loss exceeds `request.stop_above`. Raise BuildError if the configuration does not
        belong to the space, which is a bug of the caller.
        """
        if isinstance(request, final_fit.FinalWork):
            return self._do_final_work(request)
        started, account = self._clock(), CacheTimeAccount()
        # One pipeline per fold: with `warm_start`, fitting a pipeline again would continue from the earlier fit.
        pipelines = [self._build(request.configuration) for _ in self._folds]
        own = folds.may_overwrite_input(pipelines[0])
        judged: list[FoldScores] = []
        fit_seconds = 0.0
        has_user_functions = bool(self._settings.constraints)  # they might modify pipelines
        try:
            with self._controlled_environment():
                for number, (pipeline, fold) in enumerate(zip(pipelines, self._folds, strict=True)):
                    rows = TrialRows(number, fold, request.fidelity, own)
                    began = time.perf_counter()
                    fitted = fit_with_prefix_cache(pipeline, rows, self._prefixes, account, guarded=has_user_functions)
                    fit_seconds += time.perf_counter() - began
                    judged.append(self._scorer.score(fitted, fold, request.fidelity))
                    if (
                        request.stop_above is not None
                        and overflow_safe_mean([each.loss for each in judged]) > request.stop_above
                    ):
                        break
        except Exception as error:  # noqa: BLE001 - a user's pipeline may raise anything, which must not end the search
            failure = exception_failure(error, self._clock() - started)
            reason, alone = describe_fit_error(error, pipelines[len(judged)]), account.unshared_seconds(failure.seconds)
            return replace(failure.make_result(request), reason=reason, cost_alone=alone)
        cost = self._clock() - started
        is_partial = len(judged) < len(self._folds)
        alone = account.unshared_seconds(cost)
        trial = self._scorer.make_trial(request, judged, cost, alone, is_partial=is_partial)
        # Scikit-learn has no vote for models of several targets.
        can_vote = trial.loss is not None and not is_partial and not self.dataset.has_several_targets
        if self._models is not None and can_vote and self._know_all_classes(pipelines):
            self._models.store(trial, pipelines, max(cost - fit_seconds, 0.0))
        return trial

    def make_pipeline(self, configuration: Configuration, form: PipelineInput = PipelineInput.TABLE) -> Any:
        """Return the unfitted pipeline, with preparation, for features of this form and the labels of the user."""
        return adapt_to_labels(self._build_with_preparation(configuration, form), self.dataset.classes)

    def make_member(self, configuration: Configuration, form: PipelineInput = PipelineInput.TABLE) -> Any:
        """Return the unfitted pipeline as a member of an ensemble, which predicts numbers or class probabilities.

        A classifier without probabilities is wrapped: it gives 1 to the class that it predicts.
        """
        pipeline = self._build_with_preparation(configuration, form)
        return as_voting_member(pipeline, is_classifier=self.dataset.kind == "classification")

    def refit(
        self, configuration: Configuration, form: PipelineInput = PipelineInput.TABLE, *, is_member: bool = False
    ) -> Any:
        """Return the pipeline of a configuration, fitted on all rows that trials may see.

        A member of an ensemble is fitted on class codes, any other pipeline on the labels of the user.
        """
        features, data = self.dataset.features, self.dataset
        if form is PipelineInput.ARRAY:
            features = folds.convert_to_floats(features)
        target = data.target.to_numpy() if is_member else data.original_labels
        with self._controlled_environment():
            if data.weights is None:
                made = self.make_member if is_member else self.make_pipeline
                return made(configuration, form).fit(features, target)
            pipeline = self._build_with_preparation(configuration, form)
            pipeline = pipeline if is_member else adapt_to_labels(pipeline, data.classes)
            fitted = pipeline.fit(features, target, **fit_options(pipeline, data.weights))
            return as_fitted_voting_member(fitted, bool(data.classes)) if is_member else fitted

    def combine_fold_models(
        self, models: Sequence[Any], form: PipelineInput = PipelineInput.TABLE, *, is_member: bool = False
    ) -> Any:
        """Return the models of a trial, one for each fold, as one fitted pipeline for features of this form.

        It is the pipeline of a single fold, or the vote of the models of several folds. A member predicts class codes,
        others the labels of the user.
        """
        table = None if form is PipelineInput.ARRAY else make_table_step(self.preparation).fit(self.dataset.features)
        classes = self.dataset.classes
        labels = tuple(range(len(classes))) if is_member else classes
        ready = [
            prepend_steps(model, [("table", table), ("preparation", fold.transformer)])
            for model, fold in zip(models, self._folds, strict=True)
        ]
        if len(ready) == 1:
            return as_fitted_voting_member(ready[0], bool(classes)) if is_member else decode_labels(ready[0], labels)
        return make_fitted_voting_estimator(
            {f"fold_{number}": each for number, each in enumerate(ready, start=1)}, labels
        )

    def _know_all_classes(self, pipelines: Sequence[Any]) -> bool:
        """Return True if the fitted pipelines are of a regression, or have learned all classes of the data."""
        count = len(self.dataset.classes)
        return count == 0 or all(len(getattr(each, "classes_", ())) == count for each in pipelines)

    def _do_final_work(self, work: final_fit.FinalWork[Any]) -> final_fit.WorkResult[Any]:
        """Do work after the search, and return its result; the work has failed if a pipeline raises.

        Only BuildError and errors in scoring on the test rows are raised.
        """
        started = self._clock()
        try:
            match work:
                case final_fit.RefitWork():
                    pipeline = self.refit(work.configuration, work.form, is_member=work.is_member)
                    value: Any = final_fit.SerializedPayload(pipeline) if work.returns_pipeline else None
                case final_fit.LoadTrialModelWork():
                    models = read_models(Path(work.path))
                    pipeline = self.combine_fold_models(models, work.form, is_member=work.is_member)
                    value = final_fit.SerializedPayload(pipeline)
                case final_fit.HeldOutPredictionsWork():
                    scorer = replace(self._scorer, classes=len(self.dataset.classes))
                    request = Request(work.configuration, work.fidelity)
                    value = self._copy_with(_scorer=scorer).evaluate(request).predictions
                case final_fit.UnseenBoundsWork():
                    value = self._measure_unseen_bounds(work.configuration)
                case _:
                    assert isinstance(work, final_fit.UnseenScoreWork)
                    value = self._score_unseen_rows(work)
        except BuildError:
            raise
        except Exception as error:
            if isinstance(work, final_fit.UnseenScoreWork):
                raise
            return exception_failure(error, self._clock() - started).make_result(work)
        return final_fit.WorkResult(value, self._clock() - started)

    def _score_unseen_rows(self, work: final_fit.UnseenScoreWork) -> TestScore:
        assert self.tested is not None
        assert work.pipeline is not None
        features = (
            folds.convert_to_floats(self.tested.features) if work.form is PipelineInput.ARRAY else self.tested.features
        )
        with self._controlled_environment():
            given = (work.pipeline.unpickle(), features, self.tested, self.metric, self._settings.seed)
            seconds = work.interval_seconds
            return score_with_interval(*given, has_interval=work.has_interval, interval_seconds=seconds)

    def _measure_unseen_bounds(self, configuration: Configuration) -> tuple[UnseenRowsMeasurement, ...]:
        """Fit the pipeline as trials do, since functions of users expect class codes, and measure its bounds."""
        assert self.tested is not None
        pipeline = self._build(configuration)
        with self._controlled_environment():
            fold = folds.make_test_fold(self.dataset, self.tested, self.preparation, self._grouping_columns)
            rows = fold.training_rows(None, own=folds.may_overwrite_input(pipeline))
            pipeline.fit(*rows, **fit_options(pipeline, self.dataset.weights))
            groups = self.tested.relations.groups
            return measure_bounds(self._scorer, pipeline, fold, self._settings.seed, groups)

    def _build_with_preparation(self, configuration: Configuration, form: PipelineInput) -> Any:
        space, preparation, seed = self._space, self.preparation, self.random_state
        first = make_table_step(preparation) if form is PipelineInput.GIVEN else None
        return build_pipeline(
            space, configuration, preparation=preparation, first=first, random_state=seed, n_jobs=None
        )

    def _build(self, configuration: Configuration) -> Any:
        return build_pipeline(self._space, configuration, table=self.preparation.table, random_state=self.random_state)

    @cached_property
    def _threads(self) -> Any:
        from threadpoolctl import ThreadpoolController

        self._import_operators()
        return ThreadpoolController()

    def _import_operators(self) -> None:
        for operator in operators(self._space.root):
            import_operator_class(operator)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "_threads"}
        return state | {_SIBLING_PACKAGES: folders_by_allowed_package()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state and import all that trials need, so that workers forked from this process start at once."""
        adopt_allowed_folders(state.pop(_SIBLING_PACKAGES))
        vars(self).update(state)
        _ = self._threads

    def _controlled_environment(self) -> AbstractContextManager[None]:
        return controlled_environment(self._threads, self.random_state)
