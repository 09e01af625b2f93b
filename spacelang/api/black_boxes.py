"""Black-box objectives: the built-in formula `artificial:SEED`, a user's function, or an `Objective` of one's own."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from spacelang.api.experiment import EvaluationData, Experiment
from spacelang.api.space import Space
from spacelang.ir.loss_scale import LossScale
from spacelang.ir.task import Fidelity
from spacelang.runtime.black_box import ARTIFICIAL_PREFIX, SINGLE_FIDELITY
from spacelang.runtime.errors import InputError
from spacelang.runtime.objective import Objective, ObjectiveInfo

if TYPE_CHECKING:
    from spacelang.ir.task import AnyBound

AnyObjective: TypeAlias = str | Callable[..., Any] | Objective
"""`artificial:SEED`, a function of a configuration, or an instance of `Objective`."""


@dataclass(frozen=True, eq=False)
class BlackBoxData(EvaluationData):
    """A black box as the data of a search, with the fidelities, constraints and scale given for a function."""

    objective: AnyObjective
    fidelities: tuple[int, ...] | None = None
    constraints: Mapping[str, float] = field(default_factory=dict)
    scale: float | None = None

    def bind_space(self, experiment: Experiment) -> tuple[Space, Objective]:
        """Return the space without data, and the objective; raises as `black_box_objective` does."""
        fidelities, constraints, scale = self.fidelities, self.constraints, self.scale
        return black_box_objective(
            experiment.space, self.objective, fidelities=fidelities, constraints=constraints, scale=scale
        )

    def fidelity(self, space: Space, aim: ObjectiveInfo) -> Fidelity | None:
        """Return the grid of the fidelities if the black box has several, otherwise the fidelity of the task."""
        known = self.fidelities or fidelities_of(aim)
        return super().fidelity(space, aim) if known is None else fidelity_grid(validate_fidelities(known))


def black_box_objective(
    space: Space,
    box: AnyObjective,
    *,
    fidelities: Iterable[int] | None = None,
    constraints: Mapping[str, float] | None = None,
    scale: float | None = None,
) -> tuple[Space, Objective]:
    """Return the space without data, and the objective that a black box defines on it.

    Raises SpaceError if the space needs the size of the data. Raises InputError for something that is not a black box,
    and for an objective that does not measure what the space bounds. Raises ValueError for an invalid fidelity,
    constraint or scale.
    """
    bare = bind_without_data(space)
    given = {"fidelities": fidelities, "constraints": constraints or None, "scale": scale}
    said = [name for name, value in given.items() if value is not None]
    if isinstance(box, str):
        return bare, _artificial_objective(bare, box, said)
    from spacelang.runtime.black_box.function import make_function_objective

    if isinstance(box, Objective):
        return bare, _check_own_objective(bare, box, said)
    sizes, bounds = validate_fidelities(fidelities), constraint_bounds(bare, constraints)
    return bare, make_function_objective(box, fidelities=sizes, bounds=bounds, scale=loss_scale(scale))


def bind_without_data(space: Space) -> Space:
    """Return the space for a search without data; raises SpaceError if it needs the size of the data."""
    return space.bind() if None in space.symbols.values() else space


def _artificial_objective(space: Space, reference: str, said: list[str]) -> Objective:
    from spacelang.runtime.black_box.artificial import artificial, parse_seed

    if not reference.startswith(ARTIFICIAL_PREFIX):
        raise InputError(f"`{reference}` is not an objective", f"give a function or `{ARTIFICIAL_PREFIX}SEED`")
    seed = parse_seed(reference)
    _refuse_settings(reference, said)
    return artificial(space.checked, seed)


def _check_own_objective(space: Space, objective: Objective, said: list[str]) -> Objective:

    name = objective.facts.name
    _refuse_settings(name, said)
    measured = {bound.name for bound in objective.bounds}
    lacking = [bound.name for bound in constraint_bounds(space, None) if bound.name not in measured]
    if lacking:
        raise InputError(
            f"the space bounds `{lacking[0]}`, which `{name}` does not measure", "use a space without this `subject to`"
        )
    return objective


def _refuse_settings(name: str, said: list[str]) -> None:

    if said:
        raise InputError(f"`{said[0]}` has no effect on `{name}`", "leave it out, or give a function")


def constraint_bounds(space: Space, constraints: Mapping[str, float] | None) -> "tuple[AnyBound, ...]":
    """Return the bounds of the task, then those given by name; raises ConstraintError for an invalid one."""
    from spacelang.runtime.scoring.constraints import function_bound

    bounds = () if space.task is None else space.task.bounds
    return (*bounds, *(function_bound(name, limit) for name, limit in (constraints or {}).items()))


def validate_fidelities(fidelities: Iterable[Any] | None) -> tuple[int, ...]:
    """Return the fidelities as a tuple, `(1,)` for None; raises ValueError if they are invalid.

    They must be increasing positive integers.
    """
    found = SINGLE_FIDELITY if fidelities is None else tuple(fidelities)
    whole = all(isinstance(each, int) and each > 0 for each in found)
    if not (found and whole and all(one < other for one, other in pairwise(found))):
        raise ValueError(f"fidelities must be increasing positive integers such as (1, 3, 9), not {found}")
    return found


def fidelities_of(aim: ObjectiveInfo) -> tuple[int, ...] | None:
    """Return the fidelities of an objective, or None if it declares fewer than two."""
    found: tuple[int, ...] = getattr(aim, "fidelities", ())
    return found if len(found) > 1 else None


def fidelity_grid(fidelities: tuple[int, ...]) -> Fidelity | None:
    """Return the geometric grid from the first to the last fidelity; None for a single fidelity.

    It is given by the first fidelity and the factor between neighbours.
    """
    first, last, steps = fidelities[0], fidelities[-1], len(fidelities) - 1
    return Fidelity(first, (last / first) ** (1 / steps)) if steps else None


def loss_scale(scale: float | None) -> LossScale | None:
    """Return the loss scale from 0 to `scale`, or None for None; raises ValueError unless it is finite and above 0."""
    if scale is None:
        return None
    if not 0 < scale < float("inf"):
        raise ValueError(f"`scale` must be a finite number above 0, not {scale}")
    return LossScale(0.0, float(scale))
