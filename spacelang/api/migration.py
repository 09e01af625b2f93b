"""Migration of a stored run to a changed space: trials that are still valid start a new run.

A trial keeps its loss if everything that the loss depends on is equal: the data, the metric, the splits and the
pipeline. A new hyperparameter at the default of the library, or a value that is now fixed, does not change the
pipeline. Other valid trials are evaluated again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import joblib
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space as CheckedSpace
from spacelang.ir.trial import Request
from spacelang.ir.value import Value
from spacelang.runtime.errors import InputError
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.store import Store
from spacelang.solver.nearest_configuration import NearestMember, drop_keys_without_meaning, nearest_member
from spacelang.spelling_suggestions import format_suggestion

if TYPE_CHECKING:
    from spacelang.api.reopened_runs import ReopenedRun
    from spacelang.api.space import Space
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.storage.stored_run import StoredRun
    from spacelang.solver.counting import Structures


@dataclass(frozen=True, slots=True)
class Renames:
    """New names by old names, applied all at once, so that two names can be swapped.

    A name is a key of configurations (`scaler`, `estimator.C`), which also stands for all keys below it, or an
    alternative of a decision (`estimator.SVC`). A name inside the stage of a chain (`step.PCA`) stands for that in
    every use (`step[1].PCA`).
    """

    names: Mapping[str, str]

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "Renames":
        """Return the renames of texts such as `scaler=scaling`; raise InputError for any other text."""
        names: dict[str, str] = {}
        for text in texts:
            old, sign, new = (part.strip() for part in text.partition("="))
            if not (old and sign and new):
                raise InputError(f"`{text}` is not a rename", "write `OLD=NEW`, such as `--rename scaler=scaling`")
            if old in names:
                raise InputError(f"`{old}` is renamed twice", "give one new name for it")
            names[old] = new
        return cls(names)

    def apply(self, configuration: Configuration) -> Configuration:
        """Return a configuration with its new names; raise InputError if two keys would have the same name."""
        if not self.names:
            return configuration
        found: dict[str, Value] = {}
        origins: dict[str, str] = {}
        for key, value in configuration.items():
            name = self._new_key(key)
            if name in found:
                raise InputError(f"`{origins[name]}` and `{key}` would both be named `{name}`", "rename one of them")
            found[name], origins[name] = self._new_value(key, name, value, configuration), key
        return Configuration(found)

    def _new_key(self, key: str) -> str:
        in_stage, use = _without_use(key)
        old = max((each for each in self.names if _is_at_or_below(key, each)), key=len, default="")
        shared = max((each for each in self.names if _is_at_or_below(in_stage, each)), key=len, default="")
        if use and "." in shared and "." in self.names[shared] and len(shared) + len(use) > len(old):
            stage, _, rest = (self.names[shared] + in_stage[len(shared) :]).partition(".")
            return f"{stage}{use}.{rest}"
        return self.names[old] + key[len(old) :] if old else key

    def _new_value(self, key: str, name: str, value: Value, configuration: Configuration) -> Value:
        for decision, renamed in ((key, name), (_without_use(key)[0], _without_use(name)[0])):
            old = f"{decision}.{value}"
            if isinstance(value, str) and old in self.names and f"{key}.{value}" not in configuration:
                return self.names[old].removeprefix(f"{renamed}.").removeprefix(f"{decision}.")
        return value

    def check(self, configurations: Iterable[Configuration], space: CheckedSpace) -> None:
        """Raise InputError for an old name that no configuration has, and for a new one that the space does not have.

        Nothing is checked without configurations.
        """
        known = {name for each in configurations for key, value in each.items() for name in (key, f"{key}.{value}")}
        known |= {_without_use(name)[0] for name in known}
        own = {variable.key for variable in space.variables.values()} | {each.key for each in space.dropped}
        own |= {f"{choice.key}.{name}" for choice in space.decisions for name in choice.branch_indices}
        own |= {_without_use(name)[0] for name in own}
        for old, new in self.names.items() if known else ():
            if not any(_is_at_or_below(key, old) for key in known):
                what = f"no trial of the run has a stage, alternative or hyperparameter `{old}`"
                raise InputError(what, format_suggestion(old, known))
            decision = self._new_key(old.rpartition(".")[0])
            if not any(_is_at_or_below(key, each) for key in own for each in (new, f"{decision}.{new}")):
                what = f"the space has no stage, alternative or hyperparameter `{new}`"
                raise InputError(what, format_suggestion(new, own))


def _without_use(key: str) -> tuple[str, str]:
    """Return the key in the stage of a chain and the index of its use, which is empty for any other key.

    >>> _without_use("step[2].n_components")
    ('step.n_components', '[2]')
    """
    first, dot, rest = key.partition(".")
    stage, bracket, index = first.partition("[")
    return f"{stage}{dot}{rest}", f"{bracket}{index}"


def _is_at_or_below(key: str, name: str) -> bool:
    return key == name or key.startswith((f"{name}.", f"{name}["))


NO_RENAMES: Final = Renames({})


@dataclass(frozen=True, slots=True)
class MigratedTrial:
    """A trial of the old run that is valid in the new space: its number, its loss and its new configuration.

    `filled` maps the hyperparameters that the old run did not have to their defaults.
    """

    trial: int
    loss: float
    configuration: Configuration
    filled: "Mapping[str, Value]"


@dataclass(frozen=True, slots=True)
class DroppedTrial:
    """A trial of the old run that is not valid in the new space: its number, its loss and the reason."""

    trial: int
    loss: float
    reason: str


@dataclass(frozen=True, slots=True)
class Migration:
    """The successful trials of a run, split into valid and invalid ones; best first, one per configuration."""

    migrated: tuple[MigratedTrial, ...]
    dropped: tuple[DroppedTrial, ...]
    trials: int  # The number of trials of the run, including failures and repetitions
    omitted: int = 0  # The number of further members beyond the requested maximum

    @property
    def drop_reasons(self) -> list[tuple[str, int]]:
        """The reasons why trials are invalid, with their counts, most frequent first."""
        return Counter(each.reason for each in self.dropped).most_common()

    @property
    def initial_configurations(self) -> list[dict[str, object]]:
        """The valid configurations, best first, in the format of a file for `--initial`."""
        return [each.configuration.to_dict() for each in self.migrated]


def migrate_trials(
    run: "StoredRun", structures: "Structures", *, most: int | None = None, renames: Renames = NO_RENAMES
) -> Migration:
    """Return the trials of a run as members of a space, at most `most` of them.

    A trial is valid if the space contains everything that it had, under its new name if `renames` has one. Only
    hyperparameters that are new are filled in with their defaults; no value of the trial is changed or dropped. A value
    that is a tuple may become the length and elements of a tuple parameter.
    Different configurations stay different.

    Raises StoreError for a damaged store, ValueError for an empty space, and InputError for impossible renames.
    """
    moved: list[MigratedTrial] = []
    left: list[DroppedTrial] = []
    trials = {record.index: record.trial for record in run.records()}
    renames.check((trial.request.configuration for trial in trials.values()), structures.space)
    for number in run.best_trial_numbers(run.count):
        trial = trials[number]
        assert trial.loss is not None
        renamed = renames.apply(trial.request.configuration)
        found = nearest_member(structures, drop_keys_without_meaning(structures.space, renamed)[0])
        if all(change.given is None for change in found.changes):
            filled = {change.key: change.needed[0] for change in found.changes if change.needed is not None}
            moved.append(MigratedTrial(number, trial.loss, found.member, filled))
        else:
            left.append(DroppedTrial(number, trial.loss, _drop_reason(found)))
    wanted = tuple(moved[:most])
    return Migration(wanted, tuple(left), run.count, len(moved) - len(wanted))


def _drop_reason(found: NearestMember) -> str:
    """Return why a trial is dropped: one of the reasons why its configuration is not a member of the new space.

    A reason about a value that the trial has comes first, then one about no single value. A reason about a missing
    value comes last, because defaults are filled in for missing values.
    """
    lost = {change.key for change in found.changes if change.given is not None}
    filled = {change.key for change in found.changes if change.given is None}
    reasons = [reason for reason in found.reasons if reason.key in lost]
    reasons += [reason for reason in found.reasons if reason.key not in filled]
    return (*reasons, *found.reasons)[0].reason


@dataclass(frozen=True, slots=True)
class MigratedRun:
    """A new run that starts with the trials of another one.

    `unchanged` are trials that keep their loss. `to_evaluate` are configurations that the new run evaluates itself,
    because the pipeline has changed or the trial had fewer rows.
    """

    migration: Migration
    unchanged: tuple[MigratedTrial, ...]
    to_evaluate: tuple[MigratedTrial, ...]


def migrate_run(
    finished: "ReopenedRun",
    space: "Space",
    store: str | PathLike[str],
    *,
    most: int | None = None,
    renames: Renames = NO_RENAMES,
) -> MigratedRun:
    """Create a new store for a changed space, starting with the valid trials of a run, at most `most` of them.

    The new run has the same optimizer, data and scoring; resume it to continue the search. `renames` are as for
    `migrate_trials`. Raises InputError if no trial is valid, StoreError if the store already exists, and the errors of
    `ReopenedRun.bind_other_space`.
    """
    bound, objective = finished.bind_other_space(space)
    with Store.read(finished.store) as run:
        migrated = migrate_trials(run, bound.counted, most=most, renames=renames)
        if not migrated.migrated:
            raise InputError("no trial of the run is valid in the new space: nothing to migrate")
        records = {record.index: record for record in run.records()}
        same: list[MigratedTrial] = []
        anew: list[MigratedTrial] = []
        for each in migrated.migrated:
            (same if _is_same_pipeline(finished, records[each.trial], objective, each) else anew).append(each)
        initial = [each.configuration for each in (*same, *anew)]
        with Store.create(Path(store), finished.header.for_space(bound.checked, initial)) as begun:
            begun.start_session(workers=1)
            for number, each in enumerate(same, start=1):
                before, request = records[each.trial], Request(each.configuration)
                trial = replace(before.trial, request=request, predictions=run.predictions(each.trial))
                # In the new run it took no time.
                moved = replace(before, index=number, trial=trial, started=0.0, finished=0.0, workers=1)
                begun.append(replace(moved, is_speculative=False, proposal=None))
            begun.end_session("migrated", 0.0)
    return MigratedRun(migrated, tuple(same), tuple(anew))


def _is_same_pipeline(
    finished: "ReopenedRun", record: TrialRecord, objective: "DataObjective", moved: MigratedTrial
) -> bool:
    before = record.trial.request
    if before.fidelity is not None and before.fidelity < finished.header.training_size:
        return False
    old, new = finished.objective.make_pipeline(before.configuration), objective.make_pipeline(moved.configuration)
    return bool(joblib.hash(_without_step_names(old)) == joblib.hash(_without_step_names(new)))


def _without_step_names(pipeline: Any) -> Any:
    """Return a copy of a pipeline with numbers as names of its steps, so that renaming stages makes no difference."""
    if isinstance(pipeline, Pipeline):
        numbered = [(str(number), _without_step_names(step)) for number, (_, step) in enumerate(pipeline.steps)]
        return clone(pipeline).set_params(steps=numbered)
    return pipeline
