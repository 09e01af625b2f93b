"""Fit a pipeline step by step, as scikit-learn does, and reuse fitted first steps from the prefix cache."""

import copy
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from spacelang.runtime import random_state
from spacelang.runtime.data.tables import Weights
from spacelang.runtime.errors import describe_exception
from spacelang.runtime.evaluation import prefix_cache
from spacelang.runtime.evaluation.folds import PreparedFold
from spacelang.runtime.evaluation.identities_and_copies import (
    NoIdentityError,
    copy_table,
    copyable_table_bytes,
    identity_of,
)
from spacelang.runtime.evaluation.prefix_cache import CacheKey, CacheTimeAccount, FittedStep, PrefixCache
from spacelang.runtime.pipelines.estimator import last_step_without_sample_weights
from spacelang.runtime.random_state import GlobalRandomState
from spacelang.runtime.scoring.pipeline_scorer import FittedFold


def check_takes_weights(pipeline: Any) -> None:
    """Raise TypeError if a pipeline cannot be fitted on weighted rows, naming the step that prevents it."""
    if (name := last_step_without_sample_weights(pipeline)) is not None:
        raise TypeError(f"`{name}` does not support sample weights")
    for _, step in pipeline.steps[:-1]:
        if hasattr(step, "fit_resample"):
            raise TypeError(f"`{type(step).__name__}` changes the rows, so it does not support sample weights")


def fit_options(pipeline: Any, weights: Weights | None) -> dict[str, Any]:
    """Return the keyword arguments of a pipeline's `fit` that pass the weights to its last step; empty without weights.

    Raise TypeError if the pipeline does not take weights.
    """
    if weights is None:
        return {}
    check_takes_weights(pipeline)
    return {f"{pipeline.steps[-1][0]}__sample_weight": weights}


REPRODUCIBLE_ERRORS: Final = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError)
"""Errors that depend only on the parameters and the data of a step, not on the machine: they would be raised again."""


@dataclass(frozen=True, slots=True)
class TrialRows:
    """The rows of a trial on one fold.

    The pipeline is trained on the first `fidelity` training rows (all for None). It gets copies if `needs_copies`,
    because it overwrites its input.
    """

    fold_number: int
    fold: PreparedFold
    fidelity: int | None
    needs_copies: bool

    @property
    def cache_key(self) -> Hashable:
        """A cache key for the training rows: equal for the same rows of the same data set."""
        return self.fold_number, self.fold.training_size(self.fidelity), self.needs_copies

    def training_features_and_labels(self) -> tuple[Any, Any]:
        """Return the features and the labels to train on."""
        return self.fold.training_rows(self.fidelity, own=self.needs_copies)

    def fit_options(self, pipeline: Any) -> dict[str, Any]:
        """Return the keyword arguments for `fit` of the last step: its sample weights, if the rows have any.

        Raise TypeError if the pipeline does not take weights.
        """
        if (weights := self.fold.weights(self.fidelity)) is None:
            return {}
        check_takes_weights(pipeline)
        return {"sample_weight": weights}

    def held_out_features(self) -> Any:
        """Return the features of the held-out rows."""
        return self.fold.held_out_rows(own=self.needs_copies)


def fit_with_prefix_cache(
    pipeline: Any, rows: TrialRows, prefixes: PrefixCache, account: CacheTimeAccount, *, guarded: bool = False
) -> FittedFold:
    """Fit a pipeline on the training rows, and transform the held-out rows for its last step.

    The steps before the last one come from the cache `prefixes` if another trial has fitted them. They are copies if
    `guarded`; otherwise the caller must not change them. Raise what a step raises, or CachedFailureError for a cached
    failure. The seconds that the cache saved and took are added to `account`.
    """
    if not _is_valid_pipeline(pipeline):
        started = prefixes.clock()
        pipeline.fit(*rows.training_features_and_labels())  # the library raises the error that explains what is wrong
        return FittedFold(pipeline, pipeline, rows.held_out_features(), prefixes.clock() - started)
    options = rows.fit_options(pipeline)
    passage = _DataFlow(pipeline, rows, prefixes, account)
    started, shared = prefixes.clock(), account.saved - account.spent
    features, target = passage.training_features_and_labels()
    last, ready = pipeline.steps[-1][1], prefixes.clock()
    last.fit(features, target, **options)
    ended = prefixes.clock()
    prefixes.work_seconds += ended - ready
    # The seconds that the fit would have taken without steps from the cache.
    seconds = max(ended - started + account.saved - account.spent - shared, 0.0)
    held_out = passage.held_out_features()
    if guarded:
        passage.copy_shared_steps()
    return FittedFold(pipeline, last, held_out, seconds)


def _is_valid_pipeline(pipeline: Any) -> bool:
    """Return True if the last step has `fit`, and each other step either transforms features or resamples rows."""
    *others, last = (step for _, step in pipeline.steps)
    can_fit = (hasattr(each, "fit") or hasattr(each, "fit_transform") for each in others)
    transforms = [fits and hasattr(each, "transform") for each, fits in zip(others, can_fit, strict=True)]
    return transforms == [not hasattr(each, "fit_resample") for each in others] and hasattr(last, "fit")


@dataclass(slots=True)
class _DataFlow:
    """The flow of a trial's rows through all steps but the last: from the prefix cache, or fitted and stored there."""

    pipeline: Any
    rows: TrialRows
    prefixes: PrefixCache
    cache_seconds: CacheTimeAccount
    keys: list[CacheKey] = field(init=False)
    """The cache keys of the prefixes, the shortest first; up to the first step without an identity."""
    parts: list[FittedStep] = field(default_factory=list)
    state_before: GlobalRandomState = None
    """The global random state before the first step; `state_now` is the one after the last step that was fitted."""
    state_now: GlobalRandomState = None
    has_drawn: bool = False
    is_resampled: bool = False
    uncached_seconds: float = 0.0  # The seconds spent on the steps behind the longest cached prefix

    def __post_init__(self) -> None:
        self.keys = _prefix_keys(self.steps, self.rows.cache_key) if self.prefixes.limit > 0 else []

    @property
    def steps(self) -> list[tuple[str, Any]]:
        steps: list[tuple[str, Any]] = self.pipeline.steps[:-1]
        return steps

    def training_features_and_labels(self) -> tuple[Any, Any]:
        """Fit the steps; return features and labels that may be changed. Raise CachedFailureError if that is cached."""
        started = self.prefixes.clock()
        found = self.prefixes.find_longest(self.keys)
        if isinstance(found, prefix_cache.FailedPrefix):
            self._add_saved(found.seconds)
            name, _ = self.steps[found.step_index]
            raise CachedFailureError(found.reason, name if found.names_step else "")
        if found is not None:
            features, target = self._reuse(found)
        if self.keys:
            self._add_spent(self.prefixes.clock() - started)
        if found is None:
            features, target = self.rows.training_features_and_labels()
        if self.keys and len(self.parts) < len(self.steps) and not self.has_drawn:
            self.state_before = self.state_now = random_state.get_global_random_state()
        for place in range(len(self.parts), len(self.steps)):
            features, target = self._fit_step(place, features, target)
        self._set_steps([part.fitted for part in self.parts])
        return features, target

    def held_out_features(self) -> Any:
        first, rows = self._cached_held_out()
        for part in self.parts[:first]:
            part.restore_random_states(part.states_after_held_out)
            self._add_saved(part.held_out_seconds)
        for place in range(first, len(self.parts)):
            rows = self._transform_held_out(place, rows)
        return rows

    def copy_shared_steps(self) -> None:
        """Replace steps that other pipelines share by copies; those that cannot be copied leave the cache instead."""
        shared = [part for part in self.parts if part.entry_count]
        arrays = [array for part in shared if part.footprint is not None for array in part.footprint.arrays]
        chance = np.random.mtrand._rand
        known = {id(array): copy_table(array) for array in arrays if copyable_table_bytes(array) is not None}
        try:
            # All in one call: steps may share objects.
            self._set_steps(copy.deepcopy([part.fitted for part in self.parts], {**known, id(chance): chance}))
        except Exception:  # noqa: BLE001 - `copy.deepcopy` of a foreign object may raise anything
            for part in shared:
                self.prefixes.remove_step(part)

    def _set_steps(self, fitted: list[Any]) -> None:
        steps = self.pipeline.steps
        self.pipeline.steps = [*((name, step) for (name, _), step in zip(steps[:-1], fitted, strict=True)), steps[-1]]

    def _reuse(self, found: prefix_cache.FittedPrefix) -> tuple[Any, Any]:
        """Take over the steps of a cached prefix and the global random state after them; return copies of its rows."""
        self.parts = [*found.steps]
        self._add_saved(sum(part.seconds for part in self.parts))
        if found.random_states is not None:
            self.state_before, self.state_now = found.random_states
            self.has_drawn = True
            random_state.set_global_random_state(self.state_now)
        self.is_resampled = found.target is not None
        if self.is_resampled:
            target = self.prefixes.copy_and_time(found.target)
        else:
            _, target = self.rows.training_features_and_labels()
        return self.prefixes.copy_and_time(found.features), target

    def _fit_step(self, place: int, features: Any, target: Any) -> tuple[Any, Any]:
        _, step = self.steps[place]
        started = self.prefixes.clock()
        try:
            if hasattr(step, "fit_resample"):
                features, target = step.fit_resample(features, target)
                self.is_resampled = True
            elif hasattr(step, "fit_transform"):
                features = step.fit_transform(features, target)
            else:
                features = step.fit(features, target).transform(features)
        except REPRODUCIBLE_ERRORS as error:
            if place < len(self.keys) and _is_reproducible(error):
                self._store_failure(place, error, self.prefixes.clock() - started)
            raise
        seconds = self.prefixes.clock() - started
        self.prefixes.work_seconds += seconds
        self.uncached_seconds += seconds
        self.parts.append(FittedStep(step, seconds))
        if place < len(self.keys):
            self._store(place, features, target if self.is_resampled else None)
        return features, target

    def _store(self, place: int, features: Any, target: Any) -> None:
        started = self.prefixes.clock()
        chance = self._random_states()
        if self.prefixes.store_if_worthwhile(
            self.keys[place], self.parts, features, target, chance, self.uncached_seconds
        ):
            self.uncached_seconds = 0.0
        self._add_spent(self.prefixes.clock() - started)

    def _store_failure(self, place: int, error: Exception, seconds: float) -> None:
        spent = sum(part.seconds for part in self.parts) + seconds
        is_named = bool(failed_step_name(error, self.pipeline))
        failure = prefix_cache.FailedPrefix(describe_exception(error), place, is_named, spent, self._random_states())
        self.prefixes.put(self.keys[place], failure)

    def _random_states(self) -> tuple[GlobalRandomState, GlobalRandomState] | None:
        """Return the global random states before the first step and now; None if no step has drawn random numbers."""
        now = random_state.get_global_random_state()
        self.has_drawn = self.has_drawn or not random_state.are_random_states_equal(self.state_now, now)
        self.state_now = now
        return (self.state_before, now) if self.has_drawn else None

    def _cached_held_out(self) -> tuple[int, Any]:
        """Return the longest prefix with cached held-out rows: its number of steps, and a copy of the rows.

        Steps whose transform is random are not used.
        """
        drawing = next((place for place, part in enumerate(self.parts) if part.draws_random_numbers), len(self.parts))
        for depth in range(min(len(self.keys), drawing), 0, -1):
            entry = self.prefixes.get_exact(self.keys[depth - 1], self.parts[:depth])
            if entry is not None and entry.held_out is not None:
                started = self.prefixes.clock()
                rows = self.prefixes.copy_and_time(entry.held_out)
                self._add_spent(self.prefixes.clock() - started)
                return depth, rows
        return 0, self.rows.held_out_features()

    def _transform_held_out(self, place: int, rows: Any) -> Any:
        """Return the held-out rows after a step; steps that resample training rows leave them unchanged."""
        part = self.parts[place]
        if hasattr(part.fitted, "fit_resample"):
            return rows
        part.restore_random_states(part.states_after_fit)
        before = random_state.get_global_random_state() if self.keys else None
        started = self.prefixes.clock()
        rows = part.fitted.transform(rows)
        part.held_out_seconds = self.prefixes.clock() - started
        self.prefixes.work_seconds += part.held_out_seconds
        if self.keys:
            self._store_held_out(place, rows, before)
        return rows

    def _store_held_out(self, place: int, rows: Any, before: GlobalRandomState) -> None:
        started = self.prefixes.clock()
        part = self.parts[place]
        part.states_after_held_out = part.random_states()
        is_same = random_state.are_random_states_equal(before, random_state.get_global_random_state())
        part.draws_random_numbers = part.draws_random_numbers or not is_same
        if part.footprint is not None and copyable_table_bytes(rows) is not None and part.footprint.may_overlap(rows):
            self.prefixes.remove_step(part)  # changing these rows would change the step
        elif place < len(self.keys) and not any(earlier.draws_random_numbers for earlier in self.parts[: place + 1]):
            self.prefixes.store_held_out(self.keys[place], self.parts[: place + 1], rows)
        self._add_spent(self.prefixes.clock() - started)

    def _add_saved(self, seconds: float) -> None:
        self.cache_seconds.saved += seconds
        self.prefixes.total.saved += seconds

    def _add_spent(self, seconds: float) -> None:
        self.cache_seconds.spent += seconds
        self.prefixes.total.spent += seconds


def _prefix_keys(steps: list[tuple[str, Any]], rows: Hashable) -> list[CacheKey]:
    """Return the cache keys of the prefixes, the shortest first, up to the first step that has no identity."""
    keys: list[CacheKey] = []
    key: CacheKey = rows
    for _, step in steps:
        try:
            key = (key, identity_of(step))
            hash(key)
        except (NoIdentityError, RecursionError, TypeError):
            break
        keys.append(key)
    return keys


def _is_reproducible(error: BaseException | None) -> bool:
    """Return True if the error and all errors that caused it would be raised again (see `REPRODUCIBLE_ERRORS`)."""
    while error is not None:
        if not isinstance(error, REPRODUCIBLE_ERRORS):
            return False
        error = error.__cause__ or error.__context__
    return True


class CachedFailureError(Exception):
    """A failure from the cache, described by `reason`, of the step named `step`, or "" if that is unknown."""

    def __init__(self, reason: str, step: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.step = step


def describe_fit_error(error: Exception, pipeline: Any) -> str:
    """Return one line that describes an error, with the step that raised it if the traceback leads through one."""
    if isinstance(error, CachedFailureError):
        text, step = error.reason, error.step
    else:
        text, step = describe_exception(error), failed_step_name(error, pipeline)
    return f"{text} (step `{step}`)" if step else text


def failed_step_name(error: Exception, pipeline: Any) -> str:
    """Return the name of the first step of the pipeline in the traceback, or "" if there is none."""
    frame = error.__traceback__
    while frame is not None:
        at_work = frame.tb_frame.f_locals.get("self")
        for name, step in pipeline.steps:
            if step is at_work:
                return str(name)
        frame = frame.tb_next
    return ""
