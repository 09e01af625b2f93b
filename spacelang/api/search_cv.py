"""`SpaceSearchCV`, a meta-estimator whose trials are fitted and scored by scikit-learn's cross-validation."""

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import groupby, starmap
from math import ceil
from numbers import Integral
from os import PathLike
from time import perf_counter
from typing import Any, ClassVar, Final, Self, Unpack

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from spacelang.api.ask_tell import Suggestion, start_ask_and_tell
from spacelang.api.executor_settings import trial_limits, unenforced_limits_warning
from spacelang.api.experiment import Experiment, make_budget
from spacelang.api.initial_configurations import read_initial_configurations
from spacelang.api.option_checks_and_signatures import accept_options, run_options_by_name, with_parameters_section
from spacelang.api.run_options import SearchCVOptions
from spacelang.api.search_data import TabularData
from spacelang.api.sklearn_search import (
    SINGLE_SCORE,
    DeferredErrorEstimator,
    FixedSplitter,
    SklearnSearchState,
    optimized_scores,
    request_sample_weights,
    task_scorer,
    task_splitter,
)
from spacelang.api.space import Space, load_or_bind_space
from spacelang.errors import remedy_in_python
from spacelang.runtime.budget import Budget
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.data.row_relations import encode_groups, with_row_numbers_as_times
from spacelang.runtime.errors import BuildError, InputError
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.evaluation.splits import Split
from spacelang.runtime.executors import WorkerSettings
from spacelang.runtime.pipelines.estimator import SpaceEstimator
from spacelang.runtime.pipelines.input_conversion import pipeline_input_of

SEED_LIMIT: Final = 2**31 - 1  # The upper limit of the seed that is drawn if `random_state` is not an integer
RESOURCE_COLUMN: Final = "n_resources"
"""The column of `cv_results_` with the training rows of a trial, named as in scikit-learn's halving searches."""


class SpaceSearchCV(BaseSearchCV):  # type: ignore[misc]
    """A search of a space as a scikit-learn estimator, with the interface of `GridSearchCV`.

    >>> from sklearn.datasets import load_iris
    >>> from spacelang import SpaceSearchCV, parse
    >>> features, labels = load_iris(return_X_y=True)
    >>> space = parse("space s stage model = GaussianNB | KNeighborsClassifier { n_neighbors : int[1, 9] = 5 }")
    >>> search = SpaceSearchCV(space, trials=4, random_state=0).fit(features, labels)
    >>> len(search.cv_results_["params"]), bool(search.best_score_ > 0.9)
    (4, True)

    Parameters
    ----------
    space
        A `Space`, or anything that `load` accepts.

    Notes
    -----
    After `fit` the attributes are those of `GridSearchCV`. `best_params_` is a configuration. `best_estimator_` is
    a scikit-learn `Pipeline` that includes the preparation of the data. `cv_results_` has a column `param_KEY` for
    each key of configurations, and `n_resources` with the number of training rows. All trials use the same splits.
    Optimizers that start on few rows choose among the trials on all rows in the end.

    Sample weights are passed to the last step of pipelines. A pipeline whose last step does not support them fails;
    such learners are named in a warning at the end. The `limit trial` of the task is not enforced. A task with bounds
    on anything other than scores is refused. Use `search`, which has worker processes, for both.

    Raises ValueError for invalid arguments and if no trial succeeds, and the errors of `load`.
    """

    best_estimator_: Any
    best_index_: int
    best_params_: dict[str, Any]
    best_score_: float
    cv_results_: dict[str, Any]
    _checked_cv_orig: Any
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{name: each for name, each in BaseSearchCV._parameter_constraints.items() if name != "estimator"},
        "random_state": ["random_state"],
    }

    @accept_options(SearchCVOptions, name="SpaceSearchCV", is_checked=False)
    def __init__(self, space: Space | str | PathLike[str], **options: Unpack[SearchCVOptions]) -> None:
        # Does not call the base class, which requires an estimator; here it is made from the space.
        self.__dict__.update(space=space, **options)

    @property
    def estimator(self) -> SpaceEstimator:
        """The estimator whose parameters are searched, at the default configuration of the space."""
        run: SklearnSearchState | None = getattr(self, "_run", None)
        return SpaceEstimator(self._space().checked) if run is None else run.estimator

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:  # noqa: N803 - scikit-learn's names
        """Search on n rows of features and n labels; `params` are sample weights, groups and routed metadata."""
        started = perf_counter()
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        if getattr(X, "shape", ())[1:] == (0,):
            raise ValueError(f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        labels = np.asarray(y)
        if labels.ndim < 2 or labels.shape[1] == 1:  # the labels of one target
            labels = column_or_1d(y, warn=True)
        if missing := int(pd.isna(labels).reshape(len(labels), -1).any(axis=1).sum()):
            rows = "1 row has" if missing == 1 else f"{missing} rows have"
            raise ValueError(f"Input y contains NaN: {rows} no label; drop or label them")
        self._opened, self._weights, self._started = self._space(), params.get("sample_weight"), started
        self._names = getattr(y, "columns", None)
        try:
            if is_classifier(self.estimator):
                check_classification_targets(labels)
            super().fit(X, labels, **params)
        finally:
            for name in ("_opened", "_weights", "_started", "_names", "_run"):
                self.__dict__.pop(name, None)
        if self.refit:
            # A plain scikit-learn pipeline; raises the error if it could not be fitted.
            self.best_estimator_ = self.best_estimator_.pipeline_
            if get_config()["enable_metadata_routing"]:
                request_sample_weights(self.best_estimator_[-1])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Missing values and categories are prepared for pipelines that do not support them.
        tags.input_tags.allow_nan = True
        # Sparse features stay sparse: whether they are supported depends on the default pipeline.
        with suppress(BuildError):
            tags.input_tags.sparse = get_tags(self.estimator.build()).input_tags.sparse
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _space(self) -> Space:
        """Return the space, which is loaded only once during a search."""
        known: Space | None = getattr(self, "_opened", None)
        return load_or_bind_space(self.space, self.allow, None) if known is None else known

    def _seed(self) -> int:
        given = self.random_state
        return int(given) if isinstance(given, Integral) else int(check_random_state(given).randint(SEED_LIMIT))

    # ---- methods that the base class calls

    def _get_scorers(self) -> tuple[Any, str]:
        """Return the scorers and the name of the score to optimize; without `scoring`, the goal of the task decides."""
        scorer = task_scorer(self._space())
        if self.scoring is None and scorer is not None:
            return check_scoring(self.estimator, scorer), SINGLE_SCORE
        found: tuple[Any, str] = super()._get_scorers()
        return found

    def _check_input_parameters(self, X: Any, y: Any, split_params: Mapping[str, Any]) -> None:  # noqa: N803
        """Make the splits, which are the same for all trials, and check that the search can start."""
        seed, space = self._seed(), self._space()
        splitter = task_splitter(space, seed) if self.cv is None else None
        self._checked_cv_orig = FixedSplitter([*(splitter or self._checked_cv_orig).split(X, y, **split_params)])
        self._run = self._prepare_run(space, X, y, seed, split_params.get("groups"))

    def _run_search(self, evaluate_candidates: Any, **_: Any) -> None:
        """Ask for configurations, evaluate them and tell their losses, until the budget is used up."""
        run = self._run
        with start_ask_and_tell(run.prepared) as search, warnings.catch_warnings():
            # Failures are expected in a search; they are counted and reported at the end.
            for message in ("Scoring failed", "One or more of the (test|train) scores are non-finite"):
                warnings.filterwarnings("ignore", message=message)
            while run.has_time_left and (asked := search.ask()):
                for fidelity, group in groupby(asked, key=lambda each: each.request.fidelity):
                    self._evaluate_group([*group], fidelity, evaluate_candidates)
        run.warn_of_failed_trials(self._get_scorers()[0])

    def _evaluate_group(self, asked: list[Suggestion], fidelity: int | None, evaluate_candidates: Any) -> None:
        run, began = self._run, perf_counter()
        rows = min(fidelity or run.training_size, run.training_size)
        results = evaluate_candidates(
            [each.configuration.to_dict() for each in asked],
            cv=self._checked_cv_orig if rows == run.training_size else run.splits_with_training_rows(rows),
            more_results={RESOURCE_COLUMN: [rows] * len(asked)},
        )
        seconds, scores = (perf_counter() - began) / len(asked), optimized_scores(results, self.refit)[-len(asked) :]
        for each, score in zip(asked, scores, strict=True):
            each.tell(run.record_score(float(score), each.configuration), cost=seconds)
            if each.answer is not None:
                run.update_final_fit_reserve(each.answer, float(score))

    @staticmethod
    def _select_best_index(refit: Any, refit_metric: str, results: Mapping[str, Any]) -> int:
        """Return the index of the best trial: the highest score among trials on the most rows on which any succeeded.

        If `refit` is a function, it chooses the index.
        """
        if callable(refit):
            found: int = BaseSearchCV._select_best_index(refit, refit_metric, results)
            return found
        scores, rows = np.asarray(results[f"mean_test_{refit_metric}"]), np.asarray(results[RESOURCE_COLUMN])
        most = rows[np.isfinite(scores)].max()
        return int(np.nanargmax(np.where(rows == most, scores, np.nan)))

    def _metric_name(self, space: Space) -> str | None:
        if self.scoring is None:
            return task_scorer(space) or ("accuracy" if is_classifier(self.estimator) else "r2")
        several = self.scoring if isinstance(self.scoring, Mapping) else {}
        named = self.scoring if isinstance(self.scoring, str) else several.get(self.refit, self.refit)
        return named if isinstance(named, str) and not callable(self.scoring) else None

    def _prepare_run(self, space: Space, features: Any, labels: Any, seed: int, groups: Any) -> "SklearnSearchState":
        options = {
            name: each.check_value(name, getattr(self, name))
            for name, each in run_options_by_name(SearchCVOptions).items()
        }
        if space.task is not None and space.task.bounds:
            bound = space.task.bounds[0].name
            problem = f"the space bounds `{bound}`, which `{type(self).__name__}` does not measure"
            raise ValueError(f"{problem}: use `spacelang.search`")
        if (ignored := unenforced_limits_warning(WorkerSettings(0, limits=trial_limits(space, None)))) is not None:
            warnings.warn(ignored, stacklevel=4)
        splits = self._checked_cv_orig.splits
        budget = make_budget(space, self.time, options["trials"], self.search_time)
        try:
            named = labels if self._names is None else pd.DataFrame(labels, columns=self._names)
            table = with_row_numbers_as_times(make_table(features, named), self.cv)
            if groups is not None:
                codes = encode_groups(np.asarray(groups), "`groups`")
                table = replace(table, relations=replace(table.relations, groups=codes))
            experiment = Experiment(
                space=space,
                data=TabularData(replace(table, splits=tuple(starmap(Split, splits)))),
                budget=Budget(trials=budget.trials),
                seed=seed,
                metric=self._metric_name(space),
                workers=WorkerSettings(max(1, ceil(effective_n_jobs(self.n_jobs) / len(splits)))),
                initial=None if self.initial is None else read_initial_configurations(self.initial),
            )
            prepared = experiment.with_optimizer(self.optimizer, self.optimizer_options).prepare()
        except InputError as error:
            raise ValueError(f"{error.message}{f': {remedy_in_python(error.help)}' if error.help else ''}") from error
        state = None if self.random_state is None else seed
        objective = prepared.objective
        assert isinstance(objective, DataObjective)
        if experiment.metric is None:
            objective.scale = None  # the range of an unknown score is unknown
        form = pipeline_input_of(features, objective.dataset.features, objective.preparation)
        kind = SpaceEstimator if self.error_score == "raise" else DeferredErrorEstimator
        estimator = kind(prepared.space.checked, None, state, objective.preparation, form)
        data, refits = (features, labels), bool(self.refit)
        of_run = (budget, self._started, refits, self._weights)
        return SklearnSearchState(prepared, estimator, data, self._checked_cv_orig, *of_run)


SpaceSearchCV.__doc__ = with_parameters_section(SpaceSearchCV.__doc__, SearchCVOptions, "SpaceSearchCV")
