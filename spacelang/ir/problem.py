"""The `Problem` that an optimizer receives: space, number of training rows, random generator, budget, bounds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.ir.task import AnyBound

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True, slots=True)
class TotalBudget:
    """The total budget of a search, for optimizers that divide it; None means unlimited.

    `seconds` counts all workers: it is the wall-clock time times the number of workers.
    """

    seconds: float | None = None
    trials: int | None = None


@dataclass(frozen=True, slots=True)
class StartConditions:
    """The conditions under which a run starts; a resumed run keeps those of its first session.

    `initial` holds the initial configurations without duplicates. None means those of the earlier session, or none for
    a new run.
    """

    initial: tuple[Configuration, ...] | None = None
    budget: TotalBudget = TotalBudget()


DEFAULT_START: Final = StartConditions()


def ignore_remark(_: str) -> None:
    """Discard a remark."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A search problem: everything that an optimizer knows before its first request.

    Parameters
    ----------
    space
        The search space.
    size
        The largest fidelity: the number of training rows.
    rng
        The random generator; a search makes all its random draws with it.
    initial
        Configurations of the space, without duplicates, to start from. The caller evaluates them on all rows before
        any trial that the search asks for. A later request for one of them is answered with that result.
    budget
        The budget at the start of the run, so that an optimizer can divide it. The caller enforces it. A run that
        is resumed with a larger budget still sees the original one.
    bounds
        The bounds that successful trials have measurements for, in the same order.
    remark
        A function that receives full sentences about the course of the search, to be shown to the user. The caller
        shows each sentence once. A resumed run must produce the same remarks, so remarks may depend on received
        events only, not on the results of lazy requests.
    """

    space: Space
    size: int
    rng: "Generator"
    initial: tuple[Configuration, ...] = ()
    budget: TotalBudget = TotalBudget()
    bounds: tuple[AnyBound, ...] = ()
    remark: Callable[[str], None] = ignore_remark
