"""Protocols of objectives: what a run must know of them (`ObjectiveInfo`), their evaluation, and further abilities."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from spacelang.deprecation import plugin_attribute
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import AnyBound
from spacelang.ir.trial import LossName, LossScale, Request, Trial
from spacelang.ir.validation import Validation
from spacelang.runtime.request_queue import PrefixKeyFunction
from spacelang.runtime.storage.run_header import DataFacts

if TYPE_CHECKING:
    from spacelang.runtime.pipelines import PipelineInput
    from spacelang.runtime.run_deadline import WorkSizes
    from spacelang.runtime.scoring.metric import Metric
    from spacelang.runtime.scoring.pipeline_scorer import HeldOutRows
    from spacelang.runtime.trial_models import TrialModelFolder


@dataclass(frozen=True, slots=True)
class PositiveClass:
    """The one of two classes that some scorers refer to. `label` is the user's own label."""

    label: Any
    scorers: tuple[str, ...]

    @property
    def json_label(self) -> str | float:
        """The label as a JSON value."""
        return self.label if isinstance(self.label, str | int | float) else str(self.label)

    @property
    def description(self) -> str:
        """A sentence for users: which scorers refer to which class, and why."""
        names = ", ".join(f"`{name}`" for name in self.scorers)
        return f"the positive class of {names} is `{self.label}`, the second class in sorted order"


class ObjectiveInfo(Protocol):
    """A protocol with everything a run must know of its trials, without being able to evaluate them."""

    @property
    def facts(self) -> DataFacts:
        """The name of the data and the fingerprint that identifies it."""

    @property
    def training_size(self) -> int:
        """The largest fidelity, usually the number of training rows; 1 if there is only one fidelity."""

    @property
    def metric(self) -> LossName:
        """The name and the formula of the loss."""

    @property
    def validation(self) -> Validation | None:
        """The split that defines the rows on which trials are scored; None without rows."""

    @property
    def bounds(self) -> tuple[AnyBound, ...]:
        """The bounds that trials are subject to, in the order of each trial's measurements."""

    @property
    def scale(self) -> LossScale | None:
        """The scale of the losses; None if the first success sets it."""

    @property
    def recorded_columns(self) -> tuple[str, ...]:
        """The columns of a table of trials besides loss, cost and bounds, such as `metric.f1` and `training_loss`."""

    @property
    def is_cheap(self) -> bool:
        """True if trials take so little time that the last ones may be lost in a crash of the machine."""

    @property
    def prefix_key(self) -> PrefixKeyFunction | None:
        """A function that returns the prefix key of a request; None if trials share no work.

        Requests whose keys begin alike can share that part of the work (see `RequestQueue`).
        """


def identifying_settings(objective: ObjectiveInfo) -> Mapping[str, str]:
    """Return the attribute `identifying_settings` of an objective; empty if it has none.

    These are settings, as text by name, that belong to the identity of a run: a resumed run must have the same ones.
    """
    has_some = hasattr(objective, "identifying_settings") or hasattr(objective, "further")
    found: Mapping[str, str] = plugin_attribute(objective, "identifying_settings", "further") if has_some else {}
    return found


def recorded_columns(objective: ObjectiveInfo) -> tuple[str, ...]:
    """Return the columns that an objective adds to tables of trials."""
    found: tuple[str, ...] = plugin_attribute(objective, "recorded_columns", "recorded")
    return found


def prefix_key_function(objective: ObjectiveInfo) -> PrefixKeyFunction | None:
    """Return the function from a request of an objective to its prefix key; None if trials share no work."""
    found: PrefixKeyFunction | None = plugin_attribute(objective, "prefix_key", "route")
    return found


@runtime_checkable
class HasMetaFeatures(Protocol):
    """A protocol for objectives with rows whose meta-features are known."""

    @property
    def meta_features(self) -> Mapping[str, float]:
        """The finite meta-features of the training rows, by name."""


def positive_class_of(objective: ObjectiveInfo) -> PositiveClass | None:
    """Return the attribute `positive_class` of an objective: the class to which scorers of one of two classes refer.

    None if neither the loss nor a metric nor a bound has such a scorer, or if there is no data.
    """
    found: PositiveClass | None = getattr(objective, "positive_class", None)
    return found


def learner_key_of(objective: object) -> str:
    """Return the attribute `learner_key` of an objective: the key of the decision that chooses the learner.

    Empty if there is none, or if the objective does not say.
    """
    found: str = getattr(objective, "learner_key", "")
    return found


def objective_names(objective: ObjectiveInfo) -> tuple[LossName, ...]:
    """Return the attribute `objective_names` of an objective: the names of all values to minimize, the loss first.

    They are those in `Trial.objectives`; empty if the loss is the only value.
    """
    found: tuple[LossName, ...] = getattr(objective, "objective_names", ())
    return found


@runtime_checkable
class Evaluator(Protocol):
    """A protocol for evaluators of trials. cloudpickle serializes `evaluate` for other processes."""

    def evaluate(self, request: Request) -> Trial:
        """Return the trial of a request; a failed trial with its reason if there is no loss.

        Raises InputError for a mistake that concerns the run as a whole.
        """


@runtime_checkable
class Objective(ObjectiveInfo, Evaluator, Protocol):
    """A protocol for what a search minimizes: the facts of its trials and the evaluation itself."""


@runtime_checkable
class RefittableObjective(Evaluator, Protocol):
    """A protocol for objectives whose `evaluate` also does `FinalWork`, such as refits and scores on test rows."""

    @property
    def training_size(self) -> int:
        """The largest fidelity, in rows."""

    @property
    def bounds(self) -> tuple[AnyBound, ...]:
        """The bounds that trials are subject to."""

    @property
    def rows(self) -> int:
        """The number of all rows that trials may see, whether for training or for scoring."""

    @property
    def test_rows(self) -> int:
        """The number of rows that trials never see; 0 if there are none."""


@runtime_checkable
class ModelStoringObjective(RefittableObjective, Protocol):
    """A refittable objective whose trials can keep their models, and whose final work takes a predictable time.

    `evaluate` then also does `LoadTrialModelWork`.
    """

    @property
    def work_sizes(self) -> "WorkSizes":
        """The sizes of the data that decide how long the work after a search takes."""

    def store_models_in(self, folder: "TrialModelFolder | None") -> None:
        """Have the models of all further trials written to this folder; None writes none."""


@runtime_checkable
class EnsembleObjective(RefittableObjective, Protocol):
    """A refittable objective whose pipelines vote in an ensemble, scored on their predictions for the held-out rows."""

    @property
    def metric(self) -> "Metric":
        """The metric that computes the loss of predictions."""

    @property
    def held_out_rows(self) -> "HeldOutRows":
        """The held-out rows that predictions are for, with their true labels."""

    def make_member(self, configuration: Configuration, form: "PipelineInput") -> Any:
        """Return the unfitted pipeline of a configuration as a member of a vote; it takes input of the kind `form`."""


@runtime_checkable
class FixedFidelitySetObjective(Protocol):
    """A protocol for objectives with a fixed set of fidelities."""

    def check_fidelities(self, sizes: tuple[int, ...]) -> None:
        """Raise InputError unless the objective has trials at each of these fidelities."""


@runtime_checkable
class PartiallyDefinedObjective(Protocol):
    """A protocol for objectives without trials for some configurations."""

    def missing_reason(self, configuration: Configuration) -> str:
        """Return the reason why the configuration has no trial; empty if it has one."""
