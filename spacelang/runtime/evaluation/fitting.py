"""Fitting: a pipeline step by step, as scikit-learn's own does, with what others have fitted before from the cache."""

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
"""The errors that a step raises because of its parameters and its data, and not because of the machine."""


@dataclass(frozen=True, slots=True)
class TrialRows:
    """The rows of a trial: the first `fidelity` for training of the fold with this number, and the held-out ones.

    `own` says that the pipeline needs copies, because it writes into what it is given.
    """

    number: int
    fold: Fold
    fidelity: int | None
    own: bool

    @property
    def name(self) -> Hashable:
        """Equal for the same rows of the same data set."""
        return self.number, len(self.fold.training_target[: self.fidelity]), self.own

    def training(self) -> tuple[Any, Any]:
        """The features and the labels to train on."""
        return self.fold.training_rows(self.fidelity, own=self.own)

    def target(self) -> Any:
        """The labels to train on."""
        return self.training()[1] if self.own else self.fold.training_target[: self.fidelity]

    def held_out(self) -> Any:
        """The features to judge on."""
        return self.fold.held_out_rows(own=self.own)


def fit(pipeline: Any, rows: TrialRows, prefixes: Prefixes, account: CacheSeconds, *, guarded: bool = False) -> Fitted:
    """The pipeline fitted on the training rows, with the held-out rows as its last step takes them.

    Its steps before the last are those of the cache where others have fitted them: whoever may change them asks for
    a `guarded` pipeline, which has copies. Raises what a step raises, or RepeatedError in its place.
    """
    if not _is_chain(pipeline):
        pipeline.fit(*rows.training())  # the library says what is wrong with it
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
    """Whether each step before the last one changes either the features or the rows, as pipelines want it."""
    return all(
        (hasattr(step, "transform") and (hasattr(step, "fit") or hasattr(step, "fit_transform")))
        != hasattr(step, "fit_resample")
        for _, step in pipeline.steps[:-1]
    ) and hasattr(pipeline.steps[-1][1], "fit")


@dataclass(slots=True)
class _Passage:
    """The way of the rows of a trial through the steps of a pipeline before the last."""

    pipeline: Any
    rows: TrialRows
    prefixes: Prefixes
    account: CacheSeconds
    keys: list[Key] = field(init=False)
    """Of each prefix that has an identity, shorter ones first."""
    parts: list[FittedStep] = field(default_factory=list)
    begun: Chance = None
    """The global generator before the first step, and after the last one so far: where steps were fitted."""
    now: Chance = None
    has_drawn: bool = False
    is_resampled: bool = False
    unsaved: float = 0.0
    """The seconds of the steps that are not in the longest prefix that is kept."""

    def __post_init__(self) -> None:
        self.keys = _keys(self.steps, self.rows.name) if self.prefixes.is_on else []

    @property
    def steps(self) -> list[tuple[str, Any]]:
        steps: list[tuple[str, Any]] = self.pipeline.steps[:-1]
        return steps

    def training(self) -> tuple[Any, Any]:
        """The features and labels for the last step, which may do with them what it wants."""
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
        """The held-out rows for the last step, which may do with them what it wants."""
        first, rows = self._held_out_so_far()
        for part in self.parts[:first]:
            part.rewind(part.after_held_out)
            self._save(part.held_out_seconds)
        for place in range(first, len(self.parts)):
            rows = self._transformed(place, rows)
        return rows

    def guard(self) -> None:
        """Put copies into the pipeline in place of the steps that others will be given too."""
        shared = [part for part in self.parts if part.users]
        arrays = [array for part in shared if part.holdings is not None for array in part.holdings.arrays]
        chance = np.random.mtrand._rand
        known = {id(array): copied(array) for array in arrays if bytes_of(array) is not None}
        try:
            # Together, as steps may hold the same things.
            self._put_steps(copy.deepcopy([part.fitted for part in self.parts], {**known, id(chance): chance}))
        except Exception:  # noqa: BLE001 - whatever an object says when it is to be copied
            for part in shared:
                self.prefixes.forget(part)

    def _put_steps(self, fitted: list[Any]) -> None:
        steps = self.pipeline.steps
        self.pipeline.steps = [*((name, step) for (name, _), step in zip(steps[:-1], fitted, strict=True)), steps[-1]]

    # ---- training

    def _taken(self, found: FittedPrefix) -> tuple[Any, Any]:
        """Copies of what a prefix makes of the training rows; chance is where its steps have left it."""
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
        """The rows after a step, which is fitted on them."""
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
        """Where the global generators were before the first step and are now; None where nobody has drawn from them."""
        now = global_chance()
        self.has_drawn = self.has_drawn or not same_chance(self.now, now)
        self.now = now
        return (self.begun, now) if self.has_drawn else None

    # ---- held-out rows

    def _held_out_so_far(self) -> tuple[int, Any]:
        """How many steps others have sent the held-out rows through, and what came of them."""
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
        """The held-out rows after a step; those that change the rows to train on leave these alone."""
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
            self.prefixes.forget(part)  # who is given these rows could change the step with them
        elif place < len(self.keys) and not any(earlier.draws for earlier in self.parts[: place + 1]):
            self.prefixes.keep_held_out(self.keys[place], self.parts[: place + 1], rows)
        self._spend(self.prefixes.clock() - started)

    # ---- what all need

    def _save(self, seconds: float) -> None:
        self.account.saved += seconds
        self.prefixes.total.saved += seconds

    def _spend(self, seconds: float) -> None:
        self.account.spent += seconds
        self.prefixes.total.spent += seconds


def _keys(steps: list[tuple[str, Any]], rows: Hashable) -> list[Key]:
    """Of each prefix, as far as it is known what its steps are."""
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
    """Whether an error, and all that led to it, would be raised again."""
    while error is not None:
        if not isinstance(error, COMES_AGAIN):
            return False
        error = error.__cause__ or error.__context__
    return True
