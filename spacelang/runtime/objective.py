"""Objectives: what a search minimises, whether data, a table, a formula or a user's function says what a loss is.

Who drives, keeps and reports a run knows an `Aim`; who evaluates its trials, an `Objective`. What only some objectives
can do are protocols of their own.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from spacelang.ir.configuration import Configuration
from spacelang.ir.scale import Scale
from spacelang.ir.task import AnyBound, Validation
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.loss_name import LossName, PositiveClass
from spacelang.runtime.storing.header import DataFacts
from spacelang.runtime.waiting import RouteOf

if TYPE_CHECKING:
    from spacelang.runtime.judging.judge import HeldOut
    from spacelang.runtime.judging.metric import Metric
    from spacelang.runtime.pipelines.inputs import PipelineInput


class Aim(Protocol):
    """What is to be known of the trials of a run, whoever evaluates them."""

    @property
    def facts(self) -> DataFacts:
        """What they are evaluated on: its name, and a fingerprint that tells it from any other."""

    @property
    def training_size(self) -> int:
        """The largest fidelity: the number of training rows, or whatever it counts; 1 where there is one alone."""

    @property
    def metric(self) -> LossName:
        """What their losses are called."""

    @property
    def validation(self) -> Validation | None:
        """On which rows they are judged; None where there are none."""

    @property
    def bounds(self) -> tuple[AnyBound, ...]:
        """What they are subject to, in the order in which trials have it."""

    @property
    def scale(self) -> Scale | None:
        """The scale of their losses; None is that around the first success."""

    @property
    def recorded(self) -> tuple[str, ...]:
        """What they have beside loss, cost and bounds, as a table of trials calls it (`metric.f1`, `training_loss`)."""

    @property
    def further(self) -> Mapping[str, str]:
        """What else must be the same in two runs that are the same, by its name."""

    @property
    def is_cheap(self) -> bool:
        """Whether they are made again in no time: then the last ones may be lost with the machine."""

    @property
    def route(self) -> RouteOf | None:
        """What they can share with each other (see `Waiting`); None where nothing."""


@runtime_checkable
class Described(Protocol):
    """An aim that has rows, and says what these are like."""

    @property
    def meta_features(self) -> Mapping[str, float]:
        """The meta-features of the rows that trials are trained on, those that are finite, by their names."""


@runtime_checkable
class Classifying(Protocol):
    """An aim that may judge one of two classes alone."""

    @property
    def positive_class(self) -> PositiveClass | None:
        """The class that some scorers are of by which trials are judged, recorded and bounded; None without such."""


@runtime_checkable
class Evaluating(Protocol):
    """What evaluates trials; cloudpickle takes `evaluate` to where that is done."""

    def evaluate(self, request: Request) -> Trial:
        """What came of a request: a failed trial with its reason where there is no loss.

        Raises InputError for what is wrong with the run as a whole.
        """


@runtime_checkable
class Objective(Aim, Evaluating, Protocol):
    """What a search minimises: what is to be known of its trials, and what evaluates them."""


@runtime_checkable
class Refittable(Evaluating, Protocol):
    """An objective whose `evaluate` fits the best pipeline on all rows, too, and scores it on test rows.

    It answers a `Refit`; an `Examine` where there are test rows, and a `Gauge` where it has bounds, too (see
    `runtime.evaluation.refitting`).
    """

    @property
    def training_size(self) -> int:
        """The rows of the largest fidelity."""

    @property
    def bounds(self) -> tuple[AnyBound, ...]:
        """What trials are subject to."""

    @property
    def rows(self) -> int:
        """All that trials may see."""

    @property
    def test_rows(self) -> int:
        """All that they may not; 0 where there are none."""


@runtime_checkable
class Votable(Refittable, Protocol):
    """A refittable objective whose pipelines can vote: their predictions for the held-out rows are judged together."""

    @property
    def metric(self) -> "Metric":
        """The loss, which can be computed."""

    @property
    def held_out(self) -> "HeldOut":
        """The rows that predictions are for, and what would have been right."""

    def member(self, configuration: Configuration, form: "PipelineInput") -> Any:
        """The unfitted pipeline of a configuration as a vote takes it, which takes what `form` says."""


@runtime_checkable
class Graded(Protocol):
    """An objective that has trials at some fidelities only."""

    def check_sizes(self, sizes: tuple[int, ...]) -> None:
        """Raise InputError unless there are trials at each of these fidelities."""


@runtime_checkable
class Lacking(Protocol):
    """An objective that has no trials of some configurations."""

    def lacks(self, configuration: Configuration) -> str:
        """Why there is none of this one; empty where there is."""
