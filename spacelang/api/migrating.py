"""The trials of a stored run in a changed space: those that still are members begin a new run."""

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from spacelang.api.nearness import Nearest, nearest
from spacelang.ir.configuration import Configuration
from spacelang.ir.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spacelang.runtime.storing.stored_run import StoredRun
    from spacelang.solver.counting import Structures


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
    defaults, and nothing that the trial had is changed or left out. Raises StoreError for a store that is damaged, and
    ValueError for a space without any configuration.
    """
    moved: list[Moved] = []
    left: list[Left] = []
    numbers = run.ranked(run.count)
    losses = {record.index: record.trial for record in run.records()}
    for number in numbers:
        trial = losses[number]
        assert trial.loss is not None
        found = nearest(structures, trial.request.configuration)
        if all(change.given is None for change in found.changes):
            filled = {change.key: change.needed[0] for change in found.changes if change.needed is not None}
            moved.append(Moved(number, trial.loss, found.member, filled))
        else:
            left.append(Left(number, trial.loss, _why(found)))
    return Migrated(tuple(islice(moved, most)), tuple(left), run.count)


def _why(found: Nearest) -> str:
    """The first reason that filling in defaults does not mend."""
    lost = {change.key for change in found.changes if change.given is not None}
    mine = [reason for reason in found.reasons if reason.key in lost] or [*found.reasons]
    return mine[0].reason
