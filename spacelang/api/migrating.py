"""The trials of a stored run in a changed space: those that still are members begin a new run.

They are trials of the new run where all that a loss hangs on is the same: the data, the metric, the split, and the
pipeline, in which a new hyperparameter may have what the library would take, and a fixed value may have changed.
"""

from collections import Counter
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import joblib

from spacelang.api.nearness import Nearest, nearest
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request
from spacelang.ir.value import Value
from spacelang.runtime.errors import InputError
from spacelang.runtime.history import Record
from spacelang.runtime.storing.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spacelang.api.finished import ReopenedRun
    from spacelang.api.space import Space
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.storing.stored_run import StoredRun
    from spacelang.solver.counting import Structures

MIGRATED: Final = "migrated"
"""Why the session ends in which trials were taken over: nothing was searched in it."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A trial of the run that still is a member: its number, its loss, and as what.

    `filled` are the hyperparameters that the run did not know, each with its default.
    """

    trial: int
    loss: float
    configuration: Configuration
    filled: "Mapping[str, Value]"


@dataclass(frozen=True, slots=True)
class Left:
    """A trial of the run that is a member no more: its number, its loss, and why."""

    trial: int
    loss: float
    reason: str


@dataclass(frozen=True, slots=True)
class Migrated:
    """What becomes of the successful trials of a run, the best first and one a configuration."""

    moved: tuple[Moved, ...]
    left: tuple[Left, ...]
    trials: int
    """How many trials the run had, with failures and repetitions."""
    beyond: int = 0
    """How many members more there are than were wanted."""

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """Why trials are members no more, and how many are none for each reason, the most frequent first."""
        return Counter(each.reason for each in self.left).most_common()

    @property
    def initial(self) -> list[dict[str, object]]:
        """The members, the best first, as a file for `--initial` has them."""
        return [each.configuration.to_dict() for each in self.moved]


def migrate(run: "StoredRun", structures: "Structures", *, most: int | None = None) -> Migrated:
    """The trials of a run as members of a space, `most` of them at most.

    A trial is one where the space has all that it was: only hyperparameters that are new are filled in, with their
    defaults, and nothing that the trial had is changed or left out. No two become the same: what a configuration has to
    say follows from what it says before. Raises StoreError for a store that is damaged, and ValueError for a space
    without any configuration.
    """
    moved: list[Moved] = []
    left: list[Left] = []
    trials = {record.index: record.trial for record in run.records()}
    for number in run.ranked(run.count):
        trial = trials[number]
        assert trial.loss is not None
        found = nearest(structures, trial.request.configuration)
        if all(change.given is None for change in found.changes):
            filled = {change.key: change.needed[0] for change in found.changes if change.needed is not None}
            moved.append(Moved(number, trial.loss, found.member, filled))
        else:
            left.append(Left(number, trial.loss, _why(found)))
    wanted = tuple(moved[:most])
    return Migrated(wanted, tuple(left), run.count, len(moved) - len(wanted))


@dataclass(frozen=True, slots=True)
class TakenOver:
    """A run that was begun with the trials of another one.

    `same` are trials of it as they were, `anew` are configurations that it begins with and evaluates itself: in the
    earlier run they were other pipelines, or had fewer rows.
    """

    migrated: Migrated
    same: tuple[Moved, ...]
    anew: tuple[Moved, ...]


def take_over(
    finished: "ReopenedRun", space: "Space", store: str | PathLike[str], *, most: int | None = None
) -> TakenOver:
    """Begin a run over a changed space in a new store, with the trials of a run as those that it has made.

    It is a run by the same optimizer on the same data, judged alike; to go on with it is to resume it. Raises
    InputError where no trial is a member, StoreError for a store that is there already, and as `ReopenedRun.over` does.
    """
    bound, objective = finished.over(space)
    with Store.read(finished.store) as run:
        migrated = migrate(run, bound.counted, most=most)
        if not migrated.moved:
            raise InputError("no trial of the run is a member: nothing is taken over")
        records = {record.index: record for record in run.records()}
        same: list[Moved] = []
        anew: list[Moved] = []
        for each in migrated.moved:
            (same if _is_same(finished, records[each.trial], objective, each) else anew).append(each)
        initial = [each.configuration for each in (*same, *anew)]
        with Store.create(Path(store), finished.header.over(bound.checked, initial)) as begun:
            begun.begin(workers=1)
            for number, each in enumerate(same, start=1):
                begun.append(_taken(records[each.trial], number, each.configuration, run.predictions(each.trial)))
            begun.end(MIGRATED, 0.0)
    return TakenOver(migrated, tuple(same), tuple(anew))


def _is_same(finished: "ReopenedRun", record: Record, objective: "DataObjective", moved: Moved) -> bool:
    """Whether a trial had all rows, and what it becomes is the same pipeline, to the last parameter."""
    before = record.trial.request
    if before.fidelity is not None and before.fidelity < finished.header.training_size:
        return False
    old, new = finished.objective.pipeline(before.configuration), objective.pipeline(moved.configuration)
    return bool(joblib.hash(old) == joblib.hash(new))


def _taken(record: Record, number: int, configuration: Configuration, predictions: Any) -> Record:
    """A trial as one of another run, in which it took no time."""
    trial = replace(record.trial, request=Request(configuration), predictions=predictions)
    return replace(
        record, index=number, trial=trial, started=0.0, finished=0.0, workers=1, is_early=False, proposal=None
    )


def _why(found: Nearest) -> str:
    """The first reason that filling in defaults does not mend."""
    lost = {change.key for change in found.changes if change.given is not None}
    mine = [reason for reason in found.reasons if reason.key in lost] or [*found.reasons]
    return mine[0].reason
