"""Black-box objectives without data: a formula over any space, a user's function, and ask and tell."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from spacelang.deprecation import renamed_attributes
from spacelang.ir.task import AnyBound, FunctionGoal
from spacelang.ir.trial import UNNAMED_LOSS, LossName, LossScale
from spacelang.ir.validation import Validation
from spacelang.runtime.errors import InputError
from spacelang.runtime.objective import Objective
from spacelang.runtime.request_queue import PrefixKeyFunction
from spacelang.runtime.storage.run_header import OBJECTIVES_SETTING, DataFacts, objectives_text

ARTIFICIAL_PREFIX: Final = "artificial:"  # The prefix of the data name of an artificial objective; its seed follows
SINGLE_FIDELITY: Final = (1,)  # The fidelities of a black box that has only one
# `artificial:SEED`, a function of a configuration, or an instance of `Objective`
AnyObjective: TypeAlias = str | Callable[..., Any] | Objective


@renamed_attributes(
    check_sizes="check_fidelities", further="identifying_settings", recorded="recorded_columns", route="prefix_key"
)
@dataclass(frozen=True)
class BlackBoxObjective:
    """The facts that a run needs of a black box besides its evaluation: identity, fidelities, bounds and goals.

    `fidelities` are in ascending order; the last one is the largest. `goals` are the numbers, by name, that are
    minimized or maximized in the answers of the black box; they are empty if an answer is the loss itself.
    """

    facts: DataFacts
    fidelities: tuple[int, ...] = SINGLE_FIDELITY
    bounds: tuple[AnyBound, ...] = ()
    scale: LossScale | None = None
    is_cheap: bool = False
    goals: tuple[FunctionGoal, ...] = ()
    validation: ClassVar[Validation | None] = None
    recorded_columns: ClassVar[tuple[str, ...]] = ()

    @property
    def metric(self) -> LossName:
        """The name of the loss, which is the first of several objectives."""
        return LossName.of_formula(self.goals[0].loss_formula) if self.goals else UNNAMED_LOSS

    @property
    def objective_names(self) -> tuple[LossName, ...]:
        """The names of several objectives; empty for a single loss."""
        return tuple(LossName.of_formula(each.loss_formula) for each in self.goals) if len(self.goals) > 1 else ()

    @property
    def identifying_settings(self) -> Mapping[str, str]:
        """The names of the objectives if there are several; otherwise empty."""
        return {OBJECTIVES_SETTING: objectives_text(self.objective_names)} if self.objective_names else {}

    @property
    def prefix_key(self) -> PrefixKeyFunction | None:
        """None: trials share no work."""
        return None

    @property
    def training_size(self) -> int:
        """The largest fidelity."""
        return self.fidelities[-1]

    def check_fidelities(self, sizes: tuple[int, ...]) -> None:
        """Raise InputError unless all of these are fidelities of the black box."""
        lacking = [f"{size:,}" for size in sizes if size not in self.fidelities]
        if lacking:
            known = ", ".join(f"{each:,}" for each in self.fidelities)
            what = f"the objective `{self.facts.name}` has no fidelity {', '.join(lacking)}, which the optimizer needs"
            raise InputError(what, f"choose `b` and `eta` that lead to its fidelities, {known}")
