"""Fit a pipeline step by step, as scikit-learn does, and reuse fitted first steps from the prefix cache."""

import copy
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from spacelang.runtime.chance import Chance, global_chance, same_chance, set_chance
from spacelang.runtime.evaluation.copies import bytes_of, copied
from spacelang.runtime.evaluation.folds import Fold
from spacelang.runtime.evaluation.identity import NoIdentityError, identity
from spacelang.runtime.evaluation.prefixes import (
    CacheSeconds,
    FailedPrefix,
    FittedPrefix,
    FittedStep,
    Key,
    Prefixes,
)
from spacelang.runtime.evaluation.reasons import RepeatedError, failed_step
from spacelang.runtime.failures import described
from spacelang.runtime.judging.judge import Fitted

COMES_AGAIN: Final = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError)
"""Errors that depend only on the parameters and the data of a step, not on the machine: they would be raised again."""


@dataclass(frozen=True, slots=True)
class TrialRows:
    """The rows of a trial on one fold: the first `fidelity` training rows and the held-out rows.

    `number` is the index of the fold. `own` is True if the pipeline overwrites its input and therefore needs copies.
    """

    number: int
    fold: Fold
    fidelity: int | None
    own: bool

    @property
    def name(self) -> Hashable:
        """A cache key for the training rows: equal for the same rows of the same data set."""
        return self.number, len(self.fold.training_target[: self.fidelity]), self.own

    def training(self) -> tuple[Any, Any]:
        """Return the features and the labels to train on."""
        return self.fold.training_rows(self.fidelity, own=self.own)

    def target(self) -> Any:
        """Return the labels to train on."""
        return self.training()[1] if self.own else self.fold.training_target[: self.fidelity]

    def held_out(self) -> Any:
        """Return the features of the held-out rows."""
        return self.fold.held_out_rows(own=self.own)


def fit(pipeline: Any, rows: TrialRows, prefixes: Prefixes, account: CacheSeconds, *, guarded: bool = False) -> Fitted:
    """Fit a pipeline on the training rows, and transform the held-out rows for its last step.

    All steps but the last are taken from the cache `prefixes`, as far as other trials have fitted them. The caller must
    not change such shared steps: with `guarded`, the pipeline has copies of them instead. Raise what a step raises, or
    RepeatedError for a failure that is in the cache. The seconds that the cache saved and took are added to `account`.
    """
    if not _is_chain(pipeline):
        pipeline.fit(*rows.training())  # the library raises the error that explains what is wrong
        return Fitted(pipeline, pipeline, rows.held_out())
    passage = _Passage(pipeline, rows, prefixes, account)
    features, target = passage.training()
    last, started = pipeline.steps[-1][1], prefixes.clock()
    last.fit(features, target)
    prefixes.worked += prefixes.clock() - started
    held_out = passage.held_out()
    if guarded:
        passage.guard()
    return Fitted(pipeline, last, held_out)


def _is_chain(pipeline: Any) -> bool:
    """Return True if the steps form a valid pipeline.

    Every step but the last must either transform features or resample rows, and the last must have `fit`.
    """
    return all(
        (hasattr(step, "transform") and (hasattr(step, "fit") or hasattr(step, "fit_transform")))
        != hasattr(step, "fit_resample")
        for _, step in pipeline.steps[:-1]
    ) and hasattr(pipeline.steps[-1][1], "fit")


@dataclass(slots=True)
class _Passage:
    """The flow of a trial's rows through all steps of a pipeline but the last.

    It looks up the steps in the prefix cache, fits those that are missing, and stores them.
    """

    pipeline: Any
    rows: TrialRows
    prefixes: Prefixes
    account: CacheSeconds
    keys: list[Key] = field(init=False)
    """The cache keys of the prefixes, the shortest first; up to the first step without an identity."""
    parts: list[FittedStep] = field(default_factory=list)
    begun: Chance = None
    """The global random state before the first step; `now` is the one after the last step that was fitted."""
    now: Chance = None
    has_drawn: bool = False
    is_resampled: bool = False
    unsaved: float = 0.0
    """The seconds spent on the steps behind the longest cached prefix."""

    def __post_init__(self) -> None:
        self.keys = _keys(self.steps, self.rows.name) if self.prefixes.is_on else []

    @property
    def steps(self) -> list[tuple[str, Any]]:
        steps: list[tuple[str, Any]] = self.pipeline.steps[:-1]
        return steps

    def training(self) -> tuple[Any, Any]:
        """Fit the steps, and return the features and labels for the last step, which may modify them.

        Raise RepeatedError if the cache knows that a prefix fails.
        """
        started = self.prefixes.clock()
        found = self.prefixes.find(self.keys)
        if isinstance(found, FailedPrefix):
            self._save(found.seconds)
            name, _ = self.steps[found.place]
            raise RepeatedError(found.reason, name if found.is_named else "")
        if found is not None:
            features, target = self._taken(found)
        if self.keys:
            self._spend(self.prefixes.clock() - started)
        if found is None:
            features, target = self.rows.training()
        if self.keys and len(self.parts) < len(self.steps) and not self.has_drawn:
            self.begun = self.now = global_chance()
        for place in range(len(self.parts), len(self.steps)):
            features, target = self._fitted(place, features, target)
        self._put_steps([part.fitted for part in self.parts])
        return features, target

    def held_out(self) -> Any:
        """Return the transformed held-out rows for the last step, which may modify them."""
        first, rows = self._held_out_so_far()
        for part in self.parts[:first]:
            part.rewind(part.after_held_out)
            self._save(part.held_out_seconds)
        for place in range(first, len(self.parts)):
            rows = self._transformed(place, rows)
        return rows

    def guard(self) -> None:
        """Replace the steps that other pipelines share by copies.

        Steps that cannot be copied stay in the pipeline, and are removed from the cache instead.
        """
        shared = [part for part in self.parts if part.users]
        arrays = [array for part in shared if part.holdings is not None for array in part.holdings.arrays]
        chance = np.random.mtrand._rand
        known = {id(array): copied(array) for array in arrays if bytes_of(array) is not None}
        try:
            # All in one call: steps may share objects.
            self._put_steps(copy.deepcopy([part.fitted for part in self.parts], {**known, id(chance): chance}))
        except Exception:  # noqa: BLE001 - `copy.deepcopy` of a foreign object may raise anything
            for part in shared:
                self.prefixes.forget(part)

    def _put_steps(self, fitted: list[Any]) -> None:
        steps = self.pipeline.steps
        self.pipeline.steps = [*((name, step) for (name, _), step in zip(steps[:-1], fitted, strict=True)), steps[-1]]

    # ---- training

    def _taken(self, found: FittedPrefix) -> tuple[Any, Any]:
        """Take over the fitted steps of a cached prefix, and return copies of the training rows after them.

        If its steps draw from the global random state, set that state to the one that they left.
        """
        self.parts = [*found.parts]
        self._save(sum(part.seconds for part in self.parts))
        if found.chance is not None:
            self.begun, self.now = found.chance
            self.has_drawn = True
            set_chance(self.now)
        self.is_resampled = found.target is not None
        target = self.prefixes.copy(found.target) if self.is_resampled else self.rows.target()
        return self.prefixes.copy(found.features), target

    def _fitted(self, place: int, features: Any, target: Any) -> tuple[Any, Any]:
        """Fit the step at `place`, store the prefix that it ends, and return the transformed training rows."""
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
        except COMES_AGAIN as error:
            if place < len(self.keys) and _comes_again(error):
                self._keep_failure(place, error, self.prefixes.clock() - started)
            raise
        seconds = self.prefixes.clock() - started
        self.prefixes.worked += seconds
        self.unsaved += seconds
        self.parts.append(FittedStep(step, seconds))
        if place < len(self.keys):
            self._keep(place, features, target if self.is_resampled else None)
        return features, target

    def _keep(self, place: int, features: Any, target: Any) -> None:
        started = self.prefixes.clock()
        chance = self._chance()
        if self.prefixes.keep(self.keys[place], self.parts, features, target, chance, self.unsaved):
            self.unsaved = 0.0
        self._spend(self.prefixes.clock() - started)

    def _keep_failure(self, place: int, error: Exception, seconds: float) -> None:
        spent = sum(part.seconds for part in self.parts) + seconds
        is_named = bool(failed_step(error, self.pipeline))
        failure = FailedPrefix(described(error), place, is_named, spent, self._chance())
        self.prefixes.keep_failure(self.keys[place], failure)

    def _chance(self) -> tuple[Chance, Chance] | None:
        """Return the global random states before the first step and now, or None if no step has drawn from them."""
        now = global_chance()
        self.has_drawn = self.has_drawn or not same_chance(self.now, now)
        self.now = now
        return (self.begun, now) if self.has_drawn else None

    # ---- held-out rows

    def _held_out_so_far(self) -> tuple[int, Any]:
        """Return the longest cached result for the held-out rows: the number of steps behind it, and a copy of it.

        Return 0 and the untransformed rows if there is none. Steps that draw random numbers when they transform are
        never skipped.
        """
        drawing = next((place for place, part in enumerate(self.parts) if part.draws), len(self.parts))
        for depth in range(min(len(self.keys), drawing), 0, -1):
            entry = self.prefixes.get(self.keys[depth - 1], self.parts[:depth])
            if entry is not None and entry.held_out is not None:
                started = self.prefixes.clock()
                rows = self.prefixes.copy(entry.held_out)
                self._spend(self.prefixes.clock() - started)
                return depth, rows
        return 0, self.rows.held_out()

    def _transformed(self, place: int, rows: Any) -> Any:
        """Return the held-out rows after the step at `place`.

        Steps that resample training rows leave held-out rows unchanged.
        """
        part = self.parts[place]
        if hasattr(part.fitted, "fit_resample"):
            return rows
        part.rewind(part.after_fit)
        before = global_chance() if self.keys else None
        started = self.prefixes.clock()
        rows = part.fitted.transform(rows)
        part.held_out_seconds = self.prefixes.clock() - started
        self.prefixes.worked += part.held_out_seconds
        if self.keys:
            self._keep_held_out(place, rows, before)
        return rows

    def _keep_held_out(self, place: int, rows: Any, before: Chance) -> None:
        started = self.prefixes.clock()
        part = self.parts[place]
        part.after_held_out = part.chance()
        part.draws = part.draws or not same_chance(before, global_chance())
        if part.holdings is not None and bytes_of(rows) is not None and part.holdings.overlaps(rows):
            self.prefixes.forget(part)  # changing these rows would change the step
        elif place < len(self.keys) and not any(earlier.draws for earlier in self.parts[: place + 1]):
            self.prefixes.keep_held_out(self.keys[place], self.parts[: place + 1], rows)
        self._spend(self.prefixes.clock() - started)

    # ---- bookkeeping of seconds

    def _save(self, seconds: float) -> None:
        self.account.saved += seconds
        self.prefixes.total.saved += seconds

    def _spend(self, seconds: float) -> None:
        self.account.spent += seconds
        self.prefixes.total.spent += seconds


def _keys(steps: list[tuple[str, Any]], rows: Hashable) -> list[Key]:
    """Return the cache keys of the prefixes, the shortest first, up to the first step that has no identity."""
    keys: list[Key] = []
    key: Key = rows
    for _, step in steps:
        try:
            key = (key, identity(step))
            hash(key)
        except (NoIdentityError, RecursionError, TypeError):
            break
        keys.append(key)
    return keys


def _comes_again(error: BaseException | None) -> bool:
    """Return True if the error and all errors that caused it would be raised again (see `COMES_AGAIN`)."""
    while error is not None:
        if not isinstance(error, COMES_AGAIN):
            return False
        error = error.__cause__ or error.__context__
    return True
