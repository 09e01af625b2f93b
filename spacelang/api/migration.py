"""Migration of a stored run to a changed space: trials that are still valid start a new run.

A trial keeps its loss if everything that the loss depends on is equal: the data, the metric, the splits and the
pipeline. A new hyperparameter at the default of the library, or a value that is now fixed, does not change the
pipeline. Other valid trials are evaluated again.
"""

from collections import Counter
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import joblib
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from spacelang.api.renames import Renames
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request
from spacelang.ir.value import Value
from spacelang.runtime.errors import InputError
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.store import Store
from spacelang.solver.adaptation_to_data import with_tuple_members, without_dropped_keys
from spacelang.solver.nearest_configuration import NearestMember, nearest_member

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spacelang.api.space import Space
    from spacelang.api.stored_runs import ReopenedRun
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.storage.stored_run import StoredRun
    from spacelang.solver.counting import Structures


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
    for number in run.ranked(run.count):
        trial = trials[number]
        assert trial.loss is not None
        renamed = with_tuple_members(structures.space, renames.apply(trial.request.configuration))
        found = nearest_member(structures, without_dropped_keys(structures.space, renamed)[0])
        if all(change.given is None for change in found.changes):
            filled = {change.key: change.needed[0] for change in found.changes if change.needed is not None}
            moved.append(MigratedTrial(number, trial.loss, found.member, filled))
        else:
            left.append(DroppedTrial(number, trial.loss, _drop_reason(found)))
    wanted = tuple(moved[:most])
    return Migration(wanted, tuple(left), run.count, len(moved) - len(wanted))


def _drop_reason(found: NearestMember) -> str:
    """Return the first reason that cannot be fixed by filling in defaults, with that of a wrong value before others."""
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
    """Create a new store for a changed space, starting with the valid trials of a run.

    The new run has the same optimizer, data and scoring; resume it to continue the search. `renames` are as for
    `migrate_trials`. Raises InputError if no trial is valid, StoreError if the store already exists, and the errors of
    `ReopenedRun.with_space`.
    """
    bound, objective = finished.with_space(space)
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
    """Return a new pipeline with numbers as names of its steps: names, which are those of stages, change no result."""
    if isinstance(pipeline, Pipeline):
        numbered = [(str(number), _without_step_names(step)) for number, (_, step) in enumerate(pipeline.steps)]
        return clone(pipeline).set_params(steps=numbered)
    return pipeline
