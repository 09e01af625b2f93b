"""Problems: all that a search is told before it asks for anything."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much a search may have in all, for those who divide it; what is None has no end.

    `seconds` are those of all workers together, as processor time is counted: those of the clock times the workers.
    """

    seconds: float | None = None
    trials: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What a search is about: a space, the number of training rows, chance, and what else it is told.

    `size` is the largest fidelity. All that a search draws it draws from `rng`. `initial` are configurations of the
    space to begin with, none twice. `budget` is what the run was given when it began: it is told so that it can be
    divided, and whoever runs the search keeps to it.
    """

    space: Space
    size: int
    rng: "Generator"
    initial: tuple[Configuration, ...] = ()
    budget: Allowance = Allowance()
