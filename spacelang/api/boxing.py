"""Black boxes: what is minimised is a formula or a user's function, and nothing is fitted to data."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from spacelang.api.experiment import Data, Experiment
from spacelang.api.space import Space
from spacelang.ir.scale import Scale
from spacelang.ir.task import Fidelity
from spacelang.runtime.boxes import ARTIFICIAL, ONE
from spacelang.runtime.errors import InputError
from spacelang.runtime.objective import Aim, Objective

if TYPE_CHECKING:
    from spacelang.ir.task import AnyBound

AnyObjective: TypeAlias = str | Callable[..., Any] | Objective
"""`artificial:SEED`, a function of a configuration, or an objective of one's own."""


@dataclass(frozen=True, eq=False)
class Boxed(Data):
    """A black box, with what is said of one that does not say it by itself."""

    box: AnyObjective
    fidelities: tuple[int, ...] | None = None
    constraints: Mapping[str, float] = field(default_factory=dict)
    scale: float | None = None

    def over(self, experiment: Experiment) -> tuple[Space, Objective]:
        """The space without any data, and the objective; raises as `box_over` does."""
        fidelities, constraints, scale = self.fidelities, self.constraints, self.scale
        return box_over(experiment.space, self.box, fidelities=fidelities, constraints=constraints, scale=scale)

    def fidelity(self, space: Space, aim: Aim) -> Fidelity | None:
        """By its fidelities, where it has several."""
        known = self.fidelities or fidelities_of(aim)
        return super().fidelity(space, aim) if known is None else grid_of(checked_fidelities(known))


def box_over(
    space: Space,
    box: AnyObjective,
    *,
    fidelities: Iterable[int] | None = None,
    constraints: Mapping[str, float] | None = None,
    scale: float | None = None,
) -> tuple[Space, Objective]:
    """The objective that a black box is over a space, and the space without any data.

    Raises SpaceError where the space needs to know how large data is, InputError for what is no box or lacks what the
    space bounds, and ValueError for what is no fidelity, no constraint or no scale.
    """
    bare = without_data(space)
    given = {"fidelities": fidelities, "constraints": constraints or None, "scale": scale}
    said = [name for name, value in given.items() if value is not None]
    if isinstance(box, str):
        return bare, _artificial(bare, box, said)
    from spacelang.runtime.boxes.function import box_of

    if isinstance(box, Objective):
        return bare, _own(bare, box, said)
    sizes, bounds = checked_fidelities(fidelities), bounds_of(bare, constraints)
    return bare, box_of(box, fidelities=sizes, bounds=bounds, scale=checked_scale(scale))


def without_data(space: Space) -> Space:
    """The space for no data at all; raises SpaceError where it needs to know how large data is."""
    return space.bind() if None in space.symbols.values() else space


def _artificial(space: Space, reference: str, said: list[str]) -> Objective:
    from spacelang.runtime.boxes.artificial import artificial, seed_of

    if not reference.startswith(ARTIFICIAL):
        raise InputError(f"`{reference}` is no objective", f"give a function, or `{ARTIFICIAL}SEED`")
    seed = seed_of(reference)
    _say_nothing(reference, said)
    return artificial(space.checked, seed)


def _own(space: Space, objective: Objective, said: list[str]) -> Objective:

    name = objective.facts.name
    _say_nothing(name, said)
    measured = {bound.name for bound in objective.bounds}
    lacking = [bound.name for bound in bounds_of(space, None) if bound.name not in measured]
    if lacking:
        raise InputError(
            f"the space bounds `{lacking[0]}`, which `{name}` does not have", "take a space without this `subject to`"
        )
    return objective


def _say_nothing(name: str, said: list[str]) -> None:

    if said:
        raise InputError(f"`{said[0]}` changes nothing of `{name}`", "leave it out, or give a function")


def bounds_of(space: Space, constraints: Mapping[str, float] | None) -> "tuple[AnyBound, ...]":
    """What the task bounds, and what is bounded by name beside it; raises ConstraintError for what cannot be."""
    from spacelang.runtime.judging.constraints import function_bound

    bounds = () if space.task is None else space.task.bounds
    return (*bounds, *(function_bound(name, limit) for name, limit in (constraints or {}).items()))


def checked_fidelities(fidelities: Iterable[Any] | None) -> tuple[int, ...]:
    """The fidelities of a box, one where none are said; raises ValueError for what are none."""
    found = ONE if fidelities is None else tuple(fidelities)
    whole = all(isinstance(each, int) and each > 0 for each in found)
    if not (found and whole and all(one < other for one, other in pairwise(found))):
        raise ValueError(f"fidelities are ascending whole numbers above 0, such as (1, 3, 9), not {found}")
    return found


def fidelities_of(aim: Aim) -> tuple[int, ...] | None:
    """The fidelities that an objective of one's own says that it has; None where it says nothing of several."""
    found: tuple[int, ...] = getattr(aim, "fidelities", ())
    return found if len(found) > 1 else None


def grid_of(fidelities: tuple[int, ...]) -> Fidelity | None:
    """The first of the fidelities, and by which factor they grow; None where there is one alone."""
    first, last, steps = fidelities[0], fidelities[-1], len(fidelities) - 1
    return Fidelity(first, (last / first) ** (1 / steps)) if steps else None


def checked_scale(scale: float | None) -> Scale | None:
    """The scale on which losses from 0 on stand, None where none is said; raises ValueError for what is none."""
    if scale is None:
        return None
    if not 0 < scale < float("inf"):
        raise ValueError(f"the scale of losses is a number above 0, not {scale}")
    return Scale(0.0, float(scale))
