"""The facts of a run that its outcome does not contain, for its summary and its JSON document."""

from dataclasses import dataclass

from spacelang.ir.loss_name import LossName
from spacelang.ir.validation import Validation
from spacelang.report.held_out_interval import HeldOutSummary
from spacelang.report.search_coverage import SearchCoverage
from spacelang.report.starting_points import StartingPoints
from spacelang.runtime.objective import PositiveClass


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts of a run that its outcome does not contain.

    `store` is None if the run is not stored. `learner_key` is the key of the decision by which time is listed, if any.
    `held_out` and `starting_points` are None if they are unknown.
    """

    optimizer: str
    seed: int
    metric: LossName
    training_size: int
    preparation: str = ""
    store: str | None = None
    validation: Validation | None = None
    searched: SearchCoverage | None = None
    positive: PositiveClass | None = None
    learner_key: str = ""
    equal_seeds: str = ""  # What runs with the same seed have in common
    held_out: HeldOutSummary | None = None
    starting_points: StartingPoints | None = None
    objectives: tuple[LossName, ...] = ()  # The names of several objectives

    def interval(self, loss: float) -> tuple[float | None, float | None]:
        """Return the ends of the 95 % interval of a loss on held-out rows; two Nones if it is unknown."""
        return (None, None) if self.held_out is None else self.held_out.ends(loss)
